//! Models whose parts do not fit each other, and parameters that no model has.

use crate::ErrorKind::{
    self, DuplicateKey, Length, Limit, MissingKey, Names, NotFinite, Number, OutputRange,
    Parameter, Unsupported, WrongType,
};
use crate::Where::{Byte, Model, Tree};
use crate::models::{binary, categorical};
use crate::value::Value::{self, Float, Integer, List, Null};
use crate::value::{floats, integers, map, text};
use crate::{Case, parse, run};

const BOOSTER: &str = "learner.gradient_booster";
const MODEL: &str = "learner.gradient_booster.model";
const PARAMETERS: &str = "learner.learner_model_param";

fn parameter(model: &mut Value, key: &str, value: &str) {
    model.set(&format!("{PARAMETERS}.{key}"), text(value));
}

fn inner(model: &mut Value, key: &str, value: Value) {
    model.set(&format!("{MODEL}.{key}"), value);
}

#[test]
fn missing_and_repeated_keys() {
    let cases: &[Case] = &[
        ("no learner", |m| *m = map([("version", integers(&[3, 4, 1]))]), MissingKey, Model),
        ("no gradient_booster", |m| m.remove("learner", "gradient_booster"), MissingKey, Model),
        (
            "no learner_model_param",
            |m| m.remove("learner", "learner_model_param"),
            MissingKey,
            Model,
        ),
        ("no objective", |m| m.remove("learner", "objective"), MissingKey, Model),
        ("no objective name", |m| m.remove("learner.objective", "name"), MissingKey, Model),
        ("no booster name", |m| m.remove(BOOSTER, "name"), MissingKey, Model),
        ("no model", |m| m.remove(BOOSTER, "model"), MissingKey, Model),
        ("no trees", |m| m.remove(MODEL, "trees"), MissingKey, Model),
        ("no tree_info", |m| m.remove(MODEL, "tree_info"), MissingKey, Model),
        ("no gbtree_model_param", |m| m.remove(MODEL, "gbtree_model_param"), MissingKey, Model),
        ("no base_score", |m| m.remove(PARAMETERS, "base_score"), MissingKey, Model),
        ("no num_feature", |m| m.remove(PARAMETERS, "num_feature"), MissingKey, Model),
        ("no num_class", |m| m.remove(PARAMETERS, "num_class"), MissingKey, Model),
        (
            "learner twice",
            |m| {
                let learner = m.at("learner").clone();
                if let Value::Map(members) = m {
                    members.push(("learner".to_owned(), learner));
                }
            },
            DuplicateKey,
            Byte,
        ),
        ("trees twice", |m| m.add(MODEL, "trees", List(vec![])), DuplicateKey, Byte),
        ("base_score twice", |m| m.add(PARAMETERS, "base_score", text("1")), DuplicateKey, Byte),
        (
            "attribute twice",
            |m| m.add("learner.attributes", "best_iteration", text("2")),
            DuplicateKey,
            Byte,
        ),
    ];
    run(binary, cases);
}

/// DART in the three layouts that releases have written: before 3.3, 3.3, and since.
const LAYOUTS: [fn(&mut Value, Value); 3] = [
    |model, weights| {
        let gbtree = model.at(BOOSTER).clone();
        let dart = map([("gbtree", gbtree), ("name", text("dart")), ("weight_drop", weights)]);
        model.set(BOOSTER, dart);
    },
    |model, weights| model.add(BOOSTER, "weight_drop", weights),
    |model, weights| model.add(MODEL, "weight_drop", weights),
];

#[test]
fn weights_of_trees_are_read_in_every_layout() {
    for layout in LAYOUTS {
        let weighted = |weights| {
            let mut model = binary();
            layout(&mut model, weights);
            [model.to_json(), model.to_ubjson()].map(|bytes| parse(&bytes))
        };
        for model in weighted(floats(&[1.0, 0.5])) {
            let weights: Vec<f32> =
                model.unwrap().trees().iter().map(gbdt::model::Tree::weight).collect();
            assert_eq!(weights, [1.0, 0.5]);
        }
        for (weights, kind) in [
            (floats(&[1.0]), Length),
            (floats(&[]), Length),
            (floats(&[1.0, 0.5, 0.25]), Length),
            (floats(&[1.0, f32::NAN]), NotFinite),
            (floats(&[f32::INFINITY, 1.0]), NotFinite),
            (text("1"), WrongType),
        ] {
            for model in weighted(weights.clone()) {
                assert_eq!(model.unwrap_err().kind(), kind, "{weights:?}");
            }
        }
    }
}

