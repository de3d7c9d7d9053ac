//! A model, and the JSON of requests and answers.

use gbtrees::{Output, Rows};
use serde_json::Value;

/// The number of a flight's features: all columns but the first.
pub const FEATURES: usize = 10;

pub type Failure = Box<dyn std::error::Error>;

/// The reason for refusing a request.
pub enum Refused {
    /// The request is invalid.
    Bad(String),
    /// No row has the key.
    Unknown(String),
    /// The store cannot be reached.
    Gone(String),
}

/// A model with one output, shared by the threads.
pub struct Model(gbtrees::Model);

impl Model {
    /// Reads the file of a model of a flight's features.
    pub fn open(path: &str) -> Result<Self, Failure> {
        let model = gbtrees::Model::load(&std::fs::read(path)?)?;
        if (model.num_features(), model.num_outputs()) != (FEATURES, 1) {
            return Err(
                format!("{path}: a model of {FEATURES} features and one output is wanted").into()
            );
        }
        Ok(Model(model))
    }

    /// Predicts for rows, by one call of the engine.
    pub fn predict(&self, rows: &[[f32; FEATURES]]) -> Vec<f32> {
        let mut values = vec![0.0; rows.len()];
        let shape = [rows.len(), FEATURES];
        let rows = Rows::dense(rows.as_flattened(), shape).expect("as many rows");
        self.0.predictor().predict_into(&rows, Output::Value, &mut values).expect("all features");
        values
    }
}

/// Converts a 32-bit number to JSON with the digits of the same number in 64 bits.
pub fn number(value: f32) -> Value {
    Value::from(f64::from(value))
}

/// Parses a body.
pub fn json(body: &[u8]) -> Result<Value, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Refused::Bad(format!("the body is not JSON: {error}")))
}

/// Parses features: a list of numbers, with null for a missing one.
pub fn features(row: &Value) -> Result<[f32; FEATURES], Refused> {
    let feature = |value: &Value| match value {
        Value::Null => Some(f32::NAN),
        value => value.as_f64().map(|value| value as f32),
    };
    let found = row.as_array().and_then(|row| row.iter().map(feature).collect::<Option<Vec<_>>>());
    found.and_then(|row| row.try_into().ok()).ok_or_else(|| {
        Refused::Bad(format!(
            "features are a list of {FEATURES} numbers, or null where one is missing"
        ))
    })
}
