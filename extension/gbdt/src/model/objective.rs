//! Objectives: what a model was trained for, and with it how margins become values.
//!
//! The list is XGBoost's. An objective that is not on it may transform its margins in a way that is
//! not known here, so a model with one is refused rather than scored as if it were linear.

/// How the margins of a row become what XGBoost's predict gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Transform {
    /// The margins themselves.
    Identity = 0,
    /// The logistic function of each margin.
    Logistic = 1,
    /// One probability an output, from exponentials shifted by the largest margin.
    Softmax = 2,
    /// One value: the index of the first largest margin.
    ArgMax = 3,
    /// The exponential of each margin.
    Exponential = 4,
    /// 1 where the margin is above 0, else 0.
    Hinge = 5,
    /// The margins of a row in ascending order: quantiles that do not cross.
    Ascending = 6,
    /// Expectiles: each output lies above the one before it by a softplus of its margin.
    Expectile = 7,
}

/// How a base score becomes the margin that the sum of leaves starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is the margin already.
    Identity,
    /// Minus the logarithm of `1 / p - 1`, for a probability p.
    Logit,
    /// The logarithm.
    Logarithm,
    /// The inverse of [`Transform::Expectile`].
    Expectile,
}

/// What a model's values are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Task {
    /// Numbers.
    Regression = 0,
    /// One of two classes, by one output.
    Binary = 1,
    /// One of several classes, by an output each.
    Multiclass = 2,
    /// An order of rows.
    Ranking = 3,
}

/// An objective by its name in the file, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    pub(crate) name: String,
    pub(crate) transform: Transform,
    pub(crate) link: Link,
    pub(crate) task: Task,
}

impl Objective {
    /// The objective of this name, if it is one of XGBoost's; an old name gives its new one.
    pub(crate) fn named(name: &str) -> Option<Objective> {
        let name = OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
        TABLE.iter().find(|entry| entry.0 == name).map(|&(name, transform, link, task)| Objective {
            name: name.to_owned(),
            transform,
            link,
            task,
        })
    }

    /// The names of all objectives, and what their values are good for.
    pub fn all() -> impl Iterator<Item = (&'static str, Task)> {
        TABLE.iter().map(|&(name, _, _, task)| (name, task))
    }

    /// XGBoost's name, `binary:logistic` for one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How margins become values.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// How a base score becomes a margin.
    pub fn link(&self) -> Link {
        self.link
    }

    /// What the values are good for.
    pub fn task(&self) -> Task {
        self.task
    }
}

/// Names that XGBoost still reads and no longer writes.
const OLD_NAMES: &[(&str, &str)] = &[("reg:linear", "reg:squarederror")];

/// XGBoost's objectives.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, entry) in TABLE.iter().enumerate() {
            assert!(TABLE[..index].iter().all(|earlier| earlier.0 != entry.0), "{}", entry.0);
            assert_eq!(Objective::named(entry.0).unwrap().name(), entry.0);
        }
    }

    #[test]
    fn old_names_are_read_and_unknown_ones_are_not() {
        assert_eq!(Objective::named("reg:linear").unwrap().name(), "reg:squarederror");
        assert_eq!(Objective::named("reg:nonsense"), None);
        assert_eq!(Objective::named(""), None);
    }
}