#[test]
fn wrong_types() {
    let cases: &[Case] = &[
        ("learner is null", |m| m.set("learner", Null), WrongType, Byte),
        ("trees are an object", |m| inner(m, "trees", map([])), WrongType, Byte),
        ("a tree is a number", |m| inner(m, "trees.1", Integer(1)), WrongType, Byte),
        ("tree_info holds fractions", |m| inner(m, "tree_info.0", Float(0.5)), WrongType, Byte),
        (
            "objective name is a number",
            |m| m.set("learner.objective.name", Integer(1)),
            WrongType,
            Byte,
        ),
        (
            "attribute is a number",
            |m| m.set("learner.attributes.best_iteration", Integer(1)),
            WrongType,
            Byte,
        ),
        ("feature name is null", |m| m.set("learner.feature_names.0", Null), WrongType, Byte),
        (
            "base_score is an array",
            |m| m.set(&format!("{PARAMETERS}.base_score"), integers(&[1])),
            WrongType,
            Byte,
        ),
        ("version has two parts", |m| m.set("version", integers(&[3, 4])), Length, Byte),
        ("version has four parts", |m| m.set("version", integers(&[3, 4, 1, 0])), Limit, Byte),
        ("version is negative", |m| m.set("version.0", Integer(-3)), Number, Byte),
    ];
    run(binary, cases);
}

#[test]
fn sizes_and_outputs() {
    let cases: &[Case] = &[
        ("num_class negative", |m| parameter(m, "num_class", "-1"), Parameter, Model),
        ("num_class huge", |m| parameter(m, "num_class", "2000000000"), Limit, Model),
        (
            "num_class beyond i64",
            |m| parameter(m, "num_class", "9223372036854775808"),
            Number,
            Byte,
        ),
        ("num_class is a word", |m| parameter(m, "num_class", "two"), Parameter, Byte),
        ("num_class is empty", |m| parameter(m, "num_class", ""), Parameter, Byte),
        ("num_class is a fraction", |m| parameter(m, "num_class", "1.5"), Parameter, Byte),
        ("num_target 0", |m| parameter(m, "num_target", "0"), Parameter, Model),
        ("num_target huge", |m| parameter(m, "num_target", "4097"), Limit, Model),
        (
            "classes and targets",
            |m| {
                parameter(m, "num_class", "2");
                parameter(m, "num_target", "2");
            },
            Unsupported,
            Model,
        ),
        (
            "softmax of no classes",
            |m| m.set("learner.objective.name", text("multi:softmax")),
            Parameter,
            Model,
        ),
        ("num_feature 0", |m| parameter(m, "num_feature", "0"), Parameter, Model),
        ("num_feature negative", |m| parameter(m, "num_feature", "-3"), Parameter, Model),
        ("num_feature huge", |m| parameter(m, "num_feature", "4294967296"), Limit, Model),
        (
            "num_trees too large",
            |m| inner(m, "gbtree_model_param.num_trees", text("3")),
            Length,
            Model,
        ),
        (
            "num_trees negative",
            |m| inner(m, "gbtree_model_param.num_trees", text("-2")),
            Length,
            Model,
        ),
        ("tree_info short", |m| inner(m, "tree_info", integers(&[0])), Length, Model),
        ("tree_info long", |m| inner(m, "tree_info", integers(&[0, 0, 0])), Length, Model),
        (
            "tree_info beyond the outputs",
            |m| inner(m, "tree_info.1", Integer(1)),
            OutputRange,
            Tree(1),
        ),
        ("tree_info negative", |m| inner(m, "tree_info.0", Integer(-1)), OutputRange, Tree(0)),
        (
            "rounds do not begin at 0",
            |m| inner(m, "iteration_indptr.0", Integer(1)),
            Parameter,
            Model,
        ),
        (
            "rounds do not ascend",
            |m| inner(m, "iteration_indptr", integers(&[0, 2, 1, 2])),
            Parameter,
            Model,
        ),
        ("rounds end early", |m| inner(m, "iteration_indptr", integers(&[0, 1])), Parameter, Model),
        ("no rounds", |m| inner(m, "iteration_indptr", integers(&[])), Parameter, Model),
        (
            "trees do not make whole rounds",
            |m| {
                m.remove(MODEL, "iteration_indptr");
                inner(m, "gbtree_model_param.num_parallel_tree", text("3"));
            },
            Parameter,
            Model,
        ),
    ];
    run(binary, cases);
}

#[test]
fn base_scores() {
    let cases: &[Case] = &[
        ("empty", |m| parameter(m, "base_score", ""), Parameter, Byte),
        ("empty list", |m| parameter(m, "base_score", "[]"), Parameter, Byte),
        ("list without end", |m| parameter(m, "base_score", "[5E-1"), Parameter, Byte),
        (
            "two numbers without a bracket's end",
            |m| parameter(m, "base_score", "[1,2"),
            Parameter,
            Byte,
        ),
        ("a word", |m| parameter(m, "base_score", "half"), Parameter, Byte),
        ("hole in the list", |m| parameter(m, "base_score", "[1E0,,2E0]"), Parameter, Byte),
        ("too many", |m| parameter(m, "base_score", "[1E-1,2E-1]"), Length, Model),
        ("too large for f32", |m| parameter(m, "base_score", "1E39"), Number, Byte),
        ("NaN", |m| parameter(m, "base_score", "NaN"), NotFinite, Model),
        ("infinite", |m| parameter(m, "base_score", "[inf]"), NotFinite, Model),
        ("no probability", |m| parameter(m, "base_score", "[1.5E0]"), Parameter, Model),
        ("negative probability", |m| parameter(m, "base_score", "-5E-1"), Parameter, Model),
        (
            "zero for a logarithm",
            |m| {
                m.set("learner.objective.name", text("count:poisson"));
                parameter(m, "base_score", "0E0");
            },
            Parameter,
            Model,
        ),
    ];
    run(binary, cases);
}

