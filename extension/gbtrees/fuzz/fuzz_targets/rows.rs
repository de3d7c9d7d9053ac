//! Rows as programs pass them: whatever their shape, strides or sparse structure, they are refused, or have the
//! results of the same numbers in dense rows, together and in parts.
//!
//! An input has choices and sizes first; the rest are numbers, which repeat with changes.
#![no_main]

use std::cell::Cell;
use std::fmt::Debug;
use std::sync::LazyLock;

use gbtrees::{Buffers, ErrorKind, LoadOptions, Model, Number, Output, Result, Rows};
use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

/// Sums of f32 and f64, categories, leaf vectors, coefficients, linear leaves and target statistics.
const FILES: [&str; 8] = [
    "xgboost/3.4.1/multi_softprob.json",
    "xgboost/3.4.1/categories_partition.json",
    "xgboost/3.4.1/vector_leaf.json",
    "xgboost/3.4.1/gblinear_multiclass.json",
    "lightgbm/4.7.0/deep.txt",
    "lightgbm/4.7.0/linear_classes.txt",
    "catboost/1.2.10/ctr_simple.cbm",
    "onnx/1.16.0/forest_binary_double.onnx",
];
/// More trees take longer and read rows no differently.
const ROUNDS: usize = 2;
/// Maximum of cells of rows that are predicted; more take longer.
const MOST: usize = 1000;
/// Rows that are explained, of which there are few.
const EXPLAINED: usize = 2;

const NUMBERS: [f64; 16] = [
    f64::NAN,
    0.0,
    -0.0,
    1.0,
    2.0,
    3.0,
    -1.0,
    0.5,
    0.1,
    1.9,
    1e30,
    -1e300,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    16_777_217.0,
];

static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let few = LoadOptions::new().rounds(ROUNDS);
    let loaded = |name| {
        let file = golden_models::file(name);
        Model::load_with(file, &few).or_else(|_| Model::load(file)).expect("a golden model is read")
    };
    FILES.into_iter().map(loaded).collect()
});

thread_local! {
    /// One thread's buffers serve all models.
    static BUFFERS: Cell<Option<Buffers>> = const { Cell::new(None) };
}

fuzz_target!(init: {
    LazyLock::force(&MODELS);
}, |input: &[u8]| {
    let mut drawn = Drawn(Unstructured::new(input));
    let model = &MODELS[drawn.below(MODELS.len())];
    match drawn.below(4) {
        0 => strided::<f32>(model, drawn),
        1 => strided::<f64>(model, drawn),
        2 => sparse::<f32>(model, drawn),
        _ => sparse::<f64>(model, drawn),
    }
});

/// The rest of an input.
struct Drawn<'a>(Unstructured<'a>);

impl Drawn<'_> {
    /// A number below a bound above zero; zero at the input's end.
    fn below(&mut self, bound: usize) -> usize {
        self.0.int_in_range(0..=bound - 1).unwrap_or(0)
    }

    /// The usual size, one of blocks, or one whose products overflow.
    fn size(&mut self, usual: usize) -> usize {
        match self.below(8) {
            0..=3 => usual,
            4 | 5 => self.below(6),
            6 => self.below(300),
            _ => [1 << 32, usize::MAX / 2, usize::MAX][self.below(3)],
        }
    }

    fn numbers<T: Number>(self, count: usize) -> Vec<T> {
        let bytes = self.0.take_rest();
        let number = |at: usize| {
            let byte = bytes.get(at % bytes.len().max(1)).copied().unwrap_or(0);
            T::of(NUMBERS[(usize::from(byte) + at / bytes.len().max(1)) % NUMBERS.len()])
        };
        (0..count).map(number).collect()
    }
}

fn strided<T: Number + Debug>(model: &Model, mut drawn: Drawn<'_>) {
    let shape = [drawn.size(3), drawn.size(model.num_features())];
    let strides = match drawn.below(3) {
        0 => [shape[1], 1],
        1 => [1, shape[0]],
        _ => [drawn.size(shape[1]), drawn.size(1)],
    };
    let last = |at: usize| (shape[at] as u128).saturating_sub(1) * strides[at] as u128;
    let end =
        if shape.contains(&0) { 0 } else { last(0).saturating_add(last(1)).saturating_add(1) };
    let count = if drawn.below(8) > 0 { end.min(MOST as u128) as usize } else { drawn.below(MOST) };
    let values = drawn.numbers::<T>(count);
    let dense = Rows::dense(&values, shape);
    assert_eq!(dense.is_ok(), shape[0] as u128 * shape[1] as u128 == count as u128, "{shape:?}");
    let rows = Rows::strided(&values, shape, strides);
    assert_eq!(rows.is_ok(), end <= count as u128, "{shape:?} by {strides:?} of {count}");
    let Ok(rows) = rows else { return };
    check(model, &rows, |row, column| values[row * strides[0] + column * strides[1]]);
}

