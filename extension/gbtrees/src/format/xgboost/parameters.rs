//! Numeric parameters, which XGBoost writes as strings. Some other writers omit the quotes.

use std::borrow::Cow;

use crate::format::reader::{Number, Reader, ValueKind};
use crate::{Error, Place, Result};

/// Reads an integer, quoted or not.
pub(super) fn integer<'a, R: Reader<'a>>(reader: &mut R, key: &str) -> Result<i64> {
    if reader.kind()? == ValueKind::Number {
        return reader.integer();
    }
    let at = Place::Byte(reader.offset());
    let text = reader.string()?;
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(fault!(Parameter, "parameter \"{key}\" is not a whole number").at(at));
    }
    text.parse().map_err(|_| too_large(key).at(at))
}

/// Reads a parameter as it is written, quoted or not.
pub(super) fn word<'a, R: Reader<'a>>(reader: &mut R) -> Result<Cow<'a, str>> {
    if reader.kind()? != ValueKind::Number {
        return reader.string();
    }
    Ok(Cow::Owned(match reader.number()? {
        Number::Integer(number) => number.to_string(),
        Number::Float(number) => (number as f32).to_string(),
    }))
}

/// Reads a list of numbers in any of the spellings that releases have used: a number, `"5E-1"`,
/// `"[5E-1]"`, `"[1E0,2E0]"`.
pub(super) fn floats<'a, R: Reader<'a>>(reader: &mut R, key: &str, max: usize) -> Result<Vec<f32>> {
    if reader.kind()? == ValueKind::Number {
        return reader.float().map(|value| vec![value]);
    }
    let at = Place::Byte(reader.offset());
    let text: Cow<'a, str> = reader.string()?;
    let text = text.trim();
    let list = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(|| not_a_list(key).at(at))?,
        None => text,
    };
    let mut values = Vec::new();
    for part in list.split(',') {
        if values.len() == max {
            return Err(fault!(Limit, "parameter \"{key}\" has more than {max} values").at(at));
        }
        values.push(float(part.trim(), key).map_err(|error| error.at(at))?);
    }
    Ok(values)
}

fn float(text: &str, key: &str) -> Result<f32> {
    let value: f32 = text.parse().map_err(|_| not_a_list(key))?;
    if value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(too_large(key));
    }
    Ok(value)
}

fn not_a_list(key: &str) -> Error {
    fault!(Parameter, "parameter \"{key}\" is neither a number nor a list of numbers")
}

fn too_large(key: &str) -> Error {
    fault!(Number, "parameter \"{key}\" is too large")
}
