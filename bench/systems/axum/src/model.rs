//! A model, and what requests and answers have in common: a body in JSON, a value in JSON.

use gbdt::{Image, Limits, Scratch, compile, parse};
use serde_json::Value;

pub type Failure = Box<dyn std::error::Error>;

/// A request that gets no answer, and why.
pub enum Refused {
    /// It asks for nothing that could be answered.
    Bad(String),
    /// No row has the key.
    Unknown(String),
}

/// A model of one output, which threads share.
pub struct Model(Image<gbdt::forest::AlignedBytes>);

impl Model {
    /// Reads a file of a model of so many features.
    pub fn open(path: &str, features: usize) -> Result<Self, Failure> {
        let mut never = || ();
        let model = parse(&std::fs::read(path)?, &Limits::default(), &mut never)?;
        let image = Image::open(compile(&model, &[], &mut never)?)?;
        if (image.num_features(), image.num_outputs()) != (features, 1) {
            return Err(
                format!("{path}: a model of {features} features and one output is wanted").into()
            );
        }
        Ok(Model(image))
    }

    /// What predicts rows, one after the other.
    pub fn predictor(&self) -> impl FnMut(&[f32]) -> f32 {
        let (image, mut scratch) = (&self.0, Scratch::new(&self.0));
        move |features| {
            let mut margin = [0.0];
            // Whoever reads features sees to their number.
            image.margins(&mut scratch, features, &mut margin).expect("all features");
            image.values(&mut margin);
            margin[0]
        }
    }
}

/// A number of 32 bits as JSON has it, with the digits of the same number of 64 bits.
pub fn number(value: f32) -> Value {
    Value::from(f64::from(value))
}

/// A body.
pub fn json(body: &[u8]) -> Result<Value, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Refused::Bad(format!("the body is not JSON: {error}")))
}

/// Features: a list of so many numbers, null where one is missing.
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
