//! pgboost's side, by its SQL functions alone, and with the rights of the caller.
//!
//! None of its tables is touched: what a user may do with a
//! model by hand is what a training may do for that user.

use gbdt::{Limits, Model};
use pg_interface::{model_name, report};
use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, IntoDatum, JsonB, Spi};

use crate::error::{Error, Result};
use crate::pg::catalog;

/// pgboost's functions.
pub struct Registry {
    schema: String,
}

/// A trained model, to be stored.
pub struct Trained {
    /// The bytes of the model file.
    pub bytes: Vec<u8>,
    /// The labels of its classes.
    pub labels: Option<Vec<String>>,
    /// What it was trained with.
    pub parameters: JsonB,
    /// How good it is.
    pub metrics: JsonB,
}

impl Registry {
    /// The registry of this database.
    pub fn find() -> Result<Registry> {
        Ok(Registry { schema: catalog::pgboost_schema()? })
    }

    fn ask<T: FromDatum + IntoDatum>(
        &self,
        statement: &str,
        arguments: &[DatumWithOid<'_>],
    ) -> Result<Option<T>> {
        let statement = statement.replace("{schema}", &self.schema);
        // PostgreSQL's own errors do not come back here; what does is an answer without rows.
        Spi::get_one_with_args(&statement, arguments).or(Ok(None))
    }

    /// Whether the current user may store a model under that name, as far as can be known before
    /// the work is done.
    ///
    /// # Errors
    /// [`Error::ModelName`], [`Error::Denied`], [`Error::NotOwner`].
    pub fn check_storable(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let callable = self.ask::<bool>(
            "SELECT pg_catalog.has_function_privilege('{schema}.load_model(pg_catalog.text, \
             pg_catalog.bytea, pg_catalog.text[], pg_catalog.text[], pg_catalog.jsonb, \
             pg_catalog.jsonb)', 'EXECUTE')",
            &[],
        )?;
        if callable != Some(true) {
            return Err(Error::Denied { function: "load_model" });
        }
        let owned = self.ask::<bool>(
            "SELECT pg_catalog.pg_has_role(m.owner, 'USAGE') FROM {schema}.pgboost_models AS m \
             WHERE m.name OPERATOR(pg_catalog.=) $1 AND m.deployed",
            &[name.into()],
        )?;
        match owned {
            Some(false) => Err(Error::NotOwner { name: name.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Stores a model and deploys it.
    pub fn store(&self, name: &str, model: Trained) -> Result<i32> {
        self.ask(
            "SELECT {schema}.load_model($1, $2, $3, NULL, $4, $5)",
            &[
                name.into(),
                model.bytes.into(),
                model.labels.into(),
                model.parameters.into(),
                model.metrics.into(),
            ],
        )?
        .ok_or(Error::Registry { what: "version" })
    }

    /// The version in use and the digest of its bytes, or those of the version that is named. Raises
    /// pgboost's errors for a model that is not there or not to be seen.
    pub fn version(&self, reference: &str) -> Result<(i32, String)> {
        let answer = self.ask::<JsonB>("SELECT {schema}.model_info($1)", &[reference.into()])?;
        let JsonB(info) = answer.ok_or(Error::Registry { what: "description of the model" })?;
        let version = info.get("version").and_then(serde_json::Value::as_i64);
        let digest = info.get("sha256").and_then(serde_json::Value::as_str);
        match (version.and_then(|version| i32::try_from(version).ok()), digest) {
            (Some(version), Some(digest)) => Ok((version, digest.to_owned())),
            _ => Err(Error::Registry { what: "version" }),
        }
    }

    /// A model's bytes, and the model as the engine reads it: libxgboost must not see what the
    /// engine has not checked.
    pub fn model(&self, name: &str, version: i32) -> Result<(Vec<u8>, Model)> {
        let bytes = self.ask::<Vec<u8>>(
            "SELECT {schema}.export_model($1, $2)",
            &[name.into(), version.into()],
        )?;
        let bytes = bytes.ok_or(Error::Registry { what: "bytes of the model" })?;
        let limits = Limits { bytes: usize::MAX, ..Limits::default() };
        let model = gbdt::parse(&bytes, &limits, &mut report::check_for_interrupts)
            .map_err(|_| Error::Registry { what: "valid model" })?;
        Ok((bytes, model))
    }

    /// The margins that pgboost gives for rows of so many features, NaN where they are missing.
    pub fn margins(&self, reference: &str, rows: &[f32], features: usize) -> Result<Vec<f32>> {
        let count = rows.len().checked_div(features).unwrap_or(0);
        let rows: Vec<Option<f32>> =
            rows.iter().map(|value| (!value.is_nan()).then_some(*value)).collect();
        let width = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        let margins = self.ask::<Vec<f32>>(
            "SELECT pg_catalog.array_agg(m.margin ORDER BY r.number, m.output) \
             FROM pg_catalog.generate_series(1, $3) AS r (number), \
             pg_catalog.unnest({schema}.predict_margin($1, \
             $2[(r.number OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog.*) $4 \
             OPERATOR(pg_catalog.+) 1 : r.number OPERATOR(pg_catalog.*) $4])) \
             WITH ORDINALITY AS m (margin, output)",
            &[reference.into(), rows.into(), width(count).into(), width(features).into()],
        )?;
        margins.ok_or(Error::Registry { what: "margins" })
    }
}

/// Asked before the training, not after it.
fn check_name(name: &str) -> Result<()> {
    match model_name::check(name) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::ModelName { name: model_name::shown(name), reason }),
    }
}
