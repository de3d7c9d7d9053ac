//! CatBoost's models, as JSON and as `cbm`, its binary format.
//!
//! `json` and `cbm` read a file into the same [`File`]; `build` makes a model of it. `features` says
//! what a split tests, `tree` makes nodes of trees, `info` reads what the file says about itself,
//! `objective` and `labels` what its values mean, `hash` how a category becomes a number, and
//! `flatbuffer` reads the tables of `cbm`.
//!
//! What is true of CatBoost's files alone: a split sends a row to bit 1 if its value is above a border,
//! or if its category has a hash; a symmetric tree has one split per level, and a leaf per combination
//! of bits; leaves are summed in f64, and scaled and shifted after that. Files are written by
//! `OutputModel` in catboost/libs/model/model_export and by catboost/libs/model/json_model_helpers.cpp;
//! they are evaluated by catboost/libs/model/cpu/evaluator_impl.cpp, whose one-row and batch
//! evaluators add leaves in the same order.

mod build;
mod cbm;
mod features;
mod flatbuffer;
mod hash;
mod info;
mod json;
mod labels;
mod objective;
mod splits;
mod tree;

pub(super) use build::build;
pub(super) use cbm::read as read_cbm;
pub(crate) use hash::hash as hash_of_category;
pub(super) use json::read as read_json;

use features::Features;
use info::Info;
use tree::RawTree;

/// What a file holds.
pub(super) struct File {
    info: Info,
    features: Features,
    trees: Vec<RawTree>,
    scale: f64,
    /// None, one for all, or one per dimension.
    bias: Vec<f64>,
}
