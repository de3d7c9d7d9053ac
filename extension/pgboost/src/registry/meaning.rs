//! Changes of a name to a version whose predictions or arguments mean something else.
//!
//! Applications have the name alone: other labels, another task, link or objective give them other answers
//! without an error, and so do features at other positions, where calls give them by position. Such a change
//! is refused unless the caller says that it is meant. Features of new names are warned of, since rows and jsonb
//! go by name; functions of `create_predict_function` have the names of the features that they were made for,
//! so these stand in the way. Where the number of features differs, calls by position fail by themselves.
//! Calls of one form, and settings, get a notice instead, since most trainings find other categories.

use std::collections::{BTreeSet, HashSet};

use gbtrees::internals::{estimates_another, is_another_link};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{report, transaction};

use super::inputs::{InputChanges, Inputs};
use super::lookup::{self, Stored};
use super::model::Model;
use super::predict_functions;
use super::reference::Wanted;
use crate::cache::images;
use crate::error::{Error, Result};
use crate::guc::UnknownRule;

/// The most names in a message.
const MAX_LISTED: usize = 20;

/// A reference to a model that means version `before`, if any, and will mean version `after`.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) wanted: Wanted<'a>,
    pub(crate) before: Option<i32>,
    pub(crate) after: i32,
}

/// The ways to allow another meaning, for hints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ways {
    /// The caller has allowed it.
    Allowed,
    /// To allow it.
    Allow,
    /// To allow it, or to store the version without a deployment.
    AllowOrStore,
}

impl Ways {
    pub(crate) fn allowing(allow_change: bool) -> Ways {
        if allow_change { Ways::Allowed } else { Ways::Allow }
    }

    fn hint(self) -> &'static str {
        match self {
            Ways::AllowOrStore => {
                "Pass allow_change => true if that is meant, or deploy => false to store the version only."
            }
            Ways::Allow | Ways::Allowed => "Pass allow_change => true if that is meant.",
        }
    }
}

/// The meaning of a version's values and arguments, on which callers rely.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) task: String,
    pub(crate) link: String,
    pub(crate) objective: String,
    /// The quantiles or expectiles that the outputs are.
    pub(crate) levels: Vec<f32>,
    pub(crate) outputs: i32,
    pub(crate) labels: Vec<String>,
    pub(crate) feature_names: Vec<String>,
    inputs: Inputs,
    unknown_rule: UnknownRule,
    has_text_labels: bool,
    /// The value above which the second of two classes is chosen.
    class_threshold: Option<f64>,
}

impl Meaning {
    fn of(stored: &Stored<'_>) -> Result<Meaning> {
        let objective = stored.loss()?;
        let levels = or_default(stored.levels(&objective))?;
        let image = images::image_of(stored).map(|image| {
            let image = image.model();
            (Inputs::of(image), image.class_threshold())
        });
        let (inputs, class_threshold) = or_default(image)?;
        Ok(Meaning {
            task: stored.task(),
            link: stored.link(),
            objective,
            levels,
            outputs: stored.outputs(),
            labels: stored.labels(),
            feature_names: stored.feature_names(),
            inputs,
            unknown_rule: stored.unknown_rule(),
            has_text_labels: stored.has_text_labels(),
            class_threshold,
        })
    }

    fn input_changes<'a>(&'a self, after: &'a Meaning) -> InputChanges<'a> {
        let inputs = |one: &'a Meaning| (&one.inputs, one.feature_names.as_slice());
        InputChanges::between(inputs(self), inputs(after))
    }

    /// Returns the classes as `predict_class` returns them.
    fn classes(&self) -> Vec<String> {
        let count = match self.task.as_str() {
            "binary" => 2,
            "multiclass" => self.outputs,
            _ => 0,
        };
        if self.labels.is_empty() {
            (0..count).map(|class| class.to_string()).collect()
        } else {
            self.labels.clone()
        }
    }

    /// Returns the property in which a later version differs, with both values.
    fn difference(&self, after: &Meaning) -> Option<(&'static str, [String; 2])> {
        let both = |value: fn(&Meaning) -> String| [value(self), value(after)];
        let (classes, new_classes) = (self.classes(), after.classes());
        if self.task != after.task {
            return Some(("another task", both(|one| format!("the task {}", one.task))));
        }
        if self.outputs != after.outputs {
            let count = |one: &Meaning| match one.outputs {
                1 => "1 output".to_owned(),
                outputs => format!("{outputs} outputs"),
            };
            return Some(("another number of outputs", both(count)));
        }
        if classes != new_classes {
            let what = if is_reordered(&classes, &new_classes) {
                "its labels in another order"
            } else {
                "other labels"
            };
            return Some((what, both(|one| format!("the labels {}", listed(&one.classes())))));
        }
        if is_another_link(&self.link, &after.link, self.outputs == 1) {
            return Some(("another link", both(|one| format!("the link {}", one.link))));
        }
        if estimates_another(&self.objective, &after.objective) {
            return Some((
                "another objective",
                both(|one| format!("the objective {}", one.objective)),
            ));
        }
        let are_known = !self.levels.is_empty() && !after.levels.is_empty();
        if are_known && self.levels != after.levels {
            let levels =
                |one: &Meaning| format!("the objective {} of {:?}", one.objective, one.levels);
            return Some(("other quantiles", both(levels)));
        }
        if self.is_moved(after) {
            let names = |one: &Meaning| format!("the features {}", listed(&one.feature_names));
            return Some(("its features in another order", both(names)));
        }
        let inputs = self.input_changes(after).incompatible();
        inputs.map(|both| ("other values of a feature", both))
    }

