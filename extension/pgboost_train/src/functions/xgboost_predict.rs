//! `xgboost_predict`, `verify_model` and `xgboost_version`: predictions by libxgboost itself.
//!
//! They are the reference for the results and the speed of pgboost's predictions. Margins are compared by their
//! bits, because pgboost promises equal bits.

use std::rc::Rc;

use gbtrees::internals::{AlignedBytes, CategoryKind, CompiledModel};
use pg_interface::{call, report, session};
use pgrx::iter::TableIterator;
use pgrx::{pg_extern, pg_sys};
use row_source::{Row, Source, SourceError};

use super::{Answer, Rows, required, text};
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::source::columns::{self, ChosenColumns, UsedColumn};
use crate::trainer::predictor::{self, ReferenceModel};

/// Per-statement state of `xgboost_predict`.
struct Statement {
    model: String,
    registered: Rc<ReferenceModel>,
    features: Vec<f32>,
}

impl Statement {
    fn begin(model: &str) -> Result<Statement> {
        let registered = ReferenceModel::find(model)?;
        Ok(Statement { model: model.to_owned(), registered, features: Vec::new() })
    }

    fn predict(&mut self, features: &[Option<f32>]) -> Result<f32> {
        let expected = self.registered.model.num_features();
        if features.len() != expected {
            let (model, given) = (self.model.clone(), features.len());
            let expected = report::counted(expected, "feature");
            return Err(Error::FeatureCount { model, expected, given });
        }
        self.features.clear();
        self.features.extend(features.iter().map(|value| value.unwrap_or(f32::NAN)));
        match *self.registered.predict(&self.features, false)? {
            [value] => Ok(value),
            _ => {
                Err(Error::SeveralValues { model: self.model.clone(), function: "xgboost_predict" })
            }
        }
    }
}

/// `xgboost_predict(model, features) -> real`
#[pg_extern(sql = false)]
fn pgboost_xgboost_predict(
    model: Option<&[u8]>,
    features: Option<Vec<Option<f32>>>,
    call: pg_sys::FunctionCallInfo,
) -> Answer<Option<f32>> {
    let (Some(model), Some(features)) = (text(model, "model")?, features) else {
        return Ok(None);
    };
    let state = call::kept(call, || Statement::begin(model))?;
    if state.model != model {
        *state = Statement::begin(model)?;
    }
    Ok(Some(state.predict(&features)?))
}

/// Rows per request to the trainer.
const BATCH_ROWS: usize = 512;

/// `verify_model(name, source) -> table(rows, differing, max_ulp)`
#[pg_extern(sql = false)]
fn pgboost_verify_model(model: Option<&[u8]>, source: Option<&[u8]>) -> Rows<(i64, i64, i64)> {
    let (model, source) = (text(model, "model")?, text(source, "source")?);
    let found = verify(required(model, "model")?, required(source, "source")?)?;
    Ok(TableIterator::once((found.rows, found.differing, found.max_ulp)))
}

#[derive(Default)]
struct Found {
    rows: i64,
    differing: i64,
    max_ulp: i64,
}

fn verify(model: &str, text: &str) -> Result<Found> {
    let registered = ReferenceModel::find(model)?;
    let names = registered.model.feature_names();
    if names.is_empty() {
        return Err(Error::NoFeatureNames { model: model.to_owned() });
    }
    let source = Source::of(text)?;
    let mut features = ChosenColumns::features_named(&source.columns("source")?, names)?;
    let names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
    let query = source.query(&names, None);
    if source.is_relation() {
        features.iter_mut().enumerate().for_each(|(position, feature)| feature.position = position);
    }
    let cancel = gbtrees::Cancel::unwinding(&report::check_for_interrupts);
    let compiled = gbtrees::internals::compile(&registered.model, &[], cancel)?;
    let image = CompiledModel::open(compiled)?;
    check_types(&image, &features)?;
    let mut comparison = Comparison {
        registry: Registry::find()?,
        image,
        registered: &registered,
        features,
        batch: Vec::new(),
        // pgboost defines the setting, and is loaded: the model came from one of its functions. To XGBoost itself
        // an unknown category is an error.
        unknown_is_missing: (registered.version.unknown_category.clone())
            .or_else(|| session::setting(c"pgboost.unknown_category"))
            .is_some_and(|value| value.eq_ignore_ascii_case("missing")),
        found: Found::default(),
    };
    row_source::run(&query, "source", |row| comparison.add(row))?;
    comparison.flush()?;
    Ok(comparison.found)
}

