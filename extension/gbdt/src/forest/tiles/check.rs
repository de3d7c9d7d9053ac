//! What must hold of tiles before a kernel walks them.

use super::{
    CHUNK_COLUMNS, CHUNK_TREES, Chunk, CodeTable, Column, ColumnKind, LEAST_SEARCH_LEVELS,
    MAX_COLUMNS, MAX_CUTS, NodeBlock, Run, Segment, TILE_LEVELS, TileGroup, TopNode, tile_leaves,
    tile_nodes,
};
use crate::Result;
use crate::eval::LANES;
use crate::forest::GroupKind;
use crate::forest::check::{damaged, ensure};

/// The sections of tiles.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    pub(crate) columns: &'a [Column],
    pub(crate) search_trees: &'a [f32],
    pub(crate) segments: &'a [Segment],
    pub(crate) runs: &'a [Run],
    pub(crate) ranks: &'a [u8],
    pub(crate) code_tables: &'a [CodeTable],
    pub(crate) large_sets: &'a [u32],
    pub(crate) groups: &'a [TileGroup],
    pub(crate) nodes: &'a [u16],
    pub(crate) leaves: &'a [f32],
    pub(crate) exits: &'a [u32],
    pub(crate) chunks: &'a [Chunk],
    pub(crate) top_nodes: &'a [TopNode],
    pub(crate) node_blocks: &'a [NodeBlock],
}

/// Numbers that tiles are checked against.
pub(in crate::forest) struct Bounds {
    pub(in crate::forest) features: usize,
    pub(in crate::forest) trees: usize,
    pub(in crate::forest) sets: usize,
    pub(in crate::forest) compact: usize,
    pub(in crate::forest) wide: usize,
}

/// Whether `count` things from `first` on are among `all`.
fn within(first: u32, count: usize, all: usize) -> bool {
    (first as usize).checked_add(count).is_some_and(|end| end <= all)
}

/// Checks every number that a kernel uses as an index or a count.
pub(in crate::forest) fn check(tiles: &Sections<'_>, bounds: &Bounds) -> Result<()> {
    if tiles.groups.is_empty() {
        return ensure(tiles.segments.iter().all(|segment| segment.groups == 0), "has no tiles");
    }
    ensure(tiles.columns.len() <= MAX_COLUMNS, "has too many columns")?;
    tiles.columns.iter().try_for_each(|column| check_column(column, tiles, bounds))?;
    let large = tiles.large_sets.iter().all(|set| ((set / 2) as usize) < bounds.sets);
    ensure(large, "has a large set out of range")?;
    tiles.runs.iter().try_for_each(|run| check_run(run, tiles))?;
    let mut next_group = 0;
    for segment in tiles.segments {
        ensure(segment.first_group as usize == next_group, "has a tile in no segment or in two")?;
        next_group += segment.groups as usize;
        check_segment(segment, tiles, bounds)?;
    }
    ensure(next_group == tiles.groups.len(), "has a tile in no segment")?;
    let mut next_tree = 0;
    for group in tiles.groups {
        ensure(group.first as usize == next_tree, "has a tree in no tile or in two")?;
        next_tree += group.count as usize;
    }
    ensure(next_tree == bounds.trees, "has a tree without a tile")?;
    check_chunks(tiles)
}

/// Chunks hold every group once and in order, or there are none.
fn check_chunks(tiles: &Sections<'_>) -> Result<()> {
    if tiles.chunks.is_empty() {
        return Ok(());
    }
    let ranked = tiles.columns.iter().all(|column| column.kind <= ColumnKind::RankedRight as u32);
    ensure(ranked && tiles.columns.len() <= CHUNK_COLUMNS, "has chunks of wrong columns")?;
    let mut next = 0;
    for chunk in tiles.chunks {
        ensure(chunk.first_group as usize == next, "has a tile in no chunk or in two")?;
        let groups = tiles.groups.get(next..next + chunk.groups as usize);
        let groups = groups.ok_or_else(|| damaged("has a chunk without tiles"))?;
        next += groups.len();
        let trees: u32 = groups.iter().map(|group| group.count).sum();
        let size = trees == chunk.trees && trees as usize <= CHUNK_TREES;
        ensure(size, "has a chunk of a wrong size")?;
        let levels =
            chunk.levels <= TILE_LEVELS && groups.iter().all(|group| group.levels <= chunk.levels);
        ensure(levels, "has a chunk of a wrong number of levels")?;
        let top = 1usize << Chunk::top_levels(chunk.levels);
        let blocks = CHUNK_TREES * Chunk::tree_blocks(chunk.levels);
        let nodes = within(chunk.top_nodes, top, tiles.top_nodes.len())
            && within(chunk.blocks, blocks, tiles.node_blocks.len());
        ensure(nodes, "has a chunk without nodes")?;
    }
    ensure(next == tiles.groups.len(), "has a tile in no chunk")
}

