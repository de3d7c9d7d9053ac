//! The contract of the ladder (bench/rungs/README.md): raw rows, features, and keys of a rows.json.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::{Failure, Model, Refused, features, json, number};

// The candidates of a key, as bench/caller/rows/best.go has them.
const CANDIDATES: usize = 1_682;
const STRIDE: usize = 7_919;
const WANTED: usize = 10;

/// The codes of a column's categories; none of a column of numbers.
type Codes = Option<HashMap<String, f32>>;

/// A model, its columns, and the features of each row.
pub struct Rows {
    model: Model,
    columns: Vec<Codes>,
    features: Vec<Vec<f32>>,
}

fn codes(column: &Value) -> Codes {
    let names = column["categories"].as_array()?.iter().filter_map(Value::as_str);
    Some(names.enumerate().map(|(code, name)| (name.to_owned(), code as f32)).collect())
}

impl Rows {
    /// Reads the model's file and the rows'.
    pub fn open(model: &str, path: &str) -> Result<Self, Failure> {
        let known: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let list = |name: &str| known[name].as_array().ok_or(format!("{path}: no list {name}"));
        let columns: Vec<Codes> = list("columns")?.iter().map(codes).collect();
        let row = |row: &Value| {
            features(row, columns.len()).map_err(|_| format!("{path}: a damaged row"))
        };
        let features = list("features")?.iter().map(row).collect::<Result<Vec<_>, _>>()?;
        Ok(Rows { model: Model::open(model, columns.len())?, columns, features })
    }

    fn predict(&self, row: &[f32]) -> Value {
        number(self.model.predictor()(row))
    }

    fn row(&self, key: &Value) -> Result<&[f32], Refused> {
        let place = key.as_u64().and_then(|key| usize::try_from(key).ok()?.checked_sub(1));
        let row = place.and_then(|place| self.features.get(place));
        row.map(Vec::as_slice).ok_or_else(|| Refused::Unknown(format!("no row has the key {key}")))
    }

    /// Nothing.
    pub fn ping(&self, _: &[u8]) -> Result<Value, Refused> {
        Ok(number(0.0))
    }

    /// A raw row that is read, and not predicted.
    pub fn echo(&self, body: &[u8]) -> Result<Value, Refused> {
        json(body).map(|_| number(0.0))
    }

    /// The prediction for features.
    pub fn features(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(&features(&json(body)?, self.columns.len())?))
    }

    /// The prediction for a row with its text; an unknown category counts as missing.
    pub fn raw(&self, body: &[u8]) -> Result<Value, Refused> {
        let row = json(body)?;
        let values = row.as_array().filter(|values| values.len() == self.columns.len());
        let bad = || Refused::Bad(format!("a row has {} values", self.columns.len()));
        let feature = |(value, codes): (&Value, &Codes)| match (value, codes) {
            (Value::String(text), Some(codes)) => codes.get(text).copied().unwrap_or(f32::NAN),
            (value, _) => value.as_f64().map_or(f32::NAN, |value| value as f32),
        };
        let row: Vec<f32> =
            values.ok_or_else(bad)?.iter().zip(&self.columns).map(feature).collect();
        Ok(self.predict(&row))
    }

    /// The prediction for a key.
    pub fn key(&self, body: &[u8]) -> Result<Value, Refused> {
        Ok(self.predict(self.row(&json(body)?)?))
    }

    /// The predictions for a list of keys.
    pub fn keys(&self, body: &[u8]) -> Result<Value, Refused> {
        let wanted = json(body)?;
        let keys =
            wanted.as_array().ok_or_else(|| Refused::Bad("a list of keys is wanted".into()))?;
        let mut predict = self.model.predictor();
        keys.iter().map(|key| Ok(number(predict(self.row(key)?)))).collect()
    }

    /// The best of a key's candidates, of equal ones the smaller first.
    pub fn top(&self, body: &[u8]) -> Result<Value, Refused> {
        let key = json(body)?;
        self.row(&key)?;
        let (first, count) = (key.as_u64().unwrap_or(0) as usize * STRIDE, self.features.len());
        let mut predict = self.model.predictor();
        let mut found: Vec<(f32, usize)> = (0..CANDIDATES)
            .map(|number| (first + number) % count)
            .map(|row| (predict(&self.features[row]), row + 1))
            .collect();
        let better = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        found.select_nth_unstable_by(WANTED, better);
        found[..WANTED].sort_unstable_by(better);
        Ok(found[..WANTED].iter().map(|(_, id)| Value::from(*id)).collect())
    }
}
