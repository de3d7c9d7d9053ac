//! What a model's predictions depend on.

mod importance;

pub use importance::{ImportanceKind, importance};
