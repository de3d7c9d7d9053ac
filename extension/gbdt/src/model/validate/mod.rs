//! From what a parser read to a checked model: every invariant of [`Model`], verified once.
//!
//! The parser guarantees types and nothing else. Each file here checks one part: `outputs` how many
//! outputs there are and which of them a tree adds to, `base` what the sums start from, `rounds`
//! where boosting rounds begin, `shape` the links of a tree, `sets` its category sets, `nodes` the
//! contents of its nodes. Sizes are checked against the limits before memory is taken for them.

#![deny(clippy::indexing_slicing)]

mod base;
mod nodes;
mod outputs;
mod rounds;
mod sets;
mod shape;

use super::{Categories, FeatureType, Format, Model, Node, Objective, Tree, check_feature_names};
use crate::{Error, ErrorKind, Limits, Place, Result};

/// A model as it was read: typed, and not checked in any other way.
pub(crate) struct RawModel {
    pub format: Format,
    pub version: [u32; 3],
    pub objective: Objective,
    /// One value, or one an output.
    pub base_score: Vec<f32>,
    pub num_class: i64,
    pub num_target: i64,
    pub num_feature: i64,
    pub num_trees: i64,
    pub num_parallel_tree: i64,
    pub trees: Vec<RawTree>,
    pub tree_info: Vec<i64>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub feature_names: Vec<String>,
    pub feature_types: Vec<FeatureType>,
    pub categories: Vec<Option<Categories>>,
    pub attributes: Vec<(String, String)>,
}

/// A tree as it was read: arrays that should have an entry a node.
pub(crate) struct RawTree {
    pub num_nodes: i64,
    /// Absent in files of the first releases.
    pub num_deleted: Option<i64>,
    pub left_children: Vec<i32>,
    pub right_children: Vec<i32>,
    pub parents: Option<Vec<i32>>,
    pub split_indices: Vec<i32>,
    /// Thresholds of splits, values of leaves.
    pub split_conditions: Vec<f32>,
    pub default_left: Vec<bool>,
    pub loss_changes: Vec<f32>,
    pub sum_hessian: Vec<f32>,
    /// Whether a split is categorical; absent in files of releases that have none.
    pub split_type: Option<Vec<bool>>,
    /// The codes of all category sets, one set after the other.
    pub categories: Vec<i32>,
    /// The categorical nodes, in ascending order.
    pub categories_nodes: Vec<i32>,
    /// Where the codes of each of them begin.
    pub categories_segments: Vec<i64>,
    /// How many they are.
    pub categories_sizes: Vec<i64>,
}

/// Checks every invariant of a model.
pub(crate) fn check(raw: RawModel, limits: &Limits, between: &mut dyn FnMut()) -> Result<Model> {
    let num_features = check_features(&raw, limits)?;
    let num_outputs = outputs::count(&raw, limits)?;
    check_tree_counts(&raw, limits)?;
    let tree_outputs = outputs::of_trees(&raw.tree_info, num_outputs)?;
    let round_starts = rounds::starts(&raw, &tree_outputs)?;
    let base_score = base::scores(&raw.base_score, num_outputs)?;
    let base_margin = base::margins(&raw.objective, &base_score, raw.trees.is_empty())?;
    let trees = check_trees(raw.trees, num_features, limits, between)?;
    let mut feature_types = raw.feature_types;
    feature_types.resize(num_features, FeatureType::Numerical);
    mark_categorical(&trees, &mut feature_types);
    let mut categories = raw.categories;
    categories.resize(num_features, None);
    drop_miscut(raw.version, &mut categories);
    categories.iter().flatten().try_for_each(Categories::check)?;
    Ok(Model {
        format: raw.format,
        version: raw.version,
        objective: raw.objective,
        base_score,
        base_margin,
        num_features,
        trees,
        tree_outputs,
        round_starts,
        feature_names: raw.feature_names,
        feature_types,
        categories,
        attributes: raw.attributes,
    })
}

/// At least one feature, and nothing, or one entry a feature, in what describes them.
fn check_features(raw: &RawModel, limits: &Limits) -> Result<usize> {
    let num_features = usize::try_from(raw.num_feature).ok().filter(|count| *count > 0);
    let Some(num_features) = num_features else {
        return Err(Error::new(
            ErrorKind::Parameter,
            format!("a model cannot have {} features", raw.num_feature),
        ));
    };
    check_limit(num_features, limits.features, "features")?;
    if !raw.feature_names.is_empty() {
        check_feature_names(&raw.feature_names, num_features)?;
    }
    for (length, what) in
        [(raw.feature_types.len(), "feature types"), (raw.categories.len(), "sets of categories")]
    {
        if length != 0 && length != num_features {
            return Err(Error::new(
                ErrorKind::Length,
                format!("model has {num_features} features, but {length} {what}"),
            ));
        }
    }
    Ok(num_features)
}

