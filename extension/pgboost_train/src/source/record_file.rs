//! Rows of a source as records (features, target, weight, bounds, fold) in a temporary file, which is written
//! once; the trainer reads it as often as libxgboost asks.

use std::borrow::Cow;

use pg_interface::temporary_file::TemporaryFile;
use pg_interface::varlena;
use pgboost_trainer::Layout;
use row_source::{Field, Row, SourceError};

use super::columns::{self, ChosenColumns, UsedColumn};
use super::dictionary::{Dictionary, NoCode};
use crate::error::{Error, Result};
use crate::params::objectives::Allowed;

const MAX_CATEGORIES: usize = 65_536;
const MAX_CLASSES: usize = 4_096;

/// The dictionaries of the features and the target, shared by the rows for training and for evaluation.
pub(crate) struct Dictionaries {
    /// By the feature's column; `None` for numbers.
    pub(crate) features: Vec<Option<Dictionary>>,
    /// The target's, if it has classes.
    pub(crate) target: Option<Dictionary>,
}

impl Dictionaries {
    pub(crate) fn new(columns: &ChosenColumns, classes: bool) -> Dictionaries {
        let of =
            |column: &UsedColumn| column.kind.is_text().then(|| Dictionary::new(MAX_CATEGORIES));
        Dictionaries {
            features: columns.features.iter().map(of).collect(),
            target: classes.then(|| Dictionary::new(MAX_CLASSES)),
        }
    }
}

/// Returns the layout of a record. With folds, the number of the fold is the last word.
pub(crate) fn layout(columns: &ChosenColumns, folds: bool) -> Layout {
    let features = columns.width();
    let mut next = features + 1;
    let mut place = |there: bool| {
        there.then(|| {
            next += 1;
            next - 1
        })
    };
    let upper = place(columns.label_upper_bound.is_some());
    let weight = place(columns.weight.is_some());
    place(folds);
    Layout {
        features,
        label: upper.is_none().then_some(features),
        bounds: upper.map(|upper| (features, upper)),
        weight,
        record: next,
    }
}

pub(crate) struct Records<'a> {
    dictionaries: &'a mut Dictionaries,
    layout: Layout,
    record: Vec<f32>,
    /// The argument of the source, for messages.
    argument: &'static str,
    /// The valid values of the target, if they are limited.
    allowed: Option<AllowedTargets>,
}

/// The values of the target that an objective allows.
#[derive(Clone, Copy)]
pub(crate) struct AllowedTargets {
    pub(crate) objective: &'static str,
    pub(crate) allowed: Allowed,
}

impl AllowedTargets {
    fn check(self, column: &UsedColumn, given: f32) -> Result<()> {
        let (is_allowed, allowed) = self.allowed;
        if is_allowed(given) {
            return Ok(());
        }
        let (column, given) = (column.name.clone(), given.to_string());
        let objective = self.objective;
        Err(Error::TargetRange { column, objective, allowed, given })
    }
}

impl<'a> Records<'a> {
    pub(crate) fn new(
        dictionaries: &'a mut Dictionaries,
        layout: Layout,
        argument: &'static str,
        allowed: Option<AllowedTargets>,
    ) -> Records<'a> {
        Records { dictionaries, layout, record: vec![0.0; layout.record], argument, allowed }
    }

    /// Reads a row into a record, with this target, which is not NULL. Does not set the word of the fold. A group
    /// has one weight.
    pub(crate) fn read(
        &mut self,
        columns: &ChosenColumns,
        row: Row<'_>,
        target: Field<'_>,
        group_weight: Option<f32>,
    ) -> Result<&mut [f32]> {
        let target = self.target(columns, target)?;
        let (features, rest) = self.record.split_at_mut(self.layout.features);
        let mut places = features;
        for (column, texts) in columns.features.iter().zip(&mut self.dictionaries.features) {
            let width = column.width().min(places.len());
            let (place, others) = std::mem::take(&mut places).split_at_mut(width);
            places = others;
            match (row.get(column.position), texts, place) {
                (None, _, place) => place.fill(f32::NAN),
                (Some(field), Some(texts), [place]) => {
                    *place = code(column, self.argument, texts.code(&label(field)?), texts)?;
                }
                (Some(field), _, [place]) if column.elements.is_none() => {
                    *place = number(column, field)?;
                }
                (Some(field), _, place) => array(column, field, place)?,
            }
        }
        let mut rest = rest.iter_mut();
        let mut put = |value: f32| {
            if let Some(place) = rest.next() {
                *place = value;
            }
        };
        put(target);
        if let Some(column) = &columns.label_upper_bound {
            put(upper_bound(column, row, target)?);
        }
        if self.layout.weight.is_some() {
            put(group_weight.map_or_else(|| weight(columns, row), Ok)?);
        }
        Ok(&mut self.record)
    }

    fn target(&mut self, columns: &ChosenColumns, field: Field<'_>) -> Result<f32> {
        let column = &columns.target;
        if let Some(classes) = &mut self.dictionaries.target {
            let found = classes.code_of_class(&label(field)?);
            return code(column, self.argument, found, classes);
        }
        let value = number(column, field)?;
        if value.is_nan() {
            let what = "is not a number, so it cannot be learned";
            return Err(SourceError::ValueRefused { column: column.name.clone(), what }.into());
        }
        self.allowed.map_or(Ok(()), |allowed| allowed.check(column, value))?;
        Ok(value)
    }
}

