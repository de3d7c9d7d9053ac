//! A training, from the source's rows to the bytes of a model.

pub mod progress;
mod read;
mod rounds;
mod score;
mod split;
mod task;

use serde_json::{Map, Value, json};

use crate::data::columns::{Columns, Roles};
use crate::data::query::Source;
use crate::data::records::{self, Dictionaries};
use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::parameters::objective::Target;
use crate::settings;
use crate::xgboost::booster::Booster;
use crate::xgboost::interface::CategoryNames;
use crate::xgboost::matrix::{Feature, Making, Matrix};
use crate::xgboost::{self, Library};
use progress::{Phase, Progress};
use read::{Reader, Rows};
use rounds::Plan;
pub use score::Score;
use split::Split;
use task::Task;

/// What the caller asks for.
pub struct Request {
    /// The source's text.
    pub source: String,
    /// Which columns are what.
    pub roles: Roles,
    /// The training parameters.
    pub parameters: Parameters,
    /// Number of rounds.
    pub rounds: u32,
    /// The share of rows that is kept for evaluation.
    pub eval_fraction: Option<f64>,
    /// Where rows for evaluation come from.
    pub eval_source: Option<String>,
    /// Rounds without a better evaluation after which the training ends.
    pub early_stopping_rounds: Option<u32>,
    /// The seed of everything that is random.
    pub seed: i32,
    /// Rounds between two notices.
    pub notice_every: Option<u32>,
}

/// What came of it.
pub struct Outcome {
    /// The bytes of the model file.
    pub bytes: Vec<u8>,
    /// The labels of the classes.
    pub labels: Option<Vec<String>>,
    /// The rounds that the model has.
    pub rounds: u32,
    /// How good it is.
    pub scores: Vec<Score>,
    /// What it was trained with.
    pub parameters: Map<String, Value>,
    /// Rows that were trained on, kept for evaluation, and left out because their target is NULL.
    pub rows: [u64; 3],
}

/// Trains.
///
/// # Errors
/// Everything that is wrong with the request, the source or its rows.
pub fn train(request: &Request, progress: &mut Progress) -> Result<Outcome> {
    let library = xgboost::library()?;
    let source = Source::of(&request.source)?;
    let mut columns = Columns::choose(&source.columns("source")?, &request.roles, "source")?;
    let task = Task::of(request, &columns)?;
    let group = columns.group.as_ref().map(|group| group.name.clone());
    let query = source.query(&columns.names(), group.as_deref());
    if matches!(source, Source::Relation(_)) {
        columns = columns.in_order();
    }
    let mut dictionaries = Dictionaries::new(&columns, task.has_classes(&columns));
    let split = Split::new(request.eval_fraction, request.seed);
    progress.phase(Phase::Reading);
    let mut reader = Reader::new(&columns, &mut dictionaries, split);
    reader.read(&query, "source", progress)?;
    let mut rows = reader.finish("source")?;
    if let Some(text) = &request.eval_source {
        rows.eval = Some(read_eval(text, request, &mut dictionaries, progress)?);
    }
    let task = task.with_classes(&columns, &dictionaries)?;
    let features = recode(&columns, &dictionaries, &task, &mut rows)?;
    let trainer = Trainer { library, request, task: &task, features: &features };
    let (bytes, rounds, scores) = trainer.run(&columns, &mut rows, progress)?;
    Ok(Outcome {
        bytes,
        rounds,
        scores,
        parameters: trainer.parameters(),
        rows: rows.counts(),
        labels: task.labels,
    })
}

/// Reads the rows of `eval_source`; it must have the same columns.
fn read_eval(
    text: &str,
    request: &Request,
    dictionaries: &mut Dictionaries,
    progress: &mut Progress,
) -> Result<read::Set> {
    const ARGUMENT: &str = "eval_source";
    let source = Source::of(text)?;
    let mut columns = Columns::choose(&source.columns(ARGUMENT)?, &request.roles, ARGUMENT)?;
    let group = columns.group.as_ref().map(|group| group.name.clone());
    let query = source.query(&columns.names(), group.as_deref());
    if matches!(source, Source::Relation(_)) {
        columns = columns.in_order();
    }
    for (column, texts) in columns.features.iter().zip(&dictionaries.features) {
        if column.kind.is_text() != texts.is_some() {
            return Err(Error::ColumnType {
                column: column.name.clone(),
                type_name: column.kind.xgboost().to_owned(),
                role: "same feature in eval_source",
                hint: "Give it the type that it has in the source.",
            });
        }
    }
    let classes = dictionaries.target.as_ref().map(crate::data::dictionary::Dictionary::len);
    let mut reader = Reader::new(&columns, dictionaries, Split::new(None, request.seed));
    reader.read(&query, ARGUMENT, progress)?;
    let rows = reader.finish(ARGUMENT)?;
    if dictionaries.target.as_ref().map(crate::data::dictionary::Dictionary::len) != classes {
        let column = columns.target.name;
        return Err(Error::UnknownCategory { column, argument: ARGUMENT });
    }
    Ok(rows.train)
}

