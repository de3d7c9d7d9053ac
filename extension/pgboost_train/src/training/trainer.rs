//! Hands the rows to libxgboost with what it needs to know of them, and runs the rounds.

use serde_json::{Map, Value, json};

use super::Request;
use super::progress::{Phase, Progress};
use super::read::Rows;
use super::rounds::{self, Plan};
use super::score::Score;
use super::task::Task;
use crate::error::Result;
use crate::guc;
use crate::params::objective::Target;
use crate::source::columns::Columns;
use crate::source::records;
use crate::xgboost::Library;
use crate::xgboost::booster::Booster;
use crate::xgboost::matrix::{Feature, Making, Matrix};

/// Everything that the rounds need.
pub struct Trainer<'a> {
    /// libxgboost.
    pub library: &'static Library,
    /// What the caller asks for.
    pub request: &'a Request,
    /// What is to be learned.
    pub task: &'a Task,
    /// The features, in order.
    pub features: &'a [Feature],
}

impl Trainer<'_> {
    /// Makes matrices of the rows and runs the rounds. Gives the bytes of the model file, the rounds that
    /// it has, and its scores.
    pub fn run(
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
        self.request.parameters.threads(guc::max_threads())
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
    pub fn parameters(&self) -> Map<String, Value> {
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
