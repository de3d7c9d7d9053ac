//! Predictions of many rows at once, for the plan node that gathers them.
//!
//! Names are resolved, features read and results built by the functions' code; only the engine's evaluation is
//! that of many rows. An error of a row is not raised here: the row stays without a result, and the node then
//! calls the function itself for it, which raises the error.

use std::cell::Cell;
use std::rc::Rc;

use gbtrees::internals::{BatchScratch, Margin, Precision};
use pg_interface::call::Arguments;
use pg_interface::report::check_for_interrupts;
use pg_interface::signature::ArgSource;
use pg_interface::{Datum, Oid, invalidation, session};

use super::output::{self, Explanation, Output};
use super::single_row::Predictor;
use super::statement_state::{Margins, ReusableState};
use crate::cache::{self, ModelImage};
use crate::error::Result;
use crate::guc::{self, UnknownCategory, UnknownRule};
use crate::registry::reference::{Reference, Wanted};

/// The state on which results depend and that may change while a statement runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchValidity {
    generation: u64,
    user: Oid,
    /// `None` without categories.
    unknown_category: Option<UnknownCategory>,
}

impl BatchValidity {
    pub(crate) fn now() -> Self {
        BatchValidity::of(true)
    }

    /// Drops the setting that matters only to models with categories.
    pub(crate) fn without_categories(self) -> Self {
        BatchValidity { unknown_category: None, ..self }
    }

    #[inline]
    fn of(categories: bool) -> Self {
        BatchValidity {
            generation: invalidation::generation(),
            user: session::current_user(),
            unknown_category: categories.then(|| UnknownRule::Setting.handling()),
        }
    }

    #[inline]
    pub(crate) fn still_holds(self) -> bool {
        self == BatchValidity::of(self.unknown_category.is_some())
    }
}

/// The result of a function whose calls are computed in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchOutput {
    Prediction(Output),
    Explanation(Explanation),
}

/// A function whose calls can be computed in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchFunction {
    pub(crate) output: BatchOutput,
    /// It takes pinned versions only.
    pub(crate) pinned: bool,
}

impl BatchFunction {
    /// All such functions; a plan records a function by its place here.
    pub(crate) const ALL: [BatchFunction; 8] = [
        BatchFunction::predicting(Output::Value { function: "predict" }),
        BatchFunction::predicting(Output::Array),
        BatchFunction::predicting(Output::Margin),
        BatchFunction::predicting(Output::Class),
        BatchFunction::predicting(Output::Probabilities),
        BatchFunction::PINNED,
        BatchFunction::explaining(Explanation::Contributions),
        BatchFunction::explaining(Explanation::Interactions),
    ];
    pub(crate) const PINNED: BatchFunction = BatchFunction {
        output: BatchOutput::Prediction(Output::Value { function: "predict_pinned" }),
        pinned: true,
    };

    pub(crate) const fn predicting(output: Output) -> BatchFunction {
        BatchFunction { output: BatchOutput::Prediction(output), pinned: false }
    }

    pub(crate) const fn explaining(explanation: Explanation) -> BatchFunction {
        BatchFunction { output: BatchOutput::Explanation(explanation), pinned: false }
    }

    pub(crate) fn number(self) -> i32 {
        let place = BatchFunction::ALL.iter().position(|function| *function == self);
        place.map_or(-1, |place| place as i32)
    }

