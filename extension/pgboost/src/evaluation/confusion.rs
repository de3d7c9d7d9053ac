//! How many rows of each class were given which class.

use std::collections::HashMap;

use super::predictions::Prediction;
use super::rows::KnownRow;
use super::target::Parts;
use crate::error::Result;

/// Rows, and their weight.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    pub(crate) rows: i64,
    pub(crate) weight: f64,
}

/// Bytes that a cell takes, for [`Parts`], which bounds them.
pub(crate) const CELL_BYTES: usize = 2 * size_of::<((u32, u32, u32), Cell)>();

/// The cells that have rows, by part, actual and predicted class.
#[derive(Default)]
pub(crate) struct Confusion {
    cells: HashMap<(u32, u32, u32), Cell>,
}

impl Confusion {
    #[inline]
    pub(crate) fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        let cell = (row.part, row.target as u32, prediction.class);
        let room = self.cells.len() * CELL_BYTES;
        let cell = match self.cells.get_mut(&cell) {
            Some(cell) => cell,
            None => {
                Parts::check_room(room, self.cells.len())?;
                self.cells.entry(cell).or_default()
            }
        };
        cell.rows += 1;
        cell.weight += row.weight;
        Ok(())
    }

    /// The cell of a part, an actual and a predicted class; empty if there is none.
    pub(crate) fn cell(&self, part: u32, actual: u32, predicted: u32) -> Cell {
        self.cells.get(&(part, actual, predicted)).copied().unwrap_or_default()
    }
}
