//! A quantile matrix: the rows as libxgboost trains on them, a byte or two per value.
//!
//! libxgboost asks for the rows four times, batch by batch: for their shape, for quantiles, and for
//! two forms of the index; it never holds them as floats. It asks through callbacks
//! (`XGQuantileDMatrixCreateFromCallback`, src/c_api/c_api.cc): an error there ends the rows, and is
//! returned when libxgboost has returned.

use std::ffi::{CStr, c_int};
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::array_interface::{self, Batch, CategoryNames};
use crate::error::{Error, Result};
use crate::library::{Library, c_text, pointers};
use crate::symbols::{Handle, count};

/// Rows that can be read again from the start, in the same order.
pub trait Rows {
    /// Goes back to the first row.
    ///
    /// # Errors
    /// [`Error::Rows`].
    fn rewind(&mut self) -> Result<()>;

    /// The next rows; nothing at the end.
    ///
    /// # Errors
    /// [`Error::Rows`].
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>>;
}

/// A feature's name, its type as XGBoost calls it, and its categories if it has such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// The name.
    pub name: String,
    /// `float`, `int`, `i` for a boolean, or `c`.
    pub kind: String,
    /// The names of the categories, in the order of their codes.
    pub categories: Option<Vec<String>>,
}

impl Feature {
    /// Whether XGBoost in Python takes the name: it refuses data with others, and a model whose file has
    /// them (`feature_names` in python-package/xgboost/core.py).
    pub fn is_named_plainly(&self) -> bool {
        !self.name.contains(['[', ']', '<'])
    }
}

/// Where the words of a record belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of features; they come first.
    pub features: usize,
    /// The target, unless there are bounds instead.
    pub label: Option<usize>,
    /// The lower and the upper bound of a time of survival.
    pub bounds: Option<(usize, usize)>,
    /// The weight of the row, or of its group.
    pub weight: Option<usize>,
    /// Words per record.
    pub record: usize,
}

/// How a matrix is made.
#[derive(Clone, Copy)]
pub struct MatrixOptions<'a> {
    /// Where the words of a record belong.
    pub layout: Layout,
    /// The features: `features.len() == layout.features`.
    pub features: &'a [Feature],
    /// Most bins per feature.
    pub max_bin: u32,
    /// Most threads.
    pub threads: usize,
}

/// The matrix.
pub struct Matrix {
    library: &'static Library,
    handle: Handle,
}

impl Matrix {
    /// Makes one of the rows. One for evaluation takes the cuts of the training rows' matrix.
    ///
    /// # Errors
    /// What libxgboost refuses: infinite values, labels that the objective cannot have.
    pub fn of_rows(
        library: &'static Library,
        rows: &mut dyn Rows,
        options: MatrixOptions<'_>,
        cuts_of: Option<&Matrix>,
    ) -> Result<Matrix> {
        let proxy = Matrix::proxy(library)?;
        let config = c_text(&format!(
            "{{\"missing\":NaN,\"nthread\":{},\"max_bin\":{}}}",
            options.threads, options.max_bin
        ));
        let reference = cuts_of.map_or(ptr::null_mut(), |matrix| matrix.handle);
        let categories = options.features.iter().map(category_names).collect::<Result<_>>()?;
        let mut iterator = BatchIterator { proxy: &proxy, rows, options, categories, error: None };
        let mut handle = ptr::null_mut();
        // SAFETY: the handles are valid; the iterator is alive and used by nobody else while
        // the call lasts, and the callbacks take what they are given here.
        let made = library.call(|symbols| unsafe {
            (symbols.XGQuantileDMatrixCreateFromCallback)(
                ptr::from_mut(&mut iterator).cast(),
                proxy.handle,
                reference,
                reset,
                next,
                config.as_ptr(),
                &mut handle,
            )
        });
        let matrix = made.map(|()| Matrix { library, handle });
        iterator.error.map_or(matrix, Err)
    }

    /// A matrix without rows, for rows that libxgboost reads in place.
    pub fn proxy(library: &'static Library) -> Result<Matrix> {
        let mut handle = ptr::null_mut();
        // SAFETY: the place for the handle is valid.
        library.call(|symbols| unsafe { (symbols.XGProxyDMatrixCreate)(&mut handle) })?;
        Ok(Matrix { library, handle })
    }

    /// Sets the groups of rows: `sizes.len() == weights.len()`, or there are no weights. Rows have had the
    /// weights of their groups, by which the cuts were chosen; now they are set by group.
    pub fn set_groups(&self, sizes: &[u32], weights: &[f32]) -> Result<()> {
        self.set(c"group", &array_interface::array(sizes, "<u4"))?;
        if weights.is_empty() {
            return Ok(());
        }
        self.set(c"weight", &array_interface::array(weights, "<f4"))
    }

