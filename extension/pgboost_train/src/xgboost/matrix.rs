//! A quantile matrix: the rows as libxgboost trains on them, a byte or two a value.
//!
//! libxgboost asks for the rows four times, batch by batch: for their shape, for quantiles, and for
//! two forms of the index; it never holds them as floats. The rows come from behind a trait, which
//! may raise PostgreSQL's errors. These are Rust panics by the time they get here; they must not
//! unwind through C++, so they end the iteration, wait beside it, and go on when libxgboost has
//! returned.

use std::any::Any;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use super::interface::{self, Batch, CategoryNames};
use super::signals::Mask;
use super::symbols::{Handle, count};
use super::{Library, c_text, pointers};
use crate::error::{Error, Result};

/// Rows that can be read again from the start, in the same order.
pub trait Rows {
    /// Goes back to the first row.
    fn rewind(&mut self);

    /// The next rows; nothing at the end.
    fn next_batch(&mut self) -> Option<Batch<'_>>;
}

/// A feature's name, its type as XGBoost calls it, and its categories if it has such.
pub struct Feature {
    /// The name.
    pub name: String,
    /// `float`, `int`, `i` for a boolean, or `c`.
    pub kind: &'static str,
    /// The names of the categories.
    pub categories: Option<CategoryNames>,
}

/// Where the words of a record belong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Number of features; they come first.
    pub features: usize,
    /// The target, unless there are bounds instead.
    pub label: Option<usize>,
    /// The lower and the upper bound of a time of survival.
    pub bounds: Option<(usize, usize)>,
    /// The weight of the row.
    pub weight: Option<usize>,
    /// Number of words.
    pub record: usize,
}

/// How a matrix is made.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// Where the words of a record belong.
    pub layout: Layout,
    /// The features, in order.
    pub features: &'a [Feature],
    /// Most bins of a feature.
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
        making: Making<'_>,
        cuts_of: Option<&Matrix>,
    ) -> Result<Matrix> {
        let proxy = Matrix::proxy(library)?;
        let config = c_text(&format!(
            "{{\"missing\":NaN,\"nthread\":{},\"max_bin\":{}}}",
            making.threads, making.max_bin
        ));
        let reference = cuts_of.map_or(ptr::null_mut(), |matrix| matrix.handle);
        let mut passes = Passes {
            library,
            proxy: proxy.handle,
            rows,
            making,
            mask: Mask::current(),
            failure: None,
        };
        let mut handle = ptr::null_mut();
        let made = library.call(|symbols| {
            // SAFETY: the handles are valid; the iterator is alive and used by nobody else while
            // the call lasts, and the callbacks take what they are given here.
            unsafe {
                (symbols.XGQuantileDMatrixCreateFromCallback)(
                    ptr::from_mut(&mut passes).cast(),
                    proxy.handle,
                    reference,
                    reset,
                    next,
                    config.as_ptr(),
                    &mut handle,
                )
            }
        });
        let failure = passes.failure.take();
        let matrix = made.map(|()| Matrix { library, handle });
        match failure {
            Some(Failure::Raised(error)) => resume_unwind(error),
            Some(Failure::Refused(error)) => Err(error),
            None => matrix,
        }
    }

    /// A place for rows that libxgboost only looks at.
    pub fn proxy(library: &'static Library) -> Result<Matrix> {
        let mut handle = ptr::null_mut();
        // SAFETY: the place for the handle is valid.
        library.call(|symbols| unsafe { (symbols.XGProxyDMatrixCreate)(&mut handle) })?;
        Ok(Matrix { library, handle })
    }

    /// Says which rows belong together, and what each group weighs.
    pub fn set_groups(&self, sizes: &[u32], weights: Option<&[f32]>) -> Result<()> {
        self.set(c"group", &interface::array(sizes))?;
        match weights {
            Some(weights) => self.set(c"weight", &interface::array(weights)),
            None => Ok(()),
        }
    }

    fn set(&self, field: &CStr, interface: &str) -> Result<()> {
        let interface = c_text(interface);
        self.library.call(|symbols| {
            // SAFETY: the handle is valid, and the interface describes memory that the caller holds.
            unsafe {
                (symbols.XGDMatrixSetInfoFromInterface)(
                    self.handle,
                    field.as_ptr(),
                    interface.as_ptr(),
                )
            }
        })
    }

    /// The handle, for the room's own calls.
    pub(super) fn handle(&self) -> Handle {
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

/// What ended an iteration early.
enum Failure {
    Raised(Box<dyn Any + Send>),
    Refused(Error),
}

/// The iterator that libxgboost drives.
struct Passes<'a> {
    library: &'static Library,
    proxy: Handle,
    rows: &'a mut dyn Rows,
    making: Making<'a>,
    mask: Mask,
    failure: Option<Failure>,
}

