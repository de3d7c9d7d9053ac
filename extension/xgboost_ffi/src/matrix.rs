//! Quantile matrices: libxgboost's form of training rows, a byte or two per value.
//!
//! libxgboost reads the rows four times, batch by batch: for their shape, for quantiles, and for two
//! forms of the index; it never keeps them as floats. It calls back for them
//! (`XGQuantileDMatrixCreateFromCallback` in src/c_api/c_api.cc): an error there ends the rows, and is
//! returned once libxgboost has returned.
//!
//! Memory is described by numpy's array interface, as JSON. A batch is a run of records of equal
//! length, each a row's features followed by its label and further numbers, all of four bytes. With
//! strides libxgboost reads values in place, so nothing is copied between records and matrix.

use std::ffi::{CStr, c_int};
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};
use crate::{Handle, Library, c_text, count, pointers};

/// Rows that can be read repeatedly, in the same order.
pub trait Rows {
    /// Returns to the first row.
    ///
    /// # Errors
    /// [`Error::Rows`].
    fn rewind(&mut self) -> Result<()>;

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Rows`].
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>>;
}

/// A feature's name, XGBoost type, and categories, if any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// The name.
    pub name: String,
    /// `float`, `int`, `i` for a boolean, or `c`.
    pub kind: String,
    /// Names of the categories in code order.
    pub categories: Option<Vec<String>>,
}

impl Feature {
    /// Returns whether XGBoost's Python package accepts the name: it refuses data, and model files,
    /// with others (`feature_names` in python-package/xgboost/core.py).
    pub fn is_named_plainly(&self) -> bool {
        !self.name.contains(['[', ']', '<'])
    }
}

/// The meaning of a record's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of features, which come first.
    pub features: usize,
    /// The target, unless there are bounds.
    pub label: Option<usize>,
    /// The lower and upper bound of a survival time.
    pub bounds: Option<(usize, usize)>,
    /// The weight of the row, or of its group.
    pub weight: Option<usize>,
    /// Words per record.
    pub record: usize,
}

/// Options of a matrix.
#[derive(Clone, Copy)]
pub struct MatrixOptions<'a> {
    /// The meaning of a record's words.
    pub layout: Layout,
    /// The features: `features.len() == layout.features`.
    pub features: &'a [Feature],
    /// Maximum bins per feature.
    pub max_bin: u32,
    /// Maximum threads.
    pub threads: usize,
}

/// A matrix.
pub struct Matrix {
    library: &'static Library,
    handle: Handle,
}

impl Matrix {
    /// Creates a matrix of rows. One for evaluation uses the cuts of the training matrix.
    ///
    /// # Errors
    /// Data that libxgboost refuses: infinite values, labels outside of the objective's domain.
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
        // SAFETY: the handles are valid; the iterator is alive and not used elsewhere during the call,
        // and the callbacks get the pointers passed here.
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

    /// Creates a matrix without rows, for rows that libxgboost reads in place.
    pub fn proxy(library: &'static Library) -> Result<Matrix> {
        let mut handle = ptr::null_mut();
        // SAFETY: the result is writable.
        library.call(|symbols| unsafe { (symbols.XGProxyDMatrixCreate)(&mut handle) })?;
        Ok(Matrix { library, handle })
    }

    /// Sets the groups of rows: `sizes.len() == weights.len()`, or there are no weights. Rows had their
    /// groups' weights while cuts were chosen; now weights are by group.
    pub fn set_groups(&self, sizes: &[u32], weights: &[f32]) -> Result<()> {
        self.set(c"group", &array(sizes, "<u4"))?;
        if weights.is_empty() {
            return Ok(());
        }
        self.set(c"weight", &array(weights, "<f4"))
    }

    fn set(&self, field: &CStr, interface: &str) -> Result<()> {
        let interface = c_text(interface);
        // SAFETY: the handle is valid, and the interface describes memory that the caller keeps.
        self.library.call(|symbols| unsafe {
            (symbols.XGDMatrixSetInfoFromInterface)(self.handle, field.as_ptr(), interface.as_ptr())
        })
    }

    /// Passes a batch to the proxy. libxgboost reads it until it requests the next one, and the batch
    /// lives as long.
    fn show(
        &self,
        batch: Batch<'_>,
        options: MatrixOptions<'_>,
        categories: &[Option<CategoryNames>],
    ) -> Result<()> {
        if categories.iter().any(Option::is_some) {
            let columns = c_text(&batch.columns(categories.iter().map(Option::as_ref)));
            // SAFETY: the proxy and the described memory are valid.
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
        // SAFETY: the proxy is valid, and the number of texts is passed.
        self.library.call(|symbols| unsafe {
            (symbols.XGDMatrixSetStrFeatureInfo)(
                self.handle,
                c"feature_type".as_ptr(),
                list.as_ptr(),
                count(list.len()),
            )
        })
    }

    /// Returns the handle.
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, and does not use it again. A failure would mean an
        // invalid handle, and cannot be handled.
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
    /// Names of categories by feature.
    categories: Vec<Option<CategoryNames>>,
    /// The error that ended the iteration.
    error: Option<Error>,
}

impl BatchIterator<'_> {
    /// Passes the next batch to the proxy; returns whether there is one.
    fn step(&mut self) -> Result<bool> {
        let Some(batch) = self.rows.next_batch()? else { return Ok(false) };
        self.proxy.show(batch, self.options, &self.categories)?;
        Ok(true)
    }
}

/// # Safety
/// Called by libxgboost with the iterator passed to it.
unsafe extern "C" fn reset(iterator: Handle) {
    // SAFETY: libxgboost passes the iterator from `of_rows`.
    let iterator = unsafe { &mut *iterator.cast::<BatchIterator<'_>>() };
    if let Err(error) = iterator.rows.rewind() {
        iterator.error = Some(error);
    }
}

/// # Safety
/// Called by libxgboost with the iterator passed to it.
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

/// Bytes of a feature, a label or a weight.
const WORD: usize = size_of::<f32>();

/// A run of records.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The records' words.
    pub words: &'a [f32],
    /// Words per record.
    pub record: usize,
}

impl Batch<'_> {
    /// Returns the number of records.
    pub fn rows(&self) -> usize {
        self.words.len().checked_div(self.record).unwrap_or(0)
    }

    /// Describes the first `columns` words of each record as a table.
    pub fn table(&self, columns: usize) -> String {
        let shape = format!("{},{columns}", self.rows());
        interface(self.words, &shape, &format!("[{},{WORD}]", self.record * WORD), "<f4")
    }

    /// Describes one word of each record as a column.
    pub fn column(&self, at: usize) -> String {
        let words = self.words.get(at..).unwrap_or_default();
        let stride = format!("[{}]", self.record * WORD);
        interface(words, &self.rows().to_string(), &stride, "<f4")
    }

    /// Describes the first words of each record as columns, some of them category codes.
    pub fn columns<'c>(
        &self,
        categories: impl Iterator<Item = Option<&'c CategoryNames>>,
    ) -> String {
        let column = |(at, names): (usize, Option<&CategoryNames>)| match names {
            Some(names) => format!("[{},{}]", names.interface(), self.column(at)),
            None => self.column(at),
        };
        let columns: Vec<_> = categories.enumerate().map(column).collect();
        format!("[{}]", columns.join(","))
    }
}

/// Describes a plain array of numbers with numpy's name of the type.
pub(crate) fn array<T>(values: &[T], type_name: &str) -> String {
    interface(values, &values.len().to_string(), "null", type_name)
}

fn interface<T>(values: &[T], shape: &str, strides: &str, type_name: &str) -> String {
    let address = values.as_ptr().addr();
    format!(
        "{{\"data\":[{address},true],\"shape\":[{shape}],\"strides\":{strides},\
         \"typestr\":\"{type_name}\",\"version\":3}}"
    )
}

/// Names of a feature's categories in code order, in Arrow's layout of text.
pub struct CategoryNames {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl CategoryNames {
    /// Concatenates the names; `None` if they have more bytes than an offset can count.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<CategoryNames> {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for name in names {
            bytes.extend_from_slice(name.as_bytes());
            offsets.push(i32::try_from(bytes.len()).ok()?);
        }
        Some(CategoryNames { offsets, bytes })
    }

    fn interface(&self) -> String {
        let (offsets, values) = (array(&self.offsets, "<i4"), array(&self.bytes, "|i1"));
        format!("{{\"offsets\":{offsets},\"values\":{values}}}")
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_label_follows_the_features() {
        let words = [1.0, 2.0, 9.0, 3.0, 4.0, 8.0];
        let batch = Batch { words: &words, record: 3 };
        assert_eq!(batch.rows(), 2);
        let address = words.as_ptr().addr() + 8;
        let expected = format!("[{address},true],\"shape\":[2],\"strides\":[12]");
        assert!(batch.column(2).contains(&expected));
    }

    #[test]
    fn names_are_concatenated() {
        let names = CategoryNames::new(["ab", "", "c"]).unwrap();
        assert_eq!(names.offsets, [0, 2, 2, 3]);
        assert_eq!(names.bytes, b"abc");
    }
}
