//! Sums of linear models in leaves over a row's doubles ([`crate::compiled::doubles`]).
//!
//! Trees are walked row by row, since tiles have the same leaf for all rows.
#![allow(
    unsafe_code,
    reason = "walks trees, and finds what the compiled model's check has vouched for"
)]

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::doubles::double_of;
use crate::compiled::records::{LinearLeaf, LinearTerm};
use crate::compiled::sections::{LEAF_VALUES, LINEAR_LEAVES, LINEAR_TERMS, Sections};
use crate::eval::interleaved;
use crate::eval::scratch::{Scratch, present_values};
use crate::verified;

/// Computes the outputs of linear leaves.
struct LinearLeaves<'a> {
    values: &'a [f64],
    leaves: &'a [LinearLeaf],
    terms: &'a [LinearTerm],
}

impl<'a> LinearLeaves<'a> {
    fn of(compiled: Sections<'a>) -> Self {
        LinearLeaves {
            values: compiled.get(LEAF_VALUES),
            leaves: compiled.get(LINEAR_LEAVES),
            terms: compiled.get(LINEAR_TERMS),
        }
    }

    /// Returns a leaf's output for a row's doubles; its plain value if one of its features is missing.
    #[inline(always)]
    fn output(&self, key: u32, doubles: &[[f32; 2]]) -> f64 {
        let key = key as usize;
        let LinearLeaf { constant, first, terms } = self.leaves[key];
        let mut output = constant;
        for term in &self.terms[first as usize..][..terms as usize] {
            let value = double_of(doubles[term.feature as usize]);
            if value.is_nan() {
                return self.values[key];
            }
            output += term.coefficient * value;
        }
        output
    }
}

impl<B: StableBytes> CompiledModel<B> {
    /// Adds the outputs of leaves to the sums of rows, which keep their initial values if `STARTED`.
    ///
    /// # Safety
    /// `rows.len() == n * row_length`, and `sums.len() == n * num_outputs`.
    #[inline(never)]
    pub(super) unsafe fn linear_sums<const STARTED: bool>(
        &self,
        scratch: &mut Scratch,
        rows: &[f32],
        sums: &mut [f64],
    ) {
        let compiled = self.sections();
        let linear = LinearLeaves::of(compiled);
        let Scratch { keys, present, .. } = scratch;
        let rows = rows.chunks_exact(self.row_length());
        for (row, sums) in rows.zip(sums.chunks_exact_mut(self.num_outputs())) {
            if !STARTED {
                sums.fill(0.0);
            }
            let (features, doubles) = row.split_at(self.num_features());
            let (doubles, _) = doubles.as_chunks::<2>();
            let features = present_values(compiled, features, present);
            let mut outputs = compiled.outputs_by_source();
            // SAFETY: the row has all split values; a walk visits each tree of the model in turn, whose
            // outputs `compiled::verify` has checked.
            unsafe {
                keys.set_with_outcomes(compiled, self.num_split_features(), features);
                interleaved::walk(compiled, keys, features, |_, leaf| {
                    for (key, output) in (leaf.key..).zip(outputs.next().unwrap_or_default()) {
                        *verified::at_mut(sums, *output as usize, "an output has a sum") +=
                            linear.output(key, doubles);
                    }
                });
            }
        }
    }
}
