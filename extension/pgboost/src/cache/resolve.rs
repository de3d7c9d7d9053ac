//! From a model's name to its image, for the current user and the active snapshot.
//!
//! An answer is kept with all that it depends on: the generation of invalidations, the user, and the
//! mark of a snapshot that is known to give it. The mark is that of a snapshot taken afterwards, and
//! the answer is kept only if that one gives the same version: so a cursor or a long transaction,
//! which sees older rows, can neither leave its own version behind for later statements, nor be
//! given theirs. A change that commits later is noticed before the next statement begins.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use gbtrees::internals::Kernel;
use pg_interface::invalidation::{ReadSnapshot, SnapshotMark, Validity};
use pg_interface::{Oid, invalidation, varlena};

use super::images::{self, CachedImage};
use crate::error::{Error, Result};
use crate::name_hash::NameMap;
use crate::registry::lookup::{self, Stored};
use crate::registry::reference::{Reference, Wanted};
use crate::registry::{Registry, privilege};

/// Names are forgotten beyond this number, so that a client that makes them up cannot fill the memory.
const MAX_NAMES: usize = 16_384;

/// What a model's name means, and for whom and how long.
pub(crate) struct Resolved {
    pub(crate) image: Rc<CachedImage>,
    pub(crate) version: i32,
    /// Whether the name says the version's number, as `name@version`, and the version is pinned.
    pub(crate) pinned: bool,
    pub(crate) validity: Validity,
}

/// An answer that is kept. It does not keep the image, which `images` lets go when it must.
struct Answer {
    image: Weak<CachedImage>,
    version: i32,
    pinned: bool,
    validity: Validity,
}

impl Answer {
    /// The answer, if it holds for a statement with this snapshot.
    #[inline]
    fn answer(&self, snapshot: SnapshotMark) -> Option<Resolved> {
        let Answer { version, pinned, validity, .. } = *self;
        let image = if validity.holds_for(snapshot) { self.image.upgrade()? } else { return None };
        Some(Resolved { image, version, pinned, validity: validity.under(snapshot) })
    }
}

thread_local! {
    static NAMES: RefCell<NameMap<Box<str>, Answer>> = RefCell::default();
}

/// The image that `name`, `name@version` or `name@alias` means to the current user under the active snapshot.
///
/// `function` is one of the extension's functions, which leads to its tables.
#[inline]
pub(crate) fn resolve(reference: &str, function: Oid) -> Result<Resolved> {
    invalidation::accept();
    let snapshot = SnapshotMark::active();
    let known = snapshot.and_then(|snapshot| {
        NAMES.with_borrow(|names| names.get(reference).and_then(|known| known.answer(snapshot)))
    });
    if let Some(known) = known {
        images::mark_used(&known.image);
        return Ok(known);
    }
    read(reference, function, snapshot)
}

/// Says that a name will be resolved soon, and its image evaluate so many rows by this kernel.
pub(crate) fn fetch_ahead(reference: &str, kernel: Kernel, rows: usize) {
    let image =
        NAMES.with_borrow(|names| names.get(reference).and_then(|known| known.image.upgrade()));
    if let Some(image) = image {
        image.model().fetch_ahead(kernel, rows);
    }
}

/// Reads the registry, and keeps the answer where it may be used again.
///
/// Without an active snapshot, which PostgreSQL sets for every statement, what is committed counts.
#[cold]
#[inline(never)]
fn read(reference: &str, function: Oid, snapshot: Option<SnapshotMark>) -> Result<Resolved> {
    let parsed = Reference::parse(varlena::require_representable(reference, "name")?)?;
    let registry = Registry::of_function(function)?;
    invalidation::watch(registry.watched());
    let latest_mark = || SnapshotMark::latest(registry.model.relation);
    let validity = Validity::now(snapshot.unwrap_or_else(latest_mark));
    images::evict_deleted(validity.generation);

    let (deployed, _) = lookup::deployed_version(&registry, parsed.name, ReadSnapshot::Active);
    let deployed = deployed.ok_or_else(|| Error::NoSuchModel { name: parsed.name.to_owned() })?;
    privilege::require_predict(&registry, parsed.name, validity.user)?;
    let version = lookup::wanted_version(&registry, &parsed, deployed, ReadSnapshot::Active)?;
    let read = |stored: &Stored<'_>| {
        let pinned = is_pinned_by_number(&parsed, reference, stored);
        Ok((images::image_of(&registry, stored)?, pinned))
    };
    let (image, pinned) =
        lookup::with_version(&registry, parsed.name, version, ReadSnapshot::Active, read).map_err(
            |error| match (error, parsed.wanted) {
                // Nobody asked for a version, so it is the registry that is wrong.
                (Error::NoSuchVersion { name, .. }, Wanted::Deployed) => {
                    Error::Registry { name, what: "deployed version" }
                }
                (Error::NoSuchVersion { name, .. }, Wanted::Alias(_)) => {
                    Error::Registry { name, what: "version of that alias" }
                }
                (other, _) => other,
            },
        )?;

    // Most often nothing has happened since the statement's own snapshot was taken, and what it sees
    // need not be read again.
    let mut mark = latest_mark();
    let still = snapshot == Some(mark) || {
        let (latest, later) =
            lookup::deployed_version(&registry, parsed.name, ReadSnapshot::Latest);
        mark = later;
        let wanted =
            |deployed| lookup::wanted_version(&registry, &parsed, deployed, ReadSnapshot::Latest);
        latest.map(wanted) == Some(Ok(version))
            && is_latest(&registry, parsed.name, version, &image)
    };
    if still {
        let (image, validity) = (Rc::downgrade(&image), validity.under(mark));
        keep(reference, Answer { image, version, pinned, validity });
    }
    Ok(Resolved { image, version, pinned, validity })
}

/// Whether the version is pinned and written as expressions write it that may depend on it: without
/// leading zeros, so that they can be found.
fn is_pinned_by_number(parsed: &Reference<'_>, reference: &str, stored: &Stored<'_>) -> bool {
    let Wanted::Version(version) = parsed.wanted else { return false };
    stored.is_pinned() && reference == format!("{}@{version}", parsed.name)
}

/// Whether the version is still there and made of the same: a model that was dropped and loaded
/// again has the same numbers.
fn is_latest(registry: &Registry, name: &str, version: i32, image: &CachedImage) -> bool {
    lookup::with_version(registry, name, version, ReadSnapshot::Latest, |stored| {
        Ok(images::key_of(stored)? == image.key)
    })
    .unwrap_or(false)
}

fn keep(reference: &str, known: Answer) {
    NAMES.with_borrow_mut(|names| {
        if names.len() >= MAX_NAMES {
            names.retain(|_, other| other.validity.generation == known.validity.generation);
        }
        if names.len() >= MAX_NAMES {
            names.clear();
        }
        names.insert(reference.into(), known);
    });
}
