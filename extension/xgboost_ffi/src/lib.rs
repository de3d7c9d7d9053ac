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
mod library;
mod matrix;

use serde::{Deserialize, Serialize};

pub use booster::{Booster, Output};
pub use library::Library;
pub use matrix::{Batch, Feature, Layout, Matrix, MatrixOptions, Rows};

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

/// The text without source places and stack trace, in one paragraph: the library's texts begin with the time
/// and the place in its source, and end with addresses.
pub(crate) fn user_message(text: &str) -> String {
    let text = text.split("Stack trace").next().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| without_place(line.trim()))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// A line without `[12:34:56] /a/path/file.cc:78: ` in front.
fn without_place(line: &str) -> &str {
    if !line.starts_with('[') {
        return line;
    }
    let after_time = line.split_once("] ").map_or(line, |(_, rest)| rest);
    match after_time.split_once(": ") {
        Some((place, rest)) if place.contains('/') || place.contains(".cc:") => rest.trim(),
        _ => after_time,
    }
}

/// Whether a text of libxgboost, its OpenMP, the C++ or the Rust runtime says that memory ran out.
/// `bad_malloc` is XGBoost's own word since 3.4 (`src/common/ref_resource_view.h`).
pub fn means_out_of_memory(text: &str) -> bool {
    const WORDS: [&str; 6] = [
        "bad_alloc",
        "bad_malloc",
        "memory allocation of",
        "Out of memory",
        "Cannot allocate memory",
        "Thread creation failed",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn place_and_stack_trace_go() {
        let text = "[10:11:12] /src/data/data.cc:41: Check failed: valid: Label contains NaN.\n\
                    Stack trace:\n  [bt] (0) libxgboost.so(+0x22dbbc) [0x7fb3]\n";
        assert_eq!(user_message(text), "Check failed: valid: Label contains NaN.");
    }

    #[test]
    fn plain_text_stays() {
        assert_eq!(user_message("value 5 exceeds bound"), "value 5 exceeds bound");
        assert_eq!(user_message("two\nlines"), "two lines");
    }

    #[test]
    fn both_words_for_memory_are_known() {
        assert!(means_out_of_memory("std::bad_alloc"));
        assert!(means_out_of_memory("bad_malloc: Failed to allocate 37183104 bytes."));
        assert!(!means_out_of_memory("Check failed: preds.size() == labels.size()"));
    }
}
