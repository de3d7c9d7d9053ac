//! Copies of values that are passed by reference, in a memory context that is reset as a whole, and the
//! models' names of a batch's rows, each text copied once.
//!
//! Small copies share larger pieces of that memory: an allocation by PostgreSQL for each would take longer than
//! the copy, and 16 bytes more. A row's name takes four bytes, the number of its text, by which rows are
//! grouped. Equal texts that are stored differently get different numbers, which only makes groups
//! smaller.

use std::ptr;

use pg_interface::unguarded;
use pgrx::pg_sys::{self, CurrentMemoryContext, Datum, MemoryContext, varlena};
use pgrx::varlena::{varatt_is_1b_e, varsize_any};

use crate::cache::NameMap;

const PIECE: usize = 8 << 10;
/// The size above which a value gets a separate allocation.
const MAX_SMALL: usize = PIECE / 8;

pub(crate) struct Copies {
    memory: MemoryContext,
    /// The free part of the current piece, and its size.
    next: *mut u8,
    left: usize,
    /// The bytes of all copies.
    bytes: usize,
}

impl Copies {
    pub(crate) fn new(memory: MemoryContext) -> Copies {
        Copies { memory, next: ptr::null_mut(), left: 0, bytes: 0 }
    }

    pub(crate) fn memory(&self) -> MemoryContext {
        self.memory
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// # Safety
    /// No copy is used any more; called as `pg_interface::unguarded` says.
    pub(crate) unsafe fn clear(&mut self) {
        (self.next, self.left, self.bytes) = (ptr::null_mut(), 0, 0);
        // SAFETY: guaranteed by the caller.
        unsafe { unguarded::MemoryContextReset(self.memory) }
    }

    /// # Safety
    /// The value is of a type of that length, as pg_type has it; called as `pg_interface::unguarded` says.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, value: Datum, length: i16) -> Datum {
        // SAFETY: guaranteed by the caller. What is stored out of line in a table stays there while
        // the statement's snapshot can see it; anything else that lies elsewhere is fetched.
        unsafe {
            let bytes = length_of(value, length);
            if length == -1 && is_in_memory_toast(value.cast_mut_ptr()) {
                self.bytes += bytes;
                return self.fetched(value);
            }
            let copy = self.room(bytes);
            ptr::copy_nonoverlapping(value.cast_mut_ptr::<u8>(), copy, bytes);
            Datum::from(copy)
        }
    }

    /// Returns the stored bytes of a text, for a reference into a table those of the reference, or `None` for a
    /// reference to other memory.
    ///
    /// # Safety
    /// The value is a text, and is not freed for `'a`.
    #[inline]
    pub(crate) unsafe fn stored_text<'a>(value: Datum) -> Option<&'a [u8]> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let text = value.cast_mut_ptr::<varlena>();
            let bytes = varsize_any(text);
            (!is_in_memory_toast(text)).then(|| std::slice::from_raw_parts(text.cast(), bytes))
        }
    }

    /// # Safety
    /// Called as `pg_interface::unguarded` says.
    #[inline]
    unsafe fn room(&mut self, bytes: usize) -> *mut u8 {
        let aligned = bytes.next_multiple_of(pg_sys::MAXIMUM_ALIGNOF as usize);
        self.bytes += aligned;
        // SAFETY: guaranteed by the caller; a piece has that many bytes left.
        unsafe {
            if aligned > MAX_SMALL {
                return unguarded::MemoryContextAlloc(self.memory, bytes).cast();
            }
            if aligned > self.left {
                self.next = unguarded::MemoryContextAlloc(self.memory, PIECE).cast();
                self.left = PIECE;
            }
            let room = self.next;
            self.next = room.add(aligned);
            self.left -= aligned;
            room
        }
    }

    /// # Safety
    /// The value is a varlena; called as `pg_interface::unguarded` says.
    #[cold]
    unsafe fn fetched(&self, value: Datum) -> Datum {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let before = CurrentMemoryContext;
            CurrentMemoryContext = self.memory;
            let fetched = unguarded::pg_detoast_datum_copy(value.cast_mut_ptr());
            CurrentMemoryContext = before;
            Datum::from(fetched)
        }
    }
}

