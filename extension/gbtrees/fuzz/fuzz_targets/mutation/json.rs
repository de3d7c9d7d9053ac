//! Edits of JSON: change a number, replace a value with another, drop or repeat an entry, or copy a
//! member from another text.

use fastrand::Rng;
use serde_json::Value;

use super::NUMBERS;

/// Makes one edit to one of the values.
pub fn edit(bytes: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let mut text: Value = serde_json::from_slice(bytes).ok()?;
    let other = chosen(&mut text, |_| true, random)?.clone();
    let value = chosen(&mut text, |_| true, random)?;
    match value {
        Value::Array(values) if !values.is_empty() && random.bool() => edit_array(values, random),
        Value::Object(entries) if !entries.is_empty() && random.u8(..4) == 0 => {
            let key = entries.keys().nth(random.usize(..entries.len()))?.clone();
            entries.shift_remove(&key);
        }
        Value::Number(_) if random.u8(..4) > 0 => *value = number(value.as_f64()?, random),
        // A value of the same kind is more likely to be accepted.
        _ if std::mem::discriminant(value) == std::mem::discriminant(&other)
            || random.u8(..8) == 0 =>
        {
            *value = other;
        }
        Value::Bool(holds) => *holds = !*holds,
        _ => {}
    }
    serde_json::to_vec(&text).ok()
}

/// Adds a member of an object of `second` to an object of `first` with a common key.
pub fn cross(first: &[u8], second: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let [mut text, mut other]: [Value; 2] =
        [serde_json::from_slice(first).ok()?, serde_json::from_slice(second).ok()?];
    let has_members = |value: &Value| value.as_object().is_some_and(|members| !members.is_empty());
    let giver = chosen(&mut other, has_members, random)?.as_object()?;
    let (key, value) = giver.iter().nth(random.usize(..giver.len()))?;
    let alike = |value: &Value| {
        value.as_object().is_some_and(|members| members.keys().any(|key| giver.contains_key(key)))
    };
    chosen(&mut text, alike, random)?.as_object_mut()?.insert(key.clone(), value.clone());
    serde_json::to_vec(&text).ok()
}

/// Chooses one of the matching values, at any depth.
fn chosen<'v>(
    value: &'v mut Value,
    fits: impl Fn(&Value) -> bool,
    random: &mut Rng,
) -> Option<&'v mut Value> {
    let mut count = 0usize;
    find(value, &mut |value| {
        count += usize::from(fits(value));
        false
    });
    let mut left = random.usize(..count.max(1));
    find(value, &mut |value| {
        let found = fits(value) && left == 0;
        left -= usize::from(!found && fits(value));
        found
    })
}

/// Returns the first match, in pre-order.
fn find<'v>(
    value: &'v mut Value,
    wanted: &mut impl FnMut(&Value) -> bool,
) -> Option<&'v mut Value> {
    if wanted(value) {
        return Some(value);
    }
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| find(value, wanted)),
        Value::Object(members) => members.values_mut().find_map(|value| find(value, wanted)),
        _ => None,
    }
}

fn edit_array(values: &mut Vec<Value>, random: &mut Rng) {
    let [at, other] = [0; 2].map(|_| random.usize(..values.len()));
    match random.u8(..3) {
        0 => {
            values.remove(at);
        }
        1 => values.insert(at, values[at].clone()),
        _ => values.swap(at, other),
    }
}

fn number(old: f64, random: &mut Rng) -> Value {
    let new = match random.u8(..4) {
        0 => old + 1.0,
        1 => old - 1.0,
        2 => -old,
        _ => NUMBERS[random.usize(..NUMBERS.len())],
    };
    // Integers stay integers in the text.
    if new.fract() == 0.0 && new.abs() < 1e15 { Value::from(new as i64) } else { Value::from(new) }
}
