//! A block of rows through all tiles: columns, cuts, ways, sums.
//!
//! The same for every architecture that brings [`Vectors`]. Values are taken out of the rows column
//! by column; each segment's cuts are answered; then tree after tree is walked and added, so that
//! each row's sum grows in the order of the file.
#![allow(
    unsafe_code,
    reason = "calls kernels for instructions that the processor has, over tiles that were checked"
)]

use super::below::{Below, RowsBelow};
use super::cuts::{goes_right_large, operands, place_of_code, search_tree};
use super::{BLOCK, Codes, Mask, Planes, RANK_BITS, Values, Vectors, WORDS, Ways};
use crate::forest::tiles::{
    ColumnKind, MAX_CUTS, Segment, TILE_LEVELS, TileGroup, Tiled, tile_leaves, tile_nodes,
};
use crate::forest::{Forest, GroupKind};

const NO_MASK: Mask = Mask([0; WORDS]);
const NO_VALUES: Values = Values([0.0; BLOCK]);

/// What is kept of a block; nothing is allocated once it has grown.
#[derive(Clone, Debug)]
pub(in crate::eval) struct Buffers {
    /// Of each column, its index among those of its kind.
    slots: Vec<usize>,
    ranks: Vec<Planes>,
    codes: Vec<Codes>,
    values: Vec<Values>,
    /// One a cut of a segment.
    masks: Box<[Mask]>,
    ways: Ways,
    numbers: Box<[u8; BLOCK]>,
    sums: Vec<Values>,
    below: RowsBelow,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Buffers {
            slots: Vec::new(),
            ranks: Vec::new(),
            codes: Vec::new(),
            values: Vec::new(),
            masks: vec![NO_MASK; MAX_CUTS].into_boxed_slice(),
            ways: [NO_MASK; TILE_LEVELS as usize],
            numbers: Box::new([0; BLOCK]),
            sums: Vec::new(),
            below: RowsBelow::default(),
        }
    }
}

/// Up to [`BLOCK`] rows.
pub(in crate::eval) struct Rows<'a> {
    pub(in crate::eval) features: &'a [f32],
    pub(in crate::eval) num_features: usize,
    pub(in crate::eval) count: usize,
}

impl Rows<'_> {
    /// The values of a feature.
    fn take(&self, feature: usize, values: &mut Values) {
        let column = self.features.get(feature..).unwrap_or_default();
        let column = column.iter().step_by(self.num_features);
        values.0.iter_mut().zip(column).for_each(|(place, value)| *place = *value);
    }
}

/// The margins of a block of rows.
///
/// # Safety
/// The processor has the instructions of `V`.
pub(super) unsafe fn margins<V: Vectors>(
    forest: &Forest<'_>,
    tiles: &Tiled<'_>,
    buffers: &mut Buffers,
    rows: &Rows<'_>,
    out: &mut [f32],
) {
    buffers.sums.resize(forest.base_margins.len(), NO_VALUES);
    for (sums, base) in buffers.sums.iter_mut().zip(forest.base_margins) {
        sums.0 = [*base; BLOCK];
    }
    // SAFETY: the caller's promise.
    unsafe { answer_columns::<V>(tiles, buffers, rows) };
    if tiles.groups.iter().any(|group| group.below > 0) {
        buffers.below.set(rows);
    }
    for segment in tiles.segments {
        // SAFETY: the caller's promise; the segment is one of the image's.
        unsafe {
            answer_cuts::<V>(forest, tiles, segment, buffers, rows.count);
            let groups = tiles.groups.iter().skip(segment.first_group as usize);
            for group in groups.take(segment.groups as usize) {
                add_group::<V>(forest, tiles, group, buffers, rows);
            }
        }
    }
    let outputs = forest.base_margins.len();
    for (row, margins) in out.chunks_exact_mut(outputs).enumerate().take(rows.count) {
        for (margin, sums) in margins.iter_mut().zip(&buffers.sums) {
            *margin = sums.0[V::place_of(row) % BLOCK];
        }
    }
}

/// Finds ranks and codes, and keeps values that are compared as they are.
///
/// # Safety
/// The processor has the instructions of `V`.
unsafe fn answer_columns<V: Vectors>(tiles: &Tiled<'_>, buffers: &mut Buffers, rows: &Rows<'_>) {
    let Buffers { slots, ranks, codes, values, .. } = buffers;
    let mut counts = [0usize; 3];
    slots.clear();
    let mut column_values = NO_VALUES;
    let mut taken = None;
    for column in tiles.columns {
        let Some(kind) = ColumnKind::from_number(column.kind) else { continue };
        if taken != Some(column.feature) {
            rows.take(column.feature as usize, &mut column_values);
            taken = Some(column.feature);
        }
        match kind {
            ColumnKind::RankedLeft | ColumnKind::RankedRight => {
                let ranks = slot(ranks, &mut counts[0], slots, [NO_MASK; RANK_BITS]);
                let tree = search_tree(tiles, column);
                let missing_right = kind == ColumnKind::RankedRight;
                // SAFETY: the caller's promise.
                unsafe { V::rank(&column_values, rows.count, tree, missing_right, ranks) };
            }
            ColumnKind::Codes => {
                let none = Codes { bytes: [0; BLOCK], bits: [0; BLOCK] };
                set_codes(&column_values, slot(codes, &mut counts[1], slots, none));
            }
            ColumnKind::LargeCodes => {
                *slot(values, &mut counts[2], slots, NO_VALUES) = column_values;
            }
        }
    }
}

