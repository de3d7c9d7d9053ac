//! The engine for Python: the module `gbtrees._gbtrees`, on which the package's own modules build.
//!
//! An `Engine` is a loaded model. Rows come as arrays of NumPy, which are read in place, and results go
//! as such. Threads run where a call asks for them; the interpreter is released for all but small calls.

mod rows;
mod threads;

use std::cell::Cell;

use gbtrees::{
    Buffers, Cancel, Category, ImportanceKind, Limits, LoadOptions, Number, Output, Predictor,
    Rows, sql,
};
use numpy::ndarray::Array2;
use numpy::{Element, PyArray2};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyString};

use crate::rows::Given;
use crate::threads::{Interrupts, Work, run};

create_exception!(
    gbtrees,
    GbtreesError,
    PyValueError,
    "Any error of this package: a model that is not read, or rows that do not fit it."
);

/// Returns an exception of Python for an error of the engine.
fn raised(error: &gbtrees::Error) -> PyErr {
    match error.hint() {
        Some(hint) => GbtreesError::new_err(format!("{error}\n{hint}")),
        None => GbtreesError::new_err(error.to_string()),
    }
}

thread_local! {
    /// Buffers of this thread, of whatever model it predicted last.
    static BUFFERS: Cell<Option<Buffers>> = const { Cell::new(None) };
}

/// Calls a function with a predictor that has this thread's buffers.
fn with_predictor<R>(model: &gbtrees::Model, call: impl FnOnce(&mut Predictor<'_>) -> R) -> R {
    let mut predictor = model.predictor_with(BUFFERS.take().unwrap_or_default());
    let result = call(&mut predictor);
    BUFFERS.set(Some(predictor.into_buffers()));
    result
}

/// A loaded model.
#[pyclass(frozen, module = "gbtrees._gbtrees")]
struct Engine {
    model: gbtrees::Model,
}

/// Kinds of explanations, and rows in one piece of work: between two of them a call can be interrupted.
#[derive(Clone, Copy)]
enum Explained {
    Contributions,
    Interactions,
}

impl Explained {
    fn rows_at_once(self) -> usize {
        match self {
            Explained::Contributions => 256,
            Explained::Interactions => 32,
        }
    }
}

/// Rows in one piece of work; a multiple of the kernels' blocks.
const PREDICTED: usize = 2048;
/// Rows times trees up to which a call keeps the interpreter: it takes some ten microseconds.
const SMALL: usize = 20_000;

#[pymethods]
impl Engine {
    /// Loads a model file of any format.
    #[new]
    #[pyo3(signature = (content, rounds, feature_names, labels))]
    fn new(
        py: Python<'_>,
        content: &Bound<'_, PyBytes>,
        rounds: Option<usize>,
        feature_names: Option<Vec<String>>,
        labels: Vec<String>,
    ) -> PyResult<Self> {
        let given = FileOptions { rounds, feature_names, labels };
        let model = given.reading(py, content, gbtrees::Model::load_with)?;
        Ok(Engine { model })
    }

    /// Predicts rows: 0 for values, 1 for margins, 2 for numbers of classes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        output: u8,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let output = match output {
            0 => Output::Value,
            1 => Output::Margin,
            _ => Output::Class,
        };
        let given = Given::new(rows)?;
        match (&given, self.model.has_double_results()) {
            (Given::Single(given), false) => {
                self.predicted::<_, f32>(py, given.rows()?, output, threads)
            }
            (Given::Single(given), true) => {
                self.predicted::<_, f64>(py, given.rows()?, output, threads)
            }
            (Given::Double(given), false) => {
                self.predicted::<_, f32>(py, given.rows()?, output, threads)
            }
            (Given::Double(given), true) => {
                self.predicted::<_, f64>(py, given.rows()?, output, threads)
            }
        }
    }

    /// Computes SHAP values, or their interactions.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        interactions: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = if interactions { Explained::Interactions } else { Explained::Contributions };
        match Given::new(rows)? {
            Given::Single(given) => self.explained(py, given.rows()?, kind, threads),
            Given::Double(given) => self.explained(py, given.rows()?, kind, threads),
        }
    }

    /// Finds each row's leaf in every tree.
    fn leaves<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        match Given::new(rows)? {
            Given::Single(given) => self.found_leaves(py, given.rows()?, threads),
            Given::Double(given) => self.found_leaves(py, given.rows()?, threads),
        }
    }

    /// Returns the number of a category in a row, or None.
    fn category(&self, feature: usize, value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_cow()?;
            return Ok(self.model.category(feature, Category::Text(&text)));
        }
        if !value.is_instance_of::<PyFloat>()
            && let Some(number) = whole(value)
        {
            return Ok(self.model.category(feature, Category::Integer(number)));
        }
        let number = value.extract::<f64>().map_err(|_| {
            let kind = value.get_type();
            GbtreesError::new_err(format!("a category is a text or a number, not a {kind}"))
        })?;
        Ok(self.model.category(feature, Category::Float(number)))
    }

    /// Returns the importance of each feature, or None where the file lacks the numbers.
    fn importance(&self, kind: &str) -> PyResult<Option<Vec<f32>>> {
        let mut kinds = ImportanceKind::NAMES.into_iter();
        let Some((kind, _)) = kinds.find(|(_, name)| *name == kind) else {
            let names = ImportanceKind::NAMES.map(|(_, name)| name).join(", ");
            return Err(GbtreesError::new_err(format!("{kind:?} is none of {names}")));
        };
        Ok(self.model.importance(kind).map(<[f32]>::to_vec))
    }

    #[getter]
    fn num_features(&self) -> usize {
        self.model.num_features()
    }

    #[getter]
    fn num_outputs(&self) -> usize {
        self.model.num_outputs()
    }

    #[getter]
    fn num_trees(&self) -> usize {
        self.model.num_trees()
    }

    #[getter]
    fn num_values(&self) -> usize {
        self.model.width(Output::Value)
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.model.format()
    }

    #[getter]
    fn objective(&self) -> &str {
        self.model.objective()
    }

    #[getter]
    fn feature_names(&self) -> Vec<&str> {
        self.model.feature_names().collect()
    }

    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.model.labels().collect()
    }

    #[getter]
    fn compares_doubles(&self) -> bool {
        self.model.compares_doubles()
    }

    #[getter]
    fn has_classes(&self) -> bool {
        self.model.has_classes()
    }

    #[getter]
    fn predicts_probabilities(&self) -> bool {
        self.model.predicts_probabilities()
    }

    /// The features of categories, those whose categories the file has, and those whose values a matrix has.
    #[getter]
    fn categorical(&self) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let of = |is: &dyn Fn(usize) -> bool| {
            (0..self.model.num_features()).filter(|feature| is(*feature)).collect()
        };
        (
            of(&|feature| self.model.is_categorical(feature)),
            of(&|feature| self.model.has_categories(feature)),
            of(&|feature| self.model.takes_value(feature)),
        )
    }
}

