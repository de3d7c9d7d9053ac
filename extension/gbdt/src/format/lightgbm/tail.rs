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
                tail.categorical = indices(list, limits);
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
fn indices(list: &[u8], limits: &Limits) -> Vec<usize> {
    let list = std::str::from_utf8(list).unwrap_or_default().trim_end_matches(']');
    list.split(',').take(limits.features).filter_map(|index| index.parse().ok()).collect()
}

/// The lists of categories in a line of JSON, or nothing for `null`.
fn categories(
    json: &[u8],
    limits: &Limits,
    interrupts: &mut Interrupts<'_>,
) -> Result<Vec<Categories>> {
    let mut check_interrupts = || interrupts.check();
    let mut reader = Json::new(json, &mut check_interrupts);
    if reader.kind()? == ValueKind::Null {
        reader.skip()?;
        reader.finish()?;
        return Ok(Vec::new());
    }
    let mut left = Categories::MAX_CODES;
    let lists = array(&mut reader, limits.features, "categorical features", |reader| {
        let mut list = List::default();
        let values = array(reader, left, "categories", |reader| list.add(reader))?;
        left -= values.len();
        Ok(list.categories())
    })?;
    reader.finish()?;
    Ok(lists)
}

/// The categories of a column, all of one type. Booleans are the whole numbers 0 and 1, as a column of
/// them is read; whole numbers among others are numbers like them.
#[derive(Default)]
struct List {
    kind: Option<ValueKind>,
    texts: Vec<String>,
    integers: Vec<i64>,
    floats: Vec<f64>,
}

impl List {
    fn add<'a>(&mut self, reader: &mut Json<'a, '_>) -> Result<()> {
        let kind = reader.kind()?;
        if *self.kind.get_or_insert(kind) != kind {
            let message = "a feature has categories of several types";
            return Err(Error::new(ErrorKind::WrongType, message));
        }
        match kind {
            ValueKind::String => self.texts.push(reader.string()?.into_owned()),
            ValueKind::Bool => self.integers.push(i64::from(reader.boolean()?)),
            _ => match reader.number()? {
                Number::Integer(number) if self.floats.is_empty() => self.integers.push(number),
                Number::Integer(number) => self.floats.push(number as f64),
                Number::Float(number) => {
                    self.floats.extend(self.integers.drain(..).map(|integer| integer as f64));
                    self.floats.push(number);
                }
            },
        }
        Ok(())
    }

    fn categories(self) -> Categories {
        if !self.floats.is_empty() {
            Categories::Float(self.floats)
        } else if !self.integers.is_empty() {
            Categories::Integer(self.integers)
        } else {
            Categories::Text(self.texts)
        }
    }
}
