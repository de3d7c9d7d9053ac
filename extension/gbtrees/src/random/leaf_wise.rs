//! Random trees as LightGBM grows them, leaf by leaf without a limit on depth, and the worst of them.

use crate::ensemble::{Ensemble, Node, Tree, TreeOutput};
use crate::random::Random;

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
