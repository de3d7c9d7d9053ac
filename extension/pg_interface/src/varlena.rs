//! Text and bytes as PostgreSQL passes them: short or long headers, compressed, or out of line.

use std::borrow::Cow;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice};

/// The bytes of a text or bytea value, without a copy where it is stored plainly.
///
/// # Safety
/// The datum is a valid varlena; what is returned is used only while its memory context lives.
#[inline]
pub unsafe fn bytes<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: a varlena's first byte tells how it is stored; the caller keeps the result no longer
    // than the datum.
    unsafe {
        let plain = varatt_is_4b_u(pointer) || (varatt_is_1b(pointer) && !varatt_is_1b_e(pointer));
        varlena_to_byte_slice(if plain { pointer } else { detoasted(pointer) })
    }
}

/// # Safety
/// The pointer is to a valid varlena.
#[cold]
#[inline(never)]
unsafe fn detoasted(pointer: *mut pg_sys::varlena) -> *mut pg_sys::varlena {
    // SAFETY: the caller says so.
    unsafe { pg_sys::pg_detoast_datum_packed(pointer) }
}

/// The same as text. A database in another encoding than UTF-8 may hold bytes that are not; those
/// are replaced, and then match no name.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn text<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { bytes(datum) };
    // The usual case: looking for what to replace costs more than to see that there is nothing.
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    String::from_utf8_lossy(bytes)
}

/// A string that PostgreSQL allocated, as Rust's own; the original is freed.
///
/// # Safety
/// The pointer was allocated by palloc and ends in a NUL.
pub unsafe fn owned_string(pointer: *mut std::ffi::c_char) -> String {
    // SAFETY: the caller says so.
    unsafe {
        let string = CStr::from_ptr(pointer).to_string_lossy().into_owned();
        pg_sys::pfree(pointer.cast());
        string
    }
}