/// Checks that each column has a type that `predict` accepts for the feature.
fn check_types(image: &CompiledModel<AlignedBytes>, features: &[UsedColumn]) -> Result<()> {
    let mut next = 0;
    for feature in features {
        let index = next;
        next += feature.width();
        let kind = image.categories(index).map(|categories| categories.kind());
        let (type_name, role, hint) = match (feature.kind.is_text(), kind) {
            (true, Some(CategoryKind::Text)) | (false, None) => continue,
            (false, Some(CategoryKind::Integer | CategoryKind::Float)) => continue,
            // XGBoost's models have no hashes.
            (_, Some(CategoryKind::Hashed)) => continue,
            (true, _) => (
                "text",
                "feature of this model, which is a number",
                "Cast it to a numeric type in a query.",
            ),
            (false, Some(CategoryKind::Text)) => (
                feature.kind.xgboost(),
                "feature of this model, which is text",
                "Cast it to text in a query.",
            ),
        };
        let (column, type_name) = (feature.name.clone(), type_name.to_owned());
        return Err(SourceError::ColumnType { column, type_name, role, hint }.into());
    }
    Ok(())
}

struct Comparison<'a> {
    registry: Registry,
    registered: &'a Rc<ReferenceModel>,
    features: Vec<UsedColumn>,
    image: CompiledModel<AlignedBytes>,
    batch: Vec<f32>,
    /// Reads a category that the model was not trained on as NULL.
    unknown_is_missing: bool,
    found: Found,
}

impl Comparison<'_> {
    fn add(&mut self, row: Row<'_>) -> Result<()> {
        let first = self.batch.len();
        for feature in &self.features {
            let index = self.batch.len() - first;
            if feature.elements.is_some() {
                self.batch.resize(self.batch.len() + feature.width(), f32::NAN);
                let place = self.batch.get_mut(first + index..).unwrap_or_default();
                if let Some(field) = row.get(feature.position) {
                    columns::read_elements(&feature.name, field, place)?;
                }
                continue;
            }
            let value = match (row.get(feature.position), self.image.categories(index)) {
                (None, _) => f32::NAN,
                (Some(field), None) => columns::number(field),
                (Some(field), Some(categories)) => match columns::category(field, categories) {
                    Some(code) => code,
                    None if self.unknown_is_missing => f32::NAN,
                    None => {
                        let column = feature.name.clone();
                        return Err(Error::UnknownCategory { column, argument: "source" });
                    }
                },
            };
            self.batch.push(value);
        }
        if self.batch.len() >= BATCH_ROWS * self.num_features() {
            self.flush()?;
        }
        Ok(())
    }

    fn num_features(&self) -> usize {
        self.registered.model.num_features()
    }

    fn flush(&mut self) -> Result<()> {
        let rows = self.batch.len().checked_div(self.num_features()).unwrap_or(0);
        if rows == 0 {
            return Ok(());
        }
        let reference = &self.registered.version.reference;
        let theirs = self.registered.predict(&self.batch, true)?;
        let ours = self.registry.margins(reference, &self.batch, self.num_features())?;
        if ours.len() != theirs.len() {
            return Err(Error::Registry { what: "margin for each output" });
        }
        let outputs = (theirs.len() / rows).max(1);
        for (ours, theirs) in ours.chunks(outputs).zip(theirs.chunks(outputs)) {
            let apart = ours.iter().zip(theirs).map(|(a, b)| ulp(*a, *b)).max().unwrap_or(0);
            self.found.rows += 1;
            self.found.differing += i64::from(apart > 0);
            self.found.max_ulp = self.found.max_ulp.max(apart);
        }
        self.batch.clear();
        Ok(())
    }
}

/// Returns the distance of two floats in units in the last place.
fn ulp(a: f32, b: f32) -> i64 {
    let ordered = |value: f32| {
        let bits = i64::from(value.to_bits());
        if bits >= 1 << 31 { (1 << 31) - bits } else { bits }
    };
    if a.to_bits() == b.to_bits() {
        return 0;
    }
    // Zeros of both signs have the distance 0, but not the same bits.
    (ordered(a) - ordered(b)).abs().max(1)
}

/// `xgboost_version() -> text`
#[pg_extern(sql = false)]
fn pgboost_xgboost_version() -> Answer<String> {
    Ok(predictor::xgboost_version()?)
}
