//! Compares the engine with XGBoost on the models of every release in `tests/golden`.
//!
//! The reference walk and the compiled model must have XGBoost's bits for margins and leaf ids; values
//! may differ by 2 units in the last place, since they depend on the C library's `expf`. Cases are
//! found by listing the archive, so the tests also require their number.
//! `tests/golden/README.md` says how the files were made.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at a surprise"
)]

use gbtrees::internals::FeatureType;
use gbtrees::internals::{BatchScratch, CompiledModel, Ensemble, Kernel, Scratch, oracle};
use gbtrees::{Cancel, ErrorKind, Limits};
use serde_json::Value;

/// Fewer cases mean that files are missing.
const MIN_CASES: usize = 507;
/// Minimum of files that must be refused.
const MIN_REFUSED: usize = 22;
/// Maximum difference of a value from XGBoost's.
const VALUE_ULPS: u32 = 2;

/// A model in one or two formats, and XGBoost's results for its rows.
struct Case {
    name: &'static str,
    files: Vec<String>,
    expected: Value,
    rows: Vec<Vec<f32>>,
    margins: Vec<Vec<f32>>,
}

/// The differences of all cases, so that one run shows them all.
#[derive(Default)]
struct Differences {
    lines: Vec<String>,
    compared: usize,
}

impl Differences {
    fn compare<T: PartialEq>(&mut self, what: impl FnOnce() -> String, same: T, expected: T) {
        self.compared += 1;
        if same != expected {
            self.lines.push(what());
        }
    }

    fn finish(self, least: usize) {
        let report = self.lines[..self.lines.len().min(40)].join("\n");
        let (different, compared) = (self.lines.len(), self.compared);
        assert!(different == 0, "{different} of {compared} differ:\n{report}");
        assert!(self.compared >= least, "only {} compared", self.compared);
    }
}

