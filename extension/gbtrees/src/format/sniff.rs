//! Detects a file's format by its first bytes.
//!
//! Known but unsupported formats are refused by name, with a hint on what to do.

use crate::format::reader::Reader;
use crate::format::{json, ubjson};
use crate::{Cancel, Error, ErrorKind, Place, Result};

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
    if let Some(refusal) = refusal(bytes) {
        return Err(refusal);
    }
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
        [] => Err(Error::new(ErrorKind::Truncated, "model is empty").at(Place::Byte(bytes.len()))),
        _ if is_lightgbm(bytes) => Ok(Format::LightgbmText),
        _ => Err(Error::new(ErrorKind::Syntax, "this is not a model in a known format")
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

const SAVE: &str = "Save the model with its library's save_model, as model.ubj (XGBoost), model.txt \
                    (LightGBM) or model.cbm (CatBoost).";
const RESAVE: &str = "Load the file with an XGBoost release up to 3.0 and save it with \
                      save_model(\"model.ubj\").";
const PUSH: &str = "Send it with the Python package: pgboost push model.pkl --name NAME opens the pickle \
                    in your own Python.";
const UNPACK: &str = "Unpack the file first.";
const UTF8: &str =
    "Save the file as UTF-8 without a byte order mark, or read it as bytes where it is passed on.";
const LINE_ENDS: &str = "Let its lines end in line feeds, as LightGBM writes them.";
const UNQUOTE: &str = "Pass what the string says: of a jsonb value that is value #>> '{}'.";
const BYTES: &str =
    "Pass the file's bytes: decode(text, 'hex'), or decode(text, 'base64'), of such a text.";
const DUMP: &str = "A dump has no base score and no objective; save the model with \
                    save_model(\"model.ubj\") instead.";

/// The first bytes of UTF-8 by programs that mark it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Leading bytes, the name of the file type, and advice to the user.
const BEGINNINGS: &[(&[u8], &str, &str)] = &[
    (b"bs64", "an XGBoost model in base64", RESAVE),
    (b"booster[", "a text dump of an XGBoost model", DUMP),
    (b"booster ", "a text dump of an XGBoost model", DUMP),
    (b"0:[", "a text dump of an XGBoost model", DUMP),
    (b"0:leaf=", "a text dump of an XGBoost model", DUMP),
    (b"\x1f\x8b", "a gzip archive", UNPACK),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK),
    (b"\xfd7zXZ\0", "an xz archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"\x89HDF\r\n", "an HDF5 file", SAVE),
    (b"<?xml", "an XML file, PMML perhaps", SAVE),
    (b"<PMML", "a PMML file", SAVE),
    (b"\xff\xfe", "a text in UTF-16", UTF8),
    (b"\xfe\xff", "a text in UTF-16", UTF8),
    (b"\xef\xbb\xbf{", "JSON behind a byte order mark", UTF8),
    (b"tree\r", "a text model whose lines end in carriage returns alone", LINE_ENDS),
    (b"\"", "a model within a JSON string", UNQUOTE),
    (b"\\x", "the text form of a bytea", BYTES),
    (b"7b", "a model in hexadecimal digits", BYTES),
    (b"7B", "a model in hexadecimal digits", BYTES),
    (b"43424d31", "a model in hexadecimal digits", BYTES),
    (b"Q0JNM", "a model in base64", BYTES),
    (b"e0wAAAAAAA", "a model in base64", BYTES),
    (b"eyJ", "a model in base64", BYTES),
    (b"ewog", "a model in base64", BYTES),
    (b"dHJlZQ", "a model in base64", BYTES),
    (b"747265650", "a model in hexadecimal digits", BYTES),
];

/// Returns the error for a known but unsupported file.
fn refusal(bytes: &[u8]) -> Option<Error> {
    let (what, hint) = BEGINNINGS
        .iter()
        .find(|(beginning, ..)| bytes.starts_with(beginning))
        .filter(|(beginning, ..)| *beginning != b"tree\r" || !bytes.starts_with(b"tree\r\n"))
        .map(|(_, what, hint)| (*what, *hint))
        .or_else(|| is_pickle(bytes).then_some(("a Python pickle", PUSH)))
        .or_else(|| is_dump(bytes).then_some(("a JSON dump of an XGBoost model", DUMP)))?;
    Some(unsupported(what, hint).at(Place::Byte(0)))
}

/// Returns the error for an unsupported feature.
pub(super) fn unsupported(what: &str, hint: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} is not supported")).with_hint(hint)
}

/// Returns a name from a file if it is short and harmless enough for an error message.
pub(super) fn shown(name: &str) -> &str {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.');
    if name.len() <= 64 && name.chars().all(harmless) { name } else { "(unprintable)" }
}

/// Returns whether the file begins with LightGBM's first line, or a prefix of it.
fn is_lightgbm(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let begins = |line: &[u8]| bytes.starts_with(line) || line.starts_with(bytes);
    begins(b"tree\n") || begins(b"tree\r\n")
}

/// Returns whether the file is a pickle: protocol 2 to 5, then a frame or a first opcode.
fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
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

/// Trees whose nodes have numbers: an array of them, one alone, or other JSON around them. A model's file has
/// no such key.
fn is_dump(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    // A feature may have the name.
    let key: &[u8] = b"\"nodeid\":";
    matches!(head.trim_ascii_start().first(), Some(b'[' | b'{')) && contains(head, key)
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

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
