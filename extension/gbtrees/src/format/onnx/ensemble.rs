//! `TreeEnsembleRegressor` and `TreeEnsembleClassifier` of ai.onnx.ml 1 to 3.
//!
//! Nodes have two numbers, a tree's and a node's. A tree's nodes are adjacent, the root first;
//! `predict_leaf` reports a leaf's position among them, which all converters use as its number. The
//! result of a two-class classifier depends on its weights
//! (onnxruntime/core/providers/cpu/ml/tree_ensemble_aggregator.h).

use std::collections::HashMap;
use std::rc::Rc;

use crate::ensemble::{
    ClassBy, Node, Objective, Precision, Task, Transform, TreeOutput, check_limit, in_tree, node_of,
};
use crate::format::onnx::columns::ColumnTable;
use crate::format::onnx::proto::Attributes;
use crate::format::onnx::trees::{Grown, Mode, OnnxSplit, Weight, join_chains, tree};
use crate::format::sniff::{shown, unsupported};
use crate::memory::{push, try_collect, with_capacity};
use crate::{Error, ErrorKind, Result};

/// An ensemble without the nodes after it.
pub(super) struct RawEnsemble {
    pub objective: Objective,
    pub trees: Vec<Grown>,
    pub outputs: usize,
    /// Added to the sums: empty, or one value per output.
    pub base: Vec<f64>,
    /// Divides the sums before `base` is added.
    pub divisor: f64,
    pub labels: Vec<String>,
    pub precision: Precision,
}

const PROBIT: &str = "Supported are NONE, SOFTMAX and LOGISTIC.";
const AGGREGATE: &str = "Supported are SUM and AVERAGE.";

/// Returns the transform of a post_transform with several outputs, or of a classifier.
pub(super) fn transform(post_transform: &str) -> Result<Transform> {
    match post_transform {
        "NONE" => Ok(Transform::Identity),
        "LOGISTIC" => Ok(Transform::LogisticMirrored),
        "SOFTMAX" => Ok(Transform::SoftmaxSingle),
        other => Err(unsupported(&format!("post_transform {}", shown(other)), PROBIT)),
    }
}

pub(super) fn averages(aggregate: &str) -> Result<bool> {
    match aggregate {
        "SUM" => Ok(false),
        "AVERAGE" => Ok(true),
        other => Err(unsupported(&format!("aggregate_function {}", shown(other)), AGGREGATE)),
    }
}

pub(super) fn objective(name: &str, transform: Transform, task: Task) -> Objective {
    Objective {
        name: name.to_owned(),
        transform,
        slope: 1.0,
        task,
        class_by: ClassBy::Margin,
        class_threshold: 0.0,
        levels: Vec::new(),
    }
}

pub(super) fn regressor(
    attributes: &mut Attributes<'_, '_, '_, '_>,
    table: &Rc<ColumnTable>,
) -> Result<RawEnsemble> {
    let precision = table.precision();
    let name = attributes.node.operator;
    let outputs = attributes.integer("n_targets")?.unwrap_or(0);
    let outputs = usize::try_from(outputs)
        .ok()
        .filter(|outputs| *outputs > 0)
        .ok_or_else(|| attributes.error(ErrorKind::Parameter, "\"n_targets\" is not above 0"))?;
    check_limit(outputs, attributes.limits.outputs, "outputs")?;
    let post = attributes.text("post_transform")?.unwrap_or("NONE");
    // ONNX Runtime does not transform a single target.
    if post != "NONE" && outputs == 1 {
        let what = format!("post_transform {} of a regressor", shown(post));
        return Err(unsupported(&what, "Supported is NONE.").at(attributes.node.place.place()));
    }
    let transform = transform(post)?;
    let averages = averages(attributes.text("aggregate_function")?.unwrap_or("SUM"))?;
    let arrays = Weights::read(attributes, "target", precision)?;
    let mut scored = vec![false; outputs];
    let trees = read_trees(attributes, &arrays, table, &mut scored)?;
    let base = attributes.numbers("base_values", precision == Precision::Double)?;
    if !base.is_empty() {
        attributes.check_length("base_values", &base, outputs)?;
    }
    let divisor = if averages { trees.len().max(1) as f64 } else { 1.0 };
    let objective = objective(name, transform, Task::Regression);
    Ok(RawEnsemble { objective, trees, outputs, base, divisor, labels: Vec::new(), precision })
}

