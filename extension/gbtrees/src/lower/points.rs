//! Precomputed data for explanations: the mean of each tree's leaves, and its number of quadrature
//! points.
//!
//! Contributions are integrals of polynomials whose degree is the number of a path's features minus
//! one, so half as many points as features are exact. Beyond [`EXACT`] features, fewer points are as
//! accurate in f32 for realistic shares, since leading coefficients are products of shares, which are
//! at least one row's. This is checked per path: for a row that takes all its splits, for one that
//! takes none, and for the row with the largest leading coefficient. A tree that fails gets two more
//! points, or as many as are exact.

use crate::compiled::records::TreeSummary;
use crate::ensemble::{NODES_PER_CHECK, cover_share};
use crate::lower::canonical::{Forest, LoweredNode, LoweredSplit, LoweredTree};
use crate::memory::filled;
use crate::quadrature::{Rule, exact_points};
use crate::{Cancel, Result};

/// Maximum features of a path for which points are always exact.
const EXACT: usize = 12;
/// Points of paths with more features.
const FEW: usize = EXACT / 2;
/// Points where those do not suffice.
pub(crate) const MANY: usize = 8;
/// Maximum error of the checked integrals.
const WITHIN: f64 = 1e-7;
/// Lower bound of products of shares.
const LEAST: f64 = 1e-30;

/// Computes summaries; buffers are reused from tree to tree.
pub(crate) struct Summaries<'p> {
    /// See [`crate::ensemble::ctr::Ctrs::players`]; called features here.
    players: &'p [u32],
    /// Product of shares on the path by feature; `None` off the path.
    on_path: Vec<Option<f64>>,
    open: Vec<Step>,
}

enum Step {
    /// A child of a split at `level` below the root.
    Edge {
        child: u32,
        level: usize,
        feature: u32,
        share: f64,
        weight: f64,
    },
    Restore {
        feature: u32,
        share: Option<f64>,
    },
}

/// An event of a walk.
enum Event {
    /// A child of a split at `level`, with the product of its feature's shares before and after.
    Edge {
        level: usize,
        before: Option<f64>,
        after: f64,
    },
    Leaf {
        level: usize,
        features: usize,
        value: f64,
        weight: f64,
    },
}

impl<'p> Summaries<'p> {
    pub(crate) fn new(players: &'p [u32]) -> Result<Self> {
        Ok(Summaries { players, on_path: filled(players.len(), None)?, open: Vec::new() })
    }

    pub(crate) fn of(&mut self, tree: &LoweredTree<'_>, cancel: Cancel<'_>) -> Result<TreeSummary> {
        let (mut mean, mut leaves, mut most) = (0.0, 0u32, 0);
        self.walk(tree, cancel, &mut |event| {
            if let Event::Leaf { features, value, weight, .. } = event {
                mean += weight * value;
                leaves += 1;
                most = most.max(features);
            }
        })?;
        let points = if most <= EXACT {
            exact_points(most)
        } else {
            self.checked_points(tree, most, cancel)?
        };
        let splits = leaves.saturating_sub(1);
        Ok(TreeSummary { mean, points: points as u32, splits, ..TreeSummary::default() })
    }

