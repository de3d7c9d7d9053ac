//! The columns that trees test: which column of the model's input each is, and what is done to its
//! values before.
//!
//! A step works on each value alone, in the precision in which ONNX Runtime computes it. Before the first
//! [`Step::Encode`] none makes NaN of a number: for that, what is added must be finite, and a factor or
//! divisor finite and not 0. There, all but [`Step::Impute`] and [`Step::Truncate`] keep the order of numbers
//! or turn it round. `cells` relies on it.

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

/// What is done to a value.
#[derive(Clone, Debug, PartialEq)]
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
    /// It becomes the whole number before its point, as i64.
    Truncate,
    /// It becomes what is paired with it.
    Encode(Rc<Encoder>),
}

/// The number that each of some numbers becomes.
#[derive(Debug, PartialEq)]
pub(super) struct Encoder {
    /// By their keys, which ascend; none is NaN or -0.0.
    pub pairs: Vec<(f64, f64)>,
    /// What other numbers become.
    pub others: f64,
    /// What NaN becomes.
    pub missing: f64,
}

impl Encoder {
    /// Nothing if a key occurs twice.
    pub(super) fn new(mut pairs: Vec<(f64, f64)>, others: f64, missing: f64) -> Option<Encoder> {
        // Adding zero makes one of the two zeros.
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
            // NaN and what i64 does not have become its smallest number, as x86-64 has it.
            Step::Truncate if value < I64_END => value.trunc().max(-I64_END) + 0.0,
            Step::Truncate => -I64_END,
            Step::Encode(ref encoder) => encoder.of(value),
        }
    }
}

/// The first number that i64 does not have.
pub(super) const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// A value after some steps.
pub(super) fn after(steps: &[Step], value: f64) -> f64 {
    steps.iter().fold(value, |value, step| step.of(value))
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
    /// Whether its shape is `[rows, 1, columns]`, as a OneHotEncoder makes it of a column.
    pub is_stacked: bool,
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
        Table { element, is_stacked: false, columns }
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

    /// The same columns, in one shape or the other.
    pub(super) fn shaped(self, is_stacked: bool) -> Table {
        Table { is_stacked, ..self }
    }

    /// A table of one column: that one.
    pub(super) fn only(&self) -> Option<(usize, &[Step])> {
        self.column(0).filter(|_| self.width() == Some(1))
    }

    /// Whether an axis of its shape is that of the columns.
    pub(super) fn has_columns_at(&self, axis: Option<i64>) -> bool {
        axis == Some(-1) || axis == Some(if self.is_stacked { 2 } else { 1 })
    }

    /// The steps of each column of some sources, or those of all.
    pub(super) fn steps(&self, wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = &[Step]> {
        let (all, each) = match &self.columns {
            Columns::All(steps) => (Some(steps.as_slice()), [].as_slice()),
            Columns::Each(columns) => (None, columns.as_slice()),
        };
        let each = each.iter().filter(move |column| wanted(column.source));
        all.into_iter().chain(each.map(|column| column.steps.as_slice()))
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
        Ok(Some(Table { element, is_stacked: self.is_stacked, columns }))
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
        let columns = columns.map(Columns::Each);
        Ok(columns.map(|columns| Table { columns, ..*self }))
    }

    /// Tables joined side by side; nothing if their types or shapes differ or the file does not say how
    /// wide they are. A table alone is itself.
    pub(super) fn joined(tables: &[&Table], limits: &Limits) -> Result<Option<Table>> {
        let [first, rest @ ..] = tables else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some((*first).clone()));
        }
        let mut joined = Vec::new();
        for table in tables {
            match &table.columns {
                Columns::Each(columns)
                    if (table.element, table.is_stacked) == (first.element, first.is_stacked) =>
                {
                    check_limit(joined.len() + columns.len(), limits.features, "features")?;
                    joined.extend_from_slice(columns);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(Table { columns: Columns::Each(joined), ..**first }))
    }
}
