//! Walks the table of errors: every kind of the engine's and every error of the extension's has a
//! SQLSTATE that tells a user's mistake from a bug, and text in PostgreSQL's style.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at a surprise"
)]

use gbtrees::{ErrorKind, Limits, Place};
use pg_interface::{Report, error_table_tests};
use row_source::SourceError;

use super::{CategoryReason, Error, NAMES, ShapeReason, TypeReason};
use crate::registry::reference::{self, Reference};

/// Every reason. Neither `match` has a wildcard: a new reason must be named here.
fn type_reasons() -> Vec<TypeReason> {
    use TypeReason::*;
    let after = |reason: TypeReason| match reason {
        Unusable => Some(TextForNumber),
        TextForNumber => Some(StringForNumber),
        StringForNumber => Some(TextWithoutCategories),
        TextWithoutCategories => Some(TextForNumericCategories),
        TextForNumericCategories => Some(NumberForTextCategories),
        NumberForTextCategories => Some(EnumForPinned),
        EnumForPinned => None,
    };
    std::iter::successors(Some(Unusable), |reason| after(*reason)).collect()
}

fn shape_reasons() -> Vec<ShapeReason> {
    use ShapeReason::*;
    let several = |classes| SeveralValues { values: 3, classes };
    let after = |reason: ShapeReason| match reason {
        SeveralValues { classes: false, .. } => Some(several(true)),
        SeveralValues { .. } => Some(NoClasses { several: false }),
        NoClasses { several: false } => Some(NoClasses { several: true }),
        NoClasses { .. } => Some(NoProbabilities { several: false }),
        NoProbabilities { several: false } => Some(NoProbabilities { several: true }),
        NoProbabilities { .. } => None,
    };
    std::iter::successors(Some(several(false)), |reason| after(*reason)).collect()
}

fn engine_errors() -> Vec<Error> {
    let places = [Place::Model, Place::Byte(17), Place::Tree(3), Place::Node { tree: 3, node: 5 }];
    ErrorKind::ALL
        .iter()
        .flat_map(|kind| {
            places.iter().map(|place| gbtrees::Error::new(*kind, "left child is -3").at(*place))
        })
        .map(Error::from)
        .collect()
}

