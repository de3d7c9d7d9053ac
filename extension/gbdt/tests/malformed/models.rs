//! Small models that are valid, for tests to damage.

use crate::value::{Value, floats, integers, map, text};

pub const TREE: &str = "learner.gradient_booster.model.trees.0";

/// Two trees on three features: one of two splits, one of a single split.
pub fn binary() -> Value {
    let first = tree(
        0,
        &[1, -1, 3, -1, -1],
        &[2, -1, 4, -1, -1],
        &[i64::from(i32::MAX), 0, 0, 2, 2],
        &[0, 0, 2, 0, 0],
        &[0.5, -0.25, 1.5, 0.125, 0.75],
    );
    let second = tree(
        1,
        &[1, -1, -1],
        &[2, -1, -1],
        &[i64::from(i32::MAX), 0, 0],
        &[1, 0, 0],
        &[-1.0, 0.5, -0.5],
    );
    model(vec![first, second])
}

/// A model whose root is a categorical split with the codes 1 and 40 on its right.
pub fn categorical() -> Value {
    let mut model = binary();
    model.set(&path("split_type"), integers(&[1, 0, 0, 0, 0]));
    model.set(&path("split_conditions.0"), Value::Float(f32::NAN));
    model.set(&path("categories"), integers(&[1, 40]));
    model.set(&path("categories_nodes"), integers(&[0]));
    model.set(&path("categories_segments"), integers(&[0]));
    model.set(&path("categories_sizes"), integers(&[2]));
    let types = ["c", "float", "int"].map(text);
    model.set("learner.feature_types", Value::List(types.to_vec()));
    let numerical = || map([("offsets", integers(&[])), ("values", integers(&[]))]);
    let named = map([("offsets", integers(&[0, 1, 3])), ("values", integers(&[97, -61, -87]))]);
    let cats = map([
        ("enc", Value::List(vec![named, numerical(), numerical()])),
        ("feature_segments", integers(&[0, 2, 2, 2])),
        ("sorted_idx", integers(&[0, 1])),
    ]);
    model.add("learner.gradient_booster.model", "cats", cats);
    model
}

pub fn path(inside: &str) -> String {
    format!("{TREE}.{inside}")
}

fn tree(
    id: i64,
    left: &[i64],
    right: &[i64],
    parents: &[i64],
    features: &[i64],
    conditions: &[f32],
) -> Value {
    let nodes = left.len();
    let sizes = map([
        ("num_deleted", text("0")),
        ("num_feature", text("3")),
        ("num_nodes", text(&nodes.to_string())),
        ("size_leaf_vector", text("1")),
    ]);
    map([
        ("base_weights", floats(conditions)),
        ("categories", integers(&[])),
        ("categories_nodes", integers(&[])),
        ("categories_segments", integers(&[])),
        ("categories_sizes", integers(&[])),
        ("default_left", integers(&vec![1; nodes])),
        ("id", Value::Integer(id)),
        ("left_children", integers(left)),
        ("loss_changes", floats(&vec![1.0; nodes])),
        ("parents", integers(parents)),
        ("right_children", integers(right)),
        ("split_conditions", floats(conditions)),
        ("split_indices", integers(features)),
        ("split_type", integers(&vec![0; nodes])),
        ("sum_hessian", floats(&vec![4.0; nodes])),
        ("tree_param", sizes),
    ])
}

fn model(trees: Vec<Value>) -> Value {
    let count = trees.len();
    let starts: Vec<i64> = (0..=count as i64).collect();
    let inner = map([
        (
            "gbtree_model_param",
            map([("num_parallel_tree", text("1")), ("num_trees", text(&count.to_string()))]),
        ),
        ("iteration_indptr", integers(&starts)),
        ("tree_info", integers(&vec![0; count])),
        ("trees", Value::List(trees)),
    ]);
    let parameters = map([
        ("base_score", text("[5E-1]")),
        ("boost_from_average", text("1")),
        ("num_class", text("0")),
        ("num_feature", text("3")),
        ("num_target", text("1")),
    ]);
    let names = ["a", "b", "c"].map(text);
    let learner = map([
        ("attributes", map([("best_iteration", text("1"))])),
        ("feature_names", Value::List(names.to_vec())),
        ("feature_types", Value::List(vec![])),
        ("gradient_booster", map([("model", inner), ("name", text("gbtree"))])),
        ("learner_model_param", parameters),
        ("objective", map([("name", text("binary:logistic"))])),
    ]);
    map([("learner", learner), ("version", integers(&[3, 4, 1]))])
}
