//! A document as a value, to be edited and then written as JSON or as UBJSON.

#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Flag(bool),
    Integer(i64),
    Float(f32),
    Text(String),
    List(Vec<Value>),
    /// In order, since keys may repeat.
    Map(Vec<(String, Value)>),
}

use Value::{Flag, Float, Integer, List, Map, Null, Text};

pub fn text(value: &str) -> Value {
    Text(value.to_owned())
}

pub fn integers(values: &[i64]) -> Value {
    List(values.iter().map(|value| Integer(*value)).collect())
}

pub fn floats(values: &[f32]) -> Value {
    List(values.iter().map(|value| Float(*value)).collect())
}

pub fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Null,
            serde_json::Value::Bool(value) => Flag(value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(integer) => Integer(integer),
                None => Float(number.as_f64().unwrap() as f32),
            },
            serde_json::Value::String(text) => match text.strip_prefix("f32 ") {
                Some(number) => Float(number.parse().unwrap()),
                None => Text(text),
            },
            serde_json::Value::Array(values) => List(values.into_iter().map(Into::into).collect()),
            serde_json::Value::Object(members) => {
                Map(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl Value {
    /// A value as JSON, with NaN and the infinities as XGBoost writes them.
    pub fn from_text(text: &str) -> Value {
        let quoted = ["-Infinity", "Infinity", "NaN"].iter().fold(text.to_owned(), |text, word| {
            text.replace(&format!(" {word}"), &format!(" \"f32 {word}\""))
        });
        serde_json::from_str::<serde_json::Value>(&quoted).unwrap().into()
    }

    /// What stands at a path: keys and indices with dots between them.
    pub fn at(&mut self, path: &str) -> &mut Value {
        let steps = path.split('.').filter(|step| !step.is_empty());
        steps.fold(self, |value, step| match value {
            Map(members) => {
                let member = members.iter_mut().find(|(key, _)| key == step);
                &mut member.unwrap_or_else(|| panic!("no key {step} in {path}")).1
            }
            List(elements) => &mut elements[step.parse::<usize>().unwrap()],
            _ => panic!("{step} of {path} is in no container"),
        })
    }

    pub fn set(&mut self, path: &str, value: Value) {
        *self.at(path) = value;
    }

    /// Adds a member, whether or not there is one of this key.
    pub fn add(&mut self, path: &str, key: &str, value: Value) {
        match self.at(path) {
            Map(members) => members.push((key.to_owned(), value)),
            _ => panic!("{path} is no object"),
        }
    }

    pub fn remove(&mut self, path: &str, key: &str) {
        let Map(members) = self.at(path) else { panic!("{path} is no object") };
        let before = members.len();
        members.retain(|(name, _)| name != key);
        assert_eq!(members.len() + 1, before, "no key {key} in {path}");
    }

    pub fn to_json(&self) -> Vec<u8> {
        let mut out = String::new();
        self.write_json(&mut out);
        out.into_bytes()
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Null => out.push_str("null"),
            Flag(value) => out.push_str(&value.to_string()),
            Integer(value) => out.push_str(&value.to_string()),
            Float(value) if value.is_nan() => out.push_str("NaN"),
            Float(value) if value.is_infinite() => {
                out.push_str(if *value > 0.0 { "Infinity" } else { "-Infinity" });
            }
            Float(value) => out.push_str(&format!("{value:e}")),
            Text(value) => out.push_str(&format!("{value:?}")),
            List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    element.write_json(out);
                }
                out.push(']');
            }
            Map(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    out.push_str(&format!("{key:?}:"));
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }

    /// As XGBoost writes it: arrays of numbers typed, other arrays counted, objects neither.
    pub fn to_ubjson(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_ubjson(&mut out);
        out
    }

    fn write_ubjson(&self, out: &mut Vec<u8>) {
        match self {
            Null => out.push(b'Z'),
            Flag(value) => out.push(if *value { b'T' } else { b'F' }),
            Integer(value) => {
                out.push(b'L');
                out.extend(value.to_be_bytes());
            }
            Float(value) => {
                out.push(b'd');
                out.extend(value.to_be_bytes());
            }
            Text(value) => {
                out.push(b'S');
                write_text(value, out);
            }
            List(elements) => write_list(elements, out),
            Map(members) => {
                out.push(b'{');
                for (key, value) in members {
                    write_text(key, out);
                    value.write_ubjson(out);
                }
                out.push(b'}');
            }
        }
    }
}

fn write_text(value: &str, out: &mut Vec<u8>) {
    write_length(value.len(), out);
    out.extend(value.as_bytes());
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    out.push(b'L');
    out.extend((length as i64).to_be_bytes());
}

fn write_list(elements: &[Value], out: &mut Vec<u8>) {
    let all_floats = elements.iter().all(|element| matches!(element, Float(_)));
    let all_integers = elements.iter().all(|element| matches!(element, Integer(_)));
    let element_type = match (elements.is_empty(), all_floats, all_integers) {
        (false, true, _) => Some(b'd'),
        (false, _, true) => Some(b'L'),
        _ => None,
    };
    out.push(b'[');
    if let Some(element_type) = element_type {
        out.extend([b'$', element_type]);
    }
    out.push(b'#');
    write_length(elements.len(), out);
    for element in elements {
        let start = out.len();
        element.write_ubjson(out);
        if element_type.is_some() {
            out.remove(start);
        }
    }
}
