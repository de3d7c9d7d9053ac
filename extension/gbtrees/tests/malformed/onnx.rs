//! ONNX files that are damaged, or have one fault each: refused for the right reason, without a panic.

use crate::malformed::damage::{Random, change_every_byte, survives};
use crate::malformed::parse;
use gbtrees::ErrorKind;

const REGRESSOR: &str = "onnx/1.20.0/tree.onnx";
const CLASSIFIER: &str = "onnx/1.20.0/boosting_binary.onnx";
const FIVE: &str = "onnx/hand/five.onnx";
const MEMBERS: &str = "onnx/hand/five_members.onnx";
const STEPS: &str = "onnx/hand/imputed_scaled.onnx";
const ISOLATION: &str = "onnx/1.20.0/isolation_small.onnx";
const ENCODED: &str = "onnx/hand/encoded.onnx";
const TEXT: &str = "onnx/hand/encoded_text.onnx";
/// One of each shape of graph: short ones, and longer ones of at least 9 kB.
const SHORT: [&str; 4] = [REGRESSOR, FIVE, MEMBERS, ISOLATION];
const LONG: [&str; 4] = [CLASSIFIER, STEPS, ENCODED, TEXT];

fn all() -> impl Iterator<Item = &'static [u8]> {
    SHORT.into_iter().chain(LONG).map(golden_models::file)
}

/// Returns a golden file with every occurrence of a text replaced by another of its length.
fn replaced(file: &str, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Vec<u8> {
    let (from, to) = (from.as_ref(), to.as_ref());
    assert_eq!(from.len(), to.len());
    let bytes = golden_models::file(file);
    let mut replaced = bytes.to_vec();
    let mut count = 0;
    for start in 0..=bytes.len() - from.len() {
        if bytes[start..].starts_with(from) {
            replaced[start..start + to.len()].copy_from_slice(to);
            count += 1;
        }
    }
    assert!(count > 0, "{}", from.escape_ascii());
    replaced
}

fn refused(bytes: &[u8], kind: ErrorKind, message: &str) {
    let error = parse(bytes).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(message), "{error}");
}

fn file_refused(name: &str, kind: ErrorKind, message: &str) {
    refused(golden_models::file(&format!("onnx/refused/{name}.onnx")), kind, message);
}

#[test]
fn every_truncation_is_refused() {
    for bytes in all() {
        parse(bytes).unwrap();
        for length in 0..bytes.len() {
            // The last fields are operator versions, which the graph may not need.
            if let Ok(model) = parse(&bytes[..length]) {
                assert!(bytes.len() - length < 64, "{length} of {} bytes", bytes.len());
                assert_eq!(model.trees(), parse(bytes).unwrap().trees());
            }
        }
    }
}

#[test]
fn every_changed_byte_gives_an_error_or_a_model() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut refused = 0;
    for bytes in SHORT.map(golden_models::file) {
        refused += change_every_byte(bytes, &[], &mut random)[0];
    }
    for bytes in LONG.map(golden_models::file) {
        for index in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[index] ^= 1 << random.below(8);
            refused += usize::from(!survives(&damaged));
        }
    }
    for bytes in all() {
        for _ in 0..2000 {
            refused += usize::from(!survives(&random.damaged(bytes)));
        }
    }
    assert!(refused > 10_000, "{refused} refused");
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let unsupported = ErrorKind::Unsupported;
    refused(
        &replaced(REGRESSOR, "TreeEnsembleRegressor", "TreeEnsembleRegrossor"),
        unsupported,
        "TreeEnsembleRegrossor",
    );
    refused(&replaced(CLASSIFIER, "ZipMap", "ZapMap"), unsupported, "ZapMap");
    refused(&replaced(CLASSIFIER, "LOGISTIC", "LOGISTAC"), unsupported, "LOGISTAC");
    refused(&replaced(CLASSIFIER, "LOGISTIC", "SOFTMAX "), unsupported, "post_transform");
    refused(&replaced(REGRESSOR, "NONE", "NANE"), unsupported, "NANE");
    refused(&replaced(STEPS, "Scaler", "Scalor"), unsupported, "Scalor");
    refused(&replaced(ISOLATION, "Log", "Lag"), unsupported, "a node Lag");
    refused(&replaced(ISOLATION, "Pow", "Paw"), unsupported, "a node Paw");
    refused(&replaced(ISOLATION, "Sum", "Mum"), unsupported, "a node Mum");
    // The constants of its last nodes: 2 to the power, and -2 times the class plus one.
    let constants: [(&[u8], &[u8], &str); 4] = [
        (b"\0\0\0@B\ndec_Pow", b"\0\0@@B\ndec_Pow", "a node Pow"),
        (b":\n\xfe\xff", b":\n\xfc\xff", "a node Mul"),
        // Of another type.
        (b"\x10\x07:\n\xfe\xff", b"\x10\x06:\n\xfe\xff", "a node Mul"),
        (b"\x01B\x0epredict_Add", b"\x03B\x0epredict_Add", "a node Add"),
    ];
    for (from, to, message) in constants {
        refused(&replaced(ISOLATION, from, to), unsupported, message);
    }
    file_refused("normalizer", unsupported, "a node Normalizer before the trees");
    file_refused("column_beyond", unsupported, "a node Gather");
    file_refused("scale_zero", unsupported, "a scale of 0");
    file_refused("large_members", unsupported, "a BRANCH_MEMBER of more than 30 numbers");
    file_refused("imputed_nan", unsupported, "makes NaN of numbers");
    file_refused("classes_unlike", unsupported, "two classes with weights for both");
    file_refused("classes_below", unsupported, "a class without a weight");
    file_refused("chosen_probability", unsupported, "a node ArgMax");
    file_refused("added_twice", unsupported, "a node Add");
}

