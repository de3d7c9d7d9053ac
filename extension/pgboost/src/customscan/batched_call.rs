//! One call of predict in a batch: its predictor and its results.

use std::rc::Rc;

use gbtrees::internals::prefetch_all;
use pg_interface::call::Arguments;
use pg_interface::signature::ArgSource;
use pg_interface::tuple::VirtualValues;
use pg_interface::{Row, unguarded, varlena};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum};

use super::call_shape::{CallShape, Place};
use super::late_memory::LateMemory;
use super::rows::BatchRows;
use crate::predictor::batch::BatchPredictor;
use crate::predictor::many_models::ManyModels;

/// The number of rows after which the memory for reading them is reset.
const ROWS_PER_RESET: usize = 16;

/// The predictor of a call, by the way in which it names the model.
pub(crate) enum CallPredictor {
    /// By a constant.
    One(Box<BatchPredictor>),
    /// By columns of the row.
    Many(Box<ManyModels>),
}

impl CallPredictor {
    pub(crate) fn has_categories(&self) -> bool {
        match self {
            CallPredictor::One(predictor) => predictor.has_categories(),
            CallPredictor::Many(_) => true,
        }
    }

    /// Returns the bytes of a row, 0 before the model is known.
    pub(crate) fn row_bytes(&self) -> usize {
        match self {
            CallPredictor::One(predictor) => predictor.row_bytes(),
            CallPredictor::Many(predictor) => predictor.row_bytes(),
        }
    }

    /// Returns whether rows are grouped by the model that they name.
    pub(crate) fn is_grouped(&self) -> bool {
        matches!(self, CallPredictor::Many(_))
    }

    /// Returns whether larger batches would have more rows for each model.
    pub(crate) fn wants_more_rows(&self) -> bool {
        matches!(self, CallPredictor::Many(predictor) if predictor.wants_more_rows())
    }
}

pub(crate) struct Call {
    pub(crate) shape: Rc<CallShape>,
    pub(crate) predictor: CallPredictor,
    /// The result of each row of the batch, or `None` to call the function itself.
    pub(crate) results: Vec<Option<Datum>>,
}

impl Call {
    pub(super) fn new(shape: &Rc<CallShape>) -> Call {
        let function = shape.function;
        let predictor = match &shape.model {
            Some(model) => {
                CallPredictor::One(Box::new(BatchPredictor::new(function, Rc::clone(model))))
            }
            None => CallPredictor::Many(Box::new(ManyModels::new(function))),
        };
        Call { shape: Rc::clone(shape), predictor, results: Vec::new() }
    }

    /// Describes the model and its version, if the current user may know it. `None` if columns name it.
    pub(crate) fn described(&self) -> Option<String> {
        match &self.predictor {
            CallPredictor::One(one) => Some(one.described(self.shape.function())),
            CallPredictor::Many(_) => None,
        }
    }

    /// Looks up the model, so that `row_bytes` is known.
    pub(crate) fn prepare(&mut self) {
        if let CallPredictor::One(predictor) = &mut self.predictor {
            predictor.prepare(self.shape.call());
        }
    }

