//! Approximate contributions, as Saabas has them: along a row's path the mean of the leaves below
//! changes from split to split, and each split's feature has the change.
//!
//! XGBoost: `CalculateContributionsApprox` in src/predictor/cpu_treeshap.cc of release 3.2.

use super::nodes::{Explained, Step};

/// Adds a tree's contributions; returns the mean of its leaves. `count` is called with every split.
pub(super) fn add(
    tree: &impl Explained,
    contributions: &mut [f64],
    count: &mut dyn FnMut(),
) -> f64 {
    let mut nodes_left = tree.num_nodes();
    let mut below = Below { tree, contributions, count, nodes_left: &mut nodes_left };
    below.mean(tree.root(), tree.depth(), true)
}

struct Below<'a, T> {
    tree: &'a T,
    contributions: &'a mut [f64],
    count: &'a mut dyn FnMut(),
    /// A damaged image may lead to a node twice, and never to more than there are.
    nodes_left: &'a mut usize,
}

impl<T: Explained> Below<'_, T> {
    fn mean(&mut self, node: usize, depth: u32, taken: bool) -> f64 {
        let (feature, children) = match self.tree.step(node) {
            Step::Leaf(value) => return value,
            Step::Split { .. } if depth == 0 || *self.nodes_left == 0 => return 0.0,
            Step::Split { feature, children } => (feature, children),
        };
        *self.nodes_left -= 1;
        (self.count)();
        let means = children.map(|child| self.mean(child.node, depth - 1, taken && child.taken));
        let [left, right] = children;
        let mean = left.share * means[0] + right.share * means[1];
        if let Some(contribution) = self.contributions.get_mut(feature).filter(|_| taken) {
            *contribution += if left.taken { means[0] } else { means[1] } - mean;
        }
        mean
    }
}
