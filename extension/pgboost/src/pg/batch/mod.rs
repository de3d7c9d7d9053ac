//! The plan node that computes predictions in batches: `Custom Scan (BatchPredict)`.
//!
//! `path` is what the planner weighs and what it makes a plan of, `begin` readies it and
//! `node` runs it, `rows` holds the
//! rows of a batch, `call` is one call of predict in it, and `explain` says what it is. Where a node
//! is placed, and where not, is decided in `planner`.
//!
//! The node runs on two kinds of frames. What asks the plan below for rows and what hands them out
//! is called for every row and holds nothing that needs dropping: there PostgreSQL's functions are
//! called without a guard, and an error of theirs jumps over these frames as over C. What scores a
//! batch is ordinary guarded Rust.

mod begin;
mod call;
mod explain;
mod frames;
mod node;
pub mod path;
mod plan;
mod rows;

pub use plan::register;
