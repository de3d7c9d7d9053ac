//! Compares the engine with CatBoost on the models of every release in `tests/golden/catboost`.
//!
//! Each model is read from `cbm` and from JSON, and evaluated by the reference walk and the compiled
//! model. Margins must have CatBoost's bits as f64, values its bits as f32, and leaves and classes be
//! equal; contributions are close to CatBoost's doubles. `tests/golden/README.md` says how the
//! files were made.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at a surprise"
)]

use gbtrees::internals::AlignedBytes;
use gbtrees::internals::{
    BatchScratch, CompiledModel, ContributionScratch, Ensemble, Kernel, Scratch, oracle,
};
use gbtrees::{Cancel, ErrorKind, Limits};
use serde_json::Value;

/// Fewer cases mean that files are missing.
const MIN_CASES: usize = 407;
/// Maximum difference of a contribution from CatBoost and the oracle, relative to the row's largest.
const WITHIN: f64 = 1e-6;
const RELEASES: [&str; 6] = ["0.26.1", "1.0.6", "1.1.1", "1.2", "1.2.5", "1.2.10"];

/// A file of a model, and CatBoost's results for its rows.
struct Case {
    name: String,
    model: Ensemble,
    compiled: CompiledModel<AlignedBytes>,
    expected: Value,
}

fn parse(bytes: &[u8]) -> Result<Ensemble, gbtrees::Error> {
    gbtrees::internals::parse(bytes, &Limits::default(), Cancel::never())
}

fn json(name: &str) -> Value {
    serde_json::from_slice(golden_models::file(name)).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().map(|text| text.as_str().unwrap()).collect()
}

/// Parses a row, `width` hex digits per number.
fn hex(row: &str, width: usize) -> Vec<u64> {
    let digits = row.as_bytes().chunks(width);
    let digits = digits.map(|digits| std::str::from_utf8(digits).unwrap());
    digits.map(|digits| u64::from_str_radix(digits, 16).unwrap()).collect()
}

fn cases() -> Vec<Case> {
    let mut found = Vec::new();
    for release in RELEASES {
        let before = found.len();
        for path in golden_models::names(&format!("catboost/{release}/")) {
            let Some(base) = path.strip_suffix(".expected.json") else { continue };
            for ending in ["cbm", "json"] {
                let name = format!("{base}.{ending}");
                let Some(file) = golden_models::find(&name) else {
                    // JSON cannot represent all of cbm.
                    assert!(name.ends_with("ctr_several_targets.json"), "no {name}");
                    continue;
                };
                let model = parse(file).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(model.format(), format!("catboost {ending}"), "{name}");
                let compiled = gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap();
                let compiled = CompiledModel::open(compiled).unwrap();
                found.push(Case { name, model, compiled, expected: json(path) });
            }
        }
        let count = found.len() - before;
        assert!(count >= 30, "only {count} models of {release}");
    }
    assert!(found.len() >= MIN_CASES, "only {} models", found.len());
    found
}

impl Case {
    /// Returns the rows in the extension's form: categories as codes or hashes.
    fn rows(&self) -> Vec<Vec<f32>> {
        let rows = texts(&self.expected["rows"]);
        let mut rows: Vec<Vec<f32>> = rows
            .iter()
            .map(|row| hex(row, 8).iter().map(|bits| f32::from_bits(*bits as u32)).collect())
            .collect();
        for (feature, values) in self.expected["texts"].as_object().unwrap() {
            let feature: usize = feature.parse().unwrap();
            let view = self.compiled.categories(feature).unwrap();
            for (row, value) in rows.iter_mut().zip(list(values)) {
                let code = match value {
                    Value::String(text) => view.code_of_text(text),
                    value => view.code_of_integer(value.as_i64().unwrap()),
                };
                row[feature] = view.row_value(code.expect("every value has a code"));
            }
        }
        rows
    }

    fn margins(&self) -> Vec<Vec<u64>> {
        texts(&self.expected["margins"]).iter().map(|row| hex(row, 16)).collect()
    }

    fn each_row(&self, mut check: impl FnMut(usize, &[f32], &[u64])) {
        let (rows, margins) = (self.rows(), self.margins());
        assert!(rows.len() == margins.len() && rows.len() >= 30, "{}", self.name);
        for (number, (row, margins)) in rows.iter().zip(&margins).enumerate() {
            check(number, row, margins);
        }
    }
}

fn bits(margins: &[f64]) -> Vec<u64> {
    margins.iter().map(|margin| margin.to_bits()).collect()
}

