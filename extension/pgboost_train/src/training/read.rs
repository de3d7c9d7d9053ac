//! Reads the rows of a source, once, into temporary files, one for training and one for evaluation. With folds
//! all rows are in one file, and each record has its fold.
//!
//! The features' distributions are stored with the version, as its baseline for `feature_drift`. Numbers are
//! collected as they are read; texts are counted by their codes.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use pg_interface::fault;
use pgboost_trainer::{Fold, Part};
use row_source::distribution::{Collector, FeatureProfile, ProfileValues};
use row_source::{Groups, Row, SourceError};
use serde_json::{Value, json};

use super::folds::{Folds, Holdout};
use super::progress::Progress;
use crate::error::{Error, Result};
use crate::source::columns::{ChosenColumns, UsedColumn};
use crate::source::record_file::{self, AllowedTargets, Dictionaries, Records, Spool};

/// Rows for one purpose.
pub(crate) struct Set {
    spool: Spool,
    /// The description for the trainer, without the path.
    described: pgboost_trainer::Set,
    /// The fold of each group, if rows are in groups and folds.
    group_folds: Vec<u32>,
}

impl Set {
    fn new() -> Set {
        Set {
            spool: Spool::new(),
            described: pgboost_trainer::Set::default(),
            group_folds: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.spool.rows()
    }

    fn for_trainer(&self) -> pgboost_trainer::Set {
        pgboost_trainer::Set { path: self.spool.path(), ..self.described.clone() }
    }

    /// Describes the rows of a fold, or all others.
    fn part(&self, part: Part) -> pgboost_trainer::Set {
        let belongs = |fold: &u32| (*fold == part.fold) == part.inside;
        let of_groups = |numbers: &[u32]| {
            let numbers = numbers.iter().zip(&self.group_folds);
            numbers.filter(|(_, fold)| belongs(fold)).map(|(number, _)| *number).collect()
        };
        pgboost_trainer::Set {
            path: self.spool.path(),
            part: Some(part),
            groups: of_groups(&self.described.groups),
            weights: of_groups(&self.described.weights),
        }
    }
}

pub(crate) struct TrainingRows {
    pub(crate) train: Set,
    pub(crate) eval: Option<Set>,
    /// The distributions of the features in the rows for training, if requested.
    pub(crate) profile: Option<Baseline>,
    /// The folds in order, if rows are in folds.
    folds: Option<Vec<u32>>,
    skipped: u64,
    /// The values of a numeric target, if they are at most two.
    pub(crate) target_values: FewValues,
    /// A row has a weight above 0.
    pub(crate) has_weight: bool,
}

impl TrainingRows {
    /// Returns the numbers of rows trained on, kept for evaluation, and skipped.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [self.train.rows(), self.eval.as_ref().map_or(0, Set::rows), self.skipped]
    }

    /// Returns the number of rows that the trainer keeps in memory.
    pub(crate) fn in_training(&self) -> u64 {
        let [train, eval, _] = self.counts();
        let folds = self.folds.as_ref().map_or(1, Vec::len) as u64;
        train.saturating_add(eval).saturating_mul(folds)
    }

    /// Returns the folds for the trainer, by the word of a record that has their number, or else the only fold.
    pub(crate) fn for_trainer(&self, word: usize) -> Vec<Fold> {
        let Some(folds) = &self.folds else {
            let eval = self.eval.as_ref().map(Set::for_trainer);
            return vec![Fold { train: self.train.for_trainer(), eval }];
        };
        let part = |fold, inside| self.train.part(Part { word, fold, inside });
        folds
            .iter()
            .map(|fold| Fold { train: part(*fold, false), eval: Some(part(*fold, true)) })
            .collect()
    }
}

pub(crate) struct SourceReader<'a> {
    columns: &'a mut ChosenColumns,
    /// `None` before the first row, which determines the length of arrays.
    records: Option<Records<'a>>,
    /// The place of the weight in a record.
    weight_word: Option<usize>,
    dictionaries: Option<&'a mut Dictionaries>,
    groups: Groups,
    split: Holdout,
    folds: Option<Folds>,
    with_baseline: bool,
    allowed: Option<AllowedTargets>,
    rows: TrainingRows,
    /// The number of rows that were read, including those without a target.
    read: u64,
    /// The number of the current group, whether it is kept for evaluation, and its fold.
    group: u64,
    group_kept: bool,
    group_fold: u32,
    /// The weight of the current group, if groups have weights.
    group_weight: Option<f32>,
}

