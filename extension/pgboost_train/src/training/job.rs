//! What the trainer is told: the rows, the features, the parameters.

use pgboost_trainer::{Job, Parameters};
use serde_json::{Map, Value, json};
use xgboost_ffi::Feature;

use super::prepared::Prepared;
use super::request::Request;
use crate::error::{Error, Result};
use crate::guc;
use crate::params::objective::Target;
use crate::source::records;

/// libxgboost has a prediction and two gradients for each output of each row.
const PREDICTION_BYTES: u64 = 12;

impl Prepared<'_> {
    /// The whole job, for a request whose rows these are.
    pub fn job(&self, request: &Request) -> Result<Job> {
        self.check_predictions(request)?;
        let folds = request.folds().is_some();
        let layout = records::layout(&self.columns, folds);
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
    pub fn check(&self, request: &Request) -> Result<()> {
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
    pub fn settings(&self, request: &Request) -> Result<Parameters> {
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
    pub fn names_beside(&self) -> Option<Vec<String>> {
        let plain = self.features.iter().all(Feature::is_named_plainly);
        (!plain).then(|| self.features.iter().map(|feature| feature.name.clone()).collect())
    }

    /// What the registry keeps of the parameters.
    pub fn parameters(&self, request: &Request) -> Map<String, Value> {
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
