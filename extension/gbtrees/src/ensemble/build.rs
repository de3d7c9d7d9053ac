//! The only constructor of [`Ensemble`]: readers of all formats pass their trees in, one by one.
//!
//! Invariants common to all libraries are checked here and only here: links form a tree, features,
//! outputs and sets are in range, thresholds are numbers, leaves are finite, names and types fit the
//! features, and nothing exceeds the limits. Readers check what is specific to their library.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::ensemble::{
    ArrayCategories, Categories, Comparison, Ctrs, Ensemble, EnsembleParts, FeatureType,
    LinearLeaf, MissingRule, Node, Precision, RealInput, Split, SplitCondition, Tree, TreeOutput,
    check_class_labels, check_feature_names,
};
use crate::memory::{filled, grow, push};
use crate::{Cancel, Error, ErrorKind, Limits, Place, Result};

/// Nodes between two polls for cancellation.
pub(crate) const NODES_PER_CHECK: usize = 1 << 14;

pub(crate) struct Builder<'a> {
    model: Ensemble,
    limits: &'a Limits,
    /// Nodes so far; a tree with leaf vectors counts once per output.
    nodes: usize,
    /// Words of category sets so far, counted like the nodes.
    set_words: usize,
    /// The kind of test of each feature so far.
    uses: Vec<Option<Use>>,
}

