//! The stages behind a model, one by one, for a program that keeps compiled models in its own files.
//!
//! [`parse`] builds a checked [`Ensemble`], [`compile`] lowers it to one relocatable, checksummed run of
//! bytes, [`CompiledModel::open`] verifies that, and its methods evaluate rows. `oracle` walks the checked
//! model instead; every other way of evaluation has its bits.
//!
//! None of this is kept stable between releases.

pub use crate::compiled::aligned::{AlignedBytes, StableBytes};
pub use crate::compiled::categories::{CategoryKind, CategoryView};
#[cfg(any(test, fuzzing))]
pub use crate::compiled::sections::seal;
pub use crate::compiled::{COMPILED_MODEL_VERSION, CompiledModel, Narrowing};
pub use crate::ensemble::{
    Categories, CategorySet, ClassBy, Comparison, Ensemble, FeatureType, MissingRule, Node,
    Objective, Precision, RowNumber, Split, SplitCondition, Task, Transform, Tree, TreeOutput,
};
pub use crate::eval::{BatchScratch, Kernel, Margin, Scratch};
pub use crate::explain::{ContributionScratch, ImportanceKind, has_importance, importance};
#[cfg(feature = "xgboost")]
pub use crate::format::xgboost_objectives;
pub use crate::format::{parse, read_categories};
pub use crate::lower::compile;
pub use crate::prefetch::prefetch_all;

/// Evaluation and explanations as they are defined, over the checked model.
pub mod oracle {
    pub use crate::eval::reference::{leaves, margins};
    pub use crate::explain::reference::{contributions, interactions};
}
