//! The node's own data in its path and in its plan (`custom_private`), as records.
//!
//! PostgreSQL copies a plan into its cache and sends it to parallel workers, so a record is a list of integers
//! and nodes. Only this file knows the layout. The list itself is always of nodes: other extensions look at the first
//! one of every custom scan, as Citus does to find its plans.

use pg_interface::nodes;
use pgrx::pg_sys::{self, List, Node};

use super::arguments::{self, ArgumentSource};
use crate::predictor::batch::BatchFunction;

/// The data of a path.
pub(super) struct PathData {
    /// LIMIT's rows, 0 if not known.
    pub(super) limit: i32,
    /// The node tests conditions in place of the plan below.
    pub(super) tests: bool,
    /// Only needed rows may be read, since reading one can fail.
    pub(super) only_needed: bool,
    /// The condition of each call.
    pub(super) conditions: *mut List,
    pub(super) calls: Vec<*mut Node>,
}

impl PathData {
    /// # Safety
    /// The lists are valid; PostgreSQL's memory may be allocated.
    pub(super) unsafe fn encode(&self) -> *mut List {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let numbers = integers([self.limit, self.tests.into(), self.only_needed.into()]);
            let first = [numbers.cast(), self.conditions.cast()];
            nodes::list_of(first.into_iter().chain(self.calls.iter().copied()))
        }
    }

    /// Decodes the data that [`PathData::encode`] wrote.
    ///
    /// # Safety
    /// The list is valid.
    pub(super) unsafe fn decode(private: *mut List) -> Option<PathData> {
        // SAFETY: guaranteed by the caller; the first node is a list of integers.
        unsafe {
            let mut nodes = nodes::list_pointers::<Node>(private);
            let numbers: Vec<i32> = nodes::list_integers(nodes.next()?.cast()).collect();
            let [limit, tests, only_needed] = numbers[..] else { return None };
            let conditions = nodes.next()?.cast();
            Some(PathData {
                limit,
                tests: tests != 0,
                only_needed: only_needed != 0,
                conditions,
                calls: nodes.collect(),
            })
        }
    }
}

/// A column of the scan tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TupleColumn {
    /// The number of a column of the plan below, from 1.
    Below(i32),
    /// The index of a call.
    Call(usize),
}

impl TupleColumn {
    fn number(self) -> i32 {
        match self {
            TupleColumn::Below(number) => number,
            TupleColumn::Call(index) => -(index as i32) - 1,
        }
    }

    fn numbered(number: i32) -> TupleColumn {
        match number {
            0.. => TupleColumn::Below(number),
            _ => TupleColumn::Call(number.unsigned_abs() as usize - 1),
        }
    }
}

/// A batched call of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannedCall {
    pub(super) function: BatchFunction,
    pub(super) arguments: Vec<ArgumentSource>,
}

/// The way in which a column's values are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnType {
    /// The type's length as in pg_type, or `None` if it is passed by value.
    pub(super) by_reference: Option<i16>,
    pub(super) is_real: bool,
}

impl ColumnType {
    fn number(self) -> i32 {
        i32::from(self.by_reference.unwrap_or(0)) * 2 + i32::from(self.is_real)
    }

    fn numbered(number: i32) -> ColumnType {
        let length = i16::try_from(number.div_euclid(2)).unwrap_or(0);
        let by_reference = (length != 0).then_some(length);
        ColumnType { by_reference, is_real: number.rem_euclid(2) == 1 }
    }
}

/// The data of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlanData {
    /// LIMIT's rows, 0 if not known.
    pub(super) limit: usize,
    /// Only needed rows may be read, since reading one can fail.
    pub(super) only_needed: bool,
    /// The plan below returns a table's rows as stored.
    pub(super) as_stored: bool,
    /// The columns of the plan below.
    pub(super) columns: Vec<ColumnType>,
    pub(super) tuple: Vec<TupleColumn>,
    pub(super) calls: Vec<PlannedCall>,
}