    /// Scores all rows. Results are made in the current memory context; memory for reading rows is
    /// allocated in `reading`, and freed every few rows.
    pub(crate) fn score(&mut self, rows: &mut BatchRows, reading: &mut LateMemory) {
        self.results.clear();
        self.results.resize(rows.count, None);
        let shape = &*self.shape;
        let call = shape.call();
        if let CallPredictor::One(predictor) = &mut self.predictor
            && let Some(reals) = rows.reals().filter(|_| shape.takes_reals)
            && predictor.put_results_of(call, reals, &mut self.results)
        {
            return;
        }
        let reading = reading.context();
        if let (CallPredictor::Many(predictor), Some(names)) = (&mut self.predictor, rows.names()) {
            // SAFETY: they are texts, and the rows keep copies.
            let texts = names.texts().iter().map(|text| unsafe { varlena::bytes(*text) });
            predictor.group_by_numbers(names.numbers(), texts);
            let cells_of = |row| RealCells { call, reals: rows.reals_of(row) };
            let fetch_ahead = |row| prefetch_all(rows.reals_of(row));
            put_results(predictor, call, reading, cells_of, fetch_ahead, &mut self.results);
            return;
        }
        rows.fill_cells();
        let rows = &*rows;
        let (places, run) = (&shape.places[..], shape.run);
        let cells_of = |row| {
            let (values, nulls) = rows.row(row);
            Cells { call, places, run, values, nulls }
        };
        match &mut self.predictor {
            CallPredictor::One(predictor) => {
                let cells_of = soon_freed(reading, cells_of);
                // SAFETY: the context lives as long as the node.
                unsafe {
                    let mut reading = PgMemoryContexts::For(reading);
                    reading.switch_to(|_| predictor.read(call, rows.count, cells_of));
                }
                predictor.put_results(&mut self.results);
            }
            CallPredictor::Many(predictor) => {
                let Some(Place::Column(place)) = places.first() else { return };
                let name = |row| {
                    let (values, nulls) = rows.row(row);
                    // SAFETY: the function's first argument is a text, and the rows keep copies.
                    Row::new(values, nulls).get(*place).map(|name| unsafe { varlena::bytes(name) })
                };
                let fetch_ahead = |row| {
                    let (values, nulls) = rows.row(row);
                    prefetch_all(values);
                    prefetch_all(nulls);
                };
                predictor.group(rows.count, name);
                put_results(predictor, call, reading, cells_of, fetch_ahead, &mut self.results);
            }
        }
    }
}

/// Predicts for grouped rows, model after model.
fn put_results<G: ArgSource>(
    predictor: &mut ManyModels,
    call: Arguments<'_>,
    reading: pg_sys::MemoryContext,
    cells_of: impl Fn(usize) -> G,
    fetch_ahead: impl Fn(usize),
    results: &mut [Option<Datum>],
) {
    let mut cells_of = soon_freed(reading, cells_of);
    let mut reading = PgMemoryContexts::For(reading);
    // SAFETY: the context lives as long as the node.
    while unsafe { reading.switch_to(|_| predictor.read_next(call, &mut cells_of, &fetch_ahead)) } {
        predictor.put_results(results);
    }
}

/// Wraps a source of rows so that the memory for reading them is reset every `ROWS_PER_RESET` rows.
fn soon_freed<G>(
    reading: pg_sys::MemoryContext,
    cells_of: impl Fn(usize) -> G,
) -> impl FnMut(usize) -> G {
    let mut read = 0;
    move |row| {
        if read % ROWS_PER_RESET == 0 {
            // SAFETY: no value of earlier rows is used any more: their features are numbers.
            unsafe { unguarded::MemoryContextReset(reading) };
        }
        read += 1;
        cells_of(row)
    }
}

#[derive(Clone, Copy)]
struct Cells<'a> {
    call: Arguments<'a>,
    places: &'a [Place],
    run: Option<usize>,
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl ArgSource for Cells<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        match self.places.get(index) {
            Some(Place::Column(kept)) => Row::new(self.values, self.nulls).get(*kept),
            _ => self.call.get(index),
        }
    }

    #[inline]
    fn virtual_values(&self, index: usize) -> Option<VirtualValues<'_>> {
        match self.places.get(index) {
            Some(Place::VirtualValues(places)) => {
                Some(places.of(Row::new(self.values, self.nulls)))
            }
            _ => None,
        }
    }

    #[inline]
    fn run(&self) -> Option<(&[Datum], &[bool])> {
        let features = self.run?..self.run? + self.places.len() - 1;
        Some((self.values.get(features.clone())?, self.nulls.get(features)?))
    }
}

/// A row whose arguments behind the first are all of type real, NaN for NULL.
#[derive(Clone, Copy)]
struct RealCells<'a> {
    call: Arguments<'a>,
    reals: &'a [f32],
}

impl ArgSource for RealCells<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        let real = index.checked_sub(1).and_then(|feature| self.reals.get(feature));
        real.map_or_else(|| self.call.get(index), |real| Some(Datum::from(real.to_bits())))
    }

    #[inline]
    fn reals(&self) -> Option<&[f32]> {
        Some(self.reals)
    }
}