/// At least one value of every variant, and of every reason within one.
fn samples() -> Vec<Error> {
    let text = |value: &str| value.to_owned();
    let (model, name, feature) = (text("flights"), text("flights"), text("distance"));
    let mut all = engine_errors();
    all.extend(type_reasons().into_iter().map(|reason| Error::FeatureType {
        feature: feature.clone().into(),
        type_name: text("text"),
        reason,
    }));
    let reasons = [
        CategoryReason::Unknown,
        CategoryReason::Fraction,
        CategoryReason::Blanks,
        CategoryReason::Policy,
        CategoryReason::Pinned,
    ];
    all.extend(reasons.map(|reason| Error::UnknownCategory {
        feature: feature.clone().into(),
        value: text("XX"),
        reason,
    }));
    for function in ["predict", "predict_class"] {
        all.extend(shape_reasons().into_iter().map(|reason| Error::Shape {
            model: model.clone(),
            function,
            reason,
        }));
    }
    all.extend(["", "a@b", &"x".repeat(64)].map(|wrong| reference::check_name(wrong).unwrap_err()));
    all.extend([
        Reference::parse("flights@").unwrap_err(),
        Error::NoSuchModel { name: name.clone(), nearest: Some(name.clone()) },
        Error::NoSuchModel { name: name.clone(), nearest: None },
        Error::OtherMeaning {
            reference: name.clone(),
            before: 1,
            what: "other labels",
            detail: "Version 1 has others.".to_owned().into(),
            hint: "Pass allow_change => true if that is meant.",
        },
        Error::RealInput { given: name.clone() },
        Error::EmptyFeatureName,
        Error::WholeModel { reference: text("flights@2"), name: name.clone() },
        Error::NeedsVersion { name: name.clone() },
        Error::NotAnAlias { reference: text("flights@2") },
        Error::ModelExists { name: name.clone() },
        Error::RenamePinned { name: name.clone(), pinned: name.clone() },
        Error::RenameInUse { name: name.clone(), function: text("flights(real)").into() },
        Error::NotMember { role: text("anna") },
        Error::NoSuchVersion { name: name.clone(), version: 2 },
        Error::Denied { name: name.clone() },
        Error::NotOwner { name: name.clone() },
        Error::InspectDenied { name: name.clone() },
        Error::NoSuchPrivilege { privilege: text("select") },
        Error::NoSuchRole { role: text("nobody") },
        Error::ConcurrentUpdate,
        Error::Deployed { name: name.clone(), version: 2 },
        Error::MatrixDimensions { given: 1 },
        Error::MatrixDimensions { given: 3 },
        Error::ResultSize { rows: 100_000_000, values: 3 },
        Error::ExplanationSize { model: model.clone(), features: 65_536, outputs: 2 },
        Error::NoSuchOutput { model: model.clone(), output: text("x").repeat(99) },
        Error::OutputNotNamed { model: model.clone(), outputs: 2 },
        Error::NegativeTop,
        Error::NotAFeature { model: model.clone(), feature: text("x"), nearest: Some(text("y")) },
        Error::SameFeature,
        Error::UnknownPolicy { given: text("x") },
        Error::TooSmall { argument: "points", least: 2 },
        Error::Percentiles,
        Error::NoGrid { feature: text("\"x\"").into() },
        Error::GridTooLarge { points: 1_000_000 },
        Error::UnknownMetric { metric: text("x"), known: text("It has rmse.").into() },
        Error::TooManyRows { rows: 1_000_000 },
        Error::ContributionShape,
        Error::MetricArgument { argument: "weight", what: "is negative" },
        Error::NoEquality,
        Error::OutsideAggregate,
        reference::check_alias("1").unwrap_err(),
        Error::GroupOfOneRow { number: 3 },
        Error::NothingDeployed { name: name.clone() },
        Error::OnlyVersion { name: name.clone(), version: 1 },
        Error::DropScored { what: text("model \"flights\"").into(), table: text("t").into() },
        Error::NotATable { relation: text("v").into() },
        Error::NotTableOwner { table: text("t").into() },
        Error::ScoreColumn { column: text("score"), expected: "real" },
        Error::ScoreExists { table: text("t").into(), name: name.clone() },
        Error::ScoreTaken { table: text("t").into(), column: text("score") },
        Error::GeneratedFeature { column: text("area") },
        Error::ScoreFeature { column: text("score") },
        Error::GeneratedScore { column: text("score") },
        Error::NotScores { table: text("t").into(), score: text("score"), version: text("v") },
        Error::ScoreOutput { output: text("leaf") },
        Error::OnError { value: text("x") },
        Error::NotScoreTrigger,
        Error::NoEarlierDeployment { name: name.clone() },
        Error::EarlierDropped { name: name.clone(), version: 2 },
        Error::NoSuchAlias { name: name.clone(), alias: text("champion") },
        Error::Aliased { name: name.clone(), version: 2, alias: text("champion") },
        Error::Pinned { name: name.clone(), version: 2 },
        Error::PinnedInUse { name: name.clone(), version: 2, object: text("index i").into() },
        Error::FunctionOfOtherFeatures {
            name: name.clone(),
            function: text("public.f(real)").into(),
            detail: text("Feature 1 is \"a\" in version 1 and \"b\" in version 2.").into(),
        },
        Error::NotPinned { model: text("flights@2") },
        Error::PinnedNotConstant,
        Error::FeatureCount {
            model: model.clone(),
            expected: 10,
            given: 9,
            names: Some(text("The features are a, b.").into()),
            hint: Some("Do this."),
        },
        Error::NoSuchFeature {
            model: model.clone(),
            feature: feature.clone(),
            form: "row",
            unnamed: false,
        },
        Error::NoFeatureNames { model, form: "jsonb object" },
        Error::Dimensions { what: "label", given: 0 },
        Error::ArrayLength { column: text("x"), expected: 1, given: 2 },
        Error::ArrayType { type_name: text("text[]") },
        Error::AmbiguousColumn { column: text("x") },
        Error::NullCategory { feature: feature.into() },
        Error::PinnedRow { type_name: text("record") },
        Error::ImportanceKind { kind: text("shap") },
        Error::Source { error: SourceError::AmbiguousColumn { column: text("x") } },
        Error::UnknownClass { column: text("x"), value: text("XX") },
        Error::NoMetrics { model: text("flights"), objective: text("survival:cox") },
        Error::QuantileLevels { model: text("flights"), values: 3 },
        Error::EvaluationArgument { message: "one needs the other", hint: "Do this." },
        Error::NotComparable { baseline: text("a"), candidate: text("b") },
        Error::NoBaseline { name: text("flights"), version: 2 },
        Error::InvalidBaseline,
        Error::TooManySlices { slices: 3 },
        Error::GroupTooLarge { rows: 3 },
        Error::NullArgument { argument: "name" },
        Error::NoRegistry,
        Error::DamagedPlan,
        Error::Registry { name, what: "digest" },
        Error::Encoding { what: "name" },
        Error::NotAnObject,
        Error::NameLength { what: "feature name", bytes: 5_000, limit: 4_096 },
        Error::FileName { is_pickle: true },
        Error::FileName { is_pickle: false },
        Error::FunctionExists { function: text("flights") },
        Error::OtherFunction { function: "predict" },
        Error::OutputFunction { output: text("leaf") },
        Error::NoSchema,
        Error::NoBaseMargin { model: text("flights") },
        Error::RoundsTwice,
        Error::NoBestIteration,
        Error::CategoriesMissing { feature: text("x"), others: String::new() },
        Error::KernelMissing { name: "avx512", present: vec!["avx2", "portable"] },
    ]);
    all
}

error_table_tests!(samples());

#[test]
fn a_place_is_told_in_the_detail_and_not_in_the_message() {
    for error in engine_errors() {
        let Error::Engine { error: engine } = &error else { panic!("{error:?}") };
        let place = engine.place().to_string();
        let Report { message, detail, .. } = error.report();
        assert!(!message.contains(&place), "{message}");
        match engine.place() {
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
