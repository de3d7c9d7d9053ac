//! Known files that are no model, or none that is read: each is refused by name, with a hint on what to do.

use crate::format::sniff::{BYTE_ORDER_MARK, SAVE, contains, is_lightgbm, unsupported};
use crate::{Error, Place};

const RESAVE: &str = "Load the file with an XGBoost release up to 3.0 and save it with \
                      save_model(\"model.ubj\").";
const PUSH: &str = "Send it with the Python package: pgboost push model.pkl --name NAME opens the pickle \
                    in your own Python.";
const UNPACK: &str = "Unpack the file first.";
const UNPACK_PICKLE: &str = "Unpack the file first; or send it with the Python package: pgboost push model.pkl \
                             --name NAME opens such a file of joblib in your own Python.";
const UTF8: &str =
    "Save the file as UTF-8 without a byte order mark, or read it as bytes where it is passed on.";
const LINE_ENDS: &str = "Let its lines end in line feeds, as LightGBM writes them.";
const UNQUOTE: &str = "Pass the content of the string: for a jsonb value it is value #>> '{}'.";
const BYTES: &str =
    "Pass the file's bytes: decode(text, 'hex'), or decode(text, 'base64'), of such a text.";
const DUMP: &str = "A dump has no base score and no objective; save the model with \
                    save_model(\"model.ubj\") instead.";

const UNQUOTE_PYTHON: &str = "Pass the bytes themselves, not Python's repr of them.";
const EXPORT: &str = "Save the model with save_model(\"model.cbm\") instead.";
const TEXT: &str = "Save the model with LightGBM's save_model(\"model.txt\") instead.";
const PICKLED_R: &str = "Save the model with its library: xgb.save, lgb.save, catboost.save_model.";
const FETCH: &str = "Get the file itself: git lfs pull.";
const PAGE: &str = "Get the file itself: the server that was asked for it has sent a page.";
const ENSEMBLE: &str = "Push the model's object with the Python package, pgboost.push.";
const WRITE: &str =
    "Its trees can be written as a tree ensemble, the file that docs/formats.md describes.";
const YDF: &str = "Trees of TensorFlow Decision Forests go by the Python package: pgboost.push of \
                   ydf.from_tensorflow_decision_forests.";
const MLFLOW: &str =
    "Push the model by its URI with the Python package, pgboost push models:/NAME/1.";

const XGBOOST_TEXT: &str = "a text dump of an XGBoost model";
const XGBOOST_JSON: &str = "a JSON dump of an XGBoost model";
const LIGHTGBM_JSON: &str = "a JSON dump of a LightGBM model";
const DRAWING: &str = "a drawing of trees for Graphviz";
const OF_TREES: &str = "a table of a model's trees";

