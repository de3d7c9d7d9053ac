//! What the cuts of a column are compared with, and how single values are.

use crate::eval::is_in_set;
use crate::forest::Forest;
use crate::forest::tiles::{CodeTable, Column, Run, TABLE_CODES, Tiled};

/// A ranked column's search tree.
pub(super) fn search_tree<'a>(tiles: &Tiled<'a>, column: &Column) -> &'a [f32] {
    let start = column.tree as usize;
    tiles.search_trees.get(start..start + (1 << column.levels)).unwrap_or_default()
}

/// Where a value's bit is in a [`CodeTable`].
#[inline(always)]
pub(super) fn place_of_code(value: f32) -> (u8, u8) {
    if value.is_nan() {
        (CodeTable::MISSING, 0xff)
    } else if (0.0..TABLE_CODES as f32).contains(&value) {
        let code = value as u32;
        ((code / 8) as u8, 1 << (code % 8))
    } else {
        (CodeTable::NOT_IN_SET, 0xff)
    }
}

/// Operands of a run, in their section.
pub(super) fn operands<'a, T>(section: &'a [T], run: &Run) -> &'a [T] {
    let start = run.operands as usize;
    section.get(start..start + run.count as usize).unwrap_or_default()
}

/// Whether a value goes right at a split with a set that has no table.
pub(super) fn goes_right_large(forest: &Forest<'_>, set: u32, value: f32) -> bool {
    if value.is_nan() { set & 1 == 1 } else { is_in_set(forest.words(set / 2), value) }
}
