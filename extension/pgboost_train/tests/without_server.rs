//! Runs the tests of the modules that need neither PostgreSQL nor libxgboost.
//!
//! The library itself links into a server only, so its own test binary would not; these modules are
//! compiled into this one by their paths.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each module is used in part, and a test may stop at a surprise"
)]

#[path = "../src/data/dictionary.rs"]
mod dictionary;
#[path = "../src/error.rs"]
mod error;
#[path = "../src/data/first_word.rs"]
mod first_word;
#[path = "../src/xgboost/interface.rs"]
mod interface;
#[path = "../src/xgboost/message.rs"]
mod message;
#[path = "../src/parameters/mod.rs"]
mod parameters;
#[path = "../src/training/score.rs"]
mod score;
#[path = "../src/training/split.rs"]
mod split;
