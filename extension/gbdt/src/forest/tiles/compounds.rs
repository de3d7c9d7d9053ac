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
    let ops = |asked: &Asked| asked.chain.links.iter().map(|(op, _)| *op).collect::<Vec<Op>>();
    compounds.sort_by_cached_key(|asked| (asked.chain.links.len(), ops(asked)));
    // At most as many words of operators as there are operators.
    reserve(words, compounds.iter().map(|asked| 2 * asked.chain.links.len() + 1).sum())?;
    let mut mask = MAX_PREDICATES as u16;
    for alike in compounds.chunk_by(|a, b| ops(a) == ops(b)) {
        let (first, first_word) = (&alike[0], words.len());
        for ops in ops(first).chunks(u16::BITS as usize) {
            let bits = ops.iter().rev().fold(0, |bits, op| bits << 1 | u16::from(*op == Op::Or));
            words.push(bits);
        }
        for asked in alike {
            words.extend(asked.chain.predicates().map(&index_of));
            answer(asked.by, mask);
            mask += 1;
        }
        runs.push(CompoundRun {
            length: to_u32(first.chain.links.len())?,
            count: to_u32(alike.len())?,
            words: to_u32(first_word)?,
            reserved: 0,
        });
    }
    Ok(())
}