    pub(crate) fn numbered(number: i32) -> Option<BatchFunction> {
        BatchFunction::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Resolves a model for that function, with the reusable state if it is compatible.
    pub(super) fn begin(
        self,
        arguments: Arguments<'_>,
        model: &str,
        reusable: &mut ReusableState,
    ) -> Result<Predictor> {
        let mut predictor = Predictor::begin_with(arguments, model, reusable)?;
        if self.pinned {
            predictor.require_immutable(arguments.function())?;
        }
        Ok(predictor)
    }

    /// Returns the evaluation of its results, for rows of any model.
    pub(super) fn evaluation(self) -> Box<dyn BatchEvaluation> {
        match self.output {
            BatchOutput::Prediction(output) => Box::new(BatchPredictions::new(output)),
            BatchOutput::Explanation(explanation) => Box::new(BatchExplanations::new(explanation)),
        }
    }
}

pub(crate) struct BatchPredictor {
    function: BatchFunction,
    model: Rc<str>,
    bound: Option<BoundModel>,
}

/// A model, and the buffers for rows of it.
struct BoundModel {
    predictor: Predictor,
    evaluation: Box<dyn BatchEvaluation>,
    features: Vec<f32>,
    read: Vec<usize>,
}

impl BatchPredictor {
    pub(crate) fn new(function: BatchFunction, model: Rc<str>) -> BatchPredictor {
        BatchPredictor { function, model, bound: None }
    }

    /// Describes the model as `name@version` with the query's alias, or by the query's name if the current user may
    /// not use it.
    pub(crate) fn described(&self, function: Oid) -> String {
        let reference = Reference::parse(&self.model);
        match (cache::resolve(&self.model, function), reference) {
            (Ok(resolved), Ok(Reference { name, wanted: Wanted::Alias(alias) })) => {
                format!("{name}@{} ({alias})", resolved.identity.version)
            }
            (Ok(resolved), Ok(Reference { name, .. })) => {
                format!("{name}@{}", resolved.identity.version)
            }
            _ => self.model.to_string(),
        }
    }

    pub(crate) fn has_categories(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| bound.predictor.image().has_categories())
    }

    /// Returns the bytes of a row, 0 before the model is known.
    pub(crate) fn row_bytes(&self) -> usize {
        self.bound.as_ref().map_or(0, |bound| {
            let features = size_of::<f32>() * bound.predictor.image().row_length();
            features + bound.evaluation.row_bytes(&bound.predictor) + size_of::<usize>()
        })
    }

    /// Looks up the model. If it cannot be used, the error is left for the execution.
    pub(crate) fn prepare(&mut self, call: Arguments<'_>) {
        let _ = self.bind(call);
    }

    /// Reads the features of rows whose arguments the closure returns. None are read if the model
    /// cannot be used.
    pub(crate) fn read<G: ArgSource>(
        &mut self,
        call: Arguments<'_>,
        rows: usize,
        source: impl FnMut(usize) -> G,
    ) {
        if self.bind(call).is_ok()
            && let Some(bound) = &mut self.bound
        {
            bound.read_features(rows, source);
        }
    }

    /// Evaluates rows whose arguments behind the first, or the parts of the only one, are these numbers, row by row:
    /// of type real, NaN for NULL. Stores the results as [`BatchPredictor::put_results`] does; returns false if
    /// the features cannot be copied from them.
    pub(crate) fn put_results_of(
        &mut self,
        call: Arguments<'_>,
        reals: &[f32],
        results: &mut [Option<Datum>],
    ) -> bool {
        if self.bind(call).is_err() {
            return false;
        }
        let Some(BoundModel { predictor, evaluation, features, read }) = &mut self.bound else {
            return false;
        };
        let width = predictor.image().num_features();
        let given = reals.len() / results.len().max(1);
        predictor.start_clock();
        let features = if predictor.takes_reals() && given == width {
            reals
        } else if let Some(first) = predictor.first_real(given) {
            let parts = reals.chunks_exact(given.max(1));
            features.clear();
            parts.for_each(|row| {
                features.extend_from_slice(row.get(first..first + width).unwrap_or_default());
            });
            features
        } else {
            return false;
        };
        read.clear();
        read.extend(0..results.len());
        evaluation.put_results(predictor, features, read, results);
        predictor.count_batch(features);
        true
    }

