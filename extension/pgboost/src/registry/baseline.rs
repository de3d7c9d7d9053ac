//! The profiles of features, a row of `baseline` for each feature of a version.

use pg_interface::{invalidation, jsonb};
use row_source::distribution::{FeatureProfile, Point, ProfileValues, Ranges};
use serde_json::Value;

use super::model::{Model, ModelId};
use super::{Registry, query_jsonb};
use crate::error::{Error, Result};

/// Stores the profiles of all features in the model's order, in place of earlier ones. The caller has checked the
/// user's privileges.
pub(crate) fn store(model: Model<'_>, version: i32, profiles: Vec<FeatureProfile>) -> Result<()> {
    forget(model, Some(version))?;
    for (position, profile) in (1..).zip(profiles) {
        insert(model, version, position, profile)?;
    }
    // Backends that count rows outside the ranges of training read them again.
    invalidation::announce(model.registry.version.relation);
    Ok(())
}

/// Deletes the profiles of one version or of all.
pub(crate) fn forget(model: Model<'_>, version: Option<i32>) -> Result<()> {
    model.execute(
        "DELETE FROM pgboost_catalog.baseline AS p \
         WHERE p.model = $1 AND ($2 IS NULL OR p.version = $2)",
        [version.into()],
    )
}

fn insert(model: Model<'_>, version: i32, position: i32, profile: FeatureProfile) -> Result<()> {
    let (points, categories) = match profile.values {
        ProfileValues::Numbers(points) => (Some(points), None),
        ProfileValues::Categories(categories) => (None, Some(categories)),
    };
    let column = |value: fn(&Point) -> f64| -> Option<Vec<f64>> {
        points.as_ref().map(|points| points.iter().map(value).collect())
    };
    let (numbers, below) = (column(|point| point.number), column(|point| point.below));
    let upto = column(|point| point.upto);
    let (categories, shares): (Option<Vec<String>>, Option<Vec<f64>>) =
        categories.map(|categories| categories.into_iter().unzip()).unzip();
    model.execute(
        "INSERT INTO pgboost_catalog.baseline (model, version, position, feature, rows, missing, \
         numbers, below, upto, categories, shares) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        [
            version.into(),
            position.into(),
            profile.feature.into(),
            profile.rows.cast_signed().into(),
            profile.missing.cast_signed().into(),
            numbers.into(),
            below.into(),
            upto.into(),
            categories.into(),
            shares.into(),
        ],
    )
}

/// Reads the profiles of all features, in the model's order; none if none were stored.
pub(crate) fn read(model: Model<'_>, version: i32) -> Result<Vec<FeatureProfile>> {
    let found = query_jsonb(
        &model.registry,
        "SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(p) ORDER BY p.position) \
         FROM pgboost_catalog.baseline AS p WHERE p.model = $1 AND p.version = $2",
        &[model.id.into(), version.into()],
    )?;
    let Some(text) = found.as_ref().and_then(jsonb::text) else { return Ok(Vec::new()) };
    of_json(&text).ok_or_else(|| Error::Registry { name: model.name.to_owned(), what: "profile" })
}

/// Reads the range of each feature in training, in the model's order. Returns `None` if no profile of numbers was
/// stored.
pub(crate) fn ranges(registry: &Registry, model: ModelId, version: i32) -> Option<Ranges> {
    let found = query_jsonb(
        registry,
        "SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array( \
         p.numbers[1], p.numbers[pg_catalog.cardinality(p.numbers)]) ORDER BY p.position) \
         FROM pgboost_catalog.baseline AS p WHERE p.model = $1 AND p.version = $2",
        &[model.into(), version.into()],
    );
    let text = found.ok()?.as_ref().and_then(jsonb::text)?;
    let ranges: Vec<[Option<f64>; 2]> = serde_json::from_slice(&text).ok()?;
    Ranges::of(ranges.into_iter().map(|[least, greatest]| least.zip(greatest)))
}

/// Parses profiles from an array of objects, whose keys are the columns of the table.
pub(crate) fn of_json(text: &[u8]) -> Option<Vec<FeatureProfile>> {
    let rows: Vec<Value> = serde_json::from_slice(text).ok()?;
    rows.iter().map(|row| profile(row).filter(is_valid).map(in_singles)).collect()
}

/// Rounds the numbers as those of rows are, which would not be found among others; equal ones are one point.
fn in_singles(mut profile: FeatureProfile) -> FeatureProfile {
    if let ProfileValues::Numbers(points) = &mut profile.values {
        for Point { number, .. } in points.iter_mut() {
            // An added 0.0 makes 0.0 of -0.0.
            *number = f64::from(number.clamp(f32::MIN.into(), f32::MAX.into()) as f32 + 0.0);
        }
        points.dedup_by(|next, point| {
            let is_same = next.number == point.number;
            if is_same {
                point.upto = next.upto;
            }
            is_same
        });
    }
    profile
}

/// Returns whether there are rows, shares are between 0 and 1, and numbers ascend.
fn is_valid(profile: &FeatureProfile) -> bool {
    let share = |share: f64| (0.0..=1.0).contains(&share);
    (1..=i64::MAX.cast_unsigned()).contains(&profile.rows)
        && profile.missing <= profile.rows
        && match &profile.values {
            ProfileValues::Numbers(points) => {
                points.is_sorted_by(|a, b| a.number < b.number && a.upto <= b.below)
                    && points.iter().all(|point| share(point.below) && share(point.upto))
            }
            ProfileValues::Categories(categories) => {
                categories.iter().all(|category| share(category.1))
            }
        }
}

fn profile(row: &Value) -> Option<FeatureProfile> {
    let numbers = |key: &str| -> Option<Vec<f64>> {
        row.get(key)?.as_array()?.iter().map(Value::as_f64).collect()
    };
    let shares = |key: &str, count: usize| numbers(key).filter(|shares| shares.len() == count);
    let values = match (numbers("numbers"), row.get("categories").and_then(Value::as_array)) {
        (Some(found), _) => {
            let shares =
                shares("below", found.len())?.into_iter().zip(shares("upto", found.len())?);
            let point = |(number, (below, upto))| Point { number, below, upto };
            ProfileValues::Numbers(found.into_iter().zip(shares).map(point).collect())
        }
        (None, Some(categories)) => {
            let names: Option<Vec<String>> =
                categories.iter().map(|name| name.as_str().map(str::to_owned)).collect();
            ProfileValues::Categories(
                names?.into_iter().zip(shares("shares", categories.len())?).collect(),
            )
        }
        (None, None) => return None,
    };
    Some(FeatureProfile {
        feature: row.get("feature")?.as_str()?.to_owned(),
        rows: row.get("rows")?.as_u64()?,
        missing: row.get("missing")?.as_u64()?,
        values,
    })
}
