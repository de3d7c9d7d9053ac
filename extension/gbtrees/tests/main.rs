//! Tests of the public API, with the models of every library and release.
//!
//! They are one program, since each program would compile the engine's generic code again.

mod cancel;
mod golden;
mod golden_catboost;
mod golden_contributions;
mod golden_lightgbm;
mod golden_many_rows;
mod golden_onnx;
mod library;
mod malformed;
mod memory;
mod rewritten;
mod sql;
