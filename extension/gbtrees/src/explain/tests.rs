//! Contributions of the compiled model against the oracle, and general properties.

use std::cell::Cell;

use proptest::prelude::*;

use crate::Cancel;
use crate::compiled::CompiledModel;
use crate::compiled::aligned::AlignedBytes;
use crate::ensemble::{Ensemble, Node, Tree};
use crate::eval;
use crate::eval::{Kernel, Scratch};
use crate::explain::{ContributionScratch, reference};
use crate::lower::compile;
use crate::random::{Random, Shape, leaf_wise, linear, model, narrowed, rows};

/// Maximum error of a contribution, relative to the largest one.
const ORACLE: f64 = 1e-6;

fn opened(model: &Ensemble) -> CompiledModel<AlignedBytes> {
    CompiledModel::open(compile(model, &[], Cancel::never()).unwrap()).unwrap()
}

fn set_cover(node: &mut Node, covered: f32) {
    match node {
        Node::Leaf { cover, .. } | Node::LeafVector { cover, .. } => *cover = covered,
        Node::Split(split) => split.cover = covered,
        Node::Deleted => {}
    }
}

/// Assigns random covers, some 0, to a tree's leaves, and their sums to its splits.
fn cover_tree(tree: &mut Tree, random: &mut Random) {
    fn cover(tree: &mut Tree, id: u32, random: &mut Random) -> f32 {
        let covered = match tree.nodes[id as usize].children() {
            Some([left, right]) => cover(tree, left, random) + cover(tree, right, random),
            None if random.one_in(12) => 0.0,
            None => 1.0 + random.below(1000) as f32 / 10.0,
        };
        set_cover(&mut tree.nodes[id as usize], covered);
        covered
    }
    // All zeros would mean no covers.
    while cover(tree, 0, random) == 0.0 {}
}

fn covered(seed: u64, shape: Shape) -> Ensemble {
    with_covers(seed, model(seed, shape))
}

fn with_covers(seed: u64, mut model: Ensemble) -> Ensemble {
    let mut random = Random(seed ^ 0xc0);
    model.trees.iter_mut().for_each(|tree| cover_tree(tree, &mut random));
    model
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// A function that explains rows in one call.
type Explain = fn(
    &CompiledModel<AlignedBytes>,
    &mut ContributionScratch,
    &[f32],
    &mut [f32],
    Cancel<'_>,
) -> crate::Result<()>;

/// Returns `width` numbers per row, after checking that all kernels and batch sizes agree in bits.
fn explained(
    compiled: &CompiledModel<AlignedBytes>,
    explain: Explain,
    per_row: usize,
    rows: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let mut expected: Option<Vec<f32>> = None;
    for kernel in Kernel::available() {
        let mut scratch = ContributionScratch::with_kernel(kernel);
        for count in [rows.len(), 1, 2, 5, 17] {
            let mut out = vec![7.0; rows.len() * per_row];
            for (rows, out) in rows.chunks(count.max(1)).zip(out.chunks_mut(count.max(1) * per_row))
            {
                explain(compiled, &mut scratch, &rows.concat(), out, Cancel::never()).unwrap();
            }
            let same = expected.get_or_insert_with(|| out.clone());
            assert_eq!(bits(&out), bits(same), "{kernel:?}, {count} rows in a call");
        }
    }
    expected.unwrap().chunks(per_row).map(<[f32]>::to_vec).collect()
}

fn contributions(compiled: &CompiledModel<AlignedBytes>, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let per_row = compiled.num_outputs() * (compiled.num_features() + 1);
    explained(compiled, CompiledModel::contributions, per_row, rows)
}

fn interactions(compiled: &CompiledModel<AlignedBytes>, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let per_row = compiled.num_outputs() * (compiled.num_features() + 1).pow(2);
    explained(compiled, CompiledModel::interactions, per_row, rows)
}

/// Asserts a maximum error relative to the largest expected number.
fn close(found: &[f32], expected: &[f64], share: f64, what: &str) {
    within(found, expected, share * largest(expected), what);
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, number| largest.max(number.abs()))
}

