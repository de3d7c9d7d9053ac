//! Text and bytea values: short or long headers, compressed, or out of line.
//!
//! PostgreSQL reads, copies and writes a value as a whole, which takes an uninterruptible third of a
//! second for 256 MB. Here a large bytea is read and created in pieces, with checks for interrupts in
//! between. Only values that a user's table stores compressed are still decompressed as a whole.

use std::borrow::Cow;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{
    set_varsize_4b, varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice,
};
use pgrx::{AnyElement, FromDatum, IntoDatum};

use crate::report::check_for_interrupts;

/// Returns the bytes of a text or bytea, in place if stored plainly.
///
/// # Safety
/// `datum` is a valid varlena; the result is used only while its memory context lives.
#[inline]
pub unsafe fn bytes<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: a varlena's first byte tells its representation; the caller keeps the result no longer
    // than the datum.
    unsafe {
        let plain = varatt_is_4b_u(pointer) || (varatt_is_1b(pointer) && !varatt_is_1b_e(pointer));
        varlena_to_byte_slice(if plain { pointer } else { detoasted(pointer) })
    }
}

/// # Safety
/// `pointer` is a valid varlena.
#[cold]
#[inline(never)]
unsafe fn detoasted(pointer: *mut pg_sys::varlena) -> *mut pg_sys::varlena {
    // SAFETY: the pointer is a valid varlena.
    unsafe { pg_sys::pg_detoast_datum_packed(pointer) }
}

/// Returns a value as text. In a database with another encoding than UTF-8, invalid bytes are replaced,
/// and then match no name.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn text<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: as for this function.
    let bytes = unsafe { bytes(datum) };
    // The common case: checking for ASCII is faster than looking for bytes to replace.
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    String::from_utf8_lossy(bytes)
}

/// Converts a palloc'd C string into a `String`, and frees it.
///
/// # Safety
/// `pointer` is a palloc'd, zero-terminated string.
pub unsafe fn owned_string(pointer: *mut std::ffi::c_char) -> String {
    // SAFETY: the string is palloc'd and zero-terminated.
    unsafe {
        let string = CStr::from_ptr(pointer).to_string_lossy().into_owned();
        pg_sys::pfree(pointer.cast());
        string
    }
}

/// Bytes copied between two checks for interrupts.
pub const PIECE: usize = 4 << 20;

/// Maximum size of an allocation (`MaxAllocSize`) and of a value.
pub const MAX_ALLOC: usize = 0x3fff_ffff;

/// Returns a bytea argument's size without reading it; `None` for another type.
pub fn bytea_size(value: &AnyElement) -> Option<usize> {
    // SAFETY: the value is of its stated type.
    (value.oid() == pg_sys::BYTEAOID)
        .then(|| unsafe { pg_sys::toast_raw_datum_size(value.datum()) } - pg_sys::VARHDRSZ)
}

/// Returns a bytea argument's bytes; `None` for another type.
pub fn bytea_argument(value: &AnyElement) -> Option<&[u8]> {
    // SAFETY: the value is of its stated type; arguments outlive the call.
    (value.oid() == pg_sys::BYTEAOID).then(|| unsafe { bytes_in_pieces(value.datum()) })
}

/// Returns a bytea's bytes, read in pieces if it is large and out of line.
///
/// # Safety
/// As for [`bytes`].
unsafe fn bytes_in_pieces<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the datum is a bytea. A slice has the requested bytes, which are within the value; the
    // buffer has room for all.
    unsafe {
        if !varatt_is_1b_e(pointer) {
            return bytes(datum);
        }
        let len = pg_sys::toast_raw_datum_size(datum) - pg_sys::VARHDRSZ;
        if len <= PIECE || pg_sys::toast_datum_size(datum) != len {
            return bytes(datum);
        }
        let whole: *mut u8 = pg_sys::palloc(len).cast();
        for first in (0..len).step_by(PIECE) {
            check_for_interrupts();
            let count = PIECE.min(len - first);
            let slice = pg_sys::pg_detoast_datum_slice(pointer, first as i32, count as i32);
            let piece = varlena_to_byte_slice(slice);
            std::ptr::copy_nonoverlapping(piece.as_ptr(), whole.add(first), piece.len().min(count));
            pg_sys::pfree(slice.cast());
        }
        std::slice::from_raw_parts(whole, len)
    }
}

