//! The objectives, and what each needs of the target.

/// What a target must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Numbers.
    Numbers,
    /// Two classes.
    TwoClasses,
    /// Two classes or more.
    Classes,
    /// Times, or bounds of them.
    Bounds,
    /// Relevance within groups.
    Groups,
}

/// An objective.
#[derive(Debug, PartialEq, Eq)]
pub struct Objective {
    /// XGBoost's name.
    pub name: &'static str,
    /// What it learns.
    pub target: Target,
}

const fn objective(name: &'static str, target: Target) -> Objective {
    Objective { name, target }
}

/// The objective of numbers that nothing else is said of.
pub const REGRESSION: &Objective = &objective("reg:squarederror", Target::Numbers);
/// The objective of a target with two texts.
pub const BINARY: &Objective = &objective("binary:logistic", Target::TwoClasses);
/// The objective of a target with more.
pub const MULTICLASS: &Objective = &objective("multi:softprob", Target::Classes);
/// The objective of groups.
pub const RANKING: &Objective = &objective("rank:ndcg", Target::Groups);
/// The objective of bounds.
pub const SURVIVAL: &Objective = &objective("survival:aft", Target::Bounds);

const TABLE: &[Objective] = &[
    objective("reg:squarederror", Target::Numbers),
    objective("reg:squaredlogerror", Target::Numbers),
    objective("reg:logistic", Target::Numbers),
    objective("reg:absoluteerror", Target::Numbers),
    objective("reg:pseudohubererror", Target::Numbers),
    objective("reg:quantileerror", Target::Numbers),
    objective("reg:expectileerror", Target::Numbers),
    objective("reg:gamma", Target::Numbers),
    objective("reg:tweedie", Target::Numbers),
    objective("count:poisson", Target::Numbers),
    objective("survival:cox", Target::Numbers),
    objective("survival:aft", Target::Bounds),
    objective("binary:logistic", Target::TwoClasses),
    objective("binary:logitraw", Target::TwoClasses),
    objective("binary:hinge", Target::TwoClasses),
    objective("multi:softprob", Target::Classes),
    objective("multi:softmax", Target::Classes),
    objective("rank:ndcg", Target::Groups),
    objective("rank:map", Target::Groups),
    objective("rank:pairwise", Target::Groups),
];

/// The objective of that name.
pub fn named(name: &str) -> Option<&'static Objective> {
    TABLE.iter().find(|objective| objective.name == name)
}

/// The names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|objective| objective.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ones_chosen_here_are_in_the_table() {
        for chosen in [REGRESSION, BINARY, MULTICLASS, RANKING, SURVIVAL] {
            assert_eq!(named(chosen.name), Some(chosen));
        }
    }
}
