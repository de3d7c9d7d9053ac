//! Compares contributions with XGBoost's on golden models of six releases.
//!
//! XGBoost computes in f32 by a recursion, since 3.4 by quadrature, so errors are relative to the
//! largest contribution. `tests/golden/README.md` says how the files were made.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use gbtrees::internals::{CompiledModel, ContributionScratch, Ensemble, oracle};
use gbtrees::{Cancel, Limits};
use serde_json::Value;

/// Fewer cases mean that files are missing.
const MIN_CASES: usize = 166;
/// Maximum difference from XGBoost, relative to the largest contribution of a row and output.
const WITHIN: f64 = 1e-5;
/// Maximum difference from the oracle.
const WITHIN_ORACLE: f64 = 1e-6;

/// Parses a row: eight hex digits per float.
fn floats(line: &Value) -> Vec<f32> {
    let digits = line.as_str().unwrap().as_bytes();
    let bits = |digits| u32::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    digits.chunks(8).map(|digits| f32::from_bits(bits(digits))).collect()
}

fn json(name: &str) -> Value {
    serde_json::from_slice(golden_models::file(name)).unwrap()
}

fn parse(file: &[u8]) -> Ensemble {
    gbtrees::internals::parse(file, &Limits::default(), Cancel::never()).unwrap()
}

/// Returns the largest difference relative to the largest number.
fn apart(found: &[f32], expected: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = expected.clone().fold(1e-30f64, |largest, number| largest.max(number.abs()));
    let differences = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
    differences.fold(0.0f64, f64::max) / largest
}

#[test]
fn contributions_equal_every_releases() {
    let (mut cases, mut lines, mut farthest) = (0, Vec::new(), 0.0f64);
    for path in golden_models::names("xgboost/") {
        let Some(base) = path.strip_suffix(".expected.json") else { continue };
        let expected = json(path);
        let Some(contribs) = expected.get("contribs") else { continue };
        let mut files = ["json", "ubj", "bin"].map(|suffix| format!("{base}.{suffix}")).into_iter();
        let model = parse(files.find_map(|file| golden_models::find(&file)).unwrap());
        let compiled =
            CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
                .unwrap();
        let mut scratch = ContributionScratch::default();
        let width = compiled.num_features() + 1;
        let mut found = vec![0.0; compiled.num_outputs() * width];
        let numbers = contribs["rows"].as_array().unwrap();
        for (number, line) in numbers.iter().zip(contribs["values"].as_array().unwrap()) {
            let number = usize::try_from(number.as_u64().unwrap()).unwrap();
            let row = floats(&expected["rows"][number]);
            compiled.contributions(&mut scratch, &row, &mut found, Cancel::never()).unwrap();
            let theirs = floats(line);
            assert_eq!(found.len(), theirs.len(), "{base}");
            let oracle = oracle::contributions(&model, &row);
            if model.is_linear() {
                assert_eq!(found, theirs, "{base}");
            }
            let by_output = theirs.chunks(width).zip(oracle.chunks(width));
            for (found, (theirs, oracle)) in found.chunks(width).zip(by_output) {
                let from_them = apart(found, theirs.iter().copied().map(f64::from));
                let from_oracle = apart(found, oracle.iter().copied());
                farthest = farthest.max(from_them);
                if from_them > WITHIN || from_oracle > WITHIN_ORACLE {
                    lines.push(format!(
                        "{base} row {number}: {from_them:e}, {from_oracle:e} from the oracle"
                    ));
                }
            }
        }
        cases += 1;
    }
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(cases >= MIN_CASES, "only {cases} cases");
    println!("contributions are up to {farthest:e} of the largest one away");
}

/// Calls `check` with LightGBM's contributions, made by `tests/golden/contributions.py`.
fn each_of_lightgbm(mut check: impl FnMut(&str, Opened<'_>, &[f64])) {
    for (name, record) in json("lightgbm/contributions.json").as_object().unwrap() {
        let file = format!("lightgbm/{name}");
        let model = parse(golden_models::file(&file));
        let expected = json(&file.replace(".txt", ".expected.json"));
        let values = record["values"].as_array().unwrap();
        for (number, theirs) in record["rows"].as_array().unwrap().iter().zip(values) {
            let number = usize::try_from(number.as_u64().unwrap()).unwrap();
            let row = hex(&expected["rows"][number]);
            check(name, Opened { model: &model, row: &row }, &hex(theirs));
        }
    }
}

struct Opened<'a> {
    model: &'a Ensemble,
    row: &'a [f64],
}

/// Parses a row: sixteen hex digits per double.
fn hex(line: &Value) -> Vec<f64> {
    let text = line.as_str().unwrap().as_bytes().chunks(16);
    let bits =
        text.map(|text| u64::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap());
    bits.map(f64::from_bits).collect()
}

fn found(opened: &Opened<'_>) -> Vec<f32> {
    let compiled = CompiledModel::open(
        gbtrees::internals::compile(opened.model, &[], Cancel::never()).unwrap(),
    )
    .unwrap();
    let mut scratch = ContributionScratch::default();
    let mut row = vec![0.0; compiled.num_features()];
    compiled.narrow_row(opened.row, &mut row);
    let mut found = vec![0.0; compiled.num_outputs() * (compiled.num_features() + 1)];
    compiled.contributions(&mut scratch, &row, &mut found, Cancel::never()).unwrap();
    found
}

#[test]
fn contributions_equal_lightgbms() {
    let (mut models, mut lines, mut farthest) = (Vec::new(), Vec::new(), 0.0f64);
    each_of_lightgbm(|name, opened, theirs| {
        let found = found(&opened);
        assert_eq!(found.len(), theirs.len(), "{name}");
        let apart = apart(&found, theirs.iter().copied());
        farthest = farthest.max(apart);
        if apart > WITHIN {
            lines.push(format!("{name}: {apart:e}"));
        }
        models.push(name.to_owned());
    });
    models.dedup();
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(models.len() >= 180, "only {} models", models.len());
    println!("LightGBM: up to {farthest:e} of the largest one away");
}
