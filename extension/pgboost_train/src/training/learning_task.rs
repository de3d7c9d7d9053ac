//! The learning task: the objective, and the classes if the target has any.
//!
//! An objective or features that the caller has not named are chosen here. Notices report the choice before the
//! rounds begin, so that a wrong one costs a cancel and no wrong model. A training that continues a model has
//! the model's, without a notice.

use pg_interface::report::{named_features, notice_with};
use row_source::{Source, SourceError};

use super::Request;
use super::folds::FoldChoice;
use super::read::FewValues;
use super::start::Start;
use crate::error::{Error, Result};
use crate::params::objectives::{
    BINARY, MULTICLASS, Objective, RANKING, REGRESSION, SURVIVAL, Target, allowed_targets,
};
use crate::source::columns::{ChosenColumns, Kind};
use crate::source::dictionary::Sorted;
use crate::source::record_file::{AllowedTargets, Dictionaries};

/// The objective, if it is known before the rows are read.
pub(crate) struct ObjectiveChoice {
    given: Option<&'static Objective>,
    num_class: Option<usize>,
}

pub(crate) struct Task {
    pub(crate) objective: &'static Objective,
    /// The classes in order, if the target has any.
    pub(crate) classes: Option<Sorted>,
    pub(crate) labels: Option<Vec<String>>,
}

