//! The values that a categorical feature's codes stand for.
//!
//! XGBoost 3.1 and later store them in the model file when it was trained on a data frame with
//! category columns. Code `i` is the i-th value. Values are unique, so a look-up has one answer.

/// The values of one categorical feature, in the order of their codes.
#[derive(Clone, Debug, PartialEq)]
pub enum Categories {
    /// Text.
    Text(Vec<String>),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Floating-point numbers, held as f64 whatever the file's width; none is NaN.
    Float(Vec<f64>),
}

impl Categories {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Categories::Text(values) => values.len(),
            Categories::Integer(values) => values.len(),
            Categories::Float(values) => values.len(),
        }
    }

    /// Whether there are no values at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