/// The next place among those of a kind, whose index is noted.
fn slot<'a, T: Clone>(
    places: &'a mut Vec<T>,
    count: &mut usize,
    slots: &mut Vec<usize>,
    empty: T,
) -> &'a mut T {
    slots.push(*count);
    *count += 1;
    if places.len() < *count {
        places.resize(*count, empty);
    }
    &mut places[*count - 1]
}

fn set_codes(values: &Values, codes: &mut Codes) {
    for ((value, byte), bit) in values.0.iter().zip(&mut codes.bytes).zip(&mut codes.bits) {
        (*byte, *bit) = place_of_code(*value);
    }
}

/// Answers all cuts of a segment.
///
/// # Safety
/// The processor has the instructions of `V`.
unsafe fn answer_cuts<V: Vectors>(
    forest: &Forest<'_>,
    tiles: &Tiled<'_>,
    segment: &Segment,
    buffers: &mut Buffers,
    rows: usize,
) {
    let Buffers { slots, ranks, codes, values, masks, .. } = buffers;
    let runs = tiles.runs.iter().skip(segment.first_run as usize).take(segment.runs as usize);
    for run in runs {
        let first = run.first_cut as usize;
        let Some(masks) = masks.get_mut(first..first + run.count as usize) else { continue };
        let column = run.column as usize;
        let (Some(column), Some(slot)) = (tiles.columns.get(column), slots.get(column)) else {
            continue;
        };
        let Some(kind) = ColumnKind::from_number(column.kind) else { continue };
        // SAFETY: the caller's promise.
        unsafe {
            match kind {
                ColumnKind::RankedLeft | ColumnKind::RankedRight => {
                    V::compare_ranks(&ranks[*slot], operands(tiles.ranks, run), masks);
                }
                ColumnKind::Codes => {
                    let tables = operands(tiles.code_tables, run);
                    V::look_up(&codes[*slot], rows, tables, masks);
                }
                ColumnKind::LargeCodes => {
                    let sets = operands(tiles.large_sets, run);
                    for (set, mask) in sets.iter().zip(masks) {
                        look_up_large(forest, *set, &values[*slot], rows, mask);
                    }
                }
            }
        }
    }
}

fn look_up_large(forest: &Forest<'_>, set: u32, values: &Values, rows: usize, mask: &mut Mask) {
    let words = mask.0.iter_mut().zip(values.0.as_chunks::<64>().0);
    for (word, values) in words.take(rows.div_ceil(64)) {
        *word = values.iter().enumerate().fold(0, |bits, (row, value)| {
            bits | u64::from(goes_right_large(forest, set, *value)) << row
        });
    }
}

/// Walks the trees of a group and adds their leaves.
///
/// # Safety
/// The processor has the instructions of `V`; the group is one of the image's, and the cuts of its
/// segment have been answered.
unsafe fn add_group<V: Vectors>(
    forest: &Forest<'_>,
    tiles: &Tiled<'_>,
    group: &TileGroup,
    buffers: &mut Buffers,
    rows: &Rows<'_>,
) {
    let Buffers { masks, ways, numbers, sums, below, .. } = buffers;
    let levels = group.levels;
    let nodes = tiles.nodes.get(group.nodes as usize..).unwrap_or_default();
    let nodes = nodes.chunks_exact(tile_nodes(levels));
    let kind = GroupKind::from_number(group.kind).unwrap_or(GroupKind::Wide);
    for (tree, nodes) in nodes.enumerate().take(group.count as usize) {
        let output = forest.outputs.get(group.first as usize + tree).copied().unwrap_or(0);
        let Some(sums) = sums.get_mut(output as usize) else { continue };
        debug_assert!(nodes.iter().all(|cut| usize::from(*cut) < masks.len()), "cuts");
        // SAFETY: the caller's promise; the image's check found each node's cut to be below the
        // number of cuts, which is at most MAX_CUTS, of which there are as many masks.
        unsafe { V::walk(nodes, levels, masks, rows.count, ways) };
        if group.below == 0 {
            let start = group.leaves as usize + tree * tile_leaves(levels);
            let leaves = tiles.leaves.get(start..start + tile_leaves(levels));
            // SAFETY: the caller's promise; the leaves are those of the tile.
            unsafe { V::add(ways, rows.count, levels, leaves.unwrap_or(&[0.0; 256]), sums) };
        } else {
            let start = group.leaves as usize + (tree << levels);
            let exits = tiles.exits.get(start..start + (1 << levels)).unwrap_or_default();
            // SAFETY: the caller's promise.
            unsafe { V::number(ways, rows.count, levels, numbers) };
            let steps = Below { exits, kind, steps: group.below };
            steps.add(forest, rows, below, numbers, |row, leaf| {
                sums.0[V::place_of(row) % BLOCK] += leaf;
            });
        }
    }
}
