//! One row of the source to one record: features, target, weight, bounds.

use pg_interface::source::{Field, Row, SourceError};
use xgboost_ffi::Layout;

use super::columns::{Columns, UsedColumn};
use super::dictionary::{Dictionary, Full};
use super::kind;
use crate::error::{Error, Result};

const MAX_CATEGORIES: usize = 65_536;
const MAX_CLASSES: usize = 4_096;

/// The texts that have been met so far. The rows for evaluation share them with those for training.
pub struct Dictionaries {
    /// By feature; nothing for a number.
    pub features: Vec<Option<Dictionary>>,
    /// Of the target, if it has classes.
    pub target: Option<Dictionary>,
}

impl Dictionaries {
    pub fn new(columns: &Columns, classes: bool) -> Dictionaries {
        let of =
            |column: &UsedColumn| column.kind.is_text().then(|| Dictionary::new(MAX_CATEGORIES));
        Dictionaries {
            features: columns.features.iter().map(of).collect(),
            target: classes.then(|| Dictionary::new(MAX_CLASSES)),
        }
    }
}

/// Where the parts of a record lie.
pub fn layout(columns: &Columns) -> Layout {
    let features = columns.features.len();
    let mut next = features + 1;
    let mut place = |there: bool| {
        there.then(|| {
            next += 1;
            next - 1
        })
    };
    let upper = place(columns.upper_bound.is_some());
    // The weights of groups are told to libxgboost by group.
    let weight = place(columns.weight.is_some() && columns.group.is_none());
    Layout {
        features,
        label: upper.is_none().then_some(features),
        bounds: upper.map(|upper| (features, upper)),
        weight,
        record: next,
    }
}

pub struct Records<'a> {
    columns: &'a Columns,
    dictionaries: &'a mut Dictionaries,
    layout: Layout,
    record: Vec<f32>,
}

impl<'a> Records<'a> {
    pub fn new(columns: &'a Columns, dictionaries: &'a mut Dictionaries) -> Records<'a> {
        let layout = layout(columns);
        Records { columns, dictionaries, layout, record: vec![0.0; layout.record] }
    }

    /// The record of a row, or nothing if its target is NULL.
    pub fn read(&mut self, row: Row<'_>) -> Result<Option<&[f32]>> {
        let Some(target) = row.get(self.columns.target.position) else {
            return Ok(None);
        };
        let target = self.target(target)?;
        let (features, rest) = self.record.split_at_mut(self.layout.features);
        let texts = &mut self.dictionaries.features;
        for ((place, column), text) in features.iter_mut().zip(&self.columns.features).zip(texts) {
            *place = match row.get(column.position) {
                None => f32::NAN,
                Some(field) => match text {
                    None => number(column, field)?,
                    Some(texts) => code(column, texts, field)?,
                },
            };
        }
        let mut rest = rest.iter_mut();
        let mut put = |value: f32| {
            if let Some(place) = rest.next() {
                *place = value;
            }
        };
        put(target);
        if let Some(column) = &self.columns.upper_bound {
            // Nothing is known of the end: the row is censored.
            put(row.get(column.position).map_or(f32::INFINITY, kind::number));
        }
        if self.layout.weight.is_some() {
            put(weight(self.columns, row)?);
        }
        Ok(Some(&self.record))
    }

    fn target(&mut self, field: Field<'_>) -> Result<f32> {
        let column = &self.columns.target;
        if let Some(classes) = &mut self.dictionaries.target {
            return code(column, classes, field);
        }
        let value = number(column, field)?;
        if value.is_nan() {
            let what = "is not a number, so it cannot be learned";
            return Err(SourceError::ValueRefused { column: column.name.clone(), what }.into());
        }
        Ok(value)
    }
}

pub fn weight(columns: &Columns, row: Row<'_>) -> Result<f32> {
    let Some(column) = &columns.weight else { return Ok(1.0) };
    let refuse = |what| Err(SourceError::ValueRefused { column: column.name.clone(), what }.into());
    let Some(field) = row.get(column.position) else {
        return refuse("is null, so it cannot be a weight");
    };
    let weight = number(column, field)?;
    if weight >= 0.0 { Ok(weight) } else { refuse("is negative, so it cannot be a weight") }
}

fn number(column: &UsedColumn, field: Field<'_>) -> Result<f32> {
    let value = kind::number(field);
    if value.is_infinite() {
        return Err(Error::ValueRange { column: column.name.clone() });
    }
    Ok(value)
}

fn code(column: &UsedColumn, texts: &mut Dictionary, field: Field<'_>) -> Result<f32> {
    let text = field.label();
    match texts.code(&text) {
        Ok(code) => Ok(code as f32),
        Err(Full) => {
            let (column, limit) = (column.name.clone(), texts.limit());
            Err(Error::TooManyCategories { column, limit })
        }
    }
}
