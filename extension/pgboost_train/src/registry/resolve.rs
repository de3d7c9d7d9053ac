//! Which version a model's name means, kept by the backend from statement to statement.
//!
//! An answer is kept with all that it depends on, as pgboost's own are: the count of changes heard of,
//! the user, and the mark of the snapshot that saw it. A newer snapshot may use an answer only if nothing
//! had happened since the one that saw it was taken; else a transaction at REPEATABLE READ would leave
//! its old version behind. Rights are read as they are now: a change to them is counted too.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pg_interface::invalidation;
use pg_interface::snapshot::{SnapshotMark, Validity};

use super::{Registry, Version};
use crate::error::Result;

/// Names are forgotten beyond this number.
const MAX_NAMES: usize = 1024;

struct Resolved {
    version: Rc<Version>,
    validity: Validity,
    /// Whether the answer was the latest one when it was read.
    latest: bool,
}

impl Resolved {
    fn holds_for(&self, snapshot: SnapshotMark) -> bool {
        self.validity == Validity::now(snapshot)
            || (self.latest && self.validity.holds_for(snapshot))
    }
}

thread_local! {
    static NAMES: RefCell<BTreeMap<Box<str>, Resolved>> = RefCell::default();
}

/// The version that `name` or `name@version` means to the current user under the active snapshot.
/// Raises pgboost's errors for a model that is not there or not to be seen.
pub fn resolve(reference: &str) -> Result<Rc<Version>> {
    invalidation::accept();
    let Some(snapshot) = SnapshotMark::active() else {
        return Ok(Rc::new(Registry::find()?.version(reference)?));
    };
    let known = NAMES.with_borrow(|names| {
        let known = names.get(reference).filter(|known| known.holds_for(snapshot));
        known.map(|known| Rc::clone(&known.version))
    });
    match known {
        Some(version) => Ok(version),
        None => read(reference, snapshot),
    }
}

#[cold]
fn read(reference: &str, mark: SnapshotMark) -> Result<Rc<Version>> {
    let registry = Registry::find()?;
    let tables = registry.tables()?;
    invalidation::watch(tables.iter().copied());
    let validity = Validity::now(mark);
    let version = Rc::new(registry.version(reference)?);
    let latest = tables.first().is_some_and(|table| SnapshotMark::latest(*table) == mark);
    NAMES.with_borrow_mut(|names| {
        if names.len() >= MAX_NAMES {
            names.clear();
        }
        let version = Rc::clone(&version);
        names.insert(reference.into(), Resolved { version, validity, latest });
    });
    Ok(version)
}
