//! The rows of a training, read and described: what all that is trained on them has in common.

use row_source::{Source, SourceError};
use serde_json::Value;
use xgboost_ffi::Feature;

use super::choices;
use super::folds::Folds;
use super::progress::{Phase, Progress};
use super::read::{self, Reader, Rows};
use super::request::Request;
use super::split::Split;
use super::start::Start;
use super::task::Task;
use crate::error::{Error, Result};
use crate::source::columns::{Columns, Roles};
use crate::source::dictionary::Dictionary;
use crate::source::kind::Kind;
use crate::source::records::Dictionaries;

pub struct Prepared<'a> {
    pub start: Option<&'a Start>,
    pub columns: Columns,
    pub task: Task,
    pub features: Vec<Feature>,
    /// What becomes of the codes of texts once they are in order.
    pub recode: Vec<(usize, Vec<u32>)>,
    pub rows: Rows,
    /// What the features were, as pgboost keeps it.
    pub profile: Value,
}

/// Reads the source, once, with a profile of the features if that is asked for.
pub fn read<'a>(
    request: &Request,
    start: Option<&'a Start>,
    profiled: bool,
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
        .with_profile(profiled)
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
