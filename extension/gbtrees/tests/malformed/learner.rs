//! Models with mismatched parts, and impossible parameters.

use crate::malformed::ErrorKind::{self, Length, NotFinite, WrongType};
use crate::malformed::models::{binary, categorical, linear};
use crate::malformed::value::{Document, value};
use crate::malformed::{parse, run};
use serde_json::{Value, json};

const BOOSTER: &str = "learner.gradient_booster";
const MODEL: &str = "learner.gradient_booster.model";

#[test]
fn missing_and_repeated_keys() {
    let cases = r#"
        no learner | learner - | MissingKey | model
        no gradient_booster | learner.gradient_booster - | MissingKey | model
        no learner_model_param | learner.learner_model_param - | MissingKey | model
        no objective | learner.objective - | MissingKey | model
        no objective name | learner.objective.name - | MissingKey | model
        no booster name | B.name - | MissingKey | model
        no model | B.model - | MissingKey | model
        no trees | M.trees - | MissingKey | model
        no tree_info | M.tree_info - | MissingKey | model
        no gbtree_model_param | M.gbtree_model_param - | MissingKey | model
        no base_score | P.base_score - | MissingKey | model
        no num_feature | P.num_feature - | MissingKey | model
        no num_class | P.num_class - | MissingKey | model
        learner twice | learner + {} | DuplicateKey | byte
        trees twice | M.trees + [] | DuplicateKey | byte
        base_score twice | P.base_score + "1" | DuplicateKey | byte
        attribute twice | learner.attributes.best_iteration + "2" | DuplicateKey | byte
    "#;
    run(binary, cases);
}

#[test]
fn impossible_coefficients_are_refused() {
    let cases = r#"
        none | M.weights - | MissingKey | model
        of no model | B.model - | MissingKey | model
        too few | M.weights = [0.5, -0.25, 2.0] | Length | model
        none after rounds | M.boosted_rounds + 2; M.weights = [] | Length | model
        too many | learner.feature_names = []; P.num_feature = "2" | Length | model
        for two outputs | P.num_target = "2" | Length | model
        not finite | M.weights = [0.5, -0.25, NaN, 0.125] | NotFinite | model
        a list | M.weights = [0.5, [], 2.0, 0.125] | WrongType | byte
        of trees | B.name = "gbtree" | MissingKey | model
    "#;
    run(linear, cases);
}

/// DART's layouts: before 3.3, 3.3, and since.
const LAYOUTS: [fn(&mut Document, Value); 3] = [
    |model, weights| {
        let gbtree = model.at(BOOSTER).clone();
        model.set(BOOSTER, json!({"gbtree": gbtree, "name": "dart", "weight_drop": weights}));
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
        for model in weighted(json!([1.0, 0.5])) {
            let weights: Vec<f32> =
                model.unwrap().trees().iter().map(gbtrees::internals::Tree::weight).collect();
            assert_eq!(weights, [1.0, 0.5]);
        }
        for (weights, kind) in [
            ("[1.0]", Length),
            ("[]", Length),
            ("[1.0, 0.5, 0.25]", Length),
            ("[1.0, NaN]", NotFinite),
            ("[ Infinity, 1.0]", NotFinite),
            ("\"1\"", WrongType),
        ] {
            for model in weighted(value(weights)) {
                assert_eq!(model.unwrap_err().kind(), kind, "{weights}");
            }
        }
    }
}

#[test]
fn wrong_types() {
    let cases = r#"
        learner is null | learner = null | WrongType | byte
        trees are an object | M.trees = {} | WrongType | byte
        a tree is a number | M.trees.1 = 1 | WrongType | byte
        tree_info holds fractions | M.tree_info.0 = 0.5 | WrongType | byte
        objective name is a number | learner.objective.name = 1 | WrongType | byte
        attribute is a number | learner.attributes.best_iteration = 1 | WrongType | byte
        feature name is null | learner.feature_names.0 = null | WrongType | byte
        base_score is an array | P.base_score = [1] | WrongType | byte
        version has two parts | version = [3, 4] | Length | byte
        version has four parts | version = [3, 4, 1, 0] | Limit | byte
        version is negative | version.0 = -3 | Number | byte
    "#;
    run(binary, cases);
}

#[test]
fn sizes_and_outputs() {
    let cases = r#"
        num_class negative | P.num_class = "-1" | Parameter | model
        num_class huge | P.num_class = "2000000000" | Limit | model
        num_class beyond i64 | P.num_class = "9223372036854775808" | Number | byte
        num_class is a word | P.num_class = "two" | Parameter | byte
        num_class is empty | P.num_class = "" | Parameter | byte
        num_class is a fraction | P.num_class = "1.5" | Parameter | byte
        num_target 0 | P.num_target = "0" | Parameter | model
        num_target huge | P.num_target = "4097" | Limit | model
        classes and targets | P.num_class = "2"; P.num_target = "2" | Unsupported | model
        softmax of no classes | learner.objective.name = "multi:softmax" | Parameter | model
        num_feature 0 | P.num_feature = "0" | Parameter | model
        num_feature negative | P.num_feature = "-3" | Parameter | model
        num_feature huge | P.num_feature = "4294967296" | Limit | model
        num_trees too large | M.gbtree_model_param.num_trees = "3" | Length | model
        num_trees negative | M.gbtree_model_param.num_trees = "-2" | Length | model
        tree_info short | M.tree_info = [0] | Length | model
        tree_info long | M.tree_info = [0, 0, 0] | Length | model
        tree_info beyond the outputs | M.tree_info.1 = 1 | OutputRange | tree 1
        tree_info negative | M.tree_info.0 = -1 | OutputRange | tree 0
        rounds do not begin at 0 | M.iteration_indptr.0 = 1 | Parameter | model
        rounds do not ascend | M.iteration_indptr = [0, 2, 1, 2] | Parameter | model
        rounds end early | M.iteration_indptr = [0, 1] | Parameter | model
        no rounds | M.iteration_indptr = [] | Parameter | model
        trees do not make whole rounds
            | M.iteration_indptr -; M.gbtree_model_param.num_parallel_tree = "3"
            | Parameter | model
    "#;
    run(binary, cases);
}

