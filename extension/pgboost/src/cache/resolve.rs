//! Resolves a model's name to its image, for the current user and the active snapshot.
//!
//! An answer is kept with all that it depends on: the generation of invalidations, the user, and the mark of a
//! snapshot that gives the same version. The mark is that of a snapshot taken afterwards: so a cursor or a
//! long transaction, which sees older rows, can neither leave its version behind for later statements, nor get
//! theirs. A change that commits later is noticed before the next statement begins.
//!
//! Names are looked up for every row of a query that names a model per row, so [`NameMap`] has foldhash, which
//! takes half of the standard library's time, with a random seed, so that nobody can choose names that collide.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use foldhash::fast::RandomState;
use gbtrees::internals::Kernel;
use pg_interface::invalidation::{ReadSnapshot, SnapshotMark, Validity};
use pg_interface::{Oid, invalidation, report, varlena};

use super::images::{self, CachedImage};
use crate::error::{Error, Result};
use crate::guc::UnknownRule;
use crate::registry::lookup::{self, Stored};
use crate::registry::model::{Model, ModelId};
use crate::registry::reference::{Reference, Wanted};
use crate::registry::{self, Registry};

/// The most names that are remembered, so that a client with invented names cannot fill the memory.
const MAX_NAMES: usize = 16_384;

/// A model's name resolved to its image.
pub(crate) struct Resolved {
    pub(crate) image: Rc<CachedImage>,
    pub(crate) identity: Identity,
    pub(crate) validity: Validity,
}

/// The version that a name means, without its image.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) model: ModelId,
    pub(crate) version: i32,
    /// The name has the version's number, as `name@version`, and the version is pinned.
    pub(crate) pinned: bool,
    pub(crate) unknown_category: UnknownRule,
}

/// A remembered answer. It does not keep the image, so that `images` can evict it.
struct Answer {
    image: Weak<CachedImage>,
    identity: Identity,
    validity: Validity,
}

impl Answer {
    /// Returns the answer, if it holds for a statement with this snapshot.
    #[inline]
    fn answer(&self, snapshot: SnapshotMark) -> Option<Resolved> {
        let Answer { identity, validity, .. } = *self;
        let image = if validity.holds_for(snapshot) { self.image.upgrade()? } else { return None };
        Some(Resolved { image, identity, validity: validity.under(snapshot) })
    }
}

thread_local! {
    static NAMES: RefCell<NameMap<Box<str>, Answer>> = RefCell::default();
}

/// Returns the image that `name`, `name@version` or `name@alias` means to the current user under the active
/// snapshot.
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
    report::with_reserve(|| read(reference, function, snapshot))
}

/// Returns the same from the registry's tables, for callers that read more of the version's row: a commit that
/// drops the version is visible to snapshots before its invalidation is sent.
pub(crate) fn resolve_anew(reference: &str, function: Oid) -> Result<Resolved> {
    invalidation::accept();
    report::with_reserve(|| read(reference, function, SnapshotMark::active()))
}

/// Prefetches the image of a name that will be resolved soon to evaluate this number of rows.
pub(crate) fn fetch_ahead(reference: &str, kernel: Kernel, rows: usize) {
    let image =
        NAMES.with_borrow(|names| names.get(reference).and_then(|known| known.image.upgrade()));
    if let Some(image) = image {
        image.model().fetch_ahead(kernel, rows);
    }
}

/// Reads the registry, and remembers the answer if it may be used again.
///
/// Without an active snapshot, which PostgreSQL sets for every statement, the latest one counts.
#[cold]
#[inline(never)]
fn read(reference: &str, function: Oid, snapshot: Option<SnapshotMark>) -> Result<Resolved> {
    let parsed = Reference::parse(varlena::require_representable(reference, "name")?)?;
    let registry = Registry::of_function(function)?;
    invalidation::watch(registry.watched(), registry.privileges_type);
    let latest_mark = || SnapshotMark::latest(registry.model_by_name.relation);
    let validity = Validity::now(snapshot.unwrap_or_else(latest_mark));
    images::registry_read(&registry, validity.generation);

    let model = Model::find(&registry, parsed.name, ReadSnapshot::Active)?;
    registry::require_predict(model, validity.user)?;
    let version = lookup::wanted_version(model, parsed.wanted, ReadSnapshot::Active)?;
    let read = |stored: &Stored<'_>| {
        let pinned = is_pinned_by_number(&parsed, reference, stored);
        Ok((images::image_of(stored)?, pinned, stored.unknown_rule()))
    };
    let (image, pinned, unknown_category) =
        lookup::with_version(model, version, ReadSnapshot::Active, read).map_err(
            |error| match (error, parsed.wanted) {
                // No version was named, so the registry is inconsistent.
                (Error::NoSuchVersion { name, .. }, Wanted::Deployed) => {
                    Error::Registry { name, what: "deployed version" }
                }
                (Error::NoSuchVersion { name, .. }, Wanted::Alias(_)) => {
                    Error::Registry { name, what: "version of that alias" }
                }
                (other, _) => other,
            },
        )?;

    // Usually nothing was committed since the statement's snapshot was taken, which then need not be
    // compared with a later one.
    let mut mark = latest_mark();
    let still = snapshot == Some(mark) || {
        let (latest, later) = Model::find_with_mark(&registry, parsed.name, ReadSnapshot::Latest);
        mark = later;
        latest.is_some_and(|latest| {
            let wanted = lookup::wanted_version(latest, parsed.wanted, ReadSnapshot::Latest);
            latest.id == model.id
                && latest.has_policy_of(&model)
                && wanted == Ok(version)
                && is_latest(latest, version, &image)
        })
    };
    let identity = Identity { model: model.id, version, pinned, unknown_category };
    if still {
        let (image, validity) = (Rc::downgrade(&image), validity.under(mark));
        keep(reference, Answer { image, identity, validity });
    }
    Ok(Resolved { image, identity, validity })
}

/// Returns whether the version is pinned and named by its number without leading zeros. Dependent expressions
/// are found by that spelling.
fn is_pinned_by_number(parsed: &Reference<'_>, reference: &str, stored: &Stored<'_>) -> bool {
    let Wanted::Version(version) = parsed.wanted else { return false };
    stored.is_pinned() && reference == format!("{}@{version}", parsed.name)
}

/// Returns whether the version still exists with the same inputs, also after changes to the tables by hand.
fn is_latest(model: Model<'_>, version: i32, image: &CachedImage) -> bool {
    lookup::with_version(model, version, ReadSnapshot::Latest, |stored| {
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

/// A map with names of models as keys.
pub(crate) type NameMap<K, V> = HashMap<K, V, RandomState>;
