//! Text and bytes as PostgreSQL passes them: short or long headers, compressed, or out of line.
//!
//! PostgreSQL reads, copies and writes a value as a whole, which for one of 256 MB takes a third of a
//! second that nothing interrupts. A large bytea is read and made here in pieces, between which the statement
//! may be cancelled. A value that a user's table stores compressed is the exception: PostgreSQL decompresses
//! it as a whole.

use std::borrow::Cow;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{
    set_varsize_4b, varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice,
};
use pgrx::{AnyElement, FromDatum, IntoDatum};

use crate::report::check_for_interrupts;

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
    // SAFETY: guaranteed by the caller.
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
    // SAFETY: guaranteed by the caller.
    unsafe {
        let string = CStr::from_ptr(pointer).to_string_lossy().into_owned();
        pg_sys::pfree(pointer.cast());
        string
    }
}

/// Bytes that are copied between two looks at whether the statement was cancelled.
pub const PIECE: usize = 4 << 20;

/// Most bytes that PostgreSQL allocates at once (`MaxAllocSize`), and most bytes of a value.
pub const MAX_ALLOC: usize = 0x3fff_ffff;

/// How many bytes an argument has, without reading them; nothing if it is no bytea.
pub fn bytea_size(value: &AnyElement) -> Option<usize> {
    // SAFETY: the value is of the type that it says.
    (value.oid() == pg_sys::BYTEAOID)
        .then(|| unsafe { pg_sys::toast_raw_datum_size(value.datum()) } - pg_sys::VARHDRSZ)
}

/// The bytes of an argument, or nothing if it is no bytea.
pub fn bytea_argument(value: &AnyElement) -> Option<&[u8]> {
    // SAFETY: the value is of the type that it says; arguments outlive the call.
    (value.oid() == pg_sys::BYTEAOID).then(|| unsafe { bytes_in_pieces(value.datum()) })
}

/// The bytes of a bytea value; those of a large one that is stored out of line are read in pieces.
///
/// # Safety
/// As for [`bytes`].
unsafe fn bytes_in_pieces<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the caller says that it is a bytea. A slice has as many bytes as are asked for, since
    // no more are than the value has; the buffer has room for all of them.
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

/// A text as a value, in the current memory context.
pub fn text_datum(text: &str) -> Datum {
    text.into_datum().unwrap_or(Datum::from(0))
}

/// A bytea value that is being made, in the current memory context.
pub struct NewBytea {
    value: *mut pg_sys::varlena,
    len: usize,
}

impl NewBytea {
    /// Zeros; nothing if a value cannot have as many bytes.
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
            // SAFETY: the piece ends with the buffer, or before.
            unsafe { new.start().add(first).write_bytes(0, PIECE.min(len - first)) };
        }
        Some(new)
    }

    fn start(&mut self) -> *mut u8 {
        // SAFETY: the bytes follow the header, of four bytes as it was set.
        unsafe { self.value.cast::<u8>().add(pg_sys::VARHDRSZ) }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the bytes follow the header, and all of them were written.
        unsafe {
            std::slice::from_raw_parts(self.value.cast::<u8>().add(pg_sys::VARHDRSZ), self.len)
        }
    }

    /// Copies bytes to an offset; returns whether there is room for them.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.len);
        if fits {
            // SAFETY: there is room; the bytes are others' than the buffer's, which is borrowed.
            unsafe {
                let to = self.start().add(offset);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        }
        fits
    }

    /// The value, which lives as long as the memory context.
    pub fn into_value(self) -> Option<AnyElement> {
        let datum = Datum::from(std::mem::ManuallyDrop::new(self).value);
        // SAFETY: it is a bytea with its header.
        unsafe { AnyElement::from_polymorphic_datum(datum, false, pg_sys::BYTEAOID) }
    }
}

impl Drop for NewBytea {
    fn drop(&mut self) {
        // SAFETY: the buffer is this value's alone; its context has not ended, since values of this
        // type live no longer than the call that makes them.
        unsafe { pg_sys::pfree(self.value.cast()) }
    }
}

/// A text that cannot be read or stored in the database's encoding, by the name of what it is.
#[derive(Clone, Copy, Debug)]
pub struct EncodingError(pub &'static str);

/// A text argument's bytes as UTF-8.
///
/// The engine's text is UTF-8, as model files are. In a database of another encoding text is taken
/// as long as it means the same in both: ASCII does. SQL_ASCII means no encoding at all, so there
/// whatever is UTF-8 is taken as that.
///
/// # Errors
/// [`EncodingError`].
pub fn utf8<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, EncodingError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => require_representable(text, what),
        Err(_) => Err(EncodingError(what)),
    }
}

/// The text, if the database can store it and messages can show it.
///
/// # Errors
/// [`EncodingError`].
pub fn require_representable<T: AsRef<str>>(
    text: T,
    what: &'static str,
) -> Result<T, EncodingError> {
    use pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};
    // SAFETY: returns a variable of the backend.
    let encoding = || unsafe { pg_sys::GetDatabaseEncoding() }.cast_unsigned();
    let allowed = text.as_ref().is_ascii() || matches!(encoding(), PG_UTF8 | PG_SQL_ASCII);
    if allowed { Ok(text) } else { Err(EncodingError(what)) }
}