#[test]
fn levels_of_outputs() {
    let cases = r#"
        more quantiles than outputs
            | learner.objective = {"name": "reg:quantileerror",
            "quantile_loss_param": {"quantile_alpha": "[1E-1,9E-1]"}}
            | Length | model
        fewer expectiles than outputs
            | P.num_target = "3"; learner.objective = {"name": "reg:expectileerror",
            "expectile_loss_param": {"expectile_alpha": "[1E-1,9E-1]"}}
            | Length | model
        expectiles that are no numbers
            | learner.objective = {"name": "reg:expectileerror",
            "expectile_loss_param": {"expectile_alpha": "[half]"}}
            | Parameter | byte
    "#;
    run(binary, cases);
}

#[test]
fn base_scores() {
    let cases = r#"
        empty | P.base_score = "" | Parameter | byte
        empty list | P.base_score = "[]" | Parameter | byte
        list without end | P.base_score = "[5E-1" | Parameter | byte
        two numbers without a bracket's end | P.base_score = "[1,2" | Parameter | byte
        a word | P.base_score = "half" | Parameter | byte
        hole in the list | P.base_score = "[1E0,,2E0]" | Parameter | byte
        too many | P.base_score = "[1E-1,2E-1]" | Length | model
        too large for f32 | P.base_score = "1E39" | Number | byte
        NaN | P.base_score = "NaN" | NotFinite | model
        infinite | P.base_score = "[inf]" | NotFinite | model
        no probability | P.base_score = "[1.5E0]" | Parameter | model
        negative probability | P.base_score = "-5E-1" | Parameter | model
        zero for a logarithm | learner.objective.name = "count:poisson"; P.base_score = "0E0"
            | Parameter | model
    "#;
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
        model.set("learner.learner_model_param.base_score", spelling);
        model.set("learner.learner_model_param.num_target", outputs);
        assert_eq!(parse(&model.to_json()).unwrap().base_score(), expected, "{spelling}");
    }
}

#[test]
fn features() {
    let cases = r#"
        too few names | learner.feature_names = ["a"] | Names | model
        the same name twice | learner.feature_names.2 = "a" | Names | model
        too few types | learner.feature_types = ["q"] | Length | model
        unknown type | learner.feature_types.1 = "date" | Parameter | byte
        dictionaries for too few features
            | M.cats.enc = [{"offsets": [0, 1, 3], "values": [97, -61, -87]}];
            M.cats.feature_segments = [0, 2]
            | Length | model
        segments disagree | M.cats.feature_segments = [0, 3, 3, 3] | Length | model
        the same category twice | M.cats.enc.0 = {"offsets": [0, 1, 2], "values": [97, 97]}
            | Names | model
        offsets beyond the bytes | M.cats.enc.0.offsets.2 = 4 | Length | byte
        offsets descend | M.cats.enc.0.offsets = [0, 3, 1, 3] | Length | byte
        a byte of 256 | M.cats.enc.0.values.0 = 256 | Number | byte
        unknown type of categories | M.cats.enc.0 = {"type": 6, "values": [1, 2]} | Parameter | byte
        categories without a type | M.cats.enc.0 = {"values": [1, 2]} | MissingKey | byte
        categories without values | M.cats.enc.0 = {"type": 15} | MissingKey | model
        categories that are NaN | M.cats.enc.0 = {"type": 7, "values": [1.0, NaN]}
            | NotFinite | model
    "#;
    run(categorical, cases);
}

#[test]
fn categories_miscut_by_xgboost_are_dropped() {
    let categories = |version: &[i64], values: &[i64]| {
        let mut model = categorical();
        model.set("version", version);
        model.set(&format!("{MODEL}.cats.enc.0.values"), values);
        parse(&model.to_ubjson()).unwrap().categories()[0].clone()
    };
    assert!(categories(&[3, 4, 1], &[97, -61, -87]).is_some());
    assert!(categories(&[3, 2, 0], &[97, -61, -87]).is_none(), "characters are counted, not bytes");
    assert!(categories(&[3, 2, 0], &[97, 98, 99]).is_some());
    assert!(categories(&[3, 4, 1], &[-61, -87, 97]).is_none(), "not UTF-8");
}

#[test]
fn a_memory_snapshot_holds_a_model() {
    let snapshot = Document(json!({"Config": {"learner": {}}, "Model": binary().0}));
    for bytes in [snapshot.to_json(), snapshot.to_ubjson()] {
        assert_eq!(parse(&bytes).unwrap().trees().len(), 2);
    }
    let nested = Document(json!({"Model": snapshot.0}));
    assert_eq!(parse(&nested.to_json()).unwrap_err().kind(), ErrorKind::MissingKey);
}
