//! Cuts: narrowing f64 to the f32 of kernels without changing a decision.
//!
//! A split of a model that compares in f64 asks whether a value is below its *cut*, a number of f64:
//! `x <= t` is `x < t.next_up()`. All that the splits of a feature can see of a value is its rank, the
//! number of cuts that it is not below. Kernels compare with the *end* of the cut, the smallest f32 that
//! the model takes for a number not below it, so a value that is an f32 has its rank there too: for itself,
//! or for its shortest decimal ([`RealInput`]), which keeps the order. Any other value becomes an f32 of
//! the same rank: the nearest, or, where an end lies between the two, the one next to that end. If the cuts
//! of a feature do not have distinct ends, because they lie too close together, kernels compare ranks, and
//! every value of the feature is turned into its rank.
//!
//! Ranks are also what categorical splits of a feature with a list of ranks test. Where zeros are
//! missing, the ends of the range that counts as zero are cuts too, so that no value moves across them.
//! Category codes are truncated, as in LightGBM's conversion to int.

use crate::compiled::records::{CutKind, CutSpan, rank};
use crate::decimal::shortest_decimal;
use crate::ensemble::{
    Comparison, Ensemble, MissingRule, NODES_PER_CHECK, Precision, RealInput, SplitCondition,
};
use crate::limits::to_u32;
use crate::memory::{extend, filled};
use crate::{Cancel, Result};

/// The cuts of a model's features; empty if it rounds values to f32 before comparing.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    pub(crate) spans: Vec<CutSpan>,
    pub(crate) numbers: Vec<f64>,
    /// The end of each cut.
    pub(crate) ends: Vec<f32>,
    real_input: RealInput,
}

impl Cuts {
    pub(crate) fn of(model: &Ensemble, cancel: Cancel<'_>) -> Result<Self> {
        if model.value_precision() == Precision::Single {
            return Ok(Cuts::default());
        }
        let mut cuts = Cuts { real_input: model.real_input(), ..Cuts::default() };
        let mut features = filled(model.num_features(), Feature::default())?;
        for (index, feature) in (0..).zip(&mut features) {
            extend(&mut feature.cuts, model.ranks_of(index).iter().copied())?;
            feature.ranked = !feature.cuts.is_empty();
        }
        for tree in model.trees() {
            for (id, node) in tree.nodes().iter().enumerate() {
                if id.is_multiple_of(NODES_PER_CHECK) {
                    cancel.check()?;
                }
                let Some(split) = node.split() else { continue };
                features[split.feature as usize].add(split.condition, cancel)?;
            }
            cancel.check()?;
        }
        for feature in &mut features {
            cuts.add(feature, cancel)?;
            cancel.check()?;
        }
        Ok(cuts)
    }

    fn add(&mut self, feature: &mut Feature, cancel: Cancel<'_>) -> Result<()> {
        feature.sort(cancel)?;
        let start = to_u32(self.numbers.len())?;
        let count = to_u32(feature.cuts.len())?;
        self.numbers.try_reserve(feature.cuts.len())?;
        self.numbers.extend(&feature.cuts);
        self.ends.try_reserve(feature.cuts.len())?;
        for cuts in feature.cuts.chunks(CUTS_PER_CHECK) {
            self.ends.extend(cuts.iter().map(|cut| end(*cut, self.real_input)));
            cancel.check()?;
        }
        let ends = &self.ends[start as usize..];
        let distinct = ends.is_sorted_by(|a, b| a < b);
        let is_binary = |(cut, end): (&f64, &f32)| binary_end(*cut) == *end;
        let kind = match (feature.codes, distinct) {
            _ if feature.ranked => CutKind::Ranks,
            (true, _) => CutKind::Codes,
            (false, true) if feature.cuts.iter().zip(ends).all(is_binary) => CutKind::Beside,
            (false, true) => CutKind::BesideDecimal,
            (false, false) if feature.zero_missing => CutKind::RanksWithoutZero,
            (false, false) => CutKind::Ranks,
        };
        self.spans.push(CutSpan { kind, start, count });
        Ok(())
    }

    /// Returns the f32 threshold of kernels: smaller values go left. `None` if all values go left.
    pub(crate) fn below(
        &self,
        feature: u32,
        comparison: Comparison,
        threshold: f64,
    ) -> Option<f32> {
        let cut = cut(comparison, threshold)?;
        match self.spans.get(feature as usize) {
            Some(span) if matches!(span.kind, CutKind::Ranks | CutKind::RanksWithoutZero) => {
                Some(rank(span.of(&self.numbers), cut) as f32)
            }
            _ => Some(end(cut, self.real_input)),
        }
    }

