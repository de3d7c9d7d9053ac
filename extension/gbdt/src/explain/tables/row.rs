//! One row, by the tables: its literals one after another, then a code per group.

#![allow(unsafe_code, reason = "literals that the groups were made with are looked up unchecked")]
#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]

use super::group::BITS;
use super::literals::{Literal, Source};
use super::rest::Answers;
use super::{Line, Tables, WIDTH};

/// Buffers for one row after another.
#[derive(Default)]
pub(in crate::explain) struct RowBuffers {
    /// By literal 1 if it is true, else 0.
    truths: Vec<u8>,
    /// The line of each group's entry.
    found: Vec<usize>,
}

impl Tables {
    /// Adds the entries of a row to `out`: per output `num_features + 1` numbers.
    pub(in crate::explain) fn add_row(
        &self,
        buffers: &mut RowBuffers,
        answers: &Answers<'_>,
        num_features: usize,
        out: &mut [f32],
    ) {
        let truths = &mut buffers.truths;
        truths.clear();
        for source in &self.literals.sources {
            let truth = match *source {
                Source::True => true,
                Source::Asked(question) => answers.of(question),
                Source::Both(one, other) => truths[one as usize] & truths[other as usize] == 1,
            };
            truths.extend([u8::from(truth), u8::from(!truth)]);
        }
        let truth = |literal: Literal| {
            debug_assert!((literal as usize) < truths.len(), "literal");
            // SAFETY: the bits of a group are literals of the model, and each has two truths.
            unsafe { *truths.get_unchecked(literal as usize) }
        };
        for class in &self.classes {
            // All look-ups first, so that the memory that they wait for is on its way.
            buffers.found.clear();
            for record in class.chunks.iter().flat_map(|chunk| &chunk.records) {
                let mut code = 0;
                for bit in 0..BITS {
                    let [one, other] = record.bits[bit];
                    code |= (truth(one) & truth(other)) << bit;
                }
                let found = record.table + usize::from(record.look_up[usize::from(code)]);
                prefetch(&self.lines, found);
                buffers.found.push(found);
            }
            let mut found = buffers.found.iter();
            let mut sums = [0.0f32; WIDTH];
            for chunk in &class.chunks {
                let mut part = [0.0f32; WIDTH];
                for found in found.by_ref().take(chunk.records.len()) {
                    let Some(line) = self.lines.get(*found) else { continue };
                    for lane in 0..WIDTH {
                        part[lane] += line.0[lane];
                    }
                }
                for lane in 0..WIDTH {
                    sums[lane] += part[lane];
                }
            }
            let own = out.get_mut(class.output * (num_features + 1)..).unwrap_or_default();
            for (feature, sum) in class.features.iter().zip(sums) {
                if let Some(out) = own.get_mut(*feature as usize) {
                    *out += sum;
                }
            }
        }
    }
}

/// Says that a line will be read soon.
#[inline(always)]
fn prefetch(lines: &[Line], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(lines.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (lines, at);
}
