//! `model_info`, `model_features`, `feature_importance`: a look at a model, for those who may
//! predict with it.

use gbdt::Model;
use gbdt::explain::{ImportanceKind, importance};
use gbdt::model::{Categories, FeatureType};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{JsonB, name, pg_extern, pg_sys};

use super::{exists, required_text};
use crate::error::{Error, Result};
use crate::pg::snapshot::Seen;
use crate::pg::{arguments, identity};
use crate::registry::reference::Reference;
use crate::registry::{Registry, describe, lookup, privilege};

/// A version that the current user may look at.
struct Visible<'a> {
    registry: Registry,
    name: &'a str,
    version: i32,
}

impl<'a> Visible<'a> {
    fn find(reference: &'a str, call: pg_sys::FunctionCallInfo) -> Result<Self> {
        let reference = Reference::parse(reference)?;
        let registry = Registry::of_function(arguments::function(call))?;
        let deployed = exists(&registry, reference.name)?;
        privilege::require_predict(&registry, reference.name, identity::current_user())?;
        let version = reference.version.unwrap_or(deployed);
        Ok(Visible { registry, name: reference.name, version })
    }

    fn parse(&self) -> Result<Model> {
        lookup::with_version(&self.registry, self.name, self.version, Seen::Active, |stored| {
            stored.model()
        })
    }
}

/// `model_info(model) -> jsonb`
#[pg_extern(sql = false)]
fn pgboost_model_info(
    model: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<JsonB, ErrorReport> {
    let visible = Visible::find(required_text(model, "model")?, call)?;
    Ok(describe::describe(&visible.registry, visible.name, visible.version)?)
}

/// `model_features(model) -> table(position, feature, type, categories)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_model_features(
    model: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(position, i32),
            name!(feature, String),
            name!(r#type, String),
            name!(categories, Option<Vec<String>>),
        ),
    >,
    ErrorReport,
> {
    let model = Visible::find(required_text(model, "model")?, call)?.parse()?;
    let rows: Vec<_> = (0..model.num_features())
        .map(|index| {
            let categorical = model.feature_types().get(index) == Some(&FeatureType::Categorical);
            let type_name = if categorical { "categorical" } else { "numerical" };
            let categories = model.categories().get(index).and_then(Option::as_ref);
            (
                i32::try_from(index + 1).unwrap_or(i32::MAX),
                feature_name(&model, index),
                type_name.to_owned(),
                categories.map(category_texts),
            )
        })
        .collect();
    Ok(TableIterator::new(rows))
}

/// `feature_importance(model, kind) -> table(feature, importance)`, the most important first
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_feature_importance(
    model: Option<&[u8]>,
    kind: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<
    TableIterator<'static, (name!(feature, String), name!(importance, f32))>,
    ErrorReport,
> {
    let kind = required_text(kind, "kind")?;
    let kind = ImportanceKind::from_name(kind)
        .ok_or_else(|| Error::ImportanceKind { kind: kind.to_owned() })?;
    let model = Visible::find(required_text(model, "model")?, call)?.parse()?;
    let mut rows: Vec<(String, f32)> = importance(&model, kind)
        .into_iter()
        .enumerate()
        .map(|(index, value)| (feature_name(&model, index), value))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(TableIterator::new(rows))
}

/// A feature's name, or the one that XGBoost gives to features without.
fn feature_name(model: &Model, index: usize) -> String {
    model.feature_names().get(index).cloned().unwrap_or_else(|| format!("f{index}"))
}

fn category_texts(categories: &Categories) -> Vec<String> {
    match categories {
        Categories::Text(values) => values.clone(),
        Categories::Integer(values) => values.iter().map(i64::to_string).collect(),
        Categories::Float(values) => values.iter().map(f64::to_string).collect(),
    }
}