pub(super) fn classifier(
    attributes: &mut Attributes<'_, '_, '_, '_>,
    table: &Rc<ColumnTable>,
) -> Result<RawEnsemble> {
    let precision = table.precision();
    let name = attributes.node.operator;
    let labels = labels(attributes)?;
    check_limit(labels.len(), attributes.limits.outputs, "outputs")?;
    let transform = transform(attributes.text("post_transform")?.unwrap_or("NONE"))?;
    let mut arrays = Weights::read(attributes, "class", precision)?;
    let mut base = attributes.numbers("base_values", precision == Precision::Double)?;
    let (mut outputs, mut task, mut class_threshold) = (labels.len(), Task::Multiclass, 0.0);
    match labels.len() {
        0 | 1 => {
            return Err(unsupported("a classifier of less than two classes", ONE_COLUMN));
        }
        // ONNX Runtime chooses the second class where its own sum is above 0.
        2 if transform == Transform::LogisticMirrored
            && base.is_empty()
            && arrays.keep_second() =>
        {
            (outputs, task) = (1, Task::Binary);
        }
        2 => {
            let column = arrays.outputs.first().copied().unwrap_or(0);
            if !arrays.outputs.iter().all(|output| *output == column) || !(0..=1).contains(&column)
            {
                return Err(unsupported(
                    "a classifier of two classes with weights for both",
                    ONE_COLUMN,
                ));
            }
            if base.len() > 1 || column == 1 && !base.is_empty() {
                return Err(unsupported("a base value of each of two classes", ONE_COLUMN));
            }
            if transform == Transform::SoftmaxSingle {
                return Err(unsupported("post_transform SOFTMAX of two classes", ONE_COLUMN));
            }
            let positive = arrays.values.iter().all(|value| *value >= 0.0);
            (outputs, task) = (1, Task::Binary);
            class_threshold = if positive { 0.5 } else { 0.0 };
            arrays.outputs.fill(0);
        }
        _ => {}
    }
    if !base.is_empty() {
        attributes.check_length("base_values", &base, outputs)?;
    }
    let mut scored = vec![false; outputs];
    let trees = read_trees(attributes, &arrays, table, &mut scored)?;
    let chosen = |class: &bool| *class || outputs > 1 && arrays.are_chosen(&trees, outputs);
    if base.is_empty() && !scored.iter().all(chosen) {
        // Only rows that reach a leaf with a weight for it could be of such a class.
        return Err(unsupported("a class without a weight in every leaf of a tree", SCORED));
    }
    if base.iter().all(|value| *value == 0.0) {
        base.clear();
    }
    let objective = Objective { class_threshold, ..objective(name, transform, task) };
    Ok(RawEnsemble { objective, trees, outputs, base, divisor: 1.0, labels, precision })
}

const ONE_COLUMN: &str =
    "Supported are two classes by the weights of one or by opposites, and more than two classes.";
const SCORED: &str = "Give each class a weight in every leaf of one of its trees, or a base value.";

fn labels(attributes: &mut Attributes<'_, '_, '_, '_>) -> Result<Vec<String>> {
    let texts = attributes.texts("classlabels_strings")?;
    let numbers = attributes.integers("classlabels_int64s")?;
    if !texts.is_empty() && !numbers.is_empty() {
        let message = "node has classes of both text and numbers";
        return Err(attributes.error(ErrorKind::DuplicateKey, message));
    }
    check_limit(texts.len().max(numbers.len()), attributes.limits.outputs, "outputs")?;
    let numbers = numbers.iter().map(i64::to_string);
    Ok(texts.iter().map(|text| (*text).to_owned()).chain(numbers).collect())
}

/// Leaf weights: four parallel lists.
struct Weights {
    trees: Vec<i64>,
    nodes: Vec<i64>,
    outputs: Vec<i64>,
    values: Vec<f64>,
}

impl Weights {
    fn read(
        attributes: &mut Attributes<'_, '_, '_, '_>,
        prefix: &str,
        precision: Precision,
    ) -> Result<Weights> {
        let [trees, nodes, outputs] =
            ["treeids", "nodeids", "ids"].map(|n| format!("{prefix}_{n}"));
        let weights = format!("{prefix}_weights");
        let values = attributes.numbers(&weights, precision == Precision::Double)?;
        let mut integers = |name: &str| -> Result<_> {
            let list = attributes.integers(name)?;
            attributes.check_length(name, &list, values.len())?;
            Ok(list)
        };
        let (trees, nodes, outputs) = (integers(&trees)?, integers(&nodes)?, integers(&outputs)?);
        Ok(Weights { trees, nodes, outputs, values })
    }

