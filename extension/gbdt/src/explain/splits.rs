//! The splits of one tree of an image as the kernel walks them.
//!
//! A split comes before those below it, the left ones first. Beside each lie numbers of every point: those
//! of the split's feature, whose product of shares on the path to the split is `r`, are
//! `tau = q / (r + q (1 - r))` and `omega = r / (r + q (1 - r))^2`. They are made for each call, which takes
//! as long as one or two rows do; nothing of them is kept.

#![allow(unsafe_code, reason = "reads nodes that the image's check has vouched for")]

use crate::eval::interleaved::NodeSections;
use crate::forest::records::{CATEGORICAL, CompactNode, Group, GroupKind, WideNode};
use crate::forest::sections::{COMPACT_SHARES, LEAF_VALUES, Sections, WIDE_SHARES};
use crate::{Error, ErrorKind, Result, verified};

/// The least product of shares.
const LEAST: f32 = 1e-30;

/// Which children of a split are leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Leaves {
    None,
    Left,
    Right,
    Both,
}

/// A split; values of leaves are those beyond the mean of the tree.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Split {
    /// What decides: see [`crate::forest::records::AnswerNode`].
    pub(super) key: u32,
    pub(super) slot: u32,
    pub(super) factor: u32,
    /// The feature, by its place in [`Splits::features`].
    pub(super) feature: u32,
    pub(super) leaves: Leaves,
    /// Whether the key is a set of categories.
    pub(super) is_set: bool,
    /// Where the split on the right is, if it is one. One on the left is the next.
    pub(super) right: u32,
    /// Of the training rows, the part that went left.
    pub(super) share: f32,
    /// The value of the only leaf; of two leaves, the left one's less the right one's.
    pub(super) value: f32,
    /// The mean of two leaves.
    pub(super) mean: f32,
}

/// Points of quadrature, and their weights.
#[derive(Default)]
pub(super) struct Points {
    pub(super) points: Vec<f32>,
    pub(super) weights: Vec<f32>,
}

#[derive(Default)]
pub(super) struct Splits {
    pub(super) splits: Vec<Split>,
    /// For each split its `tau` at every point, then its `omega`.
    pub(super) numbers: Vec<f32>,
    /// If there are pairs, for each split what a row that takes its left side has as `(1 - r) / g` at every
    /// point, then the same of its right side.
    pub(super) excess: Vec<f32>,
    /// The features of the tree's splits.
    pub(super) features: Vec<u32>,
    /// By feature of the model, its place among those; and the product of its shares on the path.
    places: Vec<u32>,
    shares: Vec<f32>,
    open: Vec<Step>,
}

/// No place.
const NONE: u32 = u32::MAX;

enum Step {
    /// At a split, with so many levels left, and the split that it is the right child of, if it is one.
    Arrive {
        split: SplitNode,
        depth: u32,
        right_of: Option<usize>,
    },
    Restore {
        place: usize,
        share: f32,
    },
}

/// The nodes of one kind, with what explanations read beside them.
pub(super) struct Nodes<'a> {
    nodes: NodeSections<'a>,
    shares: &'a [f32],
    leaf_values: &'a [f64],
    kind: GroupKind,
}

/// A node of an image.
#[derive(Clone, Copy)]
enum Node {
    Leaf(f64),
    Split(SplitNode),
}

#[derive(Clone, Copy)]
struct SplitNode {
    key: u32,
    slot: u32,
    factor: u32,
    is_set: bool,
    feature: u32,
    /// The left one first.
    children: [u32; 2],
    share: f32,
}

impl<'a> Nodes<'a> {
    /// Those of a group.
    pub(super) fn of(image: Sections<'a>, group: &Group) -> Self {
        let shares = match group.kind {
            GroupKind::Compact => image.get(COMPACT_SHARES),
            GroupKind::Wide | GroupKind::Categorical => image.get(WIDE_SHARES),
        };
        let (nodes, leaf_values) = (NodeSections::of(image), image.get(LEAF_VALUES));
        Nodes { nodes, shares, leaf_values, kind: group.kind }
    }

