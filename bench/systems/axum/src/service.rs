//! The comparison's requests, and their answers.

use serde_json::Value;

use crate::flights::{Features, Flights, KEY, Key};
use crate::model::{Failure, Model, Refused, features, json, number};
use crate::offers::{Offer, Offers, Trip, Wanted};

const LARGEST: u32 = i32::MAX as u32;
const MOST_KEYS: usize = 10_000;

/// The offers that come back, and the size of the categories of offers that are ranked after a write.
const BEST: usize = 10;
const SMALLEST: usize = 10;

/// The models and the stores.
pub struct Service {
    models: Vec<Model>,
    flights: Flights,
    offers: Offers,
}

/// Parses a list of whole numbers.
fn numbers<const N: usize>(body: &Value) -> Result<[u32; N], Refused> {
    let whole = |value: &Value| value.as_u64().and_then(|one| u32::try_from(one).ok());
    let found = body.as_array().and_then(|all| all.iter().map(whole).collect::<Option<Vec<_>>>());
    found
        .and_then(|all| all.try_into().ok())
        .ok_or_else(|| Refused::Bad(format!("a ranking is a list of {N} numbers")))
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
        let models = models.iter().map(|path| Model::open(path)).collect::<Result<Vec<_>, _>>()?;
        if models.is_empty() {
            return Err("name a model's file".into());
        }
        Ok(Service {
            models,
            flights: Flights::open(flights).await?,
            offers: Offers::open(flights).await?,
        })
    }

    /// The number of models.
    pub fn models(&self) -> usize {
        self.models.len()
    }

    async fn found(&self, body: &[u8]) -> Result<Features, Refused> {
        Ok(self.flights.find(&[key(&json(body)?)?]).await?[0])
    }

    fn predict(&self, model: usize, features: Features) -> Value {
        number(self.models[model].predict(&[features])[0])
    }

    /// Predicts for a key by one of the models.
    pub async fn one(&self, model: usize, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(model, self.found(body).await?))
    }

    /// Predicts for several keys.
    pub async fn batch(&self, body: &[u8]) -> Result<Value, Refused> {
        let wanted = json(body)?;
        let keys = wanted.as_array().filter(|keys| (1..=MOST_KEYS).contains(&keys.len()));
        let bad = || Refused::Bad(format!("a batch is a list of 1 to {MOST_KEYS} keys"));
        let keys = keys.ok_or_else(bad)?.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        let rows = self.flights.find(&keys).await?;
        Ok(self.models[0].predict(&rows).into_iter().map(number).collect())
    }

    /// Returns the first of a flight's features: the work of a prediction without the prediction.
    pub async fn features(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(number(self.found(body).await?[0]))
    }

    /// Predicts for features in the request; null is a missing one.
    pub async fn given(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(0, features(&json(body)?)?))
    }

    /// Returns the best offers of a category of a size for a trip.
    pub async fn rank(&self, size: usize, body: &[u8]) -> Result<Value, Refused> {
        let [trip, category] = numbers(&json(body)?)?;
        let trip = Wanted::Trip(trip as usize);
        self.ranked(&self.offers.of_category(trip, size, category as usize).await?)
    }

    /// Returns the best of the offers whose ids are in the request for a trip.
    pub async fn rank_ids(&self, body: &[u8]) -> Result<Value, Refused> {
        let body = json(body)?;
        let bad =
            || Refused::Bad(format!("a ranking is a trip and a list of 1 to {MOST_KEYS} ids"));
        let whole = |value: &Value| value.as_u64().map(|one| one as usize);
        let trip = body.get(0).and_then(whole).ok_or_else(bad)?;
        let ids = body.get(1).and_then(Value::as_array).ok_or_else(bad)?;
        let ids = ids.iter().map(whole).collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        if !(1..=MOST_KEYS).contains(&ids.len()) {
            return Err(bad());
        }
        self.ranked(&self.offers.of_ids(trip, &ids).await?)
    }

    /// Writes a trip's features, and ranks with them.
    pub async fn fresh(&self, body: &[u8]) -> Result<Value, Refused> {
        let [trip, new @ .., category] = numbers::<7>(&json(body)?)?;
        let trip = Wanted::Written(trip as usize, new.map(|one| one as f32));
        self.ranked(&self.offers.of_category(trip, SMALLEST, category as usize).await?)
    }

    fn ranked(&self, (trip, offers): &(Trip, Vec<Offer>)) -> Result<Value, Refused> {
        let rows: Vec<Features> = offers.iter().map(|offer| offer.row(trip)).collect();
        let scores = self.models[0].predict(&rows);
        let mut order: Vec<(i32, f32)> = offers.iter().map(|offer| offer.id).zip(scores).collect();
        let before = |a: &(i32, f32), b: &(i32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if order.len() > BEST {
            order.select_nth_unstable_by(BEST - 1, before);
            order.truncate(BEST);
        }
        order.sort_unstable_by(before);
        Ok(order
            .into_iter()
            .map(|(id, score)| Value::from(vec![Value::from(id), number(score)]))
            .collect())
    }
}
