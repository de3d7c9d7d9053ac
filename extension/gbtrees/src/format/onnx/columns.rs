//! Columns tested by trees: their source in the model's input, and the steps applied to its values.
//!
//! A step maps single values in the precision of ONNX Runtime. Before the first [`Step::Encode`], no
//! step makes NaN of a number: addends are finite, factors and divisors finite and not 0. There, all
//! steps but [`Step::Impute`] and [`Step::Truncate`] keep or reverse the order of numbers. `cells`
//! relies on both.

use std::rc::Rc;

use crate::ensemble::{Precision, check_limit};
use crate::format::onnx::proto::element;
use crate::{Limits, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// A step applied to a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Rounds to f32.
    Round,
    Arithmetic {
        operation: Operation,
        number: f64,
        precision: Precision,
    },
    /// Replaces `replaced`, which may be NaN, with `by`.
    Impute {
        replaced: f64,
        by: f64,
    },
    /// Truncates to an i64.
    Truncate,
    /// Maps through an encoder.
    Encode(Rc<Encoder>),
}

/// A map from numbers to numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Encoder {
    /// Pairs by ascending key; no key is NaN or -0.0.
    pub pairs: Vec<(f64, f64)>,
    /// The image of other numbers.
    pub others: f64,
    /// The image of NaN.
    pub missing: f64,
}

impl Encoder {
    /// Returns `None` if a key occurs twice.
    pub(super) fn new(mut pairs: Vec<(f64, f64)>, others: f64, missing: f64) -> Option<Encoder> {
        // Adding zero turns -0.0 into 0.0.
        pairs.iter_mut().for_each(|(key, _)| *key += 0.0);
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        pairs.is_sorted_by(|a, b| a.0 < b.0).then_some(Encoder { pairs, others, missing })
    }

    fn of(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.missing;
        }
        let found = self.pairs.binary_search_by(|(key, _)| key.total_cmp(&(value + 0.0)));
        found.ok().and_then(|at| self.pairs.get(at)).map_or(self.others, |(_, value)| *value)
    }
}

impl Step {
    /// Returns `None` if the number could make NaN of others.
    pub(super) fn arithmetic(
        operation: Operation,
        number: f64,
        precision: Precision,
    ) -> Option<Step> {
        let product = matches!(operation, Operation::Multiply | Operation::Divide);
        let fits = number.is_finite() && !(product && number == 0.0);
        fits.then_some(Step::Arithmetic { operation, number, precision })
    }

    pub(super) fn of(&self, value: f64) -> f64 {
        match *self {
            Step::Round => f64::from(value as f32),
            Step::Arithmetic { operation, number, precision: Precision::Double } => match operation
            {
                Operation::Add => value + number,
                Operation::Subtract => value - number,
                Operation::Multiply => value * number,
                Operation::Divide => value / number,
            },
            Step::Arithmetic { operation, number, precision: Precision::Single } => {
                let (value, number) = (value as f32, number as f32);
                f64::from(match operation {
                    Operation::Add => value + number,
                    Operation::Subtract => value - number,
                    Operation::Multiply => value * number,
                    Operation::Divide => value / number,
                })
            }
            Step::Impute { replaced, by } => {
                let replaces = value == replaced || value.is_nan() && replaced.is_nan();
                if replaces { by } else { value }
            }
            // NaN and numbers outside of i64 become its minimum, as on x86-64.
            Step::Truncate if value < I64_END => value.trunc().max(-I64_END) + 0.0,
            Step::Truncate => -I64_END,
            Step::Encode(ref encoder) => encoder.of(value),
        }
    }
}

/// The first number above i64.
pub(super) const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Applies steps in order.
pub(super) fn after(steps: &[Step], value: f64) -> f64 {
    steps.iter().fold(value, |value, step| step.of(value))
}

/// Maximum steps per column; converters write at most four.
const MAX_STEPS: usize = 16;

/// A column's index in the model's input, and its steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub source: usize,
    pub steps: Vec<Step>,
}

/// Columns of one type.
#[derive(Clone, Debug)]
pub(super) struct ColumnTable {
    /// Type of the values after all steps.
    pub element: i64,
    /// Whether the shape is `[rows, 1, columns]`, as after a OneHotEncoder.
    pub is_stacked: bool,
    columns: TableColumns,
}

#[derive(Clone, Debug)]
enum TableColumns {
    /// All columns of the model's input, with the same steps.
    All(Vec<Step>),
    Each(Vec<Column>),
}

impl ColumnTable {
    /// Creates columns of the model's input from `start` on; all of them if `count` is unknown.
    pub(super) fn input(start: usize, count: Option<usize>, element: i64) -> ColumnTable {
        // Integers stay exact until a step rounds them.
        let steps = if element == element::FLOAT { vec![Step::Round] } else { Vec::new() };
        let columns = match count {
            None => TableColumns::All(steps),
            Some(count) => {
                let column = |source| Column { source, steps: steps.clone() };
                TableColumns::Each((start..start + count).map(column).collect())
            }
        };
        ColumnTable { element, is_stacked: false, columns }
    }

    /// Returns the precision in which an ensemble of these columns compares and adds.
    pub(super) fn precision(&self) -> Precision {
        if self.element == element::DOUBLE { Precision::Double } else { Precision::Single }
    }

