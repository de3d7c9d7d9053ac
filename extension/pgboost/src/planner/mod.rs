//! What the planner is told about predictions, and where they are computed in batches.

pub mod calls;
pub mod cost;
pub mod place;
mod read_ahead;
