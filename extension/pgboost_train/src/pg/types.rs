//! What PostgreSQL says of a type: a domain, an enum, its name.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The type below a domain, or the type itself.
pub fn base_type(type_oid: Oid) -> Oid {
    // SAFETY: raises for an OID that is no type, which a column cannot have.
    unsafe { pg_sys::getBaseType(type_oid) }
}

/// Whether the type is an enum.
pub fn is_enum(type_oid: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::type_is_enum(type_oid) }
}

/// The type's name as a user would write it.
pub fn type_name(type_oid: Oid) -> String {
    // SAFETY: gives a palloc'd name for any OID, "???" if there is no such type.
    unsafe { CStr::from_ptr(pg_sys::format_type_be(type_oid)) }.to_string_lossy().into_owned()
}

/// The function that writes a value of the type as text.
pub fn output_function(type_oid: Oid) -> Oid {
    let (mut function, mut varlena) = (Oid::INVALID, false);
    // SAFETY: both places are valid; raises for an OID that is no type.
    unsafe { pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut varlena) };
    function
}
