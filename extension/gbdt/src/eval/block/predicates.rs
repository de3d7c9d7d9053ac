//! What the predicates of a column compare with, and how a single value is looked up.

use crate::eval::interleaved::NodeSections;
use crate::eval::is_in_set;
use crate::forest::sections::{PREDICATE_COLUMNS, Sections};
use crate::forest::tiles::{CodeTable, MAX_SHARING, PredicateColumn, PredicateRun, TABLE_CODES};

/// The columns, those together that share a search.
pub(super) fn columns_by_search(image: Sections<'_>) -> impl Iterator<Item = &[PredicateColumn]> {
    image
        .get(PREDICATE_COLUMNS)
        .chunk_by(PredicateColumn::shares_search_with)
        .flat_map(|columns| columns.chunks(MAX_SHARING))
}

pub(super) fn search_tree<'a>(trees: &'a [f32], column: &PredicateColumn) -> &'a [f32] {
    let start = column.tree as usize;
    &trees[start..start + (1 << column.levels)]
}

/// Where a value's bit is in a [`CodeTable`]: the byte, and the bit alone.
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

/// The operands of a run, in their section.
pub(super) fn operands<'a, T>(section: &'a [T], run: &PredicateRun) -> &'a [T] {
    let start = run.operands as usize;
    &section[start..start + run.count as usize]
}

/// Whether a value goes right at a split with a set that has no table; `large` is a record of
/// [`LARGE_SETS`](crate::forest::sections::LARGE_SETS).
pub(super) fn goes_right_large(nodes: &NodeSections<'_>, large: u32, value: f32) -> bool {
    if value.is_nan() { large & 1 == 1 } else { is_in_set(nodes.words(large / 2), value) }
}
