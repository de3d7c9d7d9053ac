//! The compounds of a group of recoded trees, as a kernel takes them.

use super::codes::{Chain, Op};
use super::predicates::Predicate;
use super::{CompoundRun, MAX_PREDICATES};
use crate::Result;
use crate::forest::reserve::reserve;
use crate::forest::text::to_u32;

/// A chain that nodes ask for, and who asks: any number that the caller gives it.
pub(super) struct Asked {
    pub(super) chain: Chain,
    pub(super) by: usize,
}

/// Appends the runs of a group's compounds and their words. Calls `answer` with who asks for a compound, and
/// the index of its mask.
pub(super) fn collect(
    mut compounds: Vec<Asked>,
    index_of: impl Fn(Predicate) -> u16,
    runs: &mut Vec<CompoundRun>,
    words: &mut Vec<u16>,
    mut answer: impl FnMut(usize, u16),
) -> Result<()> {
    // What compounds of a run have in common.
    let kind = |asked: &Asked| {
        let links = &asked.chain.links;
        let ops = links.iter().map(|(op, _)| *op);
        let alike = ops.take(if links.len() > CompoundRun::ALIKE { 0 } else { links.len() });
        (links.len(), alike.collect::<Vec<Op>>())
    };
    compounds.sort_by_cached_key(kind);
    // At most as many words of operators as there are operators.
    reserve(words, compounds.iter().map(|asked| 2 * asked.chain.links.len() + 1).sum())?;
    let mut mask = MAX_PREDICATES as u16;
    for run in compounds.chunk_by(|a, b| kind(a) == kind(b)) {
        let ((length, ops), first_word) = (kind(&run[0]), words.len());
        let alike = length <= CompoundRun::ALIKE;
        if alike {
            words.push(ops.iter().rev().fold(0, |bits, op| bits << 1 | u16::from(*op == Op::Or)));
        }
        for Asked { chain, by } in run {
            words.push(index_of(chain.first));
            words.extend(chain.links.iter().map(|(op, predicate)| {
                let joined = if alike || *op == Op::And { 0 } else { CompoundRun::OR };
                index_of(*predicate) | joined
            }));
            answer(*by, mask);
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
