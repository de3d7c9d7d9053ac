//! Explains rows on request of `grid/explanations.py`, which alternates it with other libraries.
//!
//! Usage: cargo bench -p gbtrees --bench explanations -- MODEL ROWS
//!
//! MODEL is a file of any library, ROWS a file of f32. Each line of standard input is a request:
//! `contributions KERNEL ROWS CALLS` returns the nanoseconds of CPU time per row of CALLS calls with
//! ROWS rows each, continuing through all rows; `interactions` likewise; `values WHAT ROWS` returns the
//! explanations of the first rows, a JSON list; `kernels` returns their names.

#![allow(unsafe_code, reason = "asks the system for the time of the processor")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark may stop at a surprise")]

#[path = "grid/clock.rs"]
mod clock;

use std::hint::black_box;
use std::io::{Write, stdin, stdout};

use gbtrees::internals::{AlignedBytes, CompiledModel, ContributionScratch, Kernel};
use gbtrees::{Cancel, Limits};

use crate::clock::Clock;

fn explain(
    compiled: &CompiledModel<AlignedBytes>,
    scratch: &mut ContributionScratch,
    what: &str,
    rows: &[f32],
    out: &mut Vec<f32>,
) {
    let (width, count) = (compiled.num_features() + 1, rows.len() / compiled.num_features());
    let per_row = if what == "interactions" { width * width } else { width };
    out.resize(count * compiled.num_outputs() * per_row, 0.0);
    if what == "interactions" {
        compiled.interactions(scratch, rows, out, Cancel::never()).unwrap();
    } else {
        compiled.contributions(scratch, rows, out, Cancel::never()).unwrap();
    }
}

fn main() {
    // Cargo passes --bench.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [model, rows] = &arguments[..] else {
        eprintln!("usage: cargo bench -p gbtrees --bench explanations -- MODEL ROWS");
        return;
    };
    let bytes = std::fs::read(model).unwrap();
    let limits = Limits::default().with_bytes(bytes.len());
    let model = gbtrees::internals::parse(&bytes, &limits, Cancel::never()).unwrap();
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
            .unwrap();
    let rows: Vec<f32> = std::fs::read(rows)
        .unwrap()
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let (mut next, mut out) = (0, Vec::new());
    let number = |word: &str| word.parse::<usize>().unwrap();
    for line in stdin().lines() {
        let line = line.unwrap();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["kernels"] => {
                let names: Vec<&str> = Kernel::available().map(Kernel::name).collect();
                println!("{}", names.join(" "));
            }
            ["values", what, count] => {
                let rows = &rows[..number(count) * compiled.num_features()];
                explain(&compiled, &mut ContributionScratch::default(), what, rows, &mut out);
                println!("{}", serde_json::to_string(&out).unwrap());
            }
            [what, kernel, count, calls] => {
                let kernel = Kernel::from_name(kernel).unwrap();
                let (count, calls) = (number(count), number(calls));
                let size = count * compiled.num_features();
                let mut scratch = ContributionScratch::with_kernel(kernel);
                let start = Clock::now();
                for _ in 0..calls {
                    if next + size > rows.len() {
                        next = 0;
                    }
                    let rows = black_box(&rows[next..next + size]);
                    explain(&compiled, &mut scratch, what, rows, &mut out);
                    black_box(&out);
                    next += size;
                }
                println!("{}", start.nanoseconds() / (calls * count) as f64);
            }
            _ => panic!("\"{line}\" is no request"),
        }
        stdout().flush().unwrap();
    }
}
