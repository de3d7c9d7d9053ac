//! Chooses the form of each tree's tile by the cost of a block of rows, and writes the tiles of recoded
//! trees with their compounds.
//!
//! Forms are chosen only here. A compiled model is for all kernels, whose costs differ: these are rough
//! values in picoseconds per tree and block, measured with AVX2 and AVX-512.

use std::collections::HashSet;

use crate::compiled::tiles::{
    Coding, CompoundRun, GROUP_COMPOUNDS, MAX_CONDITIONS, TILE_LEVELS, TileGroup, node_index,
    tile_leaves, tile_nodes,
};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredTree};
use crate::lower::tiles::TileWriter;
use crate::lower::tiles::codes::{Boundaries, Chain, Code, Coder, Op, levels_of};
use crate::lower::tiles::conditions::{Condition, Sets, condition_of};
use crate::lower::tiles::fill::{all_symmetric, leaf_values};
use crate::memory::{collect, extend, filled, push, try_collect, with_capacity};
use crate::verified::known;
use crate::{Cancel, Result};

/// Cost of a tile's node, and of a compound's operation.
const NODE: u64 = 600;
/// Cost of a condition.
const CONDITION: u64 = 1500;
/// Cost of continuing below a tile, and of each step there: rows times their time.
const BELOW: u64 = 512 * 2500;
const STEP_BELOW: u64 = 512 * 500;
/// Additional cost of adding leaves of tiles with more than [`TILE_LEVELS`] levels.
const WIDE: u64 = 512 * 500;

/// The relation of a tile to its tree.
pub(crate) enum Form {
    Plain,
    Symmetric,
    Coded(Code),
}

impl Form {
    pub(crate) fn code(&self) -> Option<&Code> {
        match self {
            Form::Coded(code) => Some(code),
            Form::Plain | Form::Symmetric => None,
        }
    }
}

/// Returns the form of each tree.
pub(crate) fn forms(forest: &Forest<'_>, sets: &Sets<'_>, cancel: Cancel<'_>) -> Result<Vec<Form>> {
    let trees = forest.trees();
    if all_symmetric(forest, sets, cancel)? {
        return collect(trees.iter().map(|_| Form::Symmetric));
    }
    let deep = trees.iter().any(|tree| tree.depth() > TILE_LEVELS);
    let conditions = if deep { conditions_per_tree(forest, sets, cancel)? } else { 0 };
    let mut coder = Coder::default();
    let form = |tree| {
        let code = code(tree, conditions, &mut coder, cancel)?;
        cancel.check()?;
        Ok(code.map_or(Form::Plain, Form::Coded))
    };
    try_collect(trees.iter().map(form))
}

/// Returns the conditions that a block would evaluate per tree if all were recoded; shared ones of a
/// segment count once.
fn conditions_per_tree(forest: &Forest<'_>, sets: &Sets<'_>, cancel: Cancel<'_>) -> Result<u64> {
    let (mut segment, mut evaluated) = (HashSet::new(), 0u64);
    for tree in forest.trees() {
        if segment.len() > MAX_CONDITIONS {
            segment.clear();
        }
        for id in 0..tree.nodes().len() as u32 {
            if let Some(condition) = condition_of(tree, id, sets) {
                segment.try_reserve(1)?;
                evaluated += u64::from(segment.insert(condition));
            }
        }
        cancel.check()?;
    }
    Ok(evaluated / (forest.trees().len() as u64).max(1))
}

/// Returns a tree's code, if it costs less than the plain form.
fn code(
    tree: &LoweredTree<'_>,
    conditions: u64,
    coder: &mut Coder,
    cancel: Cancel<'_>,
) -> Result<Option<Code>> {
    let Some(boundaries) = Boundaries::of(tree) else { return Ok(None) };
    let below = u64::from(tree.depth().saturating_sub(TILE_LEVELS));
    let mut plain = NODE * (1 << tree.depth().min(TILE_LEVELS));
    if below > 0 {
        plain += BELOW + STEP_BELOW * below;
    }
    let levels = levels_of(boundaries.leaves.len());
    let mut coded = NODE * (1 << levels);
    // A tree of few levels has the same conditions in either form.
    if below > 0 {
        coded += CONDITION * conditions;
    }
    if levels > TILE_LEVELS {
        coded += WIDE;
    }
    if coded >= plain {
        return Ok(None);
    }
    let code = coder.code(&boundaries, cancel)?;
    let coded = coded + NODE * u64::from(code.ops);
    // A code must gain enough to justify its space.
    Ok((coded + coded / 4 < plain).then_some(code))
}

