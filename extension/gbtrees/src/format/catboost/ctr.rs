//! Target statistics as read from files, and the numbers computed from them.
//!
//! A statistic names a combination of categories and conditions, a kind, and a formula for counts; a
//! table has the counts of a combination and kind by key. The numbers are those of `TModelCtr::Calc`
//! (catboost/libs/model/online_ctr.h), in f32; `TStaticCtrProvider::CalcCtrs`
//! (catboost/libs/model/static_ctr_provider.cpp) selects the counts. All statistics of a combination
//! become one table of lines: see [`crate::ensemble::ctr`].

use std::collections::{HashMap, HashSet};

use crate::ensemble::check_limit;
use crate::ensemble::ctr::{KeyPart, Projection};
use crate::format::reader::CancelChecks;
use crate::memory::{push, with_capacity};
use crate::{Limits, Result};

/// The kind of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Rows of classes above a border of the target, over all rows.
    Borders,
    /// Rows of one class, over all rows.
    Buckets,
    /// The mean of the binarized target.
    BinarizedTargetMeanValue,
    FloatTargetMeanValue,
    /// Rows, relative to the most frequent key.
    Counter,
    /// Rows, over all rows.
    FeatureFreq,
}

impl Kind {
    /// In the order of their numbers in `cbm`.
    const NAMES: [(Kind, &'static str); 6] = [
        (Kind::Borders, "Borders"),
        (Kind::Buckets, "Buckets"),
        (Kind::BinarizedTargetMeanValue, "BinarizedTargetMeanValue"),
        (Kind::FloatTargetMeanValue, "FloatTargetMeanValue"),
        (Kind::Counter, "Counter"),
        (Kind::FeatureFreq, "FeatureFreq"),
    ];

    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::NAMES.get(usize::from(number)).map(|(kind, _)| *kind)
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Returns whether tables hold sums of the target instead of rows.
    pub(super) fn is_mean(self) -> bool {
        matches!(self, Kind::BinarizedTargetMeanValue | Kind::FloatTargetMeanValue)
    }
}

/// Features combined into a key, in this order; indices are per kind of feature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Combination {
    pub(super) categories: Vec<i64>,
    /// Numeric features, and the bits of the borders that they are compared with.
    pub(super) borders: Vec<(i64, u32)>,
    /// Categorical features, and the hashes that they are compared with.
    pub(super) hashes: Vec<(i64, i32)>,
}

/// The identity of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    pub(super) combination: Combination,
    pub(super) kind: Kind,
    /// Index of the target's binarization; absent from JSON.
    pub(super) target: i64,
}

/// A statistic tested by splits.
#[derive(Clone, Debug)]
pub(super) struct Ctr {
    pub(super) table: TableKey,
    pub(super) target_border: i64,
    /// Added to the two counts.
    pub(super) prior: [f32; 2],
    pub(super) shift: f32,
    pub(super) scale: f32,
    pub(super) borders: Vec<f32>,
}

/// The counts of a combination.
pub(super) struct CountTable {
    pub(super) key: TableKey,
    /// Keys, none of them [`NO_KEY`], and the indices of their counts, in any order.
    pub(super) entries: Vec<(u64, u32)>,
    pub(super) counts: Counts,
    /// Set for [`Kind::Counter`] and [`Kind::FeatureFreq`].
    pub(super) denominator: i32,
}

pub(super) enum Counts {
    /// Sum and number of targets per entry.
    Means(Vec<(f32, i32)>),
    /// `per_entry` counts of rows per entry: one per class, or a single one.
    Rows { per_entry: usize, rows: Vec<i32> },
}

/// The mark of an empty bucket, which CatBoost never finds.
pub(super) const NO_KEY: u64 = u64::MAX;

impl Ctr {
    /// Computes the statistic of two counts.
    fn of_counts(&self, some: f32, all: f32) -> f32 {
        let [some_prior, all_prior] = self.prior;
        ((some + some_prior) / (all + all_prior) + self.shift) * self.scale
    }

    /// Computes the statistic of an entry, or of a key that the table lacks.
    fn number(&self, table: &CountTable, entry: Option<u32>) -> Option<f32> {
        let entry = entry.map(|entry| entry as usize);
        let target = usize::try_from(self.target_border).ok()?;
        let total = |rows: &[i32]| rows.iter().fold(0i32, |sum, count| sum.wrapping_add(*count));
        let (some, all) = match (&table.counts, self.table.kind) {
            (Counts::Means(means), _) => match entry {
                Some(entry) => means.get(entry).map(|(sum, count)| (*sum, *count as f32))?,
                None => (0.0, 0.0),
            },
            (Counts::Rows { per_entry, rows }, kind) => {
                let none = [0];
                let own = match entry {
                    Some(entry) => rows.chunks_exact(*per_entry).nth(entry)?,
                    None => &none[..],
                };
                let known = entry.is_some();
                let (some, all) = match kind {
                    Kind::Counter | Kind::FeatureFreq => (total(own), table.denominator),
                    Kind::Buckets if known => (*own.get(target)?, total(own)),
                    _ if known => (total(own.get(target.checked_add(1)?..)?), total(own)),
                    _ => (0, 0),
                };
                (some as f32, all as f32)
            }
        };
        Some(self.of_counts(some, all))
    }

    /// Checks that a table's counts fit the kind, and include the target's border.
    fn fits(&self, table: &CountTable) -> bool {
        let target = usize::try_from(self.target_border);
        match (&table.counts, self.table.kind) {
            (Counts::Means(_), kind) => kind.is_mean(),
            (Counts::Rows { per_entry, .. }, Kind::Counter | Kind::FeatureFreq) => *per_entry == 1,
            (Counts::Rows { per_entry, .. }, Kind::Buckets) => {
                *per_entry >= 1 && target.is_ok_and(|target| target < *per_entry)
            }
            // CatBoost uses the border only if there are several.
            (Counts::Rows { per_entry, .. }, Kind::Borders) => {
                *per_entry >= 2 && target.is_ok_and(|target| target + 1 < *per_entry)
            }
            _ => false,
        }
    }
}

