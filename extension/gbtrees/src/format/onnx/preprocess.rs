//! Nodes before the trees that select columns or map single values; `encoders` has two more.
//!
//! They mirror onnxruntime/core/providers/cpu/ml/scaler.cc and imputer.cc. Nodes that mix columns, such
//! as Normalizer, cannot be folded into splits, which test one column.

use crate::ensemble::{Precision, check_limit};
use crate::format::onnx::columns::{ColumnTable, Operation, Step};
use crate::format::onnx::graph::{GraphReader, NODES};
use crate::format::onnx::graph_value::GraphValue;
use crate::format::onnx::proto::{Attributes, NodeProto, element};
use crate::format::sniff::unsupported;
use crate::{Error, ErrorKind, Result};

const ROWS: &str = "A split would depend on all columns of a row. Normalize the columns in SQL, and convert the \
                    trees alone.";

/// Operators allowed between a OneHotEncoder and a flat table.
const OF_STACKED: [&str; 5] = ["Cast", "Concat", "Gather", "ArrayFeatureExtractor", "Reshape"];

impl<'a, 'b> GraphReader<'_, 'a, 'b> {
    /// Applies a node to columns; `None` if it is unsupported.
    pub(super) fn preprocessed(
        &mut self,
        node: &NodeProto<'a>,
        inputs: &[GraphValue<'a>],
    ) -> Result<Option<ColumnTable>> {
        use GraphValue::{Columns, Constant};
        let stacked = |input: &GraphValue<'_>| matches!(input, Columns(table) if table.is_stacked);
        if inputs.iter().any(stacked) && !OF_STACKED.contains(&node.operator) {
            return Ok(None);
        }
        let ml = node.domain == "ai.onnx.ml";
        let made = match (node.operator, ml, inputs) {
            ("Normalizer", true, [Columns(_)]) => {
                return Err(
                    unsupported("a node Normalizer before the trees", ROWS).at(node.place.place())
                );
            }
            ("Cast", false, [Columns(table)]) => cast(table, self.target(node)?)?,
            ("Reshape", false, [Columns(table), Constant(shape)]) => {
                let flat = |width: usize| shape.numbers == [-1.0, width as f64];
                let fits = shape.element == element::INT64 && table.width().is_some_and(flat);
                fits.then(|| (**table).clone().shaped(false))
            }
            ("OneHotEncoder", true, [Columns(table)]) => self.one_hot(node, table)?,
            ("LabelEncoder", true, [Columns(table)]) => self.labelled(node, table)?,
            ("Concat", false, all) => self.concatenated(node, all)?,
            ("ArrayFeatureExtractor", true, [Columns(table), Constant(indices)])
                if indices.element == element::INT64 =>
            {
                table.picked(&indices.numbers, self.limits)?
            }
            ("Gather", false, [Columns(table), Constant(indices)])
                if table.has_columns_at(self.attributes(node).integer("axis")?)
                    && matches!(indices.element, element::INT64 | element::INT32)
                    && indices.shape.len() == 1 =>
            {
                table.picked(&indices.numbers, self.limits)?
            }
            ("Scaler", true, [Columns(table)]) => self.scaled(node, table)?,
            ("Imputer", true, [Columns(table)]) => self.imputed(node, table)?,
            (
                "Add" | "Mul",
                false,
                [Columns(table), Constant(number)] | [Constant(number), Columns(table)],
            )
            | ("Sub" | "Div", false, [Columns(table), Constant(number)]) => {
                let operation = match node.operator {
                    "Add" => Operation::Add,
                    "Mul" => Operation::Multiply,
                    "Sub" => Operation::Subtract,
                    _ => Operation::Divide,
                };
                computed(table, operation, number.row(table.element))?
            }
            _ => None,
        };
        // A file of a few bytes could demand many wide tables.
        self.cells =
            self.cells.saturating_add(made.as_ref().and_then(ColumnTable::width).unwrap_or(0));
        check_limit(self.cells, self.limits.nodes, "columns of its steps")?;
        Ok(made)
    }

    /// Concat: the columns of all inputs.
    fn concatenated(
        &mut self,
        node: &NodeProto<'a>,
        inputs: &[GraphValue<'a>],
    ) -> Result<Option<ColumnTable>> {
        let axis = self.attributes(node).integer("axis")?;
        let tables = inputs.iter().map(|input| match input {
            GraphValue::Columns(table) if table.has_columns_at(axis) => Some(&**table),
            _ => None,
        });
        let tables: Option<Vec<&ColumnTable>> = tables.collect();
        tables.map_or(Ok(None), |tables| ColumnTable::joined(&tables, self.limits))
    }

    /// Scaler: `(value - offset) * scale`, as float.
    fn scaled(&mut self, node: &NodeProto<'a>, table: &ColumnTable) -> Result<Option<ColumnTable>> {
        let mut attributes = self.attributes(node);
        let (offset, scale) = (attributes.floats("offset")?, attributes.floats("scale")?);
        attributes.check_length("offset", &offset, scale.len())?;
        let precision = table.precision();
        let step = |(offset, scale): (&f64, &f64)| {
            let mut steps = Vec::new();
            if table.element != element::DOUBLE && table.element != element::FLOAT {
                steps.push(Step::Round);
            }
            steps.push(Step::arithmetic(Operation::Subtract, *offset, precision)?);
            steps.push(Step::arithmetic(Operation::Multiply, *scale, precision)?);
            if precision == Precision::Double {
                steps.push(Step::Round);
            }
            Some(steps)
        };
        let lists: Option<Vec<Vec<Step>>> = offset.iter().zip(&scale).map(step).collect();
        let lists = lists.ok_or_else(|| degenerate(node))?;
        fits(node, "scale", table.then(element::FLOAT, &lists)?)
    }

    /// Imputer: replaces one value, such as NaN, with another.
    fn imputed(
        &mut self,
        node: &NodeProto<'a>,
        table: &ColumnTable,
    ) -> Result<Option<ColumnTable>> {
        let mut attributes = self.attributes(node);
        let (name, by, replaced) = match table.element {
            element::FLOAT => {
                let by = attributes.floats("imputed_value_floats")?;
                ("imputed_value_floats", by, attributes.float("replaced_value_float")?)
            }
            element::INT64 => {
                let by = attributes.integers("imputed_value_int64s")?;
                let by = by.iter().map(|value| *value as f64).collect();
                let replaced = attributes.integer("replaced_value_int64")?;
                ("imputed_value_int64s", by, replaced.map(|value| value as f64))
            }
            // ONNX Runtime supports only these two types.
            _ => return Ok(None),
        };
        let replaced = replaced.ok_or_else(|| {
            let message = "an Imputer does not say what it replaces";
            attributes.error(ErrorKind::MissingKey, message)
        })?;
        if by.iter().any(|value| value.is_nan()) {
            return Err(degenerate(node));
        }
        let lists: Vec<Vec<Step>> =
            by.iter().map(|by| vec![Step::Impute { replaced, by: *by }]).collect();
        fits(node, name, table.then(table.element, &lists)?)
    }

    pub(super) fn attributes<'n>(
        &'n mut self,
        node: &'n NodeProto<'a>,
    ) -> Attributes<'n, 'a, 'n, 'b> {
        Attributes { node, limits: self.limits, checks: &mut self.checks }
    }

    /// Returns the target type of a Cast.
    pub(super) fn target(&mut self, node: &NodeProto<'a>) -> Result<Option<i64>> {
        self.attributes(node).integer("to")
    }
}