/// Puts categories and classes in order, and describes the features.
fn recode(
    columns: &Columns,
    dictionaries: &Dictionaries,
    task: &Task,
    rows: &mut Rows,
) -> Result<Vec<Feature>> {
    let mut features = Vec::with_capacity(columns.features.len());
    for (at, (column, texts)) in columns.features.iter().zip(&dictionaries.features).enumerate() {
        let mut categories = None;
        if let Some(texts) = texts {
            let sorted = texts.sorted();
            rows.recode(at, &sorted);
            let names = sorted.names.iter().map(String::as_str);
            categories = Some(CategoryNames::new(names).ok_or(Error::OutOfMemory)?);
        }
        let kind = column.kind.xgboost();
        features.push(Feature { name: column.name.clone(), kind, categories });
    }
    if let Some(classes) = &task.classes {
        rows.recode(columns.features.len(), classes);
    }
    Ok(features)
}

/// Everything that the rounds need.
struct Trainer<'a> {
    library: &'static Library,
    request: &'a Request,
    task: &'a Task,
    features: &'a [Feature],
}

impl Trainer<'_> {
    fn run(
        &self,
        columns: &Columns,
        rows: &mut Rows,
        progress: &mut Progress,
    ) -> Result<(Vec<u8>, u32, Vec<Score>)> {
        progress.phase(Phase::Building);
        self.library.limit_threads(self.threads());
        let making = Making {
            layout: records::layout(columns),
            features: self.features,
            max_bin: self.request.parameters.max_bin(),
            threads: self.threads(),
        };
        let train = rows.train.matrix(self.library, making, None)?;
        let eval = rows.eval.as_mut().map(|eval| eval.matrix(self.library, making, Some(&train)));
        let eval = eval.transpose()?;
        let matrices: Vec<&Matrix> = [Some(&train), eval.as_ref()].into_iter().flatten().collect();
        let booster = Booster::new(self.library, &matrices)?;
        for (name, value) in self.settings()? {
            booster.set(name, &value)?;
        }
        progress.phase(Phase::Training);
        let plan = Plan {
            rounds: self.request.rounds,
            patience: self.request.early_stopping_rounds,
            notice_every: self.request.notice_every,
        };
        let (rounds, scores) = rounds::run(&booster, &train, eval.as_ref(), plan, progress)?;
        let kept = (rounds < plan.rounds).then(|| booster.first_rounds(rounds)).transpose()?;
        let kept = kept.as_ref().unwrap_or(&booster);
        kept.name_features(self.features)?;
        Ok((kept.save()?, rounds, scores))
    }

    fn threads(&self) -> usize {
        self.request.parameters.threads(settings::max_train_threads())
    }

    /// The parameters as libxgboost takes them. The objective comes first, because others are its.
    fn settings(&self) -> Result<Vec<(&'static str, String)>> {
        let names: Vec<&str> = self.features.iter().map(|feature| feature.name.as_str()).collect();
        let mut all = vec![
            ("objective", self.task.objective.name.to_owned()),
            ("tree_method", "hist".to_owned()),
            ("nthread", self.threads().to_string()),
            ("seed", self.request.seed.to_string()),
        ];
        if self.task.objective.target == Target::Classes {
            all.push(("num_class", self.task.class_count().to_string()));
        }
        all.extend(self.request.parameters.settings(&names)?);
        Ok(all)
    }

    /// What the registry keeps of the parameters.
    fn parameters(&self) -> Map<String, Value> {
        let mut all = self.request.parameters.given();
        all.insert("objective".to_owned(), json!(self.task.objective.name));
        all.insert("rounds".to_owned(), json!(self.request.rounds));
        all.insert("seed".to_owned(), json!(self.request.seed));
        all.insert("target".to_owned(), json!(self.request.roles.target));
        let optional = [
            ("weight", self.request.roles.weight.as_ref().map(|name| json!(name))),
            ("group_by", self.request.roles.group.as_ref().map(|name| json!(name))),
            ("upper_bound", self.request.roles.upper_bound.as_ref().map(|name| json!(name))),
            ("eval_fraction", self.request.eval_fraction.map(|share| json!(share))),
            ("early_stopping_rounds", self.request.early_stopping_rounds.map(|n| json!(n))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                all.insert(name.to_owned(), value);
            }
        }
        all
    }
}