/// As many trees as the model says, each with an output.
fn check_tree_counts(raw: &RawModel, limits: &Limits) -> Result<()> {
    check_limit(raw.trees.len(), limits.trees, "trees")?;
    if usize::try_from(raw.num_trees) != Ok(raw.trees.len()) {
        return Err(Error::new(
            ErrorKind::Length,
            format!("model says that it has {} trees, but has {}", raw.num_trees, raw.trees.len()),
        ));
    }
    if raw.tree_info.len() != raw.trees.len() {
        return Err(Error::new(
            ErrorKind::Length,
            format!(
                "model has {} trees, but {} outputs of trees",
                raw.trees.len(),
                raw.tree_info.len()
            ),
        ));
    }
    Ok(())
}

/// Checks tree by tree, so that the arrays of one are given back before the next is built.
fn check_trees(
    raw: Vec<RawTree>,
    num_features: usize,
    limits: &Limits,
    between: &mut dyn FnMut(),
) -> Result<Vec<Tree>> {
    let mut trees = Vec::new();
    trees.try_reserve(raw.len()).map_err(|_| out_of_memory())?;
    let mut nodes = 0usize;
    // A set takes memory up to its largest code, whatever the number of its codes, so all sets
    // together may take as many bytes as the file might have.
    let mut words_left = limits.bytes / size_of::<u32>();
    for (index, tree) in raw.into_iter().enumerate() {
        nodes = nodes.saturating_add(tree.left_children.len());
        check_limit(nodes, limits.nodes, "nodes")?;
        let tree = check_tree(&tree, num_features, limits.depth, &mut words_left)
            .map_err(|fault| fault.in_tree(index))?;
        trees.push(tree);
        between();
    }
    Ok(trees)
}

fn check_tree(
    raw: &RawTree,
    num_features: usize,
    depth_limit: usize,
    words_left: &mut usize,
) -> Checked<Tree> {
    check_lengths(raw)?;
    let shape = shape::walk(raw, depth_limit)?;
    let sets = sets::check(raw, &shape.reached, words_left)?;
    let nodes = nodes::build(raw, &shape.reached, &sets.of_node, num_features)?;
    Ok(Tree { nodes, category_sets: sets.sets, depth: shape.depth })
}

/// One entry a node in every array.
fn check_lengths(raw: &RawTree) -> Checked<()> {
    let nodes = raw.left_children.len();
    if nodes == 0 {
        return Err(Fault::tree(ErrorKind::TreeShape, "a tree has no nodes"));
    }
    if i32::try_from(nodes).is_err() {
        return Err(Fault::tree(ErrorKind::Limit, "a tree has more nodes than there are ids"));
    }
    let lengths = [
        (usize::try_from(raw.num_nodes).unwrap_or(usize::MAX), "num_nodes"),
        (raw.right_children.len(), "right_children"),
        (raw.parents.as_ref().map_or(nodes, Vec::len), "parents"),
        (raw.split_indices.len(), "split_indices"),
        (raw.split_conditions.len(), "split_conditions"),
        (raw.default_left.len(), "default_left"),
        (raw.loss_changes.len(), "loss_changes"),
        (raw.sum_hessian.len(), "sum_hessian"),
        (raw.split_type.as_ref().map_or(nodes, Vec::len), "split_type"),
    ];
    match lengths.iter().find(|(length, _)| *length != nodes) {
        None => Ok(()),
        Some((_, what)) => Err(Fault::tree(
            ErrorKind::Length,
            format!("\"{what}\" and \"left_children\" disagree on the number of nodes"),
        )),
    }
}

/// A feature that a categorical split tests is categorical, whether or not the file names types:
/// they are missing from models that were not trained on a data frame.
fn mark_categorical(trees: &[Tree], feature_types: &mut [FeatureType]) {
    for node in trees.iter().flat_map(|tree| &tree.nodes) {
        if let Node::Categorical { feature, .. } = node
            && let Some(kind) = feature_types.get_mut(*feature as usize)
        {
            *kind = FeatureType::Categorical;
        }
    }
}

/// Releases from 3.1 to 3.3 cut text by characters where bytes are meant. Where that happens to give
/// UTF-8 the values are wrong all the same, so text of these releases is kept only if it is ASCII.
fn drop_miscut(version: [u32; 3], categories: &mut [Option<Categories>]) {
    if !matches!(version, [3, 1..=3, _]) {
        return;
    }
    for feature in categories {
        if let Some(Categories::Text(values)) = feature
            && !values.iter().all(|value| value.is_ascii())
        {
            *feature = None;
        }
    }
}

fn check_limit(count: usize, limit: usize, what: &str) -> Result<()> {
    if count > limit {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("model has {count} {what}, more than the limit of {limit}"),
        ));
    }
    Ok(())
}

fn out_of_memory() -> Error {
    Error::new(ErrorKind::OutOfMemory, "out of memory while the model was checked")
}

/// What is wrong with a tree, before it is known which tree it is.
struct Fault {
    error: Error,
    node: Option<usize>,
}

type Checked<T> = std::result::Result<T, Fault>;

impl Fault {
    fn tree(kind: ErrorKind, message: impl Into<String>) -> Self {
        Fault { error: Error::new(kind, message), node: None }
    }

    fn node(kind: ErrorKind, node: usize, message: impl Into<String>) -> Self {
        Fault { error: Error::new(kind, message), node: Some(node) }
    }

    fn in_tree(self, tree: usize) -> Error {
        self.error.at(match self.node {
            Some(node) => Place::Node { tree, node },
            None => Place::Tree(tree),
        })
    }
}
