//! What is to be learned, the objective and the classes if the target has such, and the trainer's job: the
//! rows, the features, the parameters.

use pgboost_trainer::{Job, Parameters};
use row_source::SourceError;
use serde_json::{Map, Value, json};
use xgboost_ffi::Feature;

use super::Request;
use super::folds::FoldChoice;
use super::prepared::Prepared;
use super::start::Start;
use crate::error::{Error, Result};
use crate::guc;
use crate::params::objectives::{
    BINARY, MULTICLASS, Objective, RANKING, REGRESSION, SURVIVAL, Target,
};
use crate::source::columns::{Columns, Kind};
use crate::source::dictionary::Sorted;
use crate::source::record_file::{self, Dictionaries};

/// The objective, as far as it is known.
pub(crate) struct ObjectiveChoice {
    given: Option<&'static Objective>,
    num_class: Option<usize>,
}

pub(crate) struct Task {
    pub(crate) objective: &'static Objective,
    /// The classes in order, if there are such.
    pub(crate) classes: Option<Sorted>,
    pub(crate) labels: Option<Vec<String>>,
}

impl Task {
    /// What the request says before a row is read. Where it chooses no objective, groups mean
    /// ranking and bounds mean survival; a target of text or booleans is classified. A training that goes
    /// on from a model has that model's.
    pub(crate) fn of(
        request: &Request,
        start: Option<&Start>,
        columns: &Columns,
    ) -> Result<ObjectiveChoice> {
        let fallback = if columns.group.is_some() {
            Some(RANKING)
        } else if columns.label_upper_bound.is_some() {
            Some(SURVIVAL)
        } else if is_classified(columns.target.kind) {
            None
        } else {
            Some(REGRESSION)
        };
        let given =
            start.map(|start| start.objective).or(request.parameters.objective).or(fallback);
        if let Some(objective) = given {
            check(objective, columns)?;
        }
        let num_class = request.parameters.get("num_class").and_then(|count| count.parse().ok());
        let choice = ObjectiveChoice { given, num_class };
        if let Some(FoldChoice::Dealt { stratified: true, .. }) = request.folds()
            && !choice.has_classes(columns)
        {
            return Err(Error::Arguments {
                message: "folds are stratified by classes, and the target has none",
                hint: "Leave out the argument stratified.",
            });
        }
        Ok(choice)
    }

    pub(crate) fn class_count(&self) -> usize {
        self.classes.as_ref().map_or(0, |classes| classes.names.len())
    }
}

impl ObjectiveChoice {
    pub(crate) fn has_classes(&self, columns: &Columns) -> bool {
        match self.given.map(|objective| objective.target) {
            Some(target) => matches!(target, Target::TwoClasses | Target::Classes),
            None => is_classified(columns.target.kind),
        }
    }

    /// What is known once all rows are read: the classes, and with their number the objective.
    pub(crate) fn with_classes(
        &self,
        columns: &Columns,
        dictionaries: &Dictionaries,
    ) -> Result<Task> {
        let Some(classes) = &dictionaries.target else {
            return Ok(Task {
                objective: self.given.unwrap_or(REGRESSION),
                classes: None,
                labels: None,
            });
        };
        let count = classes.len();
        let objective = self.given.unwrap_or(if count > 2 { MULTICLASS } else { BINARY });
        let fail = |allowed| {
            Err(Error::Classes { objective: objective.name.to_owned(), classes: count, allowed })
        };
        if objective.target == Target::TwoClasses && count != 2 {
            return fail("two distinct values");
        }
        if count < 2 {
            return fail("two or more distinct values");
        }
        if objective.target == Target::Classes && self.num_class.is_some_and(|n| n != count) {
            return fail("num_class distinct values");
        }
        let sorted = if columns.target.kind.is_text() {
            classes.sorted()
        } else {
            classes.sorted_as_numbers()
        };
        Ok(Task { objective, labels: Some(sorted.names.clone()), classes: Some(sorted) })
    }
}

fn is_classified(kind: Kind) -> bool {
    kind.is_text() || kind.is_bool()
}

fn check(objective: &Objective, columns: &Columns) -> Result<()> {
    let fail = |message, hint| Err(Error::Arguments { message, hint });
    match (objective.target, columns.group.is_some(), columns.label_upper_bound.is_some()) {
        (Target::Groups, false, _) => {
            fail("a ranking objective needs groups", "Name the column of the group with qid.")
        }
        (Target::Groups, true, false) | (Target::Bounds, false, _) => numbers_only(columns),
        (_, true, _) => {
            fail("qid is for ranking objectives", "Choose one of them, such as rank:ndcg.")
        }
        (_, _, true) => fail("label_upper_bound is for survival:aft", "Choose that objective."),
        (Target::Numbers, ..) => numbers_only(columns),
        (Target::TwoClasses | Target::Classes, ..) => Ok(()),
    }
}

fn numbers_only(columns: &Columns) -> Result<()> {
    if columns.target.kind.is_text() {
        return Err(SourceError::ColumnType {
            column: columns.target.name.clone(),
            type_name: "text".to_owned(),
            role: "target of this objective",
            hint: "Choose an objective for classes, or cast the target to a number.",
        }
        .into());
    }
    Ok(())
}

/// libxgboost has a prediction and two gradients for each output of each row.
const PREDICTION_BYTES: u64 = 12;

impl Prepared<'_> {
    /// The whole job, for a request whose rows these are.
    pub(crate) fn job(&self, request: &Request) -> Result<Job> {
        self.check_predictions(request)?;
        let folds = request.folds().is_some();
        let layout = record_file::layout(&self.columns, folds);
        Ok(Job {
            folds: self.rows.for_trainer(layout.record.saturating_sub(1)),
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

    fn outputs(&self, request: &Request) -> u64 {
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

    /// The parameters as libxgboost takes them. The objective comes first, because others are its.
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

    /// The names of the features, if the trainer leaves them out of the model's file.
    pub(crate) fn names_beside(&self) -> Option<Vec<String>> {
        let plain = self.features.iter().all(Feature::is_named_plainly);
        (!plain).then(|| self.features.iter().map(|feature| feature.name.clone()).collect())
    }

    /// What the registry keeps of the parameters.
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
