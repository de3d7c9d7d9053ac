//! Pinned versions: those that `predict_pinned` may use, which cannot be dropped.
//!
//! That function is IMMUTABLE, so its values may be stored in indexes and generated columns. A pin is a
//! column of the version's row, and not found from what depends on it: a function in another language
//! that calls `predict_pinned` would never be found, and a pin is dumped and locked like all else here.
//! What PostgreSQL does know to depend on the version is looked up before a pin is taken away.

use super::lock::lock;
use super::statement::query;
use super::{Registry, lookup};
use crate::error::{Error, Result};

/// # Errors
/// [`Error::NoSuchVersion`].
pub fn set(registry: &Registry, name: &str, version: i32) -> Result<()> {
    lock(registry, name)?;
    update(registry, name, version, true)
}

/// # Errors
/// [`Error::NoSuchVersion`]; [`Error::PinnedInUse`] if an expression that is stored calls
/// `predict_pinned` with it.
pub fn remove(registry: &Registry, name: &str, version: i32) -> Result<()> {
    lock(registry, name)?;
    if let Some(object) = dependent(registry, name, version)? {
        return Err(Error::PinnedInUse { name: name.to_owned(), version, object });
    }
    update(registry, name, version, false)
}

/// # Errors
/// [`Error::Pinned`] if that version, or any version, is pinned.
pub fn require_none(registry: &Registry, name: &str, version: Option<i32>) -> Result<()> {
    match lookup::pinned_version(registry, name, version) {
        Some(version) => Err(Error::Pinned { name: name.to_owned(), version }),
        None => Ok(()),
    }
}

fn update(registry: &Registry, name: &str, version: i32, pinned: bool) -> Result<()> {
    query::<i32>(
        registry,
        "UPDATE {schema}.pgboost_version AS v SET pinned = $3 WHERE v.model = $1 AND v.version = $2 \
         RETURNING 1",
        &[name.into(), version.into(), pinned.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchVersion { name: name.to_owned(), version })
}

/// An object with an expression that calls `predict_pinned` for the version, described.
///
/// PostgreSQL notes that such an object depends on the function, and writes a constant in one way alone.
fn dependent(registry: &Registry, name: &str, version: i32) -> Result<Option<String>> {
    query::<String>(
        registry,
        "SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) \
         FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_proc AS p ON p.oid = d.refobjid \
         WHERE d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass \
         AND p.proname = 'predict_pinned' AND p.pronamespace = $2 AND pg_catalog.strpos(CASE d.classid \
         WHEN 'pg_catalog.pg_class'::pg_catalog.regclass THEN pg_catalog.concat(\
         (SELECT pg_catalog.pg_get_indexdef(i.indexrelid) FROM pg_catalog.pg_index AS i \
         WHERE i.indexrelid = d.objid), (SELECT pg_catalog.pg_get_partkeydef(t.partrelid) \
         FROM pg_catalog.pg_partitioned_table AS t WHERE t.partrelid = d.objid)) \
         WHEN 'pg_catalog.pg_attrdef'::pg_catalog.regclass THEN (SELECT pg_catalog.pg_get_expr(a.adbin, \
         a.adrelid) FROM pg_catalog.pg_attrdef AS a WHERE a.oid = d.objid) \
         WHEN 'pg_catalog.pg_constraint'::pg_catalog.regclass THEN pg_catalog.pg_get_constraintdef(d.objid) \
         WHEN 'pg_catalog.pg_rewrite'::pg_catalog.regclass THEN pg_catalog.pg_get_ruledef(d.objid) \
         WHEN 'pg_catalog.pg_proc'::pg_catalog.regclass THEN pg_catalog.pg_get_functiondef(d.objid) \
         WHEN 'pg_catalog.pg_trigger'::pg_catalog.regclass THEN pg_catalog.pg_get_triggerdef(d.objid) \
         WHEN 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass \
         THEN pg_catalog.pg_get_statisticsobjdef(d.objid) \
         WHEN 'pg_catalog.pg_policy'::pg_catalog.regclass THEN (SELECT pg_catalog.concat(\
         pg_catalog.pg_get_expr(o.polqual, o.polrelid), pg_catalog.pg_get_expr(o.polwithcheck, o.polrelid)) \
         FROM pg_catalog.pg_policy AS o WHERE o.oid = d.objid) END, \
         'predict_pinned(' || pg_catalog.quote_literal($1) || '::text') > 0 LIMIT 1",
        &[format!("{name}@{version}").into(), registry.schema.into()],
    )
}
