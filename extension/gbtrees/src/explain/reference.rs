//! The oracle: contributions and interactions by definition, over the checked model, in f64.
//!
//! Each leaf is a game of the features on its path: a coalition is worth the leaf's value times, for
//! each member, whether the row takes the path at all its splits, and for each other feature the
//! product of its splits' shares. A feature's Shapley value is its mean gain over coalitions of all
//! sizes; the sum over coalitions of one size is a polynomial coefficient with only positive terms. No
//! quadrature is used.

use crate::ensemble::{Ensemble, RowNumber, Tree, cover_share};
use crate::eval::reference::goes_left;

/// A feature on a path, or a combination of features.
#[derive(Clone, Copy)]
struct Player {
    feature: usize,
    /// 1 if the row takes the path at all of its splits, otherwise 0.
    taken: f64,
    share: f64,
}

/// Returns a row's contributions in the order of [`crate::compiled::CompiledModel::contributions`].
pub fn contributions<V: RowNumber>(model: &Ensemble, features: &[V]) -> Vec<f64> {
    let width = model.num_features() + 1;
    let features = &model.split_values(features)[..];
    let mut sums = vec![0.0; model.num_outputs() * width];
    for tree in model.trees() {
        each_leaf(model, tree, features, &mut |players, values| {
            let mean: f64 = players.iter().map(|player| player.share).product();
            for (output, value) in values {
                sums[output * width + width - 1] += value * mean;
            }
            for (index, player) in players.iter().enumerate() {
                let worth = (player.taken - player.share) * coalitions(players, &[index]);
                let features = features_of(model, player.feature);
                let worth = worth / features.len() as f64;
                for (output, value) in values {
                    for feature in &features {
                        sums[output * width + feature] += value * worth;
                    }
                }
            }
        });
    }
    if model.is_linear() {
        for (place, sum) in sums.iter_mut().enumerate() {
            let (output, feature) = (place / width, place % width);
            let value = features.get(feature).map_or(1.0, |value| *value as f32);
            let product = f64::from(value) * f64::from(model.coefficient(feature, output));
            *sum = if value.is_nan() { 0.0 } else { product };
        }
    }
    finish(model, &mut sums);
    sums
}

/// Returns a row's interactions in the order of [`crate::compiled::CompiledModel::interactions`].
pub fn interactions<V: RowNumber>(model: &Ensemble, features: &[V]) -> Vec<f64> {
    let width = model.num_features() + 1;
    let mut sums = vec![0.0; model.num_outputs() * width * width];
    for tree in model.trees() {
        each_leaf(model, tree, features, &mut |players, values| {
            for (i, one) in players.iter().enumerate() {
                for (j, other) in players.iter().enumerate().filter(|(j, _)| *j != i) {
                    let alone = (one.taken - one.share) * (other.taken - other.share);
                    let worth = 0.5 * alone * coalitions(players, &[i, j]);
                    for (output, value) in values {
                        sums[(output * width + one.feature) * width + other.feature] +=
                            value * worth;
                    }
                }
            }
        });
    }
    let scale = scale(model);
    sums.iter_mut().for_each(|sum| *sum *= scale);
    let own = contributions(model, features);
    for (row, (sums, own)) in sums.chunks_exact_mut(width).zip(own).enumerate() {
        sums[row % width] = own - sums.iter().sum::<f64>();
    }
    sums
}

/// Returns the features that share a player's contribution: see
/// [`crate::ensemble::ctr::Ctrs::players`].
fn features_of(model: &Ensemble, player: usize) -> Vec<usize> {
    match player.checked_sub(model.num_features()) {
        Some(own) => {
            let categories = model.ctrs.projections[own].categories();
            categories.map(|feature| feature as usize).collect()
        }
        None => vec![player],
    }
}

/// Returns the weighted sum over coalitions, without the excluded players, of the products of their
/// parts.
fn coalitions(players: &[Player], left_out: &[usize]) -> f64 {
    // Coefficient k sums over coalitions of k players.
    let mut coefficients = vec![1.0];
    for (index, player) in players.iter().enumerate() {
        if left_out.contains(&index) {
            continue;
        }
        coefficients.push(0.0);
        for k in (0..coefficients.len()).rev() {
            let joins = if k > 0 { coefficients[k - 1] * player.taken } else { 0.0 };
            coefficients[k] = coefficients[k] * player.share + joins;
        }
    }
    let others = coefficients.len() - 1;
    // k! (others - k)! / (others + 1)!
    let mut weight = 1.0 / (others + 1) as f64;
    let mut sum = 0.0;
    for (k, coefficient) in coefficients.iter().enumerate() {
        sum += weight * coefficient;
        weight *= (k + 1) as f64 / (others - k).max(1) as f64;
    }
    sum
}

/// Called with a path's players and its leaf's values by output.
type Visit<'a> = dyn FnMut(&[Player], &[(usize, f64)]) + 'a;

/// Calls `visit` for every leaf.
fn each_leaf<V: Copy + Into<f64>>(
    model: &Ensemble,
    tree: &Tree,
    features: &[V],
    visit: &mut Visit<'_>,
) {
    let player_of = model.ctrs.players(model.num_features());
    let mut open = vec![(0u32, Vec::<Player>::new())];
    while let Some((id, players)) = open.pop() {
        let node = &tree.nodes()[id as usize];
        let Some(split) = node.split() else {
            visit(&players, &leaf_values(model, tree, id));
            continue;
        };
        let left = goes_left(model, tree, split, features);
        for (child, taken) in [split.left, split.right].into_iter().zip([left, !left]) {
            let mut players = players.clone();
            let feature = player_of[split.feature as usize] as usize;
            let cover = |id: u32| tree.nodes()[id as usize].cover();
            let share = cover_share(cover(child), cover(id));
            let taken = f64::from(u8::from(taken));
            match players.iter_mut().find(|player| player.feature == feature) {
                Some(player) => {
                    player.taken *= taken;
                    player.share *= share;
                }
                None => players.push(Player { feature, taken, share }),
            }
            open.push((child, players));
        }
    }
}

/// Returns a leaf's values as added to sums: times the tree's weight, in the precision of sums.
fn leaf_values(model: &Ensemble, tree: &Tree, id: u32) -> Vec<(usize, f64)> {
    let values = tree.leaf_values(id, model.num_outputs());
    let values = values.map(|value| model.sum_precision().rounded(value));
    tree.output().range(model.num_outputs()).zip(values).collect()
}

fn scale(model: &Ensemble) -> f64 {
    let scaling = &model.parts.scaling;
    if scaling.in_margin { scaling.scale / scaling.divisor } else { 1.0 }
}

/// Scales the sums and adds biases, so that they add up to the margins.
fn finish(model: &Ensemble, sums: &mut [f64]) {
    let width = model.num_features() + 1;
    for (output, own) in sums.chunks_exact_mut(width).enumerate() {
        own[width - 1] += f64::from(model.base_margin()[output]);
        own.iter_mut().for_each(|sum| *sum *= scale(model));
        // Models without bias have an empty list.
        if let (true, Some(bias)) =
            (model.parts.scaling.in_margin, model.parts.scaling.bias.get(output))
        {
            own[width - 1] += bias;
        }
    }
}