fn sparse<T: Number + Debug>(model: &Model, mut drawn: Drawn<'_>) {
    let width = drawn.size(model.num_features());
    let mut starts = vec![0];
    for _ in 0..drawn.size(3).min(300) {
        starts.push(starts[starts.len() - 1] + drawn.below(4));
    }
    let count = starts[starts.len() - 1];
    let bound = width.clamp(1, u32::MAX as usize);
    let mut columns: Vec<u32> = (0..count).map(|_| drawn.below(bound) as u32).collect();
    let is_damaged = match drawn.below(8) {
        0 => {
            let at = drawn.below(starts.len());
            starts[at] = drawn.size(0);
            true
        }
        1 => {
            columns.push(0);
            true
        }
        2 if count > 0 => {
            columns[drawn.below(count)] = [width as u32, u32::MAX][drawn.below(2)];
            true
        }
        _ => width == 0,
    };
    let absent = T::of(NUMBERS[drawn.below(NUMBERS.len())]);
    let values = drawn.numbers::<T>(count);
    let Ok(rows) = Rows::csr(&starts, &columns, &values, width) else {
        return assert!(is_damaged, "{starts:?}, {columns:?} of {width}");
    };
    check(model, &rows.with_absent(absent), |row, column| {
        // Of several numbers in a column the last one counts.
        let mut own = (starts[row]..starts[row + 1]).rev();
        own.find(|at| columns[*at] as usize == column).map_or(absent, |at| values[at])
    });
}

/// Compares rows with dense ones of the same cells.
fn check<T: Number>(model: &Model, rows: &Rows<'_, T>, cell: impl Fn(usize, usize) -> T) {
    let [count, width] = rows.shape();
    for end in [0, count / 2, count, usize::MAX] {
        assert_eq!(rows.range(end..usize::MAX).shape(), [count.saturating_sub(end), width]);
        assert_eq!(rows.range(0..end).shape(), [count.min(end), width]);
    }
    if count.saturating_mul(width.max(1)) > MOST {
        return;
    }
    let cells = (0..count).flat_map(|row| (0..width).map(move |column| (row, column)));
    let cells: Vec<T> = cells.map(|(row, column)| cell(row, column)).collect();
    let dense = Rows::dense(&cells, [count, width]).expect("as many cells");
    let mut predictor = model.predictor_with(BUFFERS.take().unwrap_or_default());
    for output in [Output::Value, Output::Margin, Output::Class] {
        let expected = bits(predictor.predict::<T, f64>(&dense, output));
        assert_eq!(bits(predictor.predict::<T, f64>(rows, output)), expected, "{output:?}");
        if let Ok(expected) = expected
            && output == Output::Margin
        {
            let per_row = model.num_outputs();
            for part in [0..count / 2, count / 2..count] {
                let found = bits(predictor.predict::<T, f64>(&rows.range(part.clone()), output));
                let expected = &expected[part.start * per_row..part.end * per_row];
                assert_eq!(found.as_deref(), Ok(expected), "{part:?}");
            }
        }
    }
    if count <= EXPLAINED {
        let leaves = predictor.leaves(&dense).map_err(|error| error.kind());
        assert_eq!(predictor.leaves(rows).map_err(|error| error.kind()), leaves);
        let doubles = |found: Result<Vec<f32>>| {
            bits(found.map(|all| all.into_iter().map(f64::from).collect()))
        };
        let expected = doubles(predictor.contributions(&dense));
        assert_eq!(doubles(predictor.contributions(rows)), expected);
    }
    BUFFERS.set(Some(predictor.into_buffers()));
}

/// Returns the bits of results, NaN's alike.
fn bits(found: Result<Vec<f64>>) -> std::result::Result<Vec<u64>, ErrorKind> {
    let of = |number: f64| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() };
    found.map(|all| all.into_iter().map(of).collect()).map_err(|error| error.kind())
}
