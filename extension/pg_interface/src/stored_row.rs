//! Columns of a table's row as it is stored, read without deforming the row.
//!
//! Deforming takes longer than copying the values, for each column up to the last one wanted. If all these have types of
//! fixed length, and none of them is NULL in a row, they are at the same places in each such row. Any other row is to
//! be deformed.

use std::ffi::c_char;

use pgrx::PgTupleDesc;
use pgrx::pg_sys::{
    self, Datum, FormData_pg_attribute, HeapTupleTableSlot, TupleDesc, TupleTableSlot,
};

/// The place of a column's value in the data of a stored row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredColumn {
    offset: usize,
    length: usize,
    by_value: bool,
}

impl StoredColumn {
    /// Returns the places of the first columns of a table; `None` if one of them has no fixed length.
    ///
    /// # Safety
    /// The descriptor is valid; PostgreSQL's memory may be allocated.
    pub unsafe fn first(descriptor: TupleDesc, columns: i32) -> Option<Vec<StoredColumn>> {
        // SAFETY: guaranteed by the caller.
        let attributes = unsafe { PgTupleDesc::from_pg_unchecked(descriptor) };
        let mut end = 0;
        attributes
            .iter()
            .take(usize::try_from(columns).ok()?)
            .map(|it| next(&mut end, it))
            .collect()
    }

    /// Returns whether it is a value of up to eight bytes, which [`StoredColumn::value`] reads.
    pub fn is_value(self) -> bool {
        self.by_value && matches!(self.length, 1 | 2 | 4 | 8)
    }

    /// Returns whether it is a value of that many bytes.
    pub fn is_of(self, bytes: usize) -> bool {
        self.is_value() && self.length == bytes
    }

    /// Returns the value (`fetch_att`).
    ///
    /// # Safety
    /// The data is that of a row of the table that has the column, which is such a value.
    #[inline]
    pub unsafe fn value(self, data: *const u8) -> Datum {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let place = data.add(self.offset);
            match self.length {
                1 => Datum::from(i64::from(*place.cast::<c_char>())),
                2 => Datum::from(i64::from(place.cast::<i16>().read_unaligned())),
                4 => Datum::from(i64::from(place.cast::<i32>().read_unaligned())),
                _ => Datum::from(place.cast::<i64>().read_unaligned()),
            }
        }
    }

    /// Copies the values of neighbouring columns of type real from this one on.
    ///
    /// # Safety
    /// The data is that of a row of the table that has these columns.
    #[inline]
    pub unsafe fn read_reals(self, data: *const u8, reals: &mut [f32]) {
        // SAFETY: guaranteed by the caller; neighbours of equal length and alignment have no gap.
        unsafe {
            let place = data.add(self.offset);
            std::ptr::copy_nonoverlapping(place, reals.as_mut_ptr().cast(), size_of_val(reals));
        }
    }
}

/// Returns the place of the next column, behind which the data goes on at `end`.
fn next(end: &mut usize, attribute: &FormData_pg_attribute) -> Option<StoredColumn> {
    let length = usize::try_from(attribute.attlen).ok()?;
    let alignment = match attribute.attalign as u8 {
        b'c' => 1,
        b's' => 2,
        b'i' => 4,
        b'd' => 8,
        _ => return None,
    };
    let offset = end.next_multiple_of(alignment);
    *end = offset + length;
    Some(StoredColumn { offset, length, by_value: attribute.attbyval })
}

/// Returns whether a slot is for a table's rows as they are stored.
///
/// # Safety
/// The slot is valid.
#[inline]
pub unsafe fn is_for(slot: *mut TupleTableSlot) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { (*slot).tts_ops == &raw const pg_sys::TTSOpsBufferHeapTuple }
}

/// Returns the data of a slot's row if it is a table's, with that many columns of which none is NULL.
///
/// # Safety
/// The slot is valid. The data is as long valid as the slot has the row.
#[inline]
pub unsafe fn data(slot: *mut TupleTableSlot, columns: i32) -> Option<*const u8> {
    // SAFETY: the slot has a tuple if its kind says so; a tuple's header is followed by a bit per column, if it says so,
    // and by the data.
    unsafe {
        if !is_for(slot) {
            return None;
        }
        let tuple = (*slot.cast::<HeapTupleTableSlot>()).tuple;
        if tuple.is_null() {
            return None;
        }
        let header = (*tuple).t_data;
        let there = u32::from((*header).t_infomask2) & pg_sys::HEAP_NATTS_MASK;
        if there < columns as u32 {
            return None;
        }
        if u32::from((*header).t_infomask) & pg_sys::HEAP_HASNULL != 0 {
            let bits = (&raw const (*header).t_bits).cast();
            if !are_set(bits, columns as usize) {
                return None;
            }
        }
        Some(header.cast_const().cast::<u8>().add(usize::from((*header).t_hoff)))
    }
}

/// Returns whether the first `count` bits are set: that many columns are not NULL.
///
/// # Safety
/// There are that many.
#[inline]
unsafe fn are_set(bits: *const u8, count: usize) -> bool {
    let (bytes, rest) = (count / 8, (1u8 << (count % 8)) - 1);
    // SAFETY: guaranteed by the caller; without a rest no byte is read behind the last.
    unsafe {
        (0..bytes).all(|byte| *bits.add(byte) == u8::MAX)
            && (rest == 0 || *bits.add(bytes) & rest == rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_alignment_of_types() {
        let mut end = 0;
        let mut place = |attlen, attalign: u8, attbyval| {
            let attalign = attalign as c_char;
            let attribute =
                FormData_pg_attribute { attlen, attalign, attbyval, ..Default::default() };
            next(&mut end, &attribute).map(|column| (column.offset, column.is_value()))
        };
        assert_eq!(place(1, b'c', true), Some((0, true)));
        assert_eq!(place(2, b's', true), Some((2, true)));
        assert_eq!(place(16, b'c', false), Some((4, false)));
        assert_eq!(place(4, b'i', true), Some((20, true)));
        assert_eq!(place(8, b'd', true), Some((24, true)));
        assert_eq!(place(1, b'c', true), Some((32, true)));
        assert_eq!(place(4, b'i', true), Some((36, true)));
        assert_eq!(place(-1, b'i', false), None);
        assert_eq!(place(-2, b'c', false), None);
    }

    #[test]
    fn bits_of_the_first_columns_are_tested() {
        let bits = [0xff, 0b0000_0111];
        // SAFETY: there are sixteen bits.
        let are_set = |count| unsafe { are_set(bits.as_ptr(), count) };
        assert!((0..=11).all(are_set));
        assert!(!(12..=16).any(are_set));
    }
}