    /// Returns the number of columns, if the file fixes it.
    pub(super) fn width(&self) -> Option<usize> {
        match &self.columns {
            TableColumns::All(_) => None,
            TableColumns::Each(columns) => Some(columns.len()),
        }
    }

    /// Returns a column's source and steps; `None` if out of range.
    pub(super) fn column(&self, index: usize) -> Option<(usize, &[Step])> {
        match &self.columns {
            TableColumns::All(steps) => Some((index, steps)),
            TableColumns::Each(columns) => {
                columns.get(index).map(|column| (column.source, column.steps.as_slice()))
            }
        }
    }

    /// Returns the columns in another shape.
    pub(super) fn shaped(self, is_stacked: bool) -> ColumnTable {
        ColumnTable { is_stacked, ..self }
    }

    /// Returns the column of a table with a single one.
    pub(super) fn only(&self) -> Option<(usize, &[Step])> {
        self.column(0).filter(|_| self.width() == Some(1))
    }

    /// Returns whether an axis of the shape is the columns'.
    pub(super) fn has_columns_at(&self, axis: Option<i64>) -> bool {
        axis == Some(-1) || axis == Some(if self.is_stacked { 2 } else { 1 })
    }

    /// Returns the distinct chains of steps of the columns with wanted sources.
    pub(super) fn steps(&self, wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = &[Step]> {
        let (all, each) = match &self.columns {
            TableColumns::All(steps) => (Some(steps.as_slice()), [].as_slice()),
            TableColumns::Each(columns) => (None, columns.as_slice()),
        };
        let each = each.iter().filter(move |column| wanted(column.source));
        all.into_iter().chain(each.map(|column| column.steps.as_slice()))
    }

    /// Returns whether the columns are exactly the model's input, in order.
    pub(super) fn is_input(&self, features: usize) -> bool {
        match &self.columns {
            TableColumns::All(_) => true,
            TableColumns::Each(columns) => {
                columns.len() == features
                    && columns.iter().enumerate().all(|(index, column)| index == column.source)
            }
        }
    }

    /// Returns a lower bound of the model's input columns.
    pub(super) fn sources(&self) -> usize {
        match &self.columns {
            TableColumns::All(_) => 0,
            TableColumns::Each(columns) => {
                columns.iter().map(|column| column.source + 1).max().unwrap_or(0)
            }
        }
    }

    /// Appends steps, one list per column or one for all; `None` for another number of lists.
    pub(super) fn then(&self, element: i64, lists: &[Vec<Step>]) -> Result<Option<ColumnTable>> {
        let after = |steps: &[Step], more: &Vec<Step>| {
            let steps = [steps, more].concat();
            check_limit(steps.len(), MAX_STEPS, "steps of a column").map(|()| steps)
        };
        let columns = match (&self.columns, lists) {
            (TableColumns::All(steps), [more]) => TableColumns::All(after(steps, more)?),
            // One column per list.
            (TableColumns::All(steps), lists) => {
                let column = |(source, more): (usize, &Vec<Step>)| {
                    Ok(Column { source, steps: after(steps, more)? })
                };
                TableColumns::Each(lists.iter().enumerate().map(column).collect::<Result<_>>()?)
            }
            (TableColumns::Each(columns), lists) => {
                if ![1, columns.len()].contains(&lists.len()) {
                    return Ok(None);
                }
                let column = |(column, more): (&Column, &Vec<Step>)| {
                    Ok(Column { source: column.source, steps: after(&column.steps, more)? })
                };
                let each = columns.iter().zip(lists.iter().cycle());
                TableColumns::Each(each.map(column).collect::<Result<_>>()?)
            }
        };
        Ok(Some(ColumnTable { element, is_stacked: self.is_stacked, columns }))
    }

    /// Selects columns; `None` if one is out of range.
    pub(super) fn picked(&self, indices: &[f64], limits: &Limits) -> Result<Option<ColumnTable>> {
        check_limit(indices.len(), limits.features, "features")?;
        let column = |index: &f64| {
            let within = *index >= 0.0 && *index < limits.features as f64 && index.fract() == 0.0;
            let (source, steps) = self.column(within.then_some(*index as usize)?)?;
            Some(Column { source, steps: steps.to_vec() })
        };
        let columns: Option<Vec<Column>> = indices.iter().map(column).collect();
        let columns = columns.map(TableColumns::Each);
        Ok(columns.map(|columns| ColumnTable { columns, ..*self }))
    }

    /// Joins tables side by side; `None` if types or shapes differ or a width is unknown. A single
    /// table is returned unchanged.
    pub(super) fn joined(tables: &[&ColumnTable], limits: &Limits) -> Result<Option<ColumnTable>> {
        let [first, rest @ ..] = tables else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some((*first).clone()));
        }
        let mut joined = Vec::new();
        for table in tables {
            match &table.columns {
                TableColumns::Each(columns)
                    if (table.element, table.is_stacked) == (first.element, first.is_stacked) =>
                {
                    check_limit(joined.len() + columns.len(), limits.features, "features")?;
                    joined.extend_from_slice(columns);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(ColumnTable { columns: TableColumns::Each(joined), ..**first }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_an_unknown_number_are_as_many_as_the_last_that_is_picked() {
        let all = ColumnTable::input(0, None, element::FLOAT);
        assert_eq!(all.sources(), 0);
        let picked = all.picked(&[3.0, 0.0], &Limits::default()).unwrap().unwrap();
        assert_eq!(picked.sources(), 4);
    }
}
