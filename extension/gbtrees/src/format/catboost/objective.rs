//! CatBoost's objectives and their transforms of margins.
//!
//! Values are the defaults of the library's scikit-learn wrappers (python-package/catboost/core.py):
//! probabilities for classifiers (`predict_proba`), the exponential for Poisson and Tweedie, mean and
//! variance for RMSEWithUncertainty, and margins otherwise. Other objectives are refused, since their
//! transforms are unknown.

use crate::Result;
use crate::ensemble::{ClassBy, Objective, Task, Transform};
use crate::format::catboost::info::Info;
use crate::format::sniff::{shown, unsupported};

/// Number of values per leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dimensions {
    One,
    Two,
    Several,
}

use Dimensions::{One, Several, Two};

#[rustfmt::skip]
const TABLE: &[(&str, Transform, Task, Dimensions)] = &[
    ("RMSE", Transform::Identity, Task::Regression, One),
    ("MAE", Transform::Identity, Task::Regression, One),
    ("Quantile", Transform::Identity, Task::Regression, One),
    ("GroupQuantile", Transform::Identity, Task::Regression, One),
    ("LogLinQuantile", Transform::Identity, Task::Regression, One),
    ("Expectile", Transform::Identity, Task::Regression, One),
    ("MAPE", Transform::Identity, Task::Regression, One),
    ("Huber", Transform::Identity, Task::Regression, One),
    ("LogCosh", Transform::Identity, Task::Regression, One),
    ("Lq", Transform::Identity, Task::Regression, One),
    ("Poisson", Transform::Exponential, Task::Regression, One),
    ("Tweedie", Transform::Exponential, Task::Regression, One),
    ("Cox", Transform::Identity, Task::Regression, One),
    ("SurvivalAft", Transform::Identity, Task::Regression, One),
    ("RMSEWithUncertainty", Transform::MeanVariance, Task::Regression, Two),
    ("MultiRMSE", Transform::Identity, Task::Regression, Several),
    ("MultiRMSEWithMissingValues", Transform::Identity, Task::Regression, Several),
    ("MultiQuantile", Transform::Identity, Task::Regression, Several),
    ("MultiLogloss", Transform::Logistic, Task::Regression, Several),
    ("MultiCrossEntropy", Transform::Logistic, Task::Regression, Several),
    ("Logloss", Transform::Logistic, Task::Binary, One),
    ("CrossEntropy", Transform::Logistic, Task::Binary, One),
    ("Focal", Transform::Logistic, Task::Binary, One),
    ("MultiClass", Transform::Softmax, Task::Multiclass, Several),
    ("MultiClassOneVsAll", Transform::Logistic, Task::Multiclass, Several),
    ("PairLogit", Transform::Identity, Task::Ranking, One),
    ("PairLogitPairwise", Transform::Identity, Task::Ranking, One),
    ("YetiRank", Transform::Identity, Task::Ranking, One),
    ("YetiRankPairwise", Transform::Identity, Task::Ranking, One),
    ("LambdaMart", Transform::Identity, Task::Ranking, One),
    ("StochasticFilter", Transform::Identity, Task::Ranking, One),
    ("StochasticRank", Transform::Identity, Task::Ranking, One),
    ("QueryRMSE", Transform::Identity, Task::Ranking, One),
    ("QuerySoftMax", Transform::Identity, Task::Ranking, One),
    ("QueryCrossEntropy", Transform::Identity, Task::Ranking, One),
    // Objectives of the user's own: CatBoost allows raw values alone.
    ("PythonUserDefinedPerObject", Transform::Identity, Task::Regression, Several),
    ("PythonUserDefinedMultiTarget", Transform::Identity, Task::Regression, Several),
];

/// Returns the objective of a model with `dimensions` values per leaf.
pub(super) fn of(info: &Info, dimensions: usize) -> Result<Objective> {
    let Some(name) = &info.objective else {
        bail!(MissingKey, "the model does not say what its objective is");
    };
    let Some(&(_, transform, task, wanted)) = TABLE.iter().find(|entry| entry.0 == name) else {
        let hint = "Train the model with one of the objectives that docs/formats.md lists.";
        return Err(unsupported(&format!("objective \"{}\"", shown(name)), hint));
    };
    let fits = match wanted {
        One => dimensions == 1,
        Two => dimensions == 2,
        Several => true,
    };
    if !fits {
        bail!(Parameter, "a model for objective \"{name}\" has {dimensions} values per leaf");
    }
    Ok(Objective {
        name: name.clone(),
        transform,
        slope: 1.0,
        task,
        class_by: ClassBy::Margin,
        class_threshold: info.class_threshold.unwrap_or(0.0),
        levels: levels(name, &info.levels),
    })
}

/// The quantiles or expectiles of an objective that has such; CatBoost takes the middle by default.
fn levels(objective: &str, stated: &[f32]) -> Vec<f32> {
    match objective {
        "Quantile" | "GroupQuantile" | "LogLinQuantile" | "Expectile" if stated.is_empty() => {
            vec![0.5]
        }
        "Quantile" | "GroupQuantile" | "LogLinQuantile" | "Expectile" | "MultiQuantile" => {
            stated.to_vec()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::ensemble::quantity::is_known;

    #[test]
    fn names_are_unique_and_found() {
        for (index, entry) in TABLE.iter().enumerate() {
            assert!(TABLE[..index].iter().all(|earlier| earlier.0 != entry.0), "{}", entry.0);
            assert!(
                entry.2 != Task::Regression || is_known(entry.0),
                "{} has no quantity",
                entry.0
            );
            let info = Info { objective: Some(entry.0.to_owned()), ..Info::default() };
            let dimensions = if entry.3 == One { 1 } else { 2 };
            assert_eq!(of(&info, dimensions).unwrap().name(), entry.0);
        }
    }

    #[test]
    fn levels_are_as_stated_or_the_middle() {
        let cases: [(&str, &[f32], &[f32]); 4] = [
            ("Quantile", &[], &[0.5]),
            ("Expectile", &[0.9], &[0.9]),
            ("MultiQuantile", &[0.1, 0.9], &[0.1, 0.9]),
            ("RMSE", &[0.9], &[]),
        ];
        for (name, stated, found) in cases {
            assert_eq!(levels(name, stated), found, "{name}");
        }
    }

    #[test]
    fn others_are_refused() {
        let info = |name: &str| Info { objective: Some(name.to_owned()), ..Info::default() };
        let kind = |info: &Info, dimensions| of(info, dimensions).unwrap_err().kind();
        assert_eq!(kind(&info("UserPerObjMetric"), 1), ErrorKind::Unsupported);
        assert_eq!(kind(&info("RMSE"), 2), ErrorKind::Parameter);
        assert_eq!(kind(&info("RMSEWithUncertainty"), 1), ErrorKind::Parameter);
        assert_eq!(kind(&Info::default(), 1), ErrorKind::MissingKey);
    }
}