    /// # Safety
    /// The node is a root of the group's, or a child of a split of its trees.
    #[inline(always)]
    unsafe fn get(&self, node: u32) -> Node {
        let at = node as usize;
        // SAFETY: `forest::verify` found roots and children to be nodes, with one share per node, the keys of
        // leaves to have values, and a node of answers for each wide one if there are any.
        let (record, share) = unsafe {
            let record = match self.kind {
                GroupKind::Compact => {
                    let CompactNode { key, slot, right_offset } =
                        *verified::at(self.nodes.compact, at, "links lead to nodes");
                    let (slot, right_offset) = (slot.into(), right_offset.into());
                    WideNode { key, slot, right_offset, kind: 0 }
                }
                GroupKind::Wide | GroupKind::Categorical => {
                    *verified::at(self.nodes.wide, at, "links lead to nodes")
                }
            };
            (record, *verified::at(self.shares, at, "each node has a share"))
        };
        let WideNode { key, slot, right_offset, kind } = record;
        if right_offset == 0 {
            return Node::Leaf(match self.leaf_values {
                [] => f64::from(f32::from_bits(key)),
                // SAFETY: as above.
                values => unsafe { *verified::at(values, key as usize, "each leaf has a value") },
            });
        }
        let is_categorical = self.kind == GroupKind::Categorical;
        let feature = slot / 2;
        let (key, slot, factor, is_set) = match self.nodes.answered {
            [_, ..] if is_categorical => {
                // SAFETY: as above.
                let node = unsafe { verified::at(self.nodes.answered, at, "answers are of nodes") };
                (node.key, node.slot, node.factor, false)
            }
            _ => (key, slot, 1, is_categorical && kind == CATEGORICAL),
        };
        let children = [node + right_offset + 1, node + right_offset];
        Node::Split(SplitNode { key, slot, factor, is_set, feature, children, share })
    }
}

/// A tree of an image.
#[derive(Clone, Copy)]
pub(super) struct TreeOf<'a> {
    /// Those of its group.
    pub(super) nodes: &'a Nodes<'a>,
    pub(super) root: u32,
    pub(super) mean: f64,
    /// No path has more splits.
    pub(super) depth: u32,
}

impl Splits {
    /// Makes ready for trees of so many features.
    pub(super) fn begin(&mut self, num_features: usize) -> Result<()> {
        self.clear();
        if self.places.len() != num_features {
            refill(&mut self.places, num_features, NONE)?;
        }
        Ok(())
    }

    /// Takes a tree, for some points.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`]; [`ErrorKind::Internal`] if a path is longer than the depth, which is a bug.
    pub(super) fn set(
        &mut self,
        tree: TreeOf<'_>,
        points: &Points,
        has_pairs: bool,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        self.clear();
        // SAFETY: it is the root.
        let Node::Split(split) = (unsafe { tree.nodes.get(tree.root) }) else { return Ok(()) };
        self.open.push(Step::Arrive { split, depth: tree.depth, right_of: None });
        while let Some(step) = self.open.pop() {
            let (split, depth, right_of) = match step {
                Step::Arrive { split, depth, right_of } => (split, depth, right_of),
                Step::Restore { place, share } => {
                    self.shares[place] = share;
                    continue;
                }
            };
            let at = self.splits.len();
            if at.is_multiple_of(SPLITS_PER_CHECK) {
                check_interrupts();
                self.reserve(points, has_pairs)?;
            }
            if let Some(parent) = right_of {
                self.splits[parent].right = at as u32;
            }
            let depth =
                verified::known(depth.checked_sub(1), "no path is longer than its group's")?;
            self.add(&tree, split, depth, points, has_pairs);
        }
        Ok(())
    }

