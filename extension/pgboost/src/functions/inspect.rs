//! Describes a model to users who may predict with it: `model_info`, `model_features`, `feature_importance`, and
//! the functions of the views.

use std::rc::Rc;

use gbtrees::internals::{CategoryKind, Ensemble, ImportanceKind, has_importance, importance};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, Oid, call, fault, report, session};
use pgrx::iter::TableIterator;
use pgrx::{AnyElement, Uuid, pg_extern};

use super::{Answer, Rows, feature_name, required, required_text};
use crate::cache::{CachedImage, images};
use crate::error::{Error, Result};
use crate::registry::lookup::{self, Stored};
use crate::registry::model::{Model, ModelId};
use crate::registry::reference::Reference;
use crate::registry::{self, Access, Registry};
use crate::statistics;

pub(super) struct Visible<'a> {
    model: Model<'a>,
    version: i32,
    /// The user may see values of the training data.
    shows_values: bool,
}

impl<'a> Visible<'a> {
    pub(super) fn find(reference: &'a str, call: FunctionCallInfo) -> Result<Self> {
        let reference = Reference::parse(reference)?;
        let registry = Registry::of_function(call::called_function(call))?;
        let snapshot = ReadSnapshot::Active;
        let model = Model::find(&registry, reference.name, snapshot)?;
        let access = model.access(session::current_user());
        if access < Access::Predict {
            return Err(Error::Denied { name: model.name.to_owned() });
        }
        let version = lookup::wanted_version(model, reference.wanted, snapshot)?;
        Ok(Visible { model, version, shows_values: access >= Access::Inspect })
    }

