//! Random models and rows for tests: valid, but as awkward as a checked model can be.
//!
//! Everything derives from a seed, which reproduces a failure. Trees are unbalanced, with freed ids,
//! children in any order, and several outputs; thresholds come from few values, so that rows hit them
//! exactly. Models of "any library" have both comparisons, thresholds between and beyond f32 numbers,
//! all rules for missing values, sets of either direction, leaf vectors and weights.

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::ensemble::{
    Categories, CategorySet, ClassBy, Comparison, Ensemble, EnsembleParts, FeatureType, LinearLeaf,
    MissingRule, Node, Objective, Precision, Scaling, Split, SplitCondition, Task, Transform, Tree,
    TreeOutput,
};

/// Returns the factor by which `make test-long` enlarges tests.
pub(crate) fn times() -> usize {
    std::env::var("PGBOOST_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// A pseudo-random number generator (splitmix64).
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
    /// One tree in `categorical` has categorical splits; 0 for none.
    pub(crate) categorical: usize,
    /// Whether to use properties that XGBoost's models lack.
    pub(crate) any_library: bool,
}

impl Shape {
    /// Creates a shape of XGBoost's models with numerical splits only.
    pub(crate) const fn of(features: usize, outputs: usize, trees: usize, depth: u32) -> Shape {
        Shape { features, outputs, trees, depth, categorical: 0, any_library: false }
    }
}

/// The rules of a library.
pub(crate) struct Library {
    pub(crate) value_precision: Precision,
    pub(crate) sum_precision: Precision,
    pub(crate) scaling: Scaling,
    /// Whether thresholds are closer together than f32 numbers.
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

    /// Applies rules that XGBoost lacks to a tree.
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
        self.sum_precision.rounded(value)
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
            // One threshold, or one cut, between neighbouring f32 numbers.
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

/// The choice of the next leaf to split.
#[derive(Clone, Copy)]
enum Growth {
    Any,
    /// Always the newest left or right child: a chain.
    Left,
    Right,
    /// Alternately left and right: a chain of alternating operations.
    Turns,
    /// Mostly the newest.
    Deep,
}

/// Regrows the trees to 1 to `leaves` leaves, with splits of the original trees.
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
        tree.leaf_vectors.clear();
        if tree.output == TreeOutput::All {
            put_vectors(tree, outputs);
        }
    }
    model
}

/// Gives the leaves of each tree a value per output.
pub(crate) fn with_vectors(mut model: Ensemble) -> Ensemble {
    let outputs = model.num_outputs();
    for tree in model.trees.iter_mut().filter(|tree| tree.output != TreeOutput::All) {
        tree.output = TreeOutput::All;
        put_vectors(tree, outputs);
    }
    model
}

