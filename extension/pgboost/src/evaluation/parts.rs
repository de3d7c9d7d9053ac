//! The values of the column `by`, numbered as they first appear.

use std::borrow::Cow;
use std::collections::HashMap;

use row_source::sorter::work_mem;

use crate::error::{Error, Result};

/// Bytes that a part takes besides its name and its metrics: the entries of the two tables.
const ENTRY_BYTES: usize = 96;

#[derive(Default)]
pub struct Parts {
    names: Vec<Option<String>>,
    numbers: HashMap<Option<String>, u32>,
    /// The part of the row before.
    last: Option<u32>,
    bytes: usize,
}

impl Parts {
    /// The part of a row by its value, which is nothing if it is NULL. `part_bytes` are what the metrics
    /// of a part take.
    pub fn number(&mut self, value: Option<Cow<'_, str>>, part_bytes: usize) -> Result<u32> {
        if let Some(last) = self.last
            && self.names.get(last as usize).is_some_and(|name| name.as_deref() == value.as_deref())
        {
            return Ok(last);
        }
        let value = value.map(Cow::into_owned);
        let number = match self.numbers.get(&value) {
            Some(number) => *number,
            None => self.add(value, part_bytes)?,
        };
        self.last = Some(number);
        Ok(number)
    }

    fn add(&mut self, value: Option<String>, part_bytes: usize) -> Result<u32> {
        let name_bytes = value.as_ref().map_or(0, String::len);
        self.bytes += ENTRY_BYTES + 2 * name_bytes + part_bytes;
        let number = self.names.len() as u32;
        if self.bytes > work_mem() && number > 0 {
            return Err(Error::TooManyParts { parts: self.names.len() });
        }
        self.names.push(value.clone());
        self.numbers.insert(value, number);
        Ok(number)
    }

    /// The values, by number.
    pub fn into_names(self) -> Vec<Option<String>> {
        self.names
    }
}
