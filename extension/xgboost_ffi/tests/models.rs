//! libxgboost with what the engine writes of models: the golden ones, whose margins keep their bits, and
//! mutated ones, none of which ends this process.
//!
//! It needs libxgboost, at the path PGBOOST_LIBXGBOOST or where `make install` has put it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::path::PathBuf;
use std::sync::LazyLock;

use gbtrees::internals::{Ensemble, oracle, rewrite_xgboost};
use gbtrees::{Cancel, Limits};
use serde_json::Value;
use xgboost_ffi::{Batch, Booster, Library, Matrix, Output};

static LIBRARY: LazyLock<&Library> = LazyLock::new(|| {
    let built = "../../.build/xgboost/xgboost/lib/libxgboost.so";
    let path = std::env::var_os("PGBOOST_LIBXGBOOST")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(built), PathBuf::from);
    Library::open(&path).unwrap_or_else(|error| panic!("{error:?}"))
});

/// Returns libxgboost's predictions for rows by a model's file, as bits, or its refusal.
fn predicted(file: &[u8], rows: &[f32], width: usize, output: Output) -> Result<Vec<u32>, String> {
    let predict = || {
        let booster = Booster::of_model(*LIBRARY, file)?;
        booster.set("nthread", "1")?;
        let proxy = Matrix::proxy(*LIBRARY)?;
        booster.predict(Batch { words: rows, record: width }, &proxy, output)
    };
    let predicted: xgboost_ffi::Result<Vec<f32>> = predict();
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    predicted.map(bits).map_err(|error| format!("{error:?}"))
}

fn written(bytes: &[u8]) -> Option<(Ensemble, Vec<u8>)> {
    rewrite_xgboost(bytes, None, &Limits::default(), Cancel::never()).ok().flatten()
}

/// Rows with missing values, codes, and numbers of both signs.
fn rows(model: &Ensemble, count: usize) -> Vec<f32> {
    let number = |at: usize| match at % 7 {
        0 => f32::NAN,
        1 | 2 => (at % 5) as f32,
        3 => -0.1 * (at % 11) as f32,
        _ => (at * at % 1009) as f32 / 300.0,
    };
    (0..count * model.num_features()).map(number).collect()
}

fn margins(model: &Ensemble, rows: &[f32]) -> Vec<u32> {
    let of_row = |row: &[f32]| {
        let mut margins = vec![0.0f32; model.num_outputs()];
        oracle::margins(model, row, &mut margins);
        margins.into_iter().map(f32::to_bits)
    };
    rows.chunks(model.num_features()).flat_map(of_row).collect()
}

fn golden() -> impl Iterator<Item = &'static str> {
    let is_model = |name: &&str| {
        [".json", ".ubj", ".bin"].iter().any(|end| name.ends_with(end))
            && !name.ends_with("expected.json")
    };
    golden_models::names("xgboost/").into_iter().filter(is_model)
}

#[test]
#[ignore = "it needs libxgboost"]
fn predictions_are_those_of_the_original_file() {
    let (mut models, mut originals) = (0, 0);
    for name in golden() {
        let bytes = golden_models::file(name);
        let Some((model, file)) = written(bytes) else { continue };
        let (rows, width) = (rows(&model, 40), model.num_features());
        let found = predicted(&file, &rows, width, Output::Margin);
        models += 1;
        // libxgboost does not predict rows in place with a linear booster.
        if model.is_linear() {
            assert!(found.is_err(), "{name}");
            continue;
        }
        assert_eq!(found.unwrap(), margins(&model, &rows), "{name}");
        // The newest release does not read the oldest files.
        for output in [Output::Margin, Output::Value] {
            if let Ok(original) = predicted(bytes, &rows, width, output) {
                assert_eq!(predicted(&file, &rows, width, output).unwrap(), original, "{name}");
                originals += 1;
            }
        }
    }
    assert!(models >= 507 && originals >= 600, "{models} models, {originals} originals");
}

/// A generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % end.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Numbers that are often taken for an index, a length or a count.
const NUMBERS: [i64; 17] = [
    0,
    1,
    -1,
    2,
    3,
    5,
    31,
    32,
    64,
    255,
    65_535,
    16_777_215,
    16_777_216,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    i64::MAX,
];

/// A value somewhere below this one, each as likely as its siblings.
fn descend<'v>(value: &'v mut Value, random: &mut Random) -> &'v mut Value {
    let len = match &*value {
        Value::Array(all) if random.below(4) > 0 => all.len(),
        Value::Object(all) => all.len(),
        _ => 0,
    };
    if len == 0 {
        return value;
    }
    let at = random.below(len);
    let inner = match value {
        Value::Array(all) => all.get_mut(at),
        Value::Object(all) => all.values_mut().nth(at),
        _ => None,
    };
    descend(inner.unwrap(), random)
}

fn mutate(model: &mut Value, random: &mut Random) {
    let place = descend(model, random);
    match place {
        Value::Number(number) => {
            let near = number.as_i64().map(|n| n.saturating_add(random.below(5) as i64 - 2));
            let other = *random.pick(&NUMBERS);
            *place = near.filter(|_| random.below(2) == 0).unwrap_or(other).into();
        }
        Value::String(text) => {
            let near = text.parse::<i64>().map(|n| n.saturating_add(random.below(5) as i64 - 2));
            let other = *random.pick(&NUMBERS);
            let number = near.ok().filter(|_| random.below(2) == 0).unwrap_or(other);
            *place = number.to_string().into();
        }
        Value::Array(all) => match random.below(4) {
            0 => all.truncate(random.below(all.len() + 1)),
            1 => all.extend(all.last().cloned()),
            2 => all.reverse(),
            _ => all.push(Value::from(*random.pick(&NUMBERS))),
        },
        Value::Bool(switch) => *switch = !*switch,
        _ => {}
    }
}

#[test]
#[ignore = "it needs libxgboost, and PGBOOST_INPUTS inputs take as long"]
fn mutated_models_end_nothing() {
    let inputs = std::env::var("PGBOOST_INPUTS").map_or(20_000, |count| count.parse().unwrap());
    let seed = std::env::var("PGBOOST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let small = |name: &&str| name.ends_with(".json") && golden_models::file(name).len() < 60_000;
    let read = |name| serde_json::from_slice::<Value>(golden_models::file(name)).ok();
    let models: Vec<(&str, Value)> =
        golden().filter(small).filter_map(|name| Some((name, read(name)?))).collect();
    let mut random = Random(seed);
    let (mut accepted, mut refused) = (0, 0);
    for input in 0..inputs {
        let (name, model) = random.pick(&models);
        let mut mutant = model.clone();
        for _ in 0..=random.below(3) {
            mutate(&mut mutant, &mut random);
        }
        let bytes = serde_json::to_vec(&mutant).unwrap();
        let Some((model, file)) = written(&bytes) else { continue };
        accepted += 1;
        if model.num_features() > 4_096 {
            continue;
        }
        let (rows, width) = (rows(&model, 8), model.num_features());
        match predicted(&file, &rows, width, Output::Margin) {
            Ok(found) => assert_eq!(found, margins(&model, &rows), "{name}, input {input}"),
            Err(_) => refused += 1,
        }
        let _ = predicted(&file, &rows, width, Output::Value);
    }
    println!(
        "{inputs} inputs of {} models: {accepted} accepted, {refused} refused by libxgboost",
        models.len()
    );
    assert!(accepted * 20 > inputs);
}
