//! What PostgreSQL says of a type: an array, a row, a domain, an enum, and its name.

use pgrx::pg_sys::{self, Oid};

/// The type below a domain, or the type itself; where PostgreSQL does not know the type, neither.
pub fn base_type(type_oid: Oid) -> Oid {
    if type_oid == Oid::INVALID {
        return type_oid;
    }
    // SAFETY: raises for an OID that is no type, which a statement cannot have.
    unsafe { pg_sys::getBaseType(type_oid) }
}

/// The type of an array's elements, if it is an array type.
pub fn element_type(type_oid: Oid) -> Option<Oid> {
    // SAFETY: returns an invalid OID for what is no array.
    let element = unsafe { pg_sys::get_element_type(type_oid) };
    (element != Oid::INVALID).then_some(element)
}

/// Whether values of the type are rows.
pub fn is_row_type(type_oid: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::type_is_rowtype(type_oid) }
}

/// Whether the type is an enum.
pub fn is_enum(type_oid: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::type_is_enum(type_oid) }
}

/// The type's name as a user would write it.
pub fn type_name(type_oid: Oid) -> String {
    // SAFETY: returns a palloc'd name for any OID, "???" if there is no such type.
    unsafe { crate::varlena::owned_string(pg_sys::format_type_be(type_oid)) }
}

/// The function that writes a value of the type as text.
pub fn output_function(type_oid: Oid) -> Oid {
    let (mut function, mut varlena) = (Oid::INVALID, false);
    // SAFETY: both places are valid; raises for an OID that is no type.
    unsafe { pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut varlena) };
    function
}