    /// Returns whether a feature is at another position, in versions with equal numbers of features.
    fn is_moved(&self, after: &Meaning) -> bool {
        let (old, new) = (&self.feature_names, &after.feature_names);
        let known: HashSet<&String> = old.iter().collect();
        let is_moved =
            |(index, name): (usize, &String)| old.get(index) != Some(name) && known.contains(name);
        old.len() == new.len() && new.iter().enumerate().any(is_moved)
    }

    /// Returns the first feature with another name, in versions with equal numbers of features.
    fn renamed<'a>(&'a self, after: &'a Meaning) -> Option<(usize, &'a str, &'a str)> {
        if self.feature_names.len() != after.feature_names.len() {
            return None;
        }
        let pairs = self.feature_names.iter().zip(&after.feature_names).enumerate();
        let mut renamed = pairs.filter(|(_, (before, after))| before != after);
        renamed.next().map(|(index, (before, after))| (index + 1, before.as_str(), after.as_str()))
    }
}

/// Returns the default in place of what a damaged file does not say, so that another version may replace it.
fn or_default<T: Default>(found: Result<T>) -> Result<T> {
    match found {
        Err(Error::Registry { .. }) => Ok(T::default()),
        other => other,
    }
}

/// Returns whether the same texts are in another order.
fn is_reordered(before: &[String], after: &[String]) -> bool {
    let sorted = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<String>>();
    before != after && before.len() == after.len() && sorted(before) == sorted(after)
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_LISTED).map(|name| format!("\"{name}\"")).collect();
    let rest = if names.len() > MAX_LISTED { ", ..." } else { "" };
    format!("{}{rest}", shown.join(", "))
}

pub(crate) fn check(model: Model<'_>, change: Change<'_>, ways: Ways) -> Result<()> {
    let Change { wanted, before: Some(before), after } = change else { return Ok(()) };
    let meaning = |version| lookup::with_version(model, version, ReadSnapshot::Latest, Meaning::of);
    transaction::see_own_changes();
    let (old, new) = (meaning(before)?, meaning(after)?);
    let name = model.name;
    let renamed = old.renamed(&new).map(|(position, old, new)| {
        format!(
            "Feature {position} is \"{old}\" in version {before} and \"{new}\" in version {after}."
        )
    });
    if let Some(detail) = &renamed
        && let Some(function) = predict_functions::existing(model, Some(wanted))?
    {
        let (name, detail) = (name.to_owned(), detail.clone().into());
        let function = function.into();
        return Err(Error::FunctionOfOtherFeatures { name, function, detail });
    }
    if ways != Ways::Allowed
        && let Some((what, [old, new])) = old.difference(&new)
    {
        let reference = match wanted {
            Wanted::Alias(alias) => format!("{name}@{alias}"),
            Wanted::Deployed | Wanted::Version(_) => name.to_owned(),
        };
        let detail = format!("Version {before} has {old}; version {after} has {new}.").into();
        return Err(Error::OtherMeaning { reference, before, what, detail, hint: ways.hint() });
    }
    if let Some(detail) = renamed {
        report::warning_with(
            &format!(
                "version {after} of model \"{name}\" has other features than version {before}, or \
                 in another order"
            ),
            &detail,
            "Calls with columns or an array give features by position; calls with a row or jsonb go on.",
        );
    }
    notice_of_inputs(name, [(before, &old), (after, &new)]);
    Ok(())
}

