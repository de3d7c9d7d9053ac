//! What happens where a name comes to mean a version whose features have other names, or another order.
//!
//! Calls with columns or an array, and functions of `create_predict_function`, give features by position: they
//! would go on and give other numbers. A function has the names of the features that it was made for, so it
//! stands in the way; nobody knows of the other calls, so they are warned of. Rows and jsonb go by name.
//! Where the number of features differs, calls by position fail by themselves.

use pg_interface::report;

use super::model::Model;
use super::reference::Wanted;
use super::{Registry, predict_functions, query};
use crate::error::{Error, Result};

/// Of a reference to a model that meant version `before`, if any, and is to mean version `after`.
///
/// # Errors
/// [`Error::FunctionOfOtherFeatures`].
pub(crate) fn check(
    registry: &Registry,
    model: Model<'_>,
    wanted: Wanted<'_>,
    before: Option<i32>,
    after: i32,
) -> Result<()> {
    let Some(before) = before else { return Ok(()) };
    let Some(detail) = first_difference(registry, model, before, after)? else { return Ok(()) };
    if let Some(function) = predict_functions::existing(registry, model, Some(wanted))? {
        let (name, function, detail) = (model.name.to_owned(), function.into(), detail.into());
        return Err(Error::FunctionOfOtherFeatures { name, function, detail });
    }
    report::warning_with(
        &format!(
            "version {after} of model \"{}\" has other features than version {before}, or in \
             another order",
            model.name
        ),
        &detail,
        "Calls with columns or an array give features by position; calls with a row or jsonb go on.",
    );
    Ok(())
}

/// The first feature of two versions with as many that has another name.
fn first_difference(
    registry: &Registry,
    model: Model<'_>,
    before: i32,
    after: i32,
) -> Result<Option<String>> {
    query::<String>(
        registry,
        "SELECT pg_catalog.format('Feature %s is \"%s\" in version %s and \"%s\" in version %s.', \
         f.position, f.before, v.version, f.after, w.version) \
         FROM pgboost_catalog.version AS v, pgboost_catalog.version AS w, \
         ROWS FROM (pg_catalog.unnest(v.feature_names), pg_catalog.unnest(w.feature_names)) \
         WITH ORDINALITY AS f (before, after, position) \
         WHERE v.model = $1 AND v.version = $2 AND w.model = $1 AND w.version = $3 \
         AND v.features = w.features AND f.before <> f.after ORDER BY f.position LIMIT 1",
        &[model.id.into(), before.into(), after.into()],
    )
}
