//! Pinned versions: those that `predict_pinned` may use, which cannot be dropped.
//!
//! That function is IMMUTABLE, so its values may be stored in indexes and generated columns: a call must never
//! change its meaning. A number that was ever pinned is in `pinned` and never assigned again, whatever was dropped
//! since. A pin is a column of the version's row, and not derived from dependent objects: a function in another
//! language that calls `predict_pinned` would never be found. But the dependents that PostgreSQL knows keep the
//! pin. Planning or evaluating such a call takes a lock, for which `unpin_model` waits. It also waits for open
//! transactions that have made an object depend on `predict_pinned`, since a view or a domain is created
//! without being planned.

use std::ops::ControlFlow;

use pg_interface::dependency::{self, Dependent, Object};
use pg_interface::invalidation::{self, ReadSnapshot};
use pg_interface::nodes::{Expr, StoredText};
use pg_interface::report::check_for_interrupts;
use pg_interface::scan::{Key, rows};
use pg_interface::transaction::{Lock, Mode};
use pg_interface::{Oid, session};

use super::lookup;
use super::model::{Model, ModelId};
use super::reference::{Reference, Wanted};
use super::{Access, Registry, access, execute, function_of, lock};
use crate::error::{Error, Result};

pub(crate) fn set(model: Model<'_>, version: i32) -> Result<()> {
    lock(model)?;
    update(model, version, true)?;
    execute(
        &model.registry,
        "INSERT INTO pgboost_catalog.pinned (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[model.name.into(), version.into()],
    )
}

/// # Errors
/// [`Error::NoSuchVersion`]; [`Error::PinnedInUse`] if a stored expression calls `predict_pinned` with
/// it.
pub(crate) fn remove(model: Model<'_>, version: i32) -> Result<()> {
    // Waits first without the lock, which such a transaction may still need.
    wait_for_dependents(model)?;
    lock(model)?;
    lock_of(&model.registry, model.id, version).take(Mode::Changed);
    wait_for_dependents(model)?;
    if let Some(object) = dependent(model, version)? {
        let (name, object) = (model.name.to_owned(), object.into());
        return Err(Error::PinnedInUse { name, version, object });
    }
    update(model, version, false)
}

/// # Errors
/// [`Error::Pinned`] if that version, or any version, is pinned.
pub(crate) fn require_none(model: Model<'_>, version: Option<i32>) -> Result<()> {
    match lookup::pinned_version(&model.registry, model.id, version) {
        Some(version) => Err(Error::Pinned { name: model.name.to_owned(), version }),
        None => Ok(()),
    }
}

/// Returns the first number for versions of a model of that name, above all that were ever pinned. The caller
/// holds the model's lock.
pub(crate) fn first_version(registry: &Registry, name: &str) -> Result<i32> {
    let mut last = 0;
    rows(registry.pinned()?, &[Key::Text(name)], ReadSnapshot::Latest, |row| {
        last = last.max(row.integer(c"version").unwrap_or(0));
        ControlFlow::Continue(())
    });
    Ok(last.saturating_add(1))
}

/// Keeps the pin until the transaction ends, when an expression that names a version is planned: if it is stored
/// afterwards, other sessions see it only then. A name without a version, or one that the user may not use, is
/// left for the execution.
pub(crate) fn keep_planned(function: Oid, reference: &str) {
    let Ok(registry) = Registry::of_function(function) else { return };
    let user = session::current_user();
    if let Some((name, version)) = named(reference)
        && let Ok(model) = Model::find(&registry, name, ReadSnapshot::Active)
        && model.access(user) >= Access::Predict
    {
        lock_of(&model.registry, model.id, version).take(Mode::Planned);
    }
}

/// Keeps the pin until the transaction ends, when the version is used. The caller has checked the privileges.
///
/// # Errors
/// [`Error::NotPinned`] if another session has just removed it.
pub(crate) fn keep_used(function: Oid, reference: &str, model: ModelId) -> Result<()> {
    let not_pinned = || Error::NotPinned { model: reference.to_owned() };
    let registry = Registry::of_function(function)?;
    let (_, version) = named(reference).ok_or_else(not_pinned)?;
    if lock_of(&registry, model, version).take(Mode::Used)
        && lookup::pinned_version(&registry, model, Some(version)).is_none()
    {
        return Err(not_pinned());
    }
    Ok(())
}

/// Returns the lock of a version by the model's random id. By a name, a role could choose one with the same
/// number, and hold the lock of another's model.
fn lock_of(registry: &Registry, model: ModelId, version: i32) -> Lock {
    Lock::new(registry.version.relation, &format!("{model}@{version}"))
}

fn named(reference: &str) -> Option<(&str, i32)> {
    match Reference::parse(reference) {
        Ok(Reference { name, wanted: Wanted::Version(version) }) => Some((name, version)),
        _ => None,
    }
}

fn update(model: Model<'_>, version: i32, pinned: bool) -> Result<()> {
    model.change_version(
        version,
        "UPDATE pgboost_catalog.version AS v SET pinned = $3 WHERE v.model = $1 AND v.version = $2 \
         RETURNING 1",
        [version.into(), pinned.into()],
    )
}

/// Waits for transactions of other sessions that have made objects which may depend on a version of the model.
fn wait_for_dependents(model: Model<'_>) -> Result<()> {
    let function = function_of(&model.registry, "predict_pinned")?;
    let open = || {
        let mut dependents = dependents(&model.registry, model.id, function);
        dependents.find_map(|dependent| dependent.made_by)
    };
    // Objects that were not visible yet are remembered as missing, until their transaction's messages are read.
    invalidation::accept();
    while let Some(transaction) = open() {
        transaction.wait();
        invalidation::accept();
    }
    Ok(())
}

/// Describes an object with an expression that may predict with the version.
fn dependent(model: Model<'_>, version: i32) -> Result<Option<String>> {
    let function = function_of(&model.registry, "predict_pinned")?;
    let is_meant = |given: &Expr<'_>| match given.stored_text() {
        StoredText::Constant(text) => named(&text) == Some((model.name, version)),
        StoredText::Null => false,
        // Such as a parameter of a function.
        StoredText::Other => true,
    };
    let uses = |object: &Object| {
        let stored = object.stored();
        stored.is_some_and(|stored| {
            stored
                .calls()
                .iter()
                .any(|(called, given)| *called == function && given.first().is_none_or(is_meant))
        })
    };
    let objects = dependents(&model.registry, model.id, function).map(|dependent| dependent.object);
    // An object that was dropped meanwhile has no description; others may.
    Ok(objects.filter(uses).find_map(Object::described))
}

/// Returns the objects with an expression that depends on `predict_pinned`, if they belong to a role that may
/// predict with the model: otherwise any role could keep an owner from removing a pin. Objects that refer to the
/// function without an expression, such as operators and aggregates, do not call it with a name.
fn dependents(
    registry: &Registry,
    model: ModelId,
    function: Oid,
) -> impl Iterator<Item = Dependent> {
    dependency::dependents(function).into_iter().filter(move |dependent| {
        check_for_interrupts();
        let owners = dependent.object.possible_owners().into_iter();
        owners.map(|owner| access(registry, model, owner)).any(|access| access >= Access::Predict)
    })
}
