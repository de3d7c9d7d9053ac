//! Runs a source, and passes on its rows with their targets and the models' predictions.
//!
//! The source runs once, read-only, with the caller's privileges and row-level security. Rows are evaluated in
//! batches; of a relation, only the used columns are read.

use pg_interface::report::{check_for_interrupts, notice};
use pg_interface::{ScalarType, catalog};
use row_source::{Groups, PlacedColumn, Row, Source, SourceError, width};

use super::predictions::SourcePredictor;
use super::target::{Slices, Target, Task};
use crate::error::{Error, Result};

/// The largest weight, which is XGBoost's: sums and products of such weights are finite.
pub(crate) const MAX_WEIGHT: f64 = f32::MAX as f64;

/// The number of rows of a batch, a multiple of the kernels' blocks of 512.
pub(crate) const BATCH_ROWS: usize = 2048;

/// A source of rows, and the roles of its columns.
pub(crate) struct Request<'a> {
    pub(crate) source: &'a str,
    pub(crate) target: &'a str,
    pub(crate) weight: Option<&'a str>,
    /// The column of slices: metrics are computed for each of its values.
    pub(crate) by: Option<&'a str>,
    /// The column of groups.
    pub(crate) group: Option<&'a str>,
}

/// A row's columns other than features.
#[derive(Clone, Copy)]
pub(crate) struct KnownRow {
    /// A number, or the place of a class.
    pub(crate) target: f64,
    pub(crate) weight: f64,
    /// The number of its slice, by the column `by`.
    pub(crate) slice: u32,
    /// The number of its group, by the column `qid`.
    pub(crate) group: u64,
}

/// A consumer of consecutive rows, whose features the predictors have, and have evaluated.
pub(crate) type Visit<'a> = dyn FnMut(&[KnownRow], &[SourcePredictor]) -> Result<()> + 'a;

/// Passes the rows whose target is not NULL to `visit`, a batch at a time. Returns the values of the column
/// `by`, or one NULL without it.
pub(crate) fn each(
    predictors: &mut [SourcePredictor],
    task: &Task,
    slice_bytes: usize,
    request: &Request<'_>,
    visit: &mut Visit<'_>,
) -> Result<Vec<Option<String>>> {
    let names: Vec<_> = predictors.iter().map(SourcePredictor::column_names).collect();
    let features: Vec<Vec<&str>> =
        names.iter().map(|names| names.iter().map(String::as_str).collect()).collect();
    let roles = [Some(request.target), request.weight, request.by, request.group];
    let roles: Vec<&str> = roles.into_iter().flatten().collect();
    let (query, placed) =
        Source::of(request.source)?.select(&features, &roles, request.group, "source")?;
    let width = width(&placed);

    let mut placed = placed.as_slice();
    for predictor in predictors.iter_mut() {
        let (own, rest) = placed.split_at(predictor.image().num_features().min(placed.len()));
        predictor.bind(own)?;
        placed = rest;
    }
    let mut rest = placed.iter();
    let mut of_role = |given: Option<&str>| given.and_then(|_| rest.next());
    let (target, weight) = (of_role(Some(request.target)), of_role(request.weight));
    let (by, group) = (of_role(request.by), of_role(request.group));
    let (Some(target), Some(first)) = (target, predictors.first()) else { return Ok(Vec::new()) };
    let mut reader = EvaluationReader {
        target: Target::of(first.image(), task.classes(), target)?,
        target_position: target.position,
        weight: weight.map(checked_weight).transpose()?,
        by,
        group,
        predictors,
        visit,
        rows: Vec::with_capacity(BATCH_ROWS),
        slices: Slices::default(),
        slice_bytes,
        groups: Groups::default(),
        group_number: 0,
        evaluated: 0,
        skipped: 0,
    };
    row_source::run_first(&query, "source", width, |row| reader.take(row))?;
    reader.finish()
}

/// Checks that a column can have weights.
pub(crate) fn checked_weight(column: &PlacedColumn) -> Result<&PlacedColumn> {
    if matches!(ScalarType::of(column.type_oid), Some(ScalarType::Number(_))) {
        return Ok(column);
    }
    let error = SourceError::ColumnType {
        column: column.name.clone(),
        type_name: catalog::type_name(column.type_oid),
        role: "the weight",
        hint: "Cast it to a numeric type in a query.",
    };
    Err(error.into())
}

struct EvaluationReader<'a, 'v> {
    target: Target,
    target_position: usize,
    weight: Option<&'a PlacedColumn>,
    by: Option<&'a PlacedColumn>,
    group: Option<&'a PlacedColumn>,
    predictors: &'a mut [SourcePredictor],
    visit: &'a mut Visit<'v>,
    /// The rows read since the last evaluation.
    rows: Vec<KnownRow>,
    slices: Slices,
    slice_bytes: usize,
    groups: Groups,
    group_number: u64,
    evaluated: u64,
    skipped: u64,
}

impl EvaluationReader<'_, '_> {
    fn take(&mut self, row: Row<'_>) -> Result<()> {
        let Some(target) = row.get(self.target_position) else {
            self.skipped += 1;
            return Ok(());
        };
        let target = self.target.read(target)?;
        let weight = self.weight.map_or(Ok(1.0), |column| weight(column, row))?;
        let slice = match self.by {
            Some(column) => {
                let value = row.get(column.position).map(|field| field.label());
                self.slices.number(value, self.slice_bytes)?
            }
            None => 0,
        };
        if let Some(column) = self.group
            && self.groups.begins(&column.name, row.get(column.position))?
        {
            self.group_number += 1;
        }
        for predictor in self.predictors.iter_mut() {
            predictor.read(row)?;
        }
        self.rows.push(KnownRow { target, weight, slice, group: self.group_number });
        if self.rows.len() >= BATCH_ROWS { self.evaluate() } else { Ok(()) }
    }

    fn evaluate(&mut self) -> Result<()> {
        check_for_interrupts();
        for predictor in self.predictors.iter_mut() {
            predictor.evaluate(self.rows.len())?;
        }
        (self.visit)(&self.rows, self.predictors)?;
        self.predictors.iter_mut().for_each(SourcePredictor::clear);
        self.evaluated += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Option<String>>> {
        self.evaluate()?;
        if self.evaluated == 0 {
            let error = SourceError::NoRows { argument: "source", skipped: self.skipped };
            return Err(error.into());
        }
        if self.skipped > 0 {
            notice(&format!("{} rows were left out because their target is null", self.skipped));
        }
        Ok(if self.by.is_some() { self.slices.into_names() } else { vec![None] })
    }
}

/// Reads the weight of a row.
pub(crate) fn weight(column: &PlacedColumn, row: Row<'_>) -> Result<f64> {
    let refuse = |what| {
        let column = column.name.clone();
        Err(Error::from(SourceError::ValueRefused { column, what }))
    };
    match row.get(column.position).and_then(|field| field.number()) {
        None => refuse("is null, so it cannot be a weight"),
        Some(weight @ 0.0..=MAX_WEIGHT) => Ok(weight),
        Some(weight) if weight.is_nan() => refuse("is not a number, so it cannot be a weight"),
        Some(weight) if weight > MAX_WEIGHT => refuse("is too large to be a weight"),
        Some(_) => refuse("is negative, so it cannot be a weight"),
    }
}