    /// Returns a sufficient number of points for paths of up to `most` features.
    fn checked_points(
        &mut self,
        tree: &LoweredTree<'_>,
        most: usize,
        cancel: Cancel<'_>,
    ) -> Result<usize> {
        // A product of all of a path's polynomials has one more degree.
        let exact = exact_points(most + 1);
        let rules = [FEW, MANY, exact].map(Rule::of);
        let points: Vec<f64> = rules.iter().flat_map(|rule| rule.points.clone()).collect();
        let start: Vec<f64> = rules.iter().flat_map(|rule| rule.weights.clone()).collect();
        // The weighted products of each row's polynomials, by level.
        let row = points.len();
        let mut products: Vec<f64> = start.repeat(ROWS.len());
        let level_size = products.len();
        let mut farthest = [0.0f64; 2];
        self.walk(tree, cancel, &mut |event| match event {
            Event::Edge { level, before, after } => {
                let end = (level + 2) * level_size;
                if products.len() < end {
                    products.resize(end, 0.0);
                }
                let (above, own) = products.split_at_mut((level + 1) * level_size);
                let above = &above[level * level_size..];
                let rows = above.chunks_exact(row).zip(own.chunks_exact_mut(row)).zip(ROWS);
                for ((above, own), kind) in rows {
                    for ((above, own), q) in above.iter().zip(own).zip(&points) {
                        let before = before.map_or(1.0, |share| kind(share, *q));
                        *own = above * kind(after, *q) / before;
                    }
                }
            }
            Event::Leaf { level, features, .. } if features > EXACT => {
                let own = &products[level * level_size..];
                for own in own.chunks_exact(row).take(ROWS.len()) {
                    let (few, others) = own.split_at(FEW);
                    let (many, exact) = others.split_at(MANY);
                    let exact: f64 = exact.iter().sum();
                    for (farthest, sum) in farthest.iter_mut().zip([few, many]) {
                        *farthest = farthest.max((sum.iter().sum::<f64>() - exact).abs());
                    }
                }
            }
            Event::Leaf { .. } => {}
        })?;
        Ok(match farthest {
            [few, _] if few <= WITHIN => FEW,
            [_, many] if many <= WITHIN => MANY,
            _ => exact_points(most),
        })
    }

    /// Visits every edge and every leaf, depth first.
    fn walk(
        &mut self,
        tree: &LoweredTree<'_>,
        cancel: Cancel<'_>,
        meet: &mut dyn FnMut(Event),
    ) -> Result<()> {
        let (mut features, mut met) = (0, 0usize);
        self.open.clear();
        self.arrive(tree, 0, (0, 1.0, 0), meet);
        while let Some(step) = self.open.pop() {
            match step {
                Step::Restore { feature, share } => {
                    let own = &mut self.on_path[feature as usize];
                    features -= usize::from(share.is_none() && own.is_some());
                    *own = share;
                }
                Step::Edge { child, level, feature, share, weight } => {
                    met += 1;
                    if met.is_multiple_of(NODES_PER_CHECK) {
                        cancel.check()?;
                    }
                    let own = &mut self.on_path[feature as usize];
                    let before = *own;
                    let after = (before.unwrap_or(1.0) * share).max(LEAST);
                    *own = Some(after);
                    features += usize::from(before.is_none());
                    self.open.push(Step::Restore { feature, share: before });
                    meet(Event::Edge { level, before, after });
                    self.arrive(tree, child, (level + 1, weight * share, features), meet);
                }
            }
        }
        Ok(())
    }

    /// Handles the arrival at a node, given level, weight and number of features on the path.
    fn arrive(
        &mut self,
        tree: &LoweredTree<'_>,
        id: u32,
        (level, weight, features): (usize, f64, usize),
        meet: &mut dyn FnMut(Event),
    ) {
        match tree.nodes()[id as usize] {
            LoweredNode::Leaf { value, .. } => meet(Event::Leaf { level, features, value, weight }),
            LoweredNode::Split(LoweredSplit { feature, left, right, cover, .. }) => {
                let share = left_share(tree, cover, [left, right]);
                let feature = self.players[feature as usize];
                let sides = [(right, 1.0 - share), (left, share)];
                self.open.extend(sides.map(|(child, share)| Step::Edge {
                    child,
                    level,
                    feature,
                    share,
                    weight,
                }));
            }
            LoweredNode::Deleted => {}
        }
    }
}

/// A feature's polynomial at a point, given its product of shares.
type Polynomial = fn(f64, f64) -> f64;

const ROWS: [Polynomial; 3] =
    [taken, not_taken, |share, q| if share < 0.5 { taken(share, q) } else { not_taken(share, q) }];

/// The polynomial of a row that takes all splits on the feature.
fn taken(share: f64, q: f64) -> f64 {
    share + q * (1.0 - share)
}

/// The polynomial of a row that does not.
fn not_taken(share: f64, q: f64) -> f64 {
    share * (1.0 - q)
}

