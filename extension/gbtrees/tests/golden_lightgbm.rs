//! Compares the engine with LightGBM on the models of every release in `tests/golden/lightgbm`.
//!
//! The reference walk and every kernel, row by row and in batches, must have LightGBM's bits for raw
//! scores and leaves, all in f64; values may differ by 2 units in the last place, since they depend on
//! the C library's `exp`. Cases are found by listing the archive, so the tests also require their
//! number. `tests/golden/README.md` says how the files were made.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use gbtrees::internals::FeatureType;
use gbtrees::internals::{BatchScratch, CompiledModel, Ensemble, Kernel, Scratch, oracle};
use gbtrees::internals::{ImportanceKind, importance};
use gbtrees::{Cancel, Limits};
use serde_json::Value;

const RELEASES: [&str; 6] = ["2.2.3", "2.3.1", "3.3.5", "4.0.0", "4.6.0", "4.7.0"];
/// Fewer cases mean that files are missing.
const MIN_CASES: usize = 202;
/// Maximum difference of a value from LightGBM's.
const VALUE_ULPS: u64 = 2;

type Opened = CompiledModel<gbtrees::internals::AlignedBytes>;

struct Case {
    name: &'static str,
    expected: Value,
    model: Ensemble,
    compiled: Opened,
}

impl Case {
    fn rows(&self) -> Vec<Vec<f64>> {
        rows(&self.expected["rows"])
    }

    fn margins(&self) -> Vec<Vec<f64>> {
        rows(&self.expected["margins"])
    }

    /// Returns the values, which files omit if they equal the margins.
    fn values(&self) -> Vec<Vec<f64>> {
        self.expected.get("values").map_or_else(|| self.margins(), rows)
    }

    /// Returns the rows in the kernels' layout.
    fn narrowed(&self) -> Vec<f32> {
        let mut narrowed = vec![0.0; self.compiled.row_length()];
        let narrow = |row: &Vec<f64>| {
            self.compiled.narrow_row(row, &mut narrowed);
            narrowed.clone()
        };
        self.rows().iter().flat_map(narrow).collect()
    }
}

/// Parses a row: sixteen hex digits per number.
fn row(line: &Value) -> Vec<f64> {
    let digits = line.as_str().unwrap().as_bytes();
    let bits = |digits| u64::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    digits.chunks(16).map(|digits| f64::from_bits(bits(digits))).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(row).collect()
}

/// Returns the bits of numbers. Infinity minus infinity is NaN, whose sign differs between x86-64 and
/// aarch64.
fn bits(values: &[f64]) -> Vec<u64> {
    let of = |value: &f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    values.iter().map(of).collect()
}

/// Returns the names of a release's models, without extension.
fn names(release: &str) -> Vec<&'static str> {
    let names = golden_models::names(&format!("lightgbm/{release}/")).into_iter();
    names.filter_map(|name| name.strip_suffix(".txt")).collect()
}

fn case(name: &'static str) -> Case {
    let expected = golden_models::file(&format!("{name}.expected.json"));
    let expected = serde_json::from_slice(expected).unwrap();
    let file = golden_models::file(&format!("{name}.txt"));
    let model = gbtrees::internals::parse(file, &Limits::default(), Cancel::never())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
            .unwrap();
    Case { name, expected, model, compiled }
}

/// Calls `check` with every case; it returns the differences row by row, empty for none.
fn each(least: usize, mut check: impl FnMut(&Case) -> Vec<String>) {
    let (mut compared, mut different) = (0, Vec::new());
    for release in RELEASES {
        for case in names(release).into_iter().map(case) {
            let found = check(&case);
            compared += found.len();
            let lines = found.into_iter().enumerate().filter(|(_, text)| !text.is_empty());
            different.extend(lines.map(|(row, text)| format!("{} row {row}: {text}", case.name)));
        }
    }
    let report = different[..different.len().min(40)].join("\n");
    assert!(different.is_empty(), "{} of {compared} differ:\n{report}", different.len());
    assert!(compared >= least, "only {compared} compared");
}

/// Returns an empty string, or a description of the difference.
fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> String {
    if found == expected { String::new() } else { format!("{found:?}, not {expected:?}") }
}