impl<'a> SourceReader<'a> {
    pub(crate) fn new(
        columns: &'a mut ChosenColumns,
        dictionaries: &'a mut Dictionaries,
        split: Holdout,
    ) -> SourceReader<'a> {
        SourceReader {
            columns,
            records: None,
            weight_word: None,
            dictionaries: Some(dictionaries),
            groups: Groups::default(),
            split,
            folds: None,
            with_baseline: false,
            allowed: None,
            rows: TrainingRows {
                train: Set::new(),
                eval: split.keeps_some().then(Set::new),
                profile: None,
                folds: None,
                skipped: 0,
                target_values: FewValues::default(),
                has_weight: false,
            },
            read: 0,
            group: 0,
            group_kept: false,
            group_fold: 0,
            group_weight: None,
        }
    }

    /// Sets whether to profile the features of the rows for training.
    pub(crate) fn with_baseline(self, with_baseline: bool) -> Self {
        SourceReader { with_baseline, ..self }
    }

    /// Sets the valid values of the target.
    pub(crate) fn with_allowed_targets(self, allowed: Option<AllowedTargets>) -> Self {
        SourceReader { allowed, ..self }
    }

    /// Sets the folds of the rows.
    pub(crate) fn with_folds(self, folds: Option<Folds>) -> Self {
        SourceReader { folds, ..self }
    }

    pub(crate) fn read(
        &mut self,
        query: &str,
        argument: &'static str,
        progress: &mut Progress,
    ) -> Result<()> {
        row_source::run(query, argument, |row| {
            self.read += 1;
            progress.rows(self.read);
            if self.read == 1000 {
                fault::at("training: rows read");
            }
            self.take(row, argument)
        })
    }

    fn take(&mut self, row: Row<'_>, argument: &'static str) -> Result<()> {
        let Some(target) = row.get(self.columns.target.position) else {
            self.rows.skipped += 1;
            return Ok(());
        };
        if let Some(dictionaries) = self.dictionaries.take() {
            self.columns.measure(row)?;
            let layout = record_file::layout(self.columns, self.folds.is_some());
            self.weight_word = layout.weight;
            self.records = Some(Records::new(dictionaries, layout, argument, self.allowed));
            self.rows.profile = self.with_baseline.then(|| Baseline::of(self.columns));
        }
        let begins = self.begins(row)?;
        let Some(records) = &mut self.records else { return Ok(()) };
        let record = records.read(self.columns, row, target, self.group_weight)?;
        let target = record.get(self.columns.width()).copied();
        let weight = self.weight_word.and_then(|place| record.get(place));
        self.rows.has_weight |= weight.is_none_or(|weight| *weight > 0.0);
        target.into_iter().for_each(|target| self.rows.target_values.add(target));
        if let Some(folds) = &mut self.folds {
            let class = target.map_or(0, |class| class as usize);
            let goes_on = (self.columns.group.is_some() && !begins).then_some(self.group_fold);
            let said = self.columns.fold.as_ref().map(|column| (column, row.get(column.position)));
            let fold = match goes_on {
                Some(fold) => folds.stays(fold, said)?,
                None => folds.next(class, said)?,
            };
            self.group_fold = fold;
            record.last_mut().into_iter().for_each(|word| *word = fold as f32);
        }
        let kept = match &self.columns.group {
            Some(_) => self.group_kept,
            None => self.split.keeps(self.read),
        };
        let set = match &mut self.rows.eval {
            Some(eval) if kept => eval,
            _ => {
                if let Some(profile) = &mut self.rows.profile {
                    profile.add(record)?;
                }
                &mut self.rows.train
            }
        };
        if begins {
            set.described.groups.push(0);
            set.group_folds.push(self.group_fold);
            set.described.weights.extend(self.group_weight.map(f32::to_bits));
        }
        if let Some(size) = set.described.groups.last_mut() {
            *size += 1;
        }
        set.spool.push(record)
    }

    /// Returns whether a row begins a group.
    fn begins(&mut self, row: Row<'_>) -> Result<bool> {
        let Some(group) = &self.columns.group else { return Ok(false) };
        let begins = self.groups.begins(&group.name, row.get(group.position))?;
        if begins {
            self.group += 1;
            self.group_kept = self.split.keeps(self.group);
            if self.columns.weight.is_some() {
                self.group_weight = Some(record_file::weight(self.columns, row)?);
            }
        }
        Ok(begins)
    }

    /// Writes the last rows, and returns them all.
    pub(crate) fn finish(mut self, argument: &'static str) -> Result<TrainingRows> {
        let weightless = self.columns.weight.as_ref().filter(|_| !self.rows.has_weight);
        let TrainingRows { train, eval, skipped, .. } = &mut self.rows;
        let hint = "Choose another fraction, or pass the rows for evaluation as eval_source.";
        let fail = |message| Err(Error::Arguments { message, hint });
        match (train.rows(), eval.as_ref().map(Set::rows)) {
            (0, None | Some(0)) => {
                return Err(SourceError::NoRows { argument, skipped: *skipped }.into());
            }
            (0, Some(_)) => return fail("eval_fraction leaves no rows to train on"),
            (_, Some(0)) => return fail("eval_fraction leaves no rows to evaluate on"),
            _ => (),
        }
        if let Some(weight) = weightless {
            return Err(Error::NoWeight { column: weight.name.clone() });
        }
        train.spool.finish()?;
        if let Some(eval) = eval {
            eval.spool.finish()?;
        }
        self.rows.folds = self.folds.as_ref().map(Folds::in_order).transpose()?;
        Ok(self.rows)
    }
}