/// First bytes, the name of the file type, and advice to the user.
const BEGINNINGS: &[(&[u8], &str, &str)] = &[
    (b"bs64", "an XGBoost model in base64", RESAVE),
    (b"\x1f\x8b", "a gzip archive", UNPACK_PICKLE),
    (b"\x1f\x9d", "an archive of compress", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (b"Rar!", "a RAR archive", UNPACK),
    (b"\xff\x06\0\0sNaPpY", "a Snappy stream", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK_PICKLE),
    (b"\xfd7zXZ\0", "an xz archive", UNPACK_PICKLE),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"\x5d\0\0", "an lzma archive", UNPACK_PICKLE),
    (b"\x04\x22M\x18", "an lz4 archive", UNPACK_PICKLE),
    (b"\x78\x01", "a zlib stream", UNPACK_PICKLE),
    (b"\x78\x5e", "a zlib stream", UNPACK_PICKLE),
    (b"\x78\x9c", "a zlib stream", UNPACK_PICKLE),
    (b"\x78\xda", "a zlib stream", UNPACK_PICKLE),
    (b"\x89HDF\r\n", "an HDF5 file", SAVE),
    (b"\x93NUMPY", "an array of NumPy", SAVE),
    (b"PAR1", "a Parquet file", SAVE),
    (b"ARROW1", "an Arrow file", SAVE),
    (b"Obj\x01", "an Avro file", SAVE),
    (b"SQLite format 3\0", "a database of SQLite", SAVE),
    (b"\x7fELF", "a compiled program", SAVE),
    (b"\xac\xed\0\x05", "a serialized object of Java", WRITE),
    (b"svm_type ", "a model of LIBSVM", SAVE),
    (b"______LightGBM_Binary", "a data set of LightGBM", SAVE),
    (b"\x01\xab\xff\xff", "a DMatrix of XGBoost", SAVE),
    (b"CatboostQuantizedPool", "a pool of CatBoost", SAVE),
    (b"X\n\0\0\0", "an RDS file of R", PICKLED_R),
    (b"RDX", "an RData file of R", PICKLED_R),
    (b"\xff\xfe\0\0", "a text in UTF-32", UTF8),
    (b"\0\0\xfe\xff", "a text in UTF-32", UTF8),
    (b"{\0\0\0", "a text in UTF-32", UTF8),
    (b"t\0\0\0r", "a text in UTF-32", UTF8),
    // What Spark stores before a model of XGBoost may begin with the first four bytes.
    (b"\0\0\0{\0\0\0\"", "a text in UTF-32", UTF8),
    (b"\0\0\0{\0\0\0\n", "a text in UTF-32", UTF8),
    (b"\0\0\0{\0\0\0 ", "a text in UTF-32", UTF8),
    (b"\0\0\0t\0\0\0r", "a text in UTF-32", UTF8),
    (b"\xff\xfe", "a text in UTF-16", UTF8),
    (b"\xfe\xff", "a text in UTF-16", UTF8),
    (b"{\0", "a text in UTF-16", UTF8),
    (b"\0{", "a text in UTF-16", UTF8),
    (b"t\0r\0", "a text in UTF-16", UTF8),
    (b"\0t\0r", "a text in UTF-16", UTF8),
    (b"tree\r", "a text model whose lines end in carriage returns alone", LINE_ENDS),
    (b"b'", "a literal of Python", UNQUOTE_PYTHON),
    (b"b\"", "a literal of Python", UNQUOTE_PYTHON),
    (b"\"", "a model within a JSON string", UNQUOTE),
    (b"\\x", "the text form of a bytea", BYTES),
    (b"7b", "a model in hexadecimal digits", BYTES),
    (b"7B", "a model in hexadecimal digits", BYTES),
    (b"43424d31", "a model in hexadecimal digits", BYTES),
    (b"747265650", "a model in hexadecimal digits", BYTES),
    (b"80049", "a Python pickle in hexadecimal digits", PUSH),
    (b"80059", "a Python pickle in hexadecimal digits", PUSH),
    (b"Q0JNM", "a model in base64", BYTES),
    (b"e0wAAAAAAA", "a model in base64", BYTES),
    (b"eyJ", "a model in base64", BYTES),
    (b"ewog", "a model in base64", BYTES),
    (b"dHJlZQ", "a model in base64", BYTES),
    (b"gAS", "a Python pickle in base64", PUSH),
    (b"gAW", "a Python pickle in base64", PUSH),
];