    /// Returns whether a feature's ranks hide its zeros, so that kernels need not treat them as
    /// missing.
    pub(crate) fn hides_zero(&self, feature: usize) -> bool {
        self.spans.get(feature).is_some_and(|span| span.kind == CutKind::RanksWithoutZero)
    }
}

/// Comparisons between two polls for cancellation; sorting the largest models' cuts takes half a
/// second.
const COMPARISONS_PER_CHECK: usize = 1 << 20;
/// Cuts between two polls for cancellation; finding their ends takes a few milliseconds.
const CUTS_PER_CHECK: usize = 1 << 15;

#[derive(Clone, Default)]
struct Feature {
    cuts: Vec<f64>,
    /// Number of cuts at which duplicates are removed next.
    dense: usize,
    zero_missing: bool,
    codes: bool,
    /// Categorical splits test ranks, so values are replaced by ranks.
    ranked: bool,
}

impl Feature {
    fn add(&mut self, condition: SplitCondition, cancel: Cancel<'_>) -> Result<()> {
        let SplitCondition::Compare { comparison, threshold, missing } = condition else {
            self.codes = true;
            return Ok(());
        };
        if missing == MissingRule::Zero && !self.zero_missing {
            self.zero_missing = true;
            let zero = f64::from(MissingRule::ZERO);
            self.cuts.extend([-zero, zero.next_up()]);
        }
        self.cuts.try_reserve(1)?;
        self.cuts.extend(cut(comparison, threshold));
        if self.cuts.len() >= self.dense.max(1024) {
            self.sort(cancel)?;
            self.dense = 2 * self.cuts.len();
        }
        Ok(())
    }

    fn sort(&mut self, cancel: Cancel<'_>) -> Result<()> {
        let (mut compared, mut goes_on) = (0usize, Ok(()));
        self.cuts.sort_unstable_by(|a, b| {
            compared += 1;
            if compared.is_multiple_of(COMPARISONS_PER_CHECK) {
                goes_on = goes_on.clone().and_then(|()| cancel.check());
            }
            a.total_cmp(b)
        });
        self.cuts.dedup();
        goes_on
    }
}

/// Returns the number such that exactly the smaller values go left; `None` if all go left.
fn cut(comparison: Comparison, threshold: f64) -> Option<f64> {
    // Adding zero turns -0.0 into 0.0.
    match comparison {
        Comparison::Less => Some(threshold + 0.0),
        Comparison::LessOrEqual if threshold == f64::INFINITY => None,
        Comparison::LessOrEqual => Some(threshold.next_up() + 0.0),
    }
}

/// The smallest f32 that is not below a cut.
fn binary_end(cut: f64) -> f32 {
    let nearest = cut as f32;
    if f64::from(nearest) < cut { nearest.next_up() } else { nearest }
}

