//! From untrusted bytes to a checked model.
//!
//! The format is told by content, since a model in a database has no file name. JSON and UBJSON
//! both begin with a brace; the byte after it tells them apart. Either is read through
//! [`document::Document`], so what the keys mean is written once, in `xgboost`. Formats that are
//! known and not read are refused by name, with advice, in `recognise`.
//!
//! Nothing in here indexes a slice, recurses deeper than [`document::MAX_NESTING`] or takes memory
//! for a size that the input declares before that size has been compared with what is there.

#![deny(clippy::indexing_slicing)]

mod document;
mod json;
mod recognise;
mod ubjson;
mod xgboost;

use crate::model::{self, Format, Model};
use crate::{Error, ErrorKind, Limits, Place, Result};

/// Reads a model and checks every invariant of it.
///
/// `between` is called every few thousand values, so that a caller can look for interrupts; it may
/// unwind.
///
/// # Errors
/// The kind says what is wrong, the place where. No input makes this panic.
pub fn parse(bytes: &[u8], limits: &Limits, between: &mut dyn FnMut()) -> Result<Model> {
    if bytes.len() > limits.bytes {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("model has {} bytes, more than the limit of {}", bytes.len(), limits.bytes),
        ));
    }
    let raw = match format_of(bytes)? {
        Format::XgboostJson => {
            let mut document = json::Json::new(bytes, between);
            xgboost::read(&mut document, Format::XgboostJson, limits)?
        }
        Format::XgboostUbjson => {
            let mut document = ubjson::Ubjson::new(bytes, between);
            xgboost::read(&mut document, Format::XgboostUbjson, limits)?
        }
    };
    model::check(raw, limits, between)
}

/// Tells the formats apart: after the brace, JSON has a quote and UBJSON the type of a length.
fn format_of(bytes: &[u8]) -> Result<Format> {
    if let Some(refusal) = recognise::refusal(bytes) {
        return Err(refusal);
    }
    let start = bytes.iter().position(|byte| !json::is_space(*byte)).unwrap_or(bytes.len());
    match bytes.get(start..).unwrap_or_default() {
        [b'{', b'L' | b'l' | b'I' | b'i' | b'U' | b'#' | b'$', ..] if start == 0 => {
            Ok(Format::XgboostUbjson)
        }
        [b'{', ..] => Ok(Format::XgboostJson),
        [] => Err(Error::new(ErrorKind::Truncated, "model is empty").at(Place::Byte(bytes.len()))),
        _ => Err(Error::new(ErrorKind::Syntax, "this is not a model in a known format")
            .at(Place::Byte(start))
            .with_hint("Save the model with XGBoost's save_model(\"model.ubj\").")),
    }
}
