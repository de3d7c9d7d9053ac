//! The model that a training continues.
//!
//! Its trees stay, so their meaning must stay too: the features in their order, the codes of categories, the
//! classes, the objective. The rows are read as for a prediction by the model, and an unknown category or class
//! is an error.

use gbtrees::internals::{Categories, Ensemble, FeatureType};
use pgboost_trainer as messages;

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::params::objectives::{self, Objective, Target};
use crate::registry::{Registry, resolve};
use crate::source::columns::{ChosenColumns, Roles};
use crate::source::dictionary::Dictionary;
use crate::source::record_file::Dictionaries;

pub(crate) struct Start {
    /// `name@number`.
    pub(crate) reference: String,
    /// The file that the engine wrote of it.
    pub(crate) bytes: Vec<u8>,
    model: Ensemble,
    /// The number of rounds that its predictions use.
    pub(crate) rounds: u32,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) objective: &'static Objective,
}

impl Start {
    /// Finds the model. Raises pgboost's errors for one that does not exist or that another user owns.
    pub(crate) fn find(reference: &str, parameters: &Parameters) -> Result<Start> {
        let version = resolve(reference)?;
        let fail = |reason| Err(cannot(&version.reference, reason));
        let (model, bytes) = match Registry::find()?.model(&version, reference) {
            Err(Error::OtherLibrary { format, .. }) => {
                return fail(format!("Its format is {format}."));
            }
            found => found?,
        };
        let format = model.format();
        if !matches!(format, "xgboost json" | "xgboost ubjson") {
            return fail(format!("Its format is {format}."));
        }
        if model.is_linear() {
            return fail("It is a linear model, without trees.".to_owned());
        }
        let name = model.objective().name();
        let Some(objective) = objectives::objective_named(name) else {
            return fail(format!("Its objective is {name}, which cannot be trained here."));
        };
        if let Some(other) = parameters.objective.filter(|other| *other != objective) {
            return fail(format!("Its objective is {name}, not {}.", other.name));
        }
        if parameters.get("base_score").is_some() {
            return fail("The model has a base score, which base_score cannot change.".to_owned());
        }
        let start = Start {
            reference: version.reference.clone(),
            rounds: u32::try_from(version.rounds).unwrap_or(0),
            labels: version.labels.clone(),
            bytes,
            model,
            objective,
        };
        start.check_outputs(parameters)?;
        Ok(start)
    }

    /// Describes it for the trainer.
    pub(crate) fn for_trainer(&self) -> messages::Start {
        messages::Start { bytes: self.bytes.len() as u64, rounds: self.rounds }
    }

    pub(crate) fn outputs(&self) -> u64 {
        self.model.num_outputs() as u64
    }

    /// Returns the quantiles or expectiles that its outputs are.
    pub(crate) fn levels(&self) -> &[f32] {
        self.model.objective().levels()
    }

    fn check_outputs(&self, parameters: &Parameters) -> Result<()> {
        let outputs = self.model.num_outputs();
        let (expected, what) = match (self.objective.target, self.objective.name) {
            (Target::Classes, _) => return Ok(()),
            (_, "reg:quantileerror") => (parameters.count("quantile_alpha"), "quantiles"),
            (_, "reg:expectileerror") => (parameters.count("expectile_alpha"), "expectiles"),
            _ => (Some(1), "targets"),
        };
        match expected {
            Some(expected) if expected != outputs => {
                Err(cannot(&self.reference, format!("It has {outputs} {what}, not {expected}.")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the roles of columns, with the model's features in its order.
    pub(crate) fn roles(&self, roles: &Roles) -> Result<Roles> {
        let fail = |reason| Err(cannot(&self.reference, reason));
        let names = self.model.feature_names();
        if names.is_empty() {
            return fail("Its features have no names.".to_owned());
        }
        let (features, order) = (Some(names.to_vec()), Vec::new());
        let Some(asked) = &roles.features else {
            return Ok(Roles { features, order, ..roles.clone() });
        };
        // A column of arrays is named once for all its elements.
        let named = |name: &String, other: &String| {
            name == other
                || name.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('['))
        };
        if let Some(new) = asked.iter().find(|asked| !names.iter().any(|name| named(name, asked))) {
            return fail(format!("It has no feature \"{new}\"."));
        }
        if let Some(left) = names.iter().find(|name| !asked.iter().any(|asked| named(name, asked)))
        {
            return fail(format!(
                "It has the feature \"{left}\", which is not among the features."
            ));
        }
        Ok(Roles { features, order, ..roles.clone() })
    }

    /// Returns closed dictionaries of the model's texts. Fails for columns whose types do not fit its features.
    pub(crate) fn dictionaries(&self, columns: &ChosenColumns) -> Result<Dictionaries> {
        let fail = |reason| Err(cannot(&self.reference, reason));
        let mut features = Vec::with_capacity(columns.features.len());
        let mut places = 0..;
        for column in &columns.features {
            let place = places.nth(column.width().saturating_sub(1)).unwrap_or(0);
            let name = &column.name;
            let of_categories =
                self.model.feature_types().get(place) == Some(&FeatureType::Categorical);
            let categories = self.model.categories().get(place).and_then(Option::as_ref);
            features.push(match (column.kind.is_text(), of_categories, categories) {
                (true, _, Some(Categories::Text(texts))) => Some(Dictionary::closed(texts.clone())),
                (false, false, None) => None,
                (true, false, None) => {
                    return fail(format!(
                        "Its feature \"{name}\" is a number, and the column is text."
                    ));
                }
                (false, _, Some(Categories::Text(_))) => {
                    return fail(format!("Its feature \"{name}\" is text, and the column is not."));
                }
                (_, _, Some(_)) => {
                    return fail(format!("The categories of its feature \"{name}\" are numbers."));
                }
                (_, true, None) => {
                    return fail(format!(
                        "The categories of its feature \"{name}\" have no names."
                    ));
                }
            });
        }
        Ok(Dictionaries { features, target: self.classes().map(Dictionary::closed) })
    }

    /// Returns the names of the classes, which are numbers if the model has no labels.
    fn classes(&self) -> Option<Vec<String>> {
        let count = match self.objective.target {
            Target::TwoClasses => 2,
            Target::Classes => self.model.num_outputs(),
            Target::Numbers | Target::Bounds | Target::Groups => return None,
        };
        Some(self.labels.clone().unwrap_or_else(|| (0..count).map(|c| c.to_string()).collect()))
    }
}

fn cannot(model: &str, reason: String) -> Error {
    Error::CannotContinue { model: model.to_owned(), reason: reason.into() }
}
