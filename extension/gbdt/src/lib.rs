//! Reads, checks and evaluates gradient-boosted tree models, with XGBoost's results to the bit.
//!
//! Untrusted bytes go through four stages, each with a type of its own, so that no stage can be
//! skipped: `format` parses bytes into a raw model, `model` checks every invariant and gives a
//! [`Model`], `forest` lowers that into one relocatable, checksummed image, and `eval` walks an
//! opened [`Image`]. `eval::reference` walks the checked model instead and is the oracle that every
//! other way of evaluation is compared with, bit for bit.
//!
//! The crate knows nothing of PostgreSQL, starts no threads, does no I/O and does not panic on any
//! input. `unsafe` is confined to the reader of the image and to the kernels.

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "tiles have parts for kernels that other architectures lack")
)]

pub mod error;
pub mod eval;
pub mod explain;
pub mod forest;
mod format;
pub mod limits;
pub mod model;
pub mod transform;

pub use error::{Error, ErrorKind, Place, Result};
pub use eval::{BatchScratch, Kernel, Scratch};
pub use forest::{Image, compile};
pub use format::parse;
pub use limits::Limits;
pub use model::{Model, Objective};
