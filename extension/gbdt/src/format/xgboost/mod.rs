//! What the keys of an XGBoost model mean, for every release that writes JSON or UBJSON.
//!
//! Keys come in any order, so everything is read into optional places first and what is required is
//! asked for at the end; a booster that is not scored is refused before anything is missed in it.
//! What is read here is typed and no more than that: `model::check` decides whether it is a model.

mod booster;
mod categories;
mod learner;
mod parameters;
mod tree;

use super::document::{Document, Kind, array, object};
use super::recognise::unsupported;
use crate::model::{Format, RawModel};
use crate::{Error, ErrorKind, Limits, Result};

/// Reads a whole document.
pub(super) fn read<'a, D: Document<'a>>(
    document: &mut D,
    format: Format,
    limits: &Limits,
) -> Result<RawModel> {
    let root = root(document, format, limits, true)?;
    document.finish()?;
    required(root, "learner")
}

/// Reads the outermost object, or the model inside a memory snapshot.
fn root<'a, D: Document<'a>>(
    document: &mut D,
    format: Format,
    limits: &Limits,
    outermost: bool,
) -> Result<Option<RawModel>> {
    let mut version = [0; 3];
    let mut model = None;
    let mut inner = None;
    object(document, |document, key| {
        match key {
            "version" => version = read_version(document)?,
            "learner" => model = Some(learner::read(document, format, limits)?),
            "Model" if outermost => inner = root(document, format, limits, false)?,
            "name" if document.kind()? == Kind::Text => {
                if document.text()? == "tree" {
                    let hint = "LightGBM models are not read yet.";
                    return Err(unsupported("a LightGBM model", hint));
                }
            }
            "oblivious_trees" => {
                return Err(unsupported("a CatBoost model", "CatBoost models are not read."));
            }
            _ => document.skip()?,
        }
        Ok(())
    })?;
    Ok(model.map(|model| RawModel { version, ..model }).or(inner))
}

/// Major, minor and patch.
fn read_version<'a, D: Document<'a>>(document: &mut D) -> Result<[u32; 3]> {
    let parts = array(document, 3, "parts of a version", |document| {
        let part = document.integer()?;
        u32::try_from(part)
            .map_err(|_| document.error(ErrorKind::Number, "a part of the version is no u32"))
    })?;
    <[u32; 3]>::try_from(parts)
        .map_err(|_| document.error(ErrorKind::Length, "the version does not have three parts"))
}

/// What stands at a key that every model has.
fn required<T>(value: Option<T>, key: &str) -> Result<T> {
    value.ok_or_else(|| Error::new(ErrorKind::MissingKey, format!("model lacks the key \"{key}\"")))
}

/// A name from the file as it may be shown: only if it is short and made of harmless characters.
fn shown(name: &str) -> &str {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.');
    if name.len() <= 64 && name.chars().all(harmless) { name } else { "(unprintable)" }
}
