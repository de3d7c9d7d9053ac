//! A file's metadata: objective, classes, and the release that wrote it.
//!
//! `cbm` has a list of keys and texts, some of them JSON; JSON files have the same keys, with some of
//! the texts unpacked.

use crate::ensemble::Task;
use crate::format::catboost::json_ctr::read_targets;
use crate::format::json::Json;
use crate::format::reader::{Number, Reader, ValueKind, array, double, object};
use crate::memory::owned;
use crate::{Cancel, Error, Limits, Result};

#[derive(Default)]
pub(super) struct Info {
    pub(super) version: [u32; 3],
    pub(super) objective: Option<String>,
    /// The objective's parameter `alpha`: quantiles or expectiles.
    pub(super) levels: Vec<f32>,
    pub(super) classes: Classes,
    /// Margin above which a row is of class 1, if the model sets a threshold.
    pub(super) class_threshold: Option<f64>,
    /// Per training option: kinds of target statistics, with the number of the target's borders.
    pub(super) ctr_targets: Vec<Vec<(String, i64)>>,
    /// Short texts: training time, identifier, values stored by the user.
    pub(super) attributes: Vec<(String, String)>,
}

/// Longest text kept as an attribute; training options and history are longer.
const MAX_ATTRIBUTE: usize = 256;
/// Maximum number of attributes kept.
const MAX_ATTRIBUTES: usize = 256;

impl Info {
    /// Reads the object of a JSON file.
    pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Self> {
        let mut info = Info::default();
        object(reader, |reader, key| match reader.kind()? {
            ValueKind::String => {
                let text = reader.string()?;
                info.add(key, &text, limits, Cancel::never())
            }
            ValueKind::Object => info.add_json(reader, key, limits),
            _ => reader.skip(),
        })?;
        Ok(info)
    }

    /// Adds the best iteration of a training with an evaluation set, counted from 0 as in XGBoost. It
    /// is part of the training's history, whose other contents may be anything.
    fn add_best_iteration(&mut self, history: &str, cancel: Cancel<'_>) {
        let mut json = Json::new(history.as_bytes(), cancel);
        let mut best = None;
        let read = object(&mut json, |reader, key| match key {
            "metrics" => object(reader, |reader, key| match key {
                "best_iteration" => {
                    best = Some(reader.integer()?);
                    Ok(())
                }
                _ => reader.skip(),
            }),
            _ => reader.skip(),
        });
        if let (Ok(()), Some(best @ 0..)) = (read, best) {
            self.attributes.push(("best_iteration".to_owned(), best.to_string()));
        }
    }

