//! Edits of a JSON text: another number, a value in another's place, an entry less or twice.

use fastrand::Rng;
use serde_json::Value;

use super::NUMBERS;

/// One edit of one of the text's values.
pub fn edit(bytes: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let mut text: Value = serde_json::from_slice(bytes).ok()?;
    let mut places = Vec::new();
    collect(&text, String::new(), &mut places);
    let place = &places[random.usize(..places.len())];
    let other = text.pointer(&places[random.usize(..places.len())])?.clone();
    let value = text.pointer_mut(place)?;
    match value {
        Value::Array(values) if !values.is_empty() && random.bool() => edit_array(values, random),
        Value::Object(entries) if !entries.is_empty() && random.u8(..4) == 0 => {
            let key = entries.keys().nth(random.usize(..entries.len()))?.clone();
            entries.shift_remove(&key);
        }
        Value::Number(_) if random.u8(..4) > 0 => *value = number(value.as_f64()?, random),
        // Of the same kind it is more likely to be read.
        _ if std::mem::discriminant(value) == std::mem::discriminant(&other) || random.u8(..8) == 0 => {
            *value = other;
        }
        Value::Bool(holds) => *holds = !*holds,
        _ => {}
    }
    serde_json::to_vec(&text).ok()
}

/// The JSON pointers of a value and of all within.
fn collect(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                collect(value, format!("{place}/{index}"), places);
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{place}/{key}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
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
    // Whole numbers stay whole in the text.
    if new.fract() == 0.0 && new.abs() < 1e15 { Value::from(new as i64) } else { Value::from(new) }
}
