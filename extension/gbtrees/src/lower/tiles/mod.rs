//! Creates the tiles of a forest: the form of each tree, and the sections.
//!
//! `compiled::tiles` defines tiles. `conditions` collects the distinct conditions of a forest's nodes,
//! `forms` chooses each tree's form by cost and writes recoded trees, `fill` fills plain and symmetric
//! tiles, `codes` finds recodings, `columns` assigns conditions to columns, and `chunks` copies tiles
//! for the one-row kernel.

pub(crate) mod chunks;
pub(crate) mod codes;
pub(crate) mod columns;
pub(crate) mod conditions;
pub(crate) mod fill;
pub(crate) mod forms;

use std::collections::HashSet;

use crate::compiled::records::{GroupKind, LANES};
use crate::compiled::sections::{
    CHUNK_GROUPS, CHUNKS, CODE_TABLES, CODINGS, COMPOUND_RUNS, COMPOUND_WORDS, CONDITION_COLUMNS,
    CONDITION_RUNS, LARGE_SETS, NODE_BLOCKS, RANKS, SEARCH_TREES, SEGMENTS, TILE_EXITS,
    TILE_GROUPS, TILE_LEAVES, TILE_LEAVES_DOUBLE, TILE_NODES, TOP_NODES, Writer,
};
use crate::compiled::tiles::{
    CodeTable, Coding, ColumnKind, CompoundRun, ConditionColumn, ConditionRun, GROUP_COMPOUNDS,
    MAX_CONDITIONS, Segment, TILE_LEVELS, TileForm, TileGroup,
};
use crate::ensemble::{NODES_PER_CHECK, Precision};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredTree};
use crate::lower::order;
use crate::lower::order::Position;
use crate::lower::tiles::chunks::Chunks;
use crate::lower::tiles::columns::{ConditionColumns, conditions_of};
use crate::lower::tiles::conditions::{Condition, Sets};
use crate::lower::tiles::fill::{Filled, fill, fill_symmetric, leaves};
use crate::lower::tiles::forms::{Form, forms};
use crate::lower::trees::Trees;
use crate::memory::{collect, filled, push, set_with_capacity};
use crate::verified::sure;
use crate::{Cancel, Result};

/// The sections of all tiles; empty if the model has none.
#[derive(Default)]
pub(crate) struct Tiles {
    pub(crate) columns: Vec<ConditionColumn>,
    pub(crate) search_trees: Vec<f32>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) runs: Vec<ConditionRun>,
    pub(crate) ranks: Vec<u8>,
    pub(crate) code_tables: Vec<CodeTable>,
    pub(crate) large_sets: Vec<u32>,
    pub(crate) groups: Vec<TileGroup>,
    pub(crate) nodes: Vec<u16>,
    pub(crate) leaves: Vec<f32>,
    pub(crate) leaves_double: Vec<f64>,
    pub(crate) exits: Vec<u32>,
    /// One per group, or empty if no group is recoded.
    pub(crate) codings: Vec<Coding>,
    pub(crate) compound_runs: Vec<CompoundRun>,
    pub(crate) compound_words: Vec<u16>,
    pub(crate) chunks: Chunks,
}

