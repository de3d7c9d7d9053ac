//! A block of rows through all tiles: columns, conditions, paths, sums.
//!
//! Common to all [`BlockKernel`]s. Values are extracted column by column, each segment's conditions are
//! evaluated, then tree after tree is walked and added, so that each row's sum grows in file order.
#![allow(
    unsafe_code,
    reason = "calls kernels for instructions that the processor has, over tiles that were checked"
)]

use std::ops::{Range, RangeInclusive};

use crate::compiled::aligned::prefetch_all;
use crate::compiled::sections::{
    BASE_MARGINS, CODE_TABLES, CODINGS, COMPOUND_RUNS, COMPOUND_WORDS, CONDITION_COLUMNS,
    CONDITION_RUNS, LARGE_SETS, OUTPUTS, RANKS, SEARCH_TREES, SEGMENTS, SOURCES, Sections,
    TILE_EXITS, TILE_GROUPS, TILE_NODES,
};
use crate::compiled::tiles::{
    ColumnKind, ConditionColumn, MAX_COMPOUNDS, MAX_CONDITIONS, MAX_LEVELS, MAX_MASKS, Segment,
    TileForm, TileGroup, tile_leaves,
};
use crate::eval::block::columns::{
    ColumnValues, bit_of_code, columns_by_search, goes_right_large, operands, search_tree,
};
use crate::eval::block::lower_levels::{BlockKeys, LeafKeys, LowerLevels};
use crate::eval::block::types::{
    BLOCK, BlockKernel, BlockRows, BlockSum, BlockValues, Codes, IN_ORDER, MAX_TOGETHER, Mask,
    NO_MASK, PathBits, RANK_BITS, Ranks, Sums,
};
use crate::eval::block::vectors::{self, WaitingTrees};
use crate::eval::interleaved::NodeSections;
use crate::memory::allocated;

/// Numbers of features for which rows are prefetched before reading columns: processors prefetch
/// narrower rows themselves, and a block of wider rows exceeds the second-level cache.
const FETCHED_FEATURES: RangeInclusive<usize> = 100..=400;
const NO_VALUES: BlockValues = BlockValues([0.0; BLOCK]);

/// Buffers of a block; nothing is allocated once they have grown.
#[derive(Clone, Debug)]
pub(in crate::eval) struct Buffers<S> {
    /// Each column's index among those of its kind.
    column_indices: Vec<usize>,
    column_values: ColumnValues,
    ranks: Vec<Ranks>,
    codes: Vec<Codes>,
    values: Vec<BlockValues>,
    /// One per condition of a segment and compound of a group: [`MAX_MASKS`].
    masks: Box<[Mask]>,
    path: PathBits,
    leaf_indices: Box<[u8; BLOCK]>,
    /// The rows' leaves in the last tree with levels below its tile.
    leaf_keys: Box<LeafKeys>,
    /// That tree of the model.
    leaves_of: Option<u32>,
    /// Trees of several outputs.
    waiting: WaitingTrees<S>,
    /// Initial sums, one per output.
    start: Vec<S>,
    sums: Vec<Sums<S>>,
    keys: BlockKeys,
}

impl<S: BlockSum> Buffers<S> {
    pub(super) fn new() -> Self {
        Buffers {
            column_indices: Vec::new(),
            column_values: ColumnValues::new(),
            ranks: Vec::new(),
            codes: Vec::new(),
            values: Vec::new(),
            masks: no_masks(),
            path: [NO_MASK; MAX_LEVELS as usize],
            leaf_indices: Box::new([0; BLOCK]),
            leaf_keys: Box::new([0; BLOCK]),
            leaves_of: None,
            waiting: WaitingTrees::new(),
            start: Vec::new(),
            sums: Vec::new(),
            keys: BlockKeys::default(),
        }
    }
}

