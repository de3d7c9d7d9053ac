//! XGBoost's objectives: transforms of margins, and links of base scores.
//!
//! Transforms mirror `PredTransform`, links `ProbToMargin`, of the classes in src/objective:
//! regression_loss.h, regression_obj.cu, multiclass_obj.cu, hinge.cu, aft_obj.cu, quantile_obj.cu and
//! expectile_obj.cc.

use crate::Result;
use crate::ensemble::{ClassBy, Objective, Task, Transform};

/// The function from a base score to the initial margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The base score is a margin.
    Identity,
    /// `-ln(1 / p - 1)` of a probability `p`.
    Logit,
    Logarithm,
    /// The inverse of [`Transform::Expectile`].
    Expectile,
}

/// Names that XGBoost still reads but no longer writes.
const OLD_NAMES: &[(&str, &str)] = &[("reg:linear", "reg:squarederror")];

const TABLE: &[(&str, Transform, Link, Task)] = &[
    ("reg:squarederror", Transform::Identity, Link::Identity, Task::Regression),
    ("reg:squaredlogerror", Transform::Identity, Link::Identity, Task::Regression),
    ("reg:absoluteerror", Transform::Identity, Link::Identity, Task::Regression),
    ("reg:pseudohubererror", Transform::Identity, Link::Identity, Task::Regression),
    ("reg:quantileerror", Transform::Ascending, Link::Identity, Task::Regression),
    ("reg:expectileerror", Transform::Expectile, Link::Expectile, Task::Regression),
    ("reg:logistic", Transform::Logistic, Link::Logit, Task::Regression),
    ("reg:gamma", Transform::Exponential, Link::Logarithm, Task::Regression),
    ("reg:tweedie", Transform::Exponential, Link::Logarithm, Task::Regression),
    ("count:poisson", Transform::Exponential, Link::Logarithm, Task::Regression),
    ("survival:cox", Transform::Exponential, Link::Logarithm, Task::Regression),
    ("survival:aft", Transform::Exponential, Link::Logarithm, Task::Regression),
    ("binary:logistic", Transform::Logistic, Link::Logit, Task::Binary),
    ("binary:logitraw", Transform::Identity, Link::Identity, Task::Binary),
    ("binary:hinge", Transform::Hinge, Link::Identity, Task::Binary),
    ("multi:softmax", Transform::ArgMax, Link::Identity, Task::Multiclass),
    ("multi:softprob", Transform::Softmax, Link::Identity, Task::Multiclass),
    ("rank:pairwise", Transform::Identity, Link::Identity, Task::Ranking),
    ("rank:ndcg", Transform::Identity, Link::Identity, Task::Ranking),
    ("rank:map", Transform::Identity, Link::Identity, Task::Ranking),
];

/// XGBoost's objectives that are scored, in a fixed order: their names, what they are for, and how margins
/// become values.
pub fn objectives() -> impl Iterator<Item = (&'static str, Task, Transform)> {
    TABLE.iter().map(|&(name, transform, _, task)| (name, task, transform))
}

/// Returns the objective of a name and its link; accepts old names.
pub(super) fn named(name: &str) -> Option<(Objective, Link)> {
    let name = OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
    TABLE.iter().find(|entry| entry.0 == name).map(|&(name, transform, link, task)| {
        let (class_by, class_threshold) = match transform {
            // XGBClassifier compares what `predict` gives with 0.5, though it is no probability.
            _ if name == "binary:logitraw" => (ClassBy::Value, 0.5),
            Transform::Logistic => (ClassBy::Value, 0.5),
            Transform::Softmax => (ClassBy::Value, 0.0),
            _ => (ClassBy::Margin, 0.0),
        };
        let name = name.to_owned();
        let levels = Vec::new();
        (Objective { name, transform, slope: 1.0, task, class_by, class_threshold, levels }, link)
    })
}

/// XGBoost's minimum of probabilities and expectile distances (`kRtEps` in include/xgboost/base.h).
const EPSILON: f32 = 1e-6;

/// Returns one base score per output; a single score applies to all.
pub(super) fn base_scores(stated: &[f32], num_outputs: usize) -> Result<Vec<f32>> {
    if stated.iter().any(|score| !score.is_finite()) {
        bail!(NotFinite, "the base score is not a finite number");
    }
    match stated {
        [score] => Ok(vec![*score; num_outputs]),
        scores if scores.len() == num_outputs => Ok(scores.to_vec()),
        scores => {
            Err(fault!(Length, "model has {num_outputs} outputs, but {} base scores", scores.len()))
        }
    }
}

