//! Nodes after the trees: arithmetic on the sum, and the choice and names of classes.

use crate::Result;
use crate::ensemble::{Precision, Task, Transform};
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::graph::GraphReader;
use crate::format::onnx::graph_value::GraphValue;
use crate::format::onnx::proto::{NodeProto, Tensor, element};

impl<'a> GraphReader<'_, 'a, '_> {
    /// Applies a node to scores or classes; `None` if it is unsupported.
    pub(super) fn postprocessed(
        &mut self,
        node: &NodeProto<'a>,
        inputs: &[GraphValue<'a>],
    ) -> Result<Option<GraphValue<'a>>> {
        use GraphValue::{Classes, Constant, Scores};
        let ml = node.domain == "ai.onnx.ml";
        Ok(Some(match (node.operator, ml, inputs) {
            // The result is rounded to float at the end anyway.
            ("Cast", false, [Scores]) => match self.target(node)? {
                Some(element::FLOAT | element::DOUBLE) => Scores,
                _ => return Ok(None),
            },
            ("Cast", false, [Classes]) => match self.target(node)? {
                Some(element::INT64 | element::STRING | element::INT32) => Classes,
                _ => return Ok(None),
            },
            ("ZipMap", true, [Scores]) => Scores,
            ("Flatten", false, [Scores]) => Scores,
            ("Reshape", false, [Scores, Constant(_)]) if self.outputs() == 1 => Scores,
            ("Reshape", false, [Classes, Constant(_)]) => Classes,
            ("Mul", false, [Scores, Constant(factor)]) if factor.numbers == [1.0] => Scores,
            ("Div", false, [Scores, Constant(divisor)]) if self.divide(divisor) => Scores,
            ("Add", false, [Scores, Constant(base)]) if self.add(base) => Scores,
            ("ArgMax", false, [Scores]) if self.choose(node)? => Classes,
            ("ArrayFeatureExtractor", true, [Constant(names), Classes]) if self.name(names) => {
                Classes
            }
            ("LabelEncoder", true, [Classes]) if self.encode(node)? => Classes,
            _ => return Ok(None),
        }))
    }

    fn outputs(&self) -> usize {
        self.found.as_ref().map_or(0, |ensemble| ensemble.outputs)
    }

    /// Returns the ensemble if its sums are f32, so that arithmetic can be deferred to the end. For f64
    /// sums the point of rounding would matter.
    fn sums(&mut self) -> Option<&mut RawEnsemble> {
        let ensemble = self.found.as_mut()?;
        let plain = ensemble.objective.transform == Transform::Identity
            && ensemble.objective.task == Task::Regression
            && ensemble.precision == Precision::Single
            && ensemble.base.is_empty();
        plain.then_some(ensemble)
    }

    fn divide(&mut self, divisor: &Tensor<'a>) -> bool {
        let float = divisor.element == element::FLOAT;
        match (self.sums(), divisor.numbers.as_slice()) {
            (Some(ensemble), [divisor]) if float && ensemble.divisor == 1.0 && *divisor != 0.0 => {
                ensemble.divisor = *divisor;
                true
            }
            _ => false,
        }
    }

    fn add(&mut self, base: &Tensor<'a>) -> bool {
        match self.sums().filter(|_| base.element == element::FLOAT) {
            Some(ensemble) if base.numbers.len() == ensemble.outputs => {
                ensemble.base.clone_from(&base.numbers);
                true
            }
            Some(ensemble) if base.numbers.len() == 1 => {
                ensemble.base = vec![base.numbers.iter().copied().sum(); ensemble.outputs];
                true
            }
            _ => false,
        }
    }

    /// Chooses the class of the largest score.
    fn choose(&mut self, node: &NodeProto<'a>) -> Result<bool> {
        let mut attributes = self.attributes(node);
        let axis = attributes.integer("axis")?.unwrap_or(0);
        let last = attributes.integer("select_last_index")?.unwrap_or(0);
        let Some(ensemble) = &mut self.found else { return Ok(false) };
        let task = ensemble.objective.task;
        // Equal probabilities may come from different margins.
        let fits = matches!(axis, 1 | -1)
            && last == 0
            && ensemble.outputs > 1
            && ensemble.precision == Precision::Single;
        let plain = ensemble.objective.transform == Transform::Identity && task == Task::Regression;
        if fits && plain {
            ensemble.objective.task = Task::Multiclass;
        }
        Ok(fits && plain)
    }

    /// Names the classes by a list.
    fn name(&mut self, names: &Tensor<'a>) -> bool {
        let whole = names.numbers.iter().map(|number| format!("{number}"));
        match names.element {
            element::STRING => {
                self.label(names.texts.iter().map(|text| (*text).to_owned()).collect())
            }
            element::INT64 | element::INT32 => self.label(whole.collect()),
            _ => false,
        }
    }

    /// Names the classes by a map.
    fn encode(&mut self, node: &NodeProto<'a>) -> Result<bool> {
        let mut attributes = self.attributes(node);
        let keys = attributes.integers("keys_int64s")?;
        let mut names: Vec<String> =
            attributes.texts("values_strings")?.into_iter().map(str::to_owned).collect();
        names.extend(attributes.integers("values_int64s")?.iter().map(i64::to_string));
        attributes.check_length("keys_int64s", &keys, names.len())?;
        let name = |class: i64| {
            let place = keys.iter().position(|key| *key == class)?;
            names.get(place).cloned()
        };
        let named: Option<Vec<String>> = (0..keys.len() as i64).map(name).collect();
        Ok(named.is_some_and(|names| self.label(names)))
    }

    fn label(&mut self, labels: Vec<String>) -> bool {
        let Some(ensemble) = &mut self.found else { return false };
        let fits = labels.len() == ensemble.outputs && ensemble.labels.is_empty();
        if fits {
            ensemble.labels = labels;
        }
        fits
    }
}
