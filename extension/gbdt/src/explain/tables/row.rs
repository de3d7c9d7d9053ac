//! One row, by the tables: its literals one after another, then a code per group.

use super::literals::{Literal, Source};
use super::rest::Answers;
use super::{Tables, WIDTH};

/// Buffers for one row after another.
#[derive(Default)]
pub(in crate::explain) struct RowBuffers {
    /// Per literal 1 if it is true, else 0.
    truths: Vec<u8>,
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
                Source::True => 1,
                Source::Asked(question) => u8::from(answers.of(question)),
                Source::Both(one, other) => truth(truths, one) & truth(truths, other),
            };
            truths.push(truth);
        }
        for class in &self.classes {
            let mut sums = [0.0f32; WIDTH];
            for chunk in &class.chunks {
                let mut part = [0.0f32; WIDTH];
                for record in &chunk.records {
                    let mut code = 0;
                    for (bit, [one, other]) in record.bits.iter().enumerate() {
                        code |= (truth(truths, *one) & truth(truths, *other)) << bit;
                    }
                    let entry = record.look_up[usize::from(code)];
                    let Some(line) = self.lines.get(record.table + usize::from(entry)) else {
                        continue;
                    };
                    part.iter_mut().zip(line.0).for_each(|(sum, number)| *sum += number);
                }
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
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

#[inline(always)]
fn truth(truths: &[u8], literal: Literal) -> u8 {
    truths.get(literal as usize / 2).copied().unwrap_or(0) ^ (literal & 1) as u8
}
