//! The policy of a model for unknown categories, which its owner sets for all users and versions.
//!
//! It comes before `pgboost.unknown_category`, as a table's storage parameter does before a setting: so the same
//! row has the same score in every session.

use crate::guc::UnknownCategory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownPolicy {
    Error,
    Missing,
    /// As the library of a version's file has it.
    Library,
}

/// The format of files whose library takes an unknown category for missing. In the others it is an error,
/// unless the file has a code for it.
const LIGHTGBM: &str = "lightgbm text";

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

    /// Returns the handling for a version whose file has that format.
    pub(super) fn handling(self, format: &str) -> UnknownCategory {
        match self {
            UnknownPolicy::Missing => UnknownCategory::Missing,
            UnknownPolicy::Library if format == LIGHTGBM => UnknownCategory::Missing,
            UnknownPolicy::Error | UnknownPolicy::Library => UnknownCategory::Error,
        }
    }
}
