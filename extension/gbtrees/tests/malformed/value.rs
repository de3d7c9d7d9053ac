//! A model as an editable serde_json value, written as JSON or UBJSON.
//!
//! Values that serde_json cannot represent are marked: special numbers are strings with the prefix
//! `f32 `, and repeated keys end in NUL.

use serde_json::Value;

/// Special numbers as XGBoost writes them, and as represented here.
const NAMED: [(&str, &str); 3] =
    [("-Infinity", "\"f32 -inf\""), ("Infinity", "\"f32 inf\""), ("NaN", "\"f32 NaN\"")];

/// A model, valid or not.
#[derive(Clone)]
pub(crate) struct Document(pub Value);

/// Parses XGBoost's JSON, in which special numbers follow a blank.
pub(crate) fn value(text: &str) -> Value {
    let named = |text: String, (name, held): &(&str, &str)| {
        text.replace(&format!(" {name}"), &format!(" {held}"))
    };
    serde_json::from_str(&NAMED.iter().fold(text.to_owned(), named)).unwrap()
}

impl Document {
    /// Returns the value at a path of keys and indices joined by dots.
    pub(crate) fn at(&mut self, path: &str) -> &mut Value {
        let pointer = if path.is_empty() { String::new() } else { format!("/{path}") };
        let found = self.0.pointer_mut(&pointer.replace('.', "/"));
        found.unwrap_or_else(|| panic!("nothing is at {path}"))
    }

    pub(crate) fn set(&mut self, path: &str, value: impl Into<Value>) {
        *self.at(path) = value.into();
    }

    /// Adds a member, even if the key exists.
    pub(crate) fn add(&mut self, path: &str, key: &str, value: impl Into<Value>) {
        let members = self.at(path).as_object_mut().unwrap();
        let mark = if members.contains_key(key) { "\0" } else { "" };
        members.insert(format!("{key}{mark}"), value.into());
    }

    pub(crate) fn remove(&mut self, path: &str, key: &str) {
        let removed = self.at(path).as_object_mut().unwrap().remove(key);
        assert!(removed.is_some(), "no key {key} in {path}");
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let text = self.0.to_string().replace("\\u0000\":", "\":");
        NAMED.iter().fold(text, |text, (name, held)| text.replace(held, name)).into_bytes()
    }

    pub(crate) fn to_ubjson(&self) -> Vec<u8> {
        ubjson(&self.0)
    }
}

/// Encodes as XGBoost does: arrays of numbers typed, other arrays counted, objects neither.
fn ubjson(value: &Value) -> Vec<u8> {
    let float = |number: f32| [&b"d"[..], &number.to_be_bytes()].concat();
    match value {
        Value::Null => b"Z".to_vec(),
        Value::Bool(value) => if *value { b"T" } else { b"F" }.to_vec(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => length(integer),
            None => float(number.as_f64().unwrap() as f32),
        },
        Value::String(text) => match text.strip_prefix("f32 ") {
            Some(number) => float(number.parse().unwrap()),
            None => [b"S", &counted(text)[..]].concat(),
        },
        Value::Array(elements) => array(elements.iter().map(ubjson).collect()),
        Value::Object(members) => {
            let members = members.iter().flat_map(|(key, value)| {
                [counted(key.trim_end_matches('\0')), ubjson(value)].concat()
            });
            b"{".iter().copied().chain(members).chain(*b"}").collect()
        }
    }
}

/// Encodes an integer, such as a length.
fn length(number: i64) -> Vec<u8> {
    [&b"L"[..], &number.to_be_bytes()].concat()
}

fn counted(text: &str) -> Vec<u8> {
    [length(text.len() as i64), text.as_bytes().to_vec()].concat()
}

fn array(elements: Vec<Vec<u8>>) -> Vec<u8> {
    let are = |marker: &u8| elements.iter().all(|element| element[0] == *marker);
    let marker = b"dL".iter().copied().find(are).filter(|_| !elements.is_empty());
    let start = marker.map_or(vec![b'['], |marker| vec![b'[', b'$', marker]);
    let count = [&b"#"[..], &length(elements.len() as i64)].concat();
    let contents = elements.iter().flat_map(|element| &element[usize::from(marker.is_some())..]);
    start.iter().chain(&count).chain(contents).copied().collect()
}
