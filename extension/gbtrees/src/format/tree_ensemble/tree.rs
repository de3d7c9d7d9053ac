//! One tree of the file: arrays with an entry per node, the root first, and the leaves' values.

use super::{Comparing, index, real, unknown};
use crate::ensemble::{
    CategorySet, Comparison, LinearLeaf, NODES_PER_CHECK, Node, Split, SplitCondition, Tree,
    TreeOutput, node_of,
};
use crate::format::reader::{Reader, ValueKind, array, double, object, switch};
use crate::memory::with_capacity;
use crate::{Cancel, Error, ErrorKind, Limits, Result};

/// A leaf's child, and a numeric split's set.
const NONE: i32 = -1;

/// Limits of the trees not yet read.
pub(super) struct Allowance {
    nodes: usize,
    pub(super) values: usize,
    codes: usize,
    set_words: usize,
}

impl Allowance {
    pub(super) fn new(limits: &Limits) -> Self {
        let (nodes, set_words) = (limits.nodes, limits.set_words());
        Allowance { nodes, values: limits.bytes / 2, codes: limits.bytes / 2, set_words }
    }
}

/// A tree's arrays as found. All but `left` and `right` may be absent.
#[derive(Default)]
pub(super) struct Arrays {
    output: Option<u32>,
    left: Vec<i32>,
    right: Vec<i32>,
    feature: Vec<i32>,
    threshold: Vec<f64>,
    missing_left: Vec<bool>,
    cover: Vec<f32>,
    gain: Vec<f32>,
    /// The category set of each split, or -1.
    category_set: Vec<i32>,
    category_sets: Vec<CategorySet>,
    /// For each leaf in node order, one value or one per output.
    leaf_values: Vec<f64>,
    /// For each leaf in node order, the linear model that its value replaces where a feature is missing.
    leaf_constants: Vec<f64>,
    leaf_features: Vec<Vec<u32>>,
    leaf_coefficients: Vec<Vec<f64>>,
}

impl Arrays {
    pub(super) fn is_linear(&self) -> bool {
        !self.leaf_features.is_empty()
    }

    pub(super) fn read<'a, R: Reader<'a>>(
        reader: &mut R,
        allowance: &mut Allowance,
    ) -> Result<Arrays> {
        let mut arrays = Arrays::default();
        object(reader, |reader, key| arrays.member(reader, key, allowance))?;
        allowance.nodes = allowance.nodes.saturating_sub(arrays.left.len());
        allowance.values = allowance.values.saturating_sub(arrays.leaf_values.len());
        Ok(arrays)
    }

