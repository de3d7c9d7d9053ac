//! JSON values made of an input's bytes: known names and words more often than others, and numbers at the
//! bounds of what a parameter takes.

use libfuzzer_sys::arbitrary::Unstructured;
use serde_json::{Map, Number, Value, json};

use crate::params::objectives::{metric_names, objective_names};
use crate::params::{Parameter, REFUSED, SPECIAL, TABLE, ValueRule};

const DEEPEST: u32 = 3;
const MOST: u32 = 6;

/// The rest of an input.
pub struct Drawn<'a>(pub Unstructured<'a>);

impl Drawn<'_> {
    pub fn whether(&mut self) -> bool {
        self.0.arbitrary().unwrap_or(false)
    }

    /// A number below a bound above zero; zero at the input's end.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0.int_in_range(0..=bound - 1).unwrap_or(0)
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    /// An object whose names are mostly those of parameters.
    pub fn object(&mut self, depth: u32) -> Value {
        let mut object = Map::new();
        for _ in 0..self.below(MOST) {
            let parameter = &TABLE[self.below(TABLE.len() as u32) as usize];
            let entry = match self.below(8) {
                0 => (self.text(), self.value(depth + 1)),
                1 => (self.any(REFUSED).0.to_owned(), self.value(depth + 1)),
                2 | 3 => (self.any(&SPECIAL).to_owned(), self.value(depth + 1)),
                4 => (parameter.name.to_owned(), self.value(depth + 1)),
                _ => (self.name_of(parameter), self.fitting(parameter.rule)),
            };
            object.extend([entry]);
        }
        Value::Object(object)
    }

    /// Returns the argument of a search: parameters, each with values or a range.
    pub fn search(&mut self) -> Value {
        let mut object = Map::new();
        for _ in 0..self.below(MOST) {
            let parameter = &TABLE[self.below(TABLE.len() as u32) as usize];
            let offered = match self.below(4) {
                0 => self.value(0),
                1 => Value::Array(
                    (0..self.below(MOST)).map(|_| self.fitting(parameter.rule)).collect(),
                ),
                _ => {
                    let (min, max) = (self.number(), self.number());
                    let scale = self.any(&["linear", "log"]);
                    json!({"min": min, "max": max, "scale": scale})
                }
            };
            object.insert(self.name_of(parameter), offered);
        }
        Value::Object(object)
    }

    fn name_of(&mut self, parameter: &Parameter) -> String {
        let names: Vec<&str> = parameter.names().collect();
        self.any(&names).to_owned()
    }

    /// A value that a parameter takes, or one next to it.
    fn fitting(&mut self, rule: ValueRule) -> Value {
        match rule {
            ValueRule::Number(min, max) => {
                let number = self.any(&[min, max, min.next_down(), max.next_up(), 0.5, 1.5]);
                if self.whether() { float(number) } else { self.number() }
            }
            ValueRule::Whole(min, max) => {
                let number = self.any(&[min, max, min - 1, max + 1, 1, 3]);
                if self.whether() { Value::from(number) } else { float(number as f64) }
            }
            ValueRule::Bool => self.any(&[false, true]).into(),
            ValueRule::Word(words) => self.any(words).into(),
            ValueRule::Fractions(_) => {
                Value::Array((0..self.below(MOST)).map(|_| float(0.1)).collect())
            }
        }
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.below(if depth < DEEPEST { 10 } else { 7 }) {
            0 => Value::Null,
            1 => self.whether().into(),
            2 | 3 => self.number(),
            4 => self.word(),
            5 => Value::String(self.text()),
            6 => json!(self.any(&["a", "b", "größe", "c"])),
            7 | 8 => Value::Array((0..self.below(MOST)).map(|_| self.value(depth + 1)).collect()),
            _ if self.whether() => self.object(depth),
            _ => json!({self.any(&["a", "b", "größe", "c"]): self.number()}),
        }
    }

    fn number(&mut self) -> Value {
        match self.below(4) {
            0 => Value::from(self.0.arbitrary::<i64>().unwrap_or(0)),
            1 => Value::from(self.0.arbitrary::<i8>().unwrap_or(0)),
            2 => float(f64::from(self.0.arbitrary::<i16>().unwrap_or(0)) / 256.0),
            _ => float(f64::from_bits(self.0.arbitrary().unwrap_or(0))),
        }
    }

    fn word(&mut self) -> Value {
        let words: Vec<&str> = objective_names().chain(metric_names()).collect();
        let word = self.any(&words);
        if self.below(4) > 0 { word.into() } else { format!("{word}@{}", self.text()).into() }
    }

    fn text(&mut self) -> String {
        self.0.arbitrary::<&str>().unwrap_or("").chars().take(80).collect()
    }
}

/// JSON has no numbers that are not finite.
fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
