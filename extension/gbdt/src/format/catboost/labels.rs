//! The names of classes.
//!
//! CatBoost numbers the labels of the training data and keeps the names that they had. A model that saw
//! fewer classes than were declared has an output for each that it saw: `class_to_label` has their
//! numbers (`TMultiClassLabelsHelper` in catboost/private/libs/labels).

use crate::format::reader::{Number, Reader, ValueKind, array, object};
use crate::model::Task;
use crate::{Limits, Result};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    /// By the number of a label.
    names: Vec<String>,
    /// By output, the number of its label.
    labels: Vec<f64>,
}

impl Classes {
    pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Self> {
        let mut classes = Classes::default();
        let max = limits.outputs;
        object(reader, |reader, key| {
            match key {
                "class_names" => classes.names = array(reader, max, "class names", name)?,
                "class_to_label" => classes.labels = array(reader, max, "classes", number)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(classes)
    }

    /// One name per class of a model with so many outputs, or nothing.
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
            // A label is a whole number, and one beyond the names has none.
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

/// A name: text, a number or a boolean, as the labels of the training data were.
fn name<'a, R: Reader<'a>>(reader: &mut R) -> Result<String> {
    match reader.kind()? {
        ValueKind::String => Ok(reader.string()?.into_owned()),
        ValueKind::Bool => Ok(reader.boolean()?.to_string()),
        _ => Ok(match reader.number()? {
            Number::Integer(number) => number.to_string(),
            Number::Float(number) => number.to_string(),
        }),
    }
}

pub(super) fn number<'a, R: Reader<'a>>(reader: &mut R) -> Result<f64> {
    Ok(match reader.number()? {
        Number::Integer(number) => number as f64,
        Number::Float(number) => number,
    })
}