/// As [`BEGINNINGS`], of what is left of a text without its white space, and without the brackets and quotes
/// that a list of dumps puts before it.
const TEXTS: &[(&[u8], &str, &str)] = &[
    (b"booster[", XGBOOST_TEXT, DUMP),
    (b"0:[", XGBOOST_TEXT, DUMP),
    (b"0:leaf=", XGBOOST_TEXT, DUMP),
    (b"bias:", XGBOOST_TEXT, DUMP),
    (b"{\"nodeid\":", XGBOOST_JSON, DUMP),
    (b"{\\\"nodeid\\\":", XGBOOST_JSON, DUMP),
    (b"{\"bias\":[", XGBOOST_JSON, DUMP),
    (b"{\\\"bias\\\":[", XGBOOST_JSON, DUMP),
    (b"{\"generic_param\":", "the configuration of an XGBoost model", DUMP),
    (b"digraph", DRAWING, SAVE),
    (b"Tree,Node,ID,", OF_TREES, SAVE),
    (b",Tree,Node,ID,", OF_TREES, SAVE),
    (b"Tree;Node;ID;", OF_TREES, SAVE),
    (b"Tree\",\"Node\",\"ID\",", OF_TREES, SAVE),
    (b",\"Tree\",\"Node\",\"ID\",", OF_TREES, SAVE),
    (b"tree_index,depth,", OF_TREES, SAVE),
    (b"tree_index\",\"depth\",", OF_TREES, SAVE),
    (b",\"tree_index\",\"depth\",", OF_TREES, SAVE),
    (b"{\"Tree\":0,\"Node\":", OF_TREES, SAVE),
    (b"tree_index,node_depth,", OF_TREES, SAVE),
    (b",tree_index,node_depth,", OF_TREES, SAVE),
    (b"{\"tree_index\":", LIGHTGBM_JSON, TEXT),
    (b"{\\\"tree_index\\\":", LIGHTGBM_JSON, TEXT),
    (b"###Modeldata", "Python code of a CatBoost model", EXPORT),
    (b"#include<string>", "C++ code of a CatBoost model", EXPORT),
    (b"#include\"gbdt.h\"", "C++ code of a LightGBM model", TEXT),
    (b"|---", "a drawing of scikit-learn's export_text", ENSEMBLE),
    (b"<!DOCTYPE", "an HTML page", PAGE),
    (b"<!doctype", "an HTML page", PAGE),
    (b"<html", "an HTML page", PAGE),
    (b"<HTML", "an HTML page", PAGE),
    (b"<head", "an HTML page", PAGE),
    (b"<?xml", "an XML file, PMML perhaps", SAVE),
    (b"<PMML", "a PMML file", SAVE),
    (b"versionhttps://git-lfs", "a pointer of Git LFS", FETCH),
    (b"artifact_path:", "the description of a model of MLflow", MLFLOW),
    (b"flavors:", "the description of a model of MLflow", MLFLOW),
];

/// As [`BEGINNINGS`], of the name of a zip archive's first file.
const ZIPPED: &[(&[u8], &str, &str)] = &[
    (b"model.ini", "an H2O MOJO", WRITE),
    (b"META-INF/", "a Java archive", WRITE),
    (b"[Content_Types]", "an Excel file", SAVE),
    (b"", "a zip archive", UNPACK),
];

/// Returns the error for a known but unsupported file.
pub(super) fn refusal(bytes: &[u8]) -> Option<Error> {
    let (what, hint) = known_text(bytes)
        .or_else(|| is_dump(bytes).then_some((XGBOOST_JSON, DUMP)))
        .or_else(|| found(BEGINNINGS, bytes).filter(|_| !bytes.starts_with(b"tree\r\n")))
        .or_else(|| zipped(bytes))
        .or_else(|| is_tar(bytes).then_some(("a tar archive", UNPACK)))
        .or_else(|| is_pickle(bytes).then_some(("a Python pickle", PUSH)))
        .or_else(|| is_saved_model(bytes).then_some(("a SavedModel of TensorFlow", YDF)))
        .or_else(|| is_core_ml(bytes).then_some(("a Core ML model", SAVE)))
        .or_else(|| is_misplaced(bytes))?;
    Some(unsupported(what, hint).at(Place::Byte(0)))
}

type Known = (&'static str, &'static str);

fn found(table: &'static [(&[u8], &str, &str)], bytes: &[u8]) -> Option<Known> {
    let entry = table.iter().find(|(beginning, ..)| bytes.starts_with(beginning));
    entry.map(|(_, what, hint)| (*what, *hint))
}

