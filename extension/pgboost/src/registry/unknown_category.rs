//! The policy of a model for unknown categories, which its owner sets for all users and versions.
//!
//! It comes before `pgboost.unknown_category`, as a table's storage parameter does before a setting: so the same
//! row has the same score in every session.

use serde_json::Value;

use crate::guc::UnknownCategory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownPolicy {
    Error,
    Missing,
    /// As the library of a version's file has it.
    Library,
}

/// The format of files whose library takes an unknown category for missing. In the others it is an error,
/// unless the file has a code for it, or is a tree ensemble whose attributes say that it is missing.
const LIGHTGBM: &str = "lightgbm text";
/// The beginning of the format of tree ensembles.
const TREE_ENSEMBLE: &str = "tree ensemble ";

impl UnknownPolicy {
    const NAMES: [(&str, UnknownPolicy); 3] = [
        ("error", UnknownPolicy::Error),
        ("missing", UnknownPolicy::Missing),
        ("library", UnknownPolicy::Library),
    ];

    pub(crate) fn named(name: &str) -> Option<UnknownPolicy> {
        let found = UnknownPolicy::NAMES.into_iter().find(|(own, _)| *own == name);
        found.map(|(_, policy)| policy)
    }

    /// Returns the handling for a version whose file has that format and those attributes, as JSON.
    pub(super) fn handling(self, format: &str, attributes: Option<&str>) -> UnknownCategory {
        let is_missing = match self {
            UnknownPolicy::Missing => true,
            UnknownPolicy::Error => false,
            UnknownPolicy::Library if format.starts_with(TREE_ENSEMBLE) => {
                attributes.is_some_and(says_missing)
            }
            UnknownPolicy::Library => format == LIGHTGBM,
        };
        if is_missing { UnknownCategory::Missing } else { UnknownCategory::Error }
    }
}

fn says_missing(attributes: &str) -> bool {
    let attributes: Option<Value> = serde_json::from_str(attributes).ok();
    attributes.is_some_and(|all| all.get("unknown_category") == Some(&Value::from("missing")))
}
