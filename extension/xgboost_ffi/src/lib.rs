//! libxgboost's C interface, safe to call.
//!
//! Nothing links to libxgboost: [`Library::open`] loads it from a path and finds its functions by
//! name, so that a program without it starts and can say what is missing. The library is never
//! unloaded, because its threads outlive every call. Each call is checked, and an error is the
//! library's own message.
//!
//! libxgboost trusts a model's bytes. Only bytes that the engine has parsed may go to
//! [`Booster::of_model`].

#![allow(unsafe_code, reason = "it calls a C interface")]

mod booster;
mod error;
mod library;
mod matrix;

pub use booster::{Booster, Output};
pub use error::{Error, Result, means_out_of_memory};
pub use library::Library;
pub use matrix::{Batch, Feature, Layout, Matrix, MatrixOptions, Rows};