/// A kind of test on a feature. Kernels prepare each feature for a single kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Number,
    NumberOrZeroMissing,
    Code,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(mut parts: EnsembleParts, limits: &'a Limits) -> Result<Self> {
        check_features(&parts, limits)?;
        let outputs = parts.base_margin.len();
        check_limit(outputs, limits.outputs, "outputs")?;
        if outputs == 0 || outputs != parts.base_score.len() {
            bail!(
                Length,
                "model has {outputs} outputs, but {} base scores",
                parts.base_score.len()
            );
        }
        if parts.base_margin.iter().any(|margin| !margin.is_finite()) {
            bail!(NotFinite, "the base score does not give a finite margin");
        }
        if parts.sum_precision == Precision::Double && parts.base_margin.iter().any(|x| *x != 0.0) {
            bail!(Parameter, "a sum of f64 starts from another number than 0");
        }
        parts.scaling.check(outputs)?;
        if !parts.objective.transform.is_in(parts.sum_precision) {
            bail!(Unsupported, "objective \"{}\" has sums of another width", parts.objective.name);
        }
        grow(&mut parts.feature_types, parts.num_features, FeatureType::Numerical)?;
        grow(&mut parts.categories, parts.num_features, None)?;
        let model = Ensemble {
            real_input: RealInput::default(),
            array_categories: ArrayCategories::of_format(parts.format),
            parts,
            trees: Vec::new(),
            round_starts: Vec::new(),
            unknown_codes: Vec::new(),
            coefficients: Vec::new(),
            ctrs: Ctrs::default(),
        };
        check_class_labels(&model.parts.class_labels, model.num_classes())?;
        let uses = filled(model.parts.num_features, None)?;
        Ok(Builder { model, limits, nodes: 0, set_words: 0, uses })
    }

    /// Adds the next tree in order of summation.
    pub(crate) fn add_tree(&mut self, mut tree: Tree, cancel: Cancel<'_>) -> Result<()> {
        let index = self.model.trees.len();
        check_limit(index + 1, self.limits.trees, "trees")?;
        let copies = match tree.output {
            TreeOutput::One(_) => 1,
            TreeOutput::All => self.model.num_outputs(),
        };
        self.nodes = self.nodes.saturating_add(tree.nodes.len().saturating_mul(copies));
        check_limit(self.nodes, self.limits.nodes, "nodes")?;
        let words: usize = tree.category_sets.iter().map(|set| set.words.len()).sum();
        self.set_words = self.set_words.saturating_add(words.saturating_mul(copies));
        check_limit(self.set_words, self.limits.set_words(), "words of category sets")?;
        self.check(&mut tree, cancel).map_err(|error| in_tree(error, index))?;
        push(&mut self.model.trees, tree)
    }

    /// Sets, per feature, whether unknown values have a code.
    pub(crate) fn set_unknown_codes(&mut self, unknown_codes: Vec<bool>) -> Result<()> {
        if ![0, self.model.parts.num_features].contains(&unknown_codes.len()) {
            bail!(Length, "the number of features whose unknown values have a code is wrong");
        }
        self.model.unknown_codes = unknown_codes;
        Ok(())
    }

    /// Sets the coefficients of a linear model.
    pub(crate) fn set_coefficients(&mut self, coefficients: Vec<f32>) -> Result<()> {
        let model = &mut self.model;
        let (features, outputs) = (model.parts.num_features, model.num_outputs());
        let count = coefficients.len();
        if features.saturating_add(1).checked_mul(outputs) != Some(count) {
            let message = format!(
                "a linear model of {features} features and {outputs} outputs has {count} coefficients"
            );
            return Err(Error::new(ErrorKind::Length, message));
        }
        if !coefficients.iter().all(|coefficient| coefficient.is_finite()) {
            return Err(not_finite("a coefficient"));
        }
        model.coefficients = coefficients;
        Ok(())
    }

    /// Sets target statistics; must precede the trees that test them.
    pub(crate) fn set_ctrs(&mut self, ctrs: Ctrs) -> Result<()> {
        ctrs.check(self.model.parts.num_features)?;
        let count = self.model.parts.num_features.saturating_add(ctrs.count());
        check_limit(count, self.limits.features, "features and target statistics")?;
        grow(&mut self.uses, count, None)?;
        self.model.ctrs = ctrs;
        Ok(())
    }

    /// Completes the model. `round_starts` has each round's first tree, then the number of trees.
    pub(crate) fn finish(mut self, round_starts: Vec<u32>) -> Result<Ensemble> {
        let end = round_starts.last().map(|end| *end as usize);
        if !round_starts.is_sorted()
            || round_starts.first() != Some(&0)
            || end != Some(self.model.trees.len())
        {
            bail!(Parameter, "the rounds do not ascend from 0 to the number of trees");
        }
        self.model.round_starts = round_starts;
        self.model.parts.categories.iter().flatten().try_for_each(Categories::check)?;
        Ok(self.model)
    }

    /// Checks that all splits of a feature agree: on whether zeros are missing and, for f64 values, on
    /// whether it is a number or a code.
    fn check_use(&mut self, node: &Node) -> Result<()> {
        let Some(split) = node.split() else { return Ok(()) };
        let feature = split.feature;
        let this = match split.condition {
            SplitCondition::Compare { missing: MissingRule::Zero, .. } => Use::NumberOrZeroMissing,
            SplitCondition::Compare { .. } => Use::Number,
            SplitCondition::InSet { .. } => Use::Code,
        };
        if !self.model.ranks_of(feature).is_empty() {
            return self.check_ranked(split);
        }
        let Some(before) = self.uses.get_mut(feature as usize) else { return Ok(()) };
        let before = *before.get_or_insert(this);
        let wide = self.model.parts.value_precision == Precision::Double;
        if before != this && (wide || [before, this].contains(&Use::NumberOrZeroMissing)) {
            bail!(Unsupported, "splits of feature {feature} disagree on what it holds");
        }
        Ok(())
    }

    /// Checks a split of a ranked feature: it tests ranks, or one of the ranked numbers.
    fn check_ranked(&self, split: &Split) -> Result<()> {
        let Split { feature, condition, .. } = *split;
        let SplitCondition::Compare { comparison, threshold, missing } = condition else {
            return Ok(());
        };
        let ranks = self.model.ranks_of(feature);
        let all = threshold == f64::INFINITY && comparison == Comparison::LessOrEqual;
        let below = comparison == Comparison::Less
            && ranks.binary_search_by(|rank| rank.total_cmp(&(threshold + 0.0))).is_ok();
        if missing == MissingRule::Nan && (all || below) {
            return Ok(());
        }
        Err(fault!(Parameter, "a split of feature {feature} does not fit the ranks of its values"))
    }

    /// Checks a tree, and sets its depth.
    fn check(&mut self, tree: &mut Tree, cancel: Cancel<'_>) -> Result<()> {
        if let TreeOutput::One(output) = tree.output
            && output as usize >= self.model.num_outputs()
        {
            let outputs = self.model.num_outputs();
            bail!(OutputRange, "a tree adds to output {output} of a model of {outputs}");
        }
        tree.depth = depth(&tree.nodes, self.limits.depth, cancel)?;
        for (id, node) in tree.nodes.iter().enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let checked = self.check_node(id, node, tree).and_then(|()| self.check_use(node));
            checked.map_err(|error| error.at(node_of(id)))?;
            self.mark_categorical(node);
        }
        self.check_linear_leaves(tree, cancel)
    }

    /// Checks that linear leaves are absent or one per leaf, with finite numbers and valid features.
    fn check_linear_leaves(&self, tree: &Tree, cancel: Cancel<'_>) -> Result<()> {
        if tree.linear_leaves.is_empty() {
            return Ok(());
        }
        let leaves = tree.nodes.len().saturating_sub(tree.first_leaf as usize);
        if tree.linear_leaves.len() != leaves
            || tree.weight != 1.0
            || tree.output == TreeOutput::All
            || self.model.parts.sum_precision != Precision::Double
        {
            bail!(Length, "the linear models of a tree do not fit its leaves");
        }
        for (index, leaf) in tree.linear_leaves.iter().enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) || leaf.terms.len() >= NODES_PER_CHECK {
                cancel.check()?;
            }
            let checked = self.check_linear_leaf(leaf);
            checked.map_err(|error| error.at(node_of(tree.first_leaf as usize + index)))?;
        }
        Ok(())
    }

    fn check_linear_leaf(&self, leaf: &LinearLeaf) -> Result<()> {
        if !leaf.constant.is_finite() {
            return Err(not_finite("the constant of a leaf"));
        }
        let features = self.model.parts.num_features;
        for (feature, coefficient) in &leaf.terms {
            if !coefficient.is_finite() {
                return Err(not_finite("a coefficient of a leaf"));
            }
            if *feature as usize >= features {
                bail!(FeatureRange, "a leaf multiplies feature {feature} of a model of {features}");
            }
        }
        Ok(())
    }

    fn check_node(&self, id: usize, node: &Node, tree: &Tree) -> Result<()> {
        let finite = |values: &[f64]| {
            values.iter().all(|value| {
                let added = value * f64::from(tree.weight);
                match self.model.parts.sum_precision {
                    Precision::Single => (added as f32).is_finite(),
                    Precision::Double => added.is_finite(),
                }
            })
        };
        let (feature, sound) = match *node {
            Node::Deleted => return Ok(()),
            Node::Leaf { .. } | Node::LeafVector { .. } if id < tree.first_leaf as usize => {
                bail!(TreeShape, "a leaf lies before the first leaf");
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
                    None => Err(fault!(Length, "a leaf has no vector")),
                };
            }
            Node::Leaf { .. } | Node::LeafVector { .. } => {
                bail!(OutputRange, "a leaf does not fit the outputs of its tree");
            }
            Node::Split(Split { feature, condition, .. }) => match condition {
                SplitCondition::Compare { threshold, .. } => {
                    let sound =
                        if threshold.is_nan() { Err(not_finite("a threshold")) } else { Ok(()) };
                    (feature, sound)
                }
                SplitCondition::InSet { set, .. } => {
                    let message = "a categorical split has no categories";
                    let set = tree.category_sets.get(set as usize);
                    (feature, set.map(|_| ()).ok_or(Error::new(ErrorKind::CategoryRange, message)))
                }
            },
        };
        let features = self.uses.len();
        if feature as usize >= features {
            bail!(FeatureRange, "a split tests feature {feature} of a model of {features}");
        }
        sound
    }

    /// Marks features of categorical splits as categorical. Files name types only for models trained on
    /// a data frame.
    fn mark_categorical(&mut self, node: &Node) {
        if let Node::Split(Split { feature, condition: SplitCondition::InSet { .. }, .. }) = node
            && self.model.ranks_of(*feature).is_empty()
            && let Some(kind) = self.model.parts.feature_types.get_mut(*feature as usize)
        {
            *kind = FeatureType::Categorical;
        }
    }
}

