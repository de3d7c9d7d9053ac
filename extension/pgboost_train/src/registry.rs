//! The registry of pgboost, through its SQL functions alone and with the privileges of the caller.
//!
//! Its tables are neither read nor written, so that a training may do no more with a model than its user may by
//! hand. Only invalidations of the tables are received.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use gbtrees::Limits;
use gbtrees::internals::Ensemble;
use pg_interface::invalidation::{SnapshotMark, Validity};
use pg_interface::{call, catalog, invalidation, query, report};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use pgrx::{FromDatum, IntoDatum, JsonB, Spi};
use row_source::names;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};

pub(crate) struct Registry {
    schema: Oid,
    quoted_schema: String,
}

/// A version of a registered model, as the current user sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// `name@number`.
    pub(crate) reference: String,
    name: String,
    number: i32,
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub(crate) digest: String,
    /// The user owns the model, and may read its bytes.
    pub(crate) owned: bool,
    /// The number of rounds that predictions use.
    pub(crate) rounds: i32,
    /// The categories that were passed with the file, as JSON.
    categories: Option<String>,
    /// The names of the features, from the file or from `load_model`.
    feature_names: Option<Vec<String>>,
    /// The names of the classes.
    pub(crate) labels: Option<Vec<String>>,
    /// The policy for unknown categories, if the owner has set one.
    pub(crate) unknown_category: Option<String>,
}

/// The deployed version of a model, which a new one is to replace, as `model_info` describes it.
#[derive(Deserialize)]
pub(crate) struct Replaced {
    pub(crate) name: String,
    pub(crate) version: i32,
    pub(crate) task: String,
    pub(crate) link: String,
    pub(crate) objective: String,
    pub(crate) outputs: u64,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) feature_names: Vec<String>,
}

/// The arguments for storing a trained model as a version.
#[derive(Clone, Copy)]
pub(crate) struct Storing {
    pub(crate) deploy: bool,
    /// The version may mean something other than the deployed one.
    pub(crate) allow_change: bool,
}

pub(crate) struct Trained {
    pub(crate) bytes: Vec<u8>,
    pub(crate) labels: Option<Vec<String>>,
    /// Given if the file has none.
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) parameters: JsonB,
    pub(crate) metrics: JsonB,
    /// Profiles of the features in the training data.
    pub(crate) profile: JsonB,
}

impl Registry {
    pub(crate) fn find() -> Result<Registry> {
        let schema = query::select(
            "SELECT e.extnamespace FROM pg_catalog.pg_extension AS e \
             WHERE e.extname OPERATOR(pg_catalog.=) 'pgboost'",
            &[],
            |row| row.get(1),
        );
        let schema =
            schema.flatten().ok_or(Error::Registry { what: "schema: it is not installed" })?;
        Ok(Registry { schema, quoted_schema: catalog::quoted_schema(schema) })
    }

    /// Returns the tables on which the meaning of a name depends.
    fn tables(schema: Oid) -> Option<Vec<Oid>> {
        let tables = [c"model", c"version", c"privilege", c"alias"];
        tables.into_iter().map(|name| catalog::relation(schema, name)).collect()
    }

    fn in_schema(&self, statement: &str) -> String {
        statement.replace("{schema}", &self.quoted_schema)
    }

