//! How important each feature is to a model, as `Booster.get_score` measures it.
//!
//! XGBoost sums in f32, tree by tree and from each split to its right child first; so does this, and
//! the sums have the same bits. A feature that no split uses has 0; XGBoost leaves it out.

use crate::model::{Model, Node, Tree};

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportanceKind {
    /// Number of splits on the feature.
    Weight,
    /// Mean loss change of its splits.
    Gain,
    /// Mean sum of hessians at its splits.
    Cover,
    /// Sum of the loss changes.
    TotalGain,
    /// Sum of the sums of hessians.
    TotalCover,
}

impl ImportanceKind {
    /// Every kind.
    pub const ALL: [ImportanceKind; 5] = [
        ImportanceKind::Weight,
        ImportanceKind::Gain,
        ImportanceKind::Cover,
        ImportanceKind::TotalGain,
        ImportanceKind::TotalCover,
    ];

    /// XGBoost's name for it.
    pub fn name(self) -> &'static str {
        match self {
            ImportanceKind::Weight => "weight",
            ImportanceKind::Gain => "gain",
            ImportanceKind::Cover => "cover",
            ImportanceKind::TotalGain => "total_gain",
            ImportanceKind::TotalCover => "total_cover",
        }
    }

    /// The kind with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The importance of each feature.
pub fn importance(model: &Model, kind: ImportanceKind) -> Vec<f32> {
    let mut sums = vec![(0.0f32, 0usize); model.num_features()];
    for tree in model.trees() {
        visit_splits(tree, |feature, gain, cover| {
            let Some((sum, count)) = sums.get_mut(feature as usize) else { return };
            *count += 1;
            match kind {
                ImportanceKind::Weight => *sum = *count as f32,
                ImportanceKind::Gain | ImportanceKind::TotalGain => *sum += gain,
                ImportanceKind::Cover | ImportanceKind::TotalCover => *sum += cover,
            }
        });
    }
    let mean = matches!(kind, ImportanceKind::Gain | ImportanceKind::Cover);
    sums.into_iter()
        .map(|(sum, count)| if mean { sum / f32::max(1.0, count as f32) } else { sum })
        .collect()
}

/// Calls `visit` with feature, gain and cover of every split that the root leads to, a split's
/// right side before its left.
fn visit_splits(tree: &Tree, mut visit: impl FnMut(u32, f32, f32)) {
    let mut stack = vec![0u32];
    while let Some(id) = stack.pop() {
        match tree.nodes().get(id as usize) {
            Some(
                Node::Numerical { feature, gain, cover, left, right, .. }
                | Node::Categorical { feature, gain, cover, left, right, .. },
            ) => {
                visit(*feature, *gain, *cover);
                stack.extend([*left, *right]);
            }
            Some(Node::Leaf { .. } | Node::Deleted) | None => {}
        }
    }
}