impl<S> Buffers<S> {
    pub(in crate::eval) fn bytes(&self) -> usize {
        allocated(&self.column_indices)
            + self.column_values.bytes()
            + allocated(&self.ranks)
            + allocated(&self.codes)
            + allocated(&self.values)
            + size_of_val(&*self.masks)
            + size_of_val(&*self.leaf_indices)
            + size_of_val(&*self.leaf_keys)
            + self.waiting.bytes()
            + allocated(&self.start)
            + allocated(&self.sums)
            + self.keys.bytes()
    }
}

/// Allocates all masks; the system backs only those that are used.
fn no_masks() -> Box<[Mask]> {
    // SAFETY: zeros are a valid mask.
    unsafe { Box::new_zeroed_slice(MAX_MASKS).assume_init() }
}

/// Computes the sums of a block of rows.
///
/// # Safety
/// The processor has the kernel's instructions.
pub(super) unsafe fn sums<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
    out: &mut [S],
) {
    let outputs = compiled.get(BASE_MARGINS).len();
    buffers.start.resize(outputs, S::ZERO);
    S::start(compiled, &mut buffers.start);
    let groups = compiled.get(TILE_GROUPS);
    let is_deep = groups.iter().any(|group| group.below > 0);
    let by_row = (is_deep || rows.count >= kernel.min_by_row) && vectors::can_be(compiled);
    if by_row {
        out.chunks_exact_mut(outputs).for_each(|out| out.copy_from_slice(&buffers.start));
    } else {
        buffers.sums.resize(outputs, Sums([S::ZERO; BLOCK]));
        for (sums, start) in buffers.sums.iter_mut().zip(&buffers.start) {
            sums.0 = [*start; BLOCK];
        }
    }
    // SAFETY: the processor has the kernel's instructions.
    unsafe { read_columns(kernel, compiled, buffers, rows) };
    buffers.leaves_of = None;
    buffers.waiting.clear();
    if is_deep {
        buffers.keys.set(rows);
    }
    for segment in compiled.get(SEGMENTS) {
        // SAFETY: the processor has the kernel's instructions; the segment is the compiled model's.
        unsafe {
            evaluate_conditions(kernel, compiled, segment, buffers, rows.count);
            let groups = groups.iter().enumerate().skip(segment.first_group as usize);
            for (index, group) in groups.take(segment.groups as usize) {
                evaluate_compounds(kernel, compiled, index, &mut buffers.masks, rows.count);
                match (by_row, group.below > 0) {
                    (true, true) => {
                        add_vectors_of_deep_group(kernel, compiled, group, buffers, rows, out);
                    }
                    (true, false) => {
                        add_vectors_of_group(kernel, compiled, group, buffers, rows, out);
                    }
                    (false, true) => add_deep_group(kernel, compiled, group, buffers, rows),
                    (false, false) => add_group(kernel, compiled, group, buffers, rows),
                }
            }
        }
    }
    if by_row {
        // SAFETY: the processor has the kernel's instructions; outputs are the model's.
        unsafe { buffers.waiting.add(kernel, outputs, out) };
        return;
    }
    let rows_and_lanes = out.chunks_exact_mut(outputs).zip(S::lanes(kernel));
    for (out, lane) in rows_and_lanes.take(rows.count) {
        for (out, sums) in out.iter_mut().zip(&buffers.sums) {
            *out = sums.0[usize::from(*lane) % BLOCK];
        }
    }
}

