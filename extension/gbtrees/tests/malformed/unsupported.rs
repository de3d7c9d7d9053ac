//! Known but unsupported files are refused by name, with advice.

use crate::malformed::models::binary;
use crate::malformed::{ErrorKind, edit, parse};

/// Asserts a refusal that names the case.
fn refused(name: &str, bytes: &[u8]) {
    let error = parse(bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
    assert!(error.message().contains(name), "{name}: {error}");
}

#[test]
fn boosters_objectives_and_leaves() {
    for (name, edits) in [
        ("gbforest", r#"B.name = "gbforest""#),
        ("(unprintable)", r#"B.name = "a \"name\"""#),
        ("reg:custom", r#"learner.objective.name = "reg:custom""#),
        (
            "vectors",
            r#"$.tree_param.size_leaf_vector = "2";
            $.base_weights = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]"#,
        ),
    ] {
        let mut model = binary();
        edit(&mut model, edits);
        refused(name, &model.to_json());
        refused(name, &model.to_ubjson());
    }
}

#[test]
fn other_files() {
    refused("base64", b"bs64AAAAPw");
    refused("text dump", b"booster[0]:\n0:[f0<0.5] yes=1,no=2,missing=1\n");
    refused("text dump", b"0:[f0<0.5] yes=1,no=2,missing=1\n");
    refused("text dump", b"0:leaf=0.5\n");
    refused("JSON dump", b"[\n  { \"nodeid\": 0, \"depth\": 0, \"split\": \"f1\"");
    refused("pickle", b"\x80\x04\x95\x10\0\0\0\0\0\0\0");
    refused(
        "JSON dump of a LightGBM model",
        br#"{"name":"tree","version":"v4","num_class":1,"num_tree_per_iteration":1}"#,
    );
    refused(
        "JSON dump of a LightGBM model",
        b"{\n  \"version\": \"v2\",\n  \"tree_info\": [], \"name\": \"tree\"}",
    );
    refused("JSON dump", b"{\"trees\": [{ \"nodeid\": 0, \"depth\": 0");
    refused("JSON dump", b"{ \"nodeid\": 0, \"leaf\": 1 }\n{ \"nodeid\": 0");
    refused("UTF-16", b"\xff\xfet\0r\0e\0e\0");
    refused("UTF-16", b"\xfe\xff\0{\0\"");
    refused("byte order mark", b"\xef\xbb\xbf{\"learner\": {}}");
    refused("carriage returns", b"tree\rversion=v4\r");
    refused("JSON string", b"\"{\\\"learner\\\": {}}\"");
    refused("bytea", b"\\x7b2c");
    refused("hexadecimal", b"7b226c6561726e6572");
    refused("hexadecimal", b"747265650a76657273696f6e3d7634");
    refused("base64", b"eyJsZWFybmVyIjp7");
    refused("base64", b"dHJlZQp2ZXJzaW9uPXY0");
    refused("gzip", b"\x1f\x8b\x08\0");
    refused("zip", b"PK\x03\x04\x14\0");
}

/// A model's file has its features' names before all else.
#[test]
fn a_feature_may_have_the_name_of_a_dumps_key() {
    let mut model = binary();
    edit(&mut model, r#"learner.feature_names.0 = "nodeid""#);
    parse(&model.to_json()).unwrap();
}

#[test]
fn the_spark_wrappers_model_is_read_after_the_number_of_classes() {
    for file in ["xgboost/0.90/binary_logistic.bin", "xgboost/0.90/dart.bin"] {
        let model = golden_models::file(file);
        let written = [&[0, 0, 0, 2], model].concat();
        assert_eq!(parse(&written).unwrap(), parse(model).unwrap());
        // No other prefix is skipped.
        assert_eq!(parse(&[&[1, 0, 0, 2], model].concat()).unwrap_err().kind(), ErrorKind::Syntax);
    }
}
