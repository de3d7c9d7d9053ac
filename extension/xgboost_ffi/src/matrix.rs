//! A quantile matrix: the rows as libxgboost trains on them, a byte or two per value.
//!
//! libxgboost asks for the rows four times, batch by batch: for their shape, for quantiles, and for
//! two forms of the index; it never keeps them as floats. It asks through callbacks
//! (`XGQuantileDMatrixCreateFromCallback`, src/c_api/c_api.cc): an error there ends the rows, and is
//! returned when libxgboost has returned.
//!
//! Memory is described to libxgboost by numpy's array interface, as JSON. A batch is a run of records of
//! equal length, each a row's features followed by its label and other numbers of the row, all of four bytes.
//! Strides let libxgboost read each value where it is, so nothing is copied on the way from a record to a
//! matrix.

use std::ffi::{CStr, c_int};
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};
use crate::{Handle, Library, c_text, count, pointers};

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
        self.set(c"group", &array(sizes, "<u4"))?;
        if weights.is_empty() {
            return Ok(());
        }
        self.set(c"weight", &array(weights, "<f4"))
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

/// Bytes of a feature, a label, a weight.
const WORD: usize = size_of::<f32>();

/// A run of records.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Their words.
    pub words: &'a [f32],
    /// Words per record.
    pub record: usize,
}

impl Batch<'_> {
    /// Number of records.
    pub fn rows(&self) -> usize {
        self.words.len().checked_div(self.record).unwrap_or(0)
    }

    /// The first `columns` words of each record, as a table.
    pub fn table(&self, columns: usize) -> String {
        let shape = format!("{},{columns}", self.rows());
        interface(self.words, &shape, &format!("[{},{WORD}]", self.record * WORD), "<f4")
    }

    /// One word of each record, as a column.
    pub fn column(&self, at: usize) -> String {
        let words = self.words.get(at..).unwrap_or_default();
        let stride = format!("[{}]", self.record * WORD);
        interface(words, &self.rows().to_string(), &stride, "<f4")
    }

    /// The first words of each record, as columns of which some are codes of categories.
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

/// A plain array of numbers, whose type has that name in numpy.
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

/// The names of a feature's categories in the order of their codes, laid out as Arrow's text is.
pub struct CategoryNames {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl CategoryNames {
    /// Lays them out; nothing if together they have more bytes than an offset can count.
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
