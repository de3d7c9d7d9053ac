//! Trees that are none, and nodes that cannot be.

use crate::ErrorKind::{
    CategoryRange, DuplicateKey, FeatureRange, Length, MissingKey, NotFinite, Number, Parameter,
    TreeShape, WrongType,
};
use crate::Where::{Byte, Node, Tree};
use crate::models::{binary, categorical, path};
use crate::value::Value::{self, Float, Integer};
use crate::value::{floats, integers, text};
use crate::{Case, parse, run};

const TREES: &str = "learner.gradient_booster.model.trees";

fn set(model: &mut Value, inside: &str, value: Value) {
    model.set(&path(inside), value);
}

/// A way to be unusual, and what is done to a model for it.
type Accepted = (&'static str, fn(&mut Value));

#[test]
fn links() {
    let cases: &[Case] = &[
        ("negative left child", |m| set(m, "left_children.0", Integer(-2)), TreeShape, Node(0, 0)),
        ("only a left child", |m| set(m, "right_children.0", Integer(-1)), TreeShape, Node(0, 0)),
        ("only a right child", |m| set(m, "left_children.2", Integer(-1)), TreeShape, Node(0, 2)),
        (
            "left child beyond the end",
            |m| set(m, "left_children.2", Integer(5)),
            TreeShape,
            Node(0, 2),
        ),
        (
            "right child beyond the end",
            |m| set(m, "right_children.2", Integer(5)),
            TreeShape,
            Node(0, 2),
        ),
        (
            "child is the largest i32",
            |m| set(m, "left_children.0", Integer(i64::from(i32::MAX))),
            TreeShape,
            Node(0, 0),
        ),
        ("child is the root", |m| set(m, "left_children.2", Integer(0)), TreeShape, Node(0, 2)),
        (
            "child is the node itself",
            |m| {
                set(m, "left_children.2", Integer(2));
                set(m, "right_children.2", Integer(3));
            },
            TreeShape,
            Node(0, 2),
        ),
        (
            "cycle",
            |m| {
                set(m, "left_children.4", Integer(2));
                set(m, "right_children.4", Integer(3));
            },
            TreeShape,
            Node(0, 2),
        ),
        (
            "children are the same node",
            |m| set(m, "right_children.2", Integer(3)),
            TreeShape,
            Node(0, 2),
        ),
        (
            "children change places",
            |m| {
                set(m, "left_children.2", Integer(4));
                set(m, "right_children.2", Integer(3));
            },
            TreeShape,
            Node(0, 2),
        ),
        (
            "child shared by two splits",
            |m| {
                set(m, "left_children.1", Integer(3));
                set(m, "right_children.1", Integer(4));
                set(m, "parents.3", Integer(1));
                set(m, "parents.4", Integer(1));
            },
            TreeShape,
            Node(0, 3),
        ),
        (
            "node that no split leads to",
            |m| {
                set(m, "left_children.2", Integer(-1));
                set(m, "right_children.2", Integer(-1));
            },
            TreeShape,
            Node(0, 3),
        ),
        (
            "split leads to a deleted node",
            |m| {
                set(m, "split_indices.3", Integer(i64::from(i32::MAX)));
                set(m, "tree_param.num_deleted", text("1"));
            },
            TreeShape,
            Node(0, 3),
        ),
        (
            "fewer deleted nodes than stated",
            |m| set(m, "tree_param.num_deleted", text("1")),
            TreeShape,
            Tree(0),
        ),
        ("wrong parent", |m| set(m, "parents.3", Integer(0)), TreeShape, Node(0, 3)),
        ("root with a parent", |m| set(m, "parents.0", Integer(1)), TreeShape, Node(0, 0)),
        (
            "cycle in the second tree",
            |m| {
                m.set(&format!("{TREES}.1.left_children.1"), Integer(1));
                m.set(&format!("{TREES}.1.right_children.1"), Integer(2));
            },
            TreeShape,
            Node(1, 1),
        ),
    ];
    run(binary, cases);
}

#[test]
fn arrays_of_a_tree() {
    let cases: &[Case] = &[
        (
            "no nodes",
            |m| {
                for key in [
                    "left_children",
                    "right_children",
                    "parents",
                    "split_indices",
                    "default_left",
                    "split_type",
                ] {
                    set(m, key, integers(&[]));
                }
                for key in ["split_conditions", "loss_changes", "sum_hessian"] {
                    set(m, key, floats(&[]));
                }
                set(m, "tree_param.num_nodes", text("0"));
            },
            TreeShape,
            Tree(0),
        ),
        ("num_nodes too large", |m| set(m, "tree_param.num_nodes", text("6")), Length, Tree(0)),
        ("num_nodes negative", |m| set(m, "tree_param.num_nodes", text("-1")), Length, Tree(0)),
        (
            "right_children short",
            |m| set(m, "right_children", integers(&[2, -1, 4, -1])),
            Length,
            Tree(0),
        ),
        ("parents short", |m| set(m, "parents", integers(&[i64::from(i32::MAX)])), Length, Tree(0)),
        ("split_indices long", |m| set(m, "split_indices", integers(&[0; 6])), Length, Tree(0)),
        (
            "split_conditions short",
            |m| set(m, "split_conditions", floats(&[0.5; 4])),
            Length,
            Tree(0),
        ),
        ("default_left short", |m| set(m, "default_left", integers(&[1; 4])), Length, Tree(0)),
        ("loss_changes empty", |m| set(m, "loss_changes", floats(&[])), Length, Tree(0)),
        ("sum_hessian long", |m| set(m, "sum_hessian", floats(&[1.0; 6])), Length, Tree(0)),
        ("split_type short", |m| set(m, "split_type", integers(&[0; 4])), Length, Tree(0)),
        (
            "left_children missing",
            |m| m.remove(&path("tree_param").replace(".tree_param", ""), "left_children"),
            MissingKey,
            Tree(0),
        ),
        (
            "sum_hessian missing",
            |m| m.remove(crate::models::TREE, "sum_hessian"),
            MissingKey,
            Tree(0),
        ),
        (
            "tree_param missing",
            |m| m.remove(crate::models::TREE, "tree_param"),
            MissingKey,
            Tree(0),
        ),
        ("num_nodes missing", |m| m.remove(&path("tree_param"), "num_nodes"), MissingKey, Tree(0)),
        ("id is not the position", |m| set(m, "id", Integer(1)), Parameter, Tree(0)),
        (
            "left_children twice",
            |m| m.add(crate::models::TREE, "left_children", integers(&[-1])),
            DuplicateKey,
            Byte,
        ),
        (
            "left_children are fractions",
            |m| set(m, "left_children", floats(&[1.0; 5])),
            WrongType,
            Byte,
        ),
        (
            "left_children are an object",
            |m| set(m, "left_children", crate::value::map([])),
            WrongType,
            Byte,
        ),
        (
            "left child does not fit i32",
            |m| set(m, "left_children.0", Integer(1 << 31)),
            Number,
            Byte,
        ),
        ("default_left is 2", |m| set(m, "default_left.0", Integer(2)), WrongType, Byte),
        (
            "split_conditions are strings",
            |m| set(m, "split_conditions.0", text("0.5")),
            WrongType,
            Byte,
        ),
    ];
    run(binary, cases);
}

#[test]
fn contents_of_nodes() {
    let cases: &[Case] = &[
        (
            "feature beyond the end",
            |m| set(m, "split_indices.2", Integer(3)),
            FeatureRange,
            Node(0, 2),
        ),
        ("feature negative", |m| set(m, "split_indices.0", Integer(-1)), FeatureRange, Node(0, 0)),
        ("threshold NaN", |m| set(m, "split_conditions.2", Float(f32::NAN)), NotFinite, Node(0, 2)),
        ("leaf NaN", |m| set(m, "split_conditions.3", Float(f32::NAN)), NotFinite, Node(0, 3)),
        (
            "leaf infinite",
            |m| set(m, "split_conditions.1", Float(f32::INFINITY)),
            NotFinite,
            Node(0, 1),
        ),
        (
            "leaf minus infinite",
            |m| set(m, "split_conditions.4", Float(f32::NEG_INFINITY)),
            NotFinite,
            Node(0, 4),
        ),
    ];
    run(binary, cases);
}

#[test]
fn category_sets() {
    let cases: &[Case] = &[
        ("code negative", |m| set(m, "categories.0", Integer(-1)), CategoryRange, Node(0, 0)),
        ("code too large", |m| set(m, "categories.1", Integer(1 << 24)), CategoryRange, Node(0, 0)),
        (
            "set beyond the codes",
            |m| set(m, "categories_sizes.0", Integer(3)),
            CategoryRange,
            Node(0, 0),
        ),
        (
            "set begins before the codes",
            |m| set(m, "categories_segments.0", Integer(-1)),
            CategoryRange,
            Node(0, 0),
        ),
        (
            "set of huge size",
            |m| set(m, "categories_sizes.0", Integer(i64::MAX)),
            CategoryRange,
            Node(0, 0),
        ),
        ("set empty", |m| set(m, "categories_sizes.0", Integer(0)), CategoryRange, Node(0, 0)),
        ("segments short", |m| set(m, "categories_segments", integers(&[])), Length, Tree(0)),
        ("sizes long", |m| set(m, "categories_sizes", integers(&[2, 2])), Length, Tree(0)),
        (
            "node that is no categorical split",
            |m| set(m, "categories_nodes.0", Integer(2)),
            CategoryRange,
            Tree(0),
        ),
        (
            "node beyond the end",
            |m| set(m, "categories_nodes.0", Integer(5)),
            CategoryRange,
            Tree(0),
        ),
        (
            "the same node twice",
            |m| {
                set(m, "categories_nodes", integers(&[0, 0]));
                set(m, "categories_segments", integers(&[0, 0]));
                set(m, "categories_sizes", integers(&[2, 2]));
            },
            CategoryRange,
            Tree(0),
        ),
        (
            "categorical split without categories",
            |m| {
                for key in ["categories_nodes", "categories_segments", "categories_sizes"] {
                    set(m, key, integers(&[]));
                }
            },
            CategoryRange,
            Node(0, 0),
        ),
    ];
    run(categorical, cases);
}

#[test]
fn what_xgboost_writes_besides_is_accepted() {
    let accepted: &[Accepted] = &[
        ("infinite threshold", |m| set(m, "split_conditions.0", Float(f32::INFINITY))),
        ("minus infinite threshold", |m| set(m, "split_conditions.2", Float(f32::NEG_INFINITY))),
        ("no split_type", |m| m.remove(crate::models::TREE, "split_type")),
        ("no parents", |m| m.remove(crate::models::TREE, "parents")),
        ("no num_deleted", |m| m.remove(&path("tree_param"), "num_deleted")),
        ("leaf vectors of size 0", |m| set(m, "tree_param.size_leaf_vector", text("0"))),
        ("default_left as booleans", |m| {
            set(m, "default_left", Value::List(vec![Value::Flag(true); 5]));
        }),
        ("parameters without quotes", |m| set(m, "tree_param.num_nodes", Integer(5))),
        ("unknown keys", |m| m.add(crate::models::TREE, "leaf_child_counts", integers(&[0]))),
        ("pruned split with its categories left behind", |m| {
            for (key, value) in
                [("left_children.2", -1), ("right_children.2", -1), ("split_type.2", 1)]
            {
                set(m, key, Integer(value));
            }
            for node in [3, 4] {
                set(m, &format!("split_indices.{node}"), Integer(i64::from(i32::MAX)));
            }
            set(m, "tree_param.num_deleted", text("2"));
            set(m, "categories", integers(&[7]));
            set(m, "categories_nodes", integers(&[2]));
            set(m, "categories_segments", integers(&[0]));
            set(m, "categories_sizes", integers(&[1]));
        }),
    ];
    for (name, edit) in accepted {
        let mut model = binary();
        edit(&mut model);
        for bytes in [model.to_json(), model.to_ubjson()] {
            let result = parse(&bytes);
            assert!(result.is_ok(), "{name}: {result:?}");
        }
    }
}