/// Recognizes a text by its beginning, or by that of the first value of its JSON object.
fn known_text(bytes: &[u8]) -> Option<Known> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let head = bytes.get(..512).unwrap_or(bytes);
    let squeezed: Vec<u8> = head.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    let text = inner(&squeezed);
    found(TEXTS, text).or_else(|| found(TEXTS, first_value(text)?))
}

/// Returns what follows the brackets and quotes at a text's beginning.
fn inner(text: &[u8]) -> &[u8] {
    let wraps = |byte: &u8| matches!(byte, b'[' | b'(' | b'"' | b'\'');
    let start = text.iter().position(|byte| !wraps(byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// Returns the beginning of the first value of a JSON object.
fn first_value(text: &[u8]) -> Option<&[u8]> {
    let key = text.strip_prefix(b"{\"")?;
    let end = key.windows(2).position(|pair| pair == b"\":")?;
    key.get(end + 2..).map(inner)
}

/// Names a zip archive by its first file, or an array of NumPy's.
fn zipped(bytes: &[u8]) -> Option<Known> {
    let [b'P', b'K', 3, 4, rest @ ..] = bytes else { return None };
    let name = rest.get(26..).unwrap_or_default();
    let length = rest.get(22).map_or(0, |length| usize::from(*length));
    let is_array = name.get(..length).is_some_and(|name| name.ends_with(b".npy"));
    if is_array { Some(("an archive of NumPy's arrays", SAVE)) } else { found(ZIPPED, name) }
}

fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..).is_some_and(|rest| rest.starts_with(b"ustar"))
}

/// Returns whether the file is a protocol buffer as of Core ML, of which the name of a signature or of an operation
/// says that it is TensorFlow's.
fn is_saved_model(bytes: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"serving_default", b"saved_model_main_op", b"VarHandleOp"];
    is_core_ml(bytes) && names.iter().any(|name| contains(bytes, name))
}

/// Returns whether the file is a pickle: protocol 2 to 5, or the class of an object in protocol 0 or 1.
fn is_pickle(bytes: &[u8]) -> bool {
    let is_name = |line: &[u8]| {
        !line.is_empty()
            && line.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
    };
    let is_class = || {
        let mut lines = bytes.get(..256).unwrap_or(bytes).split(|byte| *byte == b'\n');
        let module = lines.next().and_then(|line| line.strip_prefix(b"c"));
        module.is_some_and(is_name)
            && lines.next().is_some_and(is_name)
            && lines.next().is_some_and(|line| matches!(line.first(), Some(b'p' | b'q' | b'(')))
    };
    matches!(bytes, [0x80, 2..=5, ..]) || is_class()
}

/// Returns whether the file is a protocol buffer whose first field is a version, and the second a description of
/// inputs. That of ONNX is a name.
fn is_core_ml(bytes: &[u8]) -> bool {
    let [0x08, 1..=32, 0x12, rest @ ..] = bytes else { return false };
    let length = rest.iter().take(5).take_while(|byte| **byte >= 0x80).count();
    rest.get(length + 1) == Some(&b'\n')
}

/// Trees whose nodes have numbers, in JSON around them. A model's file has no such key.
fn is_dump(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    // A feature may have the name.
    let key: &[u8] = b"\"nodeid\":";
    matches!(head.trim_ascii_start().first(), Some(b'[' | b'{')) && contains(head, key)
}

/// Recognizes a text that something stands before.
fn is_misplaced(bytes: &[u8]) -> Option<Known> {
    if is_lightgbm(bytes) {
        return None;
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Some(("a text behind a byte order mark", UTF8));
    }
    let text = bytes.trim_ascii_start();
    let is_behind = text.starts_with(b"tree\n") || text.starts_with(b"tree\r\n");
    is_behind
        .then_some(("a LightGBM model behind blanks", "Let the file begin with the line tree."))
}
