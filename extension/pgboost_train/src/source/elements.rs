//! Columns of arrays: each element is a feature, `image[1]`, `image[2]` and so on, as a subscript names it.
//!
//! Arrays of one column are of one length, which the first row says. Their dimensions do not matter: what
//! counts is the order in which PostgreSQL stores the elements. An array that is NULL has missing elements.

use row_source::{Field, Row};

use crate::error::{Error, Result};

/// Most characters of an array in a message.
const MAX_SHOWN: usize = 80;

/// How long the first array of a column is; `position` is its place in a row of the query.
pub fn measured(column: &str, position: usize, row: Row<'_>) -> Result<usize> {
    let fail = |what| Err(Error::ArrayUnmeasured { column: column.to_owned(), what });
    let Some(field) = row.get(position) else { return fail("null") };
    match field.elements() {
        Some(elements) if elements.len() > 0 => Ok(elements.len()),
        _ => fail("empty"),
    }
}

/// The elements as f32, NaN for a NULL. `place` is as long as the column is wide.
pub fn read(column: &str, field: Field<'_>, place: &mut [f32]) -> Result<()> {
    let count = match field.reals() {
        Some(reals) if reals.len() == place.len() => {
            place.copy_from_slice(reals);
            reals.len()
        }
        Some(reals) => reals.len(),
        None => {
            let elements = field.elements().into_iter().flatten();
            let mut count = 0;
            let mut places = place.iter_mut();
            for element in elements {
                count += 1;
                if let Some(place) = places.next() {
                    *place = element.map_or(f32::NAN, |number| number.single());
                }
            }
            count
        }
    };
    if count == place.len() { Ok(()) } else { Err(other_length(column, field, place.len(), count)) }
}

#[cold]
fn other_length(column: &str, field: Field<'_>, expected: usize, given: usize) -> Error {
    let written = field.written();
    let mut array: String = written.chars().take(MAX_SHOWN).collect();
    if array.len() < written.len() {
        array.push_str("...");
    }
    Error::ArrayLength { column: column.to_owned(), expected, given, array }
}
