//! Walks the table of errors: each has a SQLSTATE that tells a user's mistake from a bug, and text
//! in PostgreSQL's style.
//!
//! `ordinal` matches without a wildcard: a new variant does not compile until it is named there, and
//! the count then fails until there is a sample of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::collections::BTreeSet;

use super::Error;

/// Classes for what a caller, the data or the machine can do wrong, and for what libxgboost refuses;
/// XX, a bug, is not among them.
const CLASSES: [&str; 8] = ["0A", "22", "38", "42", "53", "54", "55", "58"];

const VARIANTS: usize = 37;

fn ordinal(error: &Error) -> usize {
    match error {
        Error::NullArgument { .. } => 0,
        Error::ArgumentRange { .. } => 1,
        Error::Arguments { .. } => 2,
        Error::ModelName { .. } => 3,
        Error::Denied { .. } => 4,
        Error::NotOwner { .. } => 5,
        Error::ParametersForm { .. } => 6,
        Error::UnknownParameter { .. } => 7,
        Error::Contradiction { .. } => 8,
        Error::ParameterValue { .. } => 9,
        Error::ParameterRefused { .. } => 10,
        Error::NotOneSelect { .. } => 11,
        Error::NoSuchColumn { .. } => 12,
        Error::AmbiguousColumn { .. } => 13,
        Error::ColumnTwice { .. } => 14,
        Error::ColumnType { .. } => 15,
        Error::NoFeatures => 16,
        Error::NoRows { .. } => 17,
        Error::ValueRange { .. } => 18,
        Error::ValueRefused { .. } => 19,
        Error::TooManyCategories { .. } => 20,
        Error::UnknownCategory { .. } => 21,
        Error::Classes { .. } => 22,
        Error::GroupApart { .. } => 23,
        Error::LibraryMissing { .. } => 24,
        Error::LibraryOld { .. } => 25,
        Error::XGBoost { .. } => 26,
        Error::OutOfMemory => 27,
        Error::FeatureCount { .. } => 28,
        Error::SeveralValues { .. } => 29,
        Error::NoFeatureNames { .. } => 30,
        Error::Registry { .. } => 31,
        Error::TrainerMissing { .. } => 32,
        Error::TrainerKilled => 33,
        Error::TrainerEnded { .. } => 34,
        Error::TemporaryFile { .. } => 35,
        Error::TooManyPredictions { .. } => 36,
        Error::ModelSize { .. } => 37,
    }
}

fn samples() -> Vec<Error> {
    let text = || "x".to_owned();
    let (argument, hint) = ("source", "Do this.");
    vec![
        Error::NullArgument { argument },
        Error::ArgumentRange { argument, given: text(), allowed: "between 1 and 2" },
        Error::Arguments { message: "one needs the other", hint },
        Error::ModelName { name: text(), reason: "It is empty." },
        Error::Denied { function: "load_model" },
        Error::NotOwner { name: text() },
        Error::ParametersForm { given: "an array" },
        Error::UnknownParameter { name: text(), nearest: Some("eta") },
        Error::UnknownParameter { name: text(), nearest: None },
        Error::Contradiction { names: [text(), text()] },
        Error::ParameterValue { name: text(), allowed: text(), given: text() },
        Error::ParameterRefused { name: text(), hint },
        Error::NotOneSelect { argument, detail: "It is two." },
        Error::NoSuchColumn { column: text(), argument, nearest: Some(text()) },
        Error::NoSuchColumn { column: text(), argument, nearest: None },
        Error::AmbiguousColumn { column: text() },
        Error::ColumnTwice { column: text() },
        Error::ColumnType { column: text(), type_name: text(), role: "feature", hint },
        Error::NoFeatures,
        Error::NoRows { argument, skipped: 0 },
        Error::NoRows { argument, skipped: 1 },
        Error::ValueRange { column: text() },
        Error::ValueRefused { column: text(), what: "is null" },
        Error::TooManyCategories { column: text(), limit: 1 },
        Error::UnknownCategory { column: text(), argument },
        Error::Classes { objective: text(), classes: 1, allowed: "two" },
        Error::GroupApart { group: text() },
        Error::LibraryMissing { path: text(), reason: text() },
        Error::LibraryOld { version: text() },
        Error::XGBoost { message: text() },
        Error::OutOfMemory,
        Error::FeatureCount { model: text(), expected: 1, given: 2 },
        Error::SeveralValues { model: text(), function: "xgboost_predict" },
        Error::NoFeatureNames { model: text() },
        Error::Registry { what: "version" },
        Error::TrainerMissing { path: text(), reason: text() },
        Error::TrainerKilled,
        Error::TrainerEnded { how: text(), said: text() },
        Error::TrainerEnded { how: text(), said: String::new() },
        Error::TemporaryFile { reason: text(), disk_full: false },
        Error::TemporaryFile { reason: text(), disk_full: true },
        Error::TooManyPredictions { rows: 2, outputs: 2, max: 3 },
        Error::ModelSize { bytes: 1 },
    ]
}

#[test]
fn every_variant_is_sampled() {
    let seen: BTreeSet<usize> = samples().iter().map(ordinal).collect();
    assert_eq!(seen, (0..=VARIANTS).collect());
}

#[test]
fn states_are_of_known_classes() {
    for error in samples() {
        let state = error.sqlstate().0;
        assert_eq!(state.len(), 5, "{error:?}");
        assert!(CLASSES.contains(&&state[..2]), "{error:?} has {state}");
    }
}

#[test]
fn texts_follow_the_style_of_postgresql() {
    for error in samples() {
        let message = error.message();
        assert!(message.starts_with(|c: char| c.is_lowercase()), "{message}");
        assert!(!message.ends_with('.'), "{message}");
        if let Some(hint) = error.hint() {
            assert!(hint.starts_with(char::is_uppercase) && hint.ends_with('.'), "{hint}");
        }
        assert_ne!(error.detail(), Some(String::new()), "{message}");
    }
}

#[test]
fn what_was_meant_is_hinted_at() {
    let error = Error::UnknownParameter { name: "etaa".to_owned(), nearest: Some("eta") };
    assert_eq!(error.hint().unwrap(), "Perhaps you mean \"eta\".");
}
