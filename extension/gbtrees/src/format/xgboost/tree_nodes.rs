//! Builds a tree's nodes from its arrays.
//!
//! XGBoost takes the node after the left child as the right child and ignores the link (`GetNextNode`
//! in src/predictor/predict_fn.h), so a different link is an error: the file would mean two trees.
//! Pruning marks deleted nodes, and leaves the categories of a former split behind. The model's builder
//! checks that the links form a tree.

use crate::ensemble::{
    CategorySet, Comparison, MissingRule, NODES_PER_CHECK, Node, Split, SplitCondition, Tree,
    TreeOutput, node_of,
};
use crate::format::reader::required;
use crate::format::xgboost::tree::{Allowance, Arrays, Statistics};
use crate::memory::{collect, with_capacity};
use crate::{Cancel, Error, ErrorKind, Result};

/// In `parents` the root's, in `split_indices` the mark of a deleted node.
const NONE: i32 = i32::MAX;

/// Child links of a leaf; also the root's parent where leaves are vectors.
const NO_CHILD: i32 = -1;

/// A tree as read. Its output, if it has a single one, and its weight are stored outside of it.
pub(super) struct RawTree {
    pub parts: Tree,
    /// Values per leaf.
    pub leaf_size: i64,
    pub statistics: Statistics,
}

/// The arrays with an entry per node.
struct NodeColumns<'a> {
    left: &'a [i32],
    right: &'a [i32],
    parents: Option<&'a [i32]>,
    features: &'a [i32],
    conditions: &'a [f32],
    default_left: &'a [bool],
    gains: &'a [f32],
    covers: &'a [f32],
    categorical: Option<&'a [bool]>,
}

struct Entry {
    left: i32,
    right: i32,
    feature: i32,
    condition: f32,
    default_left: bool,
    gain: f32,
    cover: f32,
    categorical: bool,
}

pub(super) fn build(
    arrays: &Arrays,
    index: usize,
    left: &mut Allowance,
    cancel: Cancel<'_>,
) -> Result<RawTree> {
    let parameters = required(arrays.parameters.as_ref(), "tree_param")?;
    let num_nodes = required(parameters.num_nodes, "num_nodes")?;
    let num_nodes = usize::try_from(num_nodes).unwrap_or(usize::MAX);
    let leaf_size = parameters.size_leaf_vector;
    // libxgboost reads it without a sign.
    if leaf_size < 0 {
        bail!(Parameter, "a leaf cannot have {leaf_size} values");
    }
    // A scalar leaf is a vector of size 0 up to 1.7 and of size 1 since 2.0.
    if leaf_size > 1 && arrays.leaf_weights.is_none() {
        let what = "a tree of a release before 3.2 with vectors in its leaves";
        let hint = "Train the model with XGBoost 3.2 or later.";
        return Err(crate::format::sniff::unsupported(what, hint));
    }
    if arrays.id.is_some_and(|id| usize::try_from(id) != Ok(index)) {
        bail!(Parameter, "a tree's id is not its position");
    }
    let columns = NodeColumns::of(arrays, num_nodes)?;
    let mut nodes = with_capacity(columns.left.len())?;
    left.nodes = left.nodes.saturating_sub(columns.left.len());
    let mut sets = Sets::of(arrays, columns.categorical, cancel)?;
    let mut deleted = 0;
    columns.check_parent(0, if leaf_size > 1 { NO_CHILD } else { NONE })?;
    for id in 0..columns.left.len() {
        if id.is_multiple_of(NODES_PER_CHECK) {
            cancel.check()?;
        }
        let node = match columns.entry(id) {
            None => return Err(fault!(Length, "a node has too few entries")),
            Some(entry) if entry.feature == NONE && id > 0 => {
                sets.skip(id, &mut left.set_words)?;
                columns.check_former_parent(id)?;
                deleted += 1;
                Node::Deleted
            }
            Some(entry) if entry.left == NO_CHILD => {
                sets.skip(id, &mut left.set_words)?;
                leaf(&entry, leaf_size > 1).map_err(|error| error.at(node_of(id)))?
            }
            Some(entry) => columns.split(id, &entry, &mut sets, &mut left.set_words)?,
        };
        nodes.push(node);
    }
    if parameters.num_deleted.is_some_and(|stated| stated != deleted) {
        bail!(TreeShape, "a tree has {deleted} deleted nodes, not as many as it says");
    }
    let output = if leaf_size > 1 { TreeOutput::All } else { TreeOutput::One(0) };
    let leaf_vectors = if leaf_size > 1 { arrays.leaf_weights.clone() } else { None };
    let leaf_vectors = collect(leaf_vectors.unwrap_or_default().into_iter().map(f64::from))?;
    let category_sets = sets.done;
    let parts = Tree { category_sets, leaf_vectors, ..Tree::unchecked(nodes, output) };
    Ok(RawTree { parts, leaf_size, statistics: Statistics::default() })
}