#[test]
fn margins_have_the_same_bits() {
    for case in cases() {
        let outputs = case.compiled.num_outputs();
        case.each_row(|number, row, expected| {
            let mut margins = vec![0.0f64; outputs];
            oracle::margins(&case.model, row, &mut margins);
            assert_eq!(bits(&margins), expected, "{} row {number}: {margins:?}", case.name);
            for kernel in Kernel::available() {
                let mut scratch = Scratch::with_kernel(&case.compiled, kernel);
                case.compiled.margins(&mut scratch, row, &mut margins).unwrap();
                let kernel = kernel.name();
                assert_eq!(bits(&margins), expected, "{} row {number}, {kernel}", case.name);
            }
        });
    }
}

#[test]
fn batches_have_the_same_bits() {
    for case in cases() {
        let (rows, expected) = (case.rows().concat(), case.margins().concat());
        // Enough to fill a block and begin another.
        let times = 600usize.div_ceil(rows.len() / case.compiled.num_features());
        let (rows, expected) = (rows.repeat(times), expected.repeat(times));
        for kernel in Kernel::available() {
            let mut margins = vec![0.0f64; expected.len()];
            let mut scratch = BatchScratch::with_kernel(&case.compiled, kernel);
            case.compiled.margins_batch(&mut scratch, &rows, &mut margins).unwrap();
            assert_eq!(bits(&margins), expected, "{} with {}", case.name, kernel.name());
        }
    }
}

#[test]
fn values_are_the_same_as_f32() {
    let mut compared = 0;
    for case in cases() {
        let Some(values) = case.expected.get("values") else { continue };
        let values: Vec<Vec<u64>> = texts(values).iter().map(|row| hex(row, 8)).collect();
        case.each_row(|number, _, margins| {
            let mut found: Vec<f64> = margins.iter().map(|bits| f64::from_bits(*bits)).collect();
            let count = case.compiled.values(&mut found);
            let found: Vec<u64> =
                found[..count].iter().map(|value| u64::from((*value as f32).to_bits())).collect();
            assert_eq!(found, values[number], "{} row {number}", case.name);
            compared += 1;
        });
    }
    assert!(compared > 1500, "only {compared} compared");
}

#[test]
fn classes_are_the_same() {
    let mut compared = 0;
    for case in cases() {
        let Some(classes) = case.expected.get("classes") else { continue };
        let classes = texts(classes);
        case.each_row(|number, _, margins| {
            let mut margins: Vec<f64> = margins.iter().map(|bits| f64::from_bits(*bits)).collect();
            let class = case.compiled.class(&mut margins).unwrap() as usize;
            let named = case.model.class_labels().get(class).cloned();
            let named = named.unwrap_or_else(|| class.to_string());
            assert_eq!(named, classes[number], "{} row {number}", case.name);
            compared += 1;
        });
    }
    assert!(compared > 1000, "only {compared} compared");
}

#[test]
fn leaves_are_the_same() {
    for case in cases() {
        // JSON lacks the leaf numbers of asymmetric trees.
        let own = case.expected.get("json_leaves").filter(|_| case.name.ends_with(".json"));
        let leaves = texts(own.unwrap_or(&case.expected["leaves"]));
        let mut scratch = Scratch::new(&case.compiled);
        case.each_row(|number, row, _| {
            let expected: Vec<u32> =
                leaves[number].split_whitespace().map(|leaf| leaf.parse().unwrap()).collect();
            let mut found = vec![0; case.compiled.num_trees()];
            case.compiled.leaves(&mut scratch, row, &mut found).unwrap();
            assert_eq!(found, expected, "{} row {number}", case.name);
            oracle::leaves(&case.model, row, &mut found);
            assert_eq!(found, expected, "{} row {number}, by reference", case.name);
        });
    }
}

fn bits_of(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, number| largest.max(number.abs()))
}

/// Returns the largest difference relative to the largest expected number.
fn apart(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let differences: Vec<f64> = pairs.map(|(found, own)| f64::from(*found) - own).collect();
    largest(&differences) / largest(expected).max(1e-30)
}

impl Case {
    /// Returns the contributions of rows in one call, after checking that all kernels agree in bits.
    fn contributions(&self, rows: &[f32]) -> Vec<f32> {
        let features = self.compiled.num_features();
        let numbers = rows.len() / features * self.compiled.num_outputs() * (features + 1);
        let mut all = Kernel::available().map(|kernel| {
            let mut scratch = ContributionScratch::with_kernel(kernel);
            let mut found = vec![0.0; numbers];
            self.compiled.contributions(&mut scratch, rows, &mut found, Cancel::never()).unwrap();
            found
        });
        let first = all.next().unwrap();
        assert!(all.all(|other| bits_of(&other) == bits_of(&first)), "{}: kernels", self.name);
        first
    }
}

