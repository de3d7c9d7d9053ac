//! From untrusted bytes to a checked model.
//!
//! A format is told by content, in `sniff`, since a model in a database has no file name; files
//! that are known and not read are refused there by name, with advice. Each library's files are
//! read in a separate folder, which hands what it reads to `ensemble::Builder`. JSON and UBJSON are
//! read through [`reader::Reader`], so what XGBoost's keys mean is written once.
//!
//! Nothing in here indexes a slice, recurses deeper than [`reader::MAX_NESTING`] or takes memory
//! for a size that the input declares before that size has been compared with what is there.

#![deny(clippy::indexing_slicing)]

#[cfg(feature = "catboost")]
mod catboost;
mod categories;
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

/// Reads a model and checks every invariant of it.
///
/// `cancel` is asked every few thousand values.
///
/// # Errors
/// The kind says what is wrong, the place where. No input makes this panic.
pub fn parse(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<Ensemble> {
    limits.check_bytes(bytes.len())?;
    match sniff::format_of(bytes, cancel)? {
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
        Format::XgboostJson => {
            let file = xgboost::read(&mut json::Json::new(bytes, cancel), limits)?;
            xgboost::build(file, "xgboost json", limits, cancel)
        }
        #[cfg(feature = "xgboost")]
        Format::XgboostBinary => {
            let file = xgboost::read_binary(bytes, limits, cancel)?;
            xgboost::build(file, "xgboost binary", limits, cancel)
        }
        #[cfg(feature = "xgboost")]
        Format::XgboostUbjson => {
            let file = xgboost::read(&mut ubjson::Ubjson::new(bytes, cancel), limits)?;
            xgboost::build(file, "xgboost ubjson", limits, cancel)
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