#[test]
fn every_spelling_of_a_base_score_is_read() {
    for (spelling, outputs, expected) in [
        ("5E-1", "1", vec![0.5]),
        ("0.500000", "1", vec![0.5]),
        ("[5E-1]", "1", vec![0.5]),
        (" [ 5E-1 ] ", "1", vec![0.5]),
        ("5E-1", "2", vec![0.5, 0.5]),
        ("[5E-1]", "2", vec![0.5, 0.5]),
        ("[2.5E-1,7.5E-1]", "2", vec![0.25, 0.75]),
    ] {
        let mut model = binary();
        parameter(&mut model, "base_score", spelling);
        parameter(&mut model, "num_target", outputs);
        assert_eq!(parse(&model.to_json()).unwrap().base_score(), expected, "{spelling}");
    }
}

#[test]
fn features() {
    let cases: &[Case] = &[
        ("too few names", |m| m.set("learner.feature_names", List(vec![text("a")])), Names, Model),
        ("the same name twice", |m| m.set("learner.feature_names.2", text("a")), Names, Model),
        ("empty name", |m| m.set("learner.feature_names.0", text("")), Names, Model),
        ("too few types", |m| m.set("learner.feature_types", List(vec![text("q")])), Length, Model),
        ("unknown type", |m| m.set("learner.feature_types.1", text("date")), Parameter, Byte),
        (
            "dictionaries for too few features",
            |m| {
                let first = m.at(&format!("{MODEL}.cats.enc.0")).clone();
                inner(m, "cats.enc", List(vec![first]));
                inner(m, "cats.feature_segments", integers(&[0, 2]));
            },
            Length,
            Model,
        ),
        (
            "segments disagree",
            |m| inner(m, "cats.feature_segments", integers(&[0, 3, 3, 3])),
            Length,
            Model,
        ),
        (
            "the same category twice",
            |m| {
                inner(
                    m,
                    "cats.enc.0",
                    map([("offsets", integers(&[0, 1, 2])), ("values", integers(&[97, 97]))]),
                )
            },
            Names,
            Model,
        ),
        (
            "offsets beyond the bytes",
            |m| inner(m, "cats.enc.0.offsets.2", Integer(4)),
            Length,
            Byte,
        ),
        (
            "offsets descend",
            |m| inner(m, "cats.enc.0.offsets", integers(&[0, 3, 1, 3])),
            Length,
            Byte,
        ),
        ("a byte of 256", |m| inner(m, "cats.enc.0.values.0", Integer(256)), Number, Byte),
        (
            "unknown type of categories",
            |m| inner(m, "cats.enc.0", map([("type", Integer(6)), ("values", integers(&[1, 2]))])),
            Parameter,
            Byte,
        ),
        (
            "categories without a type",
            |m| inner(m, "cats.enc.0", map([("values", integers(&[1, 2]))])),
            MissingKey,
            Byte,
        ),
        (
            "categories without values",
            |m| inner(m, "cats.enc.0", map([("type", Integer(15))])),
            MissingKey,
            Model,
        ),
        (
            "categories that are NaN",
            |m| {
                inner(
                    m,
                    "cats.enc.0",
                    map([("type", Integer(7)), ("values", crate::value::floats(&[1.0, f32::NAN]))]),
                )
            },
            NotFinite,
            Model,
        ),
    ];
    run(categorical, cases);
}

#[test]
fn text_that_xgboost_cut_in_the_wrong_places_is_dropped() {
    let categories = |version: &[i64], values: &[i64]| {
        let mut model = categorical();
        model.set("version", integers(version));
        inner(&mut model, "cats.enc.0.values", integers(values));
        parse(&model.to_ubjson()).unwrap().categories()[0].clone()
    };
    assert!(categories(&[3, 4, 1], &[97, -61, -87]).is_some());
    assert!(categories(&[3, 2, 0], &[97, -61, -87]).is_none(), "characters are counted, not bytes");
    assert!(categories(&[3, 2, 0], &[97, 98, 99]).is_some());
    assert!(categories(&[3, 4, 1], &[-61, -87, 97]).is_none(), "not UTF-8");
}

#[test]
fn a_memory_snapshot_holds_a_model() {
    let snapshot = map([("Config", map([("learner", map([]))])), ("Model", binary())]);
    for bytes in [snapshot.to_json(), snapshot.to_ubjson()] {
        assert_eq!(parse(&bytes).unwrap().trees().len(), 2);
    }
    let nested = map([("Model", snapshot)]);
    assert_eq!(parse(&nested.to_json()).unwrap_err().kind(), ErrorKind::MissingKey);
}