impl Passes<'_> {
    fn guarded<T>(&mut self, otherwise: T, step: impl FnOnce(&mut Self) -> Result<T>) -> T {
        if self.failure.is_some() {
            return otherwise;
        }
        match catch_unwind(AssertUnwindSafe(|| step(self))) {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => self.failure = Some(Failure::Refused(error)),
            Err(raised) => self.failure = Some(Failure::Raised(raised)),
        }
        otherwise
    }

    fn step(&mut self) -> Result<c_int> {
        // libxgboost runs with signals blocked; reading rows must see a cancel.
        let held = self.mask.hold();
        let batch = self.rows.next_batch();
        drop(held);
        let Some(batch) = batch else { return Ok(0) };
        Shown { library: self.library, proxy: self.proxy, batch }.show(self.making)?;
        Ok(1)
    }
}

/// A batch in front of the proxy. It is looked at until the next one is asked for, and lives as
/// long.
struct Shown<'a> {
    library: &'static Library,
    proxy: Handle,
    batch: Batch<'a>,
}

impl Shown<'_> {
    fn show(&self, making: Making<'_>) -> Result<()> {
        let symbols = &self.library.symbols;
        if making.features.iter().any(|feature| feature.categories.is_some()) {
            let names = making.features.iter().map(|feature| feature.categories.as_ref());
            let columns = c_text(&self.batch.columns(names));
            // SAFETY: the proxy is valid, and so is the memory that the text describes.
            self.check(unsafe {
                (symbols.XGProxyDMatrixSetDataColumnar)(self.proxy, columns.as_ptr())
            })?;
        } else {
            let table = c_text(&self.batch.table(making.layout.features));
            // SAFETY: as above.
            self.check(unsafe {
                (symbols.XGProxyDMatrixSetDataDense)(self.proxy, table.as_ptr())
            })?;
        }
        self.show_types(making.features)?;
        let layout = making.layout;
        self.show_column(c"label", layout.label)?;
        self.show_column(c"label_lower_bound", layout.bounds.map(|bounds| bounds.0))?;
        self.show_column(c"label_upper_bound", layout.bounds.map(|bounds| bounds.1))?;
        self.show_column(c"weight", layout.weight)
    }

    fn show_types(&self, features: &[Feature]) -> Result<()> {
        let kinds: Vec<_> = features.iter().map(|feature| c_text(feature.kind)).collect();
        let list = pointers(&kinds);
        // SAFETY: the proxy is valid and the list has as many texts as it says.
        self.check(unsafe {
            (self.library.symbols.XGDMatrixSetStrFeatureInfo)(
                self.proxy,
                c"feature_type".as_ptr(),
                list.as_ptr(),
                count(list.len()),
            )
        })
    }

    fn show_column(&self, field: &CStr, at: Option<usize>) -> Result<()> {
        let Some(at) = at else { return Ok(()) };
        let column = c_text(&self.batch.column(at));
        // SAFETY: the proxy is valid, and so is the memory that the text describes.
        self.check(unsafe {
            (self.library.symbols.XGDMatrixSetInfoFromInterface)(
                self.proxy,
                field.as_ptr(),
                column.as_ptr(),
            )
        })
    }

    /// As `Library::call`, for calls made while one is running: signals are blocked already.
    fn check(&self, code: c_int) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.library.last_error()) }
    }
}

unsafe extern "C" fn reset(iterator: Handle) {
    // SAFETY: libxgboost passes what it was given in `of_rows`.
    let passes = unsafe { &mut *iterator.cast::<Passes<'_>>() };
    passes.guarded((), |passes| {
        passes.rows.rewind();
        Ok(())
    });
}

unsafe extern "C" fn next(iterator: Handle) -> c_int {
    // SAFETY: as in `reset`.
    let passes = unsafe { &mut *iterator.cast::<Passes<'_>>() };
    passes.guarded(0, Passes::step)
}
