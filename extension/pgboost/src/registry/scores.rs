//! Scores of tables' rows that triggers maintain. They are known by the triggers alone, so that they follow and
//! go with their tables.

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::transaction::{Lock, Mode};
use pg_interface::{Oid, catalog, query as source, session};
use pgrx::{FromDatum, IntoDatum};

use super::model::{Model, ModelId};
use super::reference::Wanted;
use super::{Access, Registry, no_such_model, query};
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
    pub(crate) fn reference(&self, registry: &Registry) -> Result<String> {
        let missing = || Error::NoSuchModel { name: self.model.to_string(), nearest: None };
        let name = self.model.name(registry).ok_or_else(missing)?;
        Ok(if self.wanted.is_empty() { name } else { format!("{name}@{}", self.wanted) })
    }
}

/// Returns an aggregate over a table's triggers `t` with the function of scores, to which `joined` joins more or
/// sets a condition.
fn of_triggers<T: FromDatum + IntoDatum>(
    registry: &Registry,
    table: Oid,
    aggregate: &str,
    joined: &str,
) -> Result<Option<T>> {
    query(
        registry,
        &format!(
            "SELECT {aggregate} FROM pg_catalog.pg_trigger AS t \
             JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid {joined} \
             WHERE t.tgrelid = $1 AND p.proname = $2 AND p.pronamespace = $3"
        ),
        &[table.into(), TRIGGER_FUNCTION.into(), registry.functions.into()],
    )
}

/// Returns the columns of a table that triggers maintain: scores and their versions.
pub(crate) fn columns(registry: &Registry, table: Oid) -> Result<Vec<String>> {
    let found = of_triggers(
        registry,
        table,
        "pg_catalog.array_agg(DISTINCT a.attname::pg_catalog.text)",
        "JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr)",
    )?;
    Ok(found.unwrap_or_default())
}

/// Returns the features of all versions of the models with which a table's scores are maintained.
pub(crate) fn features(registry: &Registry, table: Oid) -> Result<Vec<String>> {
    let found = of_triggers(
        registry,
        table,
        "pg_catalog.array_agg(DISTINCT f.name)",
        "JOIN pgboost_catalog.version AS v \
         ON pg_catalog.substr(t.tgargs, 1, 36) = pg_catalog.decode(v.model::text, 'escape') \
         CROSS JOIN pg_catalog.unnest(v.feature_names) AS f (name)",
    )?;
    Ok(found.unwrap_or_default())
}

/// Returns whether a table has a trigger with these arguments.
pub(crate) fn exists(registry: &Registry, table: Oid, maintained: &Maintained) -> Result<bool> {
    let all: Option<Vec<String>> = of_triggers(
        registry,
        table,
        "pg_catalog.array_agg(pg_catalog.encode(t.tgargs, 'hex'))",
        "",
    )?;
    let arguments = maintained.arguments().map(|argument| argument + "\0").concat();
    let arguments: String = arguments.bytes().map(|byte| format!("{byte:02x}")).collect();
    Ok(all.unwrap_or_default().contains(&arguments))
}

/// Returns whether a table has a trigger of that name.
pub(crate) fn is_trigger(registry: &Registry, table: Oid, name: &str) -> Result<bool> {
    let found = query::<i32>(
        registry,
        "SELECT 1 FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = $1 AND t.tgname = $2::name",
        &[table.into(), name.into()],
    )?;
    Ok(found.is_some())
}

/// Returns the trigger of others that changes rows of a table, or of its partitions, after a trigger of that name.
pub(crate) fn later_trigger(registry: &Registry, table: Oid, name: &str) -> Result<Option<String>> {
    query(
        registry,
        "SELECT pg_catalog.min(t.tgname COLLATE pg_catalog.\"C\") FROM pg_catalog.pg_trigger AS t \
         JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid WHERE (t.tgrelid = $1 \
         OR t.tgrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid::pg_catalog.regclass))) \
         AND t.tgname > $2::pg_catalog.name AND p.proname <> $3 AND t.tgenabled <> 'D' \
         AND t.tgtype & 3 = 3 AND t.tgtype & 20 <> 0",
        &[table.into(), name.into(), TRIGGER_FUNCTION.into()],
    )
}