/// Returns whether a number can be a cover: a sum of hessians, rows or weights.
fn is_cover(cover: f32) -> bool {
    cover.is_finite() && cover >= 0.0
}

/// Returns whether all nodes have covers. Zeros only count if there is no split to weight.
pub(crate) fn has_covers(forest: &Forest<'_>, cancel: Cancel<'_>) -> Result<bool> {
    let (mut has_splits, mut has_weight) = (false, false);
    for tree in forest.trees() {
        for nodes in tree.nodes().chunks(NODES_PER_CHECK) {
            cancel.check()?;
            for node in nodes {
                if let Some(split) = node.split() {
                    has_splits = true;
                    has_weight |= split.cover > 0.0;
                }
                if !is_cover(node.cover()) {
                    return Ok(false);
                }
            }
        }
    }
    Ok(has_weight || !has_splits)
}

/// Returns the share of a split's left child; both shares add up to 1, whatever the file says.
pub(crate) fn left_share(tree: &LoweredTree<'_>, parent: f32, children: [u32; 2]) -> f64 {
    let [left, right] =
        children.map(|child| cover_share(tree.nodes()[child as usize].cover(), parent));
    left / (left + right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::canonical::LoweredCondition;

    fn summary(nodes: Vec<LoweredNode>, num_features: u32) -> TreeSummary {
        let (sets, depth, output, source, first_leaf) = (Vec::new(), num_features, 0, 0, 0);
        let tree = LoweredTree { nodes, sets, depth, output, source, first_leaf };
        let players: Vec<u32> = (0..num_features).collect();
        Summaries::new(&players).unwrap().of(&tree, Cancel::never()).unwrap()
    }

    /// Returns the points of a chain of splits on distinct features, each with a leaf of this share on
    /// its left.
    fn points_of_chain(features: u32, share: f32) -> u32 {
        let mut nodes = Vec::new();
        let mut cover = 1.0f32;
        for feature in 0..features {
            let (left, right) = (2 * feature + 1, 2 * feature + 2);
            let (condition, default_left) = (LoweredCondition::Below(0.0), true);
            let split = LoweredSplit { feature, condition, default_left, left, right, cover };
            let split = LoweredNode::Split(split);
            let leaf = LoweredNode::Leaf { value: 1.0, cover: cover * share };
            cover *= 1.0 - share;
            nodes.pop();
            nodes.extend([split, leaf, LoweredNode::Leaf { value: -1.0, cover }]);
        }
        let summary = summary(nodes, features);
        assert_eq!(summary.splits, features);
        summary.points
    }

    #[test]
    fn points_are_exact_up_to_twelve_features() {
        for features in 1..=12 {
            assert_eq!(points_of_chain(features, 0.3), features.div_ceil(2));
        }
    }

    #[test]
    fn six_points_suffice_for_balanced_shares() {
        assert_eq!(points_of_chain(16, 0.5), 6);
        assert_eq!(points_of_chain(20, 0.3), 6);
        assert_eq!(points_of_chain(20, 0.5), 8);
    }

    #[test]
    fn extreme_shares_need_more_points() {
        // Rows that take all splits, and none.
        assert_eq!(points_of_chain(18, 0.99), 8);
        assert_eq!(points_of_chain(18, 0.01), 8);
        assert_eq!(points_of_chain(90, 0.99), 45);
    }

    #[test]
    fn a_mean_weighs_leaves_by_their_shares() {
        let leaf = |value, cover| LoweredNode::Leaf { value, cover };
        let split = LoweredNode::Split(LoweredSplit {
            feature: 0,
            condition: LoweredCondition::Below(0.0),
            default_left: true,
            left: 1,
            right: 2,
            cover: 4.0,
        });
        assert_eq!(summary(vec![split, leaf(1.0, 1.0), leaf(2.0, 3.0)], 1).mean, 1.75);
        let summary = summary(vec![leaf(3.0, 0.0)], 1);
        assert_eq!((summary.mean, summary.points, summary.splits), (3.0, 1, 0));
    }
}
