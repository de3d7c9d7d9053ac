//! Whether predictions are right on average: rows in bins of equal numbers by their prediction, and in
//! each the mean of what was predicted and of what was there.
//!
//! The bins are those of scikit-learn's `calibration_curve(strategy="quantile")`: their borders are the
//! quantiles of the predictions, interpolated as numpy does, and a prediction on a border belongs to the
//! bin below it. So one value is never in two bins, and a bin may be empty.

use row_source::sorter::{Sorter, number, ordered, work_mem};

use super::rows::KnownRow;
use crate::error::Result;

pub(crate) struct Calibration {
    /// Part and prediction, target, weight.
    sorter: Sorter<3>,
    /// Rows of each part.
    rows: Vec<u64>,
    bins: usize,
}

/// A bin that has rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bin {
    pub(crate) part: u32,
    /// Counted from 1.
    pub(crate) number: i32,
    pub(crate) rows: i64,
    pub(crate) weight: f64,
    pub(crate) predicted: f64,
    pub(crate) actual: f64,
}

impl Calibration {
    pub(crate) fn new(bins: usize) -> Calibration {
        Calibration { sorter: Sorter::new(work_mem()), rows: Vec::new(), bins }
    }

    pub(crate) fn add(&mut self, row: &KnownRow, value: f32) -> Result<()> {
        let part = row.part as usize;
        if self.rows.len() <= part {
            self.rows.resize(part + 1, 0);
        }
        if let Some(rows) = self.rows.get_mut(part) {
            *rows += 1;
        }
        let key = u64::from(row.part) << 32 | u64::from(ordered(value));
        self.sorter.push([key, row.target.to_bits(), row.weight.to_bits()])?;
        Ok(())
    }

    /// The bins that have rows, by part and number; the means are weighted.
    pub(crate) fn bins(self) -> Result<Vec<Bin>> {
        let Calibration { sorter, rows, bins } = self;
        let mut walk = Walk {
            rows,
            bins,
            found: Vec::new(),
            row: 0,
            before: 0.0,
            borders: Vec::new(),
            passed: 0,
        };
        sorter.each(|[key, target, weight]| {
            walk.step(*key, f64::from_bits(*target), f64::from_bits(*weight));
        })?;
        for bin in &mut walk.found {
            bin.predicted /= bin.weight;
            bin.actual /= bin.weight;
        }
        Ok(walk.found)
    }
}

/// A walk up the predictions.
struct Walk {
    rows: Vec<u64>,
    bins: usize,
    found: Vec<Bin>,
    /// Of the part: how many rows came before, the last one's prediction, the borders that are known, and
    /// how many of them are passed.
    row: u64,
    before: f64,
    borders: Vec<f64>,
    passed: usize,
}

impl Walk {
    fn step(&mut self, key: u64, target: f64, weight: f64) {
        let (part, value) = ((key >> 32) as u32, f64::from(number(key as u32)));
        if self.found.last().is_none_or(|bin| bin.part != part) {
            (self.row, self.passed, self.before) = (0, 0, value);
            self.borders.clear();
        }
        self.find_borders(part, value);
        while self.borders.get(self.passed).is_some_and(|border| value > *border) {
            self.passed += 1;
        }
        let number = self.passed as i32 + 1;
        if self.found.last().is_none_or(|bin| bin.part != part || bin.number != number) {
            self.found.push(Bin { part, number, ..Bin::default() });
        }
        if let Some(bin) = self.found.last_mut() {
            bin.rows += 1;
            bin.weight += weight;
            bin.predicted += weight * value;
            bin.actual += weight * target;
        }
        self.row += 1;
        self.before = value;
    }

    /// A border lies between two rows, and is known with the upper one (numpy: `_lerp`).
    fn find_borders(&mut self, part: u32, value: f64) {
        let last = self.rows.get(part as usize).map_or(0, |rows| rows.saturating_sub(1));
        while self.borders.len() + 1 < self.bins {
            // As scikit-learn makes the share: by way of percent.
            let share = (self.borders.len() + 1) as f64 * (1.0 / self.bins as f64) * 100.0 / 100.0;
            let place = last as f64 * share;
            if self.row < place.ceil() as u64 {
                return;
            }
            let (between, rise) = (place.fract(), value - self.before);
            self.borders.push(match between {
                0.0 => value,
                0.5.. => value - rise * (1.0 - between),
                _ => self.before + rise * between,
            });
        }
    }
}
