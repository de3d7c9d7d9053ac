//! Sparse rows in CSR, and column-major rows.

use gbtrees::{Model, Output, Rows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Model::load(include_bytes!("model.ubj"))?;
    let width = model.num_features();
    let mut predictor = model.predictor();

    // Row 0 has a number in the first column, row 1 has none; absent numbers are missing.
    let sparse = Rows::csr(&[0, 1, 1], &[0], &[0.5f64], width)?;
    let values: Vec<f32> = predictor.predict(&sparse, Output::Value)?;
    println!("absent is missing {values:?}");
    // LightGBM takes absent numbers as 0.
    let values: Vec<f32> = predictor.predict(&sparse.with_absent(0.0), Output::Value)?;
    println!("absent is 0       {values:?}");

    // A column-major table: stride 1 between rows, and the number of rows between columns.
    let columns: Vec<f64> = (0..3 * width).map(|number| number as f64 / 10.0).collect();
    let rows = Rows::strided(&columns, [3, width], [1, 3])?;
    let values: Vec<f32> = predictor.predict(&rows, Output::Value)?;
    println!("by columns        {values:?}");
    Ok(())
}
