//! Room for what is made of a model, which may be larger than the memory that there is.

use crate::{Error, ErrorKind, Result};

/// Makes room for more values, or says that there is none.
pub(super) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve(more).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("out of memory for a tree of {more} nodes"))
    })
}