impl Engine {
    fn predicted<'py, T: Number + Sync, M: Number + Element>(
        &self,
        py: Python<'py>,
        rows: Rows<'_, T>,
        output: Output,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_small = rows.shape()[0].saturating_mul(self.model.num_trees()) <= SMALL;
        let work = Work { at_once: PREDICTED, width: self.model.width(output), threads, is_small };
        self.filled(py, &rows, M::of(0.0), &work, |predictor, rows, out| {
            predictor.predict_into(rows, output, out)
        })
    }

    fn explained<'py, T: Number + Sync>(
        &self,
        py: Python<'py>,
        rows: Rows<'_, T>,
        kind: Explained,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let columns = self.model.num_features() + 1;
        let per_output = match kind {
            Explained::Contributions => columns,
            Explained::Interactions => columns.saturating_mul(columns),
        };
        let width = self.model.num_outputs().saturating_mul(per_output);
        let work = Work { at_once: kind.rows_at_once(), width, threads, is_small: false };
        self.filled(py, &rows, 0.0f32, &work, |predictor, rows, out| match kind {
            Explained::Contributions => predictor.contributions_into(rows, out),
            Explained::Interactions => predictor.interactions_into(rows, out),
        })
    }

    fn found_leaves<'py, T: Number + Sync>(
        &self,
        py: Python<'py>,
        rows: Rows<'_, T>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let width = self.model.num_trees();
        let work = Work { at_once: PREDICTED, width, threads, is_small: false };
        self.filled(py, &rows, 0u32, &work, |predictor, rows, out| {
            out.copy_from_slice(&predictor.leaves(rows)?);
            Ok(())
        })
    }

    /// Returns an array of `width` numbers per row.
    fn filled<'py, T: Number + Sync, M: Element + Copy + Send>(
        &self,
        py: Python<'py>,
        rows: &Rows<'_, T>,
        zero: M,
        work: &Work,
        fill: impl Fn(&mut Predictor<'_>, &Rows<'_, T>, &mut [M]) -> gbtrees::Result<()> + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let count = rows.shape()[0];
        let too_large = || GbtreesError::new_err("there is no memory for the results");
        let size = count.checked_mul(work.width).ok_or_else(too_large)?;
        let mut out = Vec::new();
        out.try_reserve_exact(size).map_err(|_| too_large())?;
        out.resize(size, zero);
        // Even of no rows, the number of columns is checked.
        if count == 0 {
            with_predictor(&self.model, |predictor| fill(predictor, rows, &mut out))
                .map_err(|error| raised(&error))?;
        }
        run(py, work, &mut out, |range, out| {
            with_predictor(&self.model, |predictor| fill(predictor, &rows.range(range), out))
        })?;
        let out = Array2::from_shape_vec((count, work.width), out).map_err(|_| too_large())?;
        Ok(PyArray2::from_owned_array(py, out).into_any())
    }
}