fn check_column(column: &Column, tiles: &Sections<'_>, bounds: &Bounds) -> Result<()> {
    let kind =
        ColumnKind::from_number(column.kind).ok_or_else(|| damaged("has an unknown column"))?;
    ensure((column.feature as usize) < bounds.features, "has a column of no feature")?;
    if matches!(kind, ColumnKind::RankedLeft | ColumnKind::RankedRight) {
        let right = (LEAST_SEARCH_LEVELS..=8).contains(&column.levels)
            && within(column.tree, 1 << column.levels, tiles.search_trees.len());
        ensure(right, "has a search tree out of range")?;
    }
    Ok(())
}

fn check_run(run: &Run, tiles: &Sections<'_>) -> Result<()> {
    let column = tiles.columns.get(run.column as usize);
    let kind = column.and_then(|column| ColumnKind::from_number(column.kind));
    let operands = match kind.ok_or_else(|| damaged("has a run of no column"))? {
        ColumnKind::RankedLeft | ColumnKind::RankedRight => tiles.ranks.len(),
        ColumnKind::Codes => tiles.code_tables.len(),
        ColumnKind::LargeCodes => tiles.large_sets.len(),
    };
    let right =
        within(run.operands, run.count as usize, operands) && run.count as usize <= MAX_CUTS;
    ensure(right, "has a run without operands")
}

fn check_segment(segment: &Segment, tiles: &Sections<'_>, bounds: &Bounds) -> Result<()> {
    let cuts = segment.cuts as usize;
    ensure(cuts <= MAX_CUTS, "has too many cuts")?;
    let runs = within(segment.first_run, segment.runs as usize, tiles.runs.len());
    ensure(runs, "has a segment without runs")?;
    let runs = tiles.runs.iter().skip(segment.first_run as usize).take(segment.runs as usize);
    for run in runs {
        ensure(within(run.first_cut, run.count as usize, cuts), "has a run of too many cuts")?;
    }
    let groups = segment.first_group as usize;
    let groups = tiles.groups.get(groups..groups + segment.groups as usize);
    for group in groups.ok_or_else(|| damaged("has a segment without tiles"))? {
        check_group(group, tiles, bounds)?;
    }
    Ok(())
}

fn check_group(group: &TileGroup, tiles: &Sections<'_>, bounds: &Bounds) -> Result<()> {
    let count = group.count as usize;
    ensure((1..=LANES).contains(&count), "has a group of a wrong size")?;
    ensure(group.levels <= TILE_LEVELS, "has a tile of too many levels")?;
    let start = group.nodes as usize;
    let nodes = tiles.nodes.get(start..start + count * tile_nodes(group.levels));
    let nodes = nodes.ok_or_else(|| damaged("has a tile without nodes"))?;
    // There are answers for MAX_CUTS cuts, however many the segment has.
    let largest = nodes.iter().copied().fold(0, u16::max);
    ensure(usize::from(largest) < MAX_CUTS, "has a node without a cut")?;
    if group.below == 0 {
        let leaves = within(group.leaves, count * tile_leaves(group.levels), tiles.leaves.len());
        return ensure(leaves, "has a tile without leaves");
    }
    let kind = GroupKind::from_number(group.kind).ok_or_else(|| damaged("has an unknown group"))?;
    let below = if kind == GroupKind::Compact { bounds.compact } else { bounds.wide };
    ensure((group.below as usize) < below, "has a tree deeper than it has nodes")?;
    let start = group.leaves as usize;
    let exits = tiles.exits.get(start..start + (count << group.levels));
    let exits = exits.ok_or_else(|| damaged("has a tile without exits"))?;
    let largest = exits.iter().copied().fold(0, u32::max);
    ensure((largest as usize) < below, "has an exit out of range")
}
