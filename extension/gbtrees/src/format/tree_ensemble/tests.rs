//! The file of docs/formats.md, and malformed variants.

use crate::ensemble::Ensemble;
use crate::eval::reference;
use crate::format::parse;
use crate::{Cancel, ErrorKind, Limits, Result};

/// The example of docs/formats.md.
const EXAMPLE: &str = include_str!("../../../tests/golden/tree_ensemble/example.json");

/// Intervals of a column, and margins of two models.
const INTERVALS: &str = include_str!("../../../tests/golden/tree_ensemble/intervals.json");

/// All keys and, in the attributes, all other words; also a seed for fuzzing.
const KEYS: &str = include_str!("../../../tests/golden/tree_ensemble/keys.json");

fn read(file: &str) -> Result<Ensemble> {
    parse(file.as_bytes(), &Limits::default(), Cancel::never())
}

fn margin(model: &Ensemble, row: &[f64]) -> f64 {
    let mut margins = vec![0.0; model.num_outputs()];
    reference::margins(model, row, &mut margins);
    margins[0]
}

/// Returns a file of one split with a part replaced.
fn changed(from: &str, to: &str) -> String {
    let file = r#"{"tree_ensemble": 1, "num_features": 2, "trees": [
        {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [1, 0, 0], "threshold": [0.5, 0, 0],
         "leaf_values": [1, 2]}]}"#;
    assert!(file.contains(from), "{from}");
    file.replacen(from, to, 1)
}

#[test]
fn the_documented_example_predicts_the_documented_values() {
    let model = read(EXAMPLE).unwrap();
    assert_eq!(model.format(), "tree ensemble json");
    assert_eq!(model.version(), [1, 9, 1]);
    assert_eq!(model.feature_names(), ["age", "port"]);
    assert_eq!(model.num_rounds(), 2);
    // Codes of ports: Cherbourg 0, Queenstown 1, unknown 2.
    assert!(!model.has_unknown_code(0) && model.has_unknown_code(1));
    let at = |age: f64, port: f64| margin(&model, &[age, port]);
    assert_eq!(at(30.0, 0.0), 0.25 + 0.5 + 0.125);
    assert_eq!(at(30.5, 1.0), 0.25 - 0.5 - 0.25);
    assert_eq!(at(f64::NAN, 2.0), 0.25 - 0.5 - 0.25);
    assert_eq!(at(-1.0, f64::NAN), 0.25 + 0.5 + 0.125);
}