    /// Evaluates the rows that were read, and stores their results. A row that could not be read, or has no
    /// result, keeps the previous value.
    pub(crate) fn put_results(&mut self, results: &mut [Option<Datum>]) {
        if let Some(bound) = &mut self.bound {
            let BoundModel { predictor, evaluation, features, read } = bound;
            evaluation.put_results(predictor, features, read, results);
            predictor.count_batch(features);
        }
    }

    /// Binds the model that the name means now; none if it cannot be
    /// used.
    fn bind(&mut self, arguments: Arguments<'_>) -> Result<()> {
        if self.bound.as_ref().is_some_and(|bound| bound.predictor.holds(&self.model)) {
            return Ok(());
        }
        self.end();
        let predictor =
            self.function.begin(arguments, &self.model, &mut ReusableState::default())?;
        let evaluation = self.function.evaluation();
        let (features, read) = Default::default();
        self.bound = Some(BoundModel { predictor, evaluation, features, read });
        Ok(())
    }

    fn end(&mut self) {
        if let Some(bound) = self.bound.take() {
            bound.predictor.end();
        }
    }
}

impl Drop for BatchPredictor {
    fn drop(&mut self) {
        self.end();
    }
}

impl BoundModel {
    /// Reads the features of all rows with valid ones.
    fn read_features<G: ArgSource>(&mut self, rows: usize, mut source: impl FnMut(usize) -> G) {
        self.predictor.start_clock();
        let width = self.predictor.image().row_length();
        self.features.resize(rows * width, 0.0);
        self.read.clear();
        for row in 0..rows {
            let first = self.read.len() * width;
            let Some(features) = self.features.get_mut(first..first + width) else { return };
            if self.predictor.read_into(source(row), features).is_ok() {
                self.read.push(row);
            }
        }
        self.features.truncate(self.read.len() * width);
    }
}

/// An evaluation of rows, with its buffers.
pub(crate) trait BatchEvaluation {
    /// Returns the bytes of a row with its result.
    fn row_bytes(&self, predictor: &Predictor) -> usize;

    /// Stores the result of each row of `features` at the place in `read`. A row without a result keeps the
    /// previous value.
    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    );
}

pub(crate) struct BatchPredictions {
    output: Output,
    scratch: PooledScratch,
    margins: Margins,
}

/// The engine's buffers: the backend's, which all batches and statements use one after another, or larger ones that are
/// freed with the statement.
#[derive(Default)]
pub(crate) struct PooledScratch(Option<Box<BatchScratch>>);

/// The largest buffers that a backend keeps.
const MAX_IDLE_BYTES: usize = 2 << 20;

thread_local! {
    /// The backend's buffers, whose allocation takes as long as predicting dozens of rows.
    static IDLE: Cell<Option<Box<BatchScratch>>> = const { Cell::new(None) };
}

impl PooledScratch {
    /// Lends the buffers for an evaluation.
    fn lend<T>(&mut self, evaluate: impl FnOnce(&mut BatchScratch) -> T) -> T {
        let kernel = guc::kernel();
        let kept = self.0.take().or_else(|| IDLE.take());
        let mut scratch = kept
            .filter(|scratch| scratch.kernel() == kernel)
            .unwrap_or_else(|| Box::new(BatchScratch::for_any(kernel)));
        let evaluated = evaluate(&mut scratch);
        if scratch.bytes() <= MAX_IDLE_BYTES {
            IDLE.set(Some(scratch));
        } else {
            self.0 = Some(scratch);
        }
        evaluated
    }
}

impl BatchPredictions {
    pub(crate) fn new(output: Output) -> Self {
        BatchPredictions { output, scratch: PooledScratch::default(), margins: Margins::default() }
    }
}

