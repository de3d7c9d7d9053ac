//! The columns of the model's input: names, and values of categorical ones.
//!
//! A text column is categorical: its numeric value is the text's position among those that encoders
//! name, in order of occurrence. An integer column is categorical if a OneHotEncoder fails at unknown
//! values. NULL and texts unknown to encoders are NaN to the steps.

use std::collections::{BTreeMap, HashMap};

use crate::ensemble::Categories;

#[derive(Default)]
pub(super) struct Inputs<'a> {
    /// Number of columns, if the file fixes it.
    pub columns: Option<usize>,
    /// Empty, or one per column.
    pub names: Vec<String>,
    texts: BTreeMap<usize, Texts<'a>>,
    /// Values known to all OneHotEncoders that fail at others, by column.
    known: BTreeMap<usize, Vec<f64>>,
}

#[derive(Default)]
struct Texts<'a> {
    list: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

/// A categorical column's values in code order.
pub(super) struct Codes {
    pub categories: Categories,
    /// The same values as steps see them, ascending.
    pub values: Vec<f64>,
    /// Whether unknown values are allowed.
    pub is_open: bool,
}

impl<'a> Inputs<'a> {
    /// Marks a column as text.
    pub(super) fn add_text(&mut self, column: usize) {
        self.texts.insert(column, Texts::default());
    }

    /// Returns the number that stands for a text of a column.
    pub(super) fn number(&mut self, column: usize, text: &'a str) -> f64 {
        let Texts { list, places } = self.texts.entry(column).or_default();
        let place = *places.entry(text).or_insert(list.len());
        if place == list.len() {
            list.push(text);
        }
        place as f64
    }

    /// Makes other values of a column an error; returns whether that is possible. Arrays hold codes, so
    /// a numeric column can only be categorical if columns have names.
    pub(super) fn require(&mut self, column: usize, mut values: Vec<f64>) -> bool {
        if !self.texts.contains_key(&column) && self.names.is_empty() {
            return false;
        }
        values.sort_unstable_by(f64::total_cmp);
        let before = self.known.get(&column);
        if let Some(before) = before {
            values.retain(|value| before.binary_search_by(|own| own.total_cmp(value)).is_ok());
        }
        self.known.insert(column, values);
        true
    }

    /// Returns the categorical columns.
    pub(super) fn codes(&self) -> BTreeMap<usize, Codes> {
        let of_text = self.texts.iter().map(|(column, texts)| {
            let known = self.known.get(column).cloned();
            let is_open = known.is_none();
            let values =
                known.unwrap_or_else(|| (0..texts.list.len()).map(|place| place as f64).collect());
            let text = |value: &f64| texts.list.get(*value as usize).map(|text| (*text).to_owned());
            let categories = Categories::Text(values.iter().filter_map(text).collect());
            (*column, Codes { categories, values, is_open })
        });
        let numbers = self.known.iter().filter(|(column, _)| !self.texts.contains_key(column));
        let of_numbers = numbers.map(|(column, values)| {
            let categories =
                Categories::Integer(values.iter().map(|value| *value as i64).collect());
            (*column, Codes { categories, values: values.clone(), is_open: false })
        });
        of_text.chain(of_numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_column_that_no_encoder_reads_is_categorical() {
        let mut inputs = Inputs::default();
        inputs.add_text(1);
        let codes = inputs.codes();
        let Codes { categories, is_open, .. } = &codes[&1];
        assert!(matches!(categories, Categories::Text(_)) && categories.is_empty() && *is_open);
        assert_eq!(codes.len(), 1);
    }
}
