//! A model, and the JSON of requests and answers.

use gbtrees::{Output, Rows};
use serde_json::Value;

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
    /// Reads the file of a model with that number of features.
    pub fn open(path: &str, features: usize) -> Result<Self, Failure> {
        let model = gbtrees::Model::load(&std::fs::read(path)?)?;
        if (model.num_features(), model.num_outputs()) != (features, 1) {
            return Err(
                format!("{path}: a model of {features} features and one output is wanted").into()
            );
        }
        Ok(Model(model))
    }

    /// Returns a predictor of rows, one after the other.
    pub fn predictor(&self) -> impl FnMut(&[f32]) -> f32 {
        let mut predictor = self.0.predictor();
        move |features| {
            let mut value = [0.0];
            // Whoever reads features sees to their number.
            let row = Rows::dense(features, [1, features.len()]).expect("one row");
            predictor.predict_into(&row, Output::Value, &mut value).expect("all features");
            value[0]
        }
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

/// Parses features: a list of `count` numbers, with null for a missing one.
pub fn features(row: &Value, count: usize) -> Result<Vec<f32>, Refused> {
    let feature = |value: &Value| match value {
        Value::Null => Some(f32::NAN),
        value => value.as_f64().map(|value| value as f32),
    };
    let found = row.as_array().and_then(|row| row.iter().map(feature).collect::<Option<Vec<_>>>());
    found.filter(|row| row.len() == count).ok_or_else(|| {
        Refused::Bad(format!(
            "features are a list of {count} numbers, or null where one is missing"
        ))
    })
}
