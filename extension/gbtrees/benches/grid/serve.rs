//! Measures the engine with one model on request of another program, which alternates it with other
//! libraries.
//!
//! Each line of standard input is a request: `block ROWS CALLS` returns the nanoseconds of CPU time per
//! row of CALLS calls with ROWS rows each, continuing through all rows, where single rows use the
//! one-row call; `margins ROWS` returns the margins of the first rows, a JSON list.

use std::hint::black_box;
use std::io::{Write, stdin, stdout};
use std::path::Path;

use gbtrees::internals::AlignedBytes;
use gbtrees::internals::Margin;
use gbtrees::internals::Precision;
use gbtrees::internals::{BatchScratch, CompiledModel, Kernel, Scratch};
use gbtrees::{Cancel, Limits};

use crate::clock::Clock;
use crate::xgboost::floats;
use crate::{Rotation, narrowed};

pub(crate) fn run(model: &Path, rows: &Path, kernel: &str) {
    let kernel = Kernel::from_name(kernel).unwrap();
    let bytes = std::fs::read(model).unwrap();
    let model = gbtrees::internals::parse(&bytes, &Limits::default(), Cancel::never()).unwrap();
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
            .unwrap();
    let rows = narrowed(&compiled, &floats(rows));
    // Margins in the width of the model's sums are the fastest.
    match model.sum_precision() {
        Precision::Single => answer::<f32>(&compiled, kernel, &rows),
        Precision::Double => answer::<f64>(&compiled, kernel, &rows),
    }
}

fn answer<M: Margin + Default>(
    compiled: &CompiledModel<AlignedBytes>,
    kernel: Kernel,
    rows: &[f32],
) {
    let (features, outputs) = (compiled.row_length(), compiled.num_outputs());
    let mut one = Scratch::with_kernel(compiled, kernel);
    let mut many = BatchScratch::with_kernel(compiled, kernel);
    let mut rotation = Rotation { rows, features, next: 0 };
    let mut out: Vec<M> = Vec::new();
    for line in stdin().lines() {
        let line = line.unwrap();
        let number = |word: &str| word.parse::<usize>().unwrap();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["block", count, calls] => {
                let (count, calls) = (number(count), number(calls));
                out.resize(count * outputs, M::default());
                let start = Clock::now();
                for _ in 0..calls {
                    let rows = black_box(rotation.take(count));
                    if count == 1 {
                        compiled.margins(&mut one, rows, &mut out).unwrap();
                    } else {
                        compiled.margins_batch(&mut many, rows, &mut out).unwrap();
                    }
                    black_box(&out);
                }
                println!("{}", start.nanoseconds() / (calls * count) as f64);
            }
            ["margins", count] => {
                let count = number(count);
                out.resize(count * outputs, M::default());
                compiled.margins_batch(&mut many, &rows[..count * features], &mut out).unwrap();
                let margins: Vec<f64> = out.iter().map(|margin| margin.double()).collect();
                println!("{}", serde_json::to_string(&margins).unwrap());
            }
            _ => panic!("\"{line}\" is no request"),
        }
        stdout().flush().unwrap();
    }
}