/// Makes vectors of leaves with a value.
fn put_vectors(tree: &mut Tree, outputs: usize) {
    for node in &mut tree.nodes {
        if let Node::Leaf { value, cover } = *node {
            let vector = (tree.leaf_vectors.len() / outputs) as u32;
            tree.leaf_vectors.extend((0..outputs).map(|output| value - output as f64));
            *node = Node::LeafVector { vector, cover };
        }
    }
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

/// Numbers likely to break floating-point comparisons.
const AWKWARD: [f32; 14] = [
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    1.0,
    -1.0,
    0.1,
    16_777_215.0,
    16_777_216.0,
    33.0,
];

fn finite(random: &mut Random) -> f32 {
    match random.below(4) {
        0 => AWKWARD[random.below(AWKWARD.len())],
        1 => random.below(20) as f32 - 10.0,
        2 => (random.below(2000) as f32 - 1000.0) / 256.0,
        _ => {
            let number = f32::from_bits(random.next() as u32);
            if number.is_finite() { number } else { 1.5 }
        }
    }
}

/// Creates a linear model.
pub(crate) fn linear(seed: u64, features: usize, outputs: usize) -> Ensemble {
    let mut random = Random(seed);
    let coefficients = (0..(features + 1) * outputs).map(|_| finite(&mut random)).collect();
    Ensemble { coefficients, ..model(seed, Shape::of(features, outputs, 0, 0)) }
}

/// Adds linear models to the leaves of half of the trees, and sums in f64.
pub(crate) fn with_linear_leaves(seed: u64, mut model: Ensemble) -> Ensemble {
    let mut random = Random(seed);
    model.parts.sum_precision = Precision::Double;
    model.parts.base_margin.fill(0.0);
    let features = model.parts.num_features;
    for tree in &mut model.trees {
        if tree.output == TreeOutput::All || random.one_in(2) {
            continue;
        }
        let mut number = || f64::from(finite(&mut random)) / 3.0;
        tree.weight = 1.0;
        let leaf = |_| LinearLeaf { constant: number(), terms: vec![(0, number()); 3] };
        tree.linear_leaves = (0..tree.nodes.len()).map(leaf).collect();
        for leaf in &mut tree.linear_leaves {
            leaf.terms.truncate(random.below(4));
            leaf.terms.iter_mut().for_each(|term| term.0 = random.below(features) as u32);
        }
    }
    model
}

pub(crate) fn model(seed: u64, shape: Shape) -> Ensemble {
    let mut random = Random(seed);
    let library = Library::of(&mut random, shape);
    let trees: Vec<Tree> = (0..shape.trees)
        .map(|_| {
            let categorical = shape.categorical > 0 && random.one_in(shape.categorical);
            let tree = tree(&mut random, shape, categorical);
            if shape.any_library { library.tree(tree, &mut random, shape) } else { tree }
        })
        .collect();
    let task = if shape.outputs > 1 { Task::Multiclass } else { Task::Binary };
    let transform = if shape.outputs > 1 { Transform::Softmax } else { Transform::Logistic };
    let starts = if library.sum_precision == Precision::Single { 64 } else { 1 };
    let parts = EnsembleParts {
        format: "test",
        version: [3, 4, 1],
        objective: Objective {
            name: "test".into(),
            transform,
            slope: 1.0,
            task,
            class_by: ClassBy::Value,
            class_threshold: if shape.outputs > 1 { 0.0 } else { 0.5 },
            levels: Vec::new(),
        },
        value_precision: library.value_precision,
        sum_precision: library.sum_precision,
        scaling: library.scaling,
        base_score: vec![0.5; shape.outputs],
        base_margin: (0..shape.outputs).map(|_| random.below(starts) as f32 / 64.0).collect(),
        num_features: shape.features,
        feature_names: (0..shape.features).map(|feature| format!("feature é {feature}")).collect(),
        feature_types: vec![FeatureType::Numerical; shape.features],
        categories: vec![None; shape.features],
        ranks: Vec::new(),
        class_labels: Vec::new(),
        attributes: Vec::new(),
    };
    Ensemble {
        parts,
        real_input: crate::ensemble::RealInput::Decimal,
        array_categories: crate::ensemble::ArrayCategories::Values,
        round_starts: vec![0, shape.trees as u32],
        trees,
        unknown_codes: Vec::new(),
        coefficients: Vec::new(),
        ctrs: Default::default(),
    }
}

/// Makes the trees symmetric: each level repeats one of the tree's splits.
pub(crate) fn symmetric(seed: u64, mut model: Ensemble) -> Ensemble {
    let mut random = Random(seed);
    for tree in &mut model.trees {
        let splits = tree.nodes.iter().filter(|node| node.children().is_some()).copied();
        let most = if random.one_in(6) { 13 } else { 8 };
        let levels: Vec<Node> = splits.take(1 + random.below(most)).collect();
        let leaf = |_| Node::Leaf { value: random.below(4000) as f64 / 1024.0, cover: 0.0 };
        let inner = (1u32 << levels.len()) - 1;
        let node = |id: u32| {
            let mut node = levels[(id + 1).ilog2() as usize];
            if let Node::Split(split) = &mut node {
                (split.left, split.right) = (2 * id + 1, 2 * id + 2);
            }
            node
        };
        tree.nodes = (0..inner).map(node).chain((inner..2 * inner + 1).map(leaf)).collect();
        tree.leaf_vectors.clear();
        tree.output = TreeOutput::One(0);
        (tree.depth, tree.first_leaf) = (levels.len() as u32, inner);
    }
    model
}

/// Adds dictionaries of all three kinds, as far as there are features.
pub(crate) fn with_categories(mut model: Ensemble) -> Ensemble {
    let dictionaries = [
        Categories::Text(["Zürich", "", "Aachen", "aachen"].map(String::from).to_vec()),
        Categories::Integer(vec![7, -3, i64::MAX, 0]),
        Categories::Float(vec![1.5, -0.0, f64::INFINITY, -2.0]),
    ];
    for (feature, dictionary) in dictionaries.into_iter().enumerate() {
        if let Some(place) = model.parts.categories.get_mut(feature) {
            *place = Some(dictionary);
            model.parts.feature_types[feature] = FeatureType::Categorical;
        }
    }
    model
}

impl Tree {
    /// Creates a tree for output 0 with XGBoost's properties.
    pub(crate) fn of(nodes: Vec<Node>, depth: u32) -> Tree {
        Tree { depth, ..Tree::unchecked(nodes, TreeOutput::One(0)) }
    }
}

impl Node {
    /// Creates a numerical split with XGBoost's rules.
    pub(crate) fn numerical(
        feature: u32,
        threshold: f64,
        default_left: bool,
        [left, right]: [u32; 2],
        gain: f32,
        cover: f32,
    ) -> Node {
        let (comparison, missing) = (Comparison::Less, MissingRule::Nan);
        let condition = SplitCondition::Compare { comparison, threshold, missing };
        Node::Split(Split { feature, condition, default_left, left, right, gain, cover })
    }
}

fn tree(random: &mut Random, shape: Shape, categorical: bool) -> Tree {
    let mut tree = Tree::of(vec![Node::Deleted], 0);
    tree.output = TreeOutput::One(random.below(shape.outputs) as u32);
    // Nodes to fill: id and depth.
    let mut open = vec![(0usize, 0u32)];
    while let Some((id, depth)) = open.pop() {
        tree.depth = tree.depth.max(depth);
        // Full near the root, ragged below.
        let leaf =
            depth >= shape.depth || (depth > 1 && random.one_in(6)) || tree.nodes.len() > 4000;
        if leaf {
            let value = match random.below(8) {
                0 => 0.0,
                1 => -0.0,
                2 => f64::from(1e-45f32),
                _ => (random.below(4000) as f64 - 2000.0) / 1024.0,
            };
            tree.nodes[id] = Node::Leaf { value, cover: random.below(100) as f32 };
            continue;
        }
        if random.one_in(5) {
            tree.nodes.push(Node::Deleted);
        }
        let mut child = || {
            tree.nodes.push(Node::Deleted);
            tree.nodes.len() - 1
        };
        let mut children = [child(), child()];
        if random.one_in(3) {
            children.swap(0, 1);
        }
        open.extend(children.map(|child| (child, depth + 1)));
        let [left, right] = children.map(|child| child as u32);
        let feature = random.below(shape.features) as u32;
        let default_left = random.one_in(2);
        let gain = random.below(1000) as f32 / 7.0;
        let cover = random.below(1000) as f32 / 3.0;
        tree.nodes[id] = if categorical && random.one_in(2) {
            // Mostly a few words, sometimes more than a table of codes has.
            let most = if random.one_in(16) { 40 } else { 4 };
            let words = (0..random.below(most)).map(|_| random.next() as u32).collect();
            tree.category_sets.push(CategorySet { words });
            let set = tree.category_sets.len() as u32 - 1;
            let condition = SplitCondition::InSet { set, members_left: false };
            Node::Split(Split { feature, condition, default_left, left, right, gain, cover })
        } else {
            let threshold = f64::from(finite(random));
            Node::numerical(feature, threshold, default_left, [left, right], gain, cover)
        };
    }
    tree
}

/// Creates rows of the model's thresholds, their neighbours in both widths, and special values.
pub(crate) fn rows(seed: u64, model: &Ensemble, count: usize) -> Vec<Vec<f64>> {
    let mut random = Random(seed);
    let thresholds: Vec<f64> = model
        .trees()
        .iter()
        .flat_map(|tree| tree.nodes())
        .filter_map(|node| match node {
            Node::Split(Split { condition: SplitCondition::Compare { threshold, .. }, .. }) => {
                Some(*threshold)
            }
            _ => None,
        })
        .collect();
    let mut value = || match random.below(8) {
        0 => f64::NAN,
        1 => [f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, 1e300][random.below(4)],
        2 if random.one_in(4) => {
            let zero = f64::from(MissingRule::ZERO);
            let near = [zero, zero.next_up(), zero.next_down(), 1.0001e-35, 1e-36, 1e-300];
            near[random.below(6)] * [1.0, -1.0][random.below(2)]
        }
        2 => {
            let end = [130, 130, 1300][random.below(3)];
            random.below(end) as f64 - 2.5 + [0.0, 0.500_000_001][random.below(2)]
        }
        3..7 if !thresholds.is_empty() => {
            let threshold = thresholds[random.below(thresholds.len())];
            let single = threshold as f32;
            let singles = [single, single.next_up(), single.next_down()].map(f64::from);
            let doubles = [threshold, threshold.next_up(), threshold.next_down()];
            [singles, doubles][random.below(2)][random.below(3)]
        }
        _ => f64::from(finite(&mut random)),
    };
    (0..count).map(|_| (0..model.num_features()).map(|_| value()).collect()).collect()
}

/// Returns rows in a compiled model's layout.
pub(crate) fn narrowed(
    compiled: &CompiledModel<impl StableBytes>,
    rows: &[Vec<f64>],
) -> Vec<Vec<f32>> {
    let narrowed = |row: &Vec<f64>| {
        let mut narrowed = vec![0.0; compiled.row_length()];
        compiled.narrow_row(row, &mut narrowed);
        narrowed
    };
    rows.iter().map(narrowed).collect()
}