/// Computes ranks and codes, and keeps values that are compared directly.
///
/// # Safety
/// The processor has the kernel's instructions.
unsafe fn read_columns<S>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
) {
    let Buffers { column_indices, column_values, ranks, codes, values, .. } = buffers;
    if FETCHED_FEATURES.contains(&rows.num_features) {
        prefetch_all(rows.features);
    }
    let mut counts = [0usize; 3];
    column_indices.clear();
    column_values.clear();
    let mut before: Option<&ConditionColumn> = None;
    for sharing in columns_by_search(compiled) {
        let column = sharing[0];
        let column_values = column_values.of(rows, column.feature as usize);
        let mut next = |kind: usize| {
            let first = counts[kind];
            counts[kind] += sharing.len();
            column_indices.extend(first..counts[kind]);
            first..counts[kind]
        };
        match column.kind {
            ColumnKind::RankedMissingRight if before.is_some_and(|it| column.follows(it)) => {
                let places = next(0);
                let ranks = grown(ranks, 0..places.end, [NO_MASK; RANK_BITS]);
                // SAFETY: the processor has the kernel's instructions.
                unsafe { rank_missing_right(kernel, column_values, rows.count, ranks) };
            }
            ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight => {
                let ranks = grown(ranks, next(0), [NO_MASK; RANK_BITS]);
                // SAFETY: the processor has the kernel's instructions.
                unsafe {
                    rank_columns(kernel, compiled, sharing, column_values, rows.count, ranks)
                };
            }
            ColumnKind::Codes => {
                let none = Codes { bytes: [0; BLOCK], bits: [0; BLOCK] };
                let codes = grown(codes, next(1), none);
                codes.iter_mut().for_each(|codes| set_codes(column_values, codes));
            }
            ColumnKind::LargeCodes => grown(values, next(2), NO_VALUES).fill(*column_values),
        }
        before = sharing.last();
    }
}

/// Returns the buffers in a range, growing the vector if necessary.
fn grown<T: Clone>(buffers: &mut Vec<T>, places: Range<usize>, empty: T) -> &mut [T] {
    if buffers.len() < places.end {
        buffers.resize(places.end, empty);
    }
    &mut buffers[places]
}

/// Derives the last ranks from the ones before, for the same thresholds: missing values get the
/// highest.
///
/// # Safety
/// The processor has the kernel's instructions.
unsafe fn rank_missing_right(
    kernel: &BlockKernel,
    values: &BlockValues,
    rows: usize,
    ranks: &mut [Ranks],
) {
    let (known, last) = ranks.split_at_mut(ranks.len() - 1);
    let (before, ranks) = (&known[known.len() - 1], &mut last[0]);
    let mut missing = NO_MASK;
    // SAFETY: the processor has the kernel's instructions.
    unsafe { (kernel.missing)(values, rows, &mut missing) };
    for (bits, before) in ranks.iter_mut().zip(before) {
        let words = before.0.iter().zip(&missing.0).map(|(word, missing)| word | missing);
        bits.0.iter_mut().zip(words).for_each(|(bits, word)| *bits = word);
    }
}

/// Computes the ranks of columns that share a search, or of a single one.
///
/// # Safety
/// The processor has the kernel's instructions.
unsafe fn rank_columns(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    columns: &[ConditionColumn],
    values: &BlockValues,
    rows: usize,
    ranks: &mut [Ranks],
) {
    let trees = compiled.get(SEARCH_TREES);
    let missing_right = columns[0].kind == ColumnKind::RankedMissingRight;
    // SAFETY: the processor has the kernel's instructions.
    unsafe {
        if columns.len() >= kernel.min_sharing {
            let trees = trees[columns[0].tree as usize..].as_chunks().0;
            (kernel.rank_wide)(values, rows, &trees[..columns.len()], missing_right, ranks);
        } else {
            for (column, ranks) in columns.iter().zip(ranks) {
                (kernel.rank)(values, rows, search_tree(trees, column), missing_right, ranks);
            }
        }
    }
}

fn set_codes(values: &BlockValues, codes: &mut Codes) {
    for ((value, byte), bit) in values.0.iter().zip(&mut codes.bytes).zip(&mut codes.bits) {
        (*byte, *bit) = bit_of_code(*value);
    }
}

