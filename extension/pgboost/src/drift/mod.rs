//! Whether the data has drifted from what a model was trained on.
//!
//! A profile of each feature is kept with a version; `features` reads the same features from a source,
//! and `distance` says how far they are from the profile, as evidently does.

pub(crate) mod distance;
pub(crate) mod features;