/// Like [`same`], for bits.
fn same_bits(found: &[f64], expected: &[f64]) -> String {
    if bits(found) == bits(expected) {
        String::new()
    } else {
        format!("{found:?}, not {expected:?}")
    }
}

#[test]
fn every_case_has_a_model() {
    let counts = RELEASES.map(|release| names(release).len());
    assert!(counts.iter().all(|count| *count >= 13), "{counts:?}");
    assert!(counts.iter().sum::<usize>() >= MIN_CASES, "{counts:?}");
}

#[test]
fn reference_margins_have_the_same_bits() {
    each(MIN_CASES * 40, |case| {
        let compare = |(row, expected): (Vec<f64>, Vec<f64>)| {
            let mut margins = vec![0.0f64; case.model.num_outputs()];
            oracle::margins(&case.model, &row, &mut margins);
            same_bits(&margins, &expected)
        };
        case.rows().into_iter().zip(case.margins()).map(compare).collect()
    });
}

#[test]
fn image_margins_have_the_same_bits_with_every_kernel() {
    each(MIN_CASES * 40, |case| {
        let mut found = Vec::new();
        for kernel in Kernel::available() {
            let mut scratch = Scratch::with_kernel(&case.compiled, kernel);
            let mut margins = vec![0.0f64; case.compiled.num_outputs()];
            for (row, expected) in
                case.narrowed().chunks(case.compiled.row_length()).zip(case.margins())
            {
                case.compiled.margins(&mut scratch, row, &mut margins).unwrap();
                found.push(same_bits(&margins, &expected));
            }
        }
        found
    });
}

#[test]
fn batches_have_the_same_bits_with_every_kernel() {
    each(MIN_CASES * 2, |case| {
        let (rows, expected) = (case.narrowed(), case.margins().concat());
        // Enough to fill a block and begin another.
        let times = 600usize.div_ceil(rows.len() / case.compiled.row_length());
        let (rows, expected) = (rows.repeat(times), expected.repeat(times));
        let mut found = Vec::new();
        for kernel in Kernel::available() {
            let mut margins = vec![0.0f64; expected.len()];
            let mut scratch = BatchScratch::with_kernel(&case.compiled, kernel);
            case.compiled.margins_batch(&mut scratch, &rows, &mut margins).unwrap();
            let first = bits(&margins).iter().zip(bits(&expected)).position(|(a, b)| *a != b);
            found.push(first.map_or(String::new(), |place| format!("{}: {place}", kernel.name())));
        }
        found
    });
}

/// Coefficients multiply doubles: hardly any row rounded to f32 has the same margin.
#[test]
fn linear_leaves_need_doubles() {
    let mut cases = 0;
    each(0, |case| {
        if !case.model.has_linear_leaves() {
            return Vec::new();
        }
        cases += 1;
        let (mut same, mut rows) = (0, 0);
        for (row, expected) in case.rows().into_iter().zip(case.margins()) {
            let rounded: Vec<f32> = row.iter().map(|number| *number as f32).collect();
            let is_rounded = row.iter().zip(&rounded).any(|(a, b)| *a != f64::from(*b));
            let mut margins = vec![0.0f64; case.model.num_outputs()];
            oracle::margins(&case.model, &rounded, &mut margins);
            rows += usize::from(is_rounded);
            same += usize::from(is_rounded && bits(&margins) == bits(&expected));
        }
        let few = same * 2 < rows;
        vec![if few { String::new() } else { format!("{same} of {rows} rows are the same") }]
    });
    assert!(cases >= 14, "only {cases} models with linear leaves");
}

