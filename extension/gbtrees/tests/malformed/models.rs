//! Small valid models to damage.

use serde_json::{Value, json};

use crate::malformed::value::Document;

pub(crate) const TREE: &str = "learner.gradient_booster.model.trees.0";

/// Two trees on three features, with two splits and with one.
pub(crate) fn binary() -> Document {
    let first = tree(
        0,
        &[1, -1, 3, -1, -1],
        &[2, -1, 4, -1, -1],
        &[i32::MAX, 0, 0, 2, 2],
        &[0, 0, 2, 0, 0],
        &[0.5, -0.25, 1.5, 0.125, 0.75],
    );
    let second =
        tree(1, &[1, -1, -1], &[2, -1, -1], &[i32::MAX, 0, 0], &[1, 0, 0], &[-1.0, 0.5, -0.5]);
    Document(json!({"learner": {
        "attributes": {"best_iteration": "1"},
        "feature_names": ["a", "b", "c"],
        "feature_types": [],
        "gradient_booster": {"model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "2"},
            "iteration_indptr": [0, 1, 2], "tree_info": [0, 0], "trees": [first, second]
        }, "name": "gbtree"},
        "learner_model_param": {
            "base_score": "[5E-1]", "boost_from_average": "1",
            "num_class": "0", "num_feature": "3", "num_target": "1"
        },
        "objective": {"name": "binary:logistic"}
    }, "version": [3, 4, 1]}))
}

/// A linear model of three features.
pub(crate) fn linear() -> Document {
    let mut model = binary();
    let edits = r#"B.name = "gblinear"; B.model = {"weights": [0.5, -0.25, 2.0, 0.125]}"#;
    crate::malformed::edit(&mut model, edits);
    model
}

/// A model whose root is a categorical split that sends codes 1 and 40 right.
pub(crate) fn categorical() -> Document {
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
    crate::malformed::edit(&mut model, edits);
    model
}

pub(crate) fn path(inside: &str) -> String {
    format!("{TREE}.{inside}")
}

fn tree(
    id: i64,
    left: &[i32],
    right: &[i32],
    parents: &[i32],
    features: &[i32],
    conditions: &[f32],
) -> Value {
    let nodes = left.len();
    json!({
        "base_weights": conditions, "categories": [], "categories_nodes": [],
        "categories_segments": [], "categories_sizes": [], "default_left": vec![1; nodes],
        "id": id, "left_children": left, "loss_changes": vec![1.0; nodes], "parents": parents,
        "right_children": right, "split_conditions": conditions, "split_indices": features,
        "split_type": vec![0; nodes], "sum_hessian": vec![4.0; nodes],
        "tree_param": {
            "num_deleted": "0", "num_feature": "3", "num_nodes": nodes.to_string(),
            "size_leaf_vector": "1"
        }
    })
}