#[test]
fn contributions_equal_catboosts_and_add_up_to_margins() {
    let all = json("catboost/contributions.json");
    let (mut compared, mut farthest) = (0, 0.0f64);
    for case in cases() {
        let width = case.compiled.num_features() + 1;
        let per_row = case.compiled.num_outputs() * width;
        let found = case.contributions(&case.rows().concat());
        case.each_row(|number, row, margins| {
            let found = &found[number * per_row..][..per_row];
            let alone = bits_of(&case.contributions(row));
            assert_eq!(bits_of(found), alone, "{} row {number}, alone", case.name);
            let defined = oracle::contributions(&case.model, row);
            let far = apart(found, &defined);
            assert!(far <= WITHIN, "{} row {number}: {far:e} from the oracle", case.name);
            for (own, margin) in found.chunks(width).zip(margins) {
                let sum: f64 = own.iter().copied().map(f64::from).sum();
                let far = (sum - f64::from_bits(*margin)).abs() / largest(&defined).max(1e-30);
                assert!(far <= 2.0 * WITHIN, "{} row {number}: {far:e} from margin", case.name);
            }
        });
        let name = case.name.strip_prefix("catboost/").unwrap().replace(".json", ".cbm");
        let Some(record) = all.get(name) else { continue };
        let records = list(&record["rows"]).iter().zip(texts(&record["values"]));
        for (number, theirs) in records {
            let number = usize::try_from(number.as_u64().unwrap()).unwrap();
            let theirs: Vec<f64> = hex(theirs, 16).into_iter().map(f64::from_bits).collect();
            let far = apart(&found[number * per_row..][..per_row], &theirs);
            assert!(far <= WITHIN, "{} row {number}: {far:e} from CatBoost", case.name);
            farthest = farthest.max(far);
        }
        compared += 1;
    }
    assert!(compared >= 300, "only {compared} models");
    println!("contributions are up to {farthest:e} of the largest one away");
}

#[test]
fn names_releases_and_objectives_come_from_the_file() {
    for case in cases() {
        let (model, expected) = (&case.model, &case.expected);
        // Before 1.1, JSON has names only if written with a pool.
        let old = ["0.26.1", "1.0.6"]
            .iter()
            .any(|release| case.name.starts_with(&format!("catboost/{release}/")));
        if !old || case.name.ends_with(".cbm") {
            assert_eq!(model.feature_names(), texts(&expected["feature_names"]), "{}", case.name);
        }
        assert_eq!(model.objective().name(), expected["objective"], "{}", case.name);
        let [major, minor, patch] = model.version();
        let release = format!("{major}.{minor}.{patch}");
        let known = release.starts_with(expected["trained_by"].as_str().unwrap());
        assert!(known || model.version() == [0; 3], "{}: {release}", case.name);
        for feature in 0..model.num_features() {
            let categorical = list(&expected["categorical"]).contains(&Value::from(feature));
            assert_eq!(model.categories()[feature].is_some(), categorical, "{}", case.name);
        }
    }
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let listing = json("catboost/refused/list.json");
    let listing = listing.as_object().unwrap();
    assert!(listing.len() >= 3, "only {} files", listing.len());
    for (file, named) in listing {
        let error = parse(golden_models::file(&format!("catboost/refused/{file}"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{file}: {error}");
        assert!(error.message().contains(named.as_str().unwrap()), "{file}: {error}");
        assert!(error.hint().is_some(), "{file}");
    }
}

#[test]
fn categories_have_catboosts_hashes() {
    let hashes = json("catboost/hashes.json");
    let hashes = hashes.as_object().unwrap();
    assert!(hashes.len() > 270, "only {} texts", hashes.len());
    let template = std::str::from_utf8(golden_models::file("catboost/hashes.model.json")).unwrap();
    for (text, hash) in hashes {
        let signed = (hash.as_u64().unwrap() as u32).cast_signed();
        let model = parse(template.replace("\"HASH\"", &signed.to_string()).as_bytes()).unwrap();
        let compiled =
            CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
                .unwrap();
        let view = compiled.categories(0).unwrap();
        assert_eq!(view.code_of_text(text), Some(0), "{text}");
        assert_eq!(view.code_of_text(&format!("{text} ")), Some(1), "{text}");
    }
}
