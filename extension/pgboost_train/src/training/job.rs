//! What the trainer is told: the rows, the features, the parameters.

use pgboost_trainer::Job;
use serde_json::{Map, Value, json};
use xgboost_ffi::Feature;

use super::Request;
use super::read::Rows;
use super::task::Task;
use crate::error::{Error, Result};
use crate::guc;
use crate::params::objective::Target;
use crate::source::columns::Columns;
use crate::source::records;

/// What is known of a training once its rows are read.
pub struct Training<'a> {
    pub request: &'a Request,
    pub task: &'a Task,
    pub columns: &'a Columns,
}

impl Training<'_> {
    pub fn job(
        &self,
        rows: &Rows,
        features: Vec<Feature>,
        recode: Vec<(usize, Vec<u32>)>,
    ) -> Result<Job> {
        self.check_predictions(rows)?;
        let parameters = self.settings(&features)?;
        let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value));
        Ok(Job {
            train: rows.train.for_trainer(),
            eval: rows.eval.as_ref().map(|eval| eval.for_trainer()),
            layout: records::layout(self.columns),
            features,
            recode,
            parameters: parameters.collect(),
            max_bin: self.request.parameters.max_bin(),
            threads: self.threads(),
            rounds: self.request.rounds,
        })
    }

    /// libxgboost holds a prediction and two gradients for each output of each row.
    fn check_predictions(&self, rows: &Rows) -> Result<()> {
        let [train, eval, _] = rows.counts();
        let (rows, outputs) = (train.saturating_add(eval), self.outputs());
        match guc::max_predictions() {
            Some(max) if rows.saturating_mul(outputs) > max => {
                Err(Error::TooManyPredictions { rows, outputs, max })
            }
            _ => Ok(()),
        }
    }

    fn outputs(&self) -> u64 {
        let values = |name| self.request.parameters.count(name);
        let outputs = match (self.task.objective.target, self.task.objective.name) {
            (Target::Classes, _) => self.task.class_count(),
            (_, "reg:quantileerror") => values("quantile_alpha"),
            (_, "reg:expectileerror") => values("expectile_alpha"),
            _ => 1,
        };
        outputs as u64
    }

    fn threads(&self) -> usize {
        self.request.parameters.threads(guc::max_threads())
    }

    /// The parameters as libxgboost takes them. The objective comes first, because others are its.
    fn settings(&self, features: &[Feature]) -> Result<Vec<(&'static str, String)>> {
        let names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
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
    pub fn parameters(&self) -> Map<String, Value> {
        let (request, roles) = (self.request, &self.request.roles);
        let mut all = request.parameters.given();
        let arguments = [
            ("objective", json!(self.task.objective.name)),
            ("rounds", json!(request.rounds)),
            ("seed", json!(request.seed)),
            ("target", json!(roles.target)),
            ("weight", json!(roles.weight)),
            ("group_by", json!(roles.group)),
            ("upper_bound", json!(roles.upper_bound)),
            ("eval_fraction", json!(request.eval_fraction)),
            ("early_stopping_rounds", json!(request.early_stopping_rounds)),
        ];
        let given = arguments.into_iter().filter(|(_, value)| !value.is_null());
        all.extend(given.map(|(name, value)| (name.to_owned(), value)));
        all
    }
}
