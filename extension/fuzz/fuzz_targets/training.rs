//! The source of a search's combinations, by its module names in the extension.
#![allow(dead_code, reason = "a training uses the rest")]

#[path = "../../pgboost_train/src/training/random.rs"]
pub mod random;
#[path = "../../pgboost_train/src/training/combinations.rs"]
pub mod combinations;
