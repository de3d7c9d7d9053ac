//! A training, from the source's rows to the bytes of a model.

mod job;
mod process;
mod profile;
pub mod progress;
mod read;
mod rounds;
mod score;
mod split;
mod task;
mod trainer;

use pg_interface::source::{Source, SourceError};
use serde_json::{Map, Value};
use xgboost_ffi::Feature;

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::source::columns::{Columns, Roles};
use crate::source::dictionary::Dictionary;
use crate::source::records::Dictionaries;
use job::Training;
use progress::{Phase, Progress};
use read::Reader;
pub use score::Score;
use split::Split;
use task::Task;
use trainer::Trainer;

/// What the caller asks for.
pub struct Request {
    pub source: String,
    pub roles: Roles,
    pub parameters: Parameters,
    pub rounds: u32,
    /// The share of rows that is kept for evaluation.
    pub eval_fraction: Option<f64>,
    pub eval_source: Option<String>,
    /// Rounds without a better evaluation after which the training ends.
    pub early_stopping_rounds: Option<u32>,
    pub seed: i32,
    /// Rounds between two notices.
    pub notice_every: Option<u32>,
}

/// What came of it.
pub struct Outcome {
    pub bytes: Vec<u8>,
    pub labels: Option<Vec<String>>,
    /// The rounds that the model has.
    pub rounds: u32,
    pub scores: Vec<Score>,
    pub parameters: Map<String, Value>,
    /// What the features were, as pgboost keeps it.
    pub profile: Value,
    /// Rows that were trained on, kept for evaluation, and left out because their target is NULL.
    pub rows: [u64; 3],
}

pub fn train(request: &Request, progress: &mut Progress) -> Result<Outcome> {
    let (columns, query) = open(&request.source, &request.roles, "source")?;
    let task = Task::of(request, &columns)?;
    let mut trainer = Trainer::start()?;
    let mut dictionaries = Dictionaries::new(&columns, task.has_classes(&columns));
    let split = Split::new(request.eval_fraction, request.seed);
    progress.phase(Phase::Reading);
    let mut reader = Reader::new(&columns, &mut dictionaries, split).with_profile();
    reader.read(&query, "source", progress)?;
    let mut rows = reader.finish("source")?;
    let profile = rows.profile.take();
    let profile =
        profile.map(|profile| profile.json(&dictionaries)).transpose()?.unwrap_or_default();
    if let Some(text) = &request.eval_source {
        rows.eval = Some(read_eval(text, request, &columns, &mut dictionaries, progress)?);
    }
    let task = task.with_classes(&columns, &dictionaries)?;
    let (features, recode) = described(&columns, &dictionaries, &task);
    let training = Training { request, task: &task, columns: &columns };
    progress.phase(Phase::Building);
    trainer.build(training.job(&rows, features, recode)?)?;
    progress.phase(Phase::Training);
    let (rounds, scores) = rounds::run(&mut trainer, request, progress)?;
    Ok(Outcome {
        bytes: trainer.save(rounds)?,
        rounds,
        scores,
        parameters: training.parameters(),
        profile,
        rows: rows.counts(),
        labels: task.labels,
    })
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
    let (columns, query) = open(text, &roles, ARGUMENT)?;
    for (column, texts) in columns.features.iter().zip(&dictionaries.features) {
        if column.kind.is_text() != texts.is_some() {
            return Err(SourceError::ColumnType {
                column: column.name.clone(),
                type_name: column.kind.xgboost().to_owned(),
                role: "same feature in eval_source",
                hint: "Give it the type that it has in the source.",
            }
            .into());
        }
    }
    let classes = dictionaries.target.as_ref().map(Dictionary::len);
    let mut reader = Reader::new(&columns, dictionaries, Split::new(None, request.seed));
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
    let mut recode = Vec::new();
    let mut features = Vec::with_capacity(columns.features.len());
    for (position, (column, texts)) in
        columns.features.iter().zip(&dictionaries.features).enumerate()
    {
        let sorted = texts.as_ref().map(Dictionary::sorted);
        recode.extend(sorted.as_ref().map(|sorted| (position, sorted.codes.clone())));
        features.push(Feature {
            name: column.name.clone(),
            kind: column.kind.xgboost().to_owned(),
            categories: sorted.map(|sorted| sorted.names),
        });
    }
    recode.extend(task.classes.as_ref().map(|classes| (features.len(), classes.codes.clone())));
    (features, recode)
}
