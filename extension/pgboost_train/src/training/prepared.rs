//! The rows of a training, read and described, which all folds and trials share, and the trainer's job for them:
//! the rows, the features, the parameters.

use std::collections::BTreeSet;

use pg_interface::report;
use pgboost_trainer::{Feature, Job, Parameters};
use pgrx::Spi;
use pgrx::pg_sys::Oid;
use row_source::{Column, Source, SourceError};
use serde_json::{Map, Value, json};

use super::Request;
use super::folds::{Folds, Holdout};
use super::learning_task::{self, Task};
use super::progress::{Phase, Progress};
use super::read::{self, SourceReader, TrainingRows};
use super::start::Start;
use crate::error::{Error, Result};
use crate::guc;
use crate::params::objectives::Target;
use crate::registry::Registry;
use crate::source::columns::{ChosenColumns, Kind, Roles};
use crate::source::dictionary::Dictionary;
use crate::source::record_file::{self, AllowedTargets, Dictionaries};

pub(crate) struct Prepared<'a> {
    pub(crate) start: Option<&'a Start>,
    pub(crate) columns: ChosenColumns,
    pub(crate) task: Task,
    pub(crate) features: Vec<Feature>,
    /// For each word with codes of texts, the new codes, in the order of the texts.
    pub(crate) recode: Vec<(usize, Vec<u32>)>,
    /// The number of words of a record in the file.
    record: usize,
    /// The words to leave out, in ascending order: the texts that are all NULL.
    left_out: Vec<usize>,
    pub(crate) rows: TrainingRows,
    /// Profiles of the features, in pgboost's form.
    pub(crate) profile: Value,
}

/// Reads the source once, and profiles the features if `with_baseline` is true.
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
    let eval = request.eval_source().map(|text| open_eval(text, request, &columns)).transpose()?;
    let split = Holdout::new(request.eval_fraction(), request.seed);
    let folds = request.folds().map(|choice| Folds::new(choice, request.seed));
    progress.phase(Phase::Reading);
    let allowed = task.allowed_targets(request);
    let mut reader = SourceReader::new(&mut columns, &mut dictionaries, split)
        .with_allowed_targets(allowed)
        .with_baseline(with_baseline)
        .with_folds(folds);
    reader.read(&query, "source", progress)?;
    let mut rows = reader.finish("source")?;
    let profile = rows.profile.take();
    let mut profile =
        profile.map(|profile| profile.json(&dictionaries)).transpose()?.unwrap_or_default();
    if let Some(eval) = eval {
        rows.eval = Some(read_eval(eval, request, &columns, &mut dictionaries, allowed, progress)?);
    }
    let task = task.with_classes(&columns, &dictionaries)?;
    request.parameters.check_needs(task.objective, start.is_some())?;
    let record = record_file::layout(&columns, request.folds().is_some()).record;
    let (mut features, recode) = described(&columns, &dictionaries, &task);
    let left_out = if start.is_some() {
        Vec::new()
    } else {
        learning_task::notice_of_unique_texts(&columns, &dictionaries);
        let words = leave_out(&mut columns, &dictionaries)?;
        remove(&mut features, &words);
        retain_profiles(&mut profile, &features);
        learning_task::notice(request, &columns, &task, rows.target_values)?;
        words
    };
    Ok(Prepared { start, columns, task, features, recode, record, left_out, rows, profile })
}

/// Leaves the texts that are all NULL out of the features: libxgboost does not train on an empty set of
/// categories. Returns their places in a record.
fn leave_out(columns: &mut ChosenColumns, dictionaries: &Dictionaries) -> Result<Vec<usize>> {
    let is_empty = |texts: &Option<Dictionary>| texts.as_ref().is_some_and(|t| t.len() == 0);
    let empty: Vec<bool> = dictionaries.features.iter().map(is_empty).collect();
    let (mut words, mut names, mut place) = (Vec::new(), Vec::new(), 0);
    for (column, empty) in columns.features.iter().zip(&empty) {
        if *empty {
            words.push(place);
            names.push(column.name.clone());
        }
        place += column.width();
    }
    let Some(first) = names.first() else { return Ok(words) };
    if names.len() == columns.features.len() {
        return Err(Error::NoValues { column: first.clone() });
    }
    let reason = if names.len() > 1 { "they are" } else { "it is" };
    report::notice(&said_left_out("text column", &names, &format!("{reason} null in every row")));
    let mut empty = empty.into_iter();
    columns.features.retain(|_| empty.next() != Some(true));
    Ok(words)
}

