//! The area under the ROC curve, and the average precision, of each part: what depends on the order of
//! the scores.
//!
//! They are scikit-learn's `roc_auc_score` and `average_precision_score`: rows of the same score count
//! together, and the average precision is the sum of steps, without interpolation. XGBoost's `aucpr`
//! interpolates.

use pg_interface::report::check_for_interrupts;
use row_source::sorter::{Sorter, ordered, work_mem};

use super::predictions::Predictions;
use super::rows::KnownRow;
use super::scores::Scores;
use crate::error::Result;

pub(crate) enum Curve {
    /// Probabilities of one part, as long as there is room for them.
    Few(Scores),
    /// Part, score and class in one word.
    Plain(Sorter<1>),
    /// The same, and the weight's bits.
    Weighted(Sorter<2>),
}

/// Of one part; nothing where it is not defined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Areas {
    pub(crate) auc: Option<f64>,
    pub(crate) average_precision: Option<f64>,
}

impl Curve {
    pub(crate) fn new(weighted: bool) -> Curve {
        if weighted {
            Curve::Weighted(Sorter::new(work_mem()))
        } else {
            Curve::Few(Scores::new(work_mem()))
        }
    }

    #[inline]
    fn add(&mut self, part: u32, score: f32, positive: bool, weight: f64) -> Result<()> {
        match self {
            Curve::Few(scores) => {
                if part > 0 || !scores.add(score, positive) {
                    return self.widen(key(part, score, positive));
                }
            }
            Curve::Plain(sorter) => sorter.push([key(part, score, positive)])?,
            Curve::Weighted(sorter) => {
                sorter.push([key(part, score, positive), weight.to_bits()])?;
            }
        }
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
            self.add(row.part, prediction.value(), row.target == 1.0, row.weight)
        })
    }

    /// Goes over to a sorter, with the rows that were taken in, and one more.
    #[cold]
    fn widen(&mut self, last: u64) -> Result<()> {
        let mut sorter = Sorter::new(work_mem());
        if let Curve::Few(scores) = std::mem::replace(self, Curve::Few(Scores::new(0))) {
            for (score, positive) in scores.into_rows() {
                sorter.push([key(0, score, positive)])?;
            }
        }
        sorter.push([last])?;
        *self = Curve::Plain(sorter);
        Ok(())
    }

    /// The areas, by part.
    pub(crate) fn areas(self, parts: usize) -> Result<Vec<Areas>> {
        let mut walk = Walk { areas: vec![Areas::default(); parts], ..Walk::default() };
        match self {
            Curve::Few(scores) => {
                let rows = scores.sorted(check_for_interrupts);
                walk.areas.fill(counted(&rows));
                return Ok(walk.areas);
            }
            Curve::Plain(sorter) => sorter.each(|[key]| walk.step(*key, 1.0))?,
            Curve::Weighted(sorter) => {
                sorter.each(|[key, weight]| walk.step(*key, f64::from_bits(*weight)))?;
            }
        }
        walk.end_part();
        Ok(walk.areas)
    }
}

/// Part, score and class in one word; the best come first.
#[inline]
fn key(part: u32, score: f32, positive: bool) -> u64 {
    u64::from(part) << 33 | u64::from(!ordered(score)) << 1 | u64::from(positive)
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
    current: u64,
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
    fn step(&mut self, key: u64, weight: f64) {
        let block = key >> 1;
        if block != self.current {
            self.end_block();
            if block >> 32 != self.current >> 32 {
                self.end_part();
            }
            self.current = block;
        }
        let [other, positive] = &mut self.block;
        *(if key & 1 == 1 { positive } else { other }) += weight;
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
        let part = (self.current >> 32) as usize;
        if others + positives > 0.0
            && let Some(found) = self.areas.get_mut(part)
        {
            *found = areas(pairs, precisions, others, positives);
        }
    }
}
