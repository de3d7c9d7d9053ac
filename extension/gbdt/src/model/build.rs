//! The one way to a [`Model`]: any format's reader hands its trees over, one after another.
//!
//! What holds for trees of every library is checked here, and only here: links make a tree of the
//! nodes, features, outputs and sets are in range, thresholds are numbers, leaves are finite, names
//! and types fit the features, and nothing is larger than the limits. What is true of one library's
//! files alone is its reader's business.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{
    Categories, CategorySet, FeatureType, MissingRule, Model, Node, Objective, Precision, Tree,
    TreeOutput, check_class_labels, check_feature_names,
};
use crate::{Error, ErrorKind, Limits, Place, Result};

/// Nodes after which a loop over nodes looks for interrupts.
pub(crate) const NODES_PER_CHECK: usize = 1 << 14;

/// All of a model but its trees; lists of features are empty or have one entry per feature.
pub(crate) struct Parts {
    pub format: &'static str,
    pub version: [u32; 3],
    pub objective: Objective,
    /// Whether values are rounded to f32 before they are compared (XGBoost, CatBoost, scikit-learn's
    /// forests), or compared as f64 (LightGBM).
    pub value_precision: Precision,
    /// In what leaves are added and margins transformed.
    pub sum_precision: Precision,
    /// As the file has it, one value per output.
    pub base_score: Vec<f32>,
    /// What the sum of leaves starts from, one value per output; 0 if sums are of f64.
    pub base_margin: Vec<f32>,
    pub finish: Finish,
    pub num_features: usize,
    pub feature_names: Vec<String>,
    pub feature_types: Vec<FeatureType>,
    pub categories: Vec<Option<Categories>>,
    /// The file's own names of its classes, or nothing.
    pub class_labels: Vec<String>,
    pub attributes: Vec<(String, String)>,
}

/// What follows the sum of leaves: `sum * scale / divisor + bias`, each step rounded to the precision
/// of sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finish {
    /// CatBoost's scale.
    pub scale: f64,
    /// The number of trees that are averaged.
    pub divisor: f64,
    /// What is added last, CatBoost's bias: one value per output, or nothing.
    pub bias: Vec<f64>,
    /// Whether margins are what comes after this; LightGBM's are what comes before.
    pub in_margin: bool,
}

impl Default for Finish {
    fn default() -> Self {
        Finish { scale: 1.0, divisor: 1.0, bias: Vec::new(), in_margin: true }
    }
}

impl Finish {
    fn check(&self, outputs: usize) -> Result<()> {
        let numbers = self.bias.iter().chain([&self.scale, &self.divisor]);
        if !numbers.copied().all(f64::is_finite) || self.divisor == 0.0 {
            return Err(not_finite("a scale, divisor or bias"));
        }
        if ![0, outputs].contains(&self.bias.len()) {
            let message = format!("model has {outputs} outputs, but {} biases", self.bias.len());
            return Err(Error::new(ErrorKind::Length, message));
        }
        Ok(())
    }

    /// A sum, finished.
    pub fn of(&self, sum: f64, output: usize, precision: Precision) -> f64 {
        let bias = self.bias.get(output).copied().unwrap_or(0.0);
        match precision {
            Precision::Double => sum * self.scale / self.divisor + bias,
            Precision::Single => {
                f64::from(sum as f32 * self.scale as f32 / self.divisor as f32 + bias as f32)
            }
        }
    }
}

pub(crate) struct TreeParts {
    pub nodes: Vec<Node>,
    pub category_sets: Vec<CategorySet>,
    /// Vectors one after another; empty if leaves are scalar.
    pub leaf_vectors: Vec<f64>,
    pub output: TreeOutput,
    /// 1 where the library has no weights. A forest that averages has a weight of 1 / n in each of
    /// the n trees of an output.
    pub weight: f32,
    /// The node id of the library's leaf 0, where it counts leaves alone, else 0.
    pub first_leaf: u32,
}

pub(crate) struct Builder<'a> {
    model: Model,
    limits: &'a Limits,
    /// Nodes so far, those of a tree with leaf vectors once per output.
    nodes: usize,
    /// How the splits so far see each feature.
    uses: Vec<Option<Use>>,
}