#[test]
fn encoders_are_refused_by_name() {
    let unsupported = ErrorKind::Unsupported;
    refused(&replaced(ENCODED, "OneHotEncoder", "OneHatEncoder"), unsupported, "OneHatEncoder");
    refused(&replaced(ENCODED, "LabelEncoder", "LobelEncoder"), unsupported, "LobelEncoder");
    refused(&replaced(ENCODED, "cats_int64s", "cats_int46s"), unsupported, "a node OneHotEncoder");
    refused(&replaced(ENCODED, "keys_floats", "keys_flaats"), unsupported, "a node LabelEncoder");
    let values_missing = replaced(ENCODED, "values_floats", "values_flaats");
    refused(&values_missing, unsupported, "a node LabelEncoder");
    file_refused("one_hot_fails", unsupported, "a node OneHotEncoder that fails at other numbers");
    file_refused("one_hot_stacked", unsupported, "a node TreeEnsembleRegressor");
    file_refused("text_to_text", unsupported, "a node LabelEncoder");
    file_refused("text_to_number", unsupported, "a node Cast");
}

#[test]
fn impossible_models_are_refused() {
    refused(&replaced(REGRESSOR, "BRANCH_LEQ", "BRANCH_LOQ"), ErrorKind::Parameter, "no mode");
    refused(&replaced(REGRESSOR, "nodes_modes", "nodes_madus"), ErrorKind::Length, "nodes_modes");
    refused(&replaced(REGRESSOR, "n_targets", "n_torgets"), ErrorKind::Parameter, "n_targets");
    refused(
        &replaced(REGRESSOR, "nodes_truenodeids", "nodes_treenodeids"),
        ErrorKind::Length,
        "nodes_truenodeids",
    );
    refused(
        &replaced(FIVE, "nodes_trueleafs", "nodes_troeleafs"),
        ErrorKind::Length,
        "nodes_trueleafs",
    );
    refused(&replaced(FIVE, "tree_roots", "tree_raats"), ErrorKind::Length, "no trees");
    file_refused("no_members", ErrorKind::Length, "membership_values");
    file_refused("one_hot_twice", ErrorKind::Parameter, "the same category twice");
    file_refused("feature_beyond", ErrorKind::Limit, "4294967295 features");
    file_refused("scales_missing", ErrorKind::Length, "nor one per column");
    let unsaid = replaced(STEPS, "replaced_value_float", "replaced_value_flaat");
    refused(&unsaid, ErrorKind::MissingKey, "what it replaces");
    let no_keys = replaced(ISOLATION, "keys_int64s", "keys_int46s");
    refused(&no_keys, ErrorKind::Length, "values_floats");
}

#[test]
fn operator_sets_are_bounded() {
    let file = golden_models::file(REGRESSOR);
    let sets = |count| [file, &b"\x42\0".repeat(count)].concat();
    // With its own three.
    parse(&sets(4_093)).unwrap();
    refused(&sets(4_094), ErrorKind::Limit, "model has 4097 operator sets, more than");
}