    /// Keeps the second class's weights if the first's are their opposites, leaf by leaf, as CatBoost
    /// writes them; returns whether it did. Both sums are opposites then.
    fn keep_second(&mut self) -> bool {
        let leaf = |at: usize| (self.trees.get(at), self.nodes.get(at));
        let are_opposites = |at: usize| {
            let weights = (self.outputs.get(at..at + 2), self.values.get(at..at + 2));
            leaf(at) == leaf(at + 1)
                && matches!(weights, (Some([0, 1]), Some([first, second])) if *first == -*second)
        };
        if !(0..self.values.len()).step_by(2).all(are_opposites) {
            return false;
        }
        let seconds =
            |list: &mut Vec<i64>| *list = list.iter().skip(1).step_by(2).copied().collect();
        seconds(&mut self.trees);
        seconds(&mut self.nodes);
        self.values = self.values.iter().skip(1).step_by(2).copied().collect();
        self.outputs = vec![0; self.values.len()];
        true
    }

    /// Returns whether the class of the largest sum always has a weight: all weights are above 0, and
    /// some tree has one in every leaf.
    fn are_chosen(&self, trees: &[Grown], outputs: usize) -> bool {
        let has_weights = |grown: &Grown| match grown.parts.output {
            TreeOutput::One(_) => {
                let without =
                    |node: &Node| matches!(node, Node::Leaf { value, .. } if *value == 0.0);
                !grown.parts.nodes.iter().any(without)
            }
            TreeOutput::All => {
                let mut leaves = grown.parts.leaf_vectors.chunks(outputs);
                leaves.all(|leaf| leaf.iter().any(|value| *value != 0.0))
            }
        };
        self.values.iter().all(|value| *value > 0.0) && trees.iter().any(has_weights)
    }

    /// Returns the weights of each tree in file order; `ranks` maps tree numbers to positions.
    fn by_tree(&self, ranks: &HashMap<i64, usize>) -> Result<Vec<(usize, usize)>> {
        let mut order = with_capacity(self.trees.len())?;
        for (index, tree) in self.trees.iter().enumerate() {
            let rank = ranks
                .get(tree)
                .ok_or_else(|| fault!(Parameter, "a weight belongs to no tree: {tree}"))?;
            order.push((*rank, index));
        }
        order.sort_unstable();
        Ok(order)
    }
}

/// The nodes: parallel lists.
struct Nodes {
    trees: Vec<i64>,
    ids: Vec<i64>,
    features: Vec<i64>,
    modes: Vec<Mode>,
    values: Vec<f64>,
    holds: Vec<i64>,
    fails: Vec<i64>,
    missing: Vec<i64>,
}

impl Nodes {
    fn read(attributes: &mut Attributes<'_, '_, '_, '_>, precision: Precision) -> Result<Nodes> {
        let trees = attributes.integers("nodes_treeids")?;
        let count = trees.len();
        let mut integers = |name: &str| -> Result<_> {
            let list = attributes.integers(name)?;
            attributes.check_length(name, &list, count)?;
            Ok(list)
        };
        let (ids, features) = (integers("nodes_nodeids")?, integers("nodes_featureids")?);
        let (holds, fails) = (integers("nodes_truenodeids")?, integers("nodes_falsenodeids")?);
        let mut missing = attributes.integers("nodes_missing_value_tracks_true")?;
        if missing.is_empty() {
            missing.resize(count, 0);
        }
        attributes.check_length("nodes_missing_value_tracks_true", &missing, count)?;
        let values = attributes.numbers("nodes_values", precision == Precision::Double)?;
        attributes.check_length("nodes_values", &values, count)?;
        let modes = attributes.texts("nodes_modes")?;
        attributes.check_length("nodes_modes", &modes, count)?;
        let modes = modes.iter().map(|name| Mode::of_name(name));
        let modes = try_collect(modes).map_err(|e| e.at(attributes.node.place.place()))?;
        Ok(Nodes { trees, ids, features, modes, values, holds, fails, missing })
    }

