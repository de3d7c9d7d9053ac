//! Building valid models, and refusing impossible ones.

use std::cell::Cell;

use crate::Cancel;
use crate::ensemble::build::*;
use crate::ensemble::{CategorySet, ClassBy, Comparison, Objective, Scaling, Task, Transform};

fn parts() -> EnsembleParts {
    let (transform, task) = (Transform::Identity, Task::Regression);
    EnsembleParts {
        format: "test",
        version: [0; 3],
        objective: Objective {
            name: "l2".into(),
            transform,
            slope: 1.0,
            task,
            class_by: ClassBy::Value,
            class_threshold: 0.0,
            levels: Vec::new(),
        },
        value_precision: Precision::Double,
        sum_precision: Precision::Double,
        scaling: Scaling::default(),
        base_score: vec![0.0; 2],
        base_margin: vec![0.0; 2],
        num_features: 3,
        feature_names: Vec::new(),
        feature_types: Vec::new(),
        categories: Vec::new(),
        ranks: Vec::new(),
        class_labels: Vec::new(),
        attributes: Vec::new(),
    }
}

fn split(left: u32, right: u32) -> Node {
    let (comparison, threshold, missing) = (Comparison::LessOrEqual, 0.5, MissingRule::Zero);
    let condition = SplitCondition::Compare { comparison, threshold, missing };
    let (feature, default_left, gain, cover) = (0, true, 1.0, 2.0);
    Node::Split(Split { feature, condition, default_left, left, right, gain, cover })
}

fn code(left: u32, right: u32) -> Node {
    let condition = SplitCondition::InSet { set: 0, members_left: true };
    let (feature, default_left, gain, cover) = (0, false, 1.0, 2.0);
    Node::Split(Split { feature, condition, default_left, left, right, gain, cover })
}

fn use_of(tree: &mut Tree, node: usize, rule: MissingRule) {
    if let Node::Split(split) = &mut tree.nodes[node]
        && let SplitCondition::Compare { missing, .. } = &mut split.condition
    {
        *missing = rule;
    }
}

/// A tree with children in any place, as in LightGBM, and vectors in its leaves.
fn tree() -> Tree {
    let leaf = |vector| Node::LeafVector { vector, cover: 1.0 };
    let nodes = vec![split(4, 1), leaf(2), leaf(0), leaf(1), split(3, 2)];
    Tree {
        category_sets: vec![CategorySet::default()],
        leaf_vectors: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        weight: 0.5,
        first_leaf: 1,
        ..Tree::unchecked(nodes, TreeOutput::All)
    }
}

fn added(parts: Tree) -> Result<Ensemble> {
    let limits = Limits { nodes: 10, depth: 2, ..Limits::default() };
    let mut builder = Builder::new(crate::ensemble::build::tests::parts(), &limits)?;
    builder.add_tree(parts, Cancel::never())?;
    builder.finish(vec![0, 1])
}

#[test]
fn a_tree_of_another_library_is_built() {
    let model = added(tree()).unwrap();
    assert_eq!((model.trees()[0].depth(), model.num_rounds()), (2, 1));
    assert_eq!(model.feature_types(), [FeatureType::Numerical; 3]);
}

#[test]
fn a_tree_polls_for_cancellation() {
    let splits = 4 * NODES_PER_CHECK as u32;
    let mut nodes: Vec<Node> = (0..splits).map(|id| split(2 * id + 1, 2 * id + 2)).collect();
    nodes.extend((0..=splits).map(|_| Node::LeafVector { vector: 0, cover: 1.0 }));
    let limits = Limits::default();
    let mut builder = Builder::new(crate::ensemble::build::tests::parts(), &limits).unwrap();
    let polls = Cell::new(0);
    builder
        .add_tree(Tree { nodes, ..tree() }, Cancel::unwinding(&|| polls.set(polls.get() + 1)))
        .unwrap();
    // Links, unreachable nodes, and all nodes.
    assert!(polls.get() >= 3 * 8, "{}", polls.get());
    polls.set(0);
    let model = builder.finish(vec![0, 1]).unwrap();
    crate::lower::compile(&model, &[], Cancel::unwinding(&|| polls.set(polls.get() + 1))).unwrap();
    // Per output: lowering, positions, nodes, kinds, copies, and exits of the tile.
    assert!(polls.get() >= 2 * 7 * 8, "{}", polls.get());
}

#[test]
fn impossible_files_are_refused() {
    type Edit = fn(&mut Tree);
    let cases: [(Edit, ErrorKind); 16] = [
        (|tree| tree.nodes.clear(), ErrorKind::TreeShape),
        (|tree| tree.nodes[4] = split(3, 0), ErrorKind::TreeShape),
        (|tree| tree.nodes[4] = split(3, 3), ErrorKind::TreeShape),
        (|tree| tree.nodes[4] = split(3, 5), ErrorKind::TreeShape),
        (|tree| tree.nodes[3] = Node::Deleted, ErrorKind::TreeShape),
        (|tree| tree.nodes[4] = tree.nodes[1], ErrorKind::TreeShape),
        (|tree| tree.leaf_vectors.truncate(5), ErrorKind::Length),
        (|tree| (tree.weight, tree.leaf_vectors[0]) = (4.0, 1e308), ErrorKind::NotFinite),
        (|tree| tree.first_leaf = 2, ErrorKind::TreeShape),
        (|tree| use_of(tree, 4, MissingRule::Nan), ErrorKind::Unsupported),
        (|tree| use_of(tree, 0, MissingRule::None), ErrorKind::Unsupported),
        (|tree| tree.nodes[4] = code(3, 2), ErrorKind::Unsupported),
        (|tree| tree.output = TreeOutput::One(2), ErrorKind::OutputRange),
        (|tree| tree.output = TreeOutput::One(0), ErrorKind::OutputRange),
        (|tree| tree.linear_leaves = vec![linear_leaf(); 4], ErrorKind::Length),
        (|tree| tree.nodes.push(Node::Deleted), ErrorKind::Limit),
    ];
    for (index, (edit, kind)) in cases.into_iter().enumerate() {
        let mut parts = tree();
        edit(&mut parts);
        assert_eq!(added(parts).unwrap_err().kind(), kind, "case {index}");
    }
}

