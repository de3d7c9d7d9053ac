//! The model registry: tables of the extension in the schema `pgboost_catalog`, read without SPI and written
//! with it. The functions for users are in the schema of CREATE EXTENSION.
//!
//! `model` has one row per model, with its id, its name and the deployed version. `version` describes the
//! versions, `file_part` has their files, `privilege` the owners of models and the roles with privileges, `alias`
//! names of versions, `deployment` which version was deployed when, and `function` the functions that were
//! created for models. `pinned` has the numbers that were ever pinned under a name, which outlive their models.
//! Privileges are separate so that a dump restores every model even if a role is missing. All are ordinary
//! tables: changes roll back, and are replicated and dumped.
//!
//! A name means the model that the statement's snapshot sees. Privileges use the latest snapshot, as
//! PostgreSQL's own do: a revoked one is gone for every later statement. A model's row in `model` is its lock,
//! which every change of the model updates first.

pub(crate) mod baseline;
pub(crate) mod deployment;
mod inputs;
pub(crate) mod lookup;
pub(crate) mod meaning;
pub(crate) mod model;
mod model_file;
pub(crate) mod pin;
pub(crate) mod predict_functions;
pub(crate) mod reference;
pub(crate) mod roles;
pub(crate) mod scores;
mod unknown_category;
pub(crate) mod write;

use std::ffi::CStr;
use std::ops::ControlFlow;

use pg_interface::catalog::{self, ANYOID, TEXTOID};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::scan::{Table, rows};
use pg_interface::session::{self, PUBLIC, has_rights_of, is_superuser};
use pg_interface::{Oid, fault, jsonb, report};
use pgrx::datum::DatumWithOid;
use pgrx::{AnyElement, FromDatum, IntoDatum, Spi, spi};
use row_source::names;

use self::model::{Model, ModelId};
use crate::error::{Error, Result};

/// The schema of the registry, in which only the extension's owner can create objects.
const SCHEMA: &CStr = c"pgboost_catalog";

/// The registry's tables, looked up for each name that the cache cannot resolve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registry {
    /// The schema of the functions for users.
    pub(crate) functions: Oid,
    schema: Oid,
    /// The owner of the tables.
    pub(crate) owner: Oid,
    pub(crate) model_by_name: Table,
    model_by_id: Table,
    pub(crate) version: Table,
    pub(crate) part: Table,
    pub(crate) privilege: Table,
    privilege_by_role: Table,
    pub(crate) alias: Table,
    /// The type on which each role in `privilege` has a grant.
    pub(crate) privileges_type: Oid,
}

impl Registry {
    /// Returns the tables on which the meaning of a name and its privileges depend.
    pub(crate) fn watched(&self) -> impl Iterator<Item = Oid> {
        [self.model_by_name, self.version, self.privilege, self.alias]
            .into_iter()
            .map(|table| table.relation)
    }

    pub(crate) fn of_function(function: Oid) -> Result<Registry> {
        fault::at("registry: opened");
        let schema = catalog::schema(SCHEMA).ok_or(Error::NoRegistry)?;
        let table =
            |name, index, columns| table(schema, name, index, columns).ok_or(Error::NoRegistry);
        let model_by_name = table(c"model", c"model_name_key", [c"name", c"id"])?;
        let owner = catalog::table_owner(model_by_name.relation).ok_or(Error::NoRegistry)?;
        let privilege = table(c"privilege", c"privilege_pkey", [c"model", c"role"])?;
        let privileges_type = catalog::type_in(schema, c"model_privileges");
        Ok(Registry {
            functions: catalog::schema_of(function),
            schema,
            owner,
            model_by_name,
            model_by_id: Table { index: c"model_pkey", columns: [c"id", c"name"], ..model_by_name },
            version: table(c"version", c"version_pkey", [c"model", c"version"])?,
            part: table(c"file_part", c"file_part_pkey", [c"model", c"version"])?,
            privilege,
            privilege_by_role: Table {
                index: c"privilege_role",
                columns: [c"role", c"model"],
                ..privilege
            },
            alias: table(c"alias", c"alias_pkey", [c"model", c"alias"])?,
            privileges_type: privileges_type.ok_or(Error::NoRegistry)?,
        })
    }

