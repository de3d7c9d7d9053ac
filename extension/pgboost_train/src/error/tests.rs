//! Walks the table of errors: each has a SQLSTATE that tells a user's mistake from a bug, and text
//! in PostgreSQL's style.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use pg_interface::error_table_tests;
use row_source::SourceError;

use super::{Error, NAMES};

fn samples() -> Vec<Error> {
    let text = || "x".to_owned();
    // What others say is a sentence here, as their part of a detail may be none.
    let said = || "It failed.".to_owned();
    let (argument, hint) = ("source", "Do this.");
    vec![
        Error::Source { error: SourceError::AmbiguousColumn { column: text() } },
        Error::NullArgument { argument },
        Error::ArgumentRange { argument, given: text(), allowed: "between 1 and 2" },
        Error::Arguments { message: "one needs the other", hint },
        Error::ModelName { name: text(), reason: "It is empty." },
        Error::Denied { function: "load_model" },
        Error::OtherFunction { function: "predict_margin" },
        Error::NotOwner { name: text() },
        Error::ParametersForm { given: "an array" },
        Error::SearchForm { given: "an array" },
        Error::SearchValues { name: text(), what: "has no values", hint },
        Error::TooManyTrials { trials: 2, max: 1 },
        Error::UnknownParameter { name: text(), nearest: Some("eta") },
        Error::UnknownParameter { name: text(), nearest: None },
        Error::Contradiction { first: text(), second: text() },
        Error::ParameterValue { name: text(), allowed: text(), given: text() },
        Error::ParameterRefused { name: text(), hint },
        Error::CannotContinue { model: text(), reason: said() },
        Error::TooManyFolds { column: text(), limit: 1 },
        Error::ArrayUnmeasured { column: text(), what: "null" },
        Error::ArrayLength { column: text(), expected: 1, given: 2, array: text() },
        Error::ColumnTwice { column: text() },
        Error::NoFeatures,
        Error::ValueRange { column: text() },
        Error::TooManyCategories { column: text(), limit: 1 },
        Error::UnknownCategory { column: text(), argument },
        Error::Classes { objective: text(), classes: 1, allowed: "two" },
        Error::LibraryMissing { path: text(), reason: said() },
        Error::LibraryOld { version: text() },
        Error::XGBoost { message: said() },
        Error::OutOfMemory,
        Error::FeatureCount { model: text(), expected: 1, given: 2 },
        Error::SeveralValues { model: text(), function: "xgboost_predict" },
        Error::NoFeatureNames { model: text() },
        Error::OtherLibrary { model: text(), format: "lightgbm text" },
        Error::Registry { what: "version" },
        Error::TrainerMissing { path: text(), reason: said() },
        Error::TrainerKilled,
        Error::TrainerEnded { how: said(), said: said() },
        Error::TrainerEnded { how: "It failed".to_owned(), said: String::new() },
        Error::TooManyPredictions { rows: 2, outputs: 2, bytes: 48, max_kb: 3 },
        Error::ModelSize { bytes: 1 },
    ]
}

error_table_tests!(samples());

#[test]
fn what_was_meant_is_hinted_at() {
    let error = Error::UnknownParameter { name: "etaa".to_owned(), nearest: Some("eta") };
    assert_eq!(error.report().hint.unwrap(), "Perhaps you mean \"eta\".");
}