/// Creates a text value in the current memory context.
pub fn text_datum(text: &str) -> Datum {
    text.into_datum().unwrap_or(Datum::from(0))
}

/// A new bytea value in the current memory context.
pub struct NewBytea {
    value: *mut pg_sys::varlena,
    len: usize,
}

impl NewBytea {
    /// Creates zeros; `None` if a value cannot have this size.
    pub fn zeroed(len: usize) -> Option<Self> {
        let size = len.checked_add(pg_sys::VARHDRSZ)?;
        if size > MAX_ALLOC {
            return None;
        }
        // SAFETY: the buffer has room for the header and the bytes.
        let mut new = unsafe {
            let value: *mut pg_sys::varlena = pg_sys::palloc(size).cast();
            set_varsize_4b(value, i32::try_from(size).ok()?);
            NewBytea { value, len }
        };
        for first in (0..len).step_by(PIECE) {
            check_for_interrupts();
            // SAFETY: the piece is within the buffer.
            unsafe { new.start().add(first).write_bytes(0, PIECE.min(len - first)) };
        }
        Some(new)
    }

    fn start(&mut self) -> *mut u8 {
        // SAFETY: the bytes follow the four-byte header.
        unsafe { self.value.cast::<u8>().add(pg_sys::VARHDRSZ) }
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the bytes follow the header, and all are initialized.
        unsafe {
            std::slice::from_raw_parts(self.value.cast::<u8>().add(pg_sys::VARHDRSZ), self.len)
        }
    }

    /// Copies bytes to an offset; returns whether they fit.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.len);
        if fits {
            // SAFETY: the bytes fit, and do not overlap the borrowed buffer.
            unsafe {
                let to = self.start().add(offset);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        }
        fits
    }

    /// Returns the value, which lives as long as the memory context.
    pub fn into_value(self) -> Option<AnyElement> {
        let datum = Datum::from(std::mem::ManuallyDrop::new(self).value);
        // SAFETY: the value is a bytea with its header.
        unsafe { AnyElement::from_polymorphic_datum(datum, false, pg_sys::BYTEAOID) }
    }
}

impl Drop for NewBytea {
    fn drop(&mut self) {
        // SAFETY: this value owns the buffer; its context lives, since such values do not outlive the
        // call that creates them.
        unsafe { pg_sys::pfree(self.value.cast()) }
    }
}

/// A text not representable in the database's encoding, named for the message.
#[derive(Clone, Copy, Debug)]
pub struct EncodingError(pub &'static str);

/// Returns a text argument's bytes as UTF-8.
///
/// The engine's text is UTF-8, as model files are. In a database with another encoding, text is
/// accepted if it means the same in both, as ASCII does. SQL_ASCII is no encoding, so there all UTF-8
/// is accepted.
///
/// # Errors
/// [`EncodingError`].
pub fn utf8<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, EncodingError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => require_representable(text, what),
        Err(_) => Err(EncodingError(what)),
    }
}

/// Returns the text, if the database can store it and messages can show it.
///
/// # Errors
/// [`EncodingError`].
pub fn require_representable<T: AsRef<str>>(
    text: T,
    what: &'static str,
) -> Result<T, EncodingError> {
    use pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};
    let allowed = text.as_ref().is_ascii() || matches!(database_encoding(), PG_UTF8 | PG_SQL_ASCII);
    if allowed { Ok(text) } else { Err(EncodingError(what)) }
}

/// Returns the text that [`text`] has read, if it has replaced no byte: two texts may be one otherwise.
///
/// # Errors
/// [`EncodingError`].
pub fn require_unreplaced<T: AsRef<str>>(text: T, what: &'static str) -> Result<T, EncodingError> {
    let is_replaced = text.as_ref().contains(char::REPLACEMENT_CHARACTER)
        && database_encoding() != pg_sys::pg_enc::PG_UTF8;
    if is_replaced { Err(EncodingError(what)) } else { Ok(text) }
}

fn database_encoding() -> pg_sys::pg_enc::Type {
    // SAFETY: returns a variable of the backend.
    unsafe { pg_sys::GetDatabaseEncoding() }.cast_unsigned()
}
