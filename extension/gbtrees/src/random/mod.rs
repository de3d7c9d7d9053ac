//! What random models and rows for tests are made from: numbers that follow from a seed, a shape, and the
//! rules of a library other than XGBoost.

pub(crate) mod model;

use crate::ensemble::{
    Comparison, Ensemble, MissingRule, Node, Precision, Scaling, Split, SplitCondition, Tree,
    TreeOutput,
};

/// A small generator of pseudo-random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) features: usize,
    pub(crate) outputs: usize,
    pub(crate) trees: usize,
    pub(crate) depth: u32,
    /// One tree in this many has categorical splits; 0 for none.
    pub(crate) categorical: usize,
    /// Whether it uses what XGBoost's models do not.
    pub(crate) any_library: bool,
}

impl Shape {
    /// A shape with what XGBoost's models have, and numerical splits alone.
    pub(crate) const fn of(features: usize, outputs: usize, trees: usize, depth: u32) -> Shape {
        Shape { features, outputs, trees, depth, categorical: 0, any_library: false }
    }
}

/// The rules of one library.
pub(crate) struct Library {
    pub(crate) value_precision: Precision,
    pub(crate) sum_precision: Precision,
    pub(crate) scaling: Scaling,
    /// Whether thresholds lie closer together than f32 do.
    close: bool,
    /// Whether odd features are codes and even ones numbers.
    two_kinds: bool,
    zero_missing: Vec<bool>,
}

impl Library {
    pub(crate) fn of(random: &mut Random, shape: Shape) -> Library {
        let (mut value_precision, mut sum_precision) = (Precision::Single, Precision::Single);
        let mut scaling = Scaling::default();
        let mut two_kinds = false;
        let mut zero_missing = vec![false; shape.features];
        if shape.any_library {
            let either = |one: bool| if one { Precision::Double } else { Precision::Single };
            (value_precision, sum_precision) = (either(random.one_in(2)), either(random.one_in(2)));
            if random.one_in(2) {
                scaling.scale = [1.0, 0.3][random.below(2)];
                scaling.divisor = [1.0, 7.0][random.below(2)];
                scaling.in_margin = random.one_in(2);
                if random.one_in(2) {
                    scaling.bias = (0..shape.outputs).map(|output| 0.1 * output as f64).collect();
                }
            }
            two_kinds = value_precision == Precision::Double || random.one_in(2);
            zero_missing.iter_mut().for_each(|missing| *missing = two_kinds && random.one_in(3));
        }
        let close = random.one_in(2);
        Library { value_precision, sum_precision, scaling, close, two_kinds, zero_missing }
    }

    /// The same tree with rules that XGBoost does not have.
    pub(crate) fn tree(&self, mut tree: Tree, random: &mut Random, shape: Shape) -> Tree {
        tree.weight = [1.0, 0.3, -2.5, 1e-3][random.below(4)];
        let vectors = random.one_in(3);
        if vectors {
            tree.output = TreeOutput::All;
        }
        for node in &mut tree.nodes {
            match node {
                Node::Leaf { cover, .. } if vectors => {
                    let vector = (tree.leaf_vectors.len() / shape.outputs) as u32;
                    tree.leaf_vectors.extend((0..shape.outputs).map(|_| self.leaf(random)));
                    *node = Node::LeafVector { vector, cover: *cover };
                }
                Node::Leaf { value, .. } if random.one_in(2) => *value = self.leaf(random),
                Node::Split(split) => self.split(split, random, shape),
                Node::Leaf { .. } | Node::LeafVector { .. } | Node::Deleted => {}
            }
        }
        tree
    }

    fn leaf(&self, random: &mut Random) -> f64 {
        let value = random.below(999) as f64 / 77.0 - 6.0;
        match self.sum_precision {
            Precision::Single => f64::from(value as f32),
            Precision::Double => value,
        }
    }

