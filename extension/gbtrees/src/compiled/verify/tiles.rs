//! Verifies tiles before kernels traverse them.

use crate::Result;
use crate::compiled::records::LANES;
use crate::compiled::sections::*;
use crate::compiled::tiles::{
    CHUNK_COLUMNS, CHUNK_TREES, CODE_LEVELS, Chunk, Coding, ColumnKind, CompoundRun,
    ConditionColumn, ConditionRun, MAX_COLUMNS, MAX_COMPOUNDS, MAX_CONDITIONS, MAX_LEAVES,
    MAX_LEVELS, MAX_MASKS, MIN_SEARCH_LEVELS, Segment, TILE_LEVELS, TileForm, TileGroup,
    tile_leaves,
};
use crate::ensemble::Precision;

/// Returns whether `count` records from `first` on are among `all`.
fn within(first: u32, count: usize, all: usize) -> bool {
    (first as usize).checked_add(count).is_some_and(|end| end <= all)
}

/// Verifies every number that a kernel uses as an index or a count.
pub(crate) fn verify(compiled: &Sections<'_>, num_features: usize, sums: Precision) -> Result<()> {
    let (groups, segments) = (compiled.get(TILE_GROUPS), compiled.get(SEGMENTS));
    if groups.is_empty() {
        let none = segments.iter().all(|segment| segment.groups == 0);
        return ensure(none && compiled.get(CHUNKS).is_empty(), "has no tiles");
    }
    let columns = compiled.get(CONDITION_COLUMNS);
    ensure(columns.len() <= MAX_COLUMNS, "has too many columns")?;
    columns.iter().try_for_each(|column| verify_column(column, compiled, num_features))?;
    let sets = compiled.get(SETS).len();
    let large = compiled.get(LARGE_SETS).iter().all(|set| ((set / 2) as usize) < sets);
    ensure(large, "has a large set out of range")?;
    compiled.get(CONDITION_RUNS).iter().try_for_each(|run| verify_run(run, compiled))?;
    let mut next_group = 0;
    for segment in segments {
        ensure(segment.first_group as usize == next_group, "has a tile in no segment or in two")?;
        next_group += segment.groups as usize;
        verify_segment(segment, compiled, sums)?;
    }
    ensure(next_group == groups.len(), "has a tile in no segment")?;
    verify_codings(compiled)?;
    let mut next_tree = 0;
    for group in groups {
        ensure(group.first as usize == next_tree, "has a tree in no tile or in two")?;
        next_tree += group.count as usize;
    }
    ensure(next_tree == compiled.get(OUTPUTS).len(), "has a tree without a tile")?;
    verify_chunks(compiled, sums)
}

/// Verifies that chunks, if any, contain every group and tree once and in order.
fn verify_chunks(compiled: &Sections<'_>, sums: Precision) -> Result<()> {
    let (chunks, columns) = (compiled.get(CHUNKS), compiled.get(CONDITION_COLUMNS));
    if chunks.is_empty() {
        return Ok(());
    }
    let ranked = columns.iter().all(|column| column.kind.is_ranked());
    ensure(ranked && columns.len() <= CHUNK_COLUMNS, "has chunks of wrong columns")?;
    let (mut next, mut next_tree) = (0, 0);
    for chunk in chunks {
        ensure(chunk.first_group as usize == next, "has a tile in no chunk or in two")?;
        let groups = compiled.get(CHUNK_GROUPS).get(next..next + chunk.groups as usize);
        let groups = groups.ok_or_else(|| damaged("has a chunk without tiles"))?;
        next += groups.len();
        for group in groups {
            ensure(group.first as usize == next_tree, "has a tree in no chunk or in two")?;
            next_tree += group.count as usize;
            ensure(group.fits_chunk(), "has a chunk of tiles with exits or codes")?;
            ensure((1..=LANES).contains(&(group.count as usize)), "has a group of a wrong size")?;
            verify_leaves(group, compiled, sums)?;
        }
        let trees: u32 = groups.iter().map(|group| group.count).sum();
        let size = trees == chunk.trees && trees as usize <= CHUNK_TREES;
        ensure(size, "has a chunk of a wrong size")?;
        let levels =
            chunk.levels <= TILE_LEVELS && groups.iter().all(|group| group.levels <= chunk.levels);
        ensure(levels, "has a chunk of a wrong number of levels")?;
        let top = 1usize << Chunk::top_levels(chunk.levels);
        let blocks = CHUNK_TREES * Chunk::tree_blocks(chunk.levels);
        let nodes = within(chunk.top_nodes, top, compiled.get(TOP_NODES).len())
            && within(chunk.blocks, blocks, compiled.get(NODE_BLOCKS).len());
        ensure(nodes, "has a chunk without nodes")?;
    }
    let all = next == compiled.get(CHUNK_GROUPS).len() && next_tree == compiled.get(OUTPUTS).len();
    ensure(all, "has a tree in no chunk")
}

fn verify_column(
    column: &ConditionColumn,
    compiled: &Sections<'_>,
    num_features: usize,
) -> Result<()> {
    ensure((column.feature as usize) < num_features, "has a column of no feature")?;
    let right = !column.kind.is_ranked()
        || (MIN_SEARCH_LEVELS..=8).contains(&column.levels)
            && within(column.tree, 1 << column.levels, compiled.get(SEARCH_TREES).len());
    ensure(right, "has a search tree out of range")
}