/// The distinct values of a numeric target, up to two of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FewValues {
    values: [Option<f32>; 2],
    more: bool,
}

impl FewValues {
    #[inline]
    pub(crate) fn add(&mut self, value: f32) {
        let [first, second] = &mut self.values;
        if first.is_none_or(|known| known == value) {
            *first = Some(value);
        } else if second.is_none_or(|known| known == value) {
            *second = Some(value);
        } else {
            self.more = true;
        }
    }

    /// Returns the values if they are two whole numbers, the smaller first.
    pub(super) fn two_whole_numbers(self) -> Option<[f32; 2]> {
        match self.values {
            [Some(a), Some(b)] if !self.more && a.fract() == 0.0 && b.fract() == 0.0 => {
                Some([a.min(b), a.max(b)])
            }
            _ => None,
        }
    }
}

/// The distributions of a training's features, which become the version's baseline.
pub(crate) struct Baseline {
    collector: Collector,
    rows: u64,
    /// The number of each text, by feature and code.
    codes: Vec<Vec<u64>>,
    /// The place of each feature's column.
    columns: Vec<usize>,
}

impl Baseline {
    pub(crate) fn of(columns: &ChosenColumns) -> Baseline {
        let features = columns.feature_names().map(|(name, kind)| (name, kind.is_text()));
        let places = columns.features.iter().map(UsedColumn::width).enumerate();
        Baseline {
            collector: Collector::of(features),
            rows: 0,
            codes: vec![Vec::new(); columns.width()],
            columns: places.flat_map(|(place, width)| repeat_n(place, width)).collect(),
        }
    }

    /// Adds the features of a record.
    pub(crate) fn add(&mut self, record: &[f32]) -> std::result::Result<(), SourceError> {
        self.rows += 1;
        for (index, (codes, value)) in self.codes.iter_mut().zip(record).enumerate() {
            if !self.collector.is_categorical(index) {
                self.collector.number(index, *value)?;
            } else if !value.is_nan() {
                let code = *value as usize;
                if codes.len() <= code {
                    codes.resize(code + 1, 0);
                }
                codes.get_mut(code).into_iter().for_each(|count| *count += 1);
            }
        }
        Ok(())
    }

    /// Returns the profiles as pgboost's `set_baseline` takes them.
    pub(crate) fn json(
        mut self,
        dictionaries: &Dictionaries,
    ) -> std::result::Result<Value, SourceError> {
        for (index, (codes, column)) in self.codes.into_iter().zip(self.columns).enumerate() {
            let Some(Some(texts)) = dictionaries.features.get(column) else { continue };
            let count = |(text, code): (&str, u32)| {
                let count = codes.get(code as usize).copied().filter(|count| *count > 0)?;
                Some((text.to_owned(), count))
            };
            let texts: BTreeMap<String, u64> = texts.all().into_iter().filter_map(count).collect();
            self.collector.set_texts(index, self.rows, texts);
        }
        Ok(self.collector.profiles()?.iter().map(object).collect())
    }
}

fn object(profile: &FeatureProfile) -> Value {
    let mut object = json!({
        "feature": profile.feature, "rows": profile.rows, "missing": profile.missing,
    });
    let values = match &profile.values {
        ProfileValues::Numbers(points) => json!({
            "numbers": points.iter().map(|point| point.number).collect::<Vec<_>>(),
            "below": points.iter().map(|point| point.below).collect::<Vec<_>>(),
            "upto": points.iter().map(|point| point.upto).collect::<Vec<_>>(),
        }),
        ProfileValues::Categories(categories) => json!({
            "categories": categories.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "shares": categories.iter().map(|(_, share)| share).collect::<Vec<_>>(),
        }),
    };
    if let (Some(object), Value::Object(values)) = (object.as_object_mut(), values) {
        object.extend(values);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(values: &[f32]) -> Option<[f32; 2]> {
        let mut few = FewValues::default();
        values.iter().for_each(|value| few.add(*value));
        few.two_whole_numbers()
    }

    #[test]
    fn two_values_are_two_whole_numbers_and_no_more() {
        assert_eq!(two(&[1.0, 0.0, 1.0, 0.0]), Some([0.0, 1.0]));
        assert_eq!(two(&[-3.0, 7.0]), Some([-3.0, 7.0]));
        for other in [&[] as &[f32], &[1.0], &[1.0, 1.0], &[0.5, 1.0], &[0.0, 1.0, 2.0, 0.0]] {
            assert_eq!(two(other), None, "{other:?}");
        }
    }
}
