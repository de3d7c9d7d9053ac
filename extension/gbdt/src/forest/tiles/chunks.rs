//! The tiles once more, as one row is evaluated through them.

use super::columns::{Columns, Sets};
use super::fill::fill;
use super::{
    CHUNK_COLUMNS, CHUNK_TREES, Chunk, ColumnKind, NodeBlock, TILE_LEVELS, TOP_LEVELS, TileGroup,
    TopNode, node_place,
};
use crate::Result;
use crate::forest::canonical::{Forest, Tree};
use crate::forest::text::to_u32;
use crate::forest::trees::reserve;

const NO_TOP_NODE: TopNode = TopNode { columns: [0; CHUNK_TREES], ranks: [0; CHUNK_TREES] };
const NO_BLOCK: NodeBlock = NodeBlock { columns: [0; 8], ranks: [0; 8] };

/// The sections of chunks.
#[derive(Default)]
pub(super) struct Chunks {
    pub(super) records: Vec<Chunk>,
    pub(super) top_nodes: Vec<TopNode>,
    pub(super) node_blocks: Vec<NodeBlock>,
}

impl Chunks {
    /// The chunks of a model's groups; none if it has codes, or deep trees, or more columns than bytes
    /// can name, or the lock step takes less time.
    pub(super) fn of(
        forest: &Forest<'_>,
        groups: &[TileGroup],
        columns: &Columns,
        sets: &Sets<'_>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self> {
        let mut chunks = Chunks::default();
        let ranked = |kind| kind <= ColumnKind::RankedRight as u32;
        if columns.records.len() > CHUNK_COLUMNS
            || !columns.records.iter().all(|column| ranked(column.kind))
            || groups.iter().any(|group| group.below > 0)
            || !pays(forest, columns)
        {
            return Ok(chunks);
        }
        for (index, group) in groups.iter().enumerate() {
            match chunks.records.last_mut() {
                Some(chunk) if chunk.trees + group.count <= CHUNK_TREES as u32 => {
                    chunk.trees += group.count;
                    chunk.groups += 1;
                    chunk.levels = chunk.levels.max(group.levels);
                }
                _ => chunks.records.push(Chunk {
                    first_group: to_u32(index)?,
                    groups: 1,
                    levels: group.levels,
                    top_nodes: 0,
                    blocks: 0,
                    trees: group.count,
                    reserved: [0; 2],
                }),
            }
        }
        let mut trees = forest.trees().iter();
        for index in 0..chunks.records.len() {
            chunks.place(index)?;
            let Some(chunk) = chunks.records.get(index).copied() else { continue };
            for (lane, tree) in trees.by_ref().take(chunk.trees as usize).enumerate() {
                chunks.put(&chunk, lane, tree, columns, sets);
                check_interrupts();
            }
        }
        Ok(chunks)
    }

    /// Makes room for a chunk's nodes.
    fn place(&mut self, index: usize) -> Result<()> {
        let Some(chunk) = self.records.get_mut(index) else { return Ok(()) };
        chunk.top_nodes = to_u32(self.top_nodes.len())?;
        chunk.blocks = to_u32(self.node_blocks.len())?;
        let top = 1 << Chunk::top_levels(chunk.levels);
        // As if the chunk were full: whoever reads four trees at a time stays among blocks.
        let blocks = CHUNK_TREES * Chunk::tree_blocks(chunk.levels);
        reserve(&mut self.top_nodes, top)?;
        reserve(&mut self.node_blocks, blocks)?;
        self.top_nodes.resize(self.top_nodes.len() + top, NO_TOP_NODE);
        self.node_blocks.resize(self.node_blocks.len() + blocks, NO_BLOCK);
        Ok(())
    }

    /// Writes a tree's nodes.
    fn put(
        &mut self,
        chunk: &Chunk,
        lane: usize,
        tree: &Tree<'_>,
        columns: &Columns,
        sets: &Sets<'_>,
    ) {
        let mut asked = vec![(0u8, 0u8)];
        let tile = fill(tree, chunk.levels, sets, |question| {
            let (column, rank) = columns.find(question).unwrap_or_default();
            asked.push((column as u8, rank));
            (asked.len() - 1) as u16
        });
        let asked = |level, path| {
            let node = tile.nodes.get(node_place(chunk.levels, level, path)).copied().unwrap_or(0);
            asked.get(usize::from(node)).copied().unwrap_or_default()
        };
        let top = Chunk::top_levels(chunk.levels);
        for level in 0..top {
            for path in 0..1usize << level {
                let node = chunk.top_nodes as usize + (1 << level) + path;
                let Some(node) = self.top_nodes.get_mut(node) else { continue };
                (node.columns[lane], node.ranks[lane]) = asked(level, path);
            }
        }
        for level in top..chunk.levels.min(TILE_LEVELS) {
            let below = level - TOP_LEVELS;
            for path in 0..1usize << level {
                let block = chunk.blocks as usize + (lane << TOP_LEVELS) + (path >> below);
                let Some(block) = self.node_blocks.get_mut(block) else { continue };
                let node = (1 << below) - 1 + (path & ((1 << below) - 1));
                (block.columns[node], block.ranks[node]) = asked(level, path);
            }
        }
    }
}

/// Whether chunks take less time than the lock step, by rough costs in picoseconds: of ranks, which
/// are found by comparing with all of a search tree, and of trees.
fn pays(forest: &Forest<'_>, columns: &Columns) -> bool {
    let trees = forest.trees().len();
    let steps: u64 = forest.trees().iter().map(|tree| u64::from(tree.depth())).sum();
    let ranks = 1000 * columns.records.len() + 20 * columns.search_trees.len();
    let chunks = ranks + 12_000 * trees.div_ceil(CHUNK_TREES) + 1000 * trees;
    450 * steps > chunks as u64
}