/// Returns an integer, or a decimal that is whole, with all of its digits.
fn whole(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.extract().ok().or_else(|| {
        let ratio = value.call_method0("as_integer_ratio").ok()?;
        let (number, 1) = ratio.extract::<(i64, i64)>().ok()? else { return None };
        Some(number)
    })
}

/// Options of reading a file.
struct FileOptions {
    rounds: Option<usize>,
    feature_names: Option<Vec<String>>,
    labels: Vec<String>,
}

impl FileOptions {
    /// Reads a file without the interpreter, until Ctrl-C.
    fn reading<R: Send>(
        self,
        py: Python<'_>,
        content: &Bound<'_, PyBytes>,
        read: impl FnOnce(&[u8], &LoadOptions<'_>) -> gbtrees::Result<R> + Send,
    ) -> PyResult<R> {
        let content = content.as_bytes();
        let interrupts = Interrupts::default();
        let read = py.detach(|| {
            let stops = || interrupts.came();
            // Above the engine's own, which are for servers.
            let limits = Limits::default().with_bytes(2 << 30).with_nodes(128 << 20);
            let mut options = LoadOptions::new().limits(limits).cancel(Cancel::when(&stops));
            options.rounds = self.rounds;
            options.feature_names = self.feature_names;
            options.labels = self.labels;
            read(content, &options)
        });
        interrupts.raise()?;
        read.map_err(|error| raised(&error))
    }
}

/// Writes a model's file as a script of SQL functions: by name, schema, version and the meaning of unknown
/// categories.
#[pyfunction]
fn to_sql(
    py: Python<'_>,
    content: &Bound<'_, PyBytes>,
    rounds: Option<usize>,
    feature_names: Option<Vec<String>>,
    labels: Vec<String>,
    options: (String, String, Option<u32>, String),
) -> PyResult<String> {
    let (name, schema, version, unknown) = options;
    let unknown_category = match unknown.as_str() {
        "error" => sql::UnknownCategory::Error,
        "missing" => sql::UnknownCategory::Missing,
        _ => {
            let message = format!("unknown_category is {unknown:?}, not 'error' or 'missing'");
            return Err(GbtreesError::new_err(message));
        }
    };
    let mut options = sql::Options::new(name).schema(schema).unknown_category(unknown_category);
    options.version = version;
    let given = FileOptions { rounds, feature_names, labels };
    given.reading(py, content, |content, load| sql::export(content, load, &options))
}

/// The engine's part of the package `gbtrees`.
#[pymodule]
fn _gbtrees(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GbtreesError", module.py().get_type::<GbtreesError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(to_sql, module)?)?;
    module.add_class::<Engine>()
}
