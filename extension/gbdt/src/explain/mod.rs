//! Why a model gives what it gives.

mod importance;

pub use importance::{ImportanceKind, importance};
