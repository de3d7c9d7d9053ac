//! XGBoost's binary format: impossible values in structs, and counts that demand memory.

use std::sync::LazyLock;

use crate::malformed::{Error, ErrorKind, Place, parse};
use gbtrees::{Cancel, Limits};

/// A model of one feature and three trees, written by XGBoost 1.6.2.
static VALID: LazyLock<&[u8]> =
    LazyLock::new(|| golden_models::file("xgboost/1.6.2/binary_logistic.bin"));

/// Offsets of the structs, given the objective `binary:logistic` and the booster `gbtree`.
const MARK: usize = 4;
const TREES: usize = MARK + 136 + 8 + 15 + 8 + 6;
const TREE: usize = TREES + 160;
const NODE: usize = TREE + 148;

fn with(at: usize, bytes: &[u8]) -> Result<(), Error> {
    let mut model = VALID.to_vec();
    model[at..at + bytes.len()].copy_from_slice(bytes);
    parse(&model).map(drop)
}

#[test]
fn malformed_words_are_refused() {
    parse(&VALID).unwrap();
    let word = |number: i32| number.to_le_bytes();
    let byte = Place::Byte(0);
    let node = Place::Node { tree: 0, node: 0 };
    for (what, at, value, kind, place) in [
        ("features", MARK + 4, word(0), ErrorKind::Parameter, Place::Model),
        ("features", MARK + 4, word(-1), ErrorKind::Limit, Place::Model),
        ("classes", MARK + 8, word(-1), ErrorKind::Parameter, Place::Model),
        ("targets", MARK + 28, word(i32::MAX), ErrorKind::Limit, Place::Model),
        ("trees", TREES, word(-1), ErrorKind::Parameter, byte),
        ("trees", TREES, word(i32::MAX), ErrorKind::Truncated, byte),
        ("parallel trees", TREES + 4, word(2), ErrorKind::Parameter, Place::Model),
        ("nodes", TREE + 4, word(0), ErrorKind::TreeShape, Place::Tree(0)),
        ("nodes", TREE + 4, word(-1), ErrorKind::Parameter, byte),
        ("nodes", TREE + 4, word(i32::MAX), ErrorKind::Truncated, byte),
        ("deleted nodes", TREE + 8, word(1), ErrorKind::TreeShape, Place::Tree(0)),
        ("values of a leaf", TREE + 20, word(2), ErrorKind::Unsupported, byte),
        ("the root's parent", NODE, word(0), ErrorKind::TreeShape, node),
        ("the left child", NODE + 4, word(99), ErrorKind::TreeShape, node),
        ("the right child", NODE + 8, word(1), ErrorKind::TreeShape, node),
        ("the feature", NODE + 12, word(77), ErrorKind::FeatureRange, node),
        ("the threshold", NODE + 16, f32::NAN.to_le_bytes(), ErrorKind::NotFinite, node),
    ] {
        let error = with(at, &value).expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        match place {
            Place::Byte(_) => assert!(matches!(error.place(), Place::Byte(_)), "{what}: {error}"),
            place => assert_eq!(error.place(), place, "{what}: {error}"),
        }
    }
}

#[test]
fn linear_models_are_whole() {
    let model = golden_models::file("xgboost/0.90/gblinear_multiclass.bin");
    parse(model).unwrap();
    for end in 0..model.len() {
        assert!(parse(&model[..end]).is_err(), "{end} bytes");
    }
    // The number of weights follows the sizes.
    let at = 136 + 8 + "multi:softprob".len() + 8 + "gblinear".len() + 136;
    let with = |count: u64| parse(&[&model[..at], &count.to_le_bytes(), &model[at + 8..]].concat());
    assert_eq!(with(20).unwrap_err().kind(), ErrorKind::Length);
    assert_eq!(with(1 << 40).unwrap_err().kind(), ErrorKind::Truncated);
}

/// And the objective's parameters.
#[test]
fn attributes_are_those_of_the_json_file() {
    let attributes = |ending: &str| {
        let file = golden_models::file(&format!("xgboost/1.6.2/early_stopping.{ending}"));
        parse(file).unwrap().attributes().to_vec()
    };
    let expected = attributes("json");
    assert_eq!(attributes("bin")[..3], expected);
}

#[test]
fn malformed_names_are_refused() {
    let error = with(MARK + 136 + 8, b"binary:logistix").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("binary:logistix"), "{error}");
    let error = with(MARK + 136 + 8 + 15 + 8, b"gbtrea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = with(MARK + 136 + 8 + 15, &u64::MAX.to_le_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    let error = with(MARK + 136 + 8 + 15 + 8, b"\xff").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encoding, "{error}");
}

#[test]
fn limits_hold() {
    let at = |limits: &Limits| gbtrees::internals::parse(&VALID, limits, Cancel::never()).map(drop);
    let nodes = gbtrees::internals::parse(&VALID, &Limits::default(), Cancel::never()).unwrap();
    let nodes = nodes.trees().iter().map(|tree| tree.nodes().len()).sum();
    at(&Limits::default().with_nodes(nodes).with_trees(3)).unwrap();
    for limits in [
        Limits::default().with_nodes(nodes - 1),
        Limits::default().with_trees(2),
        Limits::default().with_features(1),
    ] {
        assert_eq!(at(&limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