fn within(found: &[f32], expected: &[f64], bound: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    // Allows for rounding to the smallest f32.
    let bound = bound + f64::from(f32::from_bits(1));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let apart = (f64::from(*found) - expected).abs();
        assert!(apart <= bound, "{what}, {index}: {found}, not {expected}");
    }
}

/// Returns the rounding errors of f32 contributions, and of the margin that XGBoost sums in f32, one
/// per tree.
fn rounding(contributions: &[f32], margin: f64, trees: usize, leaves: f64) -> f64 {
    let sizes: f64 = contributions.iter().map(|part| f64::from(part.abs())).sum();
    let epsilon = f64::from(f32::EPSILON) / 2.0;
    epsilon * (sizes + (trees + 3) as f64 * (leaves + margin.abs())) + 1e-30
}

/// Returns an upper bound of partial sums of the trees' leaves.
fn largest_sum(model: &Ensemble) -> f64 {
    let of_tree = |tree: &Tree| {
        let ids = 0..tree.nodes().len() as u32;
        let values =
            ids.flat_map(|id| tree.leaf_values(id, model.num_outputs()).collect::<Vec<_>>());
        values.fold(0.0f64, |largest, value| largest.max(value.abs()))
    };
    model.trees().iter().map(of_tree).sum::<f64>()
        + model.base_margin().iter().map(|margin| f64::from(margin.abs())).sum::<f64>()
}

fn agrees(model: &Ensemble, rows: &[Vec<f64>]) {
    let compiled = opened(model);
    let narrow = narrowed(&compiled, rows);
    let width = model.num_features() + 1;
    let mut margins = vec![0.0f64; model.num_outputs()];
    let mut scratch = Scratch::new(&compiled);
    let leaves = largest_sum(model);
    for ((row, narrow), found) in rows.iter().zip(&narrow).zip(contributions(&compiled, &narrow)) {
        let expected = reference::contributions(model, row);
        // Contributions that cancel out are larger than their sum.
        let rounded = f64::from(f32::EPSILON) * leaves;
        let bound = ORACLE * largest(&expected) + rounded;
        within(&found, &expected, bound, "contributions");
        compiled.margins(&mut scratch, narrow, &mut margins).unwrap();
        for (own, margin) in found.chunks(width).zip(&margins) {
            let sum: f64 = own.iter().copied().map(f64::from).sum();
            // A tree's sums are f32 too, so one tree in thousands needs the documented bound: of 6,000
            // trees with up to 119 leaves the largest difference was 1.5e-6 of the largest
            // contribution.
            let promised = 2.0 * ORACLE * largest(&expected);
            let bound = promised.max(rounding(own, *margin, model.trees().len(), leaves));
            assert!((sum - margin).abs() <= bound, "{sum}, not {margin}");
        }
    }
}

