//! The area under the ROC curve, and the average precision, of each part: what depends on the order of
//! the scores.
//!
//! They are scikit-learn's `roc_auc_score` and `average_precision_score`: rows of the same score count
//! together, and the average precision is the sum of steps, without interpolation. XGBoost's `aucpr`
//! interpolates.

use pg_interface::aggregate::Abandon;
use pg_interface::report::check_for_interrupts;
use row_source::sorter::{Sorter, work_mem};

use super::predictions::Predictions;
use super::rows::KnownRow;
use super::scores::Scores;
use crate::error::Result;

/// Most bytes of the scores of [`Scores`]: nothing interrupts a pass over them.
const MAX_FEW_BYTES: usize = 16 << 20;
/// Where the second word of an entry has the class; a weight is not negative.
const CLASS: u64 = 1 << 63;

/// The scores of rows, their classes and weights.
pub(crate) struct Curve {
    /// Probabilities of one part without weights, as long as there is room for them.
    few: Option<Scores>,
    /// Part, score (the best first), and weight with the class in place of its sign.
    many: Option<Sorter<3>>,
}

/// Of one part; nothing where it is not defined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Areas {
    pub(crate) auc: Option<f64>,
    pub(crate) average_precision: Option<f64>,
}

impl Default for Curve {
    fn default() -> Self {
        Curve { few: Some(Scores::new(work_mem().min(MAX_FEW_BYTES))), many: None }
    }
}

impl Curve {
    /// Takes in a row of a part: a finite score, whether it is of the class, and a weight.
    #[inline]
    pub(crate) fn add(&mut self, part: u32, score: f64, positive: bool, weight: f64) -> Result<()> {
        if let Some(scores) = &mut self.few {
            let single = score as f32;
            let plain = part == 0 && weight == 1.0 && f64::from(single) == score;
            if plain && scores.add(single, positive) {
                return Ok(());
            }
        }
        let sorter = self.many.get_or_insert_with(|| Sorter::new(work_mem()));
        for (score, positive) in self.few.take().into_iter().flat_map(Scores::into_rows) {
            sorter.push(entry(0, f64::from(score), positive, 1.0))?;
        }
        sorter.push(entry(part, score, positive, weight))?;
        Ok(())
    }

    /// Takes in rows that follow one another.
    pub(crate) fn add_all(
        &mut self,
        rows: &[KnownRow],
        predictions: Predictions<'_>,
    ) -> Result<()> {
        let mut both = rows.iter().zip(predictions.iter());
        both.try_for_each(|(row, prediction)| {
            self.add(row.part, f64::from(prediction.value()), row.target == 1.0, row.weight)
        })
    }

    /// The areas, by part.
    pub(crate) fn areas(self, parts: usize) -> Result<Vec<Areas>> {
        let mut walk = Walk { areas: vec![Areas::default(); parts], ..Walk::default() };
        if let Some(scores) = self.few {
            walk.areas.fill(counted(&scores.sorted(check_for_interrupts)));
        } else if let Some(sorter) = self.many {
            sorter.each(|[part, score, weight]| {
                let class = weight & CLASS != 0;
                walk.step([*part, *score], class, f64::from_bits(weight & !CLASS));
            })?;
            walk.end_part();
        }
        Ok(walk.areas)
    }
}

impl Abandon for Curve {
    fn abandon(self) {
        self.many.into_iter().for_each(Sorter::abandon_file);
    }
}

fn entry(part: u32, score: f64, positive: bool, weight: f64) -> [u64; 3] {
    let class = if positive { CLASS } else { 0 };
    [u64::from(part), !ordered(score), weight.to_bits() | class]
}

/// A word whose order is that of the numbers.
fn ordered(number: f64) -> u64 {
    // Both zeros are one number.
    let bits = (number + 0.0).to_bits();
    if bits & CLASS != 0 { !bits } else { bits | CLASS }
}

/// The areas of rows without weights, the best first, that are equal but for the last bit, their class,
/// where their scores are. Nothing in it depends on the class of a row before: half of such guesses fail.
fn counted(rows: &[u32]) -> Areas {
    let (mut positives, mut chosen) = (0u64, 0u64);
    let (mut half_pairs, mut precisions) = (0u64, 0.0);
    for block in rows.chunk_by(|row, next| row >> 1 == next >> 1) {
        let of_class: u64 = block.iter().map(|row| u64::from(row & 1)).sum();
        half_pairs += (block.len() as u64 - of_class) * (2 * positives + of_class);
        positives += of_class;
        chosen += block.len() as u64;
        precisions += of_class as f64 * (positives as f64 / chosen as f64);
    }
    areas(half_pairs as f64 / 2.0, precisions, (chosen - positives) as f64, positives as f64)
}

/// The areas, by the pairs in the right order, the sum of precisions, and the weights of the classes.
fn areas(pairs: f64, precisions: f64, others: f64, positives: f64) -> Areas {
    Areas {
        auc: (others > 0.0 && positives > 0.0).then(|| pairs / (others * positives)),
        average_precision: (positives > 0.0).then(|| precisions / positives),
    }
}

/// A walk down the scores.
#[derive(Default)]
struct Walk {
    areas: Vec<Areas>,
    /// Part and score of the rows that are counted together.
    current: [u64; 2],
    /// The weights of these rows: not of the class, and of it.
    block: [f64; 2],
    /// Those of the rows before, of the part.
    before: [f64; 2],
    /// The sum over rows not of the class of the weight of those above them that are.
    pairs: f64,
    /// The sum of precisions, each times the weight found with it.
    precisions: f64,
}

impl Walk {
    #[inline]
    fn step(&mut self, block: [u64; 2], positive: bool, weight: f64) {
        if block != self.current {
            self.end_block();
            if block[0] != self.current[0] {
                self.end_part();
            }
            self.current = block;
        }
        let [others, positives] = &mut self.block;
        *(if positive { positives } else { others }) += weight;
    }

    fn end_block(&mut self) {
        let [others, positives] = std::mem::take(&mut self.block);
        let [others_before, positives_before] = &mut self.before;
        self.pairs += others * (*positives_before + positives / 2.0);
        *positives_before += positives;
        *others_before += others;
        if positives > 0.0 {
            let chosen = *positives_before + *others_before;
            self.precisions += positives * (*positives_before / chosen);
        }
    }

    fn end_part(&mut self) {
        self.end_block();
        let [others, positives] = std::mem::take(&mut self.before);
        let (pairs, precisions) =
            (std::mem::take(&mut self.pairs), std::mem::take(&mut self.precisions));
        let part = self.current[0] as usize;
        if others + positives > 0.0
            && let Some(found) = self.areas.get_mut(part)
        {
            *found = areas(pairs, precisions, others, positives);
        }
    }
}