/// Builds a leaf; a vector leaf has the vector's index in place of its right child.
fn leaf(entry: &Entry, is_vector: bool) -> Result<Node> {
    let (value, cover) = (f64::from(entry.condition), entry.cover);
    match u32::try_from(entry.right) {
        Ok(vector) if is_vector => Ok(Node::LeafVector { vector, cover }),
        Err(_) if !is_vector && entry.right == NO_CHILD => Ok(Node::Leaf { value, cover }),
        _ => Err(fault!(TreeShape, "a node has one child")),
    }
}

impl<'a> NodeColumns<'a> {
    /// Collects the arrays and checks that their lengths agree.
    fn of(arrays: &'a Arrays, num_nodes: usize) -> Result<Self> {
        let nodes = required(arrays.left_children.as_ref(), "left_children")?.len();
        if nodes == 0 {
            bail!(TreeShape, "a tree has no nodes");
        }
        if i32::try_from(nodes).is_err() {
            bail!(Limit, "a tree has more nodes than there are ids");
        }
        if num_nodes != nodes {
            return Err(differs("num_nodes"));
        }
        Ok(NodeColumns {
            left: column(&arrays.left_children, "left_children", nodes)?,
            right: column(&arrays.right_children, "right_children", nodes)?,
            parents: optional_column(&arrays.parents, "parents", nodes)?,
            features: column(&arrays.split_indices, "split_indices", nodes)?,
            conditions: column(&arrays.split_conditions, "split_conditions", nodes)?,
            default_left: column(&arrays.default_left, "default_left", nodes)?,
            gains: column(&arrays.loss_changes, "loss_changes", nodes)?,
            covers: column(&arrays.sum_hessian, "sum_hessian", nodes)?,
            categorical: optional_column(&arrays.split_type, "split_type", nodes)?,
        })
    }

    fn entry(&self, id: usize) -> Option<Entry> {
        Some(Entry {
            left: *self.left.get(id)?,
            right: *self.right.get(id)?,
            feature: *self.features.get(id)?,
            condition: *self.conditions.get(id)?,
            default_left: *self.default_left.get(id)?,
            gain: *self.gains.get(id)?,
            cover: *self.covers.get(id)?,
            categorical: self.categorical.is_some_and(|types| types.get(id) == Some(&true)),
        })
    }

    fn split(
        &self,
        id: usize,
        entry: &Entry,
        sets: &mut Sets<'_>,
        words_left: &mut usize,
    ) -> Result<Node> {
        let fault = |kind, message: String| Error::new(kind, message).at(node_of(id));
        let (left, right) = (entry.left, entry.right);
        let nodes = self.left.len();
        let is_child = |child: &u32| (1..nodes).contains(&(*child as usize));
        let in_range = |child| u32::try_from(child).ok().filter(is_child);
        let (Some(left), Some(right)) = (in_range(left), in_range(right)) else {
            let message =
                format!("a split of a tree of {nodes} nodes has the children {left} and {right}");
            return Err(fault(ErrorKind::TreeShape, message));
        };
        if right != left + 1 {
            let message = format!(
                "the right child of a split is {right}, not the node after its left child {left}"
            );
            return Err(fault(ErrorKind::TreeShape, message));
        }
        for child in [left, right] {
            // Trees with more nodes than i32 counts have been refused.
            self.check_parent(child as usize, id as i32)?;
        }
        let Ok(feature) = u32::try_from(entry.feature) else {
            let message = format!("a split tests feature {}", entry.feature);
            return Err(fault(ErrorKind::FeatureRange, message));
        };
        let (gain, cover, default_left) = (entry.gain, entry.cover, entry.default_left);
        let condition = if entry.categorical {
            SplitCondition::InSet { set: sets.take(id, words_left)?, members_left: false }
        } else {
            let (comparison, threshold) = (Comparison::Less, f64::from(entry.condition));
            SplitCondition::Compare { comparison, threshold, missing: MissingRule::Nan }
        };
        Ok(Node::Split(Split { feature, condition, default_left, left, right, gain, cover }))
    }

    /// Checks the stated parent of a node against the link that leads to it.
    fn check_parent(&self, node: usize, parent: i32) -> Result<()> {
        let stated = self.parents.and_then(|parents| parents.get(node));
        if stated.is_some_and(|stated| *stated != parent) {
            let message = "the parent of a node is not the split that leads to it";
            return Err(Error::new(ErrorKind::TreeShape, message).at(node_of(node)));
        }
        Ok(())
    }

