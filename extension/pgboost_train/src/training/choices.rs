//! What a training chooses where the caller has not: the objective and the features, said by notices before the
//! rounds begin, so that a wrong choice costs a cancel and no wrong model.
//!
//! Nothing is said of what the caller has named, nor of a training that goes on from a model, which has both.

use pg_interface::report::notice_with;
use row_source::Source;

use super::Request;
use super::learning_task::Task;
use super::read::FewValues;
use crate::error::Result;
use crate::params::objectives::REGRESSION;
use crate::source::columns::Columns;

/// Names that a notice shows.
const MAX_SHOWN: usize = 20;

/// Says what was chosen for a request, once its rows are read.
pub(crate) fn notice(
    request: &Request,
    columns: &Columns,
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
    let detail = chosen.then(|| format!("The features are {}.", listed(&names)));
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

/// Names the primary keys among the features: a model learns from one by heart what does not hold for new rows.
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

/// Names in quotes, as many as a notice shows.
fn listed(names: &[&str]) -> String {
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