    /// Returns the first value of a read-only statement.
    fn ask<T: FromDatum + IntoDatum>(
        &self,
        statement: &str,
        arguments: &[DatumWithOid<'_>],
    ) -> Option<T> {
        query::select(self.in_schema(statement), arguments, |row| row.get(1)).flatten()
    }

    /// Returns the numbers of a table's columns that are maintained scores and their versions, whose triggers name
    /// them.
    pub(crate) fn maintained_columns(&self, table: Oid) -> Vec<i16> {
        let columns = self.ask(
            "SELECT pg_catalog.array_agg(c.number) FROM pg_catalog.pg_trigger AS t \
             JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
             CROSS JOIN pg_catalog.unnest(t.tgattr::pg_catalog.int2[]) AS c (number) \
             WHERE t.tgrelid OPERATOR(pg_catalog.=) $1 AND p.pronamespace OPERATOR(pg_catalog.=) $2 \
             AND p.proname OPERATOR(pg_catalog.=) 'pgboost_maintain_score'",
            &[table.into(), self.schema.into()],
        );
        columns.unwrap_or_default()
    }

    /// Fails if the current user may not store a model under that name, as far as that is known before
    /// the training.
    pub(crate) fn check_storable(&self, name: &str) -> Result<()> {
        check_name(name)?;
        for (function, arguments) in STORING {
            let statement = format!(
                "SELECT pg_catalog.has_function_privilege('{{schema}}.{function}({arguments})', 'EXECUTE')"
            );
            if self.ask::<bool>(&statement, &[]) != Some(true) {
                return Err(Error::Denied { function });
            }
        }
        let function = catalog::schema(c"pgboost_catalog")
            .and_then(|schema| catalog::function(schema, "check_storable", &[catalog::TEXTOID]));
        let function = function.ok_or(Error::Registry { what: "function check_storable" })?;
        call::with_text(function, name);
        Ok(())
    }

    /// Returns the deployed version of a model, or `None` if there is none that the current user may see.
    pub(crate) fn deployed(&self, name: &str) -> Result<Option<Replaced>> {
        let info = self.ask::<JsonB>(
            "SELECT {schema}.model_info(m.name) OPERATOR(pg_catalog.-) $2 FROM {schema}.pgboost_models AS m \
             WHERE m.name OPERATOR(pg_catalog.=) $1 AND m.deployed",
            &[name.into(), any_jsonb().into()],
        );
        let replaced = info.map(|JsonB(info)| serde_json::from_value(info)).transpose();
        replaced.map_err(|_| Error::Registry { what: "description" })
    }

    /// Returns the quantiles or expectiles of a version, which its file alone has.
    pub(crate) fn levels(&self, replaced: &Replaced) -> Result<Vec<f32>> {
        let bytes = self.bytes(&replaced.name, replaced.version)?;
        let limits = Limits::default().with_bytes(usize::MAX);
        let cancel = gbtrees::Cancel::unwinding(&report::check_for_interrupts);
        let model = gbtrees::internals::parse(&bytes, &limits, cancel)?;
        Ok(model.objective().levels().to_vec())
    }

    /// Returns by feature of a version whether it takes texts, where its categories or their absence say so.
    pub(crate) fn takes_texts(&self, replaced: &Replaced) -> HashMap<String, bool> {
        let features = self.ask::<JsonB>(
            "SELECT pg_catalog.jsonb_object_agg(f.feature, \
             COALESCE(pg_catalog.to_jsonb(f.categories), pg_catalog.to_jsonb(f.type))) \
             FROM {schema}.model_features($1) AS f",
            &[format!("{}@{}", replaced.name, replaced.version).into()],
        );
        let takes_texts = |found: &Value| match found {
            Value::String(kind) if kind == "numerical" => Some(false),
            // Texts may look like numbers.
            Value::Array(all) => {
                let is_text =
                    |one: &Value| one.as_str().is_some_and(|one| one.parse::<f64>().is_err());
                all.iter().any(is_text).then_some(true)
            }
            _ => None,
        };
        let features = features.and_then(|JsonB(found)| found.as_object().cloned());
        let pairs = features.into_iter().flatten();
        pairs.filter_map(|(name, found)| Some((name, takes_texts(&found)?))).collect()
    }

    /// Returns the file of a version. Raises pgboost's error for a model of another user.
    fn bytes(&self, name: &str, version: i32) -> Result<Vec<u8>> {
        let reference = format!("{name}@{version}");
        let bytes = self.ask::<Vec<u8>>("SELECT {schema}.export_model($1)", &[reference.into()]);
        bytes.ok_or(Error::Registry { what: "bytes of the model" })
    }

    /// Stores a model as a new version, with its profile; returns the version's number.
    pub(crate) fn store(&self, name: &str, model: Trained, storing: Storing) -> Result<i32> {
        let stored = Spi::get_one_with_args(
            &self.in_schema(
                "SELECT {schema}.load_model($1, $2, $3, $4, $5, $6, NULL::pg_catalog.int4, false, \
                 NULL::pg_catalog.jsonb, $7, 'decimal', $8)",
            ),
            &[
                name.into(),
                model.bytes.into(),
                model.labels.into(),
                model.feature_names.into(),
                model.parameters.into(),
                model.metrics.into(),
                storing.deploy.into(),
                storing.allow_change.into(),
            ],
        );
        // PostgreSQL's own errors do not return here; only a result without rows does.
        let version: i32 = stored.ok().flatten().ok_or(Error::Registry { what: "version" })?;
        let with_baseline = Spi::run_with_args(
            &self.in_schema("SELECT {schema}.set_baseline($1, $2)"),
            &[format!("{name}@{version}").into(), model.profile.into()],
        );
        with_baseline.map_err(|_| Error::Registry { what: "profile" })?;
        Ok(version)
    }

    /// Looks up the deployed or the named version. Raises pgboost's errors for a model that does not exist
    /// or is not visible.
    fn version(&self, reference: &str) -> Result<Version> {
        let name = reference.rsplit_once('@').map_or(reference, |(name, _)| name);
        // Its errors show the statement, so this one is short.
        let info = self.ask::<JsonB>(
            "SELECT {schema}.model_info($1) OPERATOR(pg_catalog.-) $2",
            &[reference.into(), any_jsonb().into()],
        );
        let info = info.ok_or(Error::Registry { what: "version" })?.0;
        let text = |key| info.get(key).and_then(Value::as_str).map(str::to_owned);
        let whole = |key| info.get(key).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
        let list = |key| serde_json::from_value::<Vec<String>>(info.get(key)?.clone()).ok();
        // As text, since serde_json could not hold all its numbers.
        let categories = self.ask::<String>(
            "SELECT {schema}.model_info($1) OPERATOR(pg_catalog.->>) 'categories'",
            &[reference.into()],
        );
        let owned = self.ask::<bool>(
            "SELECT pg_catalog.pg_has_role(m.owner, 'USAGE') FROM {schema}.pgboost_models AS m \
             WHERE m.name OPERATOR(pg_catalog.=) $1 LIMIT 1",
            &[name.into()],
        );
        let version = || {
            let number = whole("version")?;
            Some(Version {
                reference: format!("{name}@{number}"),
                name: name.to_owned(),
                number,
                digest: text("sha256")?,
                owned: owned?,
                rounds: whole("used_rounds")?,
                categories,
                feature_names: list("feature_names").filter(|names| !names.is_empty()),
                labels: list("labels"),
                unknown_category: text("unknown_category"),
            })
        };
        version().ok_or(Error::Registry { what: "version" })
    }

    /// Returns the model, cut to the rounds that predictions use, and the file that the engine writes of it:
    /// libxgboost must not see a byte that came from a user. Raises pgboost's error for a model of another
    /// user.
    pub(crate) fn model(&self, version: &Version, reference: &str) -> Result<(Ensemble, Vec<u8>)> {
        let bytes = self.bytes(&version.name, version.number)?;
        let limits = Limits::default().with_bytes(usize::MAX);
        let cancel = gbtrees::Cancel::unwinding(&report::check_for_interrupts);
        let rounds = usize::try_from(version.rounds).ok().filter(|rounds| *rounds > 0);
        let written = gbtrees::internals::rewrite_xgboost(&bytes, rounds, &limits, cancel)?;
        let Some((mut model, file)) = written else {
            let format = gbtrees::internals::parse(&bytes, &limits, cancel)?.format();
            return Err(Error::OtherLibrary { model: reference.to_owned(), format });
        };
        if let Some(names) = &version.feature_names {
            model.set_feature_names(names.clone())?;
        }
        if let Some(categories) = &version.categories {
            model.set_categories(gbtrees::internals::read_categories(categories, cancel)?)?;
        }
        Ok((model, file))
    }

    /// Returns the margins that pgboost computes for rows of `width` features, NaN for missing ones.
    ///
    /// Each call checks that it cannot reach another function, since one may have been created meanwhile.
    pub(crate) fn margins(
        &self,
        reference: &str,
        rows: &[f32],
        features: usize,
    ) -> Result<Vec<f32>> {
        let others = self.ask::<bool>(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc AS p \
             WHERE p.proname OPERATOR(pg_catalog.=) 'predict_margin' \
             AND p.pronamespace OPERATOR(pg_catalog.=) $1 AND p.oid OPERATOR(pg_catalog.<>) \
             pg_catalog.to_regprocedure('{schema}.predict_margin(pg_catalog.text, pg_catalog.\"any\")'))",
            &[self.schema.into()],
        );
        if others != Some(false) {
            return Err(Error::OtherFunction { function: "predict_margin" });
        }
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
        );
        margins.ok_or(Error::Registry { what: "margins" })
    }
}