    /// The parent of a deleted node is the split that led to it, or what became of that: libxgboost looks
    /// there.
    fn check_former_parent(&self, node: usize) -> Result<()> {
        let stated = self.parents.and_then(|parents| parents.get(node));
        let is_node =
            |parent: &i32| usize::try_from(*parent).is_ok_and(|parent| parent < self.left.len());
        if stated.is_none_or(is_node) {
            return Ok(());
        }
        let message = "the parent of a deleted node is no node of the tree";
        Err(Error::new(ErrorKind::TreeShape, message).at(node_of(node)))
    }
}

fn column<'a, T>(values: &'a Option<Vec<T>>, key: &str, nodes: usize) -> Result<&'a [T]> {
    let values = required(values.as_ref(), key)?;
    if values.len() == nodes { Ok(values) } else { Err(differs(key)) }
}

fn optional_column<'a, T>(
    values: &'a Option<Vec<T>>,
    key: &str,
    nodes: usize,
) -> Result<Option<&'a [T]>> {
    values.as_ref().map(|_| column(values, key, nodes)).transpose()
}

fn differs(key: &str) -> Error {
    fault!(Length, "\"{key}\" and \"left_children\" disagree on the number of nodes")
}

/// The category sets of a tree, visited in ascending order of nodes.
pub(super) struct Sets<'a> {
    codes: &'a [i32],
    /// Node, first code and number of codes of the sets to come, the next one last.
    listed: Vec<(usize, i64, i64)>,
    /// The sets taken so far.
    pub done: Vec<CategorySet>,
}

impl<'a> Sets<'a> {
    /// Checks the listed nodes: categorical, and in ascending order.
    pub(super) fn of(
        arrays: &'a Arrays,
        categorical: Option<&[bool]>,
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        let nodes = &arrays.categories_nodes;
        let (starts, sizes) = (&arrays.categories_segments, &arrays.categories_sizes);
        if starts.len() != nodes.len() || sizes.len() != nodes.len() {
            let keys = r#""categories_nodes", "categories_segments" and "categories_sizes""#;
            bail!(Length, "{keys} differ in length");
        }
        let fault = |message: String| Err(Error::new(ErrorKind::CategoryRange, message));
        if !nodes.is_sorted_by(|a, b| a < b) {
            return fault("the nodes in \"categories_nodes\" do not ascend".to_owned());
        }
        let mut listed = with_capacity(nodes.len())?;
        for ((node, start), size) in nodes.iter().zip(starts).zip(sizes).rev() {
            if listed.len().is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let is_categorical =
                |id: &usize| categorical.and_then(|all| all.get(*id)) == Some(&true);
            match usize::try_from(*node).ok().filter(is_categorical) {
                Some(id) => listed.push((id, *start, *size)),
                None => {
                    return fault(format!(
                        "node {node} has categories and is no categorical split"
                    ));
                }
            }
        }
        Ok(Sets { codes: &arrays.categories, listed, done: Vec::new() })
    }

    /// Passes a node that is no split; pruning leaves the categories of a former split behind, which
    /// libxgboost reads like others.
    pub(super) fn skip(&mut self, id: usize, words_left: &mut usize) -> Result<()> {
        self.next(id, words_left).map(|_| ())
    }

    /// Takes a categorical split's set; returns its index and deducts its words from `words_left`.
    pub(super) fn take(&mut self, id: usize, words_left: &mut usize) -> Result<u32> {
        let set = self.next(id, words_left)?.ok_or_else(|| {
            let message = "a categorical split has no categories";
            Error::new(ErrorKind::CategoryRange, message).at(node_of(id))
        })?;
        self.done.push(set);
        // There are no more sets than nodes, and no more nodes than i32 counts.
        Ok(self.done.len() as u32 - 1)
    }

    /// The categories of the node, if some are listed for it.
    fn next(&mut self, id: usize, words_left: &mut usize) -> Result<Option<CategorySet>> {
        let Some((_, start, size)) = self.listed.pop_if(|(node, ..)| *node == id) else {
            return Ok(None);
        };
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        let codes = range
            .and_then(|(start, size)| self.codes.get(start..start.checked_add(size)?))
            .filter(|codes| !codes.is_empty())
            .ok_or_else(|| {
                let message = "the categories of a split are not in the list of categories";
                Error::new(ErrorKind::CategoryRange, message).at(node_of(id))
            })?;
        let set = CategorySet::new(codes, words_left).map_err(|error| error.at(node_of(id)))?;
        Ok(Some(set))
    }
}
