//! Chunks: copies of the tiles for evaluating single rows, 64 trees at a time.
//!
//! Compiled models have them only where they pay off.

use crate::compiled::tiles::{
    CHUNK_COLUMNS, CHUNK_TREES, Chunk, NodeBlock, TILE_LEVELS, TOP_LEVELS, TileGroup, TopNode,
    node_index,
};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredTree};
use crate::lower::tiles::columns::ConditionColumns;
use crate::lower::tiles::conditions::Sets;
use crate::lower::tiles::fill::fill;
use crate::{Cancel, Result};

const NO_TOP_NODE: TopNode = TopNode { columns: [0; CHUNK_TREES], ranks: [0; CHUNK_TREES] };
const NO_BLOCK: NodeBlock = NodeBlock { columns: [0; 8], ranks: [0; 8] };

#[derive(Default)]
pub(crate) struct Chunks {
    pub(crate) records: Vec<Chunk>,
    pub(crate) groups: Vec<TileGroup>,
    pub(crate) top_nodes: Vec<TopNode>,
    pub(crate) node_blocks: Vec<NodeBlock>,
}

impl Chunks {
    /// Returns whether chunks are possible and pay off: no codes, no deep trees, columns addressable by
    /// bytes, and faster than interleaved traversal.
    pub(crate) fn fit(forest: &Forest<'_>, columns: &ConditionColumns) -> bool {
        columns.records.len() <= CHUNK_COLUMNS
            && columns.records.iter().all(|column| column.kind.is_ranked())
            && forest.trees().iter().all(|tree| tree.depth() <= TILE_LEVELS)
            && pays(forest, columns)
    }

    /// Creates chunks of groups whose tiles hold whole trees.
    pub(crate) fn of(
        forest: &Forest<'_>,
        groups: Vec<TileGroup>,
        columns: &ConditionColumns,
        sets: &Sets<'_>,
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        let mut chunks = Chunks { groups, ..Chunks::default() };
        for (index, group) in chunks.groups.iter().enumerate() {
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
            let chunk = chunks.records[index];
            for (lane, tree) in trees.by_ref().take(chunk.trees as usize).enumerate() {
                chunks.put(&chunk, lane, tree, columns, sets)?;
                cancel.check()?;
            }
        }
        Ok(chunks)
    }

    fn place(&mut self, index: usize) -> Result<()> {
        let chunk = &mut self.records[index];
        chunk.top_nodes = to_u32(self.top_nodes.len())?;
        chunk.blocks = to_u32(self.node_blocks.len())?;
        let top = 1 << Chunk::top_levels(chunk.levels);
        // Sized for a full chunk, since kernels read four trees at a time.
        let blocks = CHUNK_TREES * Chunk::tree_blocks(chunk.levels);
        self.top_nodes.try_reserve(top)?;
        self.node_blocks.try_reserve(blocks)?;
        self.top_nodes.resize(self.top_nodes.len() + top, NO_TOP_NODE);
        self.node_blocks.resize(self.node_blocks.len() + blocks, NO_BLOCK);
        Ok(())
    }

    fn put(
        &mut self,
        chunk: &Chunk,
        lane: usize,
        tree: &LoweredTree<'_>,
        columns: &ConditionColumns,
        sets: &Sets<'_>,
    ) -> Result<()> {
        let mut compared = vec![(0u8, 0u8)];
        let tile = fill(tree, chunk.levels, sets, |condition| {
            let (column, rank) = columns.find(condition);
            compared.push((column as u8, rank));
            (compared.len() - 1) as u16
        })?;
        let compared = |level, path| {
            let node = tile.nodes[node_index(chunk.levels, level, path)];
            compared[usize::from(node)]
        };
        let top = Chunk::top_levels(chunk.levels);
        for level in 0..top {
            for path in 0..1usize << level {
                let node = chunk.top_nodes as usize + (1 << level) + path;
                let node = &mut self.top_nodes[node];
                (node.columns[lane], node.ranks[lane]) = compared(level, path);
            }
        }
        for level in top..chunk.levels.min(TILE_LEVELS) {
            let below = level - TOP_LEVELS;
            for path in 0..1usize << level {
                let block = chunk.blocks as usize + (lane << TOP_LEVELS) + (path >> below);
                let block = &mut self.node_blocks[block];
                let node = (1 << below) - 1 + (path & ((1 << below) - 1));
                (block.columns[node], block.ranks[node]) = compared(level, path);
            }
        }
        Ok(())
    }
}

/// Returns whether chunks are faster than interleaved traversal, by rough costs in picoseconds: of
/// ranks, found by comparing with a whole search tree, and of trees.
fn pays(forest: &Forest<'_>, columns: &ConditionColumns) -> bool {
    let trees = forest.trees().len();
    let ranks = 1000 * columns.records.len() + 20 * columns.search_trees.len();
    let chunks = ranks + 12_000 * trees.div_ceil(CHUNK_TREES) + 1000 * trees;
    450 * forest.total_depth() > chunks as u64
}