#[test]
fn scale_divisor_bias_and_rules_are_applied() {
    let with = |members: &str| {
        read(&changed("\"num_features\": 2,", &format!("\"num_features\": 2, {members},"))).unwrap()
    };
    let row = [0.0, 0.5];
    assert_eq!(margin(&with(r#""scale": 3, "divisor": 4, "bias": [10]"#), &row), 10.75);
    assert_eq!(margin(&with(r#""comparison": "<""#), &row), 2.0);
    assert_eq!(margin(&with(r#""missing": "none""#), &[0.0, f64::NAN]), 1.0);
    assert_eq!(margin(&with(r#""base": [0.25]"#), &row), 1.25);
    assert_eq!(margin(&with(r#""base": [0.25], "sum_type": "float32""#), &row), 1.25);
    // Rounded to float, the value equals the threshold.
    let near = [0.0, 0.5f64.next_up()];
    assert_eq!(margin(&with(r#""value_type": "float64""#), &near), 2.0);
    assert_eq!(margin(&with(r#""value_type": "float32""#), &near), 1.0);
}

/// Intervals: up to -1, up to 0.5, up to 2, and above. The set sends the second and last left.
#[test]
fn cuts_give_the_intervals_of_a_feature_codes() {
    let cut = |members: &str, set: &str| {
        let with = format!("\"num_features\": 2, \"cuts\": [null, [-1, 0.5, 2]], {members}");
        let file = changed("\"num_features\": 2,", &with);
        file.replacen("\"leaf_values\"", &format!("{set} \"leaf_values\""), 1)
    };
    let set = "\"category_set\": [0, -1, -1], \"category_sets\": [[1, 3]],";
    let at = |model: &Ensemble, values: &[f64]| {
        values.iter().map(|value| margin(model, &[0.0, *value])).collect::<Vec<_>>()
    };
    let model = read(&cut("", set)).unwrap();
    let (above, below) = (0.5f64.next_up(), (-1.0f64).next_down());
    assert_eq!(at(&model, &[below, -1.0, 0.0, 0.5]), [2.0, 2.0, 1.0, 1.0]);
    assert_eq!(at(&model, &[above, 2.0, 3.0, f64::INFINITY]), [2.0, 2.0, 1.0, 1.0]);
    assert_eq!(at(&model, &[f64::NAN]), [2.0]);
    // With `<` a cut belongs to the interval above it.
    let model = read(&cut(r#""comparison": "<","#, set)).unwrap();
    assert_eq!(at(&model, &[below, -1.0, 0.0, 0.5]), [2.0, 1.0, 1.0, 2.0]);
    // A numeric split compares with one of the cuts.
    let model = read(&cut("", "")).unwrap();
    assert_eq!(at(&model, &[0.5, above]), [1.0, 2.0]);
    assert_eq!(
        read(&cut("", "").replace("0.5, 0, 0", "0.25, 0, 0")).unwrap_err().kind(),
        ErrorKind::Parameter
    );
    read(&cut("", "").replace("0.5, 0, 0", "\"Infinity\", 0, 0")).unwrap();
    // Zero is above the largest number below it, whatever its sign.
    let model =
        read(&cut("", "").replace("0.5, 2]", "-5e-324, 2]").replace("0.5, 0, 0", "-5e-324, 0, 0"));
    assert_eq!(at(&model.unwrap(), &[-5e-324, -0.0, 0.0]), [1.0, 2.0, 2.0]);
    for (cuts, kind) in [
        ("[null, [1, 1]]", ErrorKind::Parameter),
        ("[[1]]", ErrorKind::Length),
        ("[null, [\"Infinity\"]]", ErrorKind::NotFinite),
    ] {
        let file = changed("\"trees\"", &format!("\"cuts\": {cuts}, \"trees\""));
        assert_eq!(read(&file).unwrap_err().kind(), kind, "{cuts}");
    }
}

#[test]
fn every_key_is_read() {
    let model = read(KEYS).unwrap();
    assert_eq!(model.attributes().len(), 23);
    // A zero is missing, and goes right.
    assert_eq!(margin(&model, &[0.0, 0.0, 0.0]), (0.25 + 4.0) * 0.5 / 4.0 + 1.0);
    let all = [
        words(super::TASKS),
        words(super::LINKS),
        words(super::PRECISIONS),
        words(super::COMPARISONS),
        words(super::MISSING),
        words(super::CLASS_BY),
    ];
    for word in all.concat() {
        assert!(KEYS.contains(&format!("\"{word}\"")), "{word}");
    }
}

fn words<T>(known: &[(&'static str, T)]) -> Vec<&'static str> {
    known.iter().map(|(word, _)| *word).collect()
}

#[test]
fn attributes_are_kept() {
    let model = read(&changed(
        "\"trees\"",
        r#""attributes": {"steps": "StandardScaler", "best_iteration": "0"}, "trees""#,
    ))
    .unwrap();
    assert_eq!(model.attributes()[0], ("steps".to_owned(), "StandardScaler".to_owned()));
    assert_eq!(model.best_rounds(), Some(1));
}

#[test]
fn a_mean_of_probabilities_is_one_value_of_two_classes() {
    let model = crate::Model::load(INTERVALS.as_bytes()).unwrap();
    assert_eq!((model.num_outputs(), model.width(crate::Output::Value)), (2, 1));
    let logistic = |margin: f64| 1.0 / (1.0 + (-margin).exp());
    let mean = |first, second| (logistic(first) + logistic(second)) / 2.0;
    let rows = [0.0, 1.0, 1.0, 7.0, 3.0, 0.0, f64::NAN, 8.0];
    let expected = [mean(0.75, 1.5), mean(-0.25, -1.5), mean(0.75, -1.5), mean(0.75, -1.5)];
    assert_eq!(model.predict(&rows, [4, 2]).unwrap(), expected);
    let rows = crate::Rows::dense(&rows, [4, 2]).unwrap();
    let classes: Vec<f64> = model.predictor().predict(&rows, crate::Output::Class).unwrap();
    assert_eq!(classes, [1.0, 0.0, 0.0, 0.0]);
    for (from, to) in [
        ("\"binary\"", "\"multiclass\""),
        ("\"outputs\"", "\"sum_type\": \"float32\", \"outputs\""),
    ] {
        read(&INTERVALS.replace(from, to)).unwrap_err();
    }
}

#[test]
fn a_leaf_multiplies_features_unless_one_is_missing() {
    let with = |models: &str| changed("\"leaf_values\": [1, 2]", models);
    let model = |base: &str| {
        let file = with(
            r#""leaf_values": [1, 2], "leaf_constants": [10, 20], "leaf_features": [[0, 1], []],
               "leaf_coefficients": [[2, 4], []]"#,
        );
        read(&file.replace("\"num_features\": 2,", &format!("\"num_features\": 2, {base}")))
            .unwrap()
    };
    let (plain, based) = (model(""), model(r#""base": [0.5],"#));
    assert!(plain.has_linear_leaves());
    for (row, expected) in [
        ([3.0, 0.25], 10.0 + 2.0 * 3.0 + 4.0 * 0.25),
        ([f64::NAN, 0.25], 1.0),
        ([f64::NAN, 7.0], 20.0),
    ] {
        assert_eq!(margin(&plain, &row), expected);
        assert_eq!(margin(&based, &row), expected + 0.5);
    }
    for (models, kind) in [
        (r#""leaf_values": [1, 2], "leaf_constants": [10, 20]"#, ErrorKind::Length),
        (
            r#""leaf_features": [[0]], "leaf_coefficients": [[1]], "leaf_constants": [1]"#,
            ErrorKind::Length,
        ),
        (
            r#""leaf_features": [[0], []], "leaf_coefficients": [[1, 2], []], "leaf_constants": [1, 2]"#,
            ErrorKind::Length,
        ),
        (
            r#""leaf_features": [[9], []], "leaf_coefficients": [[1], []], "leaf_constants": [1, 2]"#,
            ErrorKind::FeatureRange,
        ),
        (
            r#""leaf_features": [[-1], []], "leaf_coefficients": [[1], []], "leaf_constants": [1, 2]"#,
            ErrorKind::Number,
        ),
    ] {
        let models = match models.contains("leaf_values") {
            true => models.to_owned(),
            false => format!("\"leaf_values\": [1, 2], {models}"),
        };
        assert_eq!(read(&with(&models)).unwrap_err().kind(), kind, "{models}");
    }
    let single = changed("\"num_features\": 2,", r#""num_features": 2, "value_type": "float32","#)
        .replace(
            "\"leaf_values\"",
            r#""leaf_constants": [1, 2], "leaf_features": [[], []], "leaf_coefficients": [[], []], "leaf_values""#,
        );
    assert_eq!(read(&single).unwrap_err().kind(), ErrorKind::Parameter);
}

#[test]
fn a_weighted_median_is_one_value() {
    let file = changed("\"leaf_values\": [1, 2]", "\"output\": 0, \"leaf_values\": [1, 9]")
        .replace(
            "\"num_features\": 2,",
            r#""num_features": 2, "link": "weighted_median", "outputs": 4, "bias": [0, 5, 3, 2],"#,
        );
    let model = crate::Model::load(file.as_bytes()).unwrap();
    assert_eq!((model.num_outputs(), model.width(crate::Output::Value)), (4, 1));
    assert_eq!(model.predict(&[0.0, 0.5, 0.0, 0.75], [2, 2]).unwrap(), [1.0, 9.0]);
    for (from, to) in [
        ("\"outputs\": 4, \"bias\": [0, 5, 3, 2]", "\"outputs\": 3"),
        ("\"link\"", "\"task\": \"multiclass\", \"link\""),
        ("\"link\"", "\"sum_type\": \"float32\", \"link\""),
    ] {
        assert!(file.contains(from));
        read(&file.replace(from, to)).unwrap_err();
    }
}

#[test]
fn malformed_files_are_refused_by_reason() {
    use ErrorKind::{
        CategoryRange, FeatureRange, Length, NotFinite, Parameter, Syntax, TreeShape, Unsupported,
        WrongType,
    };
    let cases = [
        (r#""tree_ensemble": 1"#, r#""tree_ensemble": 2"#, Unsupported),
        ("\"threshold\"", "\"treshold\"", Parameter),
        ("\"num_features\"", "\"number_of_features\"", Parameter),
        ("\"num_features\": 2", "\"num_features\": 1", FeatureRange),
        ("[1, -1, -1]", "[1, -1]", Length),
        ("[1, -1, -1]", "[1, 2, -1]", TreeShape),
        ("[1, -1, -1]", "[0, -1, -1]", TreeShape),
        ("[1, 2]}", "[1]}", Length),
        ("[1, 2]}", "[1, 2, 3]}", Length),
        ("[1, 2]}", "[1, 2], \"gain\": [1]}", Length),
        ("[1, 2]}", "[1, 2], \"category_set\": [0, -1, -1]}", CategoryRange),
        ("0.5", "\"half\"", ErrorKind::Number),
        ("0.5", "null", WrongType),
        ("\"trees\"", "\"task\": \"binary\", \"outputs\": 2, \"trees\"", Parameter),
        ("\"trees\"", "\"task\": \"clustering\", \"trees\"", Parameter),
        ("\"trees\"", "\"base\": [1, 2], \"trees\"", Length),
        ("\"trees\"", "\"divisor\": 0, \"trees\"", NotFinite),
        ("\"trees\"", "\"unknown_category\": [true], \"trees\"", Length),
        ("\"trees\"", "\"class_labels\": [\"a\"], \"trees\"", ErrorKind::Names),
        ("\"trees\"", "\"round_starts\": [0, 2], \"trees\"", Parameter),
        ("]}]}", "]}]} ,", Syntax),
    ];
    for (from, to, kind) in cases {
        let error = read(&changed(from, to)).unwrap_err();
        assert_eq!(error.kind(), kind, "{to}: {error}");
    }
    read(&changed("0.5", "\"-Infinity\"")).unwrap();
}
