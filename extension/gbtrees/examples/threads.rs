//! One model, many threads; and a load that a deadline cancels.

use std::time::{Duration, Instant};

use gbtrees::{Cancel, Limits, LoadOptions, Model, Output, Rows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Untrusted files get limits and a deadline.
    let started = Instant::now();
    let too_late = || started.elapsed() > Duration::from_secs(30);
    let options = LoadOptions::new()
        .limits(Limits::default().with_bytes(64 << 20))
        .cancel(Cancel::when(&too_late));
    let model = Model::load_with(include_bytes!("model.ubj"), &options)?;

    let width = model.num_features();
    let rows: Vec<f32> = (0..1000 * width).map(|number| (number % 7) as f32).collect();
    let sums = std::thread::scope(|scope| {
        let parts = rows.chunks(250 * width).map(|part| {
            let model = &model;
            scope.spawn(move || {
                let rows = Rows::dense(part, [part.len() / width, width])?;
                let values: Vec<f64> = model.predictor().predict(&rows, Output::Value)?;
                Ok(values.iter().sum::<f64>())
            })
        });
        let threads: Vec<_> = parts.collect();
        let sums = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        sums.collect::<Result<Vec<f64>, gbtrees::Error>>()
    })?;
    println!("{} threads, sums {sums:?}", sums.len());
    Ok(())
}
