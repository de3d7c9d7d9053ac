//! Detects a file's format by its first bytes.

use crate::format::reader::Reader;
use crate::format::{json, ubjson};
use crate::{Cancel, Error, Place, Result};

pub(super) enum Format {
    CatboostJson,
    CatboostCbm,
    XgboostBinary,
    XgboostJson,
    XgboostUbjson,
    EnsembleJson,
    EnsembleUbjson,
    LightgbmText,
    Onnx,
}

/// Detects the format. JSON has a quote after the brace, UBJSON the type of a length.
pub(super) fn format_of(bytes: &[u8], cancel: Cancel<'_>) -> Result<Format> {
    if bytes.starts_with(b"CBM1") {
        return Ok(Format::CatboostCbm);
    }
    let model = without_classes(bytes);
    if bytes.starts_with(SNAPSHOT) || model.starts_with(b"binf") || is_binary(model) {
        return Ok(Format::XgboostBinary);
    }
    if is_onnx(bytes) {
        return Ok(Format::Onnx);
    }
    let start = bytes.iter().position(|byte| !json::is_space(*byte)).unwrap_or(bytes.len());
    match bytes.get(start..).unwrap_or_default() {
        [b'{', b'L' | b'l' | b'I' | b'i' | b'U' | b'#' | b'$', ..] if start == 0 => {
            match begins_ensemble(&mut ubjson::Ubjson::new(bytes, cancel))? {
                true => Ok(Format::EnsembleUbjson),
                false => Ok(Format::XgboostUbjson),
            }
        }
        [b'{', ..] => library_of_json(&mut json::Json::new(bytes, cancel)),
        [] => Err(fault!(Truncated, "model is empty").at(Place::Byte(bytes.len())).with_hint(
            "The file has no bytes but blanks: it may have been read before it was written.",
        )),
        _ if is_lightgbm(bytes) => Ok(Format::LightgbmText),
        _ => Err(fault!(Syntax, "this is not a model in a known format")
            .at(Place::Byte(start))
            .with_hint(SAVE)),
    }
}

/// Distinguishes the libraries' JSON by the first key that only one of them writes.
fn library_of_json<'a, R: Reader<'a>>(reader: &mut R) -> Result<Format> {
    let mut object = reader.open_object()?;
    while let Some(key) = reader.next_key(&mut object)? {
        match key.as_ref() {
            "ctr_data" | "features_info" | "model_info" | "oblivious_trees" | "scale_and_bias"
            | "trees" => return Ok(Format::CatboostJson),
            ENSEMBLE => return Ok(Format::EnsembleJson),
            "learner" | "Model" => break,
            _ => reader.skip()?,
        }
    }
    Ok(Format::XgboostJson)
}

/// The key of a tree ensemble's version; the first key of a UBJSON file.
const ENSEMBLE: &str = "tree_ensemble";

/// Returns whether the first key is that of a tree ensemble.
fn begins_ensemble<'a, R: Reader<'a>>(reader: &mut R) -> Result<bool> {
    let mut object = reader.open_object()?;
    Ok(reader.next_key(&mut object)?.is_some_and(|key| key == ENSEMBLE))
}

/// Precedes a binary model in a memory snapshot of XGBoost up to 1.2; the model's length follows in
/// eight bytes.
pub(super) const SNAPSHOT: &[u8] = b"CONFIG-offset:";

/// Strips the number of classes that XGBoost's Spark wrapper writes before the model: four bytes, the
/// last not 0. Returns other files unchanged.
pub(super) fn without_classes(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0, 0, _, _, model @ ..] if model.starts_with(b"binf") || is_binary(model) => model,
        _ => bytes,
    }
}

pub(super) const SAVE: &str = "Save the model with its library's save_model, as model.ubj (XGBoost), model.txt \
                    (LightGBM) or model.cbm (CatBoost).";
/// The first bytes of UTF-8 by programs that mark it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the error for an unsupported feature.
pub(super) fn unsupported(what: &str, hint: &'static str) -> Error {
    fault!(Unsupported, "{what} is not supported").with_hint(hint)
}

/// Returns a name from a file if it is short and harmless enough for an error message.
pub(super) fn shown(name: &str) -> &str {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.');
    if name.len() <= 64 && name.chars().all(harmless) { name } else { "(unprintable)" }
}

/// Returns whether the file begins with LightGBM's first line, or a prefix of it.
pub(super) fn is_lightgbm(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let begins = |line: &[u8]| bytes.starts_with(line) || line.starts_with(bytes);
    begins(b"tree\n") || begins(b"tree\r\n")
}

/// Recognizes XGBoost's binary format: 136 bytes of parameters, then the objective's length and name.
fn is_binary(bytes: &[u8]) -> bool {
    let Some(length) = bytes.get(136..).and_then(|rest| rest.first_chunk::<8>()) else {
        return false;
    };
    let Ok(length @ 3..=64) = usize::try_from(u64::from_le_bytes(*length)) else {
        return false;
    };
    bytes.get(144..144 + length).is_some_and(|name| {
        name.contains(&b':') && name.iter().all(|byte| matches!(byte, b'a'..=b'z' | b':' | b'_'))
    })
}

/// Recognizes a protocol buffer whose first field is a small version, by a known converter.
fn is_onnx(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    let named = || {
        let names: [&[u8]; 3] = [b"onnx", b"OnnxML", b"TreeEnsemble"];
        names.iter().any(|name| contains(head, name))
    };
    matches!(head, [0x08, 1..=32, ..]) && named()
}

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