/// Checks that there is a feature, and that lists by feature are empty or complete.
fn check_features(parts: &EnsembleParts, limits: &Limits) -> Result<()> {
    let num_features = parts.num_features;
    if num_features == 0 {
        bail!(Parameter, "a model cannot have 0 features");
    }
    check_limit(num_features, limits.features, "features")?;
    if !parts.feature_names.is_empty() {
        check_feature_names(&parts.feature_names, num_features)?;
    }
    for (length, what) in [
        (parts.feature_types.len(), "feature types"),
        (parts.categories.len(), "sets of categories"),
        (parts.ranks.len(), "lists of ranks"),
    ] {
        if length != 0 && length != num_features {
            bail!(Length, "model has {num_features} features, but {length} {what}");
        }
    }
    let ascends = |ranks: &Vec<f64>| ranks.is_sorted_by(|a, b| a < b);
    if !parts.ranks.iter().all(ascends)
        || !parts.ranks.is_empty() && parts.value_precision == Precision::Single
    {
        bail!(Parameter, "the numbers that rank the values of a feature do not ascend");
    }
    Ok(())
}

pub(crate) fn check_limit(count: usize, limit: usize, what: &str) -> Result<()> {
    if count > limit {
        bail!(Limit, "model has {count} {what}, more than the limit of {limit}");
    }
    Ok(())
}

/// Returns the place of a node in the current tree; [`in_tree`] adds the tree's index.
pub(crate) fn node_of(node: usize) -> Place {
    Place::Node { tree: 0, node }
}

/// Returns an error with the tree's index added to its place.
pub(crate) fn in_tree(error: Error, tree: usize) -> Error {
    match error.place() {
        Place::Model => error.at(Place::Tree(tree)),
        Place::Node { node, .. } => error.at(Place::Node { tree, node }),
        Place::Byte(_) | Place::Line { .. } | Place::Tree(_) => error,
    }
}

fn not_finite(what: &str) -> Error {
    fault!(NotFinite, "{what} is not a finite number")
}

#[cfg(test)]
mod tests;

/// Checks a tree's links; returns the number of splits on the longest path.
///
/// The walk follows valid links to unvisited nodes only, so it ends after at most all nodes, whatever
/// the links are. Deleted nodes, and no others, must stay unvisited.
pub(super) fn depth(nodes: &[Node], limit: usize, cancel: Cancel<'_>) -> Result<u32> {
    let fault = |kind, node, message: String| Err(Error::new(kind, message).at(node_of(node)));
    let mut reached = filled(nodes.len(), false)?;
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
                cancel.check()?;
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
                push(&mut below, child)?;
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
            cancel.check()?;
        }
        if !reached && *node != Node::Deleted {
            return fault(ErrorKind::TreeShape, id, "no split leads to a node".to_owned());
        }
    }
    Ok(depth)
}
