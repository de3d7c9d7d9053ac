//! The parts of an array or a row that was not formed: columns of rows that were read ahead.

use pg_interface::Row;
use pgrx::pg_sys::Datum;

#[derive(Clone, Copy)]
pub struct Parts<'a> {
    row: Row<'a>,
    /// For each part its place in the row.
    places: &'a [usize],
    /// The first place, if the others follow it.
    run: Option<usize>,
}

/// Where parts are in each row.
pub struct Places {
    places: Vec<usize>,
    run: Option<usize>,
}

impl Places {
    pub fn new(places: Vec<usize>) -> Places {
        let follows = |pair: &[usize]| matches!(pair, [left, right] if left + 1 == *right);
        let run = places.first().copied().filter(|_| places.windows(2).all(follows));
        Places { places, run }
    }

    pub fn all(&self) -> &[usize] {
        &self.places
    }

    #[inline]
    pub fn of<'a>(&'a self, row: Row<'a>) -> Parts<'a> {
        Parts { row, places: &self.places, run: self.run }
    }
}

impl<'a> Parts<'a> {
    pub fn len(self) -> usize {
        self.places.len()
    }

    /// All of them, nothing for a NULL.
    pub fn datums(self) -> impl ExactSizeIterator<Item = Option<Datum>> {
        self.places.iter().map(move |place| self.row.get(*place))
    }

    /// The parts as a row of their own, if they lie one after another.
    #[inline]
    pub fn as_row(self) -> Option<Row<'a>> {
        self.run.map(|first| self.row.part(first, self.places.len()))
    }
}
