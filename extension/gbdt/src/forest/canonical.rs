//! A model's trees in the one form that kernels walk.
//!
//! There, a row goes left where its value as f32 is below a threshold of f32, right where its code
//! is in a set, and to the default child where it is NaN; each leaf adds one number to one output.
//! Every rule that a [`Model`] can have is turned into that, exactly for every f32:
//!
//! | rule | becomes |
//! |---|---|
//! | `x < t`, t of f64 | `x < u`, u the smallest f32 that is not below t |
//! | `x <= t` | `x < u`, u the smallest f32 above t |
//! | `x <= inf` | a code in the empty set, which nothing is |
//! | codes in the set go left | children swapped |
//! | nothing is missing | the default child is the one that 0 goes to |
//! | zeros are missing | the same splits: `eval` reads such zeros as NaN |
//! | a leaf vector | one tree per output, of which `source` is the tree of the model |
//! | a tree's weight | the product, rounded to f32, in the leaves |

pub(super) use crate::model::NODES_PER_CHECK;
use crate::model::{self, CategorySet, Comparison, MissingRule, Model, TreeOutput};
use crate::{Error, ErrorKind, Result};

/// The trees, in the order of summation.
pub(super) struct Forest<'m> {
    num_features: usize,
    trees: Vec<Tree<'m>>,
}

/// One tree; its node ids are the model's.
pub(super) struct Tree<'m> {
    pub(super) nodes: Vec<Node>,
    /// The words of each set, lowest codes first.
    pub(super) sets: Vec<&'m [u32]>,
    pub(super) depth: u32,
    /// The output that it adds to.
    pub(super) output: u32,
    /// The index of the model's tree that it comes from.
    pub(super) source: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    Leaf {
        value: f32,
        cover: f32,
    },
    Numerical {
        feature: u32,
        threshold: f32,
        default_left: bool,
        left: u32,
        right: u32,
        cover: f32,
    },
    Categorical {
        feature: u32,
        set: u32,
        default_left: bool,
        left: u32,
        right: u32,
        cover: f32,
    },
    Deleted,
}

impl<'m> Forest<'m> {
    pub(super) fn of(model: &'m Model, check_interrupts: &mut dyn FnMut()) -> Result<Self> {
        let mut trees = Vec::new();
        reserve(&mut trees, model.trees().len())?;
        for (source, tree) in (0..).zip(model.trees()) {
            let outputs = match tree.output() {
                TreeOutput::One(output) => output..output + 1,
                TreeOutput::All => 0..model.num_outputs() as u32,
            };
            for output in outputs {
                trees.push(Tree::of(model, tree, output, source, check_interrupts)?);
                check_interrupts();
            }
        }
        Ok(Forest { num_features: model.num_features(), trees })
    }

    pub(super) fn num_features(&self) -> usize {
        self.num_features
    }

    pub(super) fn trees(&self) -> &[Tree<'m>] {
        &self.trees
    }
}

impl<'m> Tree<'m> {
    fn of(
        model: &Model,
        tree: &'m model::Tree,
        output: u32,
        source: u32,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self> {
        let mut sets: Vec<&[u32]> = tree.category_sets().iter().map(CategorySet::words).collect();
        let mut nodes = Vec::new();
        reserve(&mut nodes, tree.nodes().len())?;
        for (id, node) in tree.nodes().iter().enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                check_interrupts();
            }
            nodes.push(match *node {
                model::Node::Deleted => Node::Deleted,
                model::Node::Leaf { value, cover } => {
                    Node::Leaf { value: value * tree.weight(), cover }
                }
                model::Node::LeafVector { vector, cover } => {
                    let index = vector as usize * model.num_outputs() + output as usize;
                    let value = tree.leaf_vectors().get(index).copied().unwrap_or(0.0);
                    Node::Leaf { value: value * tree.weight(), cover }
                }
                split @ (model::Node::Numerical { feature, .. }
                | model::Node::Categorical { feature, .. }) => {
                    let rule = model.missing_rules().get(feature as usize).copied();
                    split_of(split, rule.unwrap_or_default(), &mut sets)
                }
            });
        }
        Ok(Tree { nodes, sets, depth: tree.depth(), output, source })
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Number of splits on the longest path from the root to a leaf.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }
}

/// Makes room for more values, or says that there is none.
pub(super) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve(more).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("out of memory for a tree of {more} nodes"))
    })
}

fn split_of(split: model::Node, rule: MissingRule, sets: &mut Vec<&[u32]>) -> Node {
    let zero_goes_left = |goes_left: bool, default_left: bool| match rule {
        MissingRule::None => goes_left,
        MissingRule::Nan | MissingRule::Zero => default_left,
    };
    match split {
        model::Node::Numerical {
            feature,
            comparison,
            threshold,
            default_left,
            left,
            right,
            cover,
            ..
        } => {
            let default_left = zero_goes_left(comparison.holds(0.0, threshold), default_left);
            match below(comparison, threshold) {
                Some(threshold) => {
                    Node::Numerical { feature, threshold, default_left, left, right, cover }
                }
                None => {
                    sets.push(&[]);
                    let set = sets.len() as u32 - 1;
                    Node::Categorical { feature, set, default_left, left, right, cover }
                }
            }
        }
        model::Node::Categorical {
            feature,
            set,
            members_left,
            default_left,
            left,
            right,
            cover,
            ..
        } => {
            let holds_zero = sets
                .get(set as usize)
                .and_then(|words| words.first())
                .is_some_and(|word| word & 1 == 1);
            let default_left = zero_goes_left(holds_zero == members_left, default_left);
            let (left, right, default_left) = if members_left {
                (right, left, !default_left)
            } else {
                (left, right, default_left)
            };
            Node::Categorical { feature, set, default_left, left, right, cover }
        }
        model::Node::Leaf { .. } | model::Node::LeafVector { .. } | model::Node::Deleted => {
            Node::Deleted
        }
    }
}

/// The threshold that exactly the values which go left are below, unless all go left.
fn below(comparison: Comparison, threshold: f64) -> Option<f32> {
    let nearest = threshold as f32;
    match comparison {
        Comparison::Less if f64::from(nearest) < threshold => Some(nearest.next_up()),
        Comparison::Less => Some(nearest),
        Comparison::LessOrEqual if f64::from(nearest) > threshold => Some(nearest),
        Comparison::LessOrEqual if nearest == f32::INFINITY => None,
        Comparison::LessOrEqual => Some(nearest.next_up()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_exact_for_every_neighbour() {
        let numbers =
            [0.0, -0.0, 1e-60, -1e-60, 0.1, 1.0, 1.0 + 1e-12, 3.4e38, 1e300, 2f64.powi(24) + 1.0];
        let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::from(f32::MAX), f64::from(f32::MIN)];
        for threshold in numbers.iter().flat_map(|number| [*number, -number]).chain(ends) {
            let near = threshold as f32;
            let ends = [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-45];
            for value in [near, near.next_up(), near.next_down()].into_iter().chain(ends) {
                for comparison in [Comparison::Less, Comparison::LessOrEqual] {
                    let left = below(comparison, threshold).is_none_or(|bound| value < bound);
                    let expected = comparison.holds(value, threshold);
                    assert_eq!(left, expected, "{value:e} {comparison:?} {threshold:e}");
                }
            }
        }
    }
}