/// Evaluates all conditions of a segment.
///
/// # Safety
/// The processor has the kernel's instructions.
unsafe fn evaluate_conditions<S>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    segment: &Segment,
    buffers: &mut Buffers<S>,
    rows: usize,
) {
    let Buffers { column_indices, ranks, codes, values, masks, .. } = buffers;
    let columns = compiled.get(CONDITION_COLUMNS);
    let runs = compiled.get(CONDITION_RUNS).iter().skip(segment.first_run as usize);
    for run in runs.take(segment.runs as usize) {
        let first = run.first_condition as usize;
        let masks = &mut masks[first..first + run.count as usize];
        let (column, index) = (columns[run.column as usize], &column_indices[run.column as usize]);
        // SAFETY: the processor has the kernel's instructions.
        unsafe {
            match column.kind {
                ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight => {
                    let thresholds = operands(compiled.get(RANKS), run);
                    (kernel.compare)(&ranks[*index], rows, thresholds, masks);
                }
                ColumnKind::Codes => {
                    let tables = operands(compiled.get(CODE_TABLES), run);
                    (kernel.look_up)(&codes[*index], rows, tables, masks);
                }
                ColumnKind::LargeCodes => {
                    let nodes = NodeSections::of(compiled);
                    for (set, mask) in operands(compiled.get(LARGE_SETS), run).iter().zip(masks) {
                        look_up_large(&nodes, *set, &values[*index], rows, mask);
                    }
                }
            }
        }
    }
}

/// Evaluates the compounds of a group, if any.
///
/// # Safety
/// The processor has the kernel's instructions; the group is the compiled model's.
unsafe fn evaluate_compounds(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: usize,
    masks: &mut [Mask],
    rows: usize,
) {
    let codings = compiled.get(CODINGS);
    if codings.is_empty() {
        return;
    }
    let (first, count) = (codings[group].first_run as usize, codings[group].runs as usize);
    assert_eq!(masks.len(), MAX_MASKS);
    let masks = masks.as_mut_ptr();
    let mut done = 0;
    for run in &compiled.get(COMPOUND_RUNS)[first..first + count] {
        let words = run.words as usize;
        let words = &compiled.get(COMPOUND_WORDS)[words..words + run.num_words()];
        debug_assert!(done + run.count as usize <= MAX_COMPOUNDS, "compounds");
        // SAFETY: the processor has the kernel's instructions. Verification has bounded all indices by
        // MAX_MASKS, and a group's compounds by MAX_COMPOUNDS, which have room after the conditions'
        // masks.
        unsafe {
            let out = masks.add(MAX_CONDITIONS + done);
            (kernel.compounds)(run.length as usize, words, rows, masks, out);
        }
        done += run.count as usize;
    }
}

fn look_up_large(
    nodes: &NodeSections<'_>,
    set: u32,
    values: &BlockValues,
    rows: usize,
    mask: &mut Mask,
) {
    let words = mask.0.iter_mut().zip(values.0.as_chunks::<64>().0);
    for (word, values) in words.take(rows.div_ceil(64)) {
        *word = values.iter().enumerate().fold(0, |bits, (row, value)| {
            bits | u64::from(goes_right_large(nodes, set, *value)) << row
        });
    }
}

/// Walks the rows of a block through a tile.
///
/// # Safety
/// The processor has the kernel's instructions; the tile is the compiled model's, with its segment's
/// conditions and its group's compounds evaluated.
unsafe fn walk_tile(
    kernel: &BlockKernel,
    group: &TileGroup,
    nodes: &[u16],
    masks: &[Mask],
    rows: usize,
    path: &mut PathBits,
) {
    debug_assert!(nodes.iter().all(|node| usize::from(*node) < masks.len()), "masks");
    if group.form == TileForm::Symmetric {
        // Each level of the path is the outcome of its one condition.
        for (bits, node) in path.iter_mut().zip(nodes).take(group.levels as usize) {
            *bits = masks[usize::from(*node) % MAX_MASKS];
        }
        return;
    }
    // SAFETY: the processor has the kernel's instructions; verification has bounded each node's mask by
    // MAX_MASKS, the number of masks.
    unsafe {
        match kernel.walk.get(group.levels as usize) {
            Some(walk) => walk(nodes, masks, rows, path),
            None => (kernel.walk_wide)(nodes, masks, rows, group.levels, path),
        }
    }
}

