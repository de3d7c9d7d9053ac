//! Compares the meaning of a trained model with that of the version that it will replace.
//!
//! The new meaning is known after the rows are read, before the first round; `load_model` would refuse a change
//! only after the last round.

use std::collections::HashMap;

use gbtrees::internals::{estimates_another, is_another_link};
use pgboost_trainer::Feature;

use super::Request;
use super::prepared::Prepared;
use crate::error::{Error, Result};
use crate::params::objectives::task_and_link;
use crate::registry::{Registry, Replaced};

pub(super) fn check(replaced: &Replaced, prepared: &Prepared<'_>, request: &Request) -> Result<()> {
    let objective = prepared.task.objective.name;
    let Some((task, link)) = task_and_link(prepared.task.objective) else { return Ok(()) };
    let labels = match prepared.start {
        Some(start) => start.labels.clone(),
        None => prepared.task.labels.clone(),
    };
    let outputs = prepared.outputs(request);
    let labels = labels.unwrap_or_else(|| numbers(task, outputs));
    let old_labels = replaced.labels.clone();
    let old_labels = old_labels.unwrap_or_else(|| numbers(&replaced.task, replaced.outputs));
    let listed = |labels: &[String]| format!("the labels \"{}\"", labels.join("\", \""));
    let (what, [old, new]) = if task != replaced.task {
        ("another task", [replaced.task.as_str(), task].map(|task| format!("the task {task}")))
    } else if outputs != replaced.outputs {
        let both = [replaced.outputs, outputs];
        ("another number of outputs", both.map(|count| format!("{count} outputs")))
    } else if labels != old_labels {
        ("other labels", [listed(&old_labels), listed(&labels)])
    } else if is_another_link(&replaced.link, link, outputs == 1) {
        ("another link", [replaced.link.as_str(), link].map(|link| format!("the link {link}")))
    } else if estimates_another(&replaced.objective, objective) {
        let both = [replaced.objective.as_str(), objective];
        ("another objective", both.map(|objective| format!("the objective {objective}")))
    } else if let Some(both) = other_levels(replaced, prepared, request)? {
        ("other quantiles", both.map(|levels| format!("the objective {objective} of {levels:?}")))
    } else if let Some((name, places)) = moved(&replaced.feature_names, &prepared.features) {
        let shown = |place| format!("feature \"{name}\" at position {place}");
        ("its features in another order", places.map(shown))
    } else if let Some((name, both)) = retyped(replaced, &prepared.features)? {
        let shown = |kind| format!("{kind} as feature \"{name}\"");
        ("other values of a feature", both.map(shown))
    } else {
        return Ok(());
    };
    let (name, version) = (replaced.name.clone(), replaced.version);
    Err(Error::OtherMeaning { name, version, what, old, new })
}

/// Returns the quantiles or expectiles of both versions, if they are known and differ.
fn other_levels(
    replaced: &Replaced,
    prepared: &Prepared<'_>,
    request: &Request,
) -> Result<Option<[Vec<f32>; 2]>> {
    let given = request.parameters.levels(prepared.task.objective.name);
    let new = match prepared.start {
        Some(start) if given.is_empty() => start.levels().to_vec(),
        _ => given,
    };
    if new.is_empty() {
        return Ok(None);
    }
    let old = Registry::find()?.levels(replaced)?;
    Ok((!old.is_empty() && old != new).then_some([old, new]))
}

/// Returns a feature at another position, with both positions, where the number of features is the same.
fn moved<'a>(old: &[String], new: &'a [Feature]) -> Option<(&'a str, [usize; 2])> {
    if old.len() != new.len() {
        return None;
    }
    let places: HashMap<&str, usize> = old.iter().map(String::as_str).zip(1..).collect();
    new.iter().zip(1..).find_map(|(feature, place)| {
        let before = *places.get(feature.name.as_str())?;
        (before != place).then_some((feature.name.as_str(), [before, place]))
    })
}

/// Returns a feature that takes texts in place of numbers, or numbers in place of texts, with both kinds.
fn retyped<'a>(
    replaced: &Replaced,
    new: &'a [Feature],
) -> Result<Option<(&'a str, [&'static str; 2])>> {
    let before = Registry::find()?.takes_texts(replaced);
    let kind = |takes_texts| if takes_texts { "texts" } else { "numbers" };
    let mut pairs = new.iter().filter_map(|feature| Some((feature, *before.get(&feature.name)?)));
    let found = pairs.find(|(feature, takes_texts)| feature.categories.is_some() != *takes_texts);
    Ok(found.map(|(feature, texts)| (feature.name.as_str(), [kind(texts), kind(!texts)])))
}

/// The classes of a model without labels.
fn numbers(task: &str, outputs: u64) -> Vec<String> {
    let count = match task {
        "binary" => 2,
        "multiclass" => outputs,
        _ => 0,
    };
    (0..count).map(|class| class.to_string()).collect()
}
