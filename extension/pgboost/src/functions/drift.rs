//! `set_baseline`, `feature_baseline` and `feature_drift`: the distributions of a model's features in
//! training, and the drift of other rows from them.

use std::collections::BTreeMap;

use pg_interface::{FunctionCallInfo, call, jsonb, session};
use pgrx::iter::TableIterator;
use pgrx::{AnyElement, pg_extern};
use row_source::distribution::{FeatureProfile, Point, ProfileValues};

use super::{Answer, Rows, required, required_text};
use crate::error::{Error, Result};
use crate::evaluation::predictions::SourcePredictor;
use crate::feature_drift::{Distribution, NumberDrift, Shares, collect, stability_index};
use crate::registry::model::Model;
use crate::registry::reference::Reference;
use crate::registry::{self, Registry, baseline};

/// The number of steps between the quantiles that `feature_baseline` shows: the least, the deciles, the greatest.
const DECILES: u32 = 10;

/// A model that the user may predict with.
struct Profiled<'a> {
    predictor: SourcePredictor,
    model: Model<'a>,
    version: i32,
}

impl<'a> Profiled<'a> {
    fn find(model: Option<&'a [u8]>, call: FunctionCallInfo) -> Result<Self> {
        let model = required_text(model, "model")?;
        let function = call::called_function(call);
        let predictor = SourcePredictor::new(model, function)?;
        let version = predictor.version();
        let registry = Registry::of_function(function)?;
        let model = predictor.resolved_model().named(registry, Reference::parse(model)?.name);
        Ok(Profiled { predictor, model, version })
    }

    /// Reads the baseline, which shows values of the training data.
    fn profiles(&self) -> Result<Vec<FeatureProfile>> {
        registry::require_inspect(self.model, session::current_user())?;
        baseline::read(self.model, self.version)
    }
}

/// `set_baseline(model, source)`
#[pg_extern(sql = false)]
fn pgboost_set_baseline(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    session::require_writable(c"set_baseline()");
    let found = Profiled::find(model, call)?;
    registry::require_owner(found.model, session::current_user())?;
    let collector = collect(found.predictor.image(), required_text(source, "source")?)?;
    let profiles = collector.profiles().map_err(Error::from)?;
    registry::lock(found.model)?;
    Ok(baseline::store(found.model, found.version, profiles)?)
}

/// `set_baseline(model, baseline)`, of what `train_model` or `feature_baseline` has written
#[pg_extern(sql = false)]
fn pgboost_set_baseline_jsonb(
    model: Option<&[u8]>,
    baseline: Option<AnyElement>,
    call: FunctionCallInfo,
) -> Answer<()> {
    session::require_writable(c"set_baseline()");
    let found = Profiled::find(model, call)?;
    registry::require_owner(found.model, session::current_user())?;
    let text = jsonb::text(&required(baseline, "baseline")?).unwrap_or_default();
    let profiles = baseline::of_json(&text).ok_or(Error::InvalidBaseline)?;
    let names = found.predictor.column_names();
    if !profiles.iter().map(|profile| &profile.feature).eq(&names) {
        return Err(Error::InvalidBaseline.into());
    }
    registry::lock(found.model)?;
    Ok(baseline::store(found.model, found.version, profiles)?)
}

type Profile = (String, i64, i64, Option<Vec<f64>>, Option<Vec<String>>, Option<Vec<f64>>);

/// `feature_baseline(model) -> table(feature, rows, missing, quantiles, categories, shares)`
#[pg_extern(sql = false)]
fn pgboost_feature_baseline(model: Option<&[u8]>, call: FunctionCallInfo) -> Rows<Profile> {
    let rows = Profiled::find(model, call)?.profiles()?.into_iter().map(|profile| {
        let (rows, missing) = (profile.rows.cast_signed(), profile.missing.cast_signed());
        let (quantiles, (categories, shares)) = match profile.values {
            ProfileValues::Numbers(points) => (Some(deciles(&points)), (None, None)),
            ProfileValues::Categories(categories) => {
                (None, Some(categories.into_iter().unzip()).unzip())
            }
        };
        (profile.feature, rows, missing, quantiles, categories, shares)
    });
    Ok(TableIterator::new(rows))
}