/// The statistics of a file, and their tables.
#[derive(Default)]
pub(super) struct RawCtrs {
    pub(super) ctrs: Vec<Ctr>,
    pub(super) tables: Vec<CountTable>,
}

impl RawCtrs {
    /// Returns the number of borders of all statistics, each of which is a bin.
    pub(super) fn count_borders(&self) -> usize {
        self.ctrs.iter().map(|ctr| ctr.borders.len()).sum()
    }

    /// Returns the combinations in order of their first statistics, with the indices of all of them.
    fn combinations(&self) -> Vec<(&Combination, Vec<usize>)> {
        let mut found: Vec<(&Combination, Vec<usize>)> = Vec::new();
        let mut places = HashMap::new();
        for (index, ctr) in self.ctrs.iter().enumerate() {
            let combination = &ctr.table.combination;
            let place = *places.entry(combination).or_insert(found.len());
            match found.get_mut(place) {
                Some((_, members)) => members.push(index),
                None => found.push((combination, vec![index])),
            }
        }
        found
    }

    /// Returns, for each statistic, the feature number that splits test it by: statistics follow the
    /// features, grouped by combination.
    pub(super) fn split_features(&self, num_features: usize) -> Vec<u32> {
        let mut numbers = vec![0; self.ctrs.len()];
        let members = self.combinations().into_iter().flat_map(|(_, members)| members);
        for (number, member) in (num_features..).zip(members) {
            if let Some(place) = numbers.get_mut(member) {
                *place = number as u32;
            }
        }
        numbers
    }

    /// Returns the indices of categorical features that are combined by hash.
    pub(super) fn combined_categories(&self) -> impl Iterator<Item = i64> {
        self.ctrs.iter().flat_map(|ctr| ctr.table.combination.categories.iter().copied())
    }

    /// Returns the hashes in conditions, with the indices of their features.
    pub(super) fn compared_hashes(&self) -> impl Iterator<Item = (i64, i32)> {
        self.ctrs.iter().flat_map(|ctr| ctr.table.combination.hashes.iter().copied())
    }

    /// Builds each combination's lines from the file's tables. `key_parts` gives the parts of a key;
    /// `limits` bound the numbers in all.
    pub(super) fn projections(
        &self,
        mut tables: Vec<CountTable>,
        key_parts: impl Fn(&Combination) -> Result<Vec<KeyPart>>,
        limits: &Limits,
        checks: &mut CancelChecks<'_>,
    ) -> Result<Vec<Projection>> {
        for table in &mut tables {
            table.sort(checks)?;
        }
        let mut by_key: HashMap<&TableKey, &CountTable> = HashMap::new();
        for table in &tables {
            if by_key.insert(&table.key, table).is_some() {
                bail!(Parameter, "model has two tables of one statistic");
            }
        }
        let mut numbers_left = limits.set_words();
        let mut projections = Vec::new();
        for (combination, members) in self.combinations() {
            let members = members.into_iter().filter_map(|member| self.ctrs.get(member));
            let mut of_members = Vec::new();
            for ctr in members {
                checks.count()?;
                let table = *by_key.get(&ctr.table).ok_or_else(|| {
                    fault!(MissingKey, "model has no table for one of its target statistics")
                })?;
                if !ctr.fits(table) {
                    bail!(Parameter, "a target statistic does not fit the counts of its table");
                }
                of_members.push((ctr, table));
            }
            let parts = key_parts(combination)?;
            push(&mut projections, projection(parts, &of_members, &mut numbers_left, checks)?)?;
        }
        Ok(projections)
    }
}

impl CountTable {
    /// Sorts the entries by key.
    fn sort(&mut self, checks: &mut CancelChecks<'_>) -> Result<()> {
        self.entries.sort_unstable_by(|a, b| {
            checks.note();
            a.cmp(b)
        });
        checks.check()?;
        if self.entries.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
            bail!(DuplicateKey, "a table of target statistics has a key twice");
        }
        Ok(())
    }
}

/// Collects the keys of all tables, with one line of all statistics per key, and one for other keys.
fn projection(
    parts: Vec<KeyPart>,
    members: &[(&Ctr, &CountTable)],
    numbers_left: &mut usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Projection> {
    let mut keys: Vec<u64> = Vec::new();
    let mut seen = HashSet::new();
    for (ctr, table) in members {
        if seen.insert(&ctr.table) {
            keys.try_reserve(table.entries.len())?;
            keys.extend(table.entries.iter().map(|entry| entry.0));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    checks.check()?;
    let width = members.len();
    let count = keys.len().saturating_add(1).saturating_mul(width);
    check_limit(count, *numbers_left, "numbers of target statistics")?;
    *numbers_left -= count;
    let mut lines = with_capacity(count)?;
    lines.resize(count, 0.0f32);
    for (member, (ctr, table)) in members.iter().enumerate() {
        let mut entries = table.entries.iter().peekable();
        let keys = keys.iter().copied().map(Some).chain([None]);
        for (key, line) in keys.zip(lines.chunks_exact_mut(width)) {
            checks.count()?;
            let entry = entries.next_if(|entry| Some(entry.0) == key).map(|entry| entry.1);
            let number = ctr.number(table, entry).ok_or_else(|| {
                fault!(Length, "a table of target statistics has no counts for one of its keys")
            })?;
            if let Some(place) = line.get_mut(member) {
                *place = number;
            }
        }
    }
    Ok(Projection { parts, keys, width, lines })
}
