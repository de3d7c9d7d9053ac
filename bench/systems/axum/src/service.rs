//! The comparison's requests, and their answers.

use serde_json::Value;

use crate::flights::{FEATURES, Features, Flights, KEY, Key};
use crate::model::{Failure, Model, Refused, features, json, number};

const LARGEST: u32 = i32::MAX as u32;
const MOST_KEYS: usize = 10_000;

/// The models and the store.
pub struct Service {
    models: Vec<Model>,
    flights: Flights,
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

impl Service {
    /// Reads the models' files and opens the store.
    pub async fn open(models: &[String], flights: &str) -> Result<Self, Failure> {
        let models =
            models.iter().map(|path| Model::open(path, FEATURES)).collect::<Result<Vec<_>, _>>()?;
        if models.is_empty() {
            return Err("name a model's file".into());
        }
        Ok(Service { models, flights: Flights::open(flights).await? })
    }

    /// The number of models.
    pub fn models(&self) -> usize {
        self.models.len()
    }

    async fn found(&self, body: &[u8]) -> Result<Features, Refused> {
        Ok(self.flights.find(&[key(&json(body)?)?]).await?[0])
    }

    fn predict(&self, model: usize, features: &[f32]) -> Value {
        number(self.models[model].predictor()(features))
    }

    /// Predicts for a key by one of the models.
    pub async fn one(&self, model: usize, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(model, &self.found(body).await?))
    }

    /// Predicts for several keys.
    pub async fn batch(&self, body: &[u8]) -> Result<Value, Refused> {
        let wanted = json(body)?;
        let keys = wanted.as_array().filter(|keys| (1..=MOST_KEYS).contains(&keys.len()));
        let bad = || Refused::Bad(format!("a batch is a list of 1 to {MOST_KEYS} keys"));
        let keys = keys.ok_or_else(bad)?.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        let rows = self.flights.find(&keys).await?;
        Ok(rows.iter().map(|row| self.predict(0, row)).collect())
    }

    /// Returns the first of a flight's features: the work of a prediction without the prediction.
    pub async fn features(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(number(self.found(body).await?[0]))
    }

    /// Predicts for features in the request; null is a missing one.
    pub async fn given(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(0, &features(&json(body)?, FEATURES)?))
    }

    /// Predicts for a key by all models.
    pub async fn all(&self, body: &[u8]) -> Result<Value, Refused> {
        let features = self.found(body).await?;
        Ok((0..self.models()).map(|model| self.predict(model, &features)).collect())
    }
}