/// The functions that store a trained model, with their arguments.
const STORING: [(&str, &str); 2] = [
    (
        "load_model",
        "pg_catalog.text, pg_catalog.bytea, pg_catalog.text[], pg_catalog.text[], pg_catalog.jsonb, \
         pg_catalog.jsonb, pg_catalog.int4, pg_catalog.bool, pg_catalog.jsonb, pg_catalog.bool, \
         pg_catalog.text, pg_catalog.bool",
    ),
    ("set_baseline", "pg_catalog.text, pg_catalog.jsonb"),
];

/// Checks the model's name before the training, not after it.
fn check_name(name: &str) -> Result<()> {
    match names::check(name) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::ModelName { name: name.to_owned(), reason }),
    }
}

/// The most names that are remembered.
const MAX_NAMES: usize = 1024;

struct Resolved {
    version: Rc<Version>,
    validity: Validity,
    /// The version was the latest one when it was read.
    latest: bool,
}

impl Resolved {
    fn holds_for(&self, snapshot: SnapshotMark) -> bool {
        self.validity == Validity::now(snapshot)
            || (self.latest && self.validity.holds_for(snapshot))
    }
}

thread_local! {
    static NAMES: RefCell<BTreeMap<Box<str>, Resolved>> = RefCell::default();
}