/// Returns the upper bound of a time; libxgboost would take any, and learn NaN.
fn upper_bound(column: &UsedColumn, row: Row<'_>, lower: f32) -> Result<f32> {
    // Without an upper bound the row is censored.
    let upper = row.get(column.position).map_or(f32::INFINITY, columns::number);
    if upper >= lower && upper > 0.0 {
        return Ok(upper);
    }
    let what = if upper.is_nan() {
        "is not a number, so it cannot be an upper bound"
    } else if upper < lower {
        "is less than the target, so it cannot be an upper bound"
    } else {
        "is not greater than 0, so it cannot be an upper bound"
    };
    Err(SourceError::ValueRefused { column: column.name.clone(), what }.into())
}

pub(crate) fn weight(columns: &ChosenColumns, row: Row<'_>) -> Result<f32> {
    let Some(column) = &columns.weight else { return Ok(1.0) };
    let refuse = |what| Err(SourceError::ValueRefused { column: column.name.clone(), what }.into());
    let Some(field) = row.get(column.position) else {
        return refuse("is null, so it cannot be a weight");
    };
    let weight = number(column, field)?;
    match weight {
        0.0.. => Ok(weight),
        _ if weight.is_nan() => refuse("is not a number, so it cannot be a weight"),
        _ => refuse("is negative, so it cannot be a weight"),
    }
}

fn number(column: &UsedColumn, field: Field<'_>) -> Result<f32> {
    finite(column, columns::number(field))
}

fn array(column: &UsedColumn, field: Field<'_>, place: &mut [f32]) -> Result<()> {
    columns::read_elements(&column.name, field, place)?;
    place.iter().try_for_each(|value| finite(column, *value).map(|_| ()))
}

/// Returns a category's or class's text, whose bytes the model must keep apart.
fn label(field: Field<'_>) -> Result<Cow<'_, str>> {
    Ok(varlena::require_unreplaced(field.stored_label(), "a text")?)
}

fn finite(column: &UsedColumn, value: f32) -> Result<f32> {
    if value.is_infinite() {
        return Err(Error::ValueRange { column: column.name.clone() });
    }
    Ok(value)
}

fn code(
    column: &UsedColumn,
    argument: &'static str,
    found: std::result::Result<u32, NoCode>,
    texts: &Dictionary,
) -> Result<f32> {
    let (limit, column) = (texts.limit(), || column.name.clone());
    match found {
        Ok(code) => Ok(code as f32),
        Err(NoCode::Full) => Err(Error::TooManyCategories { column: column(), limit }),
        Err(NoCode::Unknown) => Err(Error::UnknownCategory { column: column(), argument }),
    }
}

/// The most words in memory, approximately.
const BUFFER_WORDS: usize = 1 << 18;

pub(crate) struct Spool {
    file: TemporaryFile,
    rows: u64,
    buffer: Vec<f32>,
}

impl Spool {
    pub(crate) fn new() -> Spool {
        Spool { file: TemporaryFile::new(), rows: 0, buffer: Vec::new() }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: &[f32]) -> Result<()> {
        self.buffer.extend_from_slice(record);
        self.rows += 1;
        if self.buffer.len() >= BUFFER_WORDS { self.flush() } else { Ok(()) }
    }

    /// Writes the rest to the file, and frees the memory.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the file's path, relative to the data directory.
    pub(crate) fn path(&self) -> String {
        self.file.path()
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write(&self.buffer).map_err(SourceError::from)?;
        self.buffer.clear();
        Ok(())
    }
}
