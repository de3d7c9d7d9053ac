//! OneHotEncoder and LabelEncoder before the trees: maps of a column's values.
//!
//! They mirror onnxruntime/core/providers/cpu/ml/onehotencoder.cc and label_encoder.h. skl2onnx writes
//! an OrdinalEncoder or TargetEncoder as one LabelEncoder per column.

use std::rc::Rc;

use crate::ensemble::check_limit;
use crate::format::onnx::columns::{ColumnTable, Encoder, Step};
use crate::format::onnx::graph::GraphReader;
use crate::format::onnx::proto::{NodeProto, element};
use crate::format::sniff::unsupported;
use crate::{ErrorKind, Result};

/// The first version of ai.onnx.ml that finds NaN keys.
const FINDS_NAN: i64 = 4;

const IGNORE: &str = "Train it with handle_unknown='ignore', or convert it with a separate input of integers per column.";

impl<'a> GraphReader<'_, 'a, '_> {
    /// OneHotEncoder: one column per category, 1 for that value and 0 otherwise.
    pub(super) fn one_hot(
        &mut self,
        node: &NodeProto<'a>,
        table: &ColumnTable,
    ) -> Result<Option<ColumnTable>> {
        let Some((column, steps)) = table.only() else { return Ok(None) };
        let ignores = self.attributes(node).integer("zeros")?.unwrap_or(1) != 0;
        let texts = self.attributes(node).texts("cats_strings")?;
        let integers = self.attributes(node).integers("cats_int64s")?;
        let (keys, first) = match table.element {
            element::STRING if integers.is_empty() => (Some(self.numbers(column, &texts)), None),
            element::INT64 if texts.is_empty() => (whole(&integers), None),
            element::FLOAT | element::DOUBLE if texts.is_empty() => {
                (whole(&integers), Some(Step::Truncate))
            }
            _ => (None, None),
        };
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return Ok(None) };
        check_limit(keys.len(), self.limits.features, "features")?;
        self.encoder(node, keys.iter().map(|key| (*key, 1.0)).collect(), 0.0, 0.0)?;
        let step = |key: &f64| {
            let encoder = Encoder { pairs: vec![(*key, 1.0)], others: 0.0, missing: 0.0 };
            first.iter().cloned().chain([Step::Encode(Rc::new(encoder))]).collect()
        };
        let lists: Vec<Vec<Step>> = keys.iter().map(step).collect();
        let can_fail = first.is_none() && steps.is_empty();
        let copies = table.picked(&vec![0.0; keys.len()], self.limits)?;
        let is_exact = ignores || can_fail && self.inputs.require(column, keys);
        if !is_exact {
            let what = "a node OneHotEncoder that fails at other numbers than its own";
            return Err(unsupported(what, IGNORE).at(node.place.place()));
        }
        let Some(copies) = copies else { return Ok(None) };
        let made = copies.then(element::FLOAT, &lists)?;
        Ok(made.map(|table| table.shaped(true)))
    }

    /// LabelEncoder: maps values to numbers.
    pub(super) fn labelled(
        &mut self,
        node: &NodeProto<'a>,
        table: &ColumnTable,
    ) -> Result<Option<ColumnTable>> {
        let Some((column, _)) = table.only() else { return Ok(None) };
        let (name, keys) = match table.element {
            element::STRING => {
                let texts = self.attributes(node).texts("keys_strings")?;
                ("keys_strings", Some(self.numbers(column, &texts)))
            }
            element::INT64 => {
                ("keys_int64s", whole(&self.attributes(node).integers("keys_int64s")?))
            }
            element::FLOAT => ("keys_floats", Some(self.attributes(node).floats("keys_floats")?)),
            _ => return Ok(None),
        };
        let keys = keys.filter(|keys| !keys.is_empty());
        let (Some(keys), Some((element, values, others))) = (keys, self.paired(node)?) else {
            return Ok(None);
        };
        self.attributes(node).check_length(name, &keys, values.len())?;
        let mut pairs: Vec<(f64, f64)> = keys.into_iter().zip(values).collect();
        let of_nan = pairs.iter().find(|(key, _)| key.is_nan() && self.ml_version >= FINDS_NAN);
        let missing = of_nan.map_or(others, |(_, value)| *value);
        pairs.retain(|(key, _)| !key.is_nan());
        let encoder = self.encoder(node, pairs, others, missing)?;
        table.then(element, &[vec![Step::Encode(Rc::new(encoder))]])
    }

    /// Returns a LabelEncoder's type, values by key, and default; `None` for text.
    fn paired(&mut self, node: &NodeProto<'a>) -> Result<Option<(i64, Vec<f64>, f64)>> {
        let mut attributes = self.attributes(node);
        let mut integers = attributes.integers("values_int64s")?;
        let mut floats = attributes.floats("values_floats")?;
        let (element, values) = match (integers.is_empty(), floats.is_empty()) {
            (false, true) => {
                integers.push(attributes.integer("default_int64")?.unwrap_or(-1));
                (element::INT64, whole(&integers))
            }
            (true, false) => {
                floats.push(attributes.float("default_float")?.unwrap_or(-0.0));
                (element::FLOAT, Some(floats))
            }
            _ => return Ok(None),
        };
        Ok(values.and_then(|mut values| {
            let others = values.pop()?;
            Some((element, values, others))
        }))
    }

    /// Returns the numbers that stand for a column's texts.
    fn numbers(&mut self, column: usize, texts: &[&'a str]) -> Vec<f64> {
        texts.iter().map(|text| self.inputs.number(column, text)).collect()
    }

    fn encoder(
        &self,
        node: &NodeProto<'a>,
        pairs: Vec<(f64, f64)>,
        others: f64,
        missing: f64,
    ) -> Result<Encoder> {
        let message = "an encoder has the same category twice";
        Encoder::new(pairs, others, missing)
            .ok_or_else(|| node.place.error(ErrorKind::Parameter, message))
    }
}

/// Converts integers that f64 represents exactly.
fn whole(integers: &[i64]) -> Option<Vec<f64>> {
    const END: i64 = 1 << 53;
    let exact = |integer: &i64| (-END < *integer && *integer < END).then_some(*integer as f64);
    integers.iter().map(exact).collect()
}
