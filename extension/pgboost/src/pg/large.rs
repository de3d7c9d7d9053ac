//! Values of any size, read and made in pieces.
//!
//! PostgreSQL reads, copies and writes a value as a whole, which for one of 256 MB takes a third of a
//! second that nothing interrupts. Here the statement may be cancelled between two pieces. A value that
//! a user's table holds compressed is the exception: PostgreSQL decompresses it as a whole.

use pg_interface::report::check_for_interrupts;
use pg_interface::varlena;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{set_varsize_4b, varatt_is_1b_e, varlena_to_byte_slice};
use pgrx::{AnyElement, FromDatum};

/// Bytes that are copied between two looks at whether the statement was cancelled.
pub const PIECE: usize = 4 << 20;

/// Most bytes that PostgreSQL allocates at once (`MaxAllocSize`).
const MAX_ALLOC: usize = 0x3fff_ffff;

/// How many bytes an argument has, without reading them; nothing if it is no bytea.
pub fn size_of_argument(value: &AnyElement) -> Option<usize> {
    // SAFETY: the value is of the type that it says.
    (value.oid() == pg_sys::BYTEAOID)
        .then(|| unsafe { pg_sys::toast_raw_datum_size(value.datum()) } - pg_sys::VARHDRSZ)
}

/// The bytes of an argument, or nothing if it is no bytea.
pub fn argument(value: &AnyElement) -> Option<&[u8]> {
    // SAFETY: the value is of the type that it says; arguments outlive the call.
    (value.oid() == pg_sys::BYTEAOID).then(|| unsafe { bytes(value.datum()) })
}

/// The bytes of a bytea value.
///
/// # Safety
/// As for [`varlena::bytes`].
unsafe fn bytes<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the caller says that it is a bytea. A slice has as many bytes as are asked for, since
    // no more are than the value has; the buffer has room for all of them.
    unsafe {
        if !varatt_is_1b_e(pointer) {
            return varlena::bytes(datum);
        }
        let len = pg_sys::toast_raw_datum_size(datum) - pg_sys::VARHDRSZ;
        if len <= PIECE || pg_sys::toast_datum_size(datum) != len {
            return varlena::bytes(datum);
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

/// A bytea value that is being made, in the memory context that is current.
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
