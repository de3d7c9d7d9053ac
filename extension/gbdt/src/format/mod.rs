//! From untrusted bytes to a checked model.
//!
//! A format is told by content, in `sniff`, since a model in a database has no file name; files
//! that are known and not read are refused there by name, with advice. Each library's files are
//! read in a folder of its own, which hands what it reads to `model::Builder`. JSON and UBJSON are
//! read through [`reader::Reader`], so what XGBoost's keys mean is written once.
//!
//! Nothing in here indexes a slice, recurses deeper than [`reader::MAX_NESTING`] or takes memory
//! for a size that the input declares before that size has been compared with what is there.

#![deny(clippy::indexing_slicing)]

mod catboost;
mod categories;
mod json;
mod lightgbm;
mod onnx;
mod reader;
mod sniff;
mod tree_ensemble;
mod ubjson;
mod xgboost;

pub(crate) use catboost::hash_of_category;
pub use categories::read_categories;
pub use xgboost::objectives as xgboost_objectives;

use crate::model::Model;
use crate::{Limits, Result};
use sniff::Format;

/// Reads a model and checks every invariant of it.
///
/// `check_interrupts` is called every few thousand values, so that a caller can look for
/// interrupts; it may unwind.
///
/// # Errors
/// The kind says what is wrong, the place where. No input makes this panic.
pub fn parse(bytes: &[u8], limits: &Limits, check_interrupts: &mut dyn FnMut()) -> Result<Model> {
    limits.check_bytes(bytes.len())?;
    match sniff::format_of(bytes, check_interrupts)? {
        Format::CatboostJson => {
            let file = catboost::read_json(&mut json::Json::new(bytes, check_interrupts), limits)?;
            catboost::build(file, "catboost json", limits, check_interrupts)
        }
        Format::CatboostCbm => {
            let file = catboost::read_cbm(bytes, limits, check_interrupts)?;
            catboost::build(file, "catboost cbm", limits, check_interrupts)
        }
        Format::XgboostJson => {
            let file = xgboost::read(&mut json::Json::new(bytes, check_interrupts), limits)?;
            xgboost::build(file, "xgboost json", limits, check_interrupts)
        }
        Format::XgboostBinary => {
            let file = xgboost::read_binary(bytes, limits, check_interrupts)?;
            xgboost::build(file, "xgboost binary", limits, check_interrupts)
        }
        Format::XgboostUbjson => {
            let file = xgboost::read(&mut ubjson::Ubjson::new(bytes, check_interrupts), limits)?;
            xgboost::build(file, "xgboost ubjson", limits, check_interrupts)
        }
        Format::EnsembleJson => {
            let mut reader = json::Json::new(bytes, check_interrupts);
            tree_ensemble::read(&mut reader, "tree ensemble json", limits)
        }
        Format::EnsembleUbjson => {
            let mut reader = ubjson::Ubjson::new(bytes, check_interrupts);
            tree_ensemble::read(&mut reader, "tree ensemble ubjson", limits)
        }
        Format::LightgbmText => lightgbm::read(bytes, limits, check_interrupts),
        Format::Onnx => onnx::read(bytes, limits, check_interrupts),
    }
}