    fn split(&self, split: &mut Split, random: &mut Random, shape: Shape) {
        let Split { feature, condition, .. } = split;
        if let SplitCondition::InSet { .. } = condition
            && self.two_kinds
            && *feature | 1 == shape.features as u32
        {
            let (comparison, missing) = (Comparison::Less, MissingRule::Nan);
            *condition = SplitCondition::Compare { comparison, threshold: 0.5, missing };
        }
        match condition {
            SplitCondition::InSet { members_left, .. } => {
                *members_left = random.one_in(2);
                *feature |= u32::from(self.two_kinds);
            }
            SplitCondition::Compare { comparison, threshold, missing } => {
                if self.two_kinds {
                    *feature &= !1;
                }
                let zero_missing = self.zero_missing.get(*feature as usize) == Some(&true);
                *missing = match random.below(2) {
                    _ if zero_missing => MissingRule::Zero,
                    0 => MissingRule::Nan,
                    _ => MissingRule::None,
                };
                self.threshold(comparison, threshold, random);
            }
        }
    }

    fn threshold(&self, comparison: &mut Comparison, threshold: &mut f64, random: &mut Random) {
        if !self.close {
            // One threshold, and one cut, between any two neighbouring f32.
            let next = f64::from((*threshold as f32).next_up());
            *comparison = Comparison::LessOrEqual;
            *threshold += if next.is_finite() { 0.3 * (next - *threshold) } else { 0.0 };
            return;
        }
        if random.one_in(2) {
            *comparison = Comparison::LessOrEqual;
        }
        *threshold = match random.below(16) {
            0 => [f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300][random.below(4)],
            1 => [1e-60, -1e-60, 1e-35, -1e-35][random.below(4)],
            2..6 => threshold.next_up(),
            6..10 => threshold.next_down(),
            _ => *threshold,
        };
    }
}

/// How the leaf to be split next is chosen.
#[derive(Clone, Copy)]
enum Growth {
    Any,
    /// The newest left child, or the newest right one: a chain.
    Left,
    Right,
    /// Left and right in turn: a chain whose operations alternate.
    Turns,
    /// Mostly the newest.
    Deep,
}

/// The same model with trees of 1 to `leaves` leaves, which have the splits that the trees had.
pub(crate) fn leaf_wise(seed: u64, mut model: Ensemble, leaves: usize) -> Ensemble {
    let mut random = Random(seed);
    let outputs = model.num_outputs();
    for tree in &mut model.trees {
        let splits = tree.nodes.iter().filter(|node| node.children().is_some()).copied();
        let splits: Vec<Node> = splits.collect();
        let count = match random.below(4) {
            _ if splits.is_empty() => 1,
            0 => 1 + random.below(leaves),
            1 => leaves,
            _ => leaves - random.below(1 + leaves / 4),
        };
        let growths = [Growth::Any, Growth::Left, Growth::Right, Growth::Turns, Growth::Deep];
        let growth = growths[[0, 0, 4, 4, random.below(5)][random.below(5)]];
        grow(tree, &splits, count, growth, &mut random);
        let vectors = tree.output == TreeOutput::All;
        tree.leaf_vectors.clear();
        for node in &mut tree.nodes {
            if let Node::Leaf { value, cover } = *node
                && vectors
            {
                let vector = (tree.leaf_vectors.len() / outputs) as u32;
                tree.leaf_vectors.extend((0..outputs).map(|output| value - output as f64));
                *node = Node::LeafVector { vector, cover };
            }
        }
    }
    model
}

fn grow(tree: &mut Tree, splits: &[Node], count: usize, growth: Growth, random: &mut Random) {
    let leaf = |random: &mut Random| Node::Leaf {
        value: random.below(4000) as f64 / 1024.0 - 2.0,
        cover: 1.0 + random.below(100) as f32,
    };
    tree.nodes = vec![leaf(random)];
    let mut open = vec![(0usize, 0u32)];
    tree.depth = 0;
    while open.len() < count {
        let newest = open.len() - 1;
        let chosen = match growth {
            Growth::Any => random.below(open.len()),
            Growth::Left => newest.saturating_sub(1),
            Growth::Right => newest,
            Growth::Turns if open.len() % 2 == 0 => newest.saturating_sub(1),
            Growth::Turns => newest,
            Growth::Deep => newest - random.below(open.len().min(3)),
        };
        let (id, depth) = open.remove(chosen);
        let children = [tree.nodes.len(), tree.nodes.len() + 1];
        tree.nodes.extend([leaf(random), leaf(random)]);
        let mut node = splits[random.below(splits.len())];
        if let Node::Split(split) = &mut node {
            [split.left, split.right] = children.map(|child| child as u32);
        }
        tree.nodes[id] = node;
        open.extend(children.map(|child| (child, depth + 1)));
        tree.depth = tree.depth.max(depth + 1);
    }
}