/// The smallest f32 that is taken for a number not below a cut.
fn end(cut: f64, real_input: RealInput) -> f32 {
    let binary = binary_end(cut);
    // A decimal is closer to its f32 than to any other, so only its neighbours can be the end.
    let is_not_below = |real: f32| shortest_decimal(real) >= cut;
    match real_input {
        RealInput::Binary => binary,
        RealInput::Decimal if is_not_below(binary.next_down()) => binary.next_down(),
        RealInput::Decimal if is_not_below(binary) => binary,
        RealInput::Decimal => binary.next_up(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::random::Random;

    fn cuts_of(splits: &[SplitCondition], real_input: RealInput) -> Cuts {
        let mut cuts = Cuts { real_input, ..Cuts::default() };
        let mut feature = Feature::default();
        splits.iter().for_each(|split| feature.add(*split, Cancel::never()).unwrap());
        cuts.add(&mut feature, Cancel::never()).unwrap();
        cuts
    }

    /// A value as kernels take it.
    fn narrow(cuts: &Cuts, value: f64) -> f32 {
        cuts.spans[0].narrow(&cuts.numbers, &cuts.ends, value)
    }

    /// Returns a kernel's decision on a value, or `None` for a missing one.
    fn decided(cuts: &Cuts, narrow: f32, comparison: Comparison, threshold: f64) -> Option<bool> {
        let below = cuts.below(0, comparison, threshold);
        (!narrow.is_nan()).then(|| below.is_none_or(|below| narrow < below))
    }

    /// Thresholds at, around and between a few f32, and extreme numbers.
    fn threshold(random: &mut Random, step: f64) -> f64 {
        let ends = [f64::INFINITY, f64::MAX, f64::from(f32::MAX), 1e300, 0.0, -0.0, 5e-324, 1e-60];
        let near = [1.0, -1.0, 16_777_216.0, 1e9, 0.1, 1e-35, 1e-45];
        let single = f64::from(near[random.below(near.len())] as f32);
        match random.below(12) {
            0 => ends[random.below(ends.len())],
            1 => -ends[random.below(ends.len())],
            2..5 => shortest_decimal((random.below(2000) as f32 - 1000.0) / 10.0),
            _ => single + step * single * random.below(9) as f64,
        }
    }

    #[test]
    fn every_double_and_real_stays_on_its_side_of_every_threshold() {
        let mut random = Random(7);
        let mut kinds = [0; 5];
        for _ in 0..4000 {
            // Steps of a quarter of the distance of two f32, of several of these, and of one f64.
            let step = [2f64.powi(-26), 2f64.powi(-20), f64::EPSILON][random.below(3)];
            let missing = [MissingRule::Nan, MissingRule::Zero][random.below(2)];
            let count = 1 + random.below(12);
            let thresholds: Vec<f64> = (0..count).map(|_| threshold(&mut random, step)).collect();
            let comparison = [Comparison::Less, Comparison::LessOrEqual][random.below(2)];
            let split =
                |one: &f64| SplitCondition::Compare { comparison, threshold: *one, missing };
            let splits: Vec<SplitCondition> = thresholds.iter().map(split).collect();
            let real_input = [RealInput::Decimal, RealInput::Binary][random.below(2)];
            let cuts = cuts_of(&splits, real_input);
            kinds[cuts.spans[0].kind as usize] += 1;
            let zero = f64::from(MissingRule::ZERO);
            let around = thresholds.iter().copied().chain([zero, -zero, 0.3, f64::NAN]);
            let around = around.chain((0..20).map(|_| threshold(&mut random, step)));
            let around: Vec<f64> = around.collect();
            let beside = |x: f64| [x, x.next_up(), x.next_down(), f64::from(x as f32)];
            let doubles = around.iter().copied().flat_map(beside);
            let doubles = doubles.map(|value| (value, narrow(&cuts, value)));
            let beside = |x: f64| {
                let real = x as f32;
                [real, real.next_up(), real.next_down()]
            };
            let reals = around.iter().copied().flat_map(beside).map(|real| {
                let value = match real_input {
                    RealInput::Decimal => shortest_decimal(real),
                    RealInput::Binary => real.into(),
                };
                (value, cuts.spans[0].narrow_real(&cuts.ends, real))
            });
            for (value, narrow) in doubles.chain(reals) {
                let present = missing.present(value);
                for threshold in &thresholds {
                    let expected = present.map(|value| comparison.holds(value, *threshold));
                    let mut found = decided(&cuts, narrow, comparison, *threshold);
                    // As in evaluation where ranks do not hide zeros.
                    if missing == MissingRule::Zero && !cuts.hides_zero(0) {
                        found = found.filter(|_| narrow.abs() > MissingRule::ZERO);
                    }
                    assert_eq!(found, expected, "{value:e} and {threshold:e} of {cuts:?}");
                }
            }
        }
        let [beside, ranks, without_zero, _, decimal] = kinds;
        let tested = [beside, ranks, without_zero, decimal];
        assert!(tested.iter().all(|count| *count > 100), "{kinds:?}");
    }

    #[test]
    fn sorting_cuts_polls_for_cancellation() {
        let mut random = Random(3);
        let cuts = (0..1 << 18).map(|_| random.next() as f64).collect();
        let polls = Cell::new(0);
        Feature { cuts, ..Feature::default() }
            .sort(Cancel::unwinding(&|| polls.set(polls.get() + 1)))
            .unwrap();
        assert!(polls.get() >= 3, "{}", polls.get());
    }

    #[test]
    fn codes_are_truncated_not_rounded() {
        let split = SplitCondition::InSet { set: 0, members_left: true };
        let cuts = cuts_of(&[split], RealInput::Decimal);
        let narrow = |value| narrow(&cuts, value);
        assert_eq!([2.999_999_999, -0.5, -1.5].map(narrow), [2.0, 0.0, -1.0]);
        assert_eq!(narrow(16_777_215.9), 16_777_215.0);
        assert!(narrow(f64::NAN).is_nan() && narrow(1e300) >= 16_777_216.0);
    }
}