/// Reports the calls and settings that get something else from the later version without an error.
fn notice_of_inputs(name: &str, [(before, old), (after, new)]: [(i32, &Meaning); 2]) {
    let notice = |what: &str, detail: Option<&str>, hint: &str| {
        let message = format!("version {after} of model \"{name}\" {what} than version {before}");
        report::notice_with(&message, detail, Some(hint));
    };
    let changes = old.input_changes(new);
    if let Some(detail) = changes.recoded(before, after) {
        let hint =
            "Calls with columns, a row or jsonb go on; those with an array need the new numbers.";
        notice("has other codes of categories", Some(&detail), hint);
    }
    if let Some(real_input) = changes.other_reals() {
        let hint =
            format!("Pass real_input => '{real_input}' to load_model to read them as before.");
        notice("reads columns of type real otherwise", None, &hint);
    }
    if old.has_text_labels != new.has_text_labels && old.classes() == new.classes() {
        let kind = |one: &Meaning| if one.has_text_labels { "texts" } else { "numbers" };
        let (old, new) = (kind(old), kind(new));
        let detail =
            format!("In Python, they are {old} of version {before}, {new} of version {after}.");
        let hint =
            "Give the model labels of the earlier type, or pass labels=[...] to pgboost.push.";
        notice("has labels of another type", Some(&detail), hint);
    }
    if let (Some(old), Some(new)) = (old.class_threshold, new.class_threshold)
        && (old - new).abs() > 1e-6
    {
        let detail = format!(
            "predict_class gives the second class above {} in version {before}, above {} in version {after}.",
            old as f32, new as f32
        );
        let hint = "Calls of predict and predict_proba go on.";
        notice("chooses the class by another threshold", Some(&detail), hint);
    }
    if old.unknown_rule != new.unknown_rule {
        let detail = "The policy is library, and the two libraries differ.";
        let hint = "Set the policy error or missing by set_unknown_category to handle them alike.";
        notice("handles unknown categories otherwise", Some(detail), hint);
    }
}

#[cfg(test)]
mod tests {
    use super::{Inputs, Meaning, UnknownRule};

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|&text| text.to_owned()).collect()
    }

    /// Returns the property in which a later version differs.
    fn difference(before: [&str; 5], after: [&str; 5]) -> Option<&'static str> {
        let meaning = |[task, link, objective, labels, names]: [&str; 5]| Meaning {
            task: task.to_owned(),
            link: link.to_owned(),
            objective: objective.to_owned(),
            levels: Vec::new(),
            outputs: if task == "multiclass" { 3 } else { 1 },
            labels: texts(&labels.split_terminator(',').collect::<Vec<_>>()),
            feature_names: texts(&names.split_terminator(',').collect::<Vec<_>>()),
            inputs: Inputs::default(),
            unknown_rule: UnknownRule::Setting,
            has_text_labels: false,
            class_threshold: None,
        };
        meaning(before).difference(&meaning(after)).map(|(what, _)| what)
    }

    #[test]
    fn what_an_application_relies_on_is_compared() {
        const MEAN: [&str; 5] = ["regression", "identity", "reg:squarederror", "", "a,b,c"];
        const BINARY: [&str; 5] = ["binary", "logistic", "binary:logistic", "no,yes", "a,b"];
        const THREE: [&str; 5] = ["multiclass", "softmax", "multi:softprob", "x,y,z", "a,b"];
        let with = |mut all: [&'static str; 5], place: usize, value: &'static str| {
            all[place] = value;
            all
        };
        let (order, labels) = (Some("its features in another order"), Some("other labels"));
        for (before, after, expected) in [
            (MEAN, MEAN, None),
            (MEAN, with(MEAN, 2, "RMSE"), None),
            (MEAN, with(MEAN, 2, "RandomForestRegressor"), None),
            (MEAN, with(MEAN, 2, "regression_l1"), Some("another objective")),
            (MEAN, with(MEAN, 2, "reg:quantileerror"), Some("another objective")),
            (MEAN, with(MEAN, 1, "exponential"), Some("another link")),
            (MEAN, with(MEAN, 0, "ranking"), Some("another task")),
            (MEAN, BINARY, Some("another task")),
            (BINARY, THREE, Some("another task")),
            (MEAN, with(MEAN, 4, "c,b,a"), order),
            // A feature that is there no more moves those behind it.
            (MEAN, with(MEAN, 4, "b,c,d"), order),
            (MEAN, with(MEAN, 4, "b,a,d"), order),
            (MEAN, with(MEAN, 4, "a,d,c"), None),
            (MEAN, with(MEAN, 4, "b,c"), None),
            (MEAN, with(MEAN, 4, "d,a,b,c"), None),
            (MEAN, with(MEAN, 4, ""), None),
            (BINARY, with(BINARY, 2, "Logloss"), None),
            (BINARY, with(BINARY, 1, "identity"), Some("another link")),
            (BINARY, with(BINARY, 3, "yes,no"), Some("its labels in another order")),
            (BINARY, with(BINARY, 3, "false,true"), labels),
            (BINARY, with(BINARY, 3, ""), labels),
            (with(BINARY, 3, ""), with(BINARY, 3, "0,1"), None),
            (with(BINARY, 3, ""), with(BINARY, 3, "1,0"), Some("its labels in another order")),
            (THREE, with(THREE, 3, "x,z,y"), Some("its labels in another order")),
            (THREE, with(THREE, 1, "arg_max"), Some("another link")),
        ] {
            assert_eq!(difference(before, after), expected, "{before:?} {after:?}");
        }
    }
}
