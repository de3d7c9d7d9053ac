//! Links that form no tree, and impossible nodes.

use crate::malformed::models::{binary, categorical};
use crate::malformed::{edit, parse, run};

#[test]
fn links() {
    let cases = r#"
        negative left child | $.left_children.0 = -2 | TreeShape | tree 0, node 0
        only a left child | $.right_children.0 = -1 | TreeShape | tree 0, node 0
        only a right child | $.left_children.2 = -1 | TreeShape | tree 0, node 2
        leaf with a negative right child | $.right_children.1 = -2 | TreeShape | tree 0, node 1
        left child beyond the end | $.left_children.2 = 5 | TreeShape | tree 0, node 2
        right child beyond the end | $.right_children.2 = 5 | TreeShape | tree 0, node 2
        child is the largest i32 | $.left_children.0 = 2147483647 | TreeShape | tree 0, node 0
        child is the root | $.left_children.2 = 0 | TreeShape | tree 0, node 2
        child is the node itself | $.left_children.2 = 2; $.right_children.2 = 3
            | TreeShape | tree 0, node 2
        cycle | $.left_children.4 = 2; $.right_children.4 = 3 | TreeShape | tree 0, node 2
        children are the same node | $.right_children.2 = 3 | TreeShape | tree 0, node 2
        children change places | $.left_children.2 = 4; $.right_children.2 = 3
            | TreeShape | tree 0, node 2
        child shared by two splits
            | $.left_children.1 = 3; $.right_children.1 = 4; $.parents.3 = 1; $.parents.4 = 1
            | TreeShape | tree 0, node 3
        node that no split leads to | $.left_children.2 = -1; $.right_children.2 = -1
            | TreeShape | tree 0, node 3
        split leads to a deleted node
            | $.split_indices.3 = 2147483647; $.tree_param.num_deleted = "1"
            | TreeShape | tree 0, node 3
        fewer deleted nodes than stated | $.tree_param.num_deleted = "1" | TreeShape | tree 0
        wrong parent | $.parents.3 = 0 | TreeShape | tree 0, node 3
        root with a parent | $.parents.0 = 1 | TreeShape | tree 0, node 0
        cycle in the second tree | M.trees.1.left_children.1 = 1; M.trees.1.right_children.1 = 2
            | TreeShape | tree 1, node 1
    "#;
    run(binary, cases);
}

#[test]
fn arrays_of_a_tree() {
    let cases = r#"
        no nodes
            | $.left_children = []; $.right_children = []; $.parents = []; $.split_indices = [];
            $.default_left = []; $.split_type = []; $.split_conditions = []; $.loss_changes = [];
            $.sum_hessian = []; $.tree_param.num_nodes = "0"
            | TreeShape | tree 0
        num_nodes too large | $.tree_param.num_nodes = "6" | Length | tree 0
        num_nodes negative | $.tree_param.num_nodes = "-1" | Length | tree 0
        right_children short | $.right_children = [2, -1, 4, -1] | Length | tree 0
        parents short | $.parents = [2147483647] | Length | tree 0
        split_indices long | $.split_indices = [0, 0, 0, 0, 0, 0] | Length | tree 0
        split_conditions short | $.split_conditions = [0.5, 0.5, 0.5, 0.5] | Length | tree 0
        default_left short | $.default_left = [1, 1, 1, 1] | Length | tree 0
        loss_changes empty | $.loss_changes = [] | Length | tree 0
        sum_hessian long | $.sum_hessian = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0] | Length | tree 0
        split_type short | $.split_type = [0, 0, 0, 0] | Length | tree 0
        left_children missing | $.left_children - | MissingKey | tree 0
        sum_hessian missing | $.sum_hessian - | MissingKey | tree 0
        tree_param missing | $.tree_param - | MissingKey | tree 0
        num_nodes missing | $.tree_param.num_nodes - | MissingKey | tree 0
        id is not the position | $.id = 1 | Parameter | tree 0
        left_children twice | $.left_children + [-1] | DuplicateKey | byte
        left_children are fractions | $.left_children = [1.0, 1.0, 1.0, 1.0, 1.0] | WrongType | byte
        left_children are an object | $.left_children = {} | WrongType | byte
        left child does not fit i32 | $.left_children.0 = 2147483648 | Number | byte
        default_left is 2 | $.default_left.0 = 2 | WrongType | byte
        split_conditions are strings | $.split_conditions.0 = "0.5" | WrongType | byte
    "#;
    run(binary, cases);
}

#[test]
fn contents_of_nodes() {
    let cases = r#"
        feature beyond the end | $.split_indices.2 = 3 | FeatureRange | tree 0, node 2
        feature negative | $.split_indices.0 = -1 | FeatureRange | tree 0, node 0
        threshold NaN | $.split_conditions.2 = NaN | NotFinite | tree 0, node 2
        leaf NaN | $.split_conditions.3 = NaN | NotFinite | tree 0, node 3
        leaf infinite | $.split_conditions.1 = Infinity | NotFinite | tree 0, node 1
        leaf minus infinite | $.split_conditions.4 = -Infinity | NotFinite | tree 0, node 4
    "#;
    run(binary, cases);
}

