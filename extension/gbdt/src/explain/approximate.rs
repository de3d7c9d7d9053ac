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
    Below { tree, contributions, count }.mean(tree.root(), true)
}

struct Below<'a, T> {
    tree: &'a T,
    contributions: &'a mut [f64],
    count: &'a mut dyn FnMut(),
}

impl<T: Explained> Below<'_, T> {
    fn mean(&mut self, node: usize, taken: bool) -> f64 {
        let (feature, children) = match self.tree.step(node) {
            Step::Leaf(value) => return value,
            Step::Split { feature, children } => (feature, children),
        };
        (self.count)();
        let means = children.map(|child| self.mean(child.node, taken && child.taken));
        let [left, right] = children;
        let mean = left.share * means[0] + right.share * means[1];
        if taken {
            self.contributions[feature] += if left.taken { means[0] } else { means[1] } - mean;
        }
        mean
    }
}
