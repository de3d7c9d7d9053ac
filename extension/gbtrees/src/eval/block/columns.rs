//! Columns of a block: values of features, and operands of conditions.
//!
//! Rows are contiguous, so a feature's values are spread, in wide rows over one cache line each. So several
//! neighbouring features are copied together, in squares of four by four.

use crate::compiled::sections::{CONDITION_COLUMNS, Sections};
use crate::compiled::tiles::{CodeTable, ConditionColumn, ConditionRun, MAX_SHARING, TABLE_CODES};
use crate::ensemble::is_in_set;
#[cfg(target_arch = "x86_64")]
use crate::eval::block::sse2;
use crate::eval::block::types::{BLOCK, BlockRows, BlockValues};
use crate::eval::interleaved::NodeSections;

/// Features copied together: a quarter of the first-level cache.
const TOGETHER: usize = 8;

/// Successive features of a block of rows.
#[derive(Clone, Debug)]
pub(super) struct ColumnValues {
    first: usize,
    /// Number of valid columns.
    count: usize,
    columns: Box<[BlockValues; TOGETHER]>,
}

impl ColumnValues {
    pub(super) fn new() -> Self {
        let columns = Box::new([const { BlockValues([0.0; BLOCK]) }; TOGETHER]);
        ColumnValues { first: 0, count: 0, columns }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.columns)
    }

    /// Forgets the block.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns a feature's values; all features since the last `clear` must be of one block.
    pub(super) fn of(&mut self, rows: &BlockRows<'_>, feature: usize) -> &BlockValues {
        if feature < self.first || feature >= self.first + self.count {
            self.first = feature;
            if rows.num_features < TOGETHER {
                self.count = 1;
                let values = rows.features.iter().skip(feature).step_by(rows.num_features);
                self.columns[0].0.iter_mut().zip(values).for_each(|(own, value)| *own = *value);
            } else {
                self.count = TOGETHER;
                self.first = feature.min(rows.num_features - TOGETHER);
                copy(rows, self.first, &mut self.columns);
            }
        }
        &self.columns[feature - self.first]
    }
}

/// Copies features of all rows from one on, in squares of four rows and features.
fn copy(rows: &BlockRows<'_>, first: usize, columns: &mut [BlockValues; TOGETHER]) {
    let width = rows.num_features;
    let fours = rows.features.chunks_exact(4 * width);
    let rest = fours.remainder().chunks_exact(width);
    for (row, features) in (rows.count / 4 * 4..BLOCK).zip(rest) {
        for (column, value) in columns.iter_mut().zip(&features[first..]) {
            column.0[row] = *value;
        }
    }
    for (four, features) in fours.enumerate().take(BLOCK / 4) {
        let own = |row: usize| features[row * width + first..][..TOGETHER].as_chunks::<4>().0;
        let rows: [&[[f32; 4]]; 4] = std::array::from_fn(own);
        for (part, columns) in columns.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let square = transposed(rows.map(|row| row[part]));
            for (column, values) in columns.iter_mut().zip(square) {
                column.0.as_chunks_mut::<4>().0[four] = values;
            }
        }
    }
}

/// Turns rows into columns.
#[inline(always)]
fn transposed(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        sse2::transposed(rows)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}

/// Groups the columns by shared search.
pub(super) fn columns_by_search(
    compiled: Sections<'_>,
) -> impl Iterator<Item = &[ConditionColumn]> {
    compiled
        .get(CONDITION_COLUMNS)
        .chunk_by(ConditionColumn::shares_search_with)
        .flat_map(|columns| columns.chunks(MAX_SHARING))
}

pub(super) fn search_tree<'a>(trees: &'a [f32], column: &ConditionColumn) -> &'a [f32] {
    let start = column.tree as usize;
    &trees[start..start + (1 << column.levels)]
}

/// Returns the position of a value's bit in a [`CodeTable`]: the byte, and the bit's mask.
#[inline(always)]
pub(super) fn bit_of_code(value: f32) -> (u8, u8) {
    if value.is_nan() {
        (CodeTable::MISSING, 0xff)
    } else if (0.0..TABLE_CODES as f32).contains(&value) {
        let code = value as u32;
        ((code / 8) as u8, 1 << (code % 8))
    } else {
        (CodeTable::NOT_IN_SET, 0xff)
    }
}

/// Returns a run's operands in their section.
pub(super) fn operands<'a, T>(section: &'a [T], run: &ConditionRun) -> &'a [T] {
    let start = run.operands as usize;
    &section[start..start + run.count as usize]
}

/// Returns whether a value goes right at a set without a table; `large` is a record of
/// [`LARGE_SETS`](crate::compiled::sections::LARGE_SETS).
pub(super) fn goes_right_large(nodes: &NodeSections<'_>, large: u32, value: f32) -> bool {
    if value.is_nan() { large & 1 == 1 } else { is_in_set(nodes.words(large / 2), value) }
}
