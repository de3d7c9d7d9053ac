//! What the planner is told about predictions.

pub mod cost;
