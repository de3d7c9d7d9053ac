//! The choice of rows for training and for evaluation: a split, or the fold of each row or group of rows.
//!
//! Random folds are dealt like cards: `count` consecutive rows are in `count` different folds.

use row_source::{Field, SourceError};

use crate::error::{Error, Result};
use crate::source::columns::GroupColumn;
use crate::source::dictionary::Dictionary;
use row_source::random::{Random, scattered};

/// The most folds.
pub(crate) const MAX_FOLDS: u32 = 100;

/// The way in which rows are put into folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldChoice {
    /// By the values of a column.
    Column,
    /// At random.
    Dealt { count: u32, stratified: bool },
}

/// The folds, with the number of rows or groups in each.
pub(crate) struct Folds {
    choice: FoldChoice,
    seed: u64,
    /// One for each class if stratified, otherwise one.
    decks: Vec<Deck>,
    /// The values of the column.
    values: Dictionary,
    counts: Vec<u64>,
}

/// The column of folds, and a row's value in it.
pub(crate) type Said<'a> = (&'a GroupColumn, Option<Field<'a>>);

/// Folds to deal, in random order.
struct Deck {
    random: Random,
    cards: Vec<u32>,
}

impl Folds {
    pub(crate) fn new(choice: FoldChoice, seed: i32) -> Folds {
        let values = Dictionary::new(MAX_FOLDS as usize);
        let seed = u64::from(seed.cast_unsigned());
        Folds { choice, seed, decks: Vec::new(), values, counts: Vec::new() }
    }

    /// Returns the fold of the next row, or of the group that it begins: the column's value, or the next fold
    /// dealt to the row's class.
    pub(crate) fn next(&mut self, class: usize, said: Option<Said<'_>>) -> Result<u32> {
        let fold = match (self.choice, said) {
            (_, Some(said)) => self.said(said)?,
            (FoldChoice::Dealt { count, stratified }, None) => {
                self.dealt(count, if stratified { class } else { 0 })
            }
            (FoldChoice::Column, None) => 0,
        };
        self.count(fold);
        Ok(fold)
    }

    fn count(&mut self, fold: u32) {
        let place = fold as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts.get_mut(place).into_iter().for_each(|count| *count += 1);
    }

    /// Returns the fold of a further row of a group. Fails if the column has another.
    pub(crate) fn stays(&mut self, fold: u32, said: Option<Said<'_>>) -> Result<u32> {
        match said {
            Some(said) if self.said(said)? != fold => Err(Error::Arguments {
                message: "rows of a group are in different folds",
                hint: "Give all rows of a group the same value in the column of the fold.",
            }),
            _ => Ok(fold),
        }
    }

    fn said(&mut self, (column, field): Said<'_>) -> Result<u32> {
        let Some(field) = field else {
            let what = "is null, so it cannot be a fold";
            return Err(SourceError::ValueRefused { column: column.name.clone(), what }.into());
        };
        self.values
            .code(&field.label())
            .map_err(|_| Error::TooManyFolds { column: column.name.clone(), limit: MAX_FOLDS })
    }

    fn dealt(&mut self, count: u32, class: usize) -> u32 {
        while self.decks.len() <= class {
            let random = Random::of(self.seed, self.decks.len() as u64);
            self.decks.push(Deck { random, cards: Vec::new() });
        }
        self.decks.get_mut(class).map_or(0, |deck| deck.deal(count))
    }

    /// Returns the folds in order, after the last row: by number if all values of the column are numbers.
    pub(crate) fn in_order(&self) -> Result<Vec<u32>> {
        let fail = |message, hint| Err(Error::Arguments { message, hint });
        let sorted = match self.choice {
            FoldChoice::Dealt { count, .. } => {
                let wanted = count as usize;
                if self.counts.len() < wanted || self.counts.contains(&0) {
                    return fail("a fold has no rows to evaluate on", "Choose fewer folds.");
                }
                return Ok((0..count).collect());
            }
            FoldChoice::Column => self.values.sorted_as_numbers(),
        };
        if sorted.names.len() < 2 {
            return fail("all rows are in one fold", "Choose a column of two values or more.");
        }
        let mut order = vec![0; sorted.codes.len()];
        for (code, place) in (0..).zip(sorted.codes) {
            order.get_mut(place as usize).into_iter().for_each(|fold| *fold = code);
        }
        Ok(order)
    }
}

