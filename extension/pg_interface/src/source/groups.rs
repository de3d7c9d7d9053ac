//! Groups of rows, which must come one after another.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::error::{Error, Result};
use super::query::Field;

/// The groups that were met so far.
#[derive(Default)]
pub struct Groups {
    current: Option<String>,
    /// Of the groups that have ended only a hash is kept: two of a billion groups share one with a
    /// chance of 3 %, of a million with one of 3 in a hundred million.
    ended: HashSet<u64>,
}

impl Groups {
    /// Whether a row begins a group, by what it has in the column of the group.
    ///
    /// # Errors
    /// [`Error::ValueRefused`] for a NULL, [`Error::GroupApart`].
    pub fn begins(&mut self, column: &str, field: Option<Field<'_>>) -> Result<bool> {
        let Some(field) = field else {
            let what = "is null, so it cannot be a group";
            return Err(Error::ValueRefused { column: column.to_owned(), what });
        };
        let group = field.written();
        if self.current.as_deref() == Some(group.as_str()) {
            return Ok(false);
        }
        if self.ended.contains(&hash(&group)) {
            return Err(Error::GroupApart { group });
        }
        self.ended.extend(self.current.replace(group).as_deref().map(hash));
        Ok(true)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