impl BatchEvaluation for BatchPredictions {
    fn row_bytes(&self, predictor: &Predictor) -> usize {
        let image = predictor.image();
        let margin = match image.sum_precision() {
            Precision::Single => size_of::<f32>(),
            Precision::Double => size_of::<f64>(),
        };
        margin * image.num_outputs()
    }

    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    ) {
        let image = predictor.image();
        let BatchPredictions { output, scratch, margins } = self;
        margins.fit(image, read.len());
        match margins {
            Margins::Single(margins) => {
                if evaluate_margins(image, scratch, features, margins).is_ok() {
                    put_results(predictor, *output, read, margins, results);
                }
            }
            Margins::Double(margins) => {
                if evaluate_margins(image, scratch, features, margins).is_ok() {
                    put_results(predictor, *output, read, margins, results);
                }
            }
        }
    }
}

/// Evaluates the margins of rows, and checks for interrupts between pieces of them.
pub(crate) fn evaluate_margins<M: Margin>(
    image: &ModelImage,
    scratch: &mut PooledScratch,
    features: &[f32],
    margins: &mut [M],
) -> Result<()> {
    let (width, outputs) = (image.row_length().max(1), image.num_outputs().max(1));
    let rows_per_call = image.rows_per_call();
    let parts = features.chunks(rows_per_call * width);
    scratch.lend(|scratch| {
        for (features, margins) in parts.zip(margins.chunks_mut(rows_per_call * outputs)) {
            check_for_interrupts();
            image.margins_batch(scratch, features, margins)?;
        }
        Ok(())
    })
}

/// Stores the results of the rows that were read.
fn put_results<M: Margin + PartialOrd>(
    predictor: &Predictor,
    output: Output,
    read: &[usize],
    margins: &mut [M],
    results: &mut [Option<Datum>],
) {
    let image = predictor.image();
    let outputs = image.num_outputs().max(1);
    if matches!(output, Output::Value { .. }) && outputs == 1 && image.values_are_margins() {
        for (row, margin) in read.iter().zip(margins) {
            if let Some(result) = results.get_mut(*row) {
                *result = Some(output::real(margin.single()));
            }
        }
        return;
    }
    for (row, margins) in read.iter().zip(margins.chunks_mut(outputs)) {
        if let Some(result) = results.get_mut(*row) {
            *result = output.of(predictor, margins).ok();
        }
    }
}

/// The most numbers of explanations that are computed at once.
const MAX_NUMBERS: usize = 1 << 20;

pub(crate) struct BatchExplanations {
    explanation: Explanation,
    numbers: Vec<f32>,
}

impl BatchExplanations {
    pub(crate) fn new(explanation: Explanation) -> Self {
        BatchExplanations { explanation, numbers: Vec::new() }
    }
}

impl BatchEvaluation for BatchExplanations {
    fn row_bytes(&self, predictor: &Predictor) -> usize {
        // In the buffer and in the result.
        2 * size_of::<f32>() * self.explanation.numbers(predictor.image())
    }

    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    ) {
        let BatchExplanations { explanation, numbers } = self;
        let image = predictor.image();
        let (width, row_length) = (explanation.numbers(image), image.row_length());
        if width > MAX_NUMBERS {
            // A copy would take as much memory again as the result.
            for (row, features) in read.iter().zip(features.chunks(row_length.max(1))) {
                let array = explanation.of_row(predictor, features);
                if let (Some(result), Ok(array)) = (results.get_mut(*row), array) {
                    *result = Some(array.into_datum());
                }
            }
            return;
        }
        let rows_per_call = MAX_NUMBERS / width;
        let parts = features.chunks(rows_per_call * row_length.max(1));
        for (features, read) in parts.zip(read.chunks(rows_per_call)) {
            numbers.clear();
            // If there is no memory, the function itself reports it.
            if numbers.try_reserve(read.len() * width).is_err() {
                return;
            }
            numbers.resize(read.len() * width, 0.0);
            if explanation.explain(predictor, features, numbers).is_err() {
                return;
            }
            for (row, numbers) in read.iter().zip(numbers.chunks(width)) {
                if let (Some(result), Ok(mut array)) =
                    (results.get_mut(*row), explanation.array(predictor))
                {
                    array.elements().copy_from_slice(numbers);
                    *result = Some(array.into_datum());
                }
            }
        }
    }
}
