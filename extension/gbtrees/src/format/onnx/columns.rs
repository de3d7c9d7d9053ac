//! The columns that trees test: which column of the model's input each is, and what is done to its
//! values before.
//!
//! A step works on each value alone, in the precision in which ONNX Runtime computes it. All steps but
//! [`Step::Impute`] keep the order of numbers or turn it round, and none makes NaN of a number: for that,
//! what is added must be finite, and a factor or divisor finite and not 0. `splits` relies on it.

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

/// What is done to a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// It is rounded to f32.
    Round,
    Arithmetic {
        operation: Operation,
        number: f64,
        precision: Precision,
    },
    /// It becomes `by` if it is `replaced`, which may be NaN.
    Impute {
        replaced: f64,
        by: f64,
    },
}

impl Step {
    /// Nothing if there is no such step: the number may make NaN of others.
    pub(super) fn arithmetic(
        operation: Operation,
        number: f64,
        precision: Precision,
    ) -> Option<Step> {
        let product = matches!(operation, Operation::Multiply | Operation::Divide);
        let fits = number.is_finite() && !(product && number == 0.0);
        fits.then_some(Step::Arithmetic { operation, number, precision })
    }

    pub(super) fn of(self, value: f64) -> f64 {
        match self {
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
        }
    }
}

/// Steps that a column may have; converters write four at most.
const MAX_STEPS: usize = 16;

/// A column: its index among those of the model's input, and the steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub source: usize,
    pub steps: Vec<Step>,
}

/// Columns of one type.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The type of values, after all steps.
    pub element: i64,
    columns: Columns,
}

#[derive(Clone, Debug)]
enum Columns {
    /// All columns of the model's input, as many as there are, with the same steps.
    All(Vec<Step>),
    Each(Vec<Column>),
}

impl Table {
    /// Columns of the model's input from one on; as many as there are if the file does not say.
    pub(super) fn input(start: usize, count: Option<usize>, element: i64) -> Table {
        // Whole numbers stay as they are until something rounds them.
        let steps = if element == element::FLOAT { vec![Step::Round] } else { Vec::new() };
        let columns = match count {
            None => Columns::All(steps),
            Some(count) => {
                let column = |source| Column { source, steps: steps.clone() };
                Columns::Each((start..start + count).map(column).collect())
            }
        };
        Table { element, columns }
    }

    /// In what an ensemble of these columns compares and adds.
    pub(super) fn precision(&self) -> Precision {
        if self.element == element::DOUBLE { Precision::Double } else { Precision::Single }
    }

    /// Number of columns, if the file says it.
    pub(super) fn width(&self) -> Option<usize> {
        match &self.columns {
            Columns::All(_) => None,
            Columns::Each(columns) => Some(columns.len()),
        }
    }

    /// Nothing if there is no such column.
    pub(super) fn column(&self, index: usize) -> Option<(usize, &[Step])> {
        match &self.columns {
            Columns::All(steps) => Some((index, steps)),
            Columns::Each(columns) => {
                columns.get(index).map(|column| (column.source, column.steps.as_slice()))
            }
        }
    }

    /// The steps of each column, or those of all.
    pub(super) fn steps(&self) -> impl Iterator<Item = &[Step]> {
        let (all, each) = match &self.columns {
            Columns::All(steps) => (Some(steps.as_slice()), [].as_slice()),
            Columns::Each(columns) => (None, columns.as_slice()),
        };
        all.into_iter().chain(each.iter().map(|column| column.steps.as_slice()))
    }

    /// Whether columns are all those of the model's input, in its order.
    pub(super) fn is_input(&self, features: usize) -> bool {
        match &self.columns {
            Columns::All(_) => true,
            Columns::Each(columns) => {
                columns.len() == features
                    && columns.iter().enumerate().all(|(index, column)| index == column.source)
            }
        }
    }

    /// How many columns the model's input has at least.
    pub(super) fn sources(&self) -> usize {
        match &self.columns {
            Columns::All(_) => 0,
            Columns::Each(columns) => {
                columns.iter().map(|column| column.source + 1).max().unwrap_or(0)
            }
        }
    }

    /// The table after further steps, a list for each column or one for all; nothing if there is
    /// another number of lists.
    pub(super) fn then(&self, element: i64, lists: &[Vec<Step>]) -> Result<Option<Table>> {
        let after = |steps: &[Step], more: &Vec<Step>| {
            let steps = [steps, more].concat();
            check_limit(steps.len(), MAX_STEPS, "steps of a column").map(|()| steps)
        };
        let columns = match (&self.columns, lists) {
            (Columns::All(steps), [more]) => Columns::All(after(steps, more)?),
            // As many columns as there are lists.
            (Columns::All(steps), lists) => {
                let column = |(source, more): (usize, &Vec<Step>)| {
                    Ok(Column { source, steps: after(steps, more)? })
                };
                Columns::Each(lists.iter().enumerate().map(column).collect::<Result<_>>()?)
            }
            (Columns::Each(columns), lists) => {
                if ![1, columns.len()].contains(&lists.len()) {
                    return Ok(None);
                }
                let column = |(column, more): (&Column, &Vec<Step>)| {
                    Ok(Column { source: column.source, steps: after(&column.steps, more)? })
                };
                let each = columns.iter().zip(lists.iter().cycle());
                Columns::Each(each.map(column).collect::<Result<_>>()?)
            }
        };
        Ok(Some(Table { element, columns }))
    }

    /// Some of the columns; nothing if one is not there.
    pub(super) fn picked(&self, indices: &[f64], limits: &Limits) -> Result<Option<Table>> {
        check_limit(indices.len(), limits.features, "features")?;
        let column = |index: &f64| {
            let within = *index >= 0.0 && *index < limits.features as f64 && index.fract() == 0.0;
            let (source, steps) = self.column(within.then_some(*index as usize)?)?;
            Some(Column { source, steps: steps.to_vec() })
        };
        let columns: Option<Vec<Column>> = indices.iter().map(column).collect();
        Ok(columns.map(|columns| Table { element: self.element, columns: Columns::Each(columns) }))
    }

    /// Tables joined side by side; nothing if their types differ or the file does not say how wide they
    /// are. A table alone is itself.
    pub(super) fn joined(tables: &[&Table], limits: &Limits) -> Result<Option<Table>> {
        let [first, rest @ ..] = tables else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some((*first).clone()));
        }
        let mut joined = Vec::new();
        for table in tables {
            match &table.columns {
                Columns::Each(columns) if table.element == first.element => {
                    check_limit(joined.len() + columns.len(), limits.features, "features")?;
                    joined.extend_from_slice(columns);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(Table { element: first.element, columns: Columns::Each(joined) }))
    }
}
