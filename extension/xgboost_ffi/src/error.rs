//! What can go wrong in libxgboost, or on the way to it.

use serde::{Deserialize, Serialize};

/// An error of libxgboost's; it can be sent from one process to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Error {
    /// The library cannot be loaded.
    Missing {
        /// Where it should be.
        path: String,
        /// What the loader says.
        reason: String,
    },
    /// The release is too old.
    Old(String),
    /// Memory ran out.
    OutOfMemory,
    /// The rows of a matrix cannot be read.
    Rows(String),
    /// The library refused, with this message.
    Refused(String),
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;
