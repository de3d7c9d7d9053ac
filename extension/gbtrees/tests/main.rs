//! The engine as its callers have it, with the models of every library and release.
//!
//! One program, since each would compile what is generic of the engine again.

mod cancel;
mod golden;
mod golden_catboost;
mod golden_contributions;
mod golden_library_rows;
mod golden_lightgbm;
mod golden_many_rows;
mod golden_onnx;
mod library;
mod malformed;
mod out_of_memory;
