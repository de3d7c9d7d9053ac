//! Models by name and by id, a random number that no other model ever has.
//!
//! A name is resolved by a snapshot; the model's versions and privileges are found by the id. So functions of
//! the registry take a [`Model`] or a [`ModelId`], which come from a row of `model` alone, and never a name.

use std::fmt;
use std::ops::ControlFlow;

use pg_interface::invalidation::{ReadSnapshot, SnapshotMark};
use pg_interface::scan::{Key, rows};
use pg_interface::{Datum, Oid, transaction};
use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, IntoDatum, Uuid};

use super::unknown_category::UnknownPolicy;
use super::{Access, Registry, access, execute, no_such_model, query};
use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModelId(Uuid);

impl ModelId {
    /// Returns the id that a view of the extension passes to a function of `pgboost_catalog`.
    pub(crate) fn of_view(id: Uuid) -> ModelId {
        ModelId(id)
    }

    /// The model that a name has led to, with the version that it means.
    pub(crate) fn named(self, registry: Registry, name: &str) -> Model<'_> {
        Model { registry, name, id: self, deployed: None, unknown_category: None }
    }

    pub(crate) fn key(self) -> Key<'static> {
        Key::Uuid(self.0)
    }

    /// Reads the text that `to_string` gives.
    pub(crate) fn parse(text: &str) -> Option<ModelId> {
        let digits = u128::from_str_radix(&text.replace('-', ""), 16).ok()?;
        Some(ModelId(Uuid::from_bytes(digits.to_be_bytes())))
    }

    /// Returns the name of the model with this id that the statement sees.
    pub(crate) fn name(self, registry: &Registry) -> Option<String> {
        let mut name = None;
        rows(registry.model_by_id, &[self.key()], ReadSnapshot::Active, |row| {
            name = row.text(c"name");
            ControlFlow::Break(())
        });
        name
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        *self.0.as_bytes()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl IntoDatum for ModelId {
    fn into_datum(self) -> Option<Datum> {
        self.0.into_datum()
    }

    fn type_oid() -> Oid {
        Uuid::type_oid()
    }
}

/// A model, and the name by which it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'a> {
    pub(crate) registry: Registry,
    pub(crate) name: &'a str,
    pub(crate) id: ModelId,
    deployed: Option<i32>,
    /// The policy, if the owner has set one.
    pub(super) unknown_category: Option<UnknownPolicy>,
}

impl<'a> Model<'a> {
    /// Returns whether unknown categories have the same policy in another reading of the model.
    pub(crate) fn has_policy_of(&self, other: &Model<'_>) -> bool {
        self.unknown_category == other.unknown_category
    }

    /// Finds the model of that name.
    pub(crate) fn find(registry: &Registry, name: &'a str, snapshot: ReadSnapshot) -> Result<Self> {
        let found = Self::find_with_mark(registry, name, snapshot).0;
        found.ok_or_else(|| no_such_model(registry, name))
    }

    /// Finds the model of that name, if there is one; also returns the mark of the snapshot that was used.
    pub(crate) fn find_with_mark(
        registry: &Registry,
        name: &'a str,
        snapshot: ReadSnapshot,
    ) -> (Option<Self>, SnapshotMark) {
        let mut found = None;
        let mark = rows(registry.model_by_name, &[Key::Text(name)], snapshot, |row| {
            found = row.uuid(c"id").map(|id| {
                let deployed = row.integer(c"deployed");
                // Absent before release 1.1.
                let policy = row.text(c"unknown_category");
                let unknown_category = policy.as_deref().and_then(UnknownPolicy::named);
                Model { registry: *registry, name, id: ModelId(id), deployed, unknown_category }
            });
            ControlFlow::Break(())
        });
        (found, mark)
    }

    /// Returns the model from the row that this transaction has written, and the number of its next
    /// version.
    pub(super) fn with_next_version(registry: &Registry, name: &'a str) -> Result<(Self, i32)> {
        let version = query::<i32>(
            registry,
            "INSERT INTO pgboost_catalog.model AS m (name, last_version) VALUES ($1, 1) \
             ON CONFLICT (name) DO UPDATE SET last_version = m.last_version + 1 RETURNING m.last_version",
            &[name.into()],
        )?
        .ok_or_else(|| Error::Registry { name: name.to_owned(), what: "version" })?;
        // No other session can change the row until this transaction ends.
        transaction::see_own_changes();
        Ok((Self::find(registry, name, ReadSnapshot::Latest)?, version))
    }

    /// Returns the deployed version, which a model may not have yet.
    pub(crate) fn deployed(&self) -> Result<i32> {
        self.deployed.ok_or_else(|| Error::NothingDeployed { name: self.name.to_owned() })
    }

    /// Returns a user's access to the model.
    pub(crate) fn access(&self, user: Oid) -> Access {
        access(&self.registry, self.id, user)
    }

    /// Runs a statement that changes the registry and returns no rows; `$1` is the model's id.
    pub(super) fn execute<const N: usize>(
        &self,
        statement: &str,
        others: [DatumWithOid<'_>; N],
    ) -> Result<()> {
        execute(&self.registry, statement, &self.arguments(others))
    }

    /// Runs a statement that changes the registry; `$1` is the model's id. Returns the first column of its only row,
    /// if there is one.
    pub(super) fn query<T: FromDatum + IntoDatum, const N: usize>(
        &self,
        statement: &str,
        others: [DatumWithOid<'_>; N],
    ) -> Result<Option<T>> {
        query(&self.registry, statement, &self.arguments(others))
    }

    /// Runs a statement that changes a version and returns 1; `$1` is the model's id.
    ///
    /// # Errors
    /// [`Error::NoSuchVersion`] if it returns nothing.
    pub(super) fn change_version<const N: usize>(
        &self,
        version: i32,
        statement: &str,
        others: [DatumWithOid<'_>; N],
    ) -> Result<()> {
        let changed: Option<i32> = self.query(statement, others)?;
        changed.map(|_| ()).ok_or_else(|| self.no_such_version(version))
    }

    fn arguments<'d>(
        &self,
        others: impl IntoIterator<Item = DatumWithOid<'d>>,
    ) -> Vec<DatumWithOid<'d>> {
        std::iter::once(self.id.into()).chain(others).collect()
    }

    pub(crate) fn no_such_version(&self, version: i32) -> Error {
        Error::NoSuchVersion { name: self.name.to_owned(), version }
    }

    pub(crate) fn no_such_alias(&self, alias: &str) -> Error {
        Error::NoSuchAlias { name: self.name.to_owned(), alias: alias.to_owned() }
    }
}