fn linear_leaf() -> LinearLeaf {
    LinearLeaf { constant: 1.0, terms: vec![(2, 0.5)] }
}

#[test]
fn linear_models_fit_their_leaves() {
    type Edit = fn(&mut Tree);
    let built = |edit: Edit| {
        let leaf = Node::Leaf { value: 1.0, cover: 1.0 };
        let mut tree = Tree {
            nodes: vec![split(1, 2), leaf, leaf],
            leaf_vectors: Vec::new(),
            linear_leaves: vec![linear_leaf(); 2],
            output: TreeOutput::One(1),
            weight: 1.0,
            ..tree()
        };
        edit(&mut tree);
        added(tree)
    };
    let model = built(|_| ()).unwrap();
    assert!(model.has_linear_leaves());
    assert_eq!(model.trees()[0].linear_leaf(0), None);
    assert_eq!(model.trees()[0].linear_leaf(2), Some(&linear_leaf()));
    let cases: [(Edit, ErrorKind); 7] = [
        (|tree| tree.linear_leaves.truncate(1), ErrorKind::Length),
        (|tree| tree.linear_leaves.push(linear_leaf()), ErrorKind::Length),
        (|tree| tree.weight = 0.5, ErrorKind::Length),
        (|tree| tree.linear_leaves[1].constant = f64::NAN, ErrorKind::NotFinite),
        (|tree| tree.linear_leaves[1].terms[0].1 = f64::INFINITY, ErrorKind::NotFinite),
        (|tree| tree.linear_leaves[0].terms[0].0 = 3, ErrorKind::FeatureRange),
        (|tree| tree.linear_leaves[0].terms[0].0 = u32::MAX, ErrorKind::FeatureRange),
    ];
    for (index, (edit, kind)) in cases.into_iter().enumerate() {
        assert_eq!(built(edit).unwrap_err().kind(), kind, "case {index}");
    }
}

#[test]
fn splits_of_ranked_values_fit_their_ranks() {
    let built = |ranks: Vec<f64>, width, edit: fn(&mut Tree)| {
        let ranks = vec![ranks, Vec::new(), Vec::new()];
        let parts = EnsembleParts {
            ranks,
            value_precision: width,
            ..crate::ensemble::build::tests::parts()
        };
        let limits = Limits::default();
        let mut builder = Builder::new(parts, &limits)?;
        let mut tree = tree();
        tree.nodes[4] = code(3, 2);
        if let Node::Split(split) = &mut tree.nodes[0]
            && let SplitCondition::Compare { comparison, missing, .. } = &mut split.condition
        {
            (*comparison, *missing) = (Comparison::Less, MissingRule::Nan);
        }
        edit(&mut tree);
        builder.add_tree(tree, Cancel::never())?;
        builder.finish(vec![0, 1])
    };
    let (wide, ranks) = (Precision::Double, vec![-1.0, 0.5]);
    let model = built(ranks.clone(), wide, |_| ()).unwrap();
    assert_eq!(model.feature_types(), [FeatureType::Numerical; 3]);
    assert_eq!((model.ranks_of(0), model.ranks_of(1)), (&[-1.0, 0.5][..], &[][..]));
    for (ranks, width, edit, kind) in [
        (vec![0.5, -1.0], wide, (|_| ()) as fn(&mut Tree), ErrorKind::Parameter),
        (vec![0.5, f64::NAN], wide, |_| (), ErrorKind::Parameter),
        (ranks.clone(), Precision::Single, |_| (), ErrorKind::Parameter),
        (vec![-1.0, 0.75], wide, |_| (), ErrorKind::Parameter),
        (ranks.clone(), wide, |tree| use_of(tree, 0, MissingRule::Zero), ErrorKind::Parameter),
        (ranks, wide, |tree| tree.category_sets.clear(), ErrorKind::CategoryRange),
    ] {
        assert_eq!(built(ranks, width, edit).unwrap_err().kind(), kind);
    }
}

/// Compiled models have separate sets for each output.
#[test]
fn sets_count_once_per_output() {
    let added = |words| {
        let limits = Limits { bytes: 4 * 200, ..Limits::default() };
        let sets = vec![CategorySet { words: vec![0; words] }];
        let mut builder = Builder::new(crate::ensemble::build::tests::parts(), &limits)?;
        builder.add_tree(Tree { category_sets: sets, ..tree() }, Cancel::never())?;
        builder.finish(vec![0, 1])
    };
    added(100).unwrap();
    assert_eq!(added(101).unwrap_err().kind(), ErrorKind::Limit);
}