/// Walks the trees of a group and adds their leaves.
///
/// The outputs of one tree of the model follow one another: they are walked once.
///
/// # Safety
/// The processor has the kernel's instructions; the group is the compiled model's, with its segment's
/// conditions evaluated.
unsafe fn add_group<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: &TileGroup,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
) {
    let Buffers { masks, path, sums, .. } = buffers;
    let levels = group.levels;
    let add = S::add_kernel(kernel, levels);
    let (outputs, leaves) = (compiled.get(OUTPUTS), S::tile_leaves(compiled));
    let nodes = compiled.get(TILE_NODES)[group.nodes as usize..].chunks_exact(group.tile_nodes());
    let mut walked: &[u16] = &[];
    for (tree, nodes) in nodes.enumerate().take(group.count as usize) {
        let sums = &mut sums[outputs[group.first as usize + tree] as usize];
        if tree == 0 || nodes != walked {
            // SAFETY: as for this function.
            unsafe { walk_tile(kernel, group, nodes, masks, rows.count, path) };
            walked = nodes;
        }
        let start = group.leaves as usize + tree * tile_leaves(levels);
        let leaves = &leaves[start..start + tile_leaves(levels)];
        // SAFETY: the processor has the kernel's instructions; the leaves are the tile's.
        unsafe {
            match add {
                Some(add) => add(path, rows.count, leaves, sums),
                None => {
                    let lanes = S::lanes(kernel);
                    S::add_wide(kernel)(path, rows.count, levels, leaves, lanes, sums);
                }
            }
        }
    }
}

/// Walks the trees of a group, whose leaves wait to be added to the sums in `out`, row by row.
///
/// # Safety
/// As for [`add_group`]; `out` has the rows' sums.
unsafe fn add_vectors_of_group<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: &TileGroup,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
    out: &mut [S],
) {
    let Buffers { masks, path, waiting, start, .. } = buffers;
    let (levels, count) = (group.levels, group.count as usize);
    let places = &compiled.get(OUTPUTS)[group.first as usize..][..count];
    let nodes = &compiled.get(TILE_NODES)[group.nodes as usize..];
    let nodes_of = |tree: usize| &nodes[tree * group.tile_nodes()..][..group.tile_nodes()];
    let leaves = &S::tile_leaves(compiled)[group.leaves as usize..];
    let leaves_of = |tree: usize| &leaves[tree * tile_leaves(levels)..][..1 << levels];
    let mut tree = 0;
    while tree < count {
        let (first, nodes) = (places[tree] as usize, nodes_of(tree));
        let follow = (tree + 1..count).zip(places[tree] + 1..);
        let follow =
            follow.take_while(|(tree, place)| places[*tree] == *place && nodes_of(*tree) == nodes);
        let trees = tree..tree + 1 + follow.count();
        // SAFETY: the processor has the kernel's instructions; leaf indices are below 2^levels, and each output is one
        // of the model's.
        unsafe {
            let outputs = first..first + trees.len();
            let waiting = waiting.next(kernel, outputs, start.len(), out);
            walk_tile(kernel, group, nodes, masks, rows.count, path);
            (kernel.leaf_indices)(path, rows.count, levels, &mut waiting.indices);
            waiting.set(trees.clone().map(leaves_of));
        }
        tree = trees.end;
    }
}