/// # Safety
/// The value is of a type of that length.
#[inline]
unsafe fn length_of(value: Datum, length: i16) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match length {
            -1 => varsize_any(value.cast_mut_ptr::<varlena>()),
            -2 => std::ffi::CStr::from_ptr(value.cast_mut_ptr()).to_bytes_with_nul().len(),
            fixed => fixed as usize,
        }
    }
}

/// Returns whether a value refers to another place in memory, as an expanded array does.
///
/// # Safety
/// The pointer is to a valid varlena.
#[inline]
unsafe fn is_in_memory_toast(value: *mut varlena) -> bool {
    // SAFETY: the first byte of a varlena says whether it is a reference, the second to what.
    unsafe {
        varatt_is_1b_e(value)
            && u32::from(*value.cast::<u8>().add(1)) != pg_sys::vartag_external::VARTAG_ONDISK
    }
}

/// The number of a name that is NULL.
pub(crate) const NO_NAME: u32 = u32::MAX;

/// The bytes of a text besides its copy: its entry in `texts`, and in a table that is half full.
const TEXT_BYTES: usize = size_of::<Datum>() + 2 * (size_of::<(&[u8], u32)>() + 1);

#[derive(Default)]
pub(crate) struct Names {
    /// The number of each row's text.
    numbers: Vec<u32>,
    texts: Vec<Datum>,
    /// The numbers of the stored texts. They lie in the batch's memory, and this is cleared before it.
    known: NameMap<&'static [u8], u32>,
    last: Option<(&'static [u8], u32)>,
}

impl Names {
    /// Returns the number of bytes that the texts take.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.len() * TEXT_BYTES
    }

    pub(crate) fn make_room(&mut self, rows: usize) {
        self.numbers.reserve(rows.saturating_sub(self.numbers.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        self.known.clear();
        self.last = None;
    }

    /// Adds the name of the next row.
    ///
    /// # Safety
    /// The value is a text; called as `pg_interface::unguarded` says.
    #[inline]
    pub(crate) unsafe fn push(&mut self, name: Option<Datum>, copies: &mut Copies) {
        let number = match name {
            // SAFETY: guaranteed by the caller.
            Some(name) => unsafe { self.number_of(name, copies) },
            None => NO_NAME,
        };
        self.numbers.push(number);
    }

    /// # Safety
    /// As for [`Names::push`].
    #[inline]
    unsafe fn number_of(&mut self, name: Datum, copies: &mut Copies) -> u32 {
        // SAFETY: guaranteed by the caller; a copy's memory is freed after `known` is emptied.
        unsafe {
            let stored = Copies::stored_text(name);
            // Consecutive rows often have the same model.
            if let (Some((last, number)), Some(stored)) = (self.last, stored)
                && last == stored
            {
                return number;
            }
            let known = stored.and_then(|stored| self.known.get_key_value(stored));
            if let Some((text, number)) = known {
                self.last = Some((text, *number));
                return *number;
            }
            let copy = copies.copy(name, -1);
            let number = self.texts.len() as u32;
            self.texts.push(copy);
            if stored.is_some()
                && let Some(stored) = Copies::stored_text(copy)
            {
                self.known.insert(stored, number);
            }
            number
        }
    }

    /// Returns the number of each row's text, `NO_NAME` if it is NULL.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the texts by their numbers.
    pub(crate) fn texts(&self) -> &[Datum] {
        &self.texts
    }

    /// Returns the name of a row.
    #[inline]
    pub(crate) fn of(&self, row: usize) -> Option<Datum> {
        self.texts.get(*self.numbers.get(row)? as usize).copied()
    }
}