#[test]
fn category_sets() {
    let cases = r#"
        code negative | $.categories.0 = -1 | CategoryRange | tree 0, node 0
        code too large | $.categories.1 = 16777216 | CategoryRange | tree 0, node 0
        set beyond the codes | $.categories_sizes.0 = 3 | CategoryRange | tree 0, node 0
        set begins before the codes | $.categories_segments.0 = -1 | CategoryRange | tree 0, node 0
        set of huge size | $.categories_sizes.0 = 9223372036854775807
            | CategoryRange | tree 0, node 0
        set empty | $.categories_sizes.0 = 0 | CategoryRange | tree 0, node 0
        segments short | $.categories_segments = [] | Length | tree 0
        sizes long | $.categories_sizes = [2, 2] | Length | tree 0
        node that is no categorical split | $.categories_nodes.0 = 2 | CategoryRange | tree 0
        node beyond the end | $.categories_nodes.0 = 5 | CategoryRange | tree 0
        the same node twice
            | $.categories_nodes = [0, 0]; $.categories_segments = [0, 0];
            $.categories_sizes = [2, 2]
            | CategoryRange | tree 0
        categorical split without categories
            | $.categories_nodes = []; $.categories_segments = []; $.categories_sizes = []
            | CategoryRange | tree 0, node 0
    "#;
    run(categorical, cases);
}

/// Fields that the engine does not use, and that libxgboost takes as an index or a length.
#[test]
fn what_libxgboost_would_follow() {
    let pruned = r#"$.left_children.2 = -1; $.right_children.2 = -1; $.split_type.2 = 1;
            $.split_indices.3 = 2147483647; $.split_indices.4 = 2147483647;
            $.tree_param.num_deleted = "2"; $.categories = [7]; $.categories_nodes = [2];
            $.categories_segments = [0]; $.categories_sizes = [1]"#;
    let cases = r#"
        leaf vectors of negative size | $.tree_param.size_leaf_vector = "-1" | Parameter | tree 0
        leaf vectors of the least size | $.tree_param.size_leaf_vector = "-2147483648"
            | Parameter | tree 0
        parent of a deleted node negative | $.parents.3 = -1 | TreeShape | tree 0, node 3
        parent of a deleted node beyond the end | $.parents.4 = 5 | TreeShape | tree 0, node 4
        set of a pruned split beyond the codes | $.categories_sizes.0 = 2
            | CategoryRange | tree 0, node 2
        set of a pruned split before the codes | $.categories_segments.0 = -1
            | CategoryRange | tree 0, node 2
        set of a pruned split empty | $.categories_sizes.0 = 0 | CategoryRange | tree 0, node 2
        code of a pruned split negative | $.categories.0 = -7 | CategoryRange | tree 0, node 2
        code of a pruned split too large | $.categories.0 = 16777216 | CategoryRange | tree 0, node 2
    "#;
    for [name, edits, kind, place] in crate::malformed::cases(cases) {
        crate::malformed::run(binary, &format!("{name} | {pruned}; {edits} | {kind} | {place}"));
    }
    let cases = r#"
        too few places in the order | M.cats.sorted_idx = [0] | Length | model
        too many places in the order | M.cats.sorted_idx = [0, 1, 0] | Length | model
        place beyond the categories | M.cats.sorted_idx = [0, 2] | Length | model
        negative place | M.cats.sorted_idx = [-1, 0] | Length | model
    "#;
    run(categorical, cases);
}

#[test]
fn xgboosts_other_spellings_are_accepted() {
    for (name, edits) in [
        ("infinite threshold", "$.split_conditions.0 = Infinity"),
        ("minus infinite threshold", "$.split_conditions.2 = -Infinity"),
        ("no split_type", "$.split_type -"),
        ("no parents", "$.parents -"),
        ("no num_deleted", "$.tree_param.num_deleted -"),
        ("leaf vectors of size 0", r#"$.tree_param.size_leaf_vector = "0""#),
        ("default_left as booleans", "$.default_left = [true, true, true, true, true]"),
        ("parameters without quotes", "$.tree_param.num_nodes = 5"),
        ("unknown keys", "$.leaf_child_counts + [0]"),
        (
            "pruned split with its categories left behind",
            r#"$.left_children.2 = -1; $.right_children.2 = -1; $.split_type.2 = 1;
            $.split_indices.3 = 2147483647; $.split_indices.4 = 2147483647;
            $.tree_param.num_deleted = "2"; $.categories = [7]; $.categories_nodes = [2];
            $.categories_segments = [0]; $.categories_sizes = [1]"#,
        ),
    ] {
        let mut model = binary();
        edit(&mut model, edits);
        for bytes in [model.to_json(), model.to_ubjson()] {
            let result = parse(&bytes);
            assert!(result.is_ok(), "{name}: {result:?}");
        }
    }
}