/// Walks the trees of a group with levels below its tiles, and adds their leaves.
///
/// # Safety
/// As for [`add_group`].
unsafe fn add_deep_group<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: &TileGroup,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
) {
    let (outputs, values) = (compiled.get(OUTPUTS), S::leaf_values(compiled));
    let lanes = &S::lanes(kernel)[..rows.count.min(BLOCK)];
    let has_vectors = compiled.has_vectors();
    let in_order = S::lanes(kernel) == &IN_ORDER;
    for tree in 0..group.count as usize {
        // SAFETY: as for this function.
        let place = unsafe { find_leaves(kernel, compiled, group, tree, buffers, rows) };
        let sums = &mut buffers.sums[outputs[group.first as usize + tree] as usize].0;
        // SAFETY: the keys are of the tree's leaves.
        let leaf = |key: u32| unsafe {
            if has_vectors { S::of_vector(values, key, place) } else { S::of_key(values, key) }
        };
        let keys = buffers.leaf_keys.iter().zip(lanes);
        if in_order {
            sums.iter_mut().zip(keys).for_each(|(sum, (key, _))| *sum += leaf(*key));
        } else {
            keys.for_each(|(key, lane)| sums[usize::from(*lane) % BLOCK] += leaf(*key));
        }
    }
}

/// Walks the trees of a group with levels below its tiles, and adds their leaves to the sums in `out`, row by row.
///
/// # Safety
/// As for [`add_vectors_of_group`].
unsafe fn add_vectors_of_deep_group<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: &TileGroup,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
    out: &mut [S],
) {
    let (first, count) = (group.first as usize, group.count as usize);
    let (outputs, sources) = (compiled.get(OUTPUTS), compiled.get(SOURCES));
    let values = S::leaf_values(compiled);
    // SAFETY: as for this function.
    unsafe { buffers.waiting.add(kernel, buffers.start.len(), out) };
    let mut tree = 0;
    while tree < count {
        // SAFETY: as for this function.
        let place = unsafe { find_leaves(kernel, compiled, group, tree, buffers, rows) };
        let (index, end) = (first + tree, first + count);
        let follow = (index + 1..end).take(MAX_TOGETHER - 1).zip(outputs[index] + 1..);
        let follow = follow.take_while(|(other, output)| {
            sources[*other] == sources[index] && outputs[*other] == *output
        });
        let together = 1 + follow.count();
        let (stride, sums) = (buffers.start.len(), &mut out[outputs[index] as usize..]);
        // SAFETY: the keys are of leaves with a value for each of the tree's outputs, of which these are some.
        unsafe { vectors::add_at(together, &buffers.leaf_keys, &values[place..], stride, sums) };
        tree += together;
    }
}

/// Finds the leaves of a tree of a group with levels below its tiles, unless they are known of another output of the
/// same tree of the model. Returns the place of this output's values among those of a leaf.
///
/// # Safety
/// As for [`add_group`].
unsafe fn find_leaves<S: BlockSum>(
    kernel: &BlockKernel,
    compiled: Sections<'_>,
    group: &TileGroup,
    tree: usize,
    buffers: &mut Buffers<S>,
    rows: &BlockRows<'_>,
) -> usize {
    let Buffers { masks, path, leaf_indices, leaf_keys, leaves_of, keys, .. } = buffers;
    let sources = compiled.get(SOURCES);
    let (first, last) = (group.first as usize, group.first as usize + group.count as usize - 1);
    let source = sources[first + tree];
    if *leaves_of != Some(source) {
        let (levels, size) = (group.levels, group.tile_nodes());
        let nodes = &compiled.get(TILE_NODES)[group.nodes as usize + tree * size..][..size];
        let start = group.leaves as usize + (tree << levels);
        let exits = &compiled.get(TILE_EXITS)[start..start + (1 << levels)];
        let lower = LowerLevels { exits, kind: group.kind, steps: group.below };
        // SAFETY: the processor has the kernel's instructions; the group is the compiled model's, and keys
        // were set before its trees; leaf indices are below the number of the tile's leaves.
        unsafe {
            walk_tile(kernel, group, nodes, masks, rows.count, path);
            (kernel.leaf_indices)(path, rows.count, levels, leaf_indices);
            lower.find_leaves(&NodeSections::of(compiled), rows, keys, leaf_indices, leaf_keys);
        }
        *leaves_of = Some(source);
        if sources[last] > source {
            lower.fetch_ahead(compiled, source as usize + 1);
        }
    }
    first + tree - sources.partition_point(|other| *other < source)
}
