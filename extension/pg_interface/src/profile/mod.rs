//! What the values of a feature are: how many are missing, how the numbers are distributed, and what
//! shares the categories have.
//!
//! `collector` takes in values and sorts the numbers of all features together in bounded memory;
//! `summary` keeps of a feature's numbers every distinct one, or where there are more than
//! [`MAX_POINTS`] as many quantiles. Numbers are f32, as models take them, and infinite ones are missing.

mod collector;
mod ranges;
mod summary;

pub use collector::{Collector, Numbers};
pub use ranges::Ranges;
pub use summary::Summary;

/// Most points that a distribution is kept by, besides its last.
pub const MAX_POINTS: u64 = 1000;

/// A number, and the shares of the numbers below it and up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number.
    pub number: f64,
    /// The share of smaller ones.
    pub below: f64,
    /// The share of those that are not greater.
    pub upto: f64,
}

/// What is kept of a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureProfile {
    /// Its name.
    pub feature: String,
    /// Rows that were looked at.
    pub rows: u64,
    /// Those of them without a value.
    pub missing: u64,
    /// The values of the others.
    pub values: Values,
}

/// How values are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Points in ascending order.
    Numbers(Vec<Point>),
    /// Each category with its share, in the order of their bytes.
    Categories(Vec<(String, f64)>),
}
