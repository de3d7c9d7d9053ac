//! Rows that are not dense: CSR, and columns one after another.

use gbtrees::{Model, Output, Rows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Model::load(include_bytes!("model.ubj"))?;
    let width = model.num_features();
    let mut predictor = model.predictor();

    // Row 0 has a number in the first column, row 1 has none; what is absent is missing.
    let sparse = Rows::csr(&[0, 1, 1], &[0], &[0.5f64], width)?;
    let values: Vec<f32> = predictor.predict(&sparse, Output::Value)?;
    println!("absent is missing {values:?}");
    // LightGBM takes what is absent for 0.
    let values: Vec<f32> = predictor.predict(&sparse.with_absent(0.0), Output::Value)?;
    println!("absent is 0       {values:?}");

    // A table by columns: from a row to the next it is one number, from a column to the next as many as rows.
    let columns: Vec<f64> = (0..3 * width).map(|number| number as f64 / 10.0).collect();
    let rows = Rows::strided(&columns, [3, width], [1, 3])?;
    let values: Vec<f32> = predictor.predict(&rows, Output::Value)?;
    println!("by columns        {values:?}");
    Ok(())
}
