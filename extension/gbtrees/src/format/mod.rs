//! Parsers of model files: untrusted bytes to a checked [`Ensemble`].
//!
//! `sniff` detects the format by content, since a model in a database has no file name, and `foreign` refuses
//! known but unsupported files by name, with advice. Each library has a folder, which passes its
//! findings to `ensemble::Builder`. JSON and UBJSON share [`reader::Reader`], so the meaning of
//! XGBoost's keys is written once.
//!
//! No parser indexes a slice, recurses deeper than [`reader::MAX_NESTING`], or allocates for a declared
//! size before comparing it with the bytes that are left.

#![deny(clippy::indexing_slicing)]

#[cfg(feature = "catboost")]
mod catboost;
mod categories;
mod foreign;
mod json;
#[cfg(feature = "lightgbm")]
mod lightgbm;
#[cfg(feature = "onnx")]
mod onnx;
mod reader;
mod sniff;
mod tree_ensemble;
mod ubjson;
#[cfg(feature = "xgboost")]
mod xgboost;

pub use crate::format::categories::read_categories;
#[cfg(feature = "xgboost")]
pub use crate::format::xgboost::objectives as xgboost_objectives;

use crate::ensemble::Ensemble;
use crate::format::sniff::Format;
use crate::{Cancel, Limits, Result};

/// Parses a model file and checks all its invariants.
///
/// Polls `cancel` every few thousand values.
///
/// # Errors
/// The error's kind and place describe the first fault. No input causes a panic.
pub fn parse(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<Ensemble> {
    limits.check_bytes(bytes.len())?;
    match format_of(bytes, cancel)? {
        #[cfg(feature = "catboost")]
        Format::CatboostJson => {
            let file = catboost::read_json(&mut json::Json::new(bytes, cancel), limits)?;
            catboost::build(file, "catboost json", limits, cancel)
        }
        #[cfg(feature = "catboost")]
        Format::CatboostCbm => {
            let file = catboost::read_cbm(bytes, limits, cancel)?;
            catboost::build(file, "catboost cbm", limits, cancel)
        }
        #[cfg(feature = "xgboost")]
        format @ (Format::XgboostJson | Format::XgboostBinary | Format::XgboostUbjson) => {
            let (file, name) = xgboost_file(&format, bytes, limits, cancel)?;
            xgboost::build(file, name, limits, cancel)
        }
        Format::EnsembleJson => {
            let mut reader = json::Json::new(bytes, cancel);
            tree_ensemble::read(&mut reader, "tree ensemble json", limits, cancel)
        }
        Format::EnsembleUbjson => {
            let mut reader = ubjson::Ubjson::new(bytes, cancel);
            tree_ensemble::read(&mut reader, "tree ensemble ubjson", limits, cancel)
        }
        #[cfg(feature = "lightgbm")]
        Format::LightgbmText => lightgbm::read(bytes, limits, cancel),
        #[cfg(feature = "onnx")]
        Format::Onnx => onnx::read(bytes, limits, cancel),
        #[cfg(not(all(
            feature = "catboost",
            feature = "lightgbm",
            feature = "onnx",
            feature = "xgboost"
        )))]
        _ => {
            let hint = "Build the crate with the feature of the model's library.";
            Err(sniff::unsupported("a model of a library whose reader this build leaves out", hint))
        }
    }
}

/// Reads a file of XGBoost; returns it with the name of its format.
#[cfg(feature = "xgboost")]
fn xgboost_file(
    format: &Format,
    bytes: &[u8],
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<(xgboost::File, &'static str)> {
    Ok(match format {
        Format::XgboostBinary => (xgboost::read_binary(bytes, limits, cancel)?, "xgboost binary"),
        Format::XgboostUbjson => {
            (xgboost::read(&mut ubjson::Ubjson::new(bytes, cancel), limits)?, "xgboost ubjson")
        }
        _ => (xgboost::read(&mut json::Json::new(bytes, cancel), limits)?, "xgboost json"),
    })
}

/// Reads a model of XGBoost, up to `rounds` of its rounds, and writes the checked model as a file for
/// libxgboost, in which no byte of the given file is left. Returns `None` for another library's model.
///
/// # Errors
/// As those of [`parse`]; [`ErrorKind::Names`](crate::ErrorKind::Names) if there are no such rounds.
#[cfg(feature = "xgboost")]
pub fn rewrite_xgboost(
    bytes: &[u8],
    rounds: Option<usize>,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<Option<(Ensemble, Vec<u8>)>> {
    limits.check_bytes(bytes.len())?;
    match format_of(bytes, cancel)? {
        format @ (Format::XgboostJson | Format::XgboostBinary | Format::XgboostUbjson) => {
            let (file, name) = xgboost_file(&format, bytes, limits, cancel)?;
            xgboost::rewrite(file, name, rounds, limits, cancel).map(Some)
        }
        _ => Ok(None),
    }
}

/// Detects the format of a model's file. A file that is known and no model is refused by its name.
fn format_of(bytes: &[u8], cancel: Cancel<'_>) -> Result<Format> {
    foreign::refusal(bytes).map_or_else(|| sniff::format_of(bytes, cancel), Err)
}
