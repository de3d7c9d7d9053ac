//! Explains a prediction: `cargo run --example explain -- model.ubj`.

use gbtrees::{ImportanceKind, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1);
    let path =
        path.unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/model.ubj").to_owned());
    let model = Model::load(&std::fs::read(path)?)?;
    let width = model.num_features();

    // For each output one SHAP value per feature, then the bias; they add up to the margin.
    let contributions = model.contributions(&vec![0.5f64; width], [1, width])?;
    let names: Vec<String> = match model.feature_names().next() {
        Some(_) => model.feature_names().map(str::to_owned).collect(),
        None => (0..width).map(|feature| format!("f{feature}")).collect(),
    };
    let bias = "bias".to_owned();
    for (output, own) in contributions.chunks_exact(width + 1).enumerate() {
        for (name, contribution) in names.iter().chain([&bias]).zip(own) {
            println!("output {output} {name:>12} {contribution:+.6}");
        }
    }
    if let Some(gains) = model.importance(ImportanceKind::Gain) {
        println!("gains {gains:?}");
    }
    Ok(())
}