fn verify_run(run: &ConditionRun, compiled: &Sections<'_>) -> Result<()> {
    let column = compiled.get(CONDITION_COLUMNS).get(run.column as usize);
    let operands = match column.ok_or_else(|| damaged("has a run of no column"))?.kind {
        ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight => compiled.get(RANKS).len(),
        ColumnKind::Codes => compiled.get(CODE_TABLES).len(),
        ColumnKind::LargeCodes => compiled.get(LARGE_SETS).len(),
    };
    let right =
        within(run.operands, run.count as usize, operands) && run.count as usize <= MAX_CONDITIONS;
    ensure(right, "has a run without operands")
}

fn verify_segment(segment: &Segment, compiled: &Sections<'_>, sums: Precision) -> Result<()> {
    let conditions = segment.conditions as usize;
    ensure(conditions <= MAX_CONDITIONS, "has too many conditions")?;
    let all = compiled.get(CONDITION_RUNS);
    let runs = within(segment.first_run, segment.runs as usize, all.len());
    ensure(runs, "has a segment without runs")?;
    let mut runs = all.iter().skip(segment.first_run as usize).take(segment.runs as usize);
    let within_segment =
        runs.all(|run| within(run.first_condition, run.count as usize, conditions));
    ensure(within_segment, "has a run of too many conditions")?;
    let first = segment.first_group as usize;
    let groups = compiled.get(TILE_GROUPS).get(first..first + segment.groups as usize);
    let groups = groups.ok_or_else(|| damaged("has a segment without tiles"))?;
    groups.iter().try_for_each(|group| verify_group(group, compiled, sums))
}

fn verify_group(group: &TileGroup, compiled: &Sections<'_>, sums: Precision) -> Result<()> {
    let count = group.count as usize;
    ensure((1..=LANES).contains(&count), "has a group of a wrong size")?;
    let most = match group.form {
        TileForm::Plain => TILE_LEVELS,
        TileForm::Coded => CODE_LEVELS,
        TileForm::Symmetric => MAX_LEVELS,
    };
    ensure(group.levels <= most, "has a tile of too many levels")?;
    let form = group.form == TileForm::Plain || group.below == 0;
    ensure(form, "has a tile of a form that has no exits with exits")?;
    let start = group.nodes as usize;
    let nodes = compiled.get(TILE_NODES).get(start..start + count * group.tile_nodes());
    let nodes = nodes.ok_or_else(|| damaged("has a tile without nodes"))?;
    // There are masks for MAX_CONDITIONS conditions, even if a segment has fewer, and for compounds.
    let largest = nodes.iter().copied().fold(0, u16::max);
    ensure(usize::from(largest) < MAX_MASKS, "has a node without a condition")?;
    if group.below == 0 {
        return verify_leaves(group, compiled, sums);
    }
    let below = compiled.num_nodes(group.kind);
    ensure((group.below as usize) < below, "has a tree deeper than it has nodes")?;
    let start = group.leaves as usize;
    let exits = compiled.get(TILE_EXITS).get(start..start + (count << group.levels));
    let exits = exits.ok_or_else(|| damaged("has a tile without exits"))?;
    let largest = exits.iter().copied().fold(0, u32::max);
    ensure((largest as usize) < below, "has an exit out of range")
}

fn verify_leaves(group: &TileGroup, compiled: &Sections<'_>, sums: Precision) -> Result<()> {
    let all = match sums {
        Precision::Single => compiled.get(TILE_LEAVES).len(),
        Precision::Double => compiled.get(TILE_LEAVES_DOUBLE).len(),
    };
    let leaves = within(group.leaves, group.count as usize * tile_leaves(group.levels), all);
    ensure(leaves, "has a tile without leaves")
}

/// Verifies that there is one coding per group if any group is recoded.
fn verify_codings(compiled: &Sections<'_>) -> Result<()> {
    let (groups, codings) = (compiled.get(TILE_GROUPS), compiled.get(CODINGS));
    let coded = |group: &TileGroup| group.form == TileForm::Coded;
    let count = if groups.iter().any(coded) { groups.len() } else { 0 };
    ensure(codings.len() == count, "does not have one coding per group")?;
    compiled.get(COMPOUND_RUNS).iter().try_for_each(|run| verify_compounds(run, compiled))?;
    codings.iter().try_for_each(|coding| verify_coding(coding, compiled))
}

fn verify_compounds(run: &CompoundRun, compiled: &Sections<'_>) -> Result<()> {
    let sizes = (1..=MAX_LEAVES as u32).contains(&run.length)
        && (1..=MAX_COMPOUNDS as u32).contains(&run.count);
    ensure(sizes, "has a run of compounds of a wrong size")?;
    let first = run.words as usize;
    let words = compiled.get(COMPOUND_WORDS).get(first..first + run.num_words());
    let words = words.ok_or_else(|| damaged("has a run of compounds without words"))?;
    let length = run.length as usize;
    let masks = &words[CompoundRun::op_words(length)..];
    // With separate operations, all indices of a chain but the first include one.
    let op = if length > CompoundRun::ALIKE { CompoundRun::OR } else { 0 };
    let first = masks.iter().step_by(length + 1).copied().fold(0, u16::max);
    let largest = masks.iter().map(|mask| mask & !op).fold(first, u16::max);
    ensure(usize::from(largest) < MAX_MASKS, "has a compound of no mask")
}

fn verify_coding(coding: &Coding, compiled: &Sections<'_>) -> Result<()> {
    let first = coding.first_run as usize;
    let runs = compiled.get(COMPOUND_RUNS).get(first..first + coding.runs as usize);
    let runs = runs.ok_or_else(|| damaged("has a group without its compounds"))?;
    let compounds: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    ensure(compounds <= MAX_COMPOUNDS as u64, "has a group of too many compounds")
}
