//! The models' names in the rows of a batch, each text kept once.
//!
//! Rows that name one of some thousand models then take four bytes for it, and are grouped by these
//! numbers. Texts that are stored differently count as different, which makes groups smaller and nothing
//! else.

use pgrx::pg_sys::Datum;

use super::copies::Copies;
use crate::name_hash::NameMap;

/// The number of a name that is NULL.
pub(crate) const NO_NAME: u32 = u32::MAX;

/// Bytes that a text takes besides its copy: its number, and its place in a table that is half full.
const TEXT_BYTES: usize = size_of::<Datum>() + 2 * (size_of::<(&[u8], u32)>() + 1);

#[derive(Default)]
pub(crate) struct Names {
    /// Of each row the number of its text.
    numbers: Vec<u32>,
    texts: Vec<Datum>,
    /// The texts as they are stored; they lie in the batch's memory, and this is emptied before that.
    known: NameMap<&'static [u8], u32>,
    last: Option<(&'static [u8], u32)>,
}

impl Names {
    /// Bytes that the texts take here.
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

    /// Takes in the name of the next row.
    ///
    /// # Safety
    /// The value is a text; called as `unguarded_exec` says.
    #[inline]
    pub(crate) unsafe fn push(&mut self, name: Option<Datum>, copies: &mut Copies) {
        let number = match name {
            // SAFETY: the caller says so.
            Some(name) => unsafe { self.number_of(name, copies) },
            None => NO_NAME,
        };
        self.numbers.push(number);
    }

    /// # Safety
    /// As for [`Names::push`].
    #[inline]
    unsafe fn number_of(&mut self, name: Datum, copies: &mut Copies) -> u32 {
        // SAFETY: the caller says so; a copy lies in memory that is freed after `known` is emptied.
        unsafe {
            let stored = Copies::stored_text(name);
            // Neighbours often have the same model.
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

    /// Of each row the number of its text, `NO_NAME` if it is NULL.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The texts by their numbers.
    pub(crate) fn texts(&self) -> &[Datum] {
        &self.texts
    }

    /// The name of a row.
    #[inline]
    pub(crate) fn of(&self, row: usize) -> Option<Datum> {
        self.texts.get(*self.numbers.get(row)? as usize).copied()
    }
}
