//! The model registry: tables of the extension in the schema `pgboost_catalog`, read without SPI and written
//! with it. The functions for users are in the schema that CREATE EXTENSION was told.
//!
//! `model` has one row per model and names the deployed version, `version` describes the
//! versions, `part` has their files as they came, and `privilege` says who owns a model and who may predict with it.
//! `alias` has names for versions, `function` the functions that were made of models,
//! `pinned` the versions that were ever pinned, which outlive their models.
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

/// The schema of the registry, which only the extension's owner can create objects in.
const SCHEMA: &CStr = c"pgboost_catalog";

/// The registry's tables, found anew for each look-up that is not answered from the cache.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    /// The schema of the functions for users.
    pub functions: Oid,
    schema: Oid,
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
        let schema = catalog::schema(SCHEMA).ok_or(Error::NoRegistry)?;
        let table = |name, key| table(schema, name, key).ok_or(Error::NoRegistry);
        let model = table(c"model", c"model_pkey")?;
        let owner = catalog::table_owner(model.relation).ok_or(Error::NoRegistry)?;
        Ok(Registry {
            functions: catalog::schema_of(function),
            schema,
            owner,
            model,
            version: table(c"version", c"version_pkey")?,
            part: table(c"part", c"part_pkey")?,
            privilege: table(c"privilege", c"privilege_pkey")?,
            alias: table(c"alias", c"alias_pkey")?,
        })
    }

    /// The versions that were ever pinned.
    fn pinned(&self) -> Result<Table> {
        table(self.schema, c"pinned", c"pinned_pkey").ok_or(Error::NoRegistry)
    }

    /// The functions that were made of models.
    fn function(&self) -> Result<Table> {
        table(self.schema, c"function", c"function_pkey").ok_or(Error::NoRegistry)
    }
}

/// The extension's function of that name which takes a model and features.
fn function_of(registry: &Registry, name: &str) -> Result<Oid> {
    catalog::function(registry.functions, name, &[TEXTOID, ANYOID]).ok_or(Error::NoRegistry)
}

/// A table of the schema, if it is there.
fn table(schema: Oid, name: &CStr, primary_key: &'static CStr) -> Option<Table> {
    catalog::relation(schema, name).map(|relation| Table { relation, schema, primary_key })
}
