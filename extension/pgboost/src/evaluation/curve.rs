//! The area under the ROC curve and the average precision of each slice, the metrics of the order of scores.
//!
//! They are scikit-learn's `roc_auc_score` and `average_precision_score`: rows of the same score count
//! together, and the average precision is the sum of steps, without interpolation. XGBoost's `aucpr`
//! interpolates.
//!
//! Probabilities of one slice and their classes take 32 bits per row and are sorted by their digits: a
//! million rows take 4 MB, and a tenth of the time of a sort by comparisons. What does not fit goes to a
//! sorter, which keeps to `work_mem` and else writes temporary files.

use pg_interface::call::Abandon;
use pg_interface::report::check_for_interrupts;
use row_source::sorter::{Sorter, ordered_double, work_mem};

use super::predictions::Predictions;
use super::rows::KnownRow;
use crate::error::Result;

/// The most bytes of [`Scores`]: a pass over them does not check for interrupts.
const MAX_FEW_BYTES: usize = 16 << 20;
/// The bit of an entry's second word that has the class, the sign of the weight.
const CLASS: u64 = 1 << 63;

/// The scores of rows, their classes and weights.
pub(crate) struct Curve {
    /// Probabilities of one slice without weights, as long as they fit.
    few: Option<Scores>,
    /// Slice, score (the best first), and weight with the class in place of its sign.
    many: Option<Sorter<3>>,
}

/// The metrics of one slice; `None` where not defined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Areas {
    pub(crate) auc: Option<f64>,
    pub(crate) average_precision: Option<f64>,
}

impl Areas {
    /// Returns the metrics by name.
    pub(crate) fn named(self) -> [(String, Option<f64>); 2] {
        [("auc".to_owned(), self.auc), ("aucpr".to_owned(), self.average_precision)]
    }
}

impl Default for Curve {
    fn default() -> Self {
        Curve { few: Some(Scores::new(work_mem().min(MAX_FEW_BYTES))), many: None }
    }
}

impl Curve {
    /// Adds a row of a slice, with a finite score.
    #[inline]
    pub(crate) fn add(
        &mut self,
        slice: u32,
        score: f64,
        positive: bool,
        weight: f64,
    ) -> Result<()> {
        if let Some(scores) = &mut self.few {
            let single = score as f32;
            let plain = slice == 0 && weight == 1.0 && f64::from(single) == score;
            if plain && scores.add(single, positive) {
                return Ok(());
            }
        }
        let sorter = self.many.get_or_insert_with(|| Sorter::new(work_mem()));
        for (score, positive) in self.few.take().into_iter().flat_map(Scores::into_rows) {
            sorter.push(entry(0, f64::from(score), positive, 1.0))?;
        }
        sorter.push(entry(slice, score, positive, weight))?;
        Ok(())
    }

    /// Adds consecutive rows.
    pub(crate) fn add_all(
        &mut self,
        rows: &[KnownRow],
        predictions: Predictions<'_>,
    ) -> Result<()> {
        let mut both = rows.iter().zip(predictions.iter());
        both.try_for_each(|(row, prediction)| {
            self.add(row.slice, f64::from(prediction.value()), row.target == 1.0, row.weight)
        })
    }

