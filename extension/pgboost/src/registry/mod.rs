//! The model registry: tables of the extension, read without SPI and written with it.
//!
//! `pgboost_model` has one row per model and names the deployed version, `pgboost_version` describes the
//! versions, `pgboost_part` has their files as they came, and `pgboost_privilege` says who owns a model and who may predict with it.
//! `pgboost_alias` has names for versions, `pgboost_function` the functions that were made of models,
//! `pgboost_pinned` the versions that were ever pinned, which outlive their models.
//! Privileges stand apart so that a dump restores every model even where a role is missing. All
//! are ordinary tables: what is written rolls back, is replicated, and is dumped.

pub mod alias;
pub mod created;
pub mod describe;
pub mod lock;
pub mod lookup;
mod parts;
pub mod pin;
pub mod privilege;
pub mod profile;
pub mod reference;
mod statement;
pub mod write;

use std::ffi::CStr;

use pg_interface::catalog::{self, ANYOID, TEXTOID};
use pg_interface::scan::Table;
use pg_interface::{Oid, fault};

use crate::error::{Error, Result};

/// The registry's tables, found anew for each look-up that is not answered from the cache.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    pub schema: Oid,
    /// Who owns the tables.
    pub owner: Oid,
    pub model: Table,
    pub version: Table,
    pub part: Table,
    pub privilege: Table,
    pub alias: Table,
}

impl Registry {
    /// The tables that say what a name means, and to whom.
    pub fn watched(&self) -> impl Iterator<Item = Oid> {
        [self.model, self.version, self.privilege, self.alias]
            .into_iter()
            .map(|table| table.relation)
    }

    pub fn of_function(function: Oid) -> Result<Registry> {
        fault::at("registry: opened");
        let schema = catalog::schema_of(function);
        let table = |name, key| table(schema, name, key).ok_or(Error::NoRegistry);
        let model = table(c"pgboost_model", c"pgboost_model_pkey")?;
        let owner = catalog::table_owner(model.relation).ok_or(Error::NoRegistry)?;
        Ok(Registry {
            schema,
            owner,
            model,
            version: table(c"pgboost_version", c"pgboost_version_pkey")?,
            part: table(c"pgboost_part", c"pgboost_part_pkey")?,
            privilege: table(c"pgboost_privilege", c"pgboost_privilege_pkey")?,
            alias: table(c"pgboost_alias", c"pgboost_alias_pkey")?,
        })
    }

    /// The versions that were ever pinned.
    fn pinned(&self) -> Result<Table> {
        table(self.schema, c"pgboost_pinned", c"pgboost_pinned_pkey").ok_or(Error::NoRegistry)
    }

    /// The functions that were made of models.
    fn function(&self) -> Result<Table> {
        table(self.schema, c"pgboost_function", c"pgboost_function_pkey").ok_or(Error::NoRegistry)
    }
}

/// The extension's function of that name which takes a model and features.
fn function_of(registry: &Registry, name: &str) -> Result<Oid> {
    catalog::function(registry.schema, name, &[TEXTOID, ANYOID]).ok_or(Error::NoRegistry)
}

/// A table of the schema, if it is there.
fn table(schema: Oid, name: &CStr, primary_key: &'static CStr) -> Option<Table> {
    catalog::relation(schema, name).map(|relation| Table { relation, schema, primary_key })
}