impl TileWriter<'_> {
    /// Writes a group's nodes and leaves; returns its coding.
    pub(crate) fn coded_group(
        &mut self,
        group: &TileGroup,
        index_of: impl Fn(Condition) -> u16,
    ) -> Result<()> {
        let first_run = to_u32(self.tiles.compound_runs.len())?;
        let (count, levels) = (group.count as usize, group.levels);
        let mut nodes = filled(count * tile_nodes(levels), 0u16)?;
        let mut named = with_capacity(GROUP_COMPOUNDS)?;
        for tree in 0..count {
            let index = group.first as usize + tree;
            let (of, form) = (&self.forest.trees()[index], &self.forms[index]);
            let code = known(form.code(), "a coded group is of recoded trees")?;
            let boundaries = known(Boundaries::of(of), "a recoded tree has boundaries")?;
            code.nodes(of, &self.sets, &boundaries, |node| {
                let place = tree * tile_nodes(levels) + node_index(levels, node.level, node.path);
                if node.chain.links.is_empty() {
                    nodes[place] = index_of(node.chain.first);
                } else {
                    named.push(NamedChain { chain: node.chain, by: place });
                }
            });
            let numbers = code.leaves(&boundaries, levels);
            let ids = numbers.iter().map(|number| boundaries.leaves[usize::from(*number)]);
            self.leaves(&leaf_values(of, ids, tile_leaves(levels))?)?;
            self.cancel.check()?;
        }
        let (runs, words) = (&mut self.tiles.compound_runs, &mut self.tiles.compound_words);
        collect_compounds(named, index_of, runs, words, |place, mask| nodes[place] = mask)?;
        extend(&mut self.tiles.nodes, nodes)?;
        let runs = to_u32(self.tiles.compound_runs.len() - first_run as usize)?;
        push(&mut self.tiles.codings, Coding { first_run, runs })
    }
}

/// A chain and the place of its node, an identifier of the caller's.
pub(crate) struct NamedChain {
    pub(crate) chain: Chain,
    pub(crate) by: usize,
}

/// Appends the runs of a group's compounds and their words. Calls `put_mask` with each chain's place
/// and mask index.
fn collect_compounds(
    mut compounds: Vec<NamedChain>,
    index_of: impl Fn(Condition) -> u16,
    runs: &mut Vec<CompoundRun>,
    words: &mut Vec<u16>,
    mut put_mask: impl FnMut(usize, u16),
) -> Result<()> {
    // The common properties of a run's compounds.
    let kind = |named: &NamedChain| {
        let links = &named.chain.links;
        let alike = links.len() <= CompoundRun::ALIKE;
        let op = |at: usize| links.get(at).filter(|_| alike).map(|(op, _)| *op);
        (links.len(), std::array::from_fn::<_, { CompoundRun::ALIKE }, _>(op))
    };
    compounds.sort_unstable_by(|a, b| kind(a).cmp(&kind(b)).then(a.by.cmp(&b.by)));
    // There are at most as many words of operators as operators.
    words.try_reserve(compounds.iter().map(|named| 2 * named.chain.links.len() + 1).sum())?;
    let mut mask = MAX_CONDITIONS as u16;
    for run in compounds.chunk_by(|a, b| kind(a) == kind(b)) {
        let ((length, ops), first_word) = (kind(&run[0]), words.len());
        let alike = length <= CompoundRun::ALIKE;
        if alike {
            let ops = ops.iter().flatten().rev();
            words.push(ops.fold(0, |bits, op| bits << 1 | u16::from(*op == Op::Or)));
        }
        for NamedChain { chain, by } in run {
            words.push(index_of(chain.first));
            words.extend(chain.links.iter().map(|(op, condition)| {
                let joined = if alike || *op == Op::And { 0 } else { CompoundRun::OR };
                index_of(*condition) | joined
            }));
            put_mask(*by, mask);
            mask += 1;
        }
        let run = CompoundRun {
            length: to_u32(length)?,
            count: to_u32(run.len())?,
            words: to_u32(first_word)?,
            reserved: 0,
        };
        push(runs, run)?;
    }
    Ok(())
}
