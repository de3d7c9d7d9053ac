//! The splits of one tree of an image as the kernel walks them.
//!
//! A split comes before those below it, the left ones first. Beside each lie numbers of every point: those
//! of the split's feature, whose product of shares on the path to the split is `r`, are
//! `tau = q / (r + q (1 - r))` and `omega = r / (r + q (1 - r))^2`. They are made for each call, which takes
//! as long as one or two rows do; nothing of them is kept.

use crate::eval::interleaved::NodeSections;
use crate::forest::records::{CATEGORICAL, Group, GroupKind};
use crate::forest::sections::{COMPACT_SHARES, LEAF_VALUES, Sections, WIDE_SHARES};
use crate::{Error, ErrorKind, Result};

/// The least product of shares.
const LEAST: f32 = 1e-30;

/// Which children of a split are leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
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
    /// 0 if the key is a set of categories.
    pub(super) factor: u32,
    /// The feature, by its place in [`Splits::features`].
    pub(super) feature: u32,
    pub(super) leaves: Leaves,
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
    /// A node, and the split that it is the right child of, if it is not a left one.
    Arrive {
        node: u32,
        depth: u32,
        right_of: Option<u32>,
    },
    Restore {
        place: u32,
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
pub(super) enum Node {
    Leaf(f64),
    Split(SplitNode),
}

#[derive(Clone, Copy)]
pub(super) struct SplitNode {
    pub(super) key: u32,
    pub(super) slot: u32,
    pub(super) factor: u32,
    pub(super) feature: u32,
    /// The left one first.
    pub(super) children: [u32; 2],
    pub(super) share: f32,
}

/// What adds nothing: of a damaged image, a split that is none when a walk arrives there.
const NOTHING: SplitNode =
    SplitNode { key: 0, slot: 0, factor: 1, feature: 0, children: [u32::MAX; 2], share: 0.5 };

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

    #[inline(always)]
    pub(super) fn get(&self, node: u32) -> Option<Node> {
        let at = node as usize;
        let (key, slot, right, kind) = match self.kind {
            GroupKind::Compact => {
                let node = self.nodes.compact.get(at)?;
                (node.key, node.slot.into(), node.right_offset.into(), 0)
            }
            GroupKind::Wide | GroupKind::Categorical => {
                let node = self.nodes.wide.get(at)?;
                (node.key, node.slot, node.right_offset, node.kind)
            }
        };
        if right == 0 {
            return Some(Node::Leaf(match self.leaf_values {
                [] => f64::from(f32::from_bits(key)),
                values => values.get(key as usize).copied().unwrap_or(0.0),
            }));
        }
        let feature = slot / 2;
        let (key, slot, factor) = match self.nodes.answered.get(at) {
            Some(answered) if self.kind == GroupKind::Categorical => {
                (answered.key, answered.slot, answered.factor)
            }
            _ if self.kind == GroupKind::Categorical && kind == CATEGORICAL => (key, slot, 0),
            _ => (key, slot, 1),
        };
        let share = self.shares.get(at).copied().unwrap_or(0.5);
        let children = [node.wrapping_add(right + 1), node.wrapping_add(right)];
        Some(Node::Split(SplitNode { key, slot, factor, feature, children, share }))
    }
}

