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
    refused("UTF-16", b"{\0\"\0l\0");
    refused("UTF-16", b"\0t\0r\0e\0e\0\n");
    refused("byte order mark", b"\xef\xbb\xbf\n{\"learner\": {}}");
    refused("behind blanks", b"\n\ntree\nversion=v4\n");
    refused("literal of Python", b"b'{\"learner\": {}}'");
    refused("pickle in base64", b"gASVtBcAAAAAAACMDHhnYm9vc3QuY29yZZSM");
    refused("gzip", b"\x1f\x8b\x08\0");
    refused("zlib", b"x\x9c\xdd]l");
    refused("lzma", b"\x5d\0\0@\0\xff\xff\xff");
    refused("RDS", b"X\n\0\0\0\x03");
    refused("NumPy", b"\x93NUMPY\x01\0");
    refused("zip", b"PK\x03\x04\x14\0");
    refused("UTF-32", b"\xff\xfe\0\0{\0\0\0");
    refused("UTF-32", b"\0\0\0{\0\0\0\"\0\0\0l");
    refused("UTF-32", b"t\0\0\0r\0\0\0e\0\0\0");
    refused("7-Zip", b"7z\xbc\xaf\x27\x1c\0\x04");
    refused("Java", b"\xac\xed\0\x05sr\0");
    refused("LIBSVM", b"svm_type c_svc\nkernel_type rbf\n");
    refused("PMML", b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<PMML version=\"4.4\">");
    refused("HTML", b"\n\n<!doctype html>");
    let tar = [&[b'm'; 257][..], b"ustar\x0000"].concat();
    refused("tar archive", &tar);
    for (name, first) in [
        ("H2O MOJO", "model.ini"),
        ("NumPy", "arr_0.npy"),
        ("Java archive", "META-INF/MANIFEST.MF"),
        ("zip archive", "model.txt"),
    ] {
        let length = [first.len() as u8, 0, 0, 0];
        let header = [b"PK\x03\x04".as_slice(), &[20; 22], &length, first.as_bytes(), b"x"];
        refused(name, &header.concat());
    }
    refused(
        "SavedModel of TensorFlow",
        b"\x08\x01\x12\xa3\x02\n\x11\n\x09serving_default\x12VarHandleOp",
    );
}

#[test]
fn what_is_empty_or_appended_has_a_hint() {
    for model in [binary().to_json(), binary().to_ubjson()] {
        for rest in [&b"\0"[..], b"}", b"{}"] {
            let error = parse(&[&model, rest].concat()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
            assert!(error.message().contains("followed by"), "{error}");
            assert!(error.hint().is_some());
        }
    }
    for empty in ["", "\n", " \t\r\n"] {
        assert!(parse(empty.as_bytes()).unwrap_err().hint().is_some(), "{empty:?}");
    }
}

/// As get_dump, dump_model, json.dumps and repr of their lists, and tables of trees write them.
#[test]
fn dumps_of_every_shape() {
    let tree = "0:[a<-0.05] yes=1,no=2,missing=2\n\t1:leaf=0.5\n";
    let linear = "bias:\n-0.02\nweight:\n0.28\n";
    let drawn = "digraph {\n    graph [ rankdir=TB ]\n";
    let nodes = "  { \"nodeid\": 0, \"depth\": 0, \"split\": \"a\"";
    let weights = "  { \"bias\": [\n      -0.02\n    ],\n    \"weight\": [";
    for (name, dump) in [
        ("text dump", tree),
        ("text dump", linear),
        ("drawing", drawn),
        ("JSON dump of an XGBoost", nodes),
        ("JSON dump of an XGBoost", weights),
        ("JSON dump of a LightGBM", "{\"tree_index\": 0, \"num_leaves\": 4"),
    ] {
        let quoted = serde_json::to_string(dump).unwrap();
        for written in [
            dump.to_owned(),
            format!("[\n{dump}"),
            format!("['{dump}"),
            format!("[{quoted}]"),
            format!("[\n  {quoted}\n]"),
            format!("{{\"trees\": [{quoted}]}}"),
            format!("{{\n  \"trees\": [\n    {dump}"),
            format!("\u{feff}{dump}"),
            dump.replace('\n', "\r\n"),
        ] {
            refused(name, written.as_bytes());
        }
    }
    refused("text dump", b"booster[0]:\nbias:\n0.5\n");
    for table in [
        ",Tree,Node,ID,Feature,Split",
        "Tree,Node,ID,Feature",
        "Tree;Node;ID;Feature",
        "\"Tree\",\"Node\",\"ID\",\"Feature\"",
        "\"\",\"Tree\",\"Node\",\"ID\",\"Feature\"",
        "tree_index,node_depth,node_index",
        "tree_index,depth,split_index",
        "\"tree_index\",\"depth\",\"split_index\"",
        "\"\",\"tree_index\",\"depth\",\"split_index\"",
    ] {
        refused("table", table.as_bytes());
    }
    refused("table", b"[{\"Tree\":0,\"Node\":0,\"ID\":\"0-0\"");
    refused("configuration", b"{\n \"learner\": {\n  \"generic_param\": {\"device\": \"cpu\"");
    refused("Python code", b"###  Model data\nclass catboost_model(object):\n");
    refused("C++ code", b"#include <string>\n#include <vector>\n");
    refused("Core ML", b"\x08\x01\x12\xa3\x02\n\x11\n\x09feature_0");
    refused("Core ML", b"\x08\x04\x12\x2c\n\x0d\n\x01a\x1a");
    refused("export_text", b"|--- feature_0 <= -0.06\n");
    refused("Git LFS", b"version https://git-lfs.github.com/spec/v1\n");
    refused("HTML", b"<!DOCTYPE html>\n<html>");
    refused("MLflow", b"artifact_path: model\nflavors:\n");
}

#[test]
fn pickles_of_every_protocol() {
    for pickle in [
        &b"ccopy_reg\n_reconstructor\np0\n(cxgboost.core\nBooster\n"[..],
        b"ccopy_reg\n_reconstructor\nq\0(clightgbm.basic\nBooster\n",
        b"\x80\x02cxgboost.core\n",
        b"\x80\x05\x95\xb4\x17",
    ] {
        refused("pickle", pickle);
    }
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