impl Task {
    /// Chooses the objective before a row is read. Without one in the request, groups mean ranking and bounds mean
    /// survival; a target of text or booleans is classified. A training that continues a model keeps the
    /// model's.
    pub(crate) fn of(
        request: &Request,
        start: Option<&Start>,
        columns: &ChosenColumns,
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
            request.parameters.check_needs(objective, start.is_some())?;
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
    /// Returns the valid values of the target, if the objective is known and limits them.
    pub(crate) fn allowed_targets(&self, request: &Request) -> Option<AllowedTargets> {
        let objective = self.given?.name;
        let metrics = &request.parameters.metrics;
        let has_gains = objective == "rank:ndcg"
            || metrics.is_empty()
            || metrics.iter().any(|metric| metric.starts_with("ndcg"));
        let exp_gain = has_gains && request.parameters.get("ndcg_exp_gain") != Some("0");
        let allowed = allowed_targets(objective, exp_gain)?;
        Some(AllowedTargets { objective, allowed })
    }

    pub(crate) fn has_classes(&self, columns: &ChosenColumns) -> bool {
        match self.given.map(|objective| objective.target) {
            Some(target) => matches!(target, Target::TwoClasses | Target::Classes),
            None => is_classified(columns.target.kind),
        }
    }

    /// Completes the task after the last row: the classes, and by their number the objective.
    pub(crate) fn with_classes(
        &self,
        columns: &ChosenColumns,
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

fn check(objective: &Objective, columns: &ChosenColumns) -> Result<()> {
    let fail = |message, hint| Err(Error::Arguments { message, hint });
    match (objective.target, columns.group.is_some(), columns.label_upper_bound.is_some()) {
        (Target::Groups, false, _) => {
            fail("a ranking objective needs groups", "Name the column of the group with qid.")
        }
        (Target::Bounds, false, false) => fail(
            "objective survival:aft needs upper bounds",
            "Name their column with label_upper_bound; NULL in it is an unknown end.",
        ),
        (Target::Groups, true, false) | (Target::Bounds, false, true) => numbers_only(columns),
        (_, true, _) => {
            fail("qid is for ranking objectives", "Choose one of them, such as rank:ndcg.")
        }
        (_, _, true) => fail("label_upper_bound is for survival:aft", "Choose that objective."),
        (Target::Numbers, ..) => numbers_only(columns),
        (Target::TwoClasses | Target::Classes, ..) => Ok(()),
    }
}

fn numbers_only(columns: &ChosenColumns) -> Result<()> {
    if columns.target.kind.is_text() {
        return Err(SourceError::ColumnType {
            column: columns.target.name.clone(),
            type_name: "text".to_owned(),
            role: "the target of this objective",
            hint: "Choose an objective for classes, or cast the target to a number.",
        }
        .into());
    }
    Ok(())
}

/// The most names in a notice.
const MAX_SHOWN: usize = 20;

/// Reports the choices for a request, after its rows are read.
pub(crate) fn notice(
    request: &Request,
    columns: &ChosenColumns,
    task: &Task,
    target: FewValues,
) -> Result<()> {
    let objective = request.parameters.objective.is_none().then_some(task.objective.name);
    let chosen = request.roles.features.is_none();
    let names: Vec<&str> = columns.features.iter().map(|column| column.name.as_str()).collect();
    let on = match names.as_slice() {
        _ if !chosen => String::new(),
        [_] => " on one column".to_owned(),
        names => format!(" on {} columns", names.len()),
    };
    let detail = chosen.then(|| named_features(names.len(), &listed(&names)));
    if objective.is_some() || chosen {
        let with = objective.map(|name| format!(" with objective {name}")).unwrap_or_default();
        notice_with(&format!("training{with}{on}"), detail.as_deref(), None);
    }
    if objective == Some(REGRESSION.name)
        && let Some(values) = target.two_whole_numbers()
    {
        notice_of_two_values(&columns.target.name, values);
    }
    if chosen { notice_of_keys(&request.source, &names) } else { Ok(()) }
}

/// Reports the columns of text with nearly unique values.
pub(crate) fn notice_of_unique_texts(columns: &ChosenColumns, dictionaries: &Dictionaries) {
    for (column, texts) in columns.features.iter().zip(&dictionaries.features) {
        let Some((texts, values)) =
            texts.as_ref().and_then(|texts| Some((texts.len(), texts.nearly_unique()?)))
        else {
            continue;
        };
        notice_with(
            &format!(
                "text column \"{}\" is nearly unique: {texts} distinct texts in {values} rows",
                column.name
            ),
            Some("All of them are stored with the model. New rows have other texts."),
            Some("Name the features with the argument features to leave it out."),
        );
    }
}

fn notice_of_two_values(column: &str, [low, high]: [f32; 2]) {
    let boolean =
        if [low, high] == [0.0, 1.0] { "cast the target to boolean in a query, or " } else { "" };
    notice_with(
        &format!(
            "target \"{column}\" has two values, {low} and {high}, and is learned as a number"
        ),
        None,
        Some(&format!(
            "To train a classifier, {boolean}pass params => '{{\"objective\": \"binary:logistic\"}}'."
        )),
    );
}

/// Reports the primary keys among the features: a model memorizes rows by them, which does not help with new
/// ones.
fn notice_of_keys(source: &str, features: &[&str]) -> Result<()> {
    for key in Source::of(source)?.primary_keys("source")? {
        if key.iter().all(|column| features.contains(&column.as_str())) {
            let names: Vec<&str> = key.iter().map(String::as_str).collect();
            notice_with(
                &format!("the features include a primary key, {}", listed(&names)),
                None,
                Some(
                    "New rows have other keys. Name the features with the argument features to leave it out.",
                ),
            );
        }
    }
    Ok(())
}

/// Lists names in quotes, up to `MAX_SHOWN` of them.
pub(super) fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(MAX_SHOWN).map(|name| format!("\"{name}\"")).collect();
    let rest = names.len().saturating_sub(MAX_SHOWN);
    match (rest, shown.pop()) {
        (1.., Some(last)) => {
            shown.push(last);
            format!("{} and {rest} more", shown.join(", "))
        }
        (0, Some(last)) if !shown.is_empty() => format!("{} and {last}", shown.join(", ")),
        (_, last) => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(&["a"]), "\"a\"");
        assert_eq!(listed(&["a", "b", "c"]), "\"a\", \"b\" and \"c\"");
        let names = vec!["x"; MAX_SHOWN + 5];
        assert!(listed(&names).ends_with("\"x\", \"x\" and 5 more"));
    }
}