    fn member<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        key: &str,
        allowance: &mut Allowance,
    ) -> Result<()> {
        let max = allowance.nodes;
        match key {
            "output" => self.output = Some(index(reader)?),
            "left" => self.left = array(reader, max, "nodes", child)?,
            "right" => self.right = array(reader, max, "nodes", child)?,
            "feature" => self.feature = array(reader, max, "nodes", child)?,
            "threshold" => self.threshold = array(reader, max, "nodes", threshold)?,
            "missing_left" => self.missing_left = array(reader, max, "nodes", switch)?,
            "cover" => self.cover = array(reader, max, "nodes", R::float)?,
            "gain" => self.gain = array(reader, max, "nodes", R::float)?,
            "category_set" => self.category_set = array(reader, max, "nodes", child)?,
            "category_sets" => {
                self.category_sets =
                    array(reader, max, "category sets", |reader| set(reader, allowance))?;
            }
            "leaf_values" => {
                self.leaf_values = array(reader, allowance.values, "leaf values", real)?
            }
            "leaf_constants" => {
                self.leaf_constants = array(reader, allowance.values, "leaf values", real)?;
            }
            "leaf_features" => {
                self.leaf_features =
                    array(reader, max, "nodes", |reader| terms(reader, allowance, index))?;
            }
            "leaf_coefficients" => {
                self.leaf_coefficients =
                    array(reader, max, "nodes", |reader| terms(reader, allowance, real))?;
            }
            _ => return Err(unknown(reader, key)),
        }
        Ok(())
    }

    /// Builds the tree of a model with `outputs` outputs.
    pub(super) fn tree(
        mut self,
        comparing: Comparing<'_>,
        outputs: usize,
        cancel: Cancel<'_>,
    ) -> Result<Tree> {
        self.check_lengths()?;
        // A tree without an output adds to all of several.
        let vectors = self.output.is_none() && outputs > 1;
        let mut nodes = with_capacity(self.left.len())?;
        let mut leaves = 0;
        for (id, (left, right)) in self.left.iter().zip(&self.right).enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let node = match (u32::try_from(*left), u32::try_from(*right)) {
                (Ok(left), Ok(right)) => self.split(id, left, right, comparing),
                _ if [*left, *right] != [NONE; 2] => Err(fault!(TreeShape, "a node has one child")),
                _ => {
                    leaves += 1;
                    self.leaf(id, leaves - 1, vectors)
                }
            };
            nodes.push(node.map_err(|error| error.at(node_of(id)))?);
        }
        let each = if vectors { outputs } else { 1 };
        if self.leaf_values.len() != leaves * each {
            let message = format!(
                "a tree of {leaves} leaves has {} leaf values, not {}",
                self.leaf_values.len(),
                leaves * each
            );
            return Err(Error::new(ErrorKind::Length, message));
        }
        let linear_leaves = self.linear_leaves(leaves)?;
        let (output, leaf_vectors) = match vectors {
            true => (TreeOutput::All, self.leaf_values),
            false => (TreeOutput::One(self.output.unwrap_or_default()), Vec::new()),
        };
        let category_sets = self.category_sets;
        let parts = Tree::unchecked(nodes, output);
        Ok(Tree { category_sets, leaf_vectors, linear_leaves, ..parts })
    }

    /// Returns the linear models of `leaves` leaves, by node: those of splits have no effect.
    fn linear_leaves(&mut self, leaves: usize) -> Result<Vec<LinearLeaf>> {
        let lengths =
            [self.leaf_constants.len(), self.leaf_features.len(), self.leaf_coefficients.len()];
        if lengths == [0; 3] {
            return Ok(Vec::new());
        }
        let features = std::mem::take(&mut self.leaf_features);
        let coefficients = std::mem::take(&mut self.leaf_coefficients);
        let is_term_by_term =
            features.iter().zip(&coefficients).all(|(one, other)| one.len() == other.len());
        if lengths != [leaves; 3] || !is_term_by_term {
            let message = format!(
                "a tree of {leaves} leaves needs as many constants, and lists of features and of their \
                 coefficients"
            );
            return Err(Error::new(ErrorKind::Length, message));
        }
        let mut models = self.leaf_constants.iter().zip(features.into_iter().zip(coefficients));
        let mut found = with_capacity(self.left.len())?;
        for left in &self.left {
            let model = if *left == NONE { models.next() } else { None };
            found.push(match model {
                Some((constant, (features, coefficients))) => LinearLeaf {
                    constant: *constant,
                    terms: features.into_iter().zip(coefficients).collect(),
                },
                None => LinearLeaf { constant: 0.0, terms: Vec::new() },
            });
        }
        Ok(found)
    }

    fn check_lengths(&self) -> Result<()> {
        let count = self.left.len();
        let optional = |length: usize| if length == 0 { count } else { length };
        for (key, length) in [
            ("right", self.right.len()),
            ("feature", self.feature.len()),
            ("threshold", self.threshold.len()),
            ("missing_left", optional(self.missing_left.len())),
            ("cover", optional(self.cover.len())),
            ("gain", optional(self.gain.len())),
            ("category_set", optional(self.category_set.len())),
        ] {
            if length != count {
                bail!(Length, "a tree of {count} nodes has {length} values in \"{key}\"");
            }
        }
        Ok(())
    }

    fn leaf(&self, id: usize, leaf: usize, is_vector: bool) -> Result<Node> {
        let cover = self.cover.get(id).copied().unwrap_or_default();
        if is_vector {
            return Ok(Node::LeafVector { vector: leaf as u32, cover });
        }
        let value = self.leaf_values.get(leaf).copied();
        let value = value.ok_or(fault!(Length, "a leaf has no value"))?;
        Ok(Node::Leaf { value, cover })
    }

    fn split(&self, id: usize, left: u32, right: u32, comparing: Comparing<'_>) -> Result<Node> {
        let feature = self.feature.get(id).and_then(|feature| u32::try_from(*feature).ok());
        let feature = feature.ok_or(fault!(FeatureRange, "a split tests a feature below 0"))?;
        let default_left = self.missing_left.get(id).copied().unwrap_or_default();
        let gain = self.gain.get(id).copied().unwrap_or_default();
        let cover = self.cover.get(id).copied().unwrap_or_default();
        if let Some(set) = self.category_set.get(id).filter(|set| **set != NONE) {
            let set = u32::try_from(*set).unwrap_or(u32::MAX);
            let condition = SplitCondition::InSet { set, members_left: true };
            let split = Split { feature, condition, default_left, left, right, gain, cover };
            return Ok(Node::Split(split));
        }
        let threshold = self.threshold.get(id).copied();
        let threshold = threshold.ok_or(fault!(Length, "a split has no threshold"))?;
        let Comparing { comparison, missing, is_cut } = comparing;
        let is_cut = is_cut.get(feature as usize) == Some(&true);
        let (comparison, threshold) = match comparison {
            Comparison::LessOrEqual if is_cut && threshold < f64::INFINITY => {
                (Comparison::Less, threshold.next_up())
            }
            _ => (comparison, threshold),
        };
        let condition = SplitCondition::Compare { comparison, threshold, missing };
        Ok(Node::Split(Split { feature, condition, default_left, left, right, gain, cover }))
    }
}

/// Reads the features or coefficients of a leaf.
fn terms<'a, R: Reader<'a>, T>(
    reader: &mut R,
    allowance: &mut Allowance,
    element: impl FnMut(&mut R) -> Result<T>,
) -> Result<Vec<T>> {
    let found = array(reader, allowance.values, "terms of leaves", element)?;
    allowance.values = allowance.values.saturating_sub(found.len());
    Ok(found)
}

fn child<'a, R: Reader<'a>>(reader: &mut R) -> Result<i32> {
    let value = reader.integer()?;
    i32::try_from(value).ok().filter(|value| *value >= NONE).ok_or_else(|| {
        reader.error(ErrorKind::Number, "an index is below -1, or too large for i32")
    })
}

/// Reads a number, which may be infinite: in JSON the string `Infinity` or `-Infinity`.
pub(super) fn threshold<'a, R: Reader<'a>>(reader: &mut R) -> Result<f64> {
    if reader.kind()? == ValueKind::String {
        return match reader.string()?.as_ref() {
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(reader.error(ErrorKind::Number, "a threshold is not a number")),
        };
    }
    double(reader)
}

fn set<'a, R: Reader<'a>>(reader: &mut R, allowance: &mut Allowance) -> Result<CategorySet> {
    let codes = array(reader, allowance.codes, "categories", child)?;
    allowance.codes = allowance.codes.saturating_sub(codes.len());
    CategorySet::new(&codes, &mut allowance.set_words)
}
