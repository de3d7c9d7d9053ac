//! The oracle: walks the checked model node by node.
//!
//! It follows the model's rules literally and slowly, and all other ways of evaluation must have its
//! bits. The sum starts at the base margin and adds the trees in file order, each leaf or linear
//! model's output times the tree's weight, in the precision of sums (`PredValueByOneTree` and its
//! callers in XGBoost's src/predictor/cpu_predictor.cc; `GBDT::PredictRaw` in LightGBM's
//! src/boosting/gbdt_prediction.cpp). Values are compared in the precision of values.

use crate::ensemble::{
    Comparison, Ensemble, Precision, RowNumber, Split, SplitCondition, Tree, is_in_set,
};
use crate::eval::sum::Margin;

/// Computes a row's margins; `out.len() == model.num_outputs()`. Missing features are NaN.
pub fn margins<V: RowNumber, M: Margin>(model: &Ensemble, features: &[V], out: &mut [M]) {
    let features = &model.split_values(features)[..];
    let mut sums: Vec<f64> = model.base_margin().iter().copied().map(f64::from).collect();
    add_linear(model, features, &mut sums);
    for tree in model.trees() {
        let id = leaf(model, tree, features);
        let linear = tree.linear_leaf(id).and_then(|leaf| leaf.output(features));
        let values = tree.leaf_values(id, model.num_outputs());
        for (sum, value) in sums[tree.output().range(model.num_outputs())].iter_mut().zip(values) {
            let value = linear.unwrap_or(value);
            *sum = match model.sum_precision() {
                Precision::Single => f64::from(*sum as f32 + value as f32),
                Precision::Double => *sum + value,
            };
        }
    }
    for (output, (margin, sum)) in out.iter_mut().zip(sums).enumerate() {
        let scaled = model.parts.scaling.of(sum, output, model.sum_precision());
        *margin = M::of(if model.parts.scaling.in_margin { scaled } else { sum });
    }
}

/// Adds a linear model: the intercept, then features that are not missing, in f32 (`GBLinear::Pred` in
/// XGBoost's src/gbm/gblinear.cc).
fn add_linear(model: &Ensemble, features: &[f64], sums: &mut [f64]) {
    if !model.is_linear() {
        return;
    }
    for (output, sum) in sums.iter_mut().enumerate() {
        let mut total = *sum as f32 + model.coefficient(features.len(), output);
        for (feature, value) in features.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            total += *value as f32 * model.coefficient(feature, output);
        }
        *sum = total.into();
    }
}

/// Returns each tree's leaf by the library's number; `out.len() == model.trees().len()`.
pub fn leaves<V: RowNumber>(model: &Ensemble, features: &[V], out: &mut [u32]) {
    let features = &model.split_values(features)[..];
    for (number, tree) in out.iter_mut().zip(model.trees()) {
        *number = leaf(model, tree, features) - tree.first_leaf();
    }
}

fn leaf<V: Copy + Into<f64>>(model: &Ensemble, tree: &Tree, features: &[V]) -> u32 {
    let mut id = 0;
    while let Some(node) = tree.nodes().get(id as usize) {
        let Some(split) = node.split() else { break };
        id = if goes_left(model, tree, split, features) { split.left } else { split.right };
    }
    id
}

/// Returns whether a row goes to the left child of a split.
pub(crate) fn goes_left<V: Copy + Into<f64>>(
    model: &Ensemble,
    tree: &Tree,
    split: &Split,
    features: &[V],
) -> bool {
    let value = |feature: u32| model.value_precision().rounded(features[feature as usize].into());
    let Split { feature, condition, default_left, .. } = *split;
    match condition {
        SplitCondition::Compare { comparison, threshold, missing } => {
            let goes = |value| Comparison::holds(comparison, value, threshold);
            missing.present(value(feature)).map_or(default_left, goes)
        }
        SplitCondition::InSet { set, members_left } => {
            let words = tree.category_sets()[set as usize].words();
            let value = value(feature);
            let ranks = model.ranks_of(feature);
            let code = match model.value_precision() {
                _ if !ranks.is_empty() => {
                    ranks.iter().filter(|rank| value >= **rank).count() as f64
                }
                Precision::Single => value,
                // As in `CategoricalDecision` of LightGBM's include/LightGBM/tree.h.
                Precision::Double => value.trunc(),
            };
            let goes = is_in_set(words, code as f32) == members_left;
            if value.is_nan() { default_left } else { goes }
        }
    }
}
