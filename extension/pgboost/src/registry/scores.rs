//! Scores of tables' rows that triggers maintain. They are known by the triggers alone, so that they follow and
//! go with their tables.

use pg_interface::{Oid, catalog};

use super::model::{Model, ModelId};
use super::{Access, Registry, access, query};
use crate::error::{Error, Result};

/// The function of the triggers, in the schema of the functions for users.
pub(crate) const TRIGGER_FUNCTION: &str = "pgboost_maintain_score";

/// The meaning of a trigger's arguments.
#[derive(Clone, Debug)]
pub(crate) struct Maintained {
    pub(crate) model: ModelId,
    /// The function that gives the score.
    pub(crate) output: String,
    /// A row that cannot be scored is an error.
    pub(crate) fails: bool,
    /// A version's number or an alias, empty for the deployed version.
    pub(crate) wanted: String,
}

impl Maintained {
    /// Reads a trigger's arguments.
    pub(crate) fn read(arguments: &[String]) -> Option<Maintained> {
        let [model, output, on_error, wanted] = arguments else { return None };
        Some(Maintained {
            model: ModelId::parse(model)?,
            output: output.clone(),
            fails: on_error == "error",
            wanted: wanted.clone(),
        })
    }

    /// Returns a trigger's arguments, in the order that the view pgboost_scores knows.
    pub(crate) fn arguments(&self) -> [String; 4] {
        let on_error = if self.fails { "error" } else { "null" };
        [self.model.to_string(), self.output.clone(), on_error.to_owned(), self.wanted.clone()]
    }

    /// Returns the reference to the version that the statement sees.
    ///
    /// # Errors
    /// [`Error::NoSuchModel`].
    pub(crate) fn reference(&self, registry: &Registry) -> Result<String> {
        let missing = || Error::NoSuchModel { name: self.model.to_string(), nearest: None };
        let name = self.model.name(registry).ok_or_else(missing)?;
        Ok(if self.wanted.is_empty() { name } else { format!("{name}@{}", self.wanted) })
    }
}

/// Returns the columns of a table that triggers maintain: scores and their versions.
pub(crate) fn columns(registry: &Registry, table: Oid) -> Result<Vec<String>> {
    let found = query::<Vec<String>>(
        registry,
        "SELECT pg_catalog.array_agg(DISTINCT a.attname::pg_catalog.text) FROM pg_catalog.pg_trigger AS t \
         JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid \
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr) \
         WHERE t.tgrelid = $1 AND p.proname = $2 AND p.pronamespace = $3",
        &[table.into(), TRIGGER_FUNCTION.into(), registry.functions.into()],
    )?;
    Ok(found.unwrap_or_default())
}

/// Returns whether a table has a trigger with these arguments.
pub(crate) fn exists(registry: &Registry, table: Oid, maintained: &Maintained) -> Result<bool> {
    let arguments = maintained.arguments().map(|argument| argument + "\0").concat();
    let found = query::<i32>(
        registry,
        "SELECT 1 FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid \
         WHERE t.tgrelid = $1 AND p.proname = $2 AND p.pronamespace = $3 AND t.tgargs = $4 LIMIT 1",
        &[
            table.into(),
            TRIGGER_FUNCTION.into(),
            registry.functions.into(),
            arguments.into_bytes().into(),
        ],
    )?;
    Ok(found.is_some())
}

/// # Errors
/// [`Error::DropScored`] if a table, whose owner may predict with the model, has scores of it: others could keep
/// a model from being dropped.
pub(crate) fn require_none(registry: &Registry, model: Model<'_>) -> Result<()> {
    let tables = query::<Vec<Oid>>(
        registry,
        "SELECT pg_catalog.array_agg(DISTINCT t.tgrelid) FROM pg_catalog.pg_trigger AS t \
         JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid WHERE p.proname = $2 AND p.pronamespace = $3 \
         AND pg_catalog.substr(t.tgargs, 1, 36) = pg_catalog.decode($1, 'escape')",
        &[model.id.to_string().into(), TRIGGER_FUNCTION.into(), registry.functions.into()],
    )?;
    for table in tables.unwrap_or_default() {
        let owner = catalog::table_owner(table);
        if owner.is_some_and(|owner| access(registry, model.id, owner) != Access::None) {
            let table = catalog::quoted_relation(table).unwrap_or_default().into();
            return Err(Error::DropScored { name: model.name.to_owned(), table });
        }
    }
    Ok(())
}