impl PlanData {
    /// # Safety
    /// PostgreSQL's memory may be allocated.
    pub(super) unsafe fn encode(&self) -> *mut List {
        // SAFETY: guaranteed by the caller.
        unsafe { nodes::list_of([integers(self.numbers())]) }
    }

    /// Decodes the data that [`PlanData::encode`] wrote.
    ///
    /// # Safety
    /// The list is valid.
    pub(super) unsafe fn decode(private: *mut List) -> Option<PlanData> {
        // SAFETY: guaranteed by the caller; the node is a list of integers.
        unsafe {
            let numbers = nodes::list_pointers::<Node>(private).next()?;
            PlanData::of(nodes::list_integers(numbers.cast()))
        }
    }

    fn numbers(&self) -> Vec<i32> {
        let limit = i32::try_from(self.limit).unwrap_or(i32::MAX);
        let mut numbers = vec![limit, self.only_needed.into(), self.as_stored.into()];
        numbers.push(self.columns.len() as i32);
        numbers.extend(self.columns.iter().map(|column| column.number()));
        numbers.push(self.tuple.len() as i32);
        numbers.extend(self.tuple.iter().map(|column| column.number()));
        for call in &self.calls {
            let arguments = arguments::numbers(&call.arguments);
            numbers.extend([call.function.number(), arguments.len() as i32]);
            numbers.extend(arguments);
        }
        numbers
    }

    fn of(mut numbers: impl Iterator<Item = i32>) -> Option<PlanData> {
        let limit = usize::try_from(numbers.next()?).ok()?;
        let (only_needed, as_stored) = (numbers.next()? != 0, numbers.next()? != 0);
        let count = usize::try_from(numbers.next()?).ok()?;
        let columns = numbers.by_ref().take(count).map(ColumnType::numbered).collect();
        let count = usize::try_from(numbers.next()?).ok()?;
        let tuple = numbers.by_ref().take(count).map(TupleColumn::numbered).collect();
        let mut calls = Vec::new();
        while let Some(function) = numbers.next() {
            let function = BatchFunction::numbered(function)?;
            let length = usize::try_from(numbers.next()?).ok()?;
            let arguments = arguments::read(numbers.by_ref().take(length));
            calls.push(PlannedCall { function, arguments });
        }
        Some(PlanData { limit, only_needed, as_stored, columns, tuple, calls })
    }
}

/// # Safety
/// PostgreSQL's memory may be allocated.
unsafe fn integers(numbers: impl IntoIterator<Item = i32>) -> *mut List {
    numbers.into_iter().fold(std::ptr::null_mut(), |list, number| {
        // SAFETY: the list is one of integers.
        unsafe { pg_sys::lappend_int(list, number) }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]
mod tests {
    use super::*;

    #[test]
    fn plan_data_is_read_back() {
        let argument = [ArgumentSource::Constant, ArgumentSource::Parts(vec![2, 3])];
        let call = |function: &BatchFunction| PlannedCall {
            function: *function,
            arguments: argument.to_vec(),
        };
        let calls: Vec<PlannedCall> = BatchFunction::ALL.iter().map(call).collect();
        let lengths = [None, Some(-1), Some(-2), Some(16)];
        let columns = lengths
            .iter()
            .flat_map(|length| [true, false].map(|is_real| (*length, is_real)))
            .map(|(by_reference, is_real)| ColumnType { by_reference, is_real })
            .collect();
        let tuple = vec![TupleColumn::Call(1), TupleColumn::Below(3), TupleColumn::Call(0)];
        let (limit, only_needed, as_stored) = (10, true, true);
        let data = PlanData { limit, only_needed, as_stored, columns, tuple, calls };
        assert_eq!(PlanData::of(data.numbers().into_iter()).unwrap(), data);
        assert_eq!(PlanData::of([1].into_iter()), None);
        assert_eq!(PlanData::of([0, 0, 0, 0, 0, 99, 0].into_iter()), None);
    }
}
