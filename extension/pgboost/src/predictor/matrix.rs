//! Predictions for an array's rows in one call.
//!
//! A row's elements are read as `predict` reads an array, and rows are evaluated as in a batch, so the
//! numbers are `predict`'s. Memory besides the result's is bounded, since rows are evaluated in pieces.

use gbtrees::internals::Margin;
use pg_interface::array::{self, ArrayValue, NewArray};
use pg_interface::call::Arguments;
use pg_interface::report::check_for_interrupts;
use pg_interface::signature::ArgSource;
use pg_interface::tuple::{ColumnPositions, VirtualValues};
use pg_interface::{Datum, Row};

use super::batch::{PooledScratch, evaluate_margins};
use super::output::transformed;
use super::single_row::Predictor;
use super::statement_state::Margins;
use crate::cache::ModelImage;
use crate::error::{Error, Result};

/// The place of the matrix among the arguments.
const MATRIX: usize = 1;

/// Predicts each row of an array of two dimensions. Returns an array with a value for each row, or with a row of
/// values for a model with several.
///
/// # Errors
/// For the array's form, those of `predict` with one of its rows, and for a result that is too large.
pub(crate) fn predictions(
    predictor: &mut Predictor,
    arguments: Arguments<'_>,
    matrix: ArrayValue<'_>,
) -> Result<Datum> {
    let matrix = matrix.detoasted();
    let (rows, columns) = match *matrix.lengths() {
        [] => return Ok(array::real_array(&[])),
        [rows, columns] => (rows as usize, columns as usize),
        ref lengths => return Err(Error::MatrixDimensions { given: lengths.len() }),
    };
    predictor.require_count(columns)?;
    let values = predictor.image().num_values();
    let dimensions = if values == 1 { &[rows][..] } else { &[rows, values] };
    let too_large = || Error::ResultSize { rows, values };
    let mut result = NewArray::reals(dimensions).ok_or_else(too_large)?;
    let in_place = matrix.reals().filter(|_| predictor.takes_reals());
    let cells = if in_place.is_none() { matrix.cells() } else { (&[][..], &[][..]) };
    let positions = ColumnPositions::new((0..columns).collect(), None);
    let rows_per_call = predictor.image().rows_per_call();
    let mut read = Vec::new();
    let mut evaluation =
        Evaluation { scratch: PooledScratch::default(), margins: Margins::default() };
    for (piece, out) in result.elements().chunks_mut(rows_per_call * values).enumerate() {
        check_for_interrupts();
        let first = piece * rows_per_call;
        let rows = first..first + out.len() / values;
        predictor.start_clock();
        let features = match in_place {
            Some(reals) => reals.get(rows.start * columns..rows.end * columns).unwrap_or_default(),
            None => {
                read.resize(rows.len() * predictor.image().row_length(), 0.0);
                let row_of = |row| CellsOfRow { arguments, positions: &positions, cells, row };
                read_rows(predictor, rows.map(row_of), &mut read)?;
                &read
            }
        };
        evaluation.predict(predictor.image(), features, out)?;
        predictor.count_batch(features);
    }
    Ok(result.into_datum())
}

/// Reads the features of consecutive rows.
fn read_rows<'a>(
    predictor: &mut Predictor,
    rows: impl Iterator<Item = CellsOfRow<'a>>,
    features: &mut [f32],
) -> Result<()> {
    let width = predictor.image().row_length();
    for (row, features) in rows.zip(features.chunks_exact_mut(width)) {
        predictor.read_into(row, features)?;
    }
    Ok(())
}

struct Evaluation {
    scratch: PooledScratch,
    margins: Margins,
}

impl Evaluation {
    /// Writes the values of rows with these features into `out`.
    fn predict(&mut self, image: &ModelImage, features: &[f32], out: &mut [f32]) -> Result<()> {
        let Evaluation { scratch, margins } = self;
        margins.fit(image, features.len() / image.row_length());
        match margins {
            Margins::Single(margins) => put_values(image, scratch, features, margins, out),
            Margins::Double(margins) => put_values(image, scratch, features, margins, out),
        }
    }
}

fn put_values<M: Margin>(
    image: &ModelImage,
    scratch: &mut PooledScratch,
    features: &[f32],
    margins: &mut [M],
    out: &mut [f32],
) -> Result<()> {
    evaluate_margins(image, scratch, features, margins)?;
    let outs = out.chunks_exact_mut(image.num_values());
    for (margins, out) in margins.chunks_exact_mut(image.num_outputs()).zip(outs) {
        let values = transformed(image, margins).iter();
        out.iter_mut().zip(values).for_each(|(out, value)| *out = value.single());
    }
    Ok(())
}

/// The arguments of a call with a row in place of the matrix.
#[derive(Clone, Copy)]
struct CellsOfRow<'a> {
    arguments: Arguments<'a>,
    positions: &'a ColumnPositions,
    /// The cells of all rows.
    cells: (&'a [Datum], &'a [bool]),
    row: usize,
}

impl ArgSource for CellsOfRow<'_> {
    fn get(self, index: usize) -> Option<Datum> {
        self.arguments.get(index)
    }

    fn virtual_values(&self, index: usize) -> Option<VirtualValues<'_>> {
        let (columns, (values, nulls)) = (self.positions.all().len(), self.cells);
        let row = self.row * columns..(self.row + 1) * columns;
        let row = Row::new(values.get(row.clone())?, nulls.get(row)?);
        (index == MATRIX).then(|| self.positions.of(row))
    }
}
