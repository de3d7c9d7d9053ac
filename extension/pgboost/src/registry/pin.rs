//! Pinned versions: those that `predict_pinned` may use, which cannot be dropped.
//!
//! That function is IMMUTABLE, so its values may be stored in indexes and generated columns: what a call once
//! meant, it means for ever. Three things see to that. A number that was ever pinned is in `pinned` and
//! never given again, whatever was dropped since. A pin is a column of the version's row, and not found from
//! what depends on it: a function in another language that calls `predict_pinned` would never be found. And
//! what PostgreSQL does know to depend on the version keeps the pin; whoever plans or evaluates such a call
//! holds a lock, for which `unpin_model` waits. It also waits for the open transactions that have made
//! something depend on `predict_pinned`, since a view or a domain is made without being planned.

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
use super::{Access, access, lock};
use super::{Registry, execute, function_of, query};
use crate::error::{Error, Result};

/// # Errors
/// [`Error::NoSuchVersion`].
pub(crate) fn set(registry: &Registry, model: Model<'_>, version: i32) -> Result<()> {
    lock(registry, model)?;
    update(registry, model, version, true)?;
    execute(
        registry,
        "INSERT INTO pgboost_catalog.pinned (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[model.name.into(), version.into()],
    )
}

/// # Errors
/// [`Error::NoSuchVersion`]; [`Error::PinnedInUse`] if an expression that is stored calls
/// `predict_pinned` with it.
pub(crate) fn remove(registry: &Registry, model: Model<'_>, version: i32) -> Result<()> {
    // First without a lock that such a transaction may still want.
    wait_for_dependents(registry, model)?;
    lock(registry, model)?;
    lock_of(registry, model.id, version).take(Mode::Changed);
    wait_for_dependents(registry, model)?;
    if let Some(object) = dependent(registry, model, version)? {
        let (name, object) = (model.name.to_owned(), object.into());
        return Err(Error::PinnedInUse { name, version, object });
    }
    update(registry, model, version, false)
}

/// # Errors
/// [`Error::Pinned`] if that version, or any version, is pinned.
pub(crate) fn require_none(
    registry: &Registry,
    model: Model<'_>,
    version: Option<i32>,
) -> Result<()> {
    match lookup::pinned_version(registry, model.id, version) {
        Some(version) => Err(Error::Pinned { name: model.name.to_owned(), version }),
        None => Ok(()),
    }
}

/// The first number that a model of that name may give to a version, since no such number was ever pinned.
/// The caller holds the model's lock.
pub(crate) fn first_version(registry: &Registry, name: &str) -> Result<i32> {
    let mut last = 0;
    rows(registry.pinned()?, &[Key::Text(name)], ReadSnapshot::Latest, |row| {
        last = last.max(row.integer(c"version").unwrap_or(0));
        ControlFlow::Continue(())
    });
    Ok(last + 1)
}

/// Keeps the pin until the transaction ends, if an expression that names a version is planned: one that is
/// then stored cannot be seen by others before. An expression that names none, or one that the user may not
/// use, is left for the execution.
pub(crate) fn keep_planned(function: Oid, reference: &str) {
    let Ok(registry) = Registry::of_function(function) else { return };
    let user = session::current_user();
    if let Some((name, version)) = named(reference)
        && let Ok(model) = Model::find(&registry, name, ReadSnapshot::Active)
        && access(&registry, model.id, user) >= Access::Predict
    {
        lock_of(&registry, model.id, version).take(Mode::Planned);
    }
}

/// Keeps the pin until the transaction ends, since the version is used; the user may use it.
///
/// # Errors
/// [`Error::NotPinned`] if another session has just taken it away.
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

/// By the model's id, which nobody can choose: else a role could find a name with the same number, and keep the
/// lock of another's model.
fn lock_of(registry: &Registry, model: ModelId, version: i32) -> Lock {
    let id = u128::from_be_bytes(model.bytes());
    Lock::new(registry.version.relation, &format!("{id:032x}@{version}"))
}

fn named(reference: &str) -> Option<(&str, i32)> {
    match Reference::parse(reference) {
        Ok(Reference { name, wanted: Wanted::Version(version) }) => Some((name, version)),
        _ => None,
    }
}

fn update(registry: &Registry, model: Model<'_>, version: i32, pinned: bool) -> Result<()> {
    query::<i32>(
        registry,
        "UPDATE pgboost_catalog.version AS v SET pinned = $3 WHERE v.model = $1 AND v.version = $2 \
         RETURNING 1",
        &[model.id.into(), version.into(), pinned.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| model.no_such_version(version))
}

/// Waits for the transactions of other sessions that have made what may depend on a version of the model.
fn wait_for_dependents(registry: &Registry, model: Model<'_>) -> Result<()> {
    let function = function_of(registry, "predict_pinned")?;
    let open = || {
        let mut dependents = dependents(registry, model.id, function);
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

/// An object with an expression that may predict with the version, described.
fn dependent(registry: &Registry, model: Model<'_>, version: i32) -> Result<Option<String>> {
    let function = function_of(registry, "predict_pinned")?;
    let is_meant = |given: &Expr<'_>| match given.stored_text() {
        StoredText::Constant(text) => named(&text) == Some((model.name, version)),
        StoredText::Null => false,
        // A parameter of a function, for instance.
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
    let objects = dependents(registry, model.id, function).map(|dependent| dependent.object);
    // One that was dropped meanwhile has no description, and says nothing of the others.
    Ok(objects.filter(uses).find_map(Object::described))
}

/// What depends on `predict_pinned` with an expression, and belongs to a role that may predict with the model:
/// else any role could keep an owner from taking a pin away. What names the function without an expression, as
/// an operator or an aggregate does, cannot call it.
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