impl Tiles {
    /// Passes the sections to the writer.
    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(CONDITION_COLUMNS, &self.columns);
        writer.put(SEARCH_TREES, &self.search_trees);
        writer.put(CHUNKS, &self.chunks.records);
        writer.put(CHUNK_GROUPS, &self.chunks.groups);
        writer.put(TOP_NODES, &self.chunks.top_nodes);
        writer.put(NODE_BLOCKS, &self.chunks.node_blocks);
        writer.put(TILE_GROUPS, &self.groups);
        writer.put(TILE_LEAVES, &self.leaves);
        writer.put(TILE_LEAVES_DOUBLE, &self.leaves_double);
        writer.put(TILE_EXITS, &self.exits);
        writer.put(SEGMENTS, &self.segments);
        writer.put(CONDITION_RUNS, &self.runs);
        writer.put(RANKS, &self.ranks);
        writer.put(CODE_TABLES, &self.code_tables);
        writer.put(LARGE_SETS, &self.large_sets);
        writer.put(TILE_NODES, &self.nodes);
        writer.put(CODINGS, &self.codings);
        writer.put(COMPOUND_RUNS, &self.compound_runs);
        writer.put(COMPOUND_WORDS, &self.compound_words);
    }

    /// Creates a forest's tiles; none if it has too many columns for the kernels.
    pub(crate) fn collect(forest: &Forest<'_>, trees: &Trees, cancel: Cancel<'_>) -> Result<Self> {
        let sets = Sets::of(forest, cancel)?;
        let mut forms = forms(forest, &sets, cancel)?;
        let mut columns = ConditionColumns::of(forest, &forms, &sets, cancel)?;
        if columns.is_none() && forms.iter().any(|form| form.code().is_some()) {
            // Codes need the conditions of all levels, which may be too many.
            forms.fill_with(|| Form::Plain);
            columns = ConditionColumns::of(forest, &forms, &sets, cancel)?;
        }
        let Some(columns) = columns else { return Ok(Tiles::default()) };
        let tiles = Tiles::default();
        let mut writer = TileWriter { forest, trees, forms, sets, columns, tiles, cancel };
        writer.write()?;
        let chunk_groups = match Chunks::fit(forest, &writer.columns) {
            true => writer.plain_groups()?,
            false => Vec::new(),
        };
        let TileWriter { sets, columns, mut tiles, cancel, .. } = writer;
        tiles.chunks = Chunks::of(forest, chunk_groups, &columns, &sets, cancel)?;
        tiles.columns = columns.records;
        tiles.search_trees = columns.search_trees;
        Ok(tiles)
    }
}

struct TileWriter<'a> {
    forest: &'a Forest<'a>,
    trees: &'a Trees,
    /// Forms by tree.
    forms: Vec<Form>,
    sets: Sets<'a>,
    columns: ConditionColumns,
    tiles: Tiles,
    cancel: Cancel<'a>,
}

