//! The plan node that computes predictions in batches, `Custom Scan (BatchPredict)`: where the planner
//! places it, what it becomes, and how it runs.
//!
//! A query goes through these files in order. `hook` is called with a `level` whose `paths` are finished;
//! `placement` decides, asking `calls` which predictions there are and `error_safety` what may be read
//! ahead; `batch_path` is the path that it places, and `plan` the plan that PostgreSQL makes of it.
//! `methods` starts it, `exec_init` readies it and `exec` runs it: `rows` holds the rows of a batch and
//! `names` which models they name, `call` is one call of predict in it, `row_output` puts a row's output
//! together, and `explain` tells of it.
//!
//! The node runs on two kinds of frames. What asks the plan below for rows and what hands them out is
//! called for every row and holds nothing that needs dropping: there PostgreSQL's functions are called
//! without a guard, and an error of theirs jumps over these frames as over C. What predicts for a
//! batch is ordinary guarded Rust. The three files that decide (`placement`, `calls`, `error_safety`)
//! have no `unsafe`.

mod asked;
mod batch_path;
mod call;
#[deny(unsafe_code)]
mod calls;
mod copies;
#[deny(unsafe_code)]
mod error_safety;
mod exec;
mod exec_init;
mod explain;
mod given;
mod hook;
mod level;
mod methods;
mod names;
mod paths;
#[deny(unsafe_code)]
mod placement;
mod plan;
#[deny(unsafe_code)]
mod reasons;
mod row_output;
mod rows;
mod run;

pub(crate) use hook::install as install_hook;
pub(crate) use methods::register;
