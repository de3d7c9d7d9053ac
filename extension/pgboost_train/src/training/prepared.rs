//! The rows of a training, read and described: what all that is trained on them has in common.
//!
//! The features' distributions are stored with the version, as its baseline for `feature_drift`. Numbers are collected
//! as they are read; texts are counted by their codes, which the dictionaries have anyway.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use row_source::distribution::{Collector, FeatureProfile, Values};
use row_source::{Source, SourceError};
use serde_json::{Value, json};
use xgboost_ffi::Feature;

use super::folds::{Folds, Split};
use super::learning_task::Task;
use super::progress::{Phase, Progress};
use super::read::{self, Reader, Rows};
use super::start::Start;
use super::{Request, choices};
use crate::error::{Error, Result};
use crate::source::columns::{Columns, Kind, Roles, UsedColumn};
use crate::source::dictionary::Dictionary;
use crate::source::record_file::Dictionaries;

pub(crate) struct Prepared<'a> {
    pub(crate) start: Option<&'a Start>,
    pub(crate) columns: Columns,
    pub(crate) task: Task,
    pub(crate) features: Vec<Feature>,
    /// What becomes of the codes of texts once they are in order.
    pub(crate) recode: Vec<(usize, Vec<u32>)>,
    pub(crate) rows: Rows,
    /// What the features were, as pgboost keeps it.
    pub(crate) profile: Value,
}

/// Reads the source, once, with the baseline of the features if `with_baseline` is true.
pub(crate) fn read<'a>(
    request: &Request,
    start: Option<&'a Start>,
    with_baseline: bool,
    progress: &mut Progress,
) -> Result<Prepared<'a>> {
    let roles =
        start.map_or_else(|| Ok(request.roles.clone()), |start| start.roles(&request.roles))?;
    let (mut columns, query) = open(&request.source, &roles, "source")?;
    let task = Task::of(request, start, &columns)?;
    let mut dictionaries = match start {
        Some(start) => start.dictionaries(&columns)?,
        None => Dictionaries::new(&columns, task.has_classes(&columns)),
    };
    let split = Split::new(request.eval_fraction(), request.seed);
    let folds = request.folds().map(|choice| Folds::new(choice, request.seed));
    progress.phase(Phase::Reading);
    let mut reader = Reader::new(&mut columns, &mut dictionaries, split)
        .with_baseline(with_baseline)
        .with_folds(folds);
    reader.read(&query, "source", progress)?;
    let mut rows = reader.finish("source")?;
    let profile = rows.profile.take();
    let profile =
        profile.map(|profile| profile.json(&dictionaries)).transpose()?.unwrap_or_default();
    if let Some(text) = request.eval_source() {
        rows.eval = Some(read_eval(text, request, &columns, &mut dictionaries, progress)?);
    }
    let task = task.with_classes(&columns, &dictionaries)?;
    if start.is_none() {
        choices::notice(request, &columns, &task, rows.target_values)?;
    }
    let (features, recode) = described(&columns, &dictionaries, &task);
    Ok(Prepared { start, columns, task, features, recode, rows, profile })
}

/// The columns in use of a source, and the query that returns its rows.
fn open(text: &str, roles: &Roles, argument: &'static str) -> Result<(Columns, String)> {
    let source = Source::of(text)?;
    let columns = Columns::choose(&source.columns(argument)?, roles, argument)?;
    let group = columns.group.as_ref().map(|group| group.name.as_str());
    let query = source.query(&columns.names(), group);
    let columns = if source.is_relation() { columns.in_order() } else { columns };
    Ok((columns, query))
}

/// Reads the rows of `eval_source`; it must have the same columns.
fn read_eval(
    text: &str,
    request: &Request,
    like: &Columns,
    dictionaries: &mut Dictionaries,
    progress: &mut Progress,
) -> Result<read::Set> {
    const ARGUMENT: &str = "eval_source";
    // The same features in the same order, also where they are all columns of the source.
    let features = like.features.iter().map(|column| column.name.clone()).collect();
    let roles = Roles { features: Some(features), ..request.roles.clone() };
    let (mut columns, query) = open(text, &roles, ARGUMENT)?;
    for (column, like) in columns.features.iter_mut().zip(&like.features) {
        if column.kind.is_text() != like.kind.is_text()
            || column.elements.is_some() != like.elements.is_some()
        {
            return Err(SourceError::ColumnType {
                column: column.name.clone(),
                type_name: column.kind.xgboost().to_owned(),
                role: "same feature in eval_source",
                hint: "Give it the type that it has in the source.",
            }
            .into());
        }
        column.elements = like.elements;
    }
    let classes = dictionaries.target.as_ref().map(Dictionary::len);
    let mut reader = Reader::new(&mut columns, dictionaries, Split::new(None, request.seed));
    reader.read(&query, ARGUMENT, progress)?;
    let rows = reader.finish(ARGUMENT)?;
    if dictionaries.target.as_ref().map(Dictionary::len) != classes {
        let column = columns.target.name;
        return Err(Error::UnknownCategory { column, argument: ARGUMENT });
    }
    Ok(rows.train)
}

/// Describes the features, and says what becomes of the codes of texts once they are in order.
fn described(
    columns: &Columns,
    dictionaries: &Dictionaries,
    task: &Task,
) -> (Vec<Feature>, Vec<(usize, Vec<u32>)>) {
    let feature = |(name, kind): (String, Kind)| Feature {
        name,
        kind: kind.xgboost().to_owned(),
        categories: None,
    };
    let mut features: Vec<Feature> = columns.feature_names().map(feature).collect();
    let mut recode = Vec::new();
    let mut place = 0;
    for (column, texts) in columns.features.iter().zip(&dictionaries.features) {
        if let (Some(texts), Some(feature)) = (texts, features.get_mut(place)) {
            let sorted = texts.sorted();
            recode.push((place, sorted.codes));
            feature.categories = Some(sorted.names);
        }
        place += column.width();
    }
    recode.extend(task.classes.as_ref().map(|classes| (place, classes.codes.clone())));
    (features, recode)
}

pub(crate) struct Baseline {
    collector: Collector,
    rows: u64,
    /// By feature and code, how often a text was met.
    codes: Vec<Vec<u64>>,
    /// By feature, the place of its column.
    columns: Vec<usize>,
}

impl Baseline {
    pub(crate) fn of(columns: &Columns) -> Baseline {
        let features = columns.feature_names().map(|(name, kind)| (name, kind.is_text()));
        let places = columns.features.iter().map(UsedColumn::width).enumerate();
        Baseline {
            collector: Collector::of(features),
            rows: 0,
            codes: vec![Vec::new(); columns.width()],
            columns: places.flat_map(|(place, width)| repeat_n(place, width)).collect(),
        }
    }

    /// Takes in the features of a record.
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

    /// The profiles as pgboost's `set_baseline` takes them.
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
        Values::Numbers(points) => json!({
            "numbers": points.iter().map(|point| point.number).collect::<Vec<_>>(),
            "below": points.iter().map(|point| point.below).collect::<Vec<_>>(),
            "upto": points.iter().map(|point| point.upto).collect::<Vec<_>>(),
        }),
        Values::Categories(categories) => json!({
            "categories": categories.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "shares": categories.iter().map(|(_, share)| share).collect::<Vec<_>>(),
        }),
    };
    if let (Some(object), Value::Object(values)) = (object.as_object_mut(), values) {
        object.extend(values);
    }
    object
}
