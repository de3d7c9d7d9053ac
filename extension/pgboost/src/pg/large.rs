//! Values of any size, read in pieces.
//!
//! PostgreSQL reads a value as a whole, which for a model of 256 MB takes a third of a second that
//! nothing interrupts. Here the statement may be cancelled between two pieces.

use pg_interface::report::check_for_interrupts;
use pg_interface::varlena;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{varatt_is_1b_e, varlena_to_byte_slice};

const PIECE: usize = 8 << 20;

/// The bytes of a bytea value. One that is compressed can only be read as a whole.
///
/// # Safety
/// As for [`varlena::bytes`].
pub unsafe fn bytes<'a>(datum: Datum) -> &'a [u8] {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the caller says that it is a bytea. A slice has as many bytes as are asked for, since
    // no more are than the value has; the whole has room for all of them.
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
