//! The sections that the tiles of a model become.

use std::collections::HashSet;

use super::chunks::Chunks;
use super::columns::{Columns, Question, Sets, asked};
use super::fill::{Filled, fill, leaves, levels};
use super::{
    Chunk, CodeTable, Column, ColumnKind, MAX_CUTS, NodeBlock, Run, Segment, TILE_LEVELS,
    TileGroup, TopNode, tile_leaves, tile_nodes,
};
use crate::Result;
use crate::eval::LANES;
use crate::forest::canonical::{Forest, Tree};
use crate::forest::order::{self, Place};
use crate::forest::records::GroupKind;
use crate::forest::text::to_u32;
use crate::forest::trees::{Trees, reserve};

/// The sections of all tiles; empty if the model has none.
#[derive(Default)]
pub(in crate::forest) struct Tiles {
    pub(in crate::forest) columns: Vec<Column>,
    pub(in crate::forest) search_trees: Vec<f32>,
    pub(in crate::forest) segments: Vec<Segment>,
    pub(in crate::forest) runs: Vec<Run>,
    pub(in crate::forest) ranks: Vec<u8>,
    pub(in crate::forest) code_tables: Vec<CodeTable>,
    pub(in crate::forest) large_sets: Vec<u32>,
    pub(in crate::forest) groups: Vec<TileGroup>,
    pub(in crate::forest) nodes: Vec<u16>,
    pub(in crate::forest) leaves: Vec<f32>,
    pub(in crate::forest) exits: Vec<u32>,
    pub(in crate::forest) chunks: Vec<Chunk>,
    pub(in crate::forest) top_nodes: Vec<TopNode>,
    pub(in crate::forest) node_blocks: Vec<NodeBlock>,
}

impl Tiles {
    /// The tiles of a forest, or none if it has more columns than kernels are made for.
    pub(in crate::forest) fn collect(
        forest: &Forest<'_>,
        trees: &Trees,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self> {
        let sets = Sets::of(forest)?;
        let Some(columns) = Columns::of(forest, &sets, check_interrupts)? else {
            return Ok(Tiles::default());
        };
        let tiles = Tiles::default();
        let mut writer = Writer { forest, trees, sets, columns, tiles, check_interrupts };
        writer.write()?;
        let Writer { sets, columns, mut tiles, check_interrupts, .. } = writer;
        let chunks = Chunks::of(forest, &tiles.groups, &columns, &sets, check_interrupts)?;
        (tiles.chunks, tiles.top_nodes, tiles.node_blocks) =
            (chunks.records, chunks.top_nodes, chunks.node_blocks);
        tiles.columns = columns.records;
        tiles.search_trees = columns.search_trees;
        Ok(tiles)
    }
}

struct Writer<'a> {
    forest: &'a Forest<'a>,
    trees: &'a Trees,
    sets: Sets<'a>,
    columns: Columns,
    tiles: Tiles,
    check_interrupts: &'a mut dyn FnMut(),
}