/// Says that columns are left out of the features.
fn said_left_out(kind: &str, names: &[String], reason: &str) -> String {
    let listed = learning_task::listed(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (plural, are) = if names.len() > 1 { ("s", "are") } else { ("", "is") };
    format!("{kind}{plural} {listed} {are} left out of the features because {reason}")
}

/// Removes the values at these places, which ascend.
fn remove<T>(values: &mut Vec<T>, places: &[usize]) {
    let mut place = 0..;
    values.retain(|_| !place.next().is_some_and(|place| places.contains(&place)));
}

/// Keeps the profiles of these features.
fn retain_profiles(profiles: &mut Value, features: &[Feature]) {
    if let (Some(profiles), true) = (profiles.as_array_mut(), !features.is_empty()) {
        let names: BTreeSet<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
        let name =
            |profile: &Value| profile.get("feature").and_then(Value::as_str).map(str::to_owned);
        profiles.retain(|profile| name(profile).is_none_or(|name| names.contains(name.as_str())));
    }
}

/// Returns the used columns of a source, and the query that returns its rows.
fn open(text: &str, roles: &Roles, argument: &'static str) -> Result<(ChosenColumns, String)> {
    let source = Source::of(text)?;
    let there = source.columns(argument)?;
    let left_out = match roles.features {
        Some(_) => Vec::new(),
        None => maintained_columns(&source, &there, roles, argument)?,
    };
    let columns = ChosenColumns::choose(&there, roles, &left_out, argument)?;
    let group = columns.group.as_ref().map(|group| group.name.as_str());
    let query = source.query(&columns.names(), group);
    let columns = if source.is_relation() { columns.in_order() } else { columns };
    Ok((columns, query))
}

/// Returns the columns that `maintain_scores` keeps, and reports them: a model that learned from its own scores
/// could not make them.
fn maintained_columns(
    source: &Source,
    there: &[Column],
    roles: &Roles,
    argument: &'static str,
) -> Result<Vec<String>> {
    let (registry, others) = (Registry::find()?, roles.others());
    let mut names = Vec::new();
    for (table, columns) in source.origins(there, argument)? {
        let maintained = registry.maintained_columns(Oid::from(table));
        let is_maintained =
            |number: i32| maintained.iter().any(|known| i32::from(*known) == number);
        let found = columns.into_iter().filter(|(number, _)| is_maintained(*number));
        names.extend(found.map(|(_, name)| name).filter(|name| !others.contains(name.as_str())));
    }
    if !names.is_empty() {
        let reason = if names.len() > 1 {
            "maintain_scores writes them"
        } else {
            "maintain_scores writes it"
        };
        report::notice_with(
            &said_left_out("column", &names, reason),
            None,
            Some("Name the features with the argument features to learn from scores too."),
        );
    }
    Ok(names)
}

const EVAL_SOURCE: &str = "eval_source";

/// Returns the used columns of `eval_source`, which must be the same, and the query that returns its rows.
/// Raises PostgreSQL's error if the user may not read them.
fn open_eval(
    text: &str,
    request: &Request,
    like: &ChosenColumns,
) -> Result<(ChosenColumns, String)> {
    // The features are named, so that they are the same in the same order even if the source's are all its columns.
    let features = like.features.iter().map(|column| column.name.clone()).collect();
    let roles = Roles { features: Some(features), order: Vec::new(), ..request.roles.clone() };
    let (columns, query) = open(text, &roles, EVAL_SOURCE)?;
    for (column, like) in columns.features.iter().zip(&like.features) {
        if column.kind.is_text() != like.kind.is_text()
            || column.elements.is_some() != like.elements.is_some()
        {
            return Err(SourceError::ColumnType {
                column: column.name.clone(),
                type_name: column.kind.xgboost().to_owned(),
                role: "the same feature in eval_source",
                hint: "Give it the type that it has in the source.",
            }
            .into());
        }
    }
    // Plans the query and checks the privileges, without reading a row.
    let planned = Spi::run(&format!("EXPLAIN VERBOSE {query}"));
    planned.map_err(|_| Error::Registry { what: "plan" })?;
    Ok((columns, query))
}

/// Reads the rows of `eval_source`, once the length of arrays is known.
fn read_eval(
    (mut columns, query): (ChosenColumns, String),
    request: &Request,
    like: &ChosenColumns,
    dictionaries: &mut Dictionaries,
    allowed: Option<AllowedTargets>,
    progress: &mut Progress,
) -> Result<read::Set> {
    for (column, like) in columns.features.iter_mut().zip(&like.features) {
        column.elements = like.elements;
    }
    let classes = dictionaries.target.as_ref().map(Dictionary::len);
    let mut reader =
        SourceReader::new(&mut columns, dictionaries, Holdout::new(None, request.seed))
            .with_allowed_targets(allowed);
    reader.read(&query, EVAL_SOURCE, progress)?;
    let rows = reader.finish(EVAL_SOURCE)?;
    if dictionaries.target.as_ref().map(Dictionary::len) != classes {
        let column = columns.target.name;
        return Err(Error::UnknownCategory { column, argument: EVAL_SOURCE });
    }
    Ok(rows.train)
}

/// Describes the features, and returns the new codes of texts, in the order of the texts.
fn described(
    columns: &ChosenColumns,
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

/// libxgboost has a prediction and two gradients for each output of each row.
const PREDICTION_BYTES: u64 = 12;

impl Prepared<'_> {
    /// Returns the trainer's job for a request on these rows.
    pub(crate) fn job(&self, request: &Request) -> Result<Job> {
        self.check_predictions(request)?;
        let folds = request.folds().is_some();
        let layout = record_file::layout(&self.columns, folds);
        Ok(Job {
            folds: self.rows.for_trainer(self.record.saturating_sub(1)),
            record: self.record,
            left_out: self.left_out.clone(),
            start: self.start.map(|start| start.for_trainer()),
            layout,
            features: self.features.clone(),
            recode: self.recode.clone(),
            parameters: self.settings(request)?,
            max_bin: request.parameters.max_bin(),
            threads: threads(request),
            rounds: request.rounds,
        })
    }

    /// Fails for a request that cannot be trained on these rows.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        request.parameters.check_needs(self.task.objective, self.start.is_some())?;
        self.settings(request)?;
        self.check_predictions(request)
    }

    fn check_predictions(&self, request: &Request) -> Result<()> {
        let (rows, outputs) = (self.rows.in_training(), self.outputs(request));
        let bytes = rows.saturating_mul(outputs).saturating_mul(PREDICTION_BYTES);
        match guc::max_prediction_bytes() {
            Some(max) if bytes > max => {
                Err(Error::TooManyPredictions { rows, outputs, bytes, max_kb: max >> 10 })
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of the model's outputs; two classes have one.
    pub(crate) fn outputs(&self, request: &Request) -> u64 {
        if let Some(start) = self.start {
            return start.outputs();
        }
        let values = |name| request.parameters.count(name).unwrap_or(1);
        let outputs = match (self.task.objective.target, self.task.objective.name) {
            (Target::Classes, _) => self.task.class_count(),
            (_, "reg:quantileerror") => values("quantile_alpha"),
            (_, "reg:expectileerror") => values("expectile_alpha"),
            _ => 1,
        };
        outputs as u64
    }

    /// Returns the parameters as libxgboost takes them. The objective comes first, because others belong to it.
    pub(crate) fn settings(&self, request: &Request) -> Result<Parameters> {
        let names: Vec<&str> = self.features.iter().map(|feature| feature.name.as_str()).collect();
        let mut all = vec![
            ("objective", self.task.objective.name.to_owned()),
            ("tree_method", "hist".to_owned()),
            ("nthread", threads(request).to_string()),
            ("seed", request.seed.to_string()),
        ];
        if self.task.objective.target == Target::Classes {
            all.push(("num_class", self.task.class_count().to_string()));
        }
        all.extend(request.parameters.settings(&names)?);
        Ok(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the names of the features, if the trainer leaves them out of the model's file.
    pub(crate) fn names_beside(&self) -> Option<Vec<String>> {
        let plain = self.features.iter().all(Feature::is_named_plainly);
        (!plain).then(|| self.features.iter().map(|feature| feature.name.clone()).collect())
    }

    /// Returns the parameters that are stored with the version.
    pub(crate) fn parameters(&self, request: &Request) -> Map<String, Value> {
        let roles = &request.roles;
        let mut all = request.parameters.given();
        let arguments = [
            ("objective", json!(self.task.objective.name)),
            ("rounds", json!(request.rounds)),
            ("seed", json!(request.seed)),
            ("target", json!(roles.target)),
            ("weight", json!(roles.weight)),
            ("qid", json!(roles.group)),
            ("label_upper_bound", json!(roles.label_upper_bound)),
            ("eval_fraction", json!(request.eval_fraction())),
            ("early_stopping_rounds", json!(request.early_stopping_rounds)),
            ("continue_from", json!(self.start.map(|start| start.reference.as_str()))),
        ];
        let given = arguments.into_iter().filter(|(_, value)| !value.is_null());
        all.extend(given.map(|(name, value)| (name.to_owned(), value)));
        all
    }
}

fn threads(request: &Request) -> usize {
    request.parameters.threads(guc::max_threads())
}
