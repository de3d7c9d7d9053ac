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
    let edits = r#"$.split_type = [1, 0, 0, 0, 0]; $.split_conditions.0 = NaN;
        $.categories = [1, 40]; $.categories_nodes = [0];
        $.categories_segments = [0]; $.categories_sizes = [2];
        learner.feature_types = ["c", "float", "int"];
        M.cats + {
            "enc": [
                {"offsets": [0, 1, 3], "values": [97, -61, -87]},
                {"offsets": [], "values": []},
                {"offsets": [], "values": []}
            ],
            "feature_segments": [0, 2, 2, 2], "sorted_idx": [0, 1]
        }"#;
    edits.split(';').for_each(|step| crate::edit(&mut model, step));
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
    let mut model = Value::from_text(
        r#"{"learner": {
            "attributes": {"best_iteration": "1"},
            "feature_names": ["a", "b", "c"],
            "feature_types": [],
            "gradient_booster": {"model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "2"},
                "iteration_indptr": [0, 1, 2], "tree_info": [0, 0], "trees": []
            }, "name": "gbtree"},
            "learner_model_param": {
                "base_score": "[5E-1]", "boost_from_average": "1",
                "num_class": "0", "num_feature": "3", "num_target": "1"
            },
            "objective": {"name": "binary:logistic"}
        }, "version": [3, 4, 1]}"#,
    );
    model.set("learner.gradient_booster.model.trees", Value::List(trees));
    model
}
