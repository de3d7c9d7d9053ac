//! What the registry says of a version, for `model_info`.

use pgrx::AnyElement;

use super::Registry;
use super::statement::query_jsonb;
use crate::error::{Error, Result};

/// One jsonb object with all there is but the bytes.
pub fn describe(registry: &Registry, name: &str, version: i32) -> Result<AnyElement> {
    query_jsonb(
        registry,
        "SELECT pg_catalog.jsonb_build_object('name', v.model, 'version', v.version, \
         'deployed', COALESCE(v.version = m.deployed, false), 'owner', (SELECT p.role::text FROM \
         pgboost_catalog.privilege AS p WHERE p.model = m.name AND p.privilege = 'owner'), \
         'format', v.format, 'library_version', v.library_version, 'objective', v.objective, \
         'features', v.features, 'outputs', v.outputs, 'trees', v.trees, 'rounds', v.rounds, \
         'used_rounds', v.used_rounds, 'best_rounds', v.best_rounds, \
         'feature_names', CASE WHEN v.feature_names IS NULL THEN '[]' \
         ELSE pg_catalog.to_jsonb(v.feature_names) END, 'categories', v.categories, \
         'depth', v.depth, 'labels', v.labels, 'size', v.size, \
         'sha256', pg_catalog.encode(v.digest, 'hex'), 'attributes', v.attributes, \
         'parameters', v.parameters, 'metrics', v.metrics, 'loaded_by', v.loaded_by, \
         'loaded_at', v.loaded_at) FROM pgboost_catalog.version AS v \
         JOIN pgboost_catalog.model AS m ON m.name = v.model \
         WHERE v.model = $1 AND v.version = $2",
        &[name.into(), version.into()],
    )?
    .ok_or_else(|| Error::NoSuchVersion { name: name.to_owned(), version })
}
