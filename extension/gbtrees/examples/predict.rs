//! Loads a model and predicts rows: `cargo run --example predict -- model.ubj`.

use gbtrees::{Model, Output, Rows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1);
    let path =
        path.unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/model.ubj").to_owned());
    let model = Model::load(&std::fs::read(path)?)?;
    println!("{model:?}");

    // Two rows, one after another; NaN is a missing value.
    let width = model.num_features();
    let mut rows = vec![0.5f32; 2 * width];
    rows[0] = f32::NAN;
    println!("values  {:?}", model.predict(&rows, [2, width])?);

    // A predictor keeps its buffers, and gives margins and classes too.
    let mut predictor = model.predictor();
    let rows = Rows::dense(&rows, [2, width])?;
    println!("margins {:?}", predictor.predict::<_, f64>(&rows, Output::Margin)?);
    println!("leaves  {:?}", predictor.leaves(&rows)?);
    Ok(())
}