/// Cast: to an element type, `None` for one that is unsupported.
fn cast(table: &ColumnTable, target: Option<i64>) -> Result<Option<ColumnTable>> {
    match (target, table.element) {
        // The numeric value of a text is unknown.
        (_, element::STRING) => Ok(None),
        (Some(element::FLOAT), element::FLOAT) => Ok(Some(table.clone())),
        (Some(element::FLOAT), _) => table.then(element::FLOAT, &[vec![Step::Round]]),
        // Integers convert to doubles exactly.
        (Some(element::DOUBLE), _) => table.then(element::DOUBLE, &[Vec::new()]),
        (Some(element::INT64), element::INT64 | element::INT32) => {
            table.then(element::INT64, &[Vec::new()])
        }
        (Some(element::INT64), element::FLOAT | element::DOUBLE) => {
            table.then(element::INT64, &[vec![Step::Truncate]])
        }
        _ => Ok(None),
    }
}

/// Applies arithmetic with one number per column or one for all.
fn computed(
    table: &ColumnTable,
    operation: Operation,
    numbers: Option<&[f64]>,
) -> Result<Option<ColumnTable>> {
    let precision = match table.element {
        element::FLOAT | element::DOUBLE => table.precision(),
        _ => return Ok(None),
    };
    let step = |number: &f64| Some(vec![Step::arithmetic(operation, *number, precision)?]);
    let lists: Option<Vec<Vec<Step>>> = numbers.unwrap_or_default().iter().map(step).collect();
    match lists {
        Some(lists) if !lists.is_empty() => table.then(table.element, &lists),
        _ => Ok(None),
    }
}

fn degenerate(node: &NodeProto<'_>) -> Error {
    let message = "a step before the trees makes NaN of numbers, or has a scale of 0";
    unsupported(message, NODES).at(node.place.place())
}

fn fits(
    node: &NodeProto<'_>,
    name: &str,
    table: Option<ColumnTable>,
) -> Result<Option<ColumnTable>> {
    let message = || format!("\"{name}\" has neither one value nor one per column");
    table.map(Some).ok_or_else(|| node.place.error(ErrorKind::Length, message()))
}