    /// Opens the table of numbers that were ever pinned.
    fn pinned(&self) -> Result<Table> {
        let columns = [c"name", c"version"];
        table(self.schema, c"pinned", c"pinned_pkey", columns).ok_or(Error::NoRegistry)
    }

    /// Opens the table of functions that were created for models.
    fn function(&self) -> Result<Table> {
        let columns = [c"model", c"function"];
        table(self.schema, c"function", c"function_pkey", columns).ok_or(Error::NoRegistry)
    }
}

/// Finds the extension's function of that name which takes a model and features.
fn function_of(registry: &Registry, name: &str) -> Result<Oid> {
    catalog::function(registry.functions, name, &[TEXTOID, ANYOID]).ok_or(Error::NoRegistry)
}

/// Opens a table of the schema, if it exists.
fn table(
    schema: Oid,
    name: &CStr,
    index: &'static CStr,
    columns: [&'static CStr; 2],
) -> Option<Table> {
    catalog::relation(schema, name).map(|relation| Table { relation, schema, index, columns })
}

/// Runs a statement that changes the registry and returns no rows.
pub(crate) fn execute(
    registry: &Registry,
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Result<()> {
    as_owner(registry, statement, |statement| {
        Spi::connect_mut(|client| {
            let done = client.update(statement, None, arguments).map(|_| ());
            fault::at("registry: written");
            done
        })
    })
}

/// Runs a statement that changes the registry and returns at most one row. Returns its first column, if
/// there is a row.
pub(crate) fn query<T: FromDatum + IntoDatum>(
    registry: &Registry,
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Result<Option<T>> {
    as_owner(registry, statement, |statement| {
        Spi::connect_mut(|client| {
            let table = client.update(statement, None, arguments)?;
            fault::at("registry: asked");
            if table.is_empty() { Ok(None) } else { table.first().get_one::<T>() }
        })
    })
}

/// Runs a read-only statement, also on a standby, and returns the jsonb of its first row, if there is
/// one. Numbers in it keep all digits.
pub(crate) fn query_jsonb(
    registry: &Registry,
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Result<Option<AnyElement>> {
    session::with_setting(c"extra_float_digits", c"1", || {
        as_owner(registry, statement, |statement| {
            Spi::connect(|client| {
                let table = client.select(statement, None, arguments)?;
                let row = if table.is_empty() { return Ok(None) } else { table.first() };
                Ok(row.get_datum_by_ordinal(1)?.and_then(jsonb::outlive_spi))
            })
        })
    })
}

fn as_owner<T>(
    registry: &Registry,
    statement: &str,
    run: impl FnOnce(&str) -> spi::Result<T>,
) -> Result<T> {
    // PostgreSQL's own errors do not return here; only a result of another shape does.
    session::as_user(registry.owner, || run(statement))
        .map_err(|_| Error::Registry { name: String::new(), what: "answer" })
}

/// The value of the column `privilege` for a model's owner.
pub(crate) const OWNER: &str = "owner";

/// A privilege that the owner of a model may grant; a greater one includes the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Privilege {
    /// Predict with the model and see its description.
    Predict,
    /// Also see values of the training data: categories, and the baseline.
    Inspect,
}

impl Privilege {
    /// Returns the value of the column `privilege`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Privilege::Predict => "predict",
            Privilege::Inspect => "inspect",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        let mut all = [Privilege::Predict, Privilege::Inspect].into_iter();
        all.find(|privilege| privilege.name() == name)
            .ok_or_else(|| Error::NoSuchPrivilege { privilege: name.to_owned() })
    }
}

/// A user's access to a model; a greater one includes the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    None,
    /// As [`Privilege::Predict`].
    Predict,
    /// As [`Privilege::Inspect`].
    Inspect,
    Owner,
}

impl From<Privilege> for Access {
    fn from(privilege: Privilege) -> Self {
        match privilege {
            Privilege::Predict => Access::Predict,
            Privilege::Inspect => Access::Inspect,
        }
    }
}

pub(crate) fn access(registry: &Registry, model: ModelId, user: Oid) -> Access {
    if is_superuser(user) {
        return Access::Owner;
    }
    let (owner, granted) = privileges(registry, model);
    if has_rights_of(user, owner) {
        return Access::Owner;
    }
    let counts =
        |role| role == PUBLIC || (has_rights_of(user, role) && roles::is_named(registry, role));
    let held = granted.into_iter().filter(|(role, _)| counts(*role));
    held.map(|(_, privilege)| privilege.into()).max().unwrap_or(Access::None)
}

/// Returns the owner of a model, or the extension's owner if that role was dropped.
pub(crate) fn owner(registry: &Registry, model: ModelId) -> Oid {
    privileges(registry, model).0
}

/// Returns the owner of a model, and the roles with their privileges.
fn privileges(registry: &Registry, model: ModelId) -> (Oid, Vec<(Oid, Privilege)>) {
    let (mut owner, mut granted) = (None, Vec::new());
    rows(registry.privilege, &[model.key()], ReadSnapshot::Latest, |row| {
        if let (Some(role), Some(privilege)) = (row.role(c"role"), row.text(c"privilege")) {
            match Privilege::named(&privilege) {
                Ok(privilege) => granted.push((role, privilege)),
                Err(_) => owner = Some(role),
            }
        }
        ControlFlow::Continue(())
    });
    let owner = owner.filter(|owner| roles::is_named(registry, *owner));
    (owner.unwrap_or(registry.owner), granted)
}

/// Raises unless the user may predict with the model.
pub(crate) fn require_predict(model: Model<'_>, user: Oid) -> Result<()> {
    let allowed = model.access(user) >= Access::Predict;
    if allowed { Ok(()) } else { Err(Error::Denied { name: model.name.to_owned() }) }
}

/// Raises unless the user may see values of the training data.
pub(crate) fn require_inspect(model: Model<'_>, user: Oid) -> Result<()> {
    let allowed = model.access(user) >= Access::Inspect;
    if allowed { Ok(()) } else { Err(Error::InspectDenied { name: model.name.to_owned() }) }
}

/// Raises unless the user owns the model.
pub(crate) fn require_owner(model: Model<'_>, user: Oid) -> Result<()> {
    let allowed = model.access(user) >= Access::Owner;
    if allowed { Ok(()) } else { Err(Error::NotOwner { name: model.name.to_owned() }) }
}

/// The most similar names of which the user's privileges are looked up.
const MAX_NEAR: usize = 100;

/// Returns the error for an unknown name, with the nearest name of a model that the user may use.
#[cold]
pub(crate) fn no_such_model(registry: &Registry, name: &str) -> Error {
    let mut names = Vec::new();
    // All names of one or two letters are near each other.
    let is_long = name.chars().nth(2).is_some();
    rows(registry.model_by_name, &[], ReadSnapshot::Latest, |row| {
        names.extend(row.text(c"name").filter(|_| is_long));
        ControlFlow::Continue(())
    });
    let user = session::current_user();
    let may_see = |name: &str| {
        let (found, _) = Model::find_with_mark(registry, name, ReadSnapshot::Latest);
        found.is_some_and(|model| model.access(user) != Access::None)
    };
    let candidates = names.iter().map(|name| {
        report::check_for_interrupts();
        name.as_str()
    });
    let near = names::near(name, candidates);
    let nearest = near.into_iter().take(MAX_NEAR).find(|name| may_see(name)).map(str::to_owned);
    Error::NoSuchModel { name: name.to_owned(), nearest }
}

/// Keeps other sessions from changing the model until this transaction ends. Returns the deployed
/// version, if one is.
///
/// The row is updated, not only locked, so that a transaction fails whose snapshot is older than another's
/// change, instead of overwriting it.
///
/// # Errors
/// [`Error::NoSuchModel`] if the model was dropped or renamed meanwhile; [`Error::NotOwner`] if another session
/// has just made it another's.
pub(crate) fn lock(model: Model<'_>) -> Result<Option<i32>> {
    let deployed = model
        .query::<i32, _>(
            "UPDATE pgboost_catalog.model AS m SET last_version = m.last_version \
         WHERE m.id = $1 AND m.name = $2 RETURNING COALESCE(m.deployed, 0)",
            [model.name.into()],
        )?
        .ok_or_else(|| no_such_model(&model.registry, model.name))?;
    require_owner(model, session::current_user())?;
    Ok((deployed > 0).then_some(deployed))
}

/// Returns a role for a parameter of type bigint, since pgrx would pass the OID 0 of PUBLIC as NULL.
fn role_number(role: Oid) -> i64 {
    i64::from(role.to_u32())
}
