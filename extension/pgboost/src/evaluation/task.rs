//! What can be measured of a model, by its objective.

use gbtrees::internals::{Task as ModelTask, Transform};
use pg_interface::snapshot::ReadSnapshot;

use super::predictions::SourcePredictor;
use crate::error::{Error, Result, ShapeReason};
use crate::registry::reference::Reference;
use crate::registry::{Registry, lookup};

/// What a model's values are, as far as metrics go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Task {
    /// One number.
    Number,
    /// The quantiles of a number, at these levels.
    Quantiles(Vec<f64>),
    /// Two classes; whether the value is the probability of the second one.
    Binary { probability: bool },
    /// Several classes; whether there is a probability of each.
    Classes { count: usize, probabilities: bool },
    /// A score by which the rows of a group are ordered.
    Ranking,
}

/// Objectives whose values are quantiles: XGBoost's, LightGBM's and CatBoost's.
const QUANTILES: [&str; 4] = ["reg:quantileerror", "quantile", "Quantile", "MultiQuantile"];
/// Objectives whose target is more than a number.
const SURVIVAL: [&str; 4] = ["survival:cox", "survival:aft", "Cox", "SurvivalAft"];

impl Task {
    /// The task of a model. `levels` are those of its quantiles.
    ///
    /// # Errors
    /// [`Error::NoMetrics`], [`Error::QuantileLevels`], [`Error::Shape`] if it predicts several numbers.
    pub(crate) fn of(
        predictor: &SourcePredictor,
        registry: &Registry,
        levels: Option<Vec<f64>>,
        function: &'static str,
    ) -> Result<Task> {
        let image = predictor.image();
        let several = Error::Shape {
            model: predictor.model().to_owned(),
            function,
            reason: ShapeReason::SeveralValues { values: image.num_values(), classes: false },
        };
        match (image.task(), image.num_values()) {
            (ModelTask::Multiclass, _) => Ok(Task::Classes {
                count: image.num_outputs(),
                probabilities: image.transform() != Transform::ArgMax,
            }),
            (ModelTask::Binary, 1) => Ok(Task::Binary {
                probability: matches!(
                    image.transform(),
                    Transform::Logistic | Transform::LogisticMirrored
                ),
            }),
            (ModelTask::Ranking, 1) => Ok(Task::Ranking),
            (ModelTask::Regression, values) => {
                let objective = objective(predictor, registry)?;
                let model = predictor.model().to_owned();
                if SURVIVAL.contains(&objective.as_str()) {
                    return Err(Error::NoMetrics { model, objective });
                }
                match levels {
                    Some(levels) => {
                        let levels = check_levels(model, values, levels)?;
                        Ok(Task::Quantiles(levels))
                    }
                    None if QUANTILES.contains(&objective.as_str()) => {
                        Err(Error::QuantileLevels { model, values })
                    }
                    None if values == 1 => Ok(Task::Number),
                    None => Err(several),
                }
            }
            _ => Err(several),
        }
    }

    /// How many classes the target has; 0 if it is a number.
    pub(crate) fn classes(&self) -> usize {
        match self {
            Task::Binary { .. } => 2,
            Task::Classes { count, .. } => *count,
            Task::Number | Task::Quantiles(_) | Task::Ranking => 0,
        }
    }
}

fn check_levels(model: String, values: usize, levels: Vec<f64>) -> Result<Vec<f64>> {
    let fits = levels.len() == values && levels.iter().all(|level| (0.0..=1.0).contains(level));
    if fits { Ok(levels) } else { Err(Error::QuantileLevels { model, values }) }
}

/// The objective, as the registry has it.
fn objective(predictor: &SourcePredictor, registry: &Registry) -> Result<String> {
    let reference = Reference::parse(predictor.model())?;
    let (name, version) = (reference.name, predictor.version());
    lookup::with_version(registry, name, version, ReadSnapshot::Active, |stored| stored.objective())
}