impl Writer<'_> {
    fn write(&mut self) -> Result<()> {
        let groups = self.groups()?;
        let mut first = 0;
        let mut questions = HashSet::new();
        for (index, group) in groups.iter().enumerate() {
            let more = self.asked_by(group)?;
            (self.check_interrupts)();
            let new = more.iter().filter(|question| !questions.contains(*question)).count();
            if questions.len() + new > MAX_CUTS {
                self.segment(groups.get(first..index).unwrap_or_default(), &questions)?;
                questions.clear();
                first = index;
            }
            questions.extend(more);
        }
        self.segment(groups.get(first..).unwrap_or_default(), &questions)
    }

    /// Successive trees in groups, still without places.
    fn groups(&self) -> Result<Vec<TileGroup>> {
        let mut groups: Vec<TileGroup> = Vec::new();
        for (index, tree) in self.forest.trees().iter().enumerate() {
            let below = tree.depth().saturating_sub(TILE_LEVELS);
            let levels = levels(tree);
            let kind = self.trees.kind_of(index);
            match groups.last_mut() {
                Some(group) if group.count < LANES as u32 && joins(group, below, kind) => {
                    group.count += 1;
                    group.below = group.below.max(below);
                    group.levels = group.levels.max(levels);
                    group.kind = kind as u32;
                }
                _ => groups.push(TileGroup {
                    first: to_u32(index)?,
                    count: 1,
                    levels,
                    below,
                    kind: kind as u32,
                    nodes: 0,
                    leaves: 0,
                    reserved: 0,
                }),
            }
        }
        Ok(groups)
    }

    fn members(&self, group: &TileGroup) -> impl Iterator<Item = (usize, &Tree<'_>)> {
        let trees = self.forest.trees().iter().enumerate();
        trees.skip(group.first as usize).take(group.count as usize)
    }

    fn asked_by(&self, group: &TileGroup) -> Result<HashSet<Question>> {
        let mut questions = Vec::new();
        for (_, tree) in self.members(group) {
            asked(tree, &self.sets, &mut questions)?;
        }
        Ok(questions.into_iter().collect())
    }

    /// Writes groups that share these questions.
    fn segment(&mut self, groups: &[TileGroup], questions: &HashSet<Question>) -> Result<()> {
        let mut cuts: Vec<Question> = questions.iter().copied().collect();
        cuts.sort_unstable();
        let first_run = self.tiles.runs.len();
        self.runs(&cuts)?;
        let first_group = self.tiles.groups.len();
        for group in groups {
            self.group(group, &cuts)?;
        }
        self.tiles.segments.push(Segment {
            first_group: to_u32(first_group)?,
            groups: to_u32(groups.len())?,
            first_run: to_u32(first_run)?,
            runs: to_u32(self.tiles.runs.len() - first_run)?,
            cuts: to_u32(cuts.len())?,
            reserved: [0; 3],
        });
        Ok(())
    }

    /// The runs of a segment with these cuts.
    fn runs(&mut self, cuts: &[Question]) -> Result<()> {
        let mut last = None;
        for (cut, question) in cuts.iter().enumerate() {
            let Some((column, rank)) = self.columns.find(*question) else { continue };
            let Some(kind) = self.columns.records.get(column).map(|record| record.kind) else {
                continue;
            };
            let operand = match ColumnKind::from_number(kind) {
                Some(ColumnKind::Codes) => {
                    push(&mut self.tiles.code_tables, self.sets.table(*question))
                }
                Some(ColumnKind::LargeCodes) => {
                    push(&mut self.tiles.large_sets, self.sets.large(*question))
                }
                Some(ColumnKind::RankedLeft | ColumnKind::RankedRight) | None => {
                    push(&mut self.tiles.ranks, rank)
                }
            };
            match self.tiles.runs.last_mut() {
                Some(run) if last == Some(column) => run.count += 1,
                _ => self.tiles.runs.push(Run {
                    column: to_u32(column)?,
                    first_cut: to_u32(cut)?,
                    count: 1,
                    operands: to_u32(operand)?,
                }),
            }
            last = Some(column);
        }
        Ok(())
    }

    /// The tiles of a group of a segment with these cuts.
    fn group(&mut self, group: &TileGroup, cuts: &[Question]) -> Result<()> {
        let ends = if group.below == 0 { self.tiles.leaves.len() } else { self.tiles.exits.len() };
        let placed =
            TileGroup { nodes: to_u32(self.tiles.nodes.len())?, leaves: to_u32(ends)?, ..*group };
        let count = group.count as usize;
        reserve(&mut self.tiles.nodes, count * tile_nodes(group.levels))?;
        let cut = |question| cuts.binary_search(&question).unwrap_or(0) as u16;
        for index in group.first as usize..group.first as usize + count {
            let forest = self.forest;
            let Some(tree) = forest.trees().get(index) else { continue };
            let tile = fill(tree, group.levels, &self.sets, cut);
            self.tiles.nodes.extend_from_slice(&tile.nodes);
            if group.below == 0 {
                reserve(&mut self.tiles.leaves, tile_leaves(group.levels))?;
                self.tiles.leaves.extend(leaves(tree, group.levels, &tile));
            } else {
                self.exits(index, tree, &tile)?;
            }
            (self.check_interrupts)();
        }
        self.tiles.groups.push(placed);
        Ok(())
    }

    /// Where a tree goes on below its tile: the places of nodes among the nodes of its kind.
    fn exits(&mut self, index: usize, tree: &Tree<'_>, tile: &Filled) -> Result<()> {
        let mut place_of = vec![0usize; tree.nodes().len()];
        for (at, place) in order::places(tree).into_iter().enumerate() {
            if let Place::Node { id, .. } = place
                && let Some(place) = place_of.get_mut(id as usize)
            {
                *place = at;
            }
        }
        let root = self.trees.roots.get(index).copied().unwrap_or(0) as usize;
        reserve(&mut self.tiles.exits, tile.ends.len())?;
        for id in &tile.ends {
            let place = place_of.get(*id as usize).copied().unwrap_or(0);
            self.tiles.exits.push(to_u32(root + place)?);
        }
        Ok(())
    }
}

/// Whether a tree can join a group: what goes on below the tiles does so over nodes of one kind.
fn joins(group: &TileGroup, below: u32, kind: GroupKind) -> bool {
    (group.below == 0) == (below == 0) && (below == 0 || group.kind == kind as u32)
}

/// Appends a value; gives its index.
fn push<T>(values: &mut Vec<T>, value: T) -> usize {
    values.push(value);
    values.len() - 1
}
