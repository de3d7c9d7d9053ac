//! Walks the table of errors: every kind of the engine's and every error of the extension's has a
//! SQLSTATE that tells a user's mistake from a bug, and text in PostgreSQL's style.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at a surprise"
)]

use gbtrees::{ErrorKind, Limits, Place};
use pg_interface::{Report, error_table_tests, sampled};
use row_source::SourceError;

use super::{CategoryReason, Error, Sampled, ShapeReason, TypeReason};
use crate::registry::reference;

sampled!(text: Vec<&'static str> => [vec![text]], TypeReason => TypeReason::ALL,
    CategoryReason => CategoryReason::ALL,
    SourceError => [SourceError::AmbiguousColumn { column: text.to_owned() }]);

impl Sampled for ShapeReason {
    /// The `match` has no wildcard: a new reason must be named here.
    fn samples(_: &'static str) -> Vec<Self> {
        use ShapeReason::*;
        let several = |classes| SeveralValues { values: 3, classes };
        let after = |reason: ShapeReason| match reason {
            SeveralValues { classes: false, .. } => Some(several(true)),
            SeveralValues { .. } => Some(NoClasses { several: false }),
            NoClasses { several: false } => Some(NoClasses { several: true }),
            NoClasses { .. } => Some(NoProbabilities { several: false, classes: false }),
            NoProbabilities { several: false, classes } => {
                Some(NoProbabilities { several: true, classes })
            }
            NoProbabilities { classes: false, .. } => {
                Some(NoProbabilities { several: false, classes: true })
            }
            NoProbabilities { .. } => None,
        };
        std::iter::successors(Some(several(false)), |reason| after(*reason)).collect()
    }
}

impl Sampled for gbtrees::Error {
    fn samples(_: &'static str) -> Vec<Self> {
        let places =
            [Place::Model, Place::Byte(17), Place::Tree(3), Place::Node { tree: 3, node: 5 }];
        let kinds = ErrorKind::ALL.iter();
        let error = |kind, place| gbtrees::Error::new(kind, "left child is -3").at(place);
        kinds.flat_map(|kind| places.map(|place| error(*kind, place))).collect()
    }
}

/// Errors whose reasons come from elsewhere.
fn reasoned() -> Vec<Error> {
    let names = ["", "a@b", &"x".repeat(64)].map(|wrong| reference::check_name(wrong).unwrap_err());
    let aliases =
        ["1", "a@b", &"x".repeat(64)].map(|wrong| reference::check_alias(wrong).unwrap_err());
    names.into_iter().chain(aliases).collect()
}

error_table_tests!(reasoned());

#[test]
fn a_place_is_told_in_the_detail_and_not_in_the_message() {
    for engine in gbtrees::Error::samples("") {
        let (at, place) = (engine.place(), engine.place().to_string());
        let Report { message, detail, .. } = Error::from(engine).report();
        assert!(!message.contains(&place), "{message}");
        match at {
            Place::Model => assert_eq!(detail, None),
            _ => assert!(detail.expect("a place has a detail").contains(&place)),
        }
    }
}

#[test]
fn a_long_category_is_cut_and_not_in_the_middle_of_a_character() {
    let reason = CategoryReason::Unknown;
    let unknown =
        |value: String| Error::UnknownCategory { feature: "f".to_owned().into(), value, reason };
    let message = unknown("é".repeat(100_000)).report().message;
    assert!(message.len() < 300, "{} bytes", message.len());
    assert!(message.contains(&format!("\"{}...\"", "é".repeat(64))), "{message}");
    let whole = unknown("é".repeat(64)).report().message;
    assert!(whole.contains(&format!("\"{}\"", "é".repeat(64))), "{whole}");
}

#[test]
fn what_the_engine_says_of_damaged_files_is_in_postgresql_style() {
    let mut refused = 0;
    for bytes in damaged_files() {
        let limits = Limits::default();
        let Err(error) = gbtrees::internals::parse(&bytes, &limits, gbtrees::Cancel::never())
        else {
            continue;
        };
        assert_style(&Error::from(error));
        refused += 1;
    }
    assert!(refused > 100, "only {refused} damaged files were refused");
}

/// A model file damaged at every place: cut short, and with each byte replaced.
fn damaged_files() -> Vec<Vec<u8>> {
    let model = golden_models::file("xgboost/2.1.4/no_trees_multiclass.json");
    let cut = (0..model.len()).map(|end| model[..end].to_vec());
    let replaced = (0..model.len()).flat_map(|at| {
        [b'"', b'-', b'9', b'{', 0xff].into_iter().map(move |byte| {
            let mut bytes = model.to_vec();
            bytes[at] = byte;
            bytes
        })
    });
    cut.chain(replaced).collect()
}
