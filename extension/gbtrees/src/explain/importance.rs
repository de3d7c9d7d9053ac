//! Feature importance, as in `Booster.get_score`.
//!
//! XGBoost sums in f32, tree by tree, right children first (`FeatureScore` in src/gbm/gbtree.h), and so
//! does this, with the same bits. Tree weights are ignored. Unused features have 0; XGBoost leaves them
//! out.

use crate::ensemble::{Ensemble, Tree};

/// The measure of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportanceKind {
    /// Number of splits.
    Weight,
    /// Mean loss change of splits.
    Gain,
    /// Mean sum of hessians at splits.
    Cover,
    /// Sum of loss changes.
    TotalGain,
    /// Sum of sums of hessians.
    TotalCover,
}

impl ImportanceKind {
    /// All kinds with XGBoost's names.
    pub const NAMES: [(ImportanceKind, &str); 5] = [
        (ImportanceKind::Weight, "weight"),
        (ImportanceKind::Gain, "gain"),
        (ImportanceKind::Cover, "cover"),
        (ImportanceKind::TotalGain, "total_gain"),
        (ImportanceKind::TotalCover, "total_cover"),
    ];

    /// Returns the kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// Returns whether the file has the numbers for a kind; absent gains and covers are zeros.
pub fn has_importance(model: &Ensemble, kind: ImportanceKind) -> bool {
    let (mut has_splits, mut has_gains, mut has_covers) = (false, false, false);
    for tree in model.trees() {
        visit_splits(tree, |_, gain, cover| {
            has_splits = true;
            has_gains |= gain != 0.0;
            has_covers |= cover != 0.0;
        });
    }
    match kind {
        // Linear models have the coefficients of a single output (`GBLinear::FeatureScore`).
        _ if model.is_linear() => kind == ImportanceKind::Weight && model.num_outputs() == 1,
        ImportanceKind::Weight => true,
        ImportanceKind::Gain | ImportanceKind::TotalGain => has_gains || !has_splits,
        ImportanceKind::Cover | ImportanceKind::TotalCover => has_covers || !has_splits,
    }
}

/// Returns each feature's importance; a split on a target statistic counts for every feature combined
/// in it. Zeros unless [`has_importance`].
pub fn importance(model: &Ensemble, kind: ImportanceKind) -> Vec<f32> {
    if model.is_linear() && has_importance(model, kind) {
        return model.coefficients[..model.num_features()].to_vec();
    }
    let mut sums = vec![(0.0f32, 0usize); model.num_split_features()];
    for tree in model.trees() {
        visit_splits(tree, |feature, gain, cover| {
            let (sum, count) = &mut sums[feature as usize];
            *count += 1;
            match kind {
                ImportanceKind::Weight => {}
                ImportanceKind::Gain | ImportanceKind::TotalGain => *sum += gain,
                ImportanceKind::Cover | ImportanceKind::TotalCover => *sum += cover,
            }
        });
    }
    let statistics = sums.split_off(model.num_features());
    for ((sum, count), features) in statistics.into_iter().zip(model.ctrs.features()) {
        for feature in features {
            sums[feature].0 += sum;
            sums[feature].1 += count;
        }
    }
    let measured = |(sum, count): (f32, usize)| match kind {
        ImportanceKind::Weight => count as f32,
        ImportanceKind::Gain | ImportanceKind::Cover => sum / f32::max(1.0, count as f32),
        ImportanceKind::TotalGain | ImportanceKind::TotalCover => sum,
    };
    sums.into_iter().map(measured).collect()
}

/// Calls `visit` with feature, gain and cover of every reachable split, right sides first.
fn visit_splits(tree: &Tree, mut visit: impl FnMut(u32, f32, f32)) {
    let mut stack = vec![0u32];
    while let Some(id) = stack.pop() {
        if let Some(split) = tree.nodes()[id as usize].split() {
            visit(split.feature, split.gain, split.cover);
            stack.extend([split.left, split.right]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::Node;
    use crate::random::{Shape, model};

    /// A tree with splits at ids 0, 1 and 2 of the given features, gains and covers.
    fn tree(splits: [(u32, f32, f32); 3]) -> Tree {
        let mut nodes: Vec<Node> = (0..)
            .zip(splits)
            .map(|(id, (feature, gain, cover))| {
                let [left, right] = [2 * id + 1, 2 * id + 2];
                Node::numerical(feature, 0.0, true, [left, right], gain, cover)
            })
            .collect();
        nodes.extend([const { Node::Leaf { value: 1.0, cover: 1.0 } }; 4]);
        Tree::of(nodes, 2)
    }

    fn of(trees: Vec<Tree>, kind: ImportanceKind) -> Vec<f32> {
        let shape = Shape::of(3, 1, 0, 0);
        let mut model = model(1, shape);
        model.trees = trees;
        importance(&model, kind)
    }

    #[test]
    fn every_importance_kind_sums_or_averages_as_named() {
        let trees = || {
            let first = tree([(0, 8.0, 100.0), (2, 4.0, 60.0), (2, 1.0, 40.0)]);
            vec![first, tree([(2, 1.0, 50.0), (0, 2.0, 30.0), (0, 5.0, 20.0)])]
        };
        for (kind, expected) in [
            (ImportanceKind::Weight, [3.0, 0.0, 3.0]),
            (ImportanceKind::TotalGain, [15.0, 0.0, 6.0]),
            (ImportanceKind::Gain, [5.0, 0.0, 2.0]),
            (ImportanceKind::TotalCover, [150.0, 0.0, 150.0]),
            (ImportanceKind::Cover, [50.0, 0.0, 50.0]),
        ] {
            assert_eq!(of(trees(), kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn the_right_side_is_added_first_in_f32() {
        // (2^24 + 1) + 2 rounds to 2^24 + 2, and (2^24 + 2) + 1 to 2^24 + 4.
        let trees = vec![tree([(1, 16_777_216.0, 1.0), (1, 1.0, 1.0), (1, 2.0, 1.0)])];
        assert_eq!(of(trees, ImportanceKind::TotalGain), [0.0, 16_777_220.0, 0.0]);
    }

    #[test]
    fn absent_arrays_are_distinguished_from_zeros() {
        let mut model = model(1, Shape::of(3, 1, 0, 0));
        let has = |model: &Ensemble| {
            ImportanceKind::NAMES
                .into_iter()
                .filter(|(kind, _)| has_importance(model, *kind))
                .map(|(_, name)| name)
                .collect::<Vec<_>>()
        };
        model.trees = vec![tree([(0, 0.0, 7.0), (1, 0.0, 4.0), (2, 0.0, 3.0)])];
        assert_eq!(has(&model), ["weight", "cover", "total_cover"]);
        model.trees = vec![tree([(0, 0.0, 0.0); 3])];
        assert_eq!(has(&model), ["weight"]);
        model.trees.push(tree([(0, 1.0, 0.0); 3]));
        assert_eq!(has(&model), ["weight", "gain", "total_gain"]);
        model.trees = vec![Tree::of(vec![Node::Leaf { value: 1.0, cover: 0.0 }], 0)];
        assert_eq!(has(&model).len(), ImportanceKind::NAMES.len());
    }

    #[test]
    fn kinds_are_found_by_name() {
        for (kind, name) in ImportanceKind::NAMES {
            assert_eq!(ImportanceKind::from_name(name), Some(kind));
        }
        assert_eq!(ImportanceKind::from_name("Gain"), None);
    }
}
