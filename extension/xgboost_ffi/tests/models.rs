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

/// Appends a document as UBJSON, as XGBoost writes it: arrays of one kind of number are typed, and integers
/// take one of the widths that hold them.
fn to_ubjson(value: &Value, random: &mut Random, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'Z'),
        Value::Bool(switch) => out.push(if *switch { b'T' } else { b'F' }),
        Value::Number(number) => match number.as_i64() {
            Some(number) => {
                let marker = width_of(&[number], random);
                out.push(marker);
                push_integer(marker, number, out);
            }
            None => {
                out.push(b'D');
                out.extend(number.as_f64().unwrap_or(f64::NAN).to_be_bytes());
            }
        },
        Value::String(text) => {
            out.push(b'S');
            push_text(text, out);
        }
        Value::Array(all) => array_to_ubjson(all, random, out),
        Value::Object(all) => {
            out.push(b'{');
            for (key, inner) in all {
                push_text(key, out);
                to_ubjson(inner, random, out);
            }
            out.push(b'}');
        }
    }
}

fn array_to_ubjson(all: &[Value], random: &mut Random, out: &mut Vec<u8>) {
    let integers: Option<Vec<i64>> = all.iter().map(Value::as_i64).collect();
    let floats: Option<Vec<f64>> = all.iter().map(Value::as_f64).collect();
    let head = |marker: u8, out: &mut Vec<u8>| {
        out.extend([b'[', b'$', marker, b'#', b'L']);
        push_integer(b'L', all.len() as i64, out);
    };
    match (integers, floats) {
        (Some(integers), _) if !all.is_empty() => {
            let marker = width_of(&integers, random);
            head(marker, out);
            integers.into_iter().for_each(|number| push_integer(marker, number, out));
        }
        (None, Some(floats)) => {
            head(b'd', out);
            floats.into_iter().for_each(|number| out.extend((number as f32).to_be_bytes()));
        }
        _ => {
            out.push(b'[');
            all.iter().for_each(|inner| to_ubjson(inner, random, out));
            out.push(b']');
        }
    }
}

/// Returns the marker of a type of integer that holds all of the numbers.
fn width_of(numbers: &[i64], random: &mut Random) -> u8 {
    let types = [
        (b'U', 0, u8::MAX.into()),
        (b'i', i8::MIN.into(), i8::MAX.into()),
        (b'I', i16::MIN.into(), i16::MAX.into()),
        (b'l', i32::MIN.into(), i32::MAX.into()),
        (b'L', i64::MIN, i64::MAX),
    ];
    let holds = |low: i64, high: i64| numbers.iter().all(|number| (low..=high).contains(number));
    let holding: Vec<u8> =
        types.iter().filter(|(_, low, high)| holds(*low, *high)).map(|of| of.0).collect();
    *random.pick(&holding)
}

fn push_integer(marker: u8, number: i64, out: &mut Vec<u8>) {
    let width = match marker {
        b'U' | b'i' => 1,
        b'I' => 2,
        b'l' => 4,
        _ => 8,
    };
    out.extend(&number.to_be_bytes()[8 - width..]);
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'L');
    push_integer(b'L', text.len() as i64, out);
    out.extend(text.as_bytes());
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
    let (mut accepted, mut binary, mut refused) = (0, 0, 0);
    for input in 0..inputs {
        let (name, model) = random.pick(&models);
        let mut mutant = model.clone();
        for _ in 0..=random.below(3) {
            mutate(&mut mutant, &mut random);
        }
        let mut bytes = Vec::new();
        let is_binary = random.below(2) == 0;
        match is_binary {
            true => to_ubjson(&mutant, &mut random, &mut bytes),
            false => bytes = serde_json::to_vec(&mutant).unwrap(),
        }
        let Some((model, file)) = written(&bytes) else { continue };
        accepted += 1;
        binary += usize::from(is_binary);
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
        "{inputs} inputs of {} models: {accepted} accepted, {binary} of them UBJSON, \
         {refused} refused by libxgboost",
        models.len()
    );
    assert!(accepted * 20 > inputs && binary * 40 > inputs);
}
