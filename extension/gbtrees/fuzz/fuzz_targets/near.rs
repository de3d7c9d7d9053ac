//! Values at which a model's output changes; shared with the engine's tests.

use gbtrees::internals::{Ensemble, Node, Split, SplitCondition};

/// Returns each feature's thresholds, exact and rounded to f32, with their neighbours.
pub(crate) fn near(model: &Ensemble) -> Vec<Vec<f64>> {
    let mut near = vec![Vec::new(); model.num_features()];
    for node in model.trees().iter().flat_map(|tree| tree.nodes()) {
        if let Node::Split(Split { feature, condition, .. }) = node
            && let SplitCondition::Compare { threshold, .. } = condition
            // Target statistics are numbered after the features.
            && let Some(near) = near.get_mut(*feature as usize)
        {
            let single = *threshold as f32;
            let wide = [*threshold, threshold.next_up(), threshold.next_down()];
            let narrow = [single, single.next_up(), single.next_down()].map(f64::from);
            near.extend(wide.into_iter().chain(narrow));
        }
    }
    for (feature, near) in (0..).zip(&mut near) {
        let ranks = model.ranks_of(feature).iter();
        near.extend(ranks.flat_map(|rank| [*rank, rank.next_up(), rank.next_down()]));
    }
    near
}
