//! One row, by the tables: all literals, then a code per group, the entries of codes, and their sums.
//!
//! A large model's tables lie in memory that no cache holds, so what a step reads is asked for in the step
//! before, for all groups of a class.

#![allow(unsafe_code, reason = "literals that the groups were made with are looked up unchecked")]
#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]

use super::group::BITS;
use super::layout::{Bits, Class};
use super::literals::{Literal, Source};
use super::rest::Answers;
use super::{Tables, numbers_of};
use crate::prefetch::prefetch;

/// Buffers for one row after another.
#[derive(Default)]
pub(in crate::explain) struct RowBuffers {
    /// By literal whether it is true, and whether it is not.
    truths: Vec<[u8; 2]>,
    /// By group of a class the code, then the entry's first number.
    found: Vec<usize>,
}

impl Tables {
    /// Adds the entries of a row to `out`, in the order of the classes' targets.
    pub(in crate::explain) fn add_row(
        &self,
        buffers: &mut RowBuffers,
        answers: &Answers<'_>,
        out: &mut [f32],
    ) {
        self.answer(&mut buffers.truths, answers);
        for class in &self.classes {
            self.find(class, buffers);
            match class.numbers {
                8 => self.sum::<8>(class, &buffers.found, out),
                16 => self.sum::<16>(class, &buffers.found, out),
                _ => self.sum::<32>(class, &buffers.found, out),
            }
        }
    }

    fn answer(&self, truths: &mut Vec<[u8; 2]>, answers: &Answers<'_>) {
        truths.resize(self.literals.sources.len(), [1, 0]);
        let (of_runs, others) = truths[1..].split_at_mut(self.literals.keys.len());
        for run in &self.literals.runs {
            let key = answers.key(run.slot);
            let own = run.first..run.first + run.count;
            for (truth, least) in of_runs[own.clone()].iter_mut().zip(&self.literals.keys[own]) {
                let yes = u8::from(key < *least);
                *truth = [yes, yes ^ 1];
            }
        }
        let first = self.literals.sources.len() - others.len();
        for at in first..self.literals.sources.len() {
            let yes = match self.literals.sources[at] {
                Source::True => 1,
                Source::Asked(question) => u8::from(answers.of(question)),
                Source::Both(one, other) => truth(truths, one) & truth(truths, other),
            };
            truths[at] = [yes, yes ^ 1];
        }
    }

    /// The first number of each group's entry.
    fn find(&self, class: &Class, buffers: &mut RowBuffers) {
        let (RowBuffers { truths, found }, groups) = (buffers, &class.groups);
        found.clear();
        found.extend(groups.bits.iter().zip(&groups.look_ups).map(|(bits, look_up)| {
            let code = code(truths, bits);
            prefetch(&look_up.0, code);
            code
        }));
        let of_groups = groups.look_ups.iter().zip(&groups.tables);
        for (found, (look_up, table)) in found.iter_mut().zip(of_groups) {
            let entry = usize::from(look_up.0[*found % look_up.0.len()]);
            *found = table + entry * class.numbers;
            prefetch(numbers_of(&self.lines), *found);
        }
    }

    fn sum<const NUMBERS: usize>(&self, class: &Class, found: &[usize], out: &mut [f32]) {
        let (lines, mut found): (&[f32], _) = (numbers_of(&self.lines), found.iter());
        let mut sums = [0.0f32; NUMBERS];
        for chunk in &class.chunks {
            let mut part = [0.0f32; NUMBERS];
            for found in found.by_ref().take(chunk.groups.len()) {
                let entry = &lines[*found..][..NUMBERS];
                for lane in 0..NUMBERS {
                    part[lane] += entry[lane];
                }
            }
            for lane in 0..NUMBERS {
                sums[lane] += part[lane];
            }
        }
        class.add_to(&sums, out);
    }
}

#[inline(always)]
fn truth(truths: &[[u8; 2]], literal: Literal) -> u8 {
    debug_assert!((literal as usize / 2) < truths.len(), "literal");
    // SAFETY: the bits of a group are literals of the model, and each has two truths.
    unsafe { *truths.as_flattened().get_unchecked(literal as usize) }
}

#[inline(always)]
fn code(truths: &[[u8; 2]], bits: &Bits) -> usize {
    let mut code = 0;
    for bit in 0..BITS {
        let [one, other] = bits.0[bit];
        code |= usize::from(truth(truths, one) & truth(truths, other)) << bit;
    }
    code
}