impl Deck {
    fn deal(&mut self, count: u32) -> u32 {
        if self.cards.is_empty() {
            self.cards = (0..count).collect();
        }
        let drawn = self.random.below(self.cards.len() as u64);
        self.cards.swap_remove(drawn as usize)
    }
}

/// A pseudorandom share of the rows for evaluation, chosen by the seed and the number of the row, or of its
/// group.
#[derive(Clone, Copy)]
pub(crate) struct Holdout {
    /// Random numbers below this are kept for evaluation; `None` keeps no row.
    below: Option<u64>,
    seed: u64,
}

impl Holdout {
    pub(crate) fn new(fraction: Option<f64>, seed: i32) -> Holdout {
        let below = fraction.map(|share| (share * u64::MAX as f64) as u64);
        Holdout { below, seed: u64::from(seed.cast_unsigned()) }
    }

    /// Returns whether any row is kept for evaluation.
    pub(crate) fn keeps_some(self) -> bool {
        self.below.is_some()
    }

    /// Returns whether the row or group of that number is kept for evaluation.
    pub(crate) fn keeps(self, number: u64) -> bool {
        self.below.is_some_and(|below| scattered(self.seed, number) < below)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Deals as `next` does without a column of folds. Tests cannot link `next`, which needs a server.
    fn dealt(count: u32, stratified: bool, seed: i32, classes: &[usize]) -> (Vec<u32>, Folds) {
        let mut folds = Folds::new(FoldChoice::Dealt { count, stratified }, seed);
        let mut numbers = Vec::new();
        for class in classes {
            let fold = folds.dealt(count, if stratified { *class } else { 0 });
            folds.count(fold);
            numbers.push(fold);
        }
        (numbers, folds)
    }

    #[test]
    fn sizes_differ_by_one_at_most() {
        let (numbers, folds) = dealt(5, false, 1, &[0; 1_003]);
        assert!(folds.counts.iter().all(|count| (200..=201).contains(count)));
        assert_eq!(folds.in_order().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(dealt(5, false, 1, &[0; 1_003]).0, numbers);
        assert_ne!(dealt(5, false, 2, &[0; 1_003]).0, numbers);
    }

    #[test]
    fn each_class_is_spread_over_the_folds() {
        let classes: Vec<usize> = (0..4_000).map(|row| usize::from(row % 10 == 0)).collect();
        let (numbers, _) = dealt(4, true, 3, &classes);
        for fold in 0..4 {
            let rare = numbers
                .iter()
                .zip(&classes)
                .filter(|(number, class)| **number == fold && **class == 1);
            assert_eq!(rare.count(), 100);
        }
    }

    #[test]
    fn a_fold_without_rows_is_an_error() {
        assert!(dealt(5, false, 1, &[0; 4]).1.in_order().is_err());
        assert!(dealt(5, false, 1, &[0; 5]).1.in_order().is_ok());
    }

    #[test]
    fn split_keeps_about_its_share_and_always_the_same() {
        let split = Holdout::new(Some(0.25), 7);
        let kept = (0..10_000).filter(|number| split.keeps(*number)).count();
        assert!((2_300..2_700).contains(&kept), "{kept}");
        assert_eq!((0..10_000).filter(|number| split.keeps(*number)).count(), kept);
        let other = Holdout::new(Some(0.25), 8);
        assert!((0..10_000).any(|number| split.keeps(number) != other.keeps(number)));
        assert!(!(0..100).any(|number| Holdout::new(None, 7).keeps(number)));
    }
}