/// Returns the version that `name` or `name@version` means to the current user under the active snapshot.
/// Raises pgboost's errors for a model that does not exist or is not visible.
pub(crate) fn resolve(reference: &str) -> Result<Rc<Version>> {
    invalidation::accept();
    let Some(snapshot) = SnapshotMark::active() else {
        return Ok(Rc::new(Registry::find()?.version(reference)?));
    };
    let known = NAMES.with_borrow(|names| {
        let known = names.get(reference).filter(|known| known.holds_for(snapshot));
        known.map(|known| Rc::clone(&known.version))
    });
    match known {
        Some(version) => Ok(version),
        None => read(reference, snapshot),
    }
}

#[cold]
fn read(reference: &str, mark: SnapshotMark) -> Result<Rc<Version>> {
    let registry = Registry::find()?;
    let schema = catalog::schema(c"pgboost_catalog");
    let privileges = schema.and_then(|schema| catalog::type_in(schema, c"model_privileges"));
    let tables = schema.and_then(Registry::tables);
    let watched = tables.zip(privileges).ok_or(Error::Registry { what: "registry" });
    let (tables, privileges) = watched?;
    invalidation::watch(tables.iter().copied(), privileges);
    let validity = Validity::now(mark);
    let version = Rc::new(registry.version(reference)?);
    let latest = tables.first().is_some_and(|table| SnapshotMark::latest(*table) == mark);
    NAMES.with_borrow_mut(|names| {
        if names.len() >= MAX_NAMES {
            names.clear();
        }
        let version = Rc::clone(&version);
        names.insert(reference.into(), Resolved { version, validity, latest });
    });
    Ok(version)
}

/// Returns the keys of a description with what users pass as they like, such as numbers that serde_json cannot
/// hold.
fn any_jsonb() -> Vec<String> {
    vec!["parameters".to_owned(), "metrics".to_owned()]
}