    /// Adds the text of a key.
    pub(super) fn add(
        &mut self,
        key: &str,
        text: &str,
        limits: &Limits,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        match key {
            "params" | "loss_function" | "class_params" | "multiclass_params" => {
                let mut json = Json::new(text.as_bytes(), cancel);
                let read = self.add_json(&mut json, key, limits).and_then(|()| json.finish());
                // Drops the error's place, which is an offset within the text.
                read.map_err(|error| {
                    Error::new(error.kind(), format!("\"{key}\": {}", error.message()))
                })?;
            }
            "training" => self.add_best_iteration(text, cancel),
            "catboost_version_info" => self.version = version(text),
            "binclass_probability_threshold" => self.class_threshold = Some(threshold(text)?),
            _ if text.len().max(key.len()) <= MAX_ATTRIBUTE
                && self.attributes.len() < MAX_ATTRIBUTES =>
            {
                self.attributes.push((key.to_owned(), text.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_json<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        key: &str,
        limits: &Limits,
    ) -> Result<()> {
        match key {
            "params" => object(reader, |reader, key| match key {
                "loss_function" => self.add_json(reader, key, limits),
                "cat_feature_params" if reader.kind()? == ValueKind::Object => {
                    self.add_ctr_targets(reader, limits)
                }
                _ => reader.skip(),
            }),
            "loss_function" => object(reader, |reader, key| match key {
                "type" => {
                    self.objective = Some(owned(reader.string()?)?);
                    Ok(())
                }
                "params" if reader.kind()? == ValueKind::Object => self.add_levels(reader),
                _ => reader.skip(),
            }),
            "class_params" | "multiclass_params" => {
                self.classes = Classes::read(reader, limits)?;
                Ok(())
            }
            _ => reader.skip(),
        }
    }

    fn add_levels<'a, R: Reader<'a>>(&mut self, reader: &mut R) -> Result<()> {
        object(reader, |reader, key| match (key, reader.kind()?) {
            ("alpha", ValueKind::String) => {
                let levels = reader.string()?;
                self.levels =
                    levels.split(',').filter_map(|level| level.trim().parse().ok()).collect();
                Ok(())
            }
            _ => reader.skip(),
        })
    }

    fn add_ctr_targets<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        limits: &Limits,
    ) -> Result<()> {
        object(reader, |reader, key| match (key, reader.kind()?) {
            ("simple_ctrs" | "combinations_ctrs", _) => {
                self.ctr_targets.push(read_targets(reader, limits)?);
                Ok(())
            }
            ("per_feature_ctrs", ValueKind::Object) => object(reader, |reader, _| {
                self.ctr_targets.push(read_targets(reader, limits)?);
                Ok(())
            }),
            _ => reader.skip(),
        })
    }
}

/// Parses the release from a description with its tag; zeros if there is none.
fn version(description: &str) -> [u32; 3] {
    let mut version = [0; 3];
    let Some((_, rest)) = description.split_once("tags/v") else { return version };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let parts = rest.get(..end).unwrap_or_default().split('.');
    for (part, text) in version.iter_mut().zip(parts) {
        *part = text.parse().unwrap_or(0);
    }
    version
}

/// Converts a probability into the margin with that logistic value.
fn threshold(probability: &str) -> Result<f64> {
    let probability: Option<f64> = probability.parse().ok();
    match probability.filter(|probability| *probability > 0.0 && *probability < 1.0) {
        Some(probability) => Ok(-(1.0 / probability - 1.0).ln()),
        None => Err(fault!(Parameter, "the probability threshold is not between 0 and 1")),
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    /// By label.
    names: Vec<String>,
    /// The label of each output.
    labels: Vec<f64>,
}

impl Classes {
    pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Self> {
        let mut classes = Classes::default();
        let max = limits.outputs;
        object(reader, |reader, key| {
            match key {
                "class_names" => classes.names = array(reader, max, "class names", name)?,
                "class_to_label" => classes.labels = array(reader, max, "classes", double)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(classes)
    }

    /// Returns one name per class of a model with `outputs` outputs, or an empty list.
    pub(super) fn of(self, task: Task, outputs: usize) -> Vec<String> {
        let count = match task {
            Task::Binary => 2,
            Task::Multiclass => outputs,
            Task::Regression | Task::Ranking => return Vec::new(),
        };
        let Classes { names, labels } = self;
        let named = |label: &f64| -> Option<String> {
            if names.is_empty() {
                return Some(label.to_string());
            }
            // A label is a whole number; one beyond the names has none.
            names.get(*label as usize).cloned()
        };
        if labels.len() == count {
            labels.iter().map(named).collect::<Option<_>>().unwrap_or_default()
        } else if names.len() == count {
            names
        } else {
            Vec::new()
        }
    }
}

/// Reads a name: text, a number or a boolean, as the training labels were.
fn name<'a, R: Reader<'a>>(reader: &mut R) -> Result<String> {
    match reader.kind()? {
        ValueKind::String => owned(reader.string()?),
        ValueKind::Bool => Ok(reader.boolean()?.to_string()),
        _ => Ok(match reader.number()? {
            Number::Integer(number) => number.to_string(),
            Number::Float(number) => number.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn releases_are_read() {
        let text = "Git info:\n    Commit: 0bcf\n    Branch: tags/v1.2.8\n    Summary: x";
        assert_eq!(version(text), [1, 2, 8]);
        assert_eq!(version("Branch: tags/v1.2\n"), [1, 2, 0]);
        assert_eq!(version("Branch: tags/v"), [0; 3]);
        assert_eq!(version("Branch: trunk"), [0; 3]);
    }

    #[test]
    fn the_best_iteration_is_read_from_any_history() {
        let added = |history: &str| {
            let mut info = Info::default();
            info.add("training", history, &Limits::default(), Cancel::never()).unwrap();
            info.attributes
        };
        let best = [("best_iteration".to_owned(), "7".to_owned())];
        let history = r#"{"metrics": {"x": [{}], "best_iteration": 7, "y": 1}, "z": null}"#;
        assert_eq!(added(history), best);
        for other in ["", "{", "[]", r#"{"metrics": 1}"#, r#"{"metrics": {"best_iteration": -1}}"#]
        {
            assert_eq!(added(other), []);
        }
    }

    #[test]
    fn a_threshold_is_a_probability() {
        assert_eq!(threshold("0.5").unwrap(), 0.0);
        for wrong in ["0", "1", "NaN", "x", ""] {
            assert_eq!(threshold(wrong).unwrap_err().kind(), ErrorKind::Parameter, "{wrong}");
        }
    }
}