#[test]
fn values_are_within_two_ulp() {
    // The position among all doubles in ascending order, across zero.
    let place = |value: &f64| {
        let bits = value.to_bits().cast_signed();
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    each(MIN_CASES * 40, |case| {
        let compare = |(mut margins, expected): (Vec<f64>, Vec<f64>)| {
            let count = case.compiled.values(&mut margins);
            margins.truncate(count);
            // Infinite features of linear leaves make NaN of either sign.
            let near = |(a, b): (&f64, &f64)| {
                a.is_nan() && b.is_nan() || place(a).abs_diff(place(b)) <= VALUE_ULPS
            };
            let same_length = margins.len() == expected.len();
            if same_length && margins.iter().zip(&expected).all(near) {
                String::new()
            } else {
                format!("{margins:?}, not {expected:?}")
            }
        };
        case.margins().into_iter().zip(case.values()).map(compare).collect()
    });
}

#[test]
fn leaves_are_the_same() {
    each(MIN_CASES * 40, |case| {
        let mut scratch = Scratch::new(&case.compiled);
        let lines = case.expected["leaves"].as_array().unwrap();
        let compare = |(row, line): (&[f32], &Value)| {
            let expected: Vec<u32> =
                line.as_str().unwrap().split(' ').map(|leaf| leaf.parse().unwrap()).collect();
            let mut leaves = vec![0; case.compiled.num_trees()];
            case.compiled.leaves(&mut scratch, row, &mut leaves).unwrap();
            same(&leaves, &expected)
        };
        case.narrowed().chunks(case.compiled.row_length()).zip(lines).map(compare).collect()
    });
}

#[test]
fn names_types_and_importances_come_from_the_file() {
    each(MIN_CASES * 4, |case| {
        let names: Vec<String> =
            serde_json::from_value(case.expected["feature_names"].clone()).unwrap();
        let categorical: Vec<usize> =
            serde_json::from_value(case.expected["categorical"].clone()).unwrap();
        let types = case.model.feature_types().iter().enumerate();
        // The file cannot identify a feature with a single value.
        let wrong = types.filter(|(feature, kind)| {
            **kind == FeatureType::Categorical && !categorical.contains(feature)
        });
        let counts = importance(&case.model, ImportanceKind::Weight);
        let gains = importance(&case.model, ImportanceKind::TotalGain);
        // Gains in the file have six digits.
        let near = |(found, expected): (&f32, f64)| {
            (f64::from(*found) - expected).abs() <= expected.abs() * 1e-5
        };
        let gains_are_near = gains.iter().zip(row(&case.expected["gain"])).all(near);
        vec![
            same(&case.model.feature_names().to_vec(), &names),
            same(&wrong.map(|(feature, _)| feature).collect(), &Vec::new()),
            same(&counts.iter().copied().map(f64::from).collect(), &row(&case.expected["split"])),
            if gains_are_near { String::new() } else { format!("{gains:?}") },
        ]
    });
}

#[test]
fn levels_of_quantiles_come_from_the_file() {
    each(MIN_CASES, |case| {
        let levels: &[f32] = match case.name.rsplit('/').next() {
            Some("quantile") => &[0.9],
            Some("quantile_sqrt") => &[0.3],
            _ => &[],
        };
        vec![same(&case.model.objective().levels(), &levels)]
    });
}

#[test]
fn categories_become_their_codes() {
    each(200, |case| {
        let Some(text) = case.expected.get("text") else { return Vec::new() };
        let mut scratch = Scratch::new(&case.compiled);
        let lines = text["rows"].as_array().unwrap().iter();
        let compare = |(line, expected): (&Value, Vec<f64>)| {
            let given = row(&line["row"]);
            let mut read = given.clone();
            for (feature, value) in line["values"].as_object().unwrap() {
                let feature: usize = feature.parse().unwrap();
                read[feature] = code(&case.compiled, feature, value).map_or(f64::NAN, f64::from);
            }
            let mut narrowed = vec![0.0; case.compiled.row_length()];
            let mut margins = [0.0f64];
            case.compiled.narrow_row(&read, &mut narrowed);
            case.compiled.margins(&mut scratch, &narrowed, &mut margins).unwrap();
            same_bits(&read, &given) + &same_bits(&margins, &expected)
        };
        lines.zip(rows(&text["margins"])).map(compare).collect()
    });
}

/// Returns the code of a category.
fn code(compiled: &Opened, feature: usize, value: &Value) -> Option<u32> {
    let view = compiled
        .categories(feature)
        .unwrap_or_else(|| panic!("feature {feature} has no categories"));
    match value {
        Value::String(text) => view.code_of_text(text),
        Value::Bool(flag) => view.code_of_integer(i64::from(*flag)),
        Value::Number(number) if number.is_i64() => view.code_of_integer(number.as_i64().unwrap()),
        Value::Number(number) => view.code_of_float(number.as_f64().unwrap()),
        _ => None,
    }
}
