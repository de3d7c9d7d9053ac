//! What is asked, and what is answered: a body in JSON, a value in JSON.

use gbdt::{Image, Limits, Scratch, compile, parse};
use serde_json::Value;

use crate::flights::{FEATURES, Features, Flights, KEY, Key};

const LARGEST: u32 = i32::MAX as u32;
const MOST_KEYS: usize = 10_000;

type Model = Image<gbdt::forest::AlignedBytes>;
type Failure = Box<dyn std::error::Error>;

/// A request that gets no answer, and why.
pub enum Refused {
    /// It asks for nothing that could be answered.
    Bad(String),
    /// No flight has the key.
    Unknown(String),
}

/// Models and the features to predict from.
pub struct Service {
    models: Vec<Model>,
    flights: Flights,
}

fn opened(path: &str) -> Result<Model, Failure> {
    let mut never = || ();
    let model = parse(&std::fs::read(path)?, &Limits::default(), &mut never)?;
    let image = Image::open(compile(&model, &[], &mut never)?)?;
    if (image.num_features(), image.num_outputs()) != (FEATURES, 1) {
        return Err(
            format!("{path}: a model of {FEATURES} features and one output is wanted").into()
        );
    }
    Ok(image)
}

/// A number of 32 bits as JSON has it, with the digits of the same number of 64 bits.
fn number(value: f32) -> Value {
    Value::from(f64::from(value))
}

fn key(value: &Value) -> Result<Key, Refused> {
    let part = |value: &Value| {
        value.as_u64().and_then(|part| u32::try_from(part).ok()).filter(|part| *part <= LARGEST)
    };
    let parts =
        value.as_array().and_then(|parts| parts.iter().map(part).collect::<Option<Vec<_>>>());
    parts.and_then(|parts| parts.try_into().ok()).ok_or_else(|| {
        let (count, names) = (KEY.len(), KEY.join(", "));
        Refused::Bad(format!("a key is a list of {count} whole numbers up to {LARGEST}: {names}"))
    })
}

fn json(body: &[u8]) -> Result<Value, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Refused::Bad(format!("the body is not JSON: {error}")))
}

impl Service {
    /// Reads the models' files and the flights'.
    pub fn open(models: &[String], flights: &str) -> Result<Self, Failure> {
        let models = models.iter().map(|path| opened(path)).collect::<Result<Vec<_>, _>>()?;
        if models.is_empty() {
            return Err("name a model's file".into());
        }
        Ok(Service { models, flights: Flights::read(flights)? })
    }

    /// How many models it has.
    pub fn models(&self) -> usize {
        self.models.len()
    }

    fn found(&self, key: Key) -> Result<&Features, Refused> {
        let unknown = || Refused::Unknown(format!("no flight has the key {key:?}"));
        self.flights.find(&key).ok_or_else(unknown)
    }

    fn predict(&self, model: usize, features: &Features) -> f32 {
        let mut margin = [0.0];
        let image = &self.models[model];
        image.margins(&mut Scratch::new(image), features, &mut margin);
        image.values(&mut margin);
        margin[0]
    }

    /// The prediction of a model for a key.
    pub fn one(&self, model: usize, body: &[u8]) -> Result<Value, Refused> {
        let features = self.found(key(&json(body)?)?)?;
        Ok(number(self.predict(model, features)))
    }

    /// The predictions for several keys.
    pub fn batch(&self, body: &[u8]) -> Result<Value, Refused> {
        let wanted = json(body)?;
        let keys = wanted.as_array().filter(|keys| (1..=MOST_KEYS).contains(&keys.len()));
        let bad = || Refused::Bad(format!("a batch is a list of 1 to {MOST_KEYS} keys"));
        let one = |value| Ok(number(self.predict(0, self.found(key(value)?)?)));
        keys.ok_or_else(bad)?.iter().map(one).collect()
    }

    /// The first of a flight's features: all that a prediction takes but the prediction.
    pub fn features(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(number(self.found(key(&json(body)?)?)?[0]))
    }

    /// The prediction for features that the request holds; null is a missing one.
    pub fn given(&self, body: &[u8]) -> Result<Value, Refused> {
        let feature = |value: &Value| match value {
            Value::Null => Some(f32::NAN),
            value => value.as_f64().map(|value| value as f32),
        };
        let row = json(body)?;
        let features =
            row.as_array().and_then(|row| row.iter().map(feature).collect::<Option<Vec<_>>>());
        let features = features.and_then(|row| row.try_into().ok()).ok_or_else(|| {
            Refused::Bad(format!(
                "features are a list of {FEATURES} numbers, or null where one is missing"
            ))
        })?;
        Ok(number(self.predict(0, &features)))
    }

    /// The predictions of all models for a key.
    pub fn all(&self, body: &[u8]) -> Result<Value, Refused> {
        let features = self.found(key(&json(body)?)?)?;
        Ok((0..self.models()).map(|model| number(self.predict(model, features))).collect())
    }
}
