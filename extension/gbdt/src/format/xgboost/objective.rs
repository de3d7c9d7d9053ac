//! XGBoost's objectives: for each how margins become values and how a base score becomes a margin.
//!
//! The transforms are `PredTransform`, the links `ProbToMargin`, of the classes in src/objective:
//! regression_loss.h, regression_obj.cu, multiclass_obj.cu, hinge.cu, aft_obj.cu, quantile_obj.cu
//! and expectile_obj.cc.

use crate::model::{ClassBy, Objective, Task, Transform};

/// How a base score becomes the margin that the sum of leaves starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// It is the margin already.
    Identity,
    /// Minus the logarithm of `1 / p - 1`, for a probability p.
    Logit,
    Logarithm,
    /// The inverse of [`Transform::Expectile`].
    Expectile,
}

/// Names that XGBoost still reads and no longer writes.
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

/// XGBoost's objectives that are scored, in a fixed order: their names, and what they are for.
pub fn objectives() -> impl Iterator<Item = (&'static str, Task)> {
    TABLE.iter().map(|&(name, _, _, task)| (name, task))
}

/// The objective of this name and its link, if it is one of XGBoost's; old names are known.
pub(super) fn named(name: &str) -> Option<(Objective, Link)> {
    let name = OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
    TABLE.iter().find(|entry| entry.0 == name).map(|&(name, transform, link, task)| {
        let (class_by, class_threshold) = match transform {
            Transform::Logistic => (ClassBy::Value, 0.5),
            Transform::Softmax => (ClassBy::Value, 0.0),
            _ => (ClassBy::Margin, 0.0),
        };
        let name = name.to_owned();
        (Objective { name, transform, slope: 1.0, task, class_by, class_threshold }, link)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, (name, _)) in objectives().enumerate() {
            assert!(TABLE[..index].iter().all(|earlier| earlier.0 != name), "{name}");
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