/// Returns the deciles, each the least number with at least that share of numbers up to it.
fn deciles(points: &[Point]) -> Vec<f64> {
    let at = |decile: u32| {
        let share = f64::from(decile) / f64::from(DECILES);
        points.iter().find(|point| point.upto >= share).map(|point| point.number)
    };
    (0..=DECILES).filter_map(at).collect()
}

/// `feature_drift(model, source)
/// -> table(feature, severity, psi, ks, p_value, baseline_missing, missing, baseline_rows, rows)`
#[pg_extern(sql = false)]
fn pgboost_feature_drift(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Rows<Drift> {
    let found = Profiled::find(model, call)?;
    let source = required_text(source, "source")?;
    let profiles = found.profiles()?;
    if profiles.len() != found.predictor.image().num_features() {
        let (name, version) = (found.model.name.to_owned(), found.version);
        return Err(Error::NoBaseline { name, version }.into());
    }
    Ok(TableIterator::new(drift(&found, &profiles, source)?))
}

/// A row of `feature_drift`.
type Drift =
    (String, Option<&'static str>, Option<f64>, Option<f64>, Option<f64>, f64, f64, i64, i64);

/// Grades a stability index by the customary thresholds.
fn severity(psi: f64) -> &'static str {
    if psi < 0.1 {
        "none"
    } else if psi < 0.25 {
        "minor"
    } else {
        "major"
    }
}

fn drift(found: &Profiled<'_>, profiles: &[FeatureProfile], source: &str) -> Result<Vec<Drift>> {
    let collector = collect(found.predictor.image(), source)?;
    let references: Vec<Distribution> = profiles
        .iter()
        .map(|profile| match &profile.values {
            ProfileValues::Numbers(points) => {
                Distribution::new(points.clone(), profile.rows.saturating_sub(profile.missing))
            }
            ProfileValues::Categories(_) => Distribution::new(Vec::new(), 0),
        })
        .collect();
    let current = collector.numbers();
    let mut numbers: Vec<NumberDrift<'_>> = references
        .iter()
        .zip(current)
        .map(|(reference, current)| NumberDrift::from(reference, current))
        .collect();
    let now = collector.finish(|feature, number, values| {
        if let Some(feature) = numbers.get_mut(feature) {
            feature.add(number, values);
        }
    })?;
    let each = profiles.iter().zip(now).zip(numbers);
    Ok(each
        .map(|((before, now), numbers)| {
            let missing = |profile: &FeatureProfile| profile.missing as f64 / profile.rows as f64;
            let found = match (&before.values, &now.values) {
                (ProfileValues::Categories(before), ProfileValues::Categories(now)) => {
                    (category_drift(before, now), None, None)
                }
                _ => numbers.finish().map_or((None, None, None), |(psi, ks, chance)| {
                    (Some(psi), Some(ks), Some(chance))
                }),
            };
            let (psi, ks, chance) = found;
            (
                before.feature.clone(),
                psi.map(severity),
                psi,
                ks,
                chance,
                missing(before),
                missing(&now),
                before.rows.cast_signed(),
                now.rows.cast_signed(),
            )
        })
        .collect())
}

/// Returns the stability index of the shares of categories, or `None` if one side has none.
fn category_drift(before: &[(String, f64)], now: &[(String, f64)]) -> Option<f64> {
    if before.is_empty() || now.is_empty() {
        return None;
    }
    let mut shares: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (category, share) in before {
        shares.entry(category).or_default()[0] = *share;
    }
    for (category, share) in now {
        shares.entry(category).or_default()[1] = *share;
    }
    let bins: Vec<Shares> =
        shares.into_values().map(|[before, now]| Shares::of(before, now)).collect();
    Some(stability_index(&bins))
}
