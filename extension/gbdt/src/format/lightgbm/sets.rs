//! The category sets of a tree, as bits: set `i` has the words from `cat_boundaries[i]` to
//! `cat_boundaries[i + 1]` of `cat_threshold`, and the splits that test it have `i` as threshold.

use super::lines::Block;
use crate::format::reader::Interrupts;
use crate::model::{Categories, CategorySet};
use crate::{Error, ErrorKind, Result};

const BITS: usize = u32::BITS as usize;

pub(super) fn read(block: &Block<'_>, interrupts: &mut Interrupts<'_>) -> Result<Vec<CategorySet>> {
    let field = block.required("num_cat")?;
    let count = usize::try_from(field.number::<i32>()?)
        .map_err(|_| field.error(ErrorKind::Parameter, "is negative"))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let bounds = block.required("cat_boundaries")?;
    let starts = bounds.numbers::<i32>(count + 1, interrupts)?;
    let unordered = || bounds.error(ErrorKind::CategoryRange, "does not ascend from 0");
    let total = starts.last().and_then(|end| usize::try_from(*end).ok()).ok_or_else(unordered)?;
    if starts.first() != Some(&0) || !starts.is_sorted() {
        return Err(unordered());
    }
    let words = block.required("cat_threshold")?;
    let all = words.numbers::<u32>(total, interrupts)?;
    let ends = starts.iter().skip(1);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let set = all.get(*start as usize..*end as usize).unwrap_or_default();
            if set.len() > Categories::MAX_CODES / BITS {
                return Err(
                    words.error(ErrorKind::CategoryRange, "has a category that is too large")
                );
            }
            Ok(CategorySet { words: set.to_vec() })
        })
        .collect()
}

/// The set that a split's threshold means.
pub(super) fn index(threshold: f64, count: usize) -> Result<u32> {
    let whole = threshold as u32;
    if f64::from(whole) != threshold || whole as usize >= count {
        let message = "a categorical split has no categories";
        return Err(Error::new(ErrorKind::CategoryRange, message));
    }
    Ok(whole)
}
