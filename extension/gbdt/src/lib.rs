//! Reads, checks and evaluates gradient-boosted tree models, with XGBoost's results to the bit.
//!
//! Untrusted bytes go through four stages, each with a type of its own, so that no stage can be
//! skipped: `format` parses bytes and builds a checked [`Model`], `forest` compiles that into one
//! relocatable, checksummed image, [`Image::open`] verifies it, and `eval` walks it.
//! `eval::reference` walks the model instead and is the oracle that every other way of evaluation
//! is compared with, bit for bit.
//!
//! ```
//! use gbdt::{Image, Limits, Scratch, compile, parse};
//!
//! // One split: below 1.5 the margin is 2 - 0.25, else 2 + 0.75.
//! let file = r#"{
//!   "version": [3, 4, 1],
//!   "learner": {
//!     "objective": {"name": "reg:squarederror"},
//!     "learner_model_param": {"base_score": "2", "num_class": "0", "num_feature": "1"},
//!     "gradient_booster": {"name": "gbtree", "model": {
//!       "gbtree_model_param": {"num_trees": "1"},
//!       "tree_info": [0],
//!       "trees": [{
//!         "tree_param": {"num_nodes": "3"},
//!         "left_children": [1, -1, -1], "right_children": [2, -1, -1],
//!         "split_indices": [0, 0, 0], "split_conditions": [1.5, -0.25, 0.75],
//!         "default_left": [0, 0, 0], "loss_changes": [1, 0, 0], "sum_hessian": [8, 4, 4]
//!       }]
//!     }}
//!   }
//! }"#;
//! let mut check_interrupts = || (); // called often; it may unwind
//! let model = parse(file.as_bytes(), &Limits::default(), &mut check_interrupts)?;
//! let image = Image::open(compile(&model, &[], &mut check_interrupts)?)?;
//!
//! let mut scratch = Scratch::new(&image);
//! let mut margins = [0.0f32]; // margins.len() == image.num_outputs()
//! image.margins(&mut scratch, &[1.0], &mut margins)?;
//! assert_eq!(margins, [1.75]);
//! image.margins(&mut scratch, &[f32::NAN], &mut margins)?; // missing: goes right here
//! assert_eq!(margins, [2.75]);
//! # Ok::<(), gbdt::Error>(())
//! ```
//!
//! The crate knows nothing of PostgreSQL, starts no threads, does no I/O and does not panic on any
//! input. `unsafe` is confined to the reader of the image and to the kernels.

#![allow(unreachable_pub, clippy::missing_safety_doc, reason = "not yet held here")]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "tiles have parts for kernels that other architectures lack")
)]

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("files and images are read and checked on 64-bit little-endian machines alone");

pub mod error;
pub mod eval;
pub mod explain;
pub mod forest;
mod format;
pub mod limits;
pub mod model;
pub mod prefetch;
mod quadrature;
pub mod transform;
mod verified;

pub use error::{Error, ErrorKind, Place, Result};
pub use eval::{BatchScratch, Kernel, Margin, Scratch};
pub use explain::ContributionScratch;
pub use forest::{Image, Narrowing, compile};
pub use format::{parse, read_categories, xgboost_objectives};
pub use limits::Limits;
pub use model::{Model, Objective, Precision};