    /// Returns the tree at `range`, and the index of each node number.
    fn tree(
        &self,
        range: std::ops::Range<usize>,
        members: &mut Vec<Vec<f64>>,
    ) -> Result<(Vec<Node>, HashMap<i64, u32>)> {
        let mut places = HashMap::new();
        for (place, id) in (0..).zip(self.ids.get(range.clone()).unwrap_or_default()) {
            places.try_reserve(1)?;
            if places.insert(*id, place).is_some() {
                bail!(TreeShape, "node {id} occurs twice");
            }
        }
        let mut nodes = with_capacity(range.len())?;
        for (place, index) in range.enumerate() {
            let node = self.node(index, &places, members);
            nodes.push(node.map_err(|error| error.at(node_of(place)))?);
        }
        join_chains(&mut nodes, members);
        Ok((nodes, places))
    }

    fn node(
        &self,
        index: usize,
        places: &HashMap<i64, u32>,
        numbers: &mut Vec<Vec<f64>>,
    ) -> Result<Node> {
        let (
            Some(&mode),
            Some(&feature),
            Some(&threshold),
            Some(holds),
            Some(fails),
            Some(&missing),
        ) = (
            self.modes.get(index),
            self.features.get(index),
            self.values.get(index),
            self.holds.get(index),
            self.fails.get(index),
            self.missing.get(index),
        )
        else {
            bail!(Length, "a node is incomplete");
        };
        if mode == Mode::Leaf {
            return Ok(crate::format::onnx::trees::LEAF);
        }
        let place = |id: &i64| {
            places
                .get(id)
                .copied()
                .ok_or_else(|| fault!(TreeShape, "a split leads to no node: {id}"))
        };
        let (holds, fails) = (place(holds)?, place(fails)?);
        let (members, missing_is_true) = (&[], missing != 0);
        OnnxSplit { mode, feature, threshold, members, missing_is_true, holds, fails }.node(numbers)
    }
}

fn read_trees(
    attributes: &mut Attributes<'_, '_, '_, '_>,
    weights: &Weights,
    table: &Rc<ColumnTable>,
    scored: &mut [bool],
) -> Result<Vec<Grown>> {
    let nodes = Nodes::read(attributes, table.precision())?;
    let (mut ranges, mut ranks) = (Vec::new(), HashMap::new());
    let mut start = 0;
    for chunk in nodes.trees.chunk_by(|a, b| a == b) {
        let id = chunk.first().copied().unwrap_or(0);
        ranks.try_reserve(1)?;
        if ranks.insert(id, ranges.len()).is_some() {
            let message = format!("the nodes of tree {id} do not stand together");
            return Err(attributes.error(ErrorKind::TreeShape, message));
        }
        check_limit(ranges.len() + 1, attributes.limits.trees, "trees")?;
        push(&mut ranges, start..start + chunk.len())?;
        start += chunk.len();
    }
    let order = weights.by_tree(&ranks)?;
    let mut of_trees = order.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut trees = with_capacity(ranges.len())?;
    for (rank, range) in ranges.into_iter().enumerate() {
        let of_tree = of_trees.next_if(|chunk| chunk.first().is_some_and(|pair| pair.0 == rank));
        let mut members = Vec::new();
        let made = nodes.tree(range, &mut members).and_then(|(nodes, places)| {
            let own = of_tree
                .unwrap_or_default()
                .iter()
                .map(|pair| weight(weights, pair.1, &places, scored.len()));
            let own = try_collect(own)?;
            tree(nodes, &own, scored, attributes.limits)
        });
        let parts = made.map_err(|error| in_tree(error, rank))?;
        trees.push(Grown { parts, members, table: Rc::clone(table) });
        attributes.checks.check()?;
    }
    Ok(trees)
}

fn weight(
    weights: &Weights,
    index: usize,
    places: &HashMap<i64, u32>,
    outputs: usize,
) -> Result<Weight> {
    let (Some(node), Some(&output), Some(&value)) =
        (weights.nodes.get(index), weights.outputs.get(index), weights.values.get(index))
    else {
        bail!(Length, "a weight is incomplete");
    };
    let Some(&leaf) = places.get(node) else {
        bail!(Parameter, "a weight belongs to no node: {node}");
    };
    match u32::try_from(output) {
        Ok(output) if (output as usize) < outputs => Ok(Weight { leaf, output, value }),
        _ => {
            let message = format!("a leaf adds to output {output} of a model of {outputs}");
            Err(Error::new(ErrorKind::OutputRange, message).at(node_of(leaf as usize)))
        }
    }
}