/// A tree of an image.
#[derive(Clone, Copy)]
pub(super) struct TreeOf<'a> {
    pub(super) nodes: &'a Nodes<'a>,
    pub(super) root: u32,
    pub(super) mean: f64,
    /// No path has more splits.
    pub(super) depth: u32,
    /// No tree has more.
    pub(super) max_splits: usize,
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

    /// Takes a tree, for some points. A leaf takes the place of what an image says that is deeper, or more,
    /// than it can be.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(super) fn set(
        &mut self,
        tree: TreeOf<'_>,
        points: &Points,
        has_pairs: bool,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        self.clear();
        self.open.push(Step::Arrive { node: tree.root, depth: tree.depth, right_of: None });
        while let Some(step) = self.open.pop() {
            let (node, depth, right_of) = match step {
                Step::Arrive { node, depth, right_of } => (node, depth, right_of),
                Step::Restore { place, share } => {
                    if let Some(own) = self.shares.get_mut(place as usize) {
                        *own = share;
                    }
                    continue;
                }
            };
            let at = self.splits.len();
            if at.is_multiple_of(SPLITS_PER_CHECK) {
                check_interrupts();
                self.reserve(points, has_pairs)?;
            }
            if let Some(parent) = right_of.and_then(|parent| self.splits.get_mut(parent as usize)) {
                parent.right = at as u32;
            }
            let found = if self.is_in(&tree, depth) { tree.nodes.get(node) } else { None };
            let (split, place) = match found {
                Some(Node::Split(split)) => (split, self.place_of(split.feature)),
                Some(Node::Leaf(_)) | None => (NOTHING, None),
            };
            let (split, place) = match place {
                Some(place) => (split, place),
                None if at > 0 => (NOTHING, 0),
                None => return Ok(()),
            };
            let SplitNode { key, slot, factor, children, share, .. } = split;
            let before = self.shares.get(place as usize).copied().unwrap_or(1.0);
            let sides = [share, 1.0 - share].map(|share| (before * share).max(LEAST));
            self.add_numbers(points, has_pairs, before, sides);
            let [left, right] = children.map(|child| match tree.nodes.get(child) {
                Some(Node::Split(_)) if self.is_in(&tree, depth.saturating_sub(1)) => None,
                Some(Node::Leaf(value)) => Some(value - tree.mean),
                Some(Node::Split(_)) | None => Some(0.0),
            });
            let (leaves, value, mean) = match (left, right) {
                (None, None) => (Leaves::None, 0.0, 0.0),
                (Some(value), None) => (Leaves::Left, value, 0.0),
                (None, Some(value)) => (Leaves::Right, value, 0.0),
                (Some(left), Some(right)) => {
                    (Leaves::Both, left - right, right + f64::from(share) * (left - right))
                }
            };
            let (value, mean) = (value as f32, mean as f32);
            let (right_at, feature) = (0, place);
            self.splits.push(Split {
                key,
                slot,
                factor,
                feature,
                leaves,
                right: right_at,
                share,
                value,
                mean,
            });
            // In turn: the left side, the right side, and what was.
            self.open.push(Step::Restore { place, share: before });
            if right.is_none() {
                let right_of = Some(at as u32);
                self.open.push(Step::Arrive {
                    node: children[1],
                    depth: depth.saturating_sub(1),
                    right_of,
                });
                self.open.push(Step::Restore { place, share: sides[1] });
            }
            if left.is_none() {
                self.open.push(Step::Arrive {
                    node: children[0],
                    depth: depth.saturating_sub(1),
                    right_of: None,
                });
                self.open.push(Step::Restore { place, share: sides[0] });
            }
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Split>() * self.splits.capacity()
            + size_of::<f32>() * (self.numbers.capacity() + self.excess.capacity())
    }

    fn clear(&mut self) {
        for feature in self.features.drain(..) {
            if let Some(place) = self.places.get_mut(feature as usize) {
                *place = NONE;
            }
        }
        self.shares.clear();
        self.splits.clear();
        self.numbers.clear();
        self.excess.clear();
        self.open.clear();
    }

    /// Whether there can be a split, with so many levels left.
    #[inline(always)]
    fn is_in(&self, tree: &TreeOf<'_>, depth: u32) -> bool {
        depth > 0 && self.splits.len() < tree.max_splits
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
    fn place_of(&mut self, feature: u32) -> Option<u32> {
        let next = self.features.len() as u32;
        let place = self.places.get_mut(feature as usize)?;
        if *place == NONE {
            *place = next;
            self.features.push(feature);
            self.shares.push(1.0);
        }
        Some(*place)
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
