//! The lines after the trees: importances, the parameters of the training, and the categories of the
//! data frame that the model was trained on.
//!
//! Only Python writes the last of these. Files that other programs wrote may end after any of the parts,
//! so whether one has been cut off shows only inside a part.

use super::lines::{Line, Lines};
use crate::format::json::Json;
use crate::format::reader::{Interrupts, Number, Reader, ValueKind, array};
use crate::model::Categories;
use crate::{Error, ErrorKind, Limits, Place, Result};

#[derive(Default)]
pub(super) struct Tail {
    /// The features that the parameter `categorical_feature` lists.
    pub categorical: Vec<usize>,
    /// The categories of each column of the frame that had some, in the columns' order.
    pub categories: Vec<Categories>,
    /// Where they stand.
    pub place: Place,
}

const PARAMETERS: &[u8] = b"parameters:";
const END_OF_PARAMETERS: &[u8] = b"end of parameters";
const CATEGORICAL: &[u8] = b"[categorical_feature: ";
const CATEGORIES: &[u8] = b"pandas_categorical:";

pub(super) fn read(lines: &mut Lines<'_, '_>, limits: &Limits) -> Result<Tail> {
    let mut tail = Tail::default();
    let mut in_parameters = false;
    while let Some(line) = lines.next() {
        if in_parameters {
            if line.bytes == END_OF_PARAMETERS {
                in_parameters = false;
            } else if let Some(list) = line.bytes.strip_prefix(CATEGORICAL) {
                tail.categorical = indices(list);
            }
        } else if line.bytes == PARAMETERS {
            in_parameters = true;
        } else if let Some(json) = line.bytes.strip_prefix(CATEGORIES) {
            tail.categories = categories(json, limits, lines.interrupts())
                .map_err(|error| error.at(place(line)))?;
            tail.place = place(line);
            lines.skip_empty();
            if let Some(line) = lines.next() {
                let message = "the model is followed by further lines";
                return Err(Error::new(ErrorKind::Syntax, message).at(place(line)));
            }
            return Ok(tail);
        } else if !line.ended && !line.bytes.is_empty() {
            return Err(
                Error::new(ErrorKind::Truncated, "model ends within a line").at(place(line))
            );
        }
    }
    if in_parameters {
        return Err(Error::new(ErrorKind::Truncated, "model ends before \"end of parameters\"")
            .at(Place::Line { line: lines.number(), tree: None }));
    }
    Ok(tail)
}

fn place(line: Line<'_>) -> Place {
    Place::Line { line: line.number, tree: None }
}

/// The numbers of a list such as `2,5]`; names, which the parameter may have too, tell nothing.
fn indices(list: &[u8]) -> Vec<usize> {
    let list = std::str::from_utf8(list).unwrap_or_default();
    list.trim_end_matches(']').split(',').filter_map(|index| index.parse().ok()).collect()
}

/// The lists of categories in a line of JSON, or nothing for `null`.
fn categories(
    json: &[u8],
    limits: &Limits,
    interrupts: &mut Interrupts<'_>,
) -> Result<Vec<Categories>> {
    let mut check_interrupts = || interrupts.check();
    let mut reader = Json::new(json, &mut check_interrupts);
    let lists = if reader.kind()? == ValueKind::Null {
        reader.skip()?;
        Vec::new()
    } else {
        array(&mut reader, limits.features, "categorical features", |reader| {
            array(reader, Categories::MAX_CODES, "categories", value)
        })?
    };
    reader.finish()?;
    lists.into_iter().map(of_one_kind).collect()
}

enum Value {
    Text(String),
    Number(Number),
    Flag(bool),
}

fn value<'a>(reader: &mut Json<'a, '_>) -> Result<Value> {
    match reader.kind()? {
        ValueKind::String => Ok(Value::Text(reader.string()?.into_owned())),
        ValueKind::Bool => Ok(Value::Flag(reader.boolean()?)),
        _ => Ok(Value::Number(reader.number()?)),
    }
}

/// Categories of one kind: booleans are the whole numbers 0 and 1, as a column of them is read; whole
/// numbers among others are numbers like them.
fn of_one_kind(values: Vec<Value>) -> Result<Categories> {
    let mut texts = Vec::new();
    let (mut flags, mut integers, mut floats) = (Vec::new(), Vec::new(), Vec::new());
    let count = values.len();
    for value in values {
        match value {
            Value::Text(text) => texts.push(text),
            Value::Flag(flag) => flags.push(i64::from(flag)),
            Value::Number(Number::Integer(number)) => {
                integers.push(number);
                floats.push(number as f64);
            }
            Value::Number(Number::Float(number)) => floats.push(number),
        }
    }
    let whole = [texts.len(), flags.len(), integers.len(), floats.len()].map(|len| len == count);
    match whole {
        [true, ..] => Ok(Categories::Text(texts)),
        [_, true, ..] => Ok(Categories::Integer(flags)),
        [_, _, true, _] => Ok(Categories::Integer(integers)),
        [_, _, _, true] => Ok(Categories::Float(floats)),
        _ => {
            let message = "a feature has categories of several types";
            Err(Error::new(ErrorKind::WrongType, message))
        }
    }
}