/// The query that counts the rows of another version, for whoever may read the column of versions in all rows. Other
/// sessions' temporary tables cannot be read. Unlike a partition, a child table has only the triggers that were made
/// for it.
const BEHIND: &str = "\
    SELECT convert_to(format('SELECT count(*) FROM %s WHERE %I IS DISTINCT FROM $1%s', c.oid::regclass, a.attname, \
           CASE WHEN c.relkind = 'r' AND c.relhassubclass THEN \
                ' AND tableoid IN (SELECT t.tgrelid FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid \
                  WHERE p.proname = ''pgboost_maintain_score'')' END), getdatabaseencoding()) \
      FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid \
     WHERE c.oid = $1 AND a.attnum = $2 AND a.atttypid = 'integer'::regtype \
       AND has_column_privilege(c.oid, a.attnum, 'SELECT') AND NOT row_security_active(c.oid) \
       AND NOT (c.relrowsecurity AND c.relforcerowsecurity) \
       AND NOT pg_is_other_temp_schema(c.relnamespace) \
       AND has_table_privilege(c.relowner, c.oid, 'SELECT') \
       AND has_schema_privilege(c.relowner, c.relnamespace, 'USAGE')";

/// Counts the rows whose score is not of a version, as the table's owner: who reads the view did not choose the
/// table, whose indexes and policies may have functions. Returns `None` if the current user may not know.
pub(crate) fn rows_behind(table: Oid, column: i16, version: Option<i32>) -> Option<i64> {
    let owner = catalog::table_owner(table)?;
    let count = session::with_safe_path(|| {
        source::select(BEHIND, &[table.into(), column.into()], |row| row.get::<Vec<u8>>(1))
    })??;
    session::as_untrusted(owner, || source::select(count, &[version.into()], |row| row.get(1)))?
}

/// Keeps a model and its versions from being dropped until the transaction ends, so that a drop sees the triggers
/// which it makes. The caller has checked the privileges.
///
/// # Errors
/// [`Error::NoSuchModel`] if another session has just dropped it.
pub(crate) fn keep(model: Model<'_>) -> Result<()> {
    lock_of(&model.registry, model.id).take(Mode::Used);
    let found = Model::find(&model.registry, model.name, ReadSnapshot::Latest)?;
    if found.id == model.id { Ok(()) } else { Err(no_such_model(&model.registry, model.name)) }
}

/// Raises unless a model, or the version or alias that is `wanted`, may be dropped. Tables whose owners may not
/// predict with the model do not count: others could keep a model from being dropped.
///
/// # Errors
/// [`Error::DropScored`] if a table has scores of it.
pub(crate) fn require_none(model: Model<'_>, wanted: Option<Wanted<'_>>) -> Result<()> {
    let name = model.name;
    let (what, argument) = match wanted {
        None | Some(Wanted::Deployed) => (format!("model \"{name}\""), None),
        Some(Wanted::Version(version)) => {
            (format!("version {version} of model \"{name}\""), Some(version.to_string()))
        }
        Some(Wanted::Alias(alias)) => {
            (format!("alias \"{alias}\" of model \"{name}\""), Some(alias.to_owned()))
        }
    };
    lock_of(&model.registry, model.id).take(Mode::Changed);
    let tables = query::<Vec<Oid>>(
        &model.registry,
        "SELECT pg_catalog.array_agg(DISTINCT t.tgrelid) FROM pg_catalog.pg_trigger AS t \
         JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid WHERE p.proname = $2 AND p.pronamespace = $3 \
         AND pg_catalog.substr(t.tgargs, 1, 36) = pg_catalog.decode($1, 'escape') AND ($4 IS NULL \
         OR pg_catalog.substr(t.tgargs, pg_catalog.length(t.tgargs) - pg_catalog.length($4) + 1) = $4)",
        &[
            model.id.to_string().into(),
            TRIGGER_FUNCTION.into(),
            model.registry.functions.into(),
            argument.map(|argument| format!("\0{argument}\0").into_bytes()).into(),
        ],
    )?;
    for table in tables.unwrap_or_default() {
        let owner = catalog::table_owner(table);
        if owner.is_some_and(|owner| model.access(owner) != Access::None) {
            let table = catalog::quoted_relation(table).unwrap_or_default().into();
            return Err(Error::DropScored { what: what.into(), table });
        }
    }
    Ok(())
}

fn lock_of(registry: &Registry, model: ModelId) -> Lock {
    Lock::new(registry.model_by_name.relation, &model.to_string())
}