/// Returns each output's margin before any tree.
pub(super) fn base_margins(link: Link, scores: &[f32]) -> Result<Vec<f32>> {
    match link {
        Link::Identity => Ok(scores.to_vec()),
        Link::Logit => scores.iter().map(|score| logit(*score)).collect(),
        Link::Logarithm => scores.iter().map(|score| logarithm(*score)).collect(),
        Link::Expectile => Ok(expectile(scores)),
    }
}

/// Returns a probability's margin. Releases up to 3.0 refuse 0 and 1 here, 3.4 clamps them.
fn logit(score: f32) -> Result<f32> {
    if !(0.0..=1.0).contains(&score) {
        bail!(Parameter, "base score {score} is not a probability, as the objective needs");
    }
    let probability = score.clamp(EPSILON, 1.0 - EPSILON);
    Ok(-(1.0 / probability - 1.0).ln())
}

fn logarithm(score: f32) -> Result<f32> {
    if score <= 0.0 {
        bail!(Parameter, "base score {score} is not positive, as the objective needs");
    }
    Ok(score.ln())
}

/// Converts each expectile but the first to the inverse softplus of its distance from the previous one.
fn expectile(scores: &[f32]) -> Vec<f32> {
    let distances = scores.iter().zip(scores.iter().skip(1)).map(|(lower, upper)| {
        let distance = (upper - lower - EPSILON).max(EPSILON);
        distance + (-(-distance).exp_m1()).ln()
    });
    scores.iter().take(1).copied().chain(distances).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::quantity::is_known;

    #[test]
    fn names_are_unique_and_found() {
        for (index, (name, task, _)) in objectives().enumerate() {
            assert!(TABLE[..index].iter().all(|earlier| earlier.0 != name), "{name}");
            assert!(task != Task::Regression || is_known(name), "{name} has no quantity");
            assert_eq!(named(name).unwrap().0.name(), name);
        }
    }

    #[test]
    fn old_names_are_read_and_unknown_ones_are_not() {
        assert_eq!(named("reg:linear").unwrap().0.name(), "reg:squarederror");
        assert_eq!(named("reg:nonsense"), None);
        assert_eq!(named(""), None);
    }
}

#[cfg(test)]
mod base_score_tests {
    use super::super::objective;
    use super::*;
    use crate::ErrorKind;

    /// Bit patterns of the margins that XGBoost 3.4.1 predicts for a single leaf of value 0.
    #[test]
    fn margins_equal_xgboosts() {
        let cases: [(&str, &[f32], &[u32]); 13] = [
            ("binary:logistic", &[0.5], &[0]),
            ("binary:logistic", &[0.0], &[3244100692]),
            ("binary:logistic", &[1e-7], &[3244100692]),
            ("reg:logistic", &[0.3], &[3210274947]),
            ("reg:logistic", &[1.0], &[1096543277]),
            ("binary:logistic", &[0.9999999], &[1096543277]),
            ("binary:logitraw", &[0.3], &[1050253722]),
            ("count:poisson", &[0.3], &[3214547912]),
            ("reg:gamma", &[1e-7], &[3246453212]),
            ("survival:aft", &[2.0], &[1060205080]),
            ("reg:expectileerror", &[1.0, 20.0, 60.0], &[1065353216, 1100480511, 1109393408]),
            ("reg:expectileerror", &[0.0, 0.1, 0.3], &[0, 3222283187, 3217096409]),
            ("reg:expectileerror", &[3.0, 2.0, 1.0], &[1077936128, 3244100692, 3244100692]),
        ];
        for (objective, scores, expected) in cases {
            let margins = base_margins(objective::named(objective).unwrap().1, scores).unwrap();
            let bits: Vec<u32> = margins.iter().map(|margin| (margin + 0.0).to_bits()).collect();
            assert_eq!(bits, expected, "{objective} {scores:?}");
        }
    }

    #[test]
    fn base_scores_outside_the_links_domain_are_refused() {
        let refused = |objective, scores: &[f32]| {
            base_margins(objective::named(objective).unwrap().1, scores).unwrap_err().kind()
        };
        assert_eq!(refused("binary:logistic", &[-0.1]), ErrorKind::Parameter);
        assert_eq!(refused("binary:logistic", &[1.1]), ErrorKind::Parameter);
        assert_eq!(refused("count:poisson", &[0.0]), ErrorKind::Parameter);
    }

    #[test]
    fn one_base_score_holds_for_all_outputs() {
        assert_eq!(base_scores(&[2.0], 3).unwrap(), [2.0; 3]);
        assert_eq!(base_scores(&[1.0, 2.0], 2).unwrap(), [1.0, 2.0]);
        assert_eq!(base_scores(&[1.0, 2.0], 3).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(base_scores(&[], 1).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(base_scores(&[f32::NAN], 1).unwrap_err().kind(), ErrorKind::NotFinite);
    }
}
