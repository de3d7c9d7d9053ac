//! The tiles of a group of recoded trees, and its compounds: chains of conditions joined by AND and OR.

use crate::Result;
use crate::compiled::tiles::{
    Coding, CompoundRun, MAX_CONDITIONS, TileGroup, node_index, tile_leaves, tile_nodes,
};
use crate::limits::{reserve, to_u32};
use crate::lower::tiles::Writer;
use crate::lower::tiles::codes::{Boundaries, Chain, Op};
use crate::lower::tiles::conditions::Condition;
use crate::lower::tiles::fill::leaf_values;
use crate::verified::known;

impl Writer<'_> {
    /// Writes the nodes and leaves of a group, and what its coding says.
    pub(crate) fn coded_group(
        &mut self,
        group: &TileGroup,
        index_of: impl Fn(Condition) -> u16,
    ) -> Result<()> {
        let first_run = to_u32(self.tiles.compound_runs.len())?;
        let (count, levels) = (group.count as usize, group.levels);
        let mut nodes = vec![0u16; count * tile_nodes(levels)];
        let mut named = Vec::new();
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
        self.tiles.nodes.extend(nodes);
        let runs = to_u32(self.tiles.compound_runs.len() - first_run as usize)?;
        self.tiles.codings.push(Coding { first_run, runs });
        Ok(())
    }
}

/// A chain, and the place of its node: any number that the caller gives it.
pub(crate) struct NamedChain {
    pub(crate) chain: Chain,
    pub(crate) by: usize,
}

/// Appends the runs of a group's compounds and their words. Calls `put_mask` with the place that a chain is for, and
/// the index of its mask.
fn collect_compounds(
    mut compounds: Vec<NamedChain>,
    index_of: impl Fn(Condition) -> u16,
    runs: &mut Vec<CompoundRun>,
    words: &mut Vec<u16>,
    mut put_mask: impl FnMut(usize, u16),
) -> Result<()> {
    // What compounds of a run have in common.
    let kind = |named: &NamedChain| {
        let links = &named.chain.links;
        let ops = links.iter().map(|(op, _)| *op);
        let alike = ops.take(if links.len() > CompoundRun::ALIKE { 0 } else { links.len() });
        (links.len(), alike.collect::<Vec<Op>>())
    };
    compounds.sort_by_cached_key(kind);
    // At most as many words of operators as there are operators.
    reserve(words, compounds.iter().map(|named| 2 * named.chain.links.len() + 1).sum())?;
    let mut mask = MAX_CONDITIONS as u16;
    for run in compounds.chunk_by(|a, b| kind(a) == kind(b)) {
        let ((length, ops), first_word) = (kind(&run[0]), words.len());
        let alike = length <= CompoundRun::ALIKE;
        if alike {
            words.push(ops.iter().rev().fold(0, |bits, op| bits << 1 | u16::from(*op == Op::Or)));
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
        runs.push(CompoundRun {
            length: to_u32(length)?,
            count: to_u32(run.len())?,
            words: to_u32(first_word)?,
            reserved: 0,
        });
    }
    Ok(())
}
