//! What the features are in the rows that a model is trained on, kept with the version for `feature_drift`.
//!
//! Numbers are collected as they are read. Texts are counted by their codes, which the dictionaries hold
//! anyway, so that a profile has no limit of its own.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use row_source::SourceError;
use row_source::distribution::{Collector, FeatureProfile, Values};
use serde_json::{Value, json};

use crate::source::columns::{Columns, UsedColumn};
use crate::source::records::Dictionaries;

pub struct Profile {
    collector: Collector,
    rows: u64,
    /// By feature and code, how often a text was met.
    codes: Vec<Vec<u64>>,
    /// By feature, the place of its column.
    columns: Vec<usize>,
}

impl Profile {
    pub fn of(columns: &Columns) -> Profile {
        let features = columns.feature_names().map(|(name, kind)| (name, kind.is_text()));
        let places = columns.features.iter().map(UsedColumn::width).enumerate();
        Profile {
            collector: Collector::of(features),
            rows: 0,
            codes: vec![Vec::new(); columns.width()],
            columns: places.flat_map(|(place, width)| repeat_n(place, width)).collect(),
        }
    }

    /// Takes in the features of a record.
    pub fn add(&mut self, record: &[f32]) -> Result<(), SourceError> {
        self.rows += 1;
        for (index, (codes, value)) in self.codes.iter_mut().zip(record).enumerate() {
            if !self.collector.is_categorical(index) {
                self.collector.number(index, *value)?;
            } else if !value.is_nan() {
                let code = *value as usize;
                if codes.len() <= code {
                    codes.resize(code + 1, 0);
                }
                codes.get_mut(code).into_iter().for_each(|count| *count += 1);
            }
        }
        Ok(())
    }

    /// The profiles as pgboost's `set_baseline` takes them.
    pub fn json(mut self, dictionaries: &Dictionaries) -> Result<Value, SourceError> {
        for (index, (codes, column)) in self.codes.into_iter().zip(self.columns).enumerate() {
            let Some(Some(texts)) = dictionaries.features.get(column) else { continue };
            let count = |(text, code): (&str, u32)| {
                let count = codes.get(code as usize).copied().filter(|count| *count > 0)?;
                Some((text.to_owned(), count))
            };
            let texts: BTreeMap<String, u64> = texts.all().into_iter().filter_map(count).collect();
            self.collector.set_texts(index, self.rows, texts);
        }
        Ok(self.collector.profiles()?.iter().map(object).collect())
    }
}

fn object(profile: &FeatureProfile) -> Value {
    let mut object = json!({
        "feature": profile.feature, "rows": profile.rows, "missing": profile.missing,
    });
    let values = match &profile.values {
        Values::Numbers(points) => json!({
            "numbers": points.iter().map(|point| point.number).collect::<Vec<_>>(),
            "below": points.iter().map(|point| point.below).collect::<Vec<_>>(),
            "upto": points.iter().map(|point| point.upto).collect::<Vec<_>>(),
        }),
        Values::Categories(categories) => json!({
            "categories": categories.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "shares": categories.iter().map(|(_, share)| share).collect::<Vec<_>>(),
        }),
    };
    if let (Some(object), Value::Object(values)) = (object.as_object_mut(), values) {
        object.extend(values);
    }
    object
}
