//! LightGBM's objectives and their transforms of raw scores.
//!
//! Transforms follow `ConvertOutput` of the classes in src/objective. Names are those of `ToString` and
//! those that `ParseObjectiveAlias` (include/LightGBM/config.h) accepts.

use crate::ensemble::{ClassBy, Objective, Task, Transform};
use crate::format::lightgbm::lines::{Field, parameter};
use crate::format::lightgbm::shown;
use crate::format::reader::CancelChecks;
use crate::format::sniff::unsupported;
use crate::{ErrorKind, Result};

/// The number of an objective's outputs.
#[derive(Clone, Copy, PartialEq)]
enum Outputs {
    One,
    /// Given by its parameter `num_class`.
    Classes,
    /// Given by the header.
    Any,
}

/// A parameter that changes an objective's transform.
#[derive(Clone, Copy, PartialEq)]
enum Parameter {
    None,
    /// `sqrt`: trained on square roots of the labels.
    Root,
    /// `sigmoid:` and a slope.
    Slope,
}

const TABLE: &[(&str, Transform, Task, Outputs, Parameter)] = {
    use Outputs::{Any, Classes, One};
    use Parameter::{None, Root, Slope};
    use Task::{Binary, Multiclass, Ranking, Regression};
    use Transform::{Exponential, Identity, LogOnePlusExp, Logistic, Softmax};
    &[
        ("regression", Identity, Regression, One, Root),
        ("regression_l1", Identity, Regression, One, Root),
        ("huber", Identity, Regression, One, None),
        ("fair", Identity, Regression, One, Root),
        ("quantile", Identity, Regression, One, Root),
        ("mape", Identity, Regression, One, Root),
        ("poisson", Exponential, Regression, One, None),
        ("gamma", Exponential, Regression, One, None),
        ("tweedie", Exponential, Regression, One, None),
        ("binary", Logistic, Binary, One, Slope),
        ("multiclass", Softmax, Multiclass, Classes, None),
        ("multiclassova", Logistic, Multiclass, Classes, Slope),
        ("cross_entropy", Logistic, Regression, One, None),
        ("cross_entropy_lambda", LogOnePlusExp, Regression, One, None),
        ("lambdarank", Identity, Ranking, One, None),
        ("rank_xendcg", Identity, Ranking, One, None),
        (CUSTOM, Identity, Regression, Any, None),
    ]
};

/// The name reported for a model without a known objective; its values are its raw scores.
const CUSTOM: &str = "custom";

/// Aliases and the names that [`TABLE`] has for them.
const ALIASES: &[(&str, &str)] = &[
    ("regression_l2", "regression"),
    ("mean_squared_error", "regression"),
    ("mse", "regression"),
    ("l2", "regression"),
    ("l2_root", "regression"),
    ("root_mean_squared_error", "regression"),
    ("rmse", "regression"),
    ("mean_absolute_error", "regression_l1"),
    ("l1", "regression_l1"),
    ("mae", "regression_l1"),
    ("softmax", "multiclass"),
    ("multiclass_ova", "multiclassova"),
    ("ova", "multiclassova"),
    ("ovr", "multiclassova"),
    ("xentropy", "cross_entropy"),
    ("xentlambda", "cross_entropy_lambda"),
    ("mean_absolute_percentage_error", "mape"),
    ("xendcg", "rank_xendcg"),
    ("xe_ndcg", "rank_xendcg"),
    ("xe_ndcg_mart", "rank_xendcg"),
    ("xendcg_mart", "rank_xendcg"),
    ("none", CUSTOM),
    ("null", CUSTOM),
    ("na", CUSTOM),
];

/// Parses an objective line such as `binary sigmoid:1`; no line means [`CUSTOM`].
pub(super) fn objective(
    field: Option<Field<'_>>,
    outputs: usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Objective> {
    let words = field.map_or(vec![CUSTOM], |field| field.words(MAX_WORDS, checks));
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, known)| *known);
    let Some(&(name, transform, task, expected, parameter)) =
        TABLE.iter().find(|entry| entry.0 == name)
    else {
        let error = unsupported(&format!("objective \"{}\"", shown(name)), HINT);
        return Err(field.map_or(error.clone(), |field| error.at(field.place())));
    };
    let mut objective = Objective {
        name: name.to_owned(),
        transform,
        slope: 1.0,
        task,
        class_by: ClassBy::Value,
        class_threshold: 0.5,
        levels: Vec::new(),
    };
    let Some(field) = field else { return Ok(objective) };
    let (mut classes, mut slope) = (None, None);
    for word in words {
        match word.split_once(':').unwrap_or((word, "")) {
            ("num_class", count) => classes = count.parse().ok(),
            ("sigmoid", text) => slope = self::parameter(text),
            ("sqrt", "") if parameter == Parameter::Root => {
                objective.transform = Transform::SignedSquare;
            }
            _ => {}
        }
    }
    if parameter == Parameter::Slope {
        objective.slope = slope
            .filter(|slope| *slope > 0.0)
            .ok_or_else(|| field.error(ErrorKind::Parameter, "has no sigmoid above 0"))?;
    }
    let fits = match expected {
        Outputs::One => outputs == 1,
        Outputs::Classes => classes == Some(outputs),
        Outputs::Any => true,
    };
    if !fits {
        let message = format!("does not fit a model of {outputs} trees per iteration");
        return Err(field.error(ErrorKind::Parameter, &message));
    }
    Ok(objective)
}

/// The number of words considered; LightGBM writes two.
const MAX_WORDS: usize = 16;

const HINT: &str = "Models with a custom objective have no objective in the file; \
                    their raw scores are scored.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::quantity::is_known;

    #[test]
    fn names_are_unique_and_aliases_lead_to_them() {
        for (index, entry) in TABLE.iter().enumerate() {
            assert!(TABLE[..index].iter().all(|earlier| earlier.0 != entry.0), "{}", entry.0);
            assert!(
                entry.2 != Task::Regression || is_known(entry.0),
                "{} has no quantity",
                entry.0
            );
        }
        for (alias, name) in ALIASES {
            assert!(TABLE.iter().all(|entry| entry.0 != *alias), "{alias}");
            assert!(TABLE.iter().any(|entry| entry.0 == *name), "{alias}");
        }
    }
}
