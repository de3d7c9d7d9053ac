//! Categories passed next to a model file: a JSON object from feature name to its values in code order.
//!
//! Values become i64 if all are whole numbers, and f64 otherwise.

use crate::ensemble::Categories;
use crate::error::shown;
use crate::format::json::Json;
use crate::format::reader::{Number, Reader, ValueKind, array, object};
use crate::memory::owned;
use crate::{Cancel, Error, ErrorKind, Result};

/// Reads `{"feature": ["first value", "second value"]}`.
///
/// # Errors
/// [`ErrorKind::Names`] for any malformed input.
pub fn read_categories(json: &str, cancel: Cancel<'_>) -> Result<Vec<(String, Categories)>> {
    let mut all = Vec::new();
    let mut reader = Json::new(json.as_bytes(), cancel);
    if reader.kind()? != ValueKind::Object {
        bail!(Names, "categories must be an object");
    }
    object(&mut reader, |reader, feature| {
        all.push((feature.to_owned(), values(reader, feature)?));
        Ok(())
    })
    .map_err(|error| Error::new(ErrorKind::Names, error.message().to_owned()))?;
    Ok(all)
}

enum Value {
    Text(String),
    Number(Number),
}

fn values(reader: &mut Json<'_, '_>, feature: &str) -> Result<Categories> {
    let fault =
        |what: &str| fault!(Names, "categories of feature \"{}\" must be {what}", shown(feature));
    if reader.kind()? != ValueKind::Array {
        return Err(fault("an array"));
    }
    let values =
        array(reader, Categories::MAX_CODES, "categories", |reader| match reader.kind()? {
            ValueKind::String => Ok(Value::Text(owned(reader.string()?)?)),
            ValueKind::Number => Ok(Value::Number(reader.wide_number()?)),
            _ => Err(fault("strings or numbers")),
        })?;
    if values.is_empty() {
        return Err(fault("at least one"));
    }
    of_one_type(&values).ok_or_else(|| fault("all strings or all numbers"))
}

/// Reads the categories in a model file: all strings, or all numbers.
pub(super) fn of_file<'a, R: Reader<'a>>(reader: &mut R) -> Result<Categories> {
    let values = array(reader, Categories::MAX_CODES, "categories", |reader| {
        Ok(match reader.kind()? {
            ValueKind::String => Value::Text(owned(reader.string()?)?),
            _ => Value::Number(reader.number()?),
        })
    })?;
    of_one_type(&values).ok_or_else(|| {
        reader.error(ErrorKind::WrongType, "categories are neither all strings nor all numbers")
    })
}

fn of_one_type(values: &[Value]) -> Option<Categories> {
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(_) => None,
    };
    let integer = |value: &Value| match value {
        Value::Number(Number::Integer(number)) => Some(*number),
        _ => None,
    };
    let float = |value: &Value| match value {
        Value::Number(Number::Float(number)) => Some(*number),
        Value::Number(Number::Integer(number)) => Some(*number as f64),
        Value::Text(_) => None,
    };
    let all_text = values.iter().map(text).collect::<Option<_>>().map(Categories::Text);
    all_text
        .or_else(|| values.iter().map(integer).collect::<Option<_>>().map(Categories::Integer))
        .or_else(|| values.iter().map(float).collect::<Option<_>>().map(Categories::Float))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Vec<(String, Categories)>> {
        read_categories(json, Cancel::never())
    }

    #[test]
    fn values_have_their_common_type() {
        let found = read(
            r#"{"a": ["x", "é"], "b": [3, -1], "c": [0.5, 9007199254740993, 100000000000000000000]}"#,
        );
        let expected = [
            ("a", Categories::Text(vec!["x".into(), "é".into()])),
            ("b", Categories::Integer(vec![3, -1])),
            ("c", Categories::Float(vec![0.5, 9007199254740992.0, 1e20])),
        ];
        assert_eq!(found.unwrap(), expected.map(|(name, values)| (name.to_owned(), values)));
    }

    #[test]
    fn malformed_categories_are_refused() {
        for wrong in [
            "[]",
            "{\"a\": \"x\"}",
            "{\"a\": []}",
            "{\"a\": [\"x\", 1]}",
            "{\"a\": [null]}",
            "{\"a\": [1e999]}",
        ] {
            assert_eq!(read(wrong).unwrap_err().kind(), ErrorKind::Names, "{wrong}");
        }
    }
}