/// Products are rounded once, so results are equal.
#[test]
fn explanations_of_linear_models_are_their_products() {
    let same = |found: &[f32], expected: &[f64]| {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| {
                *found == *expected as f32 || found.is_nan() && expected.is_nan()
            })
    };
    for (seed, (features, outputs)) in (0..).zip([(1, 1), (7, 1), (9, 3)]) {
        let model = linear(seed, features, outputs);
        let compiled = opened(&model);
        let rows = rows(seed, &model, 40);
        let narrow = narrowed(&compiled, &rows);
        let found =
            contributions(&compiled, &narrow).into_iter().zip(interactions(&compiled, &narrow));
        for (row, (own, pairs)) in rows.iter().zip(found) {
            assert!(same(&own, &reference::contributions(&model, row)), "{row:?}");
            assert!(same(&pairs, &reference::interactions(&model, row)), "{row:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contributions_agree_with_the_oracle_and_add_up_to_the_margins(
        seed in any::<u64>(),
        (features, outputs, trees, depth) in (1usize..14, 1usize..4, 1usize..9, 1u32..10),
        categorical in 0usize..3,
        any_library in any::<bool>(),
    ) {
        let shape = Shape { features, outputs, trees, depth, categorical, any_library };
        let model = covered(seed, shape);
        agrees(&model, &rows(seed ^ 1, &model, 5));
    }

    #[test]
    fn interactions_agree_with_the_oracle(
        seed in any::<u64>(),
        (features, outputs, trees, depth) in (1usize..9, 1usize..3, 1usize..5, 1u32..8),
        any_library in any::<bool>(),
    ) {
        let shape = Shape { features, outputs, trees, depth, categorical: 2, any_library };
        let model = covered(seed, shape);
        let rows = rows(seed ^ 1, &model, 3);
        let compiled = opened(&model);
        let narrow = narrowed(&compiled, &rows);
        let width = features + 1;
        let own = contributions(&compiled, &narrow);
        for ((row, found), own) in rows.iter().zip(interactions(&compiled, &narrow)).zip(own) {
            let expected = reference::interactions(&model, row);
            let rounded = rounding(&found, 0.0, model.trees().len(), largest_sum(&model));
            within(&found, &expected, ORACLE * largest(&expected) + rounded, "interactions");
            for (matrix, own) in found.chunks(width * width).zip(own.chunks(width)) {
                for (index, line) in matrix.chunks(width).enumerate() {
                    let sum: f64 = line.iter().copied().map(f64::from).sum();
                    let sizes: f64 = line.iter().map(|part| f64::from(part.abs())).sum();
                    let bound = f64::from(f32::EPSILON) * (sizes + f64::from(own[index].abs()));
                    prop_assert!((sum - f64::from(own[index])).abs() <= bound + 1e-30);
                    for (column, value) in line.iter().enumerate() {
                        prop_assert_eq!(value.to_bits(), matrix[column * width + index].to_bits());
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Few features repeat along paths; many make paths of more than twelve.
    #[test]
    fn trees_that_grow_leaf_by_leaf_agree_with_the_oracle(
        seed in any::<u64>(),
        (features, outputs, leaves, trees) in (1usize..40, 1usize..3, 2usize..120, 1usize..4),
        categorical in 0usize..3,
        any_library in any::<bool>(),
    ) {
        let shape = Shape { categorical, any_library, ..Shape::of(features, outputs, trees, 6) };
        let model = with_covers(seed, leaf_wise(seed, model(seed, shape), leaves));
        agrees(&model, &rows(seed ^ 1, &model, 20));
    }
}

/// A batch's last block has fewer lanes than the others if its rows fit in them.
#[test]
fn the_last_block_has_the_same_bits_with_any_number_of_rows() {
    let model = with_covers(7, leaf_wise(7, model(7, Shape::of(9, 2, 3, 6)), 31));
    let compiled = opened(&model);
    let narrow = narrowed(&compiled, &rows(8, &model, 66));
    let alone = contributions(&compiled, &narrow);
    let matrices = interactions(&compiled, &narrow);
    for count in 31..narrow.len() {
        assert_eq!(contributions(&compiled, &narrow[..count]), alone[..count]);
        assert_eq!(interactions(&compiled, &narrow[..count]), matrices[..count]);
    }
}

#[test]
fn a_feature_on_no_path_contributes_zero() {
    for seed in 0..20 {
        let mut model = covered(seed, Shape::of(5, 2, 6, 6));
        model.parts.num_features = 7;
        model.parts.feature_names.clear();
        model.parts.feature_types.resize(7, crate::ensemble::FeatureType::Numerical);
        model.parts.categories.resize(7, None);
        let rows: Vec<Vec<f64>> = rows(seed, &model, 4);
        let compiled = opened(&model);
        for found in contributions(&compiled, &narrowed(&compiled, &rows)) {
            for own in found.chunks(8) {
                assert_eq!(own[5..7], [0.0, 0.0]);
            }
        }
    }
}

#[test]
fn contributions_do_not_depend_on_the_order_of_features() {
    for seed in 0..20 {
        let model = covered(seed, Shape::of(6, 1, 6, 7));
        let rows = rows(seed, &model, 4);
        let mut turned = model.clone();
        for node in turned.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            if let Node::Split(split) = node {
                split.feature = 5 - split.feature;
            }
        }
        let turned_rows: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        let (compiled, turned) = (opened(&model), opened(&turned));
        let found = contributions(&compiled, &narrowed(&compiled, &rows));
        let others = contributions(&turned, &narrowed(&turned, &turned_rows));
        for (found, other) in found.iter().zip(&others) {
            let mut other: Vec<f64> = other.iter().copied().map(f64::from).collect();
            other[..6].reverse();
            close(found, &other, ORACLE, "turned");
        }
    }
}

#[test]
fn contributions_of_trees_add_up() {
    for seed in 0..20 {
        let model = covered(seed, Shape::of(6, 2, 8, 7));
        let rows = rows(seed, &model, 3);
        let all = opened(&model);
        let narrow = narrowed(&all, &rows);
        let parts: Vec<CompiledModel<AlignedBytes>> = model
            .trees()
            .iter()
            .map(|tree| {
                let mut one = model.clone();
                one.trees = vec![tree.clone()];
                one.round_starts = vec![0, 1];
                one.parts.base_margin.fill(0.0);
                opened(&one)
            })
            .collect();
        let mut sums = vec![vec![0.0f64; 14]; 3];
        for part in parts.iter().filter(|part| part.has_covers()) {
            for (sum, own) in sums.iter_mut().zip(contributions(part, &narrow)) {
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += f64::from(own));
            }
        }
        for (found, mut sum) in contributions(&all, &narrow).iter().zip(sums) {
            for (output, margin) in model.base_margin().iter().enumerate() {
                sum[7 * output + 6] += f64::from(*margin);
            }
            close(found, &sum, ORACLE, "sum of trees");
        }
    }
}

/// A chain of 512 splits, with a leaf on the left and at least half of the rows on the right.
fn chain(features: u32) -> Ensemble {
    let mut model = model(3, Shape::of(features as usize, 1, 1, 1));
    let mut nodes = Vec::new();
    let mut left_over = 1.0f32;
    for level in 0..512u32 {
        let children = [2 * level + 1, 2 * level + 2];
        let split = Node::numerical(level % features, 0.0, true, children, 0.0, left_over);
        left_over *= 0.99;
        let leaf = Node::Leaf { value: f64::from(level % 7) - 3.0, cover: left_over / 99.0 };
        match nodes.last_mut() {
            Some(last) => *last = split,
            None => nodes.push(split),
        }
        nodes.extend([leaf, Node::Leaf { value: 5.0, cover: left_over }]);
    }
    model.trees = vec![Tree::of(nodes, 512)];
    model
}

#[test]
fn the_deepest_trees_have_finite_and_right_contributions() {
    let model = chain(90);
    let rows: Vec<Vec<f64>> = (0..3)
        .map(|row| (0..90).map(|feature| if feature % 40 < row { -1.0 } else { 1.0 }).collect())
        .collect();
    agrees(&model, &rows);
    let model = chain(512);
    let compiled = opened(&model);
    let row: Vec<f32> = (0..512).map(|feature| if feature == 200 { -1.0 } else { 1.0 }).collect();
    let mut margin = [0.0f32];
    eval::reference::margins(&model, &row, &mut margin);
    let found = contributions(&compiled, std::slice::from_ref(&row));
    let sum: f64 = found[0].iter().copied().map(f64::from).sum();
    assert!((sum - f64::from(margin[0])).abs() < 1e-5, "{sum}, not {}", margin[0]);
    let matrix = interactions(&compiled, &[row]);
    for (line, own) in matrix[0].chunks(513).zip(&found[0]) {
        let sum: f64 = line.iter().copied().map(f64::from).sum();
        assert!((sum - f64::from(*own)).abs() < 1e-5, "{sum}, not {own}");
    }
}

#[test]
fn a_row_polls_for_cancellation() {
    let model = chain(512);
    let compiled = opened(&model);
    let mut scratch = ContributionScratch::default();
    let (polls, row) = (Cell::new(0), vec![1.0; 512]);
    let mut out = vec![0.0; 513 * 513];
    compiled
        .interactions(
            &mut scratch,
            &row,
            &mut out,
            Cancel::unwinding(&|| polls.set(polls.get() + 1)),
        )
        .unwrap();
    // 64 walks of 512 splits with up to 511 other features.
    assert!(polls.get() > 100, "{}", polls.get());
}

/// Contributions to several outputs are computed in parts where sums of all would need much memory.
#[test]
fn contributions_to_the_outputs_of_a_wide_model_are_those_of_a_narrow_one() {
    // Rows one by one, and blocks of them.
    for (count, features) in [(2, 1_100_000), (17, 130_000)] {
        let mut model = covered(13, Shape::of(5, 2, 6, 5));
        let rows = rows(14, &model, count);
        let narrow = narrowed(&opened(&model), &rows);
        let expected = contributions(&opened(&model), &narrow).concat();
        model.parts.num_features = features;
        model.parts.feature_names.clear();
        model.parts.feature_types.resize(features, crate::ensemble::FeatureType::Numerical);
        model.parts.categories.resize(features, None);
        let wide = |mut row: Vec<f32>| {
            row.resize(features, 0.0);
            row
        };
        let rows = narrow.into_iter().map(wide).collect::<Vec<_>>().concat();
        let mut out = vec![7.0; count * 2 * (features + 1)];
        let mut scratch = ContributionScratch::default();
        let compiled = opened(&model);
        compiled.contributions(&mut scratch, &rows, &mut out, Cancel::never()).unwrap();
        for (out, expected) in out.chunks(features + 1).zip(expected.chunks(6)) {
            assert_eq!([&out[..5], &out[features..]].concat(), expected, "{count} rows");
        }
    }
}

/// A wide model's matrix is computed in parts, with the same result.
#[test]
fn the_matrix_of_a_wide_model_agrees_with_the_oracle() {
    let model = covered(11, Shape::of(3500, 2, 6, 6));
    let compiled = opened(&model);
    let rows = rows(12, &model, 1);
    let (polls, mut out) = (Cell::new(0), vec![7.0; 2 * 3501 * 3501]);
    let mut scratch = ContributionScratch::default();
    let narrow = &narrowed(&compiled, &rows)[0];
    compiled
        .interactions(
            &mut scratch,
            narrow,
            &mut out,
            Cancel::unwinding(&|| polls.set(polls.get() + 1)),
        )
        .unwrap();
    close(&out, &reference::interactions(&model, &rows[0]), ORACLE, "wide");
    assert!(polls.get() > 2 * 3501, "{}", polls.get());
    assert!(scratch.bytes() <= 40 << 20, "{}", scratch.bytes());
}

#[test]
fn a_cancelled_row_leaves_nothing_behind() {
    let compiled = opened(&chain(90));
    let mut scratch = ContributionScratch::default();
    let row = vec![vec![1.0; 90]];
    let expected = contributions(&compiled, &row);
    let mut out = vec![0.0; 91];
    let polls = Cell::new(0);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let rows = row.concat().repeat(1000);
        let mut out = vec![0.0; 91_000];
        let cancel = || {
            polls.set(polls.get() + 1);
            assert!(polls.get() < 3, "cancelled");
        };
        compiled.contributions(&mut scratch, &rows, &mut out, Cancel::unwinding(&cancel))
    }));
    assert!(outcome.is_err());
    let row = row.concat();
    compiled.contributions(&mut scratch, &row, &mut out, Cancel::never()).unwrap();
    assert_eq!(out, expected[0]);
}

#[test]
fn a_model_without_covers_is_refused() {
    let mut model = covered(5, Shape::of(3, 1, 4, 4));
    assert!(opened(&model).has_covers());
    model.trees.iter_mut().flat_map(|tree| &mut tree.nodes).for_each(|node| set_cover(node, 0.0));
    let compiled = opened(&model);
    assert!(!compiled.has_covers());
    let (mut scratch, mut out) = (ContributionScratch::default(), [0.0; 4]);
    let error =
        compiled.contributions(&mut scratch, &[0.0; 3], &mut out, Cancel::never()).err().unwrap();
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
    assert!(error.hint().is_some());
    set_cover(&mut model.trees[0].nodes[0], f32::NAN);
    assert!(!opened(&model).has_covers());
}
