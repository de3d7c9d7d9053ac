//! The objectives, and what each needs of the target.

use std::sync::LazyLock;

use gbtrees::internals::Task;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Numbers,
    TwoClasses,
    Classes,
    /// Times, or bounds of them.
    Bounds,
    /// Relevance within groups.
    Groups,
}

/// An objective by XGBoost's name.
#[derive(Debug, PartialEq, Eq)]
pub struct Objective {
    pub name: &'static str,
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

/// Those that the engine can evaluate.
static ALL: LazyLock<Vec<Objective>> = LazyLock::new(|| {
    gbtrees::internals::xgboost_objectives().map(|(name, task)| of_task(name, task)).collect()
});

fn of_task(name: &'static str, task: Task) -> Objective {
    let target = match task {
        Task::Regression if name == SURVIVAL.name => Target::Bounds,
        Task::Regression => Target::Numbers,
        Task::Binary => Target::TwoClasses,
        Task::Multiclass => Target::Classes,
        Task::Ranking => Target::Groups,
    };
    Objective { name, target }
}

pub fn named(name: &str) -> Option<&'static Objective> {
    ALL.iter().find(|objective| objective.name == name)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|objective| objective.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ones_chosen_here_are_among_them() {
        for chosen in [REGRESSION, BINARY, MULTICLASS, RANKING, SURVIVAL] {
            assert_eq!(named(chosen.name), Some(chosen));
        }
    }
}