/// How a split sees a feature; what kernels compare of it can only be made for one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Number,
    NumberOrZeroMissing,
    Code,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(parts: Parts, limits: &'a Limits) -> Result<Self> {
        check_features(&parts, limits)?;
        let outputs = parts.base_margin.len();
        check_limit(outputs, limits.outputs, "outputs")?;
        if outputs == 0 || outputs != parts.base_score.len() {
            return Err(Error::new(
                ErrorKind::Length,
                format!("model has {outputs} outputs, but {} base scores", parts.base_score.len()),
            ));
        }
        if parts.base_margin.iter().any(|margin| !margin.is_finite()) {
            let message = "the base score does not give a finite margin";
            return Err(Error::new(ErrorKind::NotFinite, message));
        }
        if parts.sum_precision == Precision::Double && parts.base_margin.iter().any(|x| *x != 0.0) {
            let message = "a sum of f64 starts from another number than 0";
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        parts.finish.check(outputs)?;
        if !parts.objective.transform.is_in(parts.sum_precision) {
            let message =
                format!("objective \"{}\" has sums of another width", parts.objective.name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let mut model = Model {
            format: parts.format,
            version: parts.version,
            objective: parts.objective,
            value_precision: parts.value_precision,
            sum_precision: parts.sum_precision,
            base_score: parts.base_score,
            base_margin: parts.base_margin,
            finish: parts.finish,
            num_features: parts.num_features,
            trees: Vec::new(),
            round_starts: Vec::new(),
            feature_names: parts.feature_names,
            feature_types: parts.feature_types,
            categories: parts.categories,
            class_labels: parts.class_labels,
            attributes: parts.attributes,
        };
        model.feature_types.resize(model.num_features, FeatureType::Numerical);
        model.categories.resize(model.num_features, None);
        check_class_labels(&model.class_labels, model.num_classes())?;
        let uses = vec![None; model.num_features];
        Ok(Builder { model, limits, nodes: 0, uses })
    }

    /// Adds the next tree, in the order of summation.
    pub(crate) fn add_tree(
        &mut self,
        parts: TreeParts,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let index = self.model.trees.len();
        check_limit(index + 1, self.limits.trees, "trees")?;
        let copies = match parts.output {
            TreeOutput::One(_) => 1,
            TreeOutput::All => self.model.num_outputs(),
        };
        self.nodes = self.nodes.saturating_add(parts.nodes.len().saturating_mul(copies));
        check_limit(self.nodes, self.limits.nodes, "nodes")?;
        let tree = self.tree(parts, check_interrupts).map_err(|error| in_tree(error, index))?;
        self.model.trees.try_reserve(1).map_err(|_| out_of_memory())?;
        self.model.trees.push(tree);
        Ok(())
    }

    /// Ends the model. `round_starts` has the index of each round's first tree, then the number of
    /// trees.
    pub(crate) fn finish(mut self, round_starts: Vec<u32>) -> Result<Model> {
        let end = round_starts.last().map(|end| *end as usize);
        if !round_starts.is_sorted()
            || round_starts.first() != Some(&0)
            || end != Some(self.model.trees.len())
        {
            let message = "the rounds do not ascend from 0 to the number of trees";
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        self.model.round_starts = round_starts;
        self.model.categories.iter().flatten().try_for_each(Categories::check)?;
        Ok(self.model)
    }

    /// Zeros of a feature are missing to all of its splits or to none, and where values are of f64, no
    /// feature is both a number and a code.
    fn check_use(&mut self, node: &Node) -> Result<()> {
        let (feature, this) = match node {
            Node::Numerical { feature, missing: MissingRule::Zero, .. } => {
                (*feature, Use::NumberOrZeroMissing)
            }
            Node::Numerical { feature, .. } => (*feature, Use::Number),
            Node::Categorical { feature, .. } => (*feature, Use::Code),
            Node::Leaf { .. } | Node::LeafVector { .. } | Node::Deleted => return Ok(()),
        };
        let Some(before) = self.uses.get_mut(feature as usize) else { return Ok(()) };
        let before = *before.get_or_insert(this);
        let wide = self.model.value_precision == Precision::Double;
        if before != this && (wide || [before, this].contains(&Use::NumberOrZeroMissing)) {
            let message = format!("splits of feature {feature} disagree on what it holds");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn tree(&mut self, parts: TreeParts, check_interrupts: &mut dyn FnMut()) -> Result<Tree> {
        if let TreeOutput::One(output) = parts.output
            && output as usize >= self.model.num_outputs()
        {
            let outputs = self.model.num_outputs();
            let message = format!("a tree adds to output {output} of a model of {outputs}");
            return Err(Error::new(ErrorKind::OutputRange, message));
        }
        let depth = depth(&parts.nodes, self.limits.depth, check_interrupts)?;
        for (id, node) in parts.nodes.iter().enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                check_interrupts();
            }
            let checked = self.check_node(id, node, &parts).and_then(|()| self.check_use(node));
            checked.map_err(|error| error.at(node_of(id)))?;
            self.mark_categorical(node);
        }
        let TreeParts { nodes, category_sets, leaf_vectors, output, weight, first_leaf } = parts;
        Ok(Tree { nodes, category_sets, leaf_vectors, output, weight, first_leaf, depth })
    }

    fn check_node(&self, id: usize, node: &Node, tree: &TreeParts) -> Result<()> {
        let finite = |values: &[f64]| {
            values.iter().all(|value| {
                let added = value * f64::from(tree.weight);
                match self.model.sum_precision {
                    Precision::Single => (added as f32).is_finite(),
                    Precision::Double => added.is_finite(),
                }
            })
        };
        let (feature, sound) = match *node {
            Node::Deleted => return Ok(()),
            Node::Leaf { .. } | Node::LeafVector { .. } if id < tree.first_leaf as usize => {
                let message = "a leaf lies before the first leaf";
                return Err(Error::new(ErrorKind::TreeShape, message));
            }
            Node::Leaf { value, .. } if matches!(tree.output, TreeOutput::One(_)) => {
                return if finite(&[value]) { Ok(()) } else { Err(not_finite("a leaf")) };
            }
            Node::LeafVector { vector, .. } if tree.output == TreeOutput::All => {
                let length = self.model.num_outputs();
                let start = (vector as usize).saturating_mul(length);
                let values = tree.leaf_vectors.get(start..start.saturating_add(length));
                return match values {
                    Some(values) if finite(values) => Ok(()),
                    Some(_) => Err(not_finite("a leaf")),
                    None => Err(Error::new(ErrorKind::Length, "a leaf has no vector")),
                };
            }
            Node::Leaf { .. } | Node::LeafVector { .. } => {
                let message = "a leaf does not fit the outputs of its tree";
                return Err(Error::new(ErrorKind::OutputRange, message));
            }
            Node::Numerical { feature, threshold, .. } => {
                let sound =
                    if threshold.is_nan() { Err(not_finite("a threshold")) } else { Ok(()) };
                (feature, sound)
            }
            Node::Categorical { feature, set, .. } => {
                let message = "a categorical split has no categories";
                let set = tree.category_sets.get(set as usize);
                (feature, set.map(|_| ()).ok_or(Error::new(ErrorKind::CategoryRange, message)))
            }
        };
        if feature as usize >= self.model.num_features {
            let features = self.model.num_features;
            let message = format!("a split tests feature {feature} of a model of {features}");
            return Err(Error::new(ErrorKind::FeatureRange, message));
        }
        sound
    }

    /// A feature that a categorical split tests is categorical, whether or not the file names
    /// types: they are missing from models that were not trained on a data frame.
    fn mark_categorical(&mut self, node: &Node) {
        if let Node::Categorical { feature, .. } = node
            && let Some(kind) = self.model.feature_types.get_mut(*feature as usize)
        {
            *kind = FeatureType::Categorical;
        }
    }
}

/// Checks the links of a tree; returns the number of splits on the longest path from root to leaf.
///
/// The walk follows links that are in range to nodes that no link has led to before, so it ends
/// after as many steps as there are nodes, whatever the links say. Deleted nodes, and no others,
/// are those that it does not reach.
fn depth(nodes: &[Node], limit: usize, check_interrupts: &mut dyn FnMut()) -> Result<u32> {
    let fault = |kind, node, message: String| Err(Error::new(kind, message).at(node_of(node)));
    let mut reached = vec![false; nodes.len()];
    let mut enter = |node: usize| match (reached.get_mut(node), nodes.get(node)) {
        (Some(true), _) => Err("more than one split leads to a node".to_owned()),
        (_, Some(Node::Deleted)) => Err("a split leads to a deleted node".to_owned()),
        (Some(reached), _) => {
            *reached = true;
            Ok(())
        }
        (None, _) => {
            Err(format!("a split of a tree of {} nodes has node {node} below it", nodes.len()))
        }
    };
    if enter(0).is_err() {
        return Err(Error::new(ErrorKind::TreeShape, "a tree has no nodes"));
    }
    let (mut depth, mut level) = (0u32, vec![0u32]);
    loop {
        let mut below = Vec::new();
        for (index, node) in level.into_iter().enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) {
                check_interrupts();
            }
            let node = node as usize;
            let Some(children) = nodes.get(node).and_then(Node::children) else { continue };
            if depth as usize >= limit {
                let message = format!("a tree is deeper than the limit of {limit}");
                return fault(ErrorKind::Limit, node, message);
            }
            for child in children {
                if let Err(message) = enter(child as usize) {
                    let place = Some(child as usize).filter(|child| *child < nodes.len());
                    return fault(ErrorKind::TreeShape, place.unwrap_or(node), message);
                }
                below.push(child);
            }
        }
        if below.is_empty() {
            break;
        }
        depth += 1;
        level = below;
    }
    for (id, (node, reached)) in nodes.iter().zip(reached).enumerate() {
        if id.is_multiple_of(NODES_PER_CHECK) {
            check_interrupts();
        }
        if !reached && *node != Node::Deleted {
            return fault(ErrorKind::TreeShape, id, "no split leads to a node".to_owned());
        }
    }
    Ok(depth)
}

/// At least one feature, and nothing, or one entry per feature, in what describes them.
fn check_features(parts: &Parts, limits: &Limits) -> Result<()> {
    let num_features = parts.num_features;
    if num_features == 0 {
        return Err(Error::new(ErrorKind::Parameter, "a model cannot have 0 features"));
    }
    check_limit(num_features, limits.features, "features")?;
    if !parts.feature_names.is_empty() {
        check_feature_names(&parts.feature_names, num_features)?;
    }
    for (length, what) in [
        (parts.feature_types.len(), "feature types"),
        (parts.categories.len(), "sets of categories"),
    ] {
        if length != 0 && length != num_features {
            let message = format!("model has {num_features} features, but {length} {what}");
            return Err(Error::new(ErrorKind::Length, message));
        }
    }
    Ok(())
}

pub(crate) fn check_limit(count: usize, limit: usize, what: &str) -> Result<()> {
    if count > limit {
        let message = format!("model has {count} {what}, more than the limit of {limit}");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// A node of the tree at hand, whose index [`in_tree`] adds.
pub(crate) fn node_of(node: usize) -> Place {
    Place::Node { tree: 0, node }
}

/// An error in a tree, at its place in the model.
pub(crate) fn in_tree(error: Error, tree: usize) -> Error {
    match error.place() {
        Place::Model => error.at(Place::Tree(tree)),
        Place::Node { node, .. } => error.at(Place::Node { tree, node }),
        Place::Byte(_) | Place::Line { .. } | Place::Tree(_) => error,
    }
}

pub(crate) fn out_of_memory() -> Error {
    Error::new(ErrorKind::OutOfMemory, "out of memory while the model was checked")
}

fn not_finite(what: &str) -> Error {
    Error::new(ErrorKind::NotFinite, format!("{what} is not a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClassBy, Comparison, Task, Transform};

    fn parts() -> Parts {
        let (transform, task) = (Transform::Identity, Task::Regression);
        Parts {
            format: "test",
            version: [0; 3],
            objective: Objective {
                name: "l2".into(),
                transform,
                slope: 1.0,
                task,
                class_by: ClassBy::Value,
                class_threshold: 0.0,
            },
            value_precision: Precision::Double,
            sum_precision: Precision::Double,
            finish: Finish::default(),
            base_score: vec![0.0; 2],
            base_margin: vec![0.0; 2],
            num_features: 3,
            feature_names: Vec::new(),
            feature_types: Vec::new(),
            categories: Vec::new(),
            class_labels: Vec::new(),
            attributes: Vec::new(),
        }
    }

    fn split(left: u32, right: u32) -> Node {
        let (feature, comparison, threshold) = (0, Comparison::LessOrEqual, 0.5);
        let (default_left, gain, cover) = (true, 1.0, 2.0);
        Node::Numerical {
            feature,
            comparison,
            threshold,
            missing: MissingRule::Zero,
            default_left,
            left,
            right,
            gain,
            cover,
        }
    }

    fn code(left: u32, right: u32) -> Node {
        let (feature, set, members_left, default_left) = (0, 0, true, false);
        let (gain, cover) = (1.0, 2.0);
        Node::Categorical { feature, set, members_left, default_left, left, right, gain, cover }
    }

    fn use_of(tree: &mut TreeParts, node: usize, rule: MissingRule) {
        if let Node::Numerical { missing, .. } = &mut tree.nodes[node] {
            *missing = rule;
        }
    }

    /// A tree whose children lie anywhere, as LightGBM's do, with a vector in each leaf.
    fn tree() -> TreeParts {
        let leaf = |vector| Node::LeafVector { vector, cover: 1.0 };
        TreeParts {
            nodes: vec![split(4, 1), leaf(2), leaf(0), leaf(1), split(3, 2)],
            category_sets: vec![CategorySet::default()],
            leaf_vectors: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            output: TreeOutput::All,
            weight: 0.5,
            first_leaf: 1,
        }
    }

    fn added(parts: TreeParts) -> Result<Model> {
        let limits = Limits { nodes: 10, depth: 2, ..Limits::default() };
        let mut builder = Builder::new(super::tests::parts(), &limits)?;
        builder.add_tree(parts, &mut || ())?;
        builder.finish(vec![0, 1])
    }

    #[test]
    fn a_tree_of_another_library_is_built() {
        let model = added(tree()).unwrap();
        assert_eq!((model.trees()[0].depth(), model.num_rounds()), (2, 1));
        assert_eq!(model.feature_types(), [FeatureType::Numerical; 3]);
    }

    #[test]
    fn a_cancel_is_looked_for_within_one_tree() {
        let splits = 4 * NODES_PER_CHECK as u32;
        let mut nodes: Vec<Node> = (0..splits).map(|id| split(2 * id + 1, 2 * id + 2)).collect();
        nodes.extend((0..=splits).map(|_| Node::LeafVector { vector: 0, cover: 1.0 }));
        let limits = Limits::default();
        let mut builder = Builder::new(super::tests::parts(), &limits).unwrap();
        let mut looks = 0;
        builder.add_tree(TreeParts { nodes, ..tree() }, &mut || looks += 1).unwrap();
        // Links, nodes that no link leads to, and each node.
        assert!(looks >= 3 * 8, "{looks}");
        looks = 0;
        let model = builder.finish(vec![0, 1]).unwrap();
        crate::compile(&model, &[], &mut || looks += 1).unwrap();
        // Per output: lowering, positions, nodes, their kind, their copies, and the tile's exits.
        assert!(looks >= 2 * 7 * 8, "{looks}");
    }

    #[test]
    fn what_no_library_has_is_refused() {
        type Edit = fn(&mut TreeParts);
        let cases: [(Edit, ErrorKind); 15] = [
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
            (|tree| tree.nodes.push(Node::Deleted), ErrorKind::Limit),
        ];
        for (index, (edit, kind)) in cases.into_iter().enumerate() {
            let mut parts = tree();
            edit(&mut parts);
            assert_eq!(added(parts).unwrap_err().kind(), kind, "case {index}");
        }
    }
}
