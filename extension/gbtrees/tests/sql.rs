//! Writes golden models as SQL, with rows and the engine's results, which
//! `tests/extension/long/test_golden_models.py` runs on a server without the extension.
//!
//! A model NAME gives NAME.sql, and NAME.tsv for COPY: a column per feature, then the margins, the values and
//! the number of the class as the engine has them; or NAME.refused, with the error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::fmt::Write as _;
use std::path::PathBuf;

use gbtrees::internals::{Categories, Ensemble, Precision};
use gbtrees::{Cancel, Limits, LoadOptions, Model, Output, Rows, sql};

use crate::golden_many_rows::{Random, models, near};

const ROWS: usize = 60;
const SPECIAL: [f64; 14] = [
    f64::NAN,
    f64::NAN,
    0.0,
    -0.0,
    1.0,
    -0.5,
    0.1,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e-35,
    3e9,
    1e-300,
    -1e300,
];

#[test]
#[ignore = "writes files for tests/extension/long/test_golden_models.py"]
fn scripts_and_rows_are_written() {
    let directory = PathBuf::from(std::env::var("GBTREES_SQL").unwrap());
    let wanted = std::env::var("GBTREES_SQL_MODELS").unwrap_or_default();
    let mut random = Random(5);
    for name in models().iter().filter(|name| name.contains(&wanted)) {
        let file = golden_models::file(name);
        let write = |ending: &str, content: &str| {
            let path = directory.join(format!("{}.{ending}", name.replace('/', "-")));
            std::fs::write(path, content).unwrap();
        };
        match sql::export(file, &LoadOptions::new(), &sql::Options::new("m")) {
            Ok(script) => {
                write("sql", &script);
                write("tsv", &rows(file, &mut random));
            }
            Err(error) => write("refused", &format!("{:?}: {error}", error.kind())),
        }
    }
}

/// Others need a walk: their tests are not the same in all nodes of a level.
#[test]
fn leaves_of_symmetric_trees_are_looked_up() {
    let is_looked_up = |feature: u8, threshold: u8, missing_left: u8| {
        let tree = format!(
            r#"{{"left": [1, 3, 5, -1, -1, -1, -1], "right": [2, 4, 6, -1, -1, -1, -1],
            "feature": [0, 1, {feature}, 0, 0, 0, 0], "threshold": [0, 1, {threshold}, 0, 0, 0, 0],
            "missing_left": [0, 0, {missing_left}, 0, 0, 0, 0], "leaf_values": [1, 2, 3, 4]}}"#
        );
        let file =
            format!(r#"{{"tree_ensemble": 1, "num_features": 2, "trees": [{tree}, {tree}]}}"#);
        let script = sql::export(file.as_bytes(), &LoadOptions::new(), &sql::Options::new("m"));
        script.unwrap().contains("varbit_send(")
    };
    assert!(is_looked_up(1, 1, 0));
    assert!(!is_looked_up(0, 1, 0) && !is_looked_up(1, 2, 0) && !is_looked_up(1, 1, 1));
}

#[test]
fn sums_that_may_be_infinite_are_refused() {
    let script = |leaf: &str| {
        let tree = format!(
            r#"{{"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0],
            "threshold": [0, 0, 0], "leaf_values": [0, -{leaf}]}}"#
        );
        let file =
            format!(r#"{{"tree_ensemble": 1, "num_features": 1, "trees": [{tree}, {tree}]}}"#);
        sql::export(file.as_bytes(), &LoadOptions::new(), &sql::Options::new("m"))
    };
    script("8e307").unwrap();
    let error = script("9e307").unwrap_err();
    assert!(error.message().contains("sums that may be infinite"), "{error}");
}

/// The rows of a model with what the engine makes of them.
fn rows(file: &[u8], random: &mut Random) -> String {
    let model = Model::load(file).unwrap();
    let ensemble = gbtrees::internals::parse(file, &Limits::default(), Cancel::never()).unwrap();
    let near = near(&ensemble);
    let mut out = String::new();
    for _ in 0..ROWS {
        let mut row = Vec::new();
        for (feature, near) in near.iter().enumerate() {
            let (text, value) = cell(&ensemble, &model, feature, near, random);
            out.push_str(&text);
            out.push('\t');
            row.push(value);
        }
        results(&model, &ensemble, &row, &mut out);
        out.push('\n');
    }
    out
}

/// A feature's text for COPY, and its number in a row.
fn cell(
    ensemble: &Ensemble,
    model: &Model,
    feature: usize,
    near: &[f64],
    random: &mut Random,
) -> (String, f64) {
    let nothing = || ("\\N".to_owned(), f64::NAN);
    if random.below(8) == 0 {
        return nothing();
    }
    let number = |value: f64| (shown(value), value);
    match &ensemble.categories()[feature] {
        Some(Categories::Text(values)) if !values.is_empty() => {
            let text = &values[random.below(values.len())];
            (escaped(text), model.category(feature, text.as_str()).unwrap())
        }
        Some(Categories::Integer(values)) if !values.is_empty() => {
            let code = random.below(values.len());
            (values[code].to_string(), code as f64)
        }
        Some(Categories::Float(values)) if !values.is_empty() => {
            let code = random.below(values.len());
            (shown(values[code]), code as f64)
        }
        Some(Categories::Hashed(values)) if !values.is_empty() => {
            let text = random.below(20).to_string();
            (text.clone(), model.category(feature, text.as_str()).unwrap())
        }
        _ if random.below(6) == 0 => number(random.of(&SPECIAL)),
        _ if near.is_empty() => number(random.below(40) as f64),
        _ => number(random.of(near)),
    }
}

fn shown(value: f64) -> String {
    format!("{value:?}").replace("inf", "Infinity")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn results(model: &Model, ensemble: &Ensemble, row: &[f64], out: &mut String) {
    let rows = Rows::dense(row, [1, row.len()]).unwrap();
    let mut predictor = model.predictor();
    for output in [Output::Margin, Output::Value] {
        let numbers: Vec<f64> = predictor.predict(&rows, output).unwrap();
        let texts: Vec<String> = numbers
            .iter()
            .map(|value| match ensemble.sum_precision() {
                Precision::Single => format!("{:?}", *value as f32).replace("inf", "Infinity"),
                Precision::Double => shown(*value),
            })
            .collect();
        let _ = write!(out, "{{{}}}\t", texts.join(","));
    }
    match predictor.predict::<f64, f64>(&rows, Output::Class) {
        Ok(class) => {
            let label = model.labels().nth(class[0] as usize).map(escaped);
            out.push_str(&label.unwrap_or_else(|| format!("{}", class[0])));
        }
        Err(_) => out.push_str("\\N"),
    }
}
