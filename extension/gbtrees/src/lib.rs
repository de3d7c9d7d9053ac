//! Scores gradient-boosted trees of XGBoost, LightGBM, CatBoost and ONNX with the same bits as these
//! libraries: no C++, no threads, no I/O, and no panic on any input.
//!
//! ```
//! use gbtrees::Model;
//!
//! # fn main() -> Result<(), gbtrees::Error> {
//! # let file = include_bytes!("../examples/model.ubj");
//! let model = Model::load(file)?;
//! let rows = vec![0.5f32; 2 * model.num_features()];
//! let values = model.predict(&rows, [2, model.num_features()])?;
//! assert_eq!(values.len(), 2);
//! let contributions = model.contributions(&rows, [2, model.num_features()])?;
//! assert_eq!(contributions.len(), 2 * (model.num_features() + 1));
//! # Ok(())
//! # }
//! ```
//!
//! - [`Model`] is a loaded file of any library. It is `Send + Sync`.
//! - [`Predictor`] has one thread's buffers, for values, margins, classes, leaves, SHAP values and
//!   interactions.
//! - [`Rows`] are f32 or f64, dense with any strides or sparse in CSR; NaN is a missing value.
//! - [`LoadOptions`] set limits for untrusted files, a [`Cancel`], rounds and names.
//!
//! # Formats
//!
//! Each is a default feature of the crate: `xgboost` (JSON, UBJSON and the binary format of 0.90 to
//! 3.0), `lightgbm` (text), `catboost` (cbm and JSON), `onnx` (`ai.onnx.ml` tree ensembles).
//!
//! # How it works
//!
//! Untrusted bytes go through four stages, each with a type, so that none can be skipped: parsed into a
//! checked ensemble, compiled into relocatable, checksummed bytes, verified, and evaluated by kernels
//! for the processor's instructions, with bit slicing over blocks of 512 rows, or many trees of one row
//! at a time. An oracle walks the checked ensemble instead; all other ways of evaluation are tested
//! against it, bit for bit. SHAP values are TreeSHAP's, computed by Gauss-Legendre quadrature.
//! [`internals`] exposes the stages.
//!
//! `unsafe` is confined to the reader of compiled models and to the kernels.

#![deny(missing_docs, unreachable_pub)]
#![cfg_attr(
    not(all(feature = "catboost", feature = "lightgbm", feature = "onnx", feature = "xgboost")),
    allow(
        dead_code,
        unused_imports,
        reason = "readers share code, and a build may leave some out"
    )
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "tiles have parts for kernels that other architectures do not have")
)]

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "files and compiled models are read and checked on 64-bit little-endian machines alone"
);

// First, so that the others have its macros.
#[macro_use]
mod error;

mod api;
mod compiled;
mod decimal;
mod ensemble;
mod eval;
mod explain;
mod format;
mod limits;
mod lower;
mod memory;
mod quadrature;
#[cfg(test)]
mod random;
pub mod sql;
mod transform;
mod verified;

pub use api::{Buffers, Category, LoadOptions, Model, Number, Output, Predictor, Rows};
pub use error::{Error, ErrorKind, Place, Result};
pub use explain::ImportanceKind;
pub use limits::{Cancel, Limits};

pub mod internals {
    //! The stages behind a model, for programs that keep compiled models in files.
    //!
    //! [`parse`] builds a checked [`Ensemble`], [`compile`] lowers it to relocatable, checksummed bytes,
    //! [`CompiledModel::open`] verifies them, and its methods evaluate rows. `oracle` walks the checked
    //! model; all other ways of evaluation have its bits.
    //!
    //! Unstable between releases.

    pub use crate::compiled::aligned::prefetch_all;
    pub use crate::compiled::aligned::{AlignedBytes, StableBytes};
    pub use crate::compiled::categories::{CategoryKind, CategoryView};
    #[cfg(any(test, fuzzing))]
    pub use crate::compiled::sections::seal;
    pub use crate::compiled::{COMPILED_MODEL_VERSION, CompiledModel, Narrowing};
    pub use crate::decimal::shortest_decimal;
    pub use crate::ensemble::{
        ArrayCategories, Categories, CategorySet, ClassBy, Comparison, Ensemble, FeatureType,
        LinearLeaf, MissingRule, Node, Objective, Precision, RealInput, RowNumber, Split,
        SplitCondition, Task, Transform, Tree, TreeOutput, estimates_another, has_levels,
        is_another_link,
    };
    pub use crate::eval::{BatchScratch, Kernel, Margin, Scratch};
    pub use crate::explain::{ContributionScratch, ImportanceKind, has_importance, importance};
    pub use crate::format::{parse, read_categories};
    #[cfg(feature = "xgboost")]
    pub use crate::format::{rewrite_xgboost, xgboost_objectives};
    pub use crate::lower::compile;

    /// Evaluation and explanations by definition, over the checked model.
    pub mod oracle {
        pub use crate::eval::reference::{leaves, margins};
        pub use crate::explain::reference::{contributions, interactions};
    }
}
