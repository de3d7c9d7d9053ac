//! The plan node that computes predictions in batches, `Custom Scan (BatchPredict)`: where the planner
//! places it, what it becomes, and how it runs.
//!
//! A query goes through these files in order. `hook` is called with a `level` whose `paths` are finished;
//! `placement` decides, asking `calls` which predictions there are and `error_safety` what may be read
//! ahead; `batch_path` is the path that it places, and `plan` the plan that PostgreSQL makes of it.
//! `exec_init` starts it and `exec` runs it, reading as many rows ahead as `read_ahead` allows: `rows` holds the
//! rows of a batch, `batched_call` is one call of predict in it, `row_output` puts a row's output together,
//! and `explain` describes it.
//!
//! The node runs on two kinds of frames. What reads rows from the plan below and what returns them is
//! called for every row and holds nothing that needs dropping: there PostgreSQL's functions are called
//! without a guard, and an error of theirs jumps over these frames as over C. What predicts for a
//! batch is ordinary guarded Rust. The three files that decide (`placement`, `calls`, `error_safety`)
//! have no `unsafe`.

mod arguments;
mod batch_path;
mod batched_call;
#[deny(unsafe_code)]
mod calls;
mod copies;
#[deny(unsafe_code)]
mod error_safety;
mod exec;
mod exec_init;
mod explain;
mod hook;
mod level;
mod paths;
#[deny(unsafe_code)]
mod placement;
mod plan;
mod read_ahead;
#[deny(unsafe_code)]
mod reasons;
mod row_output;
mod rows;

pub(crate) use exec_init::register;
pub(crate) use hook::install as install_hook;