    fn set(&self, field: &CStr, interface: &str) -> Result<()> {
        let interface = c_text(interface);
        // SAFETY: the handle is valid, and the interface describes memory that the caller holds.
        self.library.call(|symbols| unsafe {
            (symbols.XGDMatrixSetInfoFromInterface)(self.handle, field.as_ptr(), interface.as_ptr())
        })
    }

    /// Puts a batch before the proxy. libxgboost reads it until it asks for the next one, and the
    /// batch lives as long.
    fn show(
        &self,
        batch: Batch<'_>,
        options: MatrixOptions<'_>,
        categories: &[Option<CategoryNames>],
    ) -> Result<()> {
        if categories.iter().any(Option::is_some) {
            let columns = c_text(&batch.columns(categories.iter().map(Option::as_ref)));
            // SAFETY: the proxy is valid, and so is the memory that the text describes.
            self.library.call(|symbols| unsafe {
                (symbols.XGProxyDMatrixSetDataColumnar)(self.handle, columns.as_ptr())
            })?;
        } else {
            let table = c_text(&batch.table(options.layout.features));
            // SAFETY: as above.
            self.library.call(|symbols| unsafe {
                (symbols.XGProxyDMatrixSetDataDense)(self.handle, table.as_ptr())
            })?;
        }
        self.set_types(options.features)?;
        let Layout { label, bounds, weight, .. } = options.layout;
        for (field, position) in [
            (c"label", label),
            (c"label_lower_bound", bounds.map(|bounds| bounds.0)),
            (c"label_upper_bound", bounds.map(|bounds| bounds.1)),
            (c"weight", weight),
        ] {
            if let Some(position) = position {
                self.set(field, &batch.column(position))?;
            }
        }
        Ok(())
    }

    fn set_types(&self, features: &[Feature]) -> Result<()> {
        let kinds: Vec<_> = features.iter().map(|feature| c_text(&feature.kind)).collect();
        let list = pointers(&kinds);
        // SAFETY: the proxy is valid and the list has as many texts as it says.
        self.library.call(|symbols| unsafe {
            (symbols.XGDMatrixSetStrFeatureInfo)(
                self.handle,
                c"feature_type".as_ptr(),
                list.as_ptr(),
                count(list.len()),
            )
        })
    }

    /// The handle, for this crate's own calls.
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own and is not used again. There is nothing to be done
        // about a failure, which would mean that the handle was not valid.
        let _ = self.library.call(|symbols| unsafe { (symbols.XGDMatrixFree)(self.handle) });
    }
}

fn category_names(feature: &Feature) -> Result<Option<CategoryNames>> {
    let Some(names) = &feature.categories else { return Ok(None) };
    let names = CategoryNames::new(names.iter().map(String::as_str));
    names.map(Some).ok_or(Error::OutOfMemory)
}

/// The iterator that libxgboost drives.
struct BatchIterator<'a> {
    proxy: &'a Matrix,
    rows: &'a mut dyn Rows,
    options: MatrixOptions<'a>,
    /// By feature.
    categories: Vec<Option<CategoryNames>>,
    /// What ended the iteration early.
    error: Option<Error>,
}

impl BatchIterator<'_> {
    /// Puts the next batch before the proxy; whether there is one.
    fn step(&mut self) -> Result<bool> {
        let Some(batch) = self.rows.next_batch()? else { return Ok(false) };
        self.proxy.show(batch, self.options, &self.categories)?;
        Ok(true)
    }
}

/// # Safety
/// libxgboost calls it with the iterator that it was given.
unsafe extern "C" fn reset(iterator: Handle) {
    // SAFETY: libxgboost passes what it was given in `of_rows`.
    let iterator = unsafe { &mut *iterator.cast::<BatchIterator<'_>>() };
    if let Err(error) = iterator.rows.rewind() {
        iterator.error = Some(error);
    }
}

/// # Safety
/// libxgboost calls it with the iterator that it was given.
unsafe extern "C" fn next(iterator: Handle) -> c_int {
    // SAFETY: as in `reset`.
    let iterator = unsafe { &mut *iterator.cast::<BatchIterator<'_>>() };
    if iterator.error.is_some() {
        return 0;
    }
    match iterator.step() {
        Ok(more) => c_int::from(more),
        Err(error) => {
            iterator.error = Some(error);
            0
        }
    }
}