    /// Adds a split, and its children that are splits to what is open.
    #[inline(always)]
    fn add(
        &mut self,
        tree: &TreeOf<'_>,
        split: SplitNode,
        depth: u32,
        points: &Points,
        has_pairs: bool,
    ) {
        let SplitNode { key, slot, factor, is_set, feature, children, share } = split;
        let (at, place) = (self.splits.len(), self.place_of(feature));
        let before = self.shares[place];
        let sides = [share, 1.0 - share].map(|share| (before * share).max(LEAST));
        self.add_numbers(points, has_pairs, before, sides);
        // In turn: the left side, the right side, and what was.
        self.open.push(Step::Restore { place, share: before });
        // SAFETY: they are children of a split.
        let [left, right] = children.map(|child| unsafe { tree.nodes.get(child) });
        if let Node::Split(split) = right {
            self.open.push(Step::Arrive { split, depth, right_of: Some(at) });
            self.open.push(Step::Restore { place, share: sides[1] });
        }
        if let Node::Split(split) = left {
            self.open.push(Step::Arrive { split, depth, right_of: None });
            self.open.push(Step::Restore { place, share: sides[0] });
        }
        let (leaves, value, mean) = match (left, right) {
            (Node::Split(_), Node::Split(_)) => (Leaves::None, 0.0, 0.0),
            (Node::Leaf(value), Node::Split(_)) => (Leaves::Left, value - tree.mean, 0.0),
            (Node::Split(_), Node::Leaf(value)) => (Leaves::Right, value - tree.mean, 0.0),
            (Node::Leaf(left), Node::Leaf(right)) => {
                let difference = left - right;
                (Leaves::Both, difference, right - tree.mean + f64::from(share) * difference)
            }
        };
        let (value, mean, feature, right) = (value as f32, mean as f32, place as u32, 0);
        self.splits.push(Split {
            key,
            slot,
            factor,
            feature,
            leaves,
            is_set,
            right,
            share,
            value,
            mean,
        });
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Split>() * self.splits.capacity()
            + size_of::<f32>() * (self.numbers.capacity() + self.excess.capacity())
    }

    fn clear(&mut self) {
        for feature in self.features.drain(..) {
            self.places[feature as usize] = NONE;
        }
        self.shares.clear();
        self.splits.clear();
        self.numbers.clear();
        self.excess.clear();
        self.open.clear();
    }

    /// Makes room for the next splits.
    fn reserve(&mut self, points: &Points, has_pairs: bool) -> Result<()> {
        let numbers = 2 * points.points.len() * SPLITS_PER_CHECK;
        self.splits
            .try_reserve(SPLITS_PER_CHECK)
            .and_then(|()| self.numbers.try_reserve(numbers))
            .and_then(|()| self.excess.try_reserve(if has_pairs { numbers } else { 0 }))
            .map_err(|_| Error::new(ErrorKind::OutOfMemory, "out of memory for a tree"))
    }

    #[inline(always)]
    fn place_of(&mut self, feature: u32) -> usize {
        let place = &mut self.places[feature as usize];
        if *place == NONE {
            *place = self.features.len() as u32;
            self.features.push(feature);
            self.shares.push(1.0);
        }
        *place as usize
    }

    #[inline(always)]
    fn add_numbers(&mut self, points: &Points, has_pairs: bool, before: f32, sides: [f32; 2]) {
        let inverse = |share: f32, q: f32| 1.0 / (share + q * (1.0 - share));
        let points = &points.points;
        self.numbers.extend(points.iter().map(|q| q * inverse(before, *q)));
        self.numbers.extend(points.iter().map(|q| {
            let inverse = inverse(before, *q);
            before * inverse * inverse
        }));
        if has_pairs {
            for share in sides {
                self.excess.extend(points.iter().map(|q| (1.0 - share) * inverse(share, *q)));
            }
        }
    }
}

/// Splits between two looks for interrupts.
const SPLITS_PER_CHECK: usize = 1 << 12;

/// Makes them so many, all of that value, or an error where there is no memory.
pub(super) fn refill<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    values.clear();
    values.try_reserve_exact(count).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("out of memory for {count} contributions"))
    })?;
    values.resize(count, value);
    Ok(())
}
