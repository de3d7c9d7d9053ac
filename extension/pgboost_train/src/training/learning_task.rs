//! What is to be learned: the objective, and the classes if the target has such.

use row_source::SourceError;

use super::Request;
use super::folds::FoldChoice;
use super::start::Start;
use crate::error::{Error, Result};
use crate::params::objectives::{
    BINARY, MULTICLASS, Objective, RANKING, REGRESSION, SURVIVAL, Target,
};
use crate::source::columns::{Columns, Kind};
use crate::source::dictionary::Sorted;
use crate::source::record_file::Dictionaries;

/// The objective, as far as it is known.
pub(crate) struct ObjectiveChoice {
    given: Option<&'static Objective>,
    num_class: Option<usize>,
}

pub(crate) struct Task {
    pub(crate) objective: &'static Objective,
    /// The classes in order, if there are such.
    pub(crate) classes: Option<Sorted>,
    pub(crate) labels: Option<Vec<String>>,
}

impl Task {
    /// What the request says before a row is read. Where it chooses no objective, groups mean
    /// ranking and bounds mean survival; a target of text or booleans is classified. A training that goes
    /// on from a model has that model's.
    pub(crate) fn of(
        request: &Request,
        start: Option<&Start>,
        columns: &Columns,
    ) -> Result<ObjectiveChoice> {
        let fallback = if columns.group.is_some() {
            Some(RANKING)
        } else if columns.label_upper_bound.is_some() {
            Some(SURVIVAL)
        } else if is_classified(columns.target.kind) {
            None
        } else {
            Some(REGRESSION)
        };
        let given =
            start.map(|start| start.objective).or(request.parameters.objective).or(fallback);
        if let Some(objective) = given {
            check(objective, columns)?;
        }
        let num_class = request.parameters.get("num_class").and_then(|count| count.parse().ok());
        let choice = ObjectiveChoice { given, num_class };
        if let Some(FoldChoice::Dealt { stratified: true, .. }) = request.folds()
            && !choice.has_classes(columns)
        {
            return Err(Error::Arguments {
                message: "folds are stratified by classes, and the target has none",
                hint: "Leave out the argument stratified.",
            });
        }
        Ok(choice)
    }

    pub(crate) fn class_count(&self) -> usize {
        self.classes.as_ref().map_or(0, |classes| classes.names.len())
    }
}

impl ObjectiveChoice {
    pub(crate) fn has_classes(&self, columns: &Columns) -> bool {
        match self.given.map(|objective| objective.target) {
            Some(target) => matches!(target, Target::TwoClasses | Target::Classes),
            None => is_classified(columns.target.kind),
        }
    }

    /// What is known once all rows are read: the classes, and with their number the objective.
    pub(crate) fn with_classes(
        &self,
        columns: &Columns,
        dictionaries: &Dictionaries,
    ) -> Result<Task> {
        let Some(classes) = &dictionaries.target else {
            return Ok(Task {
                objective: self.given.unwrap_or(REGRESSION),
                classes: None,
                labels: None,
            });
        };
        let count = classes.len();
        let objective = self.given.unwrap_or(if count > 2 { MULTICLASS } else { BINARY });
        let fail = |allowed| {
            Err(Error::Classes { objective: objective.name.to_owned(), classes: count, allowed })
        };
        if objective.target == Target::TwoClasses && count != 2 {
            return fail("two distinct values");
        }
        if count < 2 {
            return fail("two or more distinct values");
        }
        if objective.target == Target::Classes && self.num_class.is_some_and(|n| n != count) {
            return fail("num_class distinct values");
        }
        let sorted = if columns.target.kind.is_text() {
            classes.sorted()
        } else {
            classes.sorted_as_numbers()
        };
        Ok(Task { objective, labels: Some(sorted.names.clone()), classes: Some(sorted) })
    }
}

fn is_classified(kind: Kind) -> bool {
    kind.is_text() || kind.is_bool()
}

fn check(objective: &Objective, columns: &Columns) -> Result<()> {
    let fail = |message, hint| Err(Error::Arguments { message, hint });
    match (objective.target, columns.group.is_some(), columns.label_upper_bound.is_some()) {
        (Target::Groups, false, _) => {
            fail("a ranking objective needs groups", "Name the column of the group with qid.")
        }
        (Target::Groups, true, false) | (Target::Bounds, false, _) => numbers_only(columns),
        (_, true, _) => {
            fail("qid is for ranking objectives", "Choose one of them, such as rank:ndcg.")
        }
        (_, _, true) => fail("label_upper_bound is for survival:aft", "Choose that objective."),
        (Target::Numbers, ..) => numbers_only(columns),
        (Target::TwoClasses | Target::Classes, ..) => Ok(()),
    }
}

fn numbers_only(columns: &Columns) -> Result<()> {
    if columns.target.kind.is_text() {
        return Err(SourceError::ColumnType {
            column: columns.target.name.clone(),
            type_name: "text".to_owned(),
            role: "target of this objective",
            hint: "Choose an objective for classes, or cast the target to a number.",
        }
        .into());
    }
    Ok(())
}