impl TileWriter<'_> {
    fn write(&mut self) -> Result<()> {
        let groups = self.groups()?;
        let mut first = 0;
        let mut conditions = HashSet::new();
        for (index, group) in groups.iter().enumerate() {
            let more = self.conditions_of(group)?;
            self.cancel.check()?;
            let new = more.iter().filter(|condition| !conditions.contains(*condition)).count();
            if conditions.len() + new > MAX_CONDITIONS {
                self.segment(&groups[first..index], &conditions)?;
                conditions.clear();
                first = index;
            }
            conditions.try_reserve(more.len())?;
            conditions.extend(more);
        }
        self.segment(&groups[first..], &conditions)?;
        if self.tiles.groups.iter().all(|group| group.form != TileForm::Coded) {
            self.tiles.codings.clear();
        }
        Ok(())
    }

    /// Groups successive trees, without indices of nodes and leaves yet.
    fn groups(&mut self) -> Result<Vec<TileGroup>> {
        let mut groups: Vec<TileGroup> = Vec::new();
        let mut compounds = 0;
        // The last group's conditions, if its trees are wide: a segment must have room for at least one
        // group.
        let mut in_group = HashSet::new();
        for (index, (tree, form)) in self.forest.trees().iter().zip(&self.forms).enumerate() {
            let kind = self.trees.kind_of(tree);
            let depth = tree.depth();
            let (form, levels, below, own) = match form {
                Form::Plain => {
                    let below = depth.saturating_sub(TILE_LEVELS);
                    (TileForm::Plain, depth.min(TILE_LEVELS), below, 0)
                }
                Form::Symmetric => (TileForm::Symmetric, depth, 0, 0),
                Form::Coded(code) => (TileForm::Coded, code.levels, 0, code.compounds),
            };
            let mut wide = Vec::new();
            if form == TileForm::Coded && levels > TILE_LEVELS {
                conditions_of(tree, &self.forms[index], &self.sets, &mut wide)?;
                self.cancel.check()?;
            }
            let wide = set_of(wide)?;
            let fits = wide.union(&in_group).count() <= MAX_CONDITIONS;
            let joins = |group: &TileGroup| {
                group.count as usize + self.kept_together(index) <= LANES
                    && group.form == form
                    && match form {
                        TileForm::Plain => joins(group, below, kind),
                        TileForm::Symmetric => {
                            group.levels == levels || group.levels.max(levels) <= TILE_LEVELS
                        }
                        TileForm::Coded => {
                            group.levels == levels
                                && compounds + own <= GROUP_COMPOUNDS as u32
                                && fits
                        }
                    }
            };
            match groups.last_mut() {
                Some(group) if joins(group) => {
                    group.count += 1;
                    group.below = group.below.max(below);
                    group.levels = group.levels.max(levels);
                    group.kind = kind;
                    in_group.try_reserve(wide.len())?;
                    in_group.extend(wide);
                }
                _ => {
                    in_group = wide;
                    let group = TileGroup {
                        first: to_u32(index)?,
                        count: 1,
                        levels,
                        below,
                        kind,
                        nodes: 0,
                        leaves: 0,
                        form,
                    };
                    push(&mut groups, group)?;
                    compounds = 0;
                }
            }
            compounds += own;
        }
        Ok(groups)
    }

    /// Returns how many trees from one on come from the same tree of the model, which kernels add together; 1 if they
    /// are too many for a group.
    fn kept_together(&self, index: usize) -> usize {
        let trees = &self.forest.trees()[index..];
        let same = trees.iter().take_while(|tree| tree.source == trees[0].source).count();
        if same > LANES { 1 } else { same }
    }

    fn conditions_of(&self, group: &TileGroup) -> Result<HashSet<Condition>> {
        let mut conditions = Vec::new();
        let members = self.forest.trees().iter().zip(&self.forms);
        for (tree, form) in members.skip(group.first as usize).take(group.count as usize) {
            conditions_of(tree, form, &self.sets, &mut conditions)?;
        }
        set_of(conditions)
    }

    fn segment(&mut self, groups: &[TileGroup], conditions: &HashSet<Condition>) -> Result<()> {
        let mut conditions = collect(conditions.iter().copied())?;
        conditions.sort_unstable();
        let first_run = self.tiles.runs.len();
        self.runs(&conditions)?;
        let first_group = self.tiles.groups.len();
        for group in groups {
            self.group(group, &conditions)?;
        }
        self.tiles.segments.push(Segment {
            first_group: to_u32(first_group)?,
            groups: to_u32(groups.len())?,
            first_run: to_u32(first_run)?,
            runs: to_u32(self.tiles.runs.len() - first_run)?,
            conditions: to_u32(conditions.len())?,
            reserved: [0; 3],
        });
        Ok(())
    }

    fn runs(&mut self, conditions: &[Condition]) -> Result<()> {
        let mut last = None;
        for (index, condition) in conditions.iter().enumerate() {
            let (column, rank) = self.columns.find(*condition);
            let operand = match self.columns.records[column].kind {
                ColumnKind::Codes => {
                    append(&mut self.tiles.code_tables, self.sets.table(*condition))?
                }
                ColumnKind::LargeCodes => {
                    append(&mut self.tiles.large_sets, self.sets.large(*condition))?
                }
                ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight => {
                    append(&mut self.tiles.ranks, rank)?
                }
            };
            match self.tiles.runs.last_mut() {
                Some(run) if last == Some(column) => run.count += 1,
                _ => self.tiles.runs.push(ConditionRun {
                    column: to_u32(column)?,
                    first_condition: to_u32(index)?,
                    count: 1,
                    operands: to_u32(operand)?,
                }),
            }
            last = Some(column);
        }
        Ok(())
    }

    fn group(&mut self, group: &TileGroup, conditions: &[Condition]) -> Result<()> {
        let ends = match self.forest.sum_precision() {
            _ if group.below > 0 => self.tiles.exits.len(),
            Precision::Single => self.tiles.leaves.len(),
            Precision::Double => self.tiles.leaves_double.len(),
        };
        let placed =
            TileGroup { nodes: to_u32(self.tiles.nodes.len())?, leaves: to_u32(ends)?, ..*group };
        let count = group.count as usize;
        self.tiles.nodes.try_reserve(count * group.tile_nodes())?;
        let index_of = |condition| {
            let index = conditions.binary_search(&condition).ok();
            sure(index, "a segment has the conditions of its tiles") as u16
        };
        if group.form == TileForm::Coded {
            self.coded_group(group, index_of)?;
            self.tiles.groups.push(placed);
            return Ok(());
        }
        self.tiles.codings.push(Coding::default());
        for index in group.first as usize..group.first as usize + count {
            let forest = self.forest;
            let tree = &forest.trees()[index];
            let tile = match group.form {
                TileForm::Symmetric => {
                    let nodes = group.tile_nodes();
                    fill_symmetric(tree, group.levels, nodes, &self.sets, index_of)?
                }
                TileForm::Plain | TileForm::Coded => {
                    fill(tree, group.levels, &self.sets, index_of)?
                }
            };
            self.tiles.nodes.extend_from_slice(&tile.nodes);
            if group.below == 0 {
                self.leaves(&leaves(tree, group.levels, &tile)?)?;
            } else {
                self.exits(tree, &tile)?;
            }
            self.cancel.check()?;
        }
        self.tiles.groups.push(placed);
        Ok(())
    }

    /// Returns the groups with leaves in tree order instead of the order of codes.
    fn plain_groups(&mut self) -> Result<Vec<TileGroup>> {
        let mut groups = self.tiles.groups.clone();
        for group in groups.iter_mut().filter(|group| group.form == TileForm::Coded) {
            let first = group.first as usize;
            let trees = &self.forest.trees()[first..first + group.count as usize];
            let levels = sure(trees.iter().map(LoweredTree::depth).max(), "a group has trees");
            let leaves_before = match self.forest.sum_precision() {
                Precision::Single => self.tiles.leaves.len(),
                Precision::Double => self.tiles.leaves_double.len(),
            };
            for tree in trees {
                let tile = fill(tree, levels, &self.sets, |_| 0)?;
                self.leaves(&leaves(tree, levels, &tile)?)?;
                self.cancel.check()?;
            }
            let leaves = to_u32(leaves_before)?;
            *group = TileGroup { form: TileForm::Plain, levels, leaves, nodes: 0, ..*group };
        }
        Ok(groups)
    }

    fn leaves(&mut self, leaves: &[f64]) -> Result<()> {
        let tiles = &mut self.tiles;
        match self.forest.sum_precision() {
            Precision::Single => {
                tiles.leaves.try_reserve(leaves.len())?;
                tiles.leaves.extend(leaves.iter().map(|leaf| *leaf as f32));
            }
            Precision::Double => {
                tiles.leaves_double.try_reserve(leaves.len())?;
                tiles.leaves_double.extend(leaves);
            }
        }
        Ok(())
    }

    /// Writes a tree's exits: indices among the nodes of its kind.
    fn exits(&mut self, tree: &LoweredTree<'_>, tile: &Filled) -> Result<()> {
        let mut index_of = filled(tree.nodes().len(), 0usize)?;
        for (index, position) in order::positions(tree, self.cancel)?.into_iter().enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) {
                self.cancel.check()?;
            }
            if let Position::Node { id, .. } = position {
                index_of[id as usize] = index;
            }
        }
        let root = self.trees.roots[tree.source as usize] as usize;
        self.tiles.exits.try_reserve(tile.ends.len())?;
        for id in &tile.ends {
            self.tiles.exits.push(to_u32(root + index_of[*id as usize])?);
        }
        Ok(())
    }
}

/// Returns whether a tree can join a group: below the tiles, all use nodes of one kind.
fn joins(group: &TileGroup, below: u32, kind: GroupKind) -> bool {
    (group.below == 0) == (below == 0) && (below == 0 || group.kind == kind)
}

/// Appends a value and returns its index.
fn append<T>(values: &mut Vec<T>, value: T) -> Result<usize> {
    push(values, value)?;
    Ok(values.len() - 1)
}

fn set_of(conditions: Vec<Condition>) -> Result<HashSet<Condition>> {
    let mut set = set_with_capacity(conditions.len())?;
    set.extend(conditions);
    Ok(set)
}