    /// Returns the areas, by slice.
    pub(crate) fn areas(self, slices: usize) -> Result<Vec<Areas>> {
        let mut walk = Walk { areas: vec![Areas::default(); slices], ..Walk::default() };
        if let Some(scores) = self.few {
            walk.areas.fill(counted(&scores.sorted(check_for_interrupts)));
        } else if let Some(sorter) = self.many {
            sorter.each(|[slice, score, weight]| {
                let class = weight & CLASS != 0;
                walk.step([*slice, *score], class, f64::from_bits(weight & !CLASS));
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

fn entry(slice: u32, score: f64, positive: bool, weight: f64) -> [u64; 3] {
    let class = if positive { CLASS } else { 0 };
    [u64::from(slice), !ordered_double(score), weight.to_bits() | class]
}

/// Returns the areas of rows without weights from `Scores::sorted`. The loop has no branch on a class, which
/// the processor would predict wrongly half of the time.
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

/// Computes the areas from the pairs in the right order, the sum of precisions, and the weights of the classes.
fn areas(pairs: f64, precisions: f64, others: f64, positives: f64) -> Areas {
    Areas {
        auc: (others > 0.0 && positives > 0.0).then(|| pairs / (others * positives)),
        average_precision: (positives > 0.0).then(|| precisions / positives),
    }
}

/// A pass over sorted scores, the best first.
#[derive(Default)]
struct Walk {
    areas: Vec<Areas>,
    /// Slice and score of the current block, rows of equal scores.
    current: [u64; 2],
    /// The weights of the block: of other classes, and of the class.
    block: [f64; 2],
    /// The weights of the slice's rows before the block.
    before: [f64; 2],
    /// The weight of pairs of a row of the class and one of another class with a lower score.
    pairs: f64,
    /// The sum of precisions, each times the weight of the block's rows of the class.
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
        let slice = self.current[0] as usize;
        if others + positives > 0.0
            && let Some(found) = self.areas.get_mut(slice)
        {
            *found = areas(pairs, precisions, others, positives);
        }
    }
}

/// The most bits of a digit of the radix sort; three digits hold a score. More buckets than the processor's
/// first cache has lines would take longer than another pass.
const MAX_DIGIT_BITS: u32 = 10;
const DIGITS: usize = 1 << MAX_DIGIT_BITS;
const MAX_PASSES: usize = 3;

/// The bits of the greatest probability.
const ONE: u32 = 1.0f32.to_bits();

pub(crate) struct Scores {
    /// The distance of a score from 1, in units in the last place, and its class in the last bit.
    rows: Vec<u32>,
    room: usize,
}

impl Scores {
    /// Creates an empty list with room for `bytes`; the sort takes as many again.
    pub(crate) fn new(bytes: usize) -> Scores {
        Scores { rows: Vec::new(), room: bytes / size_of::<u32>() }
    }

    /// Adds a row; returns false if there is no room, or if its score is not a probability.
    #[inline]
    pub(crate) fn add(&mut self, score: f32, positive: bool) -> bool {
        let Some(distance) = ONE.checked_sub(score.to_bits()) else { return false };
        if self.rows.len() >= self.room {
            return false;
        }
        self.rows.push(distance << 1 | u32::from(positive));
        true
    }

    /// Returns the rows in the order in which they were added: the score, and whether it is of the class.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = (f32, bool)> {
        self.rows.into_iter().map(|row| (f32::from_bits(ONE - (row >> 1)), row & 1 == 1))
    }

    /// Sorts the rows, the best first. Rows of equal scores differ in the last bit alone, the class.
    pub(crate) fn sorted(self, check_interrupts: impl Fn()) -> Vec<u32> {
        let least = self.rows.iter().min().map_or(0, |row| row >> 1);
        let span = self.rows.iter().max().map_or(0, |row| row >> 1) - least;
        let bits = u32::BITS - span.leading_zeros();
        let passes = bits.div_ceil(MAX_DIGIT_BITS);
        let digit_bits = bits.div_ceil(passes.max(1));
        let digit = |row: u32, pass: usize| {
            (((row >> 1) - least) >> (digit_bits * pass as u32)) as usize & ((1 << digit_bits) - 1)
        };
        let mut counts = [[0u32; DIGITS]; MAX_PASSES];
        let mut rows = self.rows;
        for row in &rows {
            for (pass, counts) in counts.iter_mut().enumerate() {
                counts[digit(*row, pass) % DIGITS] += 1;
            }
        }
        let mut sorted = vec![0; rows.len()];
        for (pass, places) in counts.iter_mut().take(passes as usize).enumerate() {
            check_interrupts();
            let mut next = 0;
            for place in places.iter_mut() {
                next += std::mem::replace(place, next);
            }
            for row in &rows {
                let place = &mut places[digit(*row, pass) % DIGITS];
                if let Some(sorted) = sorted.get_mut(*place as usize) {
                    *sorted = *row;
                }
                *place += 1;
            }
            std::mem::swap(&mut rows, &mut sorted);
        }
        rows
    }
}

#[cfg(test)]
mod tests {

    use super::Scores;

    #[test]
    fn the_best_come_first_and_other_numbers_are_refused() {
        let mut scores = Scores::new(1000);
        let given = [0.25, 1.0, 0.0, 0.75, 0.25, 1e-40, 0.999_999_94];
        for (number, score) in given.into_iter().enumerate() {
            assert!(scores.add(score, number % 2 == 0), "{score}");
        }
        for score in [-0.0, -0.5, 1.000_000_1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!scores.add(score, true), "{score}");
        }
        let rows = Scores { rows: scores.rows.clone(), room: 0 }.into_rows();
        assert!(rows.eq(given.into_iter().enumerate().map(|(at, score)| (score, at % 2 == 0))));
        let sorted = Scores { rows: scores.sorted(|| ()), room: 0 }.into_rows().map(|row| row.0);
        assert!(sorted.eq([1.0, 0.999_999_94, 0.75, 0.25, 0.25, 1e-40, 0.0]));
        assert!(!Scores::new(0).add(0.5, true));
    }
}