fn json(name: &str) -> Value {
    serde_json::from_slice(golden_models::file(name)).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    list(value).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Parses a row: eight hex digits per float.
fn float_row(line: &Value) -> Vec<f32> {
    let digits = line.as_str().unwrap().as_bytes();
    let bits = |digits| u32::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    digits.chunks(8).map(|digits| f32::from_bits(bits(digits))).collect()
}

fn floats(rows: &Value) -> Vec<Vec<f32>> {
    list(rows).iter().map(float_row).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn cases() -> Vec<Case> {
    let mut found = Vec::new();
    for path in golden_models::names("xgboost/") {
        let Some(name) = path.strip_suffix(".expected.json") else { continue };
        let files = ["json", "ubj", "bin"].map(|suffix| format!("{name}.{suffix}"));
        let files: Vec<String> =
            files.into_iter().filter(|file| golden_models::find(file).is_some()).collect();
        assert!(!files.is_empty(), "no model for {path}");
        let expected = json(path);
        let (rows, margins) = (floats(&expected["rows"]), floats(&expected["margins"]));
        found.push(Case { name, files, expected, rows, margins });
    }
    found
}

fn parse(file: &str) -> Ensemble {
    gbtrees::internals::parse(golden_models::file(file), &Limits::default(), Cancel::never())
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn open(model: &Ensemble) -> CompiledModel<gbtrees::internals::AlignedBytes> {
    CompiledModel::open(gbtrees::internals::compile(model, &[], Cancel::never()).unwrap()).unwrap()
}

/// Calls `check` with every model file; it must make at least `least` comparisons.
fn each_model(least: usize, mut check: impl FnMut(&Case, &Ensemble, &mut Differences)) {
    let mut differences = Differences::default();
    for case in cases() {
        for file in &case.files {
            check(&case, &parse(file), &mut differences);
        }
    }
    differences.finish(least);
}

/// Returns the distance of two floats in units in the last place, across zero; 0 for two NaN.
fn ulps(left: f32, right: f32) -> u32 {
    let order = |value: f32| {
        let bits = value.to_bits().cast_signed();
        i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
    };
    match (left.is_nan(), right.is_nan()) {
        (true, true) => 0,
        (false, false) => u32::try_from(order(left).abs_diff(order(right))).unwrap_or(u32::MAX),
        _ => u32::MAX,
    }
}

#[test]
fn every_case_has_a_model() {
    let cases = cases();
    assert!(cases.len() >= MIN_CASES, "only {} cases", cases.len());
    for release in [
        "0.90", "1.0.2", "1.3.3", "1.6.2", "1.7.6", "2.0.3", "2.1.4", "3.0.5", "3.1.3", "3.2.0",
        "3.3.0", "3.4.1",
    ] {
        let folder = format!("xgboost/{release}/");
        let count = cases.iter().filter(|case| case.name.starts_with(&folder)).count();
        let least = if release == "0.90" { 5 } else { 13 };
        assert!(count >= least, "only {count} cases of {release}");
    }
    let files: Vec<&String> = cases.iter().flat_map(|case| &case.files).collect();
    let count = |suffix| files.iter().filter(|file| file.ends_with(suffix)).count();
    assert!(count(".ubj") >= 60, "too few models in UBJSON");
    assert!(count(".bin") >= 119, "too few models in the binary format");
}

#[test]
fn reference_margins_have_the_same_bits() {
    each_model(MIN_CASES * 20, |case, model, differences| {
        for (number, (row, expected)) in case.rows.iter().zip(&case.margins).enumerate() {
            let mut margins = vec![0.0; model.num_outputs()];
            oracle::margins(model, row, &mut margins);
            let what = || format!("{} row {number}: {margins:?}, not {expected:?}", case.name);
            differences.compare(what, bits(&margins), bits(expected));
        }
    });
}

#[test]
fn image_margins_have_the_same_bits_with_every_kernel() {
    each_model(MIN_CASES * 20, |case, model, differences| {
        let compiled = open(model);
        for kernel in Kernel::available() {
            let mut scratch = Scratch::with_kernel(&compiled, kernel);
            let mut margins = vec![0.0; compiled.num_outputs()];
            for (number, (row, expected)) in case.rows.iter().zip(&case.margins).enumerate() {
                compiled.margins(&mut scratch, row, &mut margins).unwrap();
                let what = || {
                    let (case, kernel) = (&case.name, kernel.name());
                    format!("{case} row {number}, {kernel}: {margins:?}, not {expected:?}")
                };
                differences.compare(what, bits(&margins), bits(expected));
            }
        }
    });
}

#[test]
fn batches_have_the_same_bits_with_every_kernel() {
    each_model(MIN_CASES, |case, model, differences| {
        let compiled = open(model);
        // Enough to fill a block and begin another.
        let rows: Vec<f32> = case.rows.concat();
        let expected: Vec<f32> = case.margins.concat();
        let times = 600usize.div_ceil(rows.len() / compiled.num_features());
        let (rows, expected) = (rows.repeat(times), expected.repeat(times));
        for kernel in Kernel::available() {
            let mut margins = vec![0.0; expected.len()];
            let mut scratch = BatchScratch::with_kernel(&compiled, kernel);
            compiled.margins_batch(&mut scratch, &rows, &mut margins).unwrap();
            let what = || format!("{} with {}", case.name, kernel.name());
            differences.compare(what, bits(&margins), bits(&expected));
        }
    });
}

#[test]
fn values_are_within_two_ulp() {
    let mut farthest = 0;
    each_model(MIN_CASES * 20, |case, model, differences| {
        let compiled = open(model);
        // Files omit values that equal the margins.
        let expected = case.expected.get("values").map_or_else(|| case.margins.clone(), floats);
        for (number, (margins, expected)) in case.margins.iter().zip(expected).enumerate() {
            let mut values = margins.clone();
            let count = compiled.values(&mut values);
            values.truncate(count);
            let same_length = values.len() == expected.len() && count == compiled.num_values();
            let apart = values.iter().zip(&expected).map(|(left, right)| ulps(*left, *right)).max();
            farthest = farthest.max(apart.unwrap_or(0));
            let what = || format!("{} row {number}: {values:?}, not {expected:?}", case.name);
            differences.compare(what, same_length && apart <= Some(VALUE_ULPS), true);
        }
    });
    println!("values are up to {farthest} units in the last place away");
}

#[test]
fn leaves_are_the_same() {
    each_model(MIN_CASES * 20, |case, model, differences| {
        let compiled = open(model);
        let mut scratch = Scratch::new(&compiled);
        let mut leaves = vec![0; compiled.num_trees()];
        let expected = strings(&case.expected["leaves"]);
        for (number, (row, expected)) in case.rows.iter().zip(expected).enumerate() {
            compiled.leaves(&mut scratch, row, &mut leaves).unwrap();
            let what = || format!("{} row {number}: leaves {leaves:?}, not {expected}", case.name);
            let expected: Vec<u32> = expected.split(' ').map(|id| id.parse().unwrap()).collect();
            differences.compare(what, &leaves, &expected);
        }
    });
}

#[test]
fn names_and_types_come_from_the_file() {
    each_model(MIN_CASES, |case, model, differences| {
        // The binary format has neither names nor types.
        if model.format() == "xgboost binary" {
            differences.compare(String::new, model.feature_names().is_empty(), true);
            return;
        }
        let names = strings(&case.expected["feature_names"]);
        let what = || format!("{}: names {:?}, not {names:?}", case.name, model.feature_names());
        differences.compare(what, model.feature_names(), &names[..]);
        for (feature, kind) in strings(&case.expected["feature_types"]).iter().enumerate() {
            let categorical = model.feature_types()[feature] == FeatureType::Categorical;
            let what = || format!("{}: feature {feature} has type {kind}", case.name);
            differences.compare(what, categorical, kind == "c");
        }
    });
}

#[test]
fn categories_become_their_codes() {
    each_model(300, |case, model, differences| {
        let Some(text) = case.expected.get("text") else { return };
        let feature = usize::try_from(text["feature"].as_u64().unwrap()).unwrap();
        let compiled = open(model);
        if text.get("lost").is_some() {
            let what = || format!("{}: a dictionary that is cut in the wrong places", case.name);
            differences.compare(what, compiled.categories(feature).is_none(), true);
            return;
        }
        let view = compiled.categories(feature).expect("the model has a dictionary");
        let mut scratch = Scratch::new(&compiled);
        let mut margins = vec![0.0; compiled.num_outputs()];
        for (line, expected) in list(&text["rows"]).iter().zip(floats(&text["margins"])) {
            let mut row = float_row(&line["row"]);
            let given = row[feature];
            let code = match &line["value"] {
                Value::Null => None,
                Value::String(value) => view.code_of_text(value),
                value => view.code_of_integer(value.as_i64().unwrap()),
            };
            row[feature] = code.map_or(f32::NAN, |code| code as f32);
            compiled.margins(&mut scratch, &row, &mut margins).unwrap();
            let what = || format!("{}: {} is {code:?}, not {given}", case.name, line["value"]);
            differences.compare(
                what,
                row[feature].to_bits() == given.to_bits() || given.is_nan() && code.is_none(),
                true,
            );
            let what =
                || format!("{}: {} gives {margins:?}, not {expected:?}", case.name, line["value"]);
            differences.compare(what, bits(&margins), bits(&expected));
        }
    });
}

/// A model without rounds predicts the raw base score, or its margin if the user gave the score.
#[test]
fn base_score_without_rounds() {
    let file =
        String::from_utf8_lossy(golden_models::file("xgboost/3.4.1/gblinear_no_rounds.json"));
    let file = file.replace("[5E-1]", "[3E-1]");
    let given = file.replace(r#""boost_from_average":"1""#, r#""boost_from_average":"0""#);
    assert_ne!(given, file);
    // XGBoost 3.4.1's margins.
    for (file, expected) in [(file, 0.3), (given, -0.84729785)] {
        let model = gbtrees::internals::parse(file.as_bytes(), &Limits::default(), Cancel::never());
        let mut margins = [0.0f32];
        oracle::margins(&model.unwrap(), &[f32::NAN; 6], &mut margins);
        assert_eq!(margins, [expected]);
    }
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let mut differences = Differences::default();
    let refused = golden_models::names("xgboost/refused/");
    for listing in refused.into_iter().filter(|name| name.ends_with(".list.json")) {
        for (file, named) in json(listing).as_object().unwrap() {
            let bytes = golden_models::file(&format!("xgboost/refused/{file}"));
            let named = named.as_str().unwrap();
            let outcome = gbtrees::internals::parse(bytes, &Limits::default(), Cancel::never());
            let right = outcome.as_ref().is_err_and(|error| {
                error.kind() == ErrorKind::Unsupported && error.message().contains(named)
            });
            let found = outcome.map_or_else(
                |error| format!("{:?}: {error}", error.kind()),
                |_| "a model".to_owned(),
            );
            differences.compare(
                || format!("{file} must be refused as {named}, but gives {found}"),
                right,
                true,
            );
        }
    }
    differences.finish(MIN_REFUSED);
}