    fn read<T>(&self, read: impl FnOnce(&Stored<'_>) -> Result<T>) -> Result<T> {
        let Visible { model, version, .. } = self;
        report::with_reserve(|| lookup::with_version(*model, *version, ReadSnapshot::Active, read))
    }

    pub(super) fn image(&self) -> Result<Rc<CachedImage>> {
        self.read(images::image_of)
    }
}

/// `model_info(model) -> jsonb`
#[pg_extern(sql = false)]
fn pgboost_model_info(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<AnyElement> {
    let visible = Visible::find(required_text(model, "model")?, call)?;
    let Visible { model, version, shows_values } = visible;
    Ok(lookup::describe(model, version, shows_values)?)
}

/// `model_features(model) -> table(position, feature, type, categories)`
#[pg_extern(sql = false)]
fn pgboost_model_features(
    model: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Rows<(i32, String, String, Option<Vec<String>>)> {
    let visible = Visible::find(required_text(model, "model")?, call)?;
    let loaded = visible.image()?;
    let image = loaded.model();
    let rows: Vec<_> = (0..image.num_features())
        .map(|index| {
            let type_name = if image.is_categorical(index) { "categorical" } else { "numerical" };
            (
                i32::try_from(index + 1).unwrap_or(i32::MAX),
                feature_name(image.feature_name(index), index),
                type_name.to_owned(),
                image
                    .categories(index)
                    .filter(|categories| {
                        visible.shows_values && categories.kind() != CategoryKind::Hashed
                    })
                    .map(|categories| categories.texts().collect()),
            )
        })
        .collect();
    Ok(TableIterator::new(rows))
}

/// `feature_importance(model, importance_type) -> table(feature, importance)`, the most important first; NULL
/// if the model's file does not have it.
#[pg_extern(sql = false)]
fn pgboost_feature_importance(
    model: Option<&[u8]>,
    importance_type: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Rows<(String, Option<f32>)> {
    let kind = required_text(importance_type, "importance_type")?;
    let kind = ImportanceKind::from_name(kind)
        .ok_or_else(|| Error::ImportanceKind { kind: kind.to_owned() })?;
    let reference = required_text(model, "model")?;
    let model = Visible::find(reference, call)?.read(|stored| stored.model())?;
    let has = has_importance(&model, kind);
    if !has {
        notice_of_other_kinds(&model, reference, kind);
    }
    let names = model.feature_names();
    let mut values: Vec<_> = importance(&model, kind).into_iter().enumerate().collect();
    values.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(TableIterator::new(
        values
            .into_iter()
            .map(move |(index, value)| {
                let name = feature_name(names.get(index).map(String::as_str), index);
                (name, has.then_some(value))
            })
            .collect::<Vec<_>>(),
    ))
}

/// Reports the kinds of importance that the model has, if it does not have the requested one.
fn notice_of_other_kinds(model: &Ensemble, reference: &str, kind: ImportanceKind) {
    let missing = match kind {
        ImportanceKind::Cover | ImportanceKind::TotalCover => "covers",
        ImportanceKind::Weight => "weights of features alone",
        _ => "gains",
    };
    let kinds = ImportanceKind::NAMES.into_iter().filter(|(kind, _)| has_importance(model, *kind));
    let kinds: Vec<String> = kinds.map(|(_, name)| format!("'{name}'")).collect();
    report::notice_with(
        &format!("the file of model \"{reference}\" has no {missing}"),
        None,
        (!kinds.is_empty())
            .then(|| format!("Pass importance_type => {}.", kinds.join(" or ")))
            .as_deref(),
    );
}

/// `pgboost_catalog.may_predict(model) -> boolean`
#[pg_extern(sql = false)]
fn pgboost_may_predict(model: Uuid, call: FunctionCallInfo) -> Answer<bool> {
    let registry = Registry::of_function(call::called_function(call))?;
    let model = ModelId::of_view(model);
    Ok(registry::access(&registry, model, session::current_user()) >= Access::Predict)
}

/// `pgboost_catalog.owner(model) -> regrole`
#[pg_extern(sql = false)]
fn pgboost_owner(model: Uuid, call: FunctionCallInfo) -> Answer<Oid> {
    let registry = Registry::of_function(call::called_function(call))?;
    Ok(registry::owner(&registry, ModelId::of_view(model)))
}

/// The seconds from the epoch of `to_timestamp`, 1970, to PostgreSQL's, 2000.
const EPOCH: f64 = 946_684_800.0;

type Usage = (i64, i64, i64, f64, i64, Option<i64>, Option<f64>, i64);

/// `pgboost_catalog.statistics(model, version) -> table(calls, rows, batches, total_time, missing_rows,
/// outside_rows, last_used, unknown_rows)`; no row for a user who may neither see all statistics nor predict with
/// the model.
#[pg_extern(sql = false)]
fn pgboost_statistics_1_1(
    model: Option<Uuid>,
    version: Option<i32>,
    call: FunctionCallInfo,
) -> Rows<Usage> {
    let registry = Registry::of_function(call::called_function(call))?;
    let model = ModelId::of_view(required(model, "model")?);
    let user = session::current_user();
    let monitors = session::has_rights_of(user, session::READ_ALL_STATS);
    let access = registry::access(&registry, model, user);
    let visible = monitors || access >= Access::Predict;
    // The count would let a user find the least and the greatest value in training by predictions.
    let shows_ranges = monitors || access >= Access::Inspect;
    let version = required(version, "version")?;
    let Some(counters) = visible.then(|| statistics::counters(model, version)) else {
        return Ok(TableIterator::empty());
    };
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let last_used = (counters.rows > 0).then_some(counters.last_used as f64 / 1e6 + EPOCH);
    Ok(TableIterator::once((
        count(counters.calls),
        count(counters.rows),
        count(counters.batches),
        counters.nanoseconds as f64 / 1e6,
        count(counters.missing),
        shows_ranges.then(|| count(counters.outside)),
        last_used,
        count(counters.unknown),
    )))
}

/// `pg_stat_pgboost_reset()`
#[pg_extern(sql = false)]
fn pgboost_statistics_reset() {
    statistics::reset();
    fault::at("statistics: reset");
}
