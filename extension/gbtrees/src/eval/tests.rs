//! The compiled model against the oracle, bit for bit, on random models.

use std::cell::Cell;

use proptest::prelude::*;

use crate::Cancel;
use crate::ErrorKind;
use crate::compiled::CompiledModel;
use crate::compiled::aligned::{AlignedBytes, StableBytes};
use crate::compiled::records::GroupKind;
use crate::compiled::sections::{
    CONDITION_COLUMNS, CTR_PARTS, GROUPS, LEAF_VALUES_SINGLE, TILE_GROUPS,
};
use crate::compiled::tiles::{CODE_LEVELS, MAX_SHARING, TILE_LEVELS, TileForm, TileGroup};
use crate::ensemble::{ClassBy, Ensemble, Node, Precision, RealInput, Task, Transform, Tree};
use crate::eval::{BatchScratch, Kernel, Margin, Scratch, reference};
use crate::explain::ContributionScratch;
use crate::lower::compile;
use crate::random::{
    Random, Shape, leaf_wise, linear, model, narrowed, rows, symmetric, times, with_categories,
    with_linear_leaves, with_vectors,
};

fn opened(model: &Ensemble) -> CompiledModel<AlignedBytes> {
    CompiledModel::open(compile(model, &[], Cancel::never()).unwrap()).unwrap()
}

/// Asserts that margins by every kernel, and leaves, equal the oracle's for every row. Returns the image,
/// which takes longer to compile than all rows take.
fn agrees(model: &Ensemble, rows: &[Vec<f64>]) -> CompiledModel<AlignedBytes> {
    let compiled = opened(model);
    match model.sum_precision() {
        Precision::Single => agrees_in::<f32>(model, &compiled, rows),
        Precision::Double => agrees_in::<f64>(model, &compiled, rows),
    }
    compiled
}

/// Asserts the same with margins of the model's width.
fn agrees_in<M: Margin>(
    model: &Ensemble,
    compiled: &CompiledModel<impl StableBytes>,
    rows: &[Vec<f64>],
) {
    let mut scratch = Scratch::new(compiled);
    let (narrow, expected) = (narrowed(compiled, rows), of_the_oracle::<M>(model, rows));
    let mut margins = vec![M::of(7.0); model.num_outputs()];
    let (mut leaves, mut ids) = (vec![7u32; model.trees().len()], vec![0u32; model.trees().len()]);
    let kernels: Vec<Kernel> = Kernel::available().collect();
    let mut scratches: Vec<Scratch> =
        kernels.iter().map(|kernel| Scratch::with_kernel(compiled, *kernel)).collect();
    for ((row, narrow), expected) in rows.iter().zip(&narrow).zip(&expected) {
        for (scratch, kernel) in scratches.iter_mut().zip(&kernels) {
            compiled.margins(scratch, narrow, &mut margins).unwrap();
            assert_eq!(bits(&margins), *expected, "{kernel:?}: margins of {row:?}");
        }
        compiled.leaves(&mut scratch, narrow, &mut leaves).unwrap();
        reference::leaves(model, row, &mut ids);
        assert_eq!(leaves, ids, "leaves of {row:?}");
    }
    batch_agrees::<M>(compiled, rows, &expected);
}

fn bits<M: Margin>(margins: &[M]) -> Vec<u64> {
    margins.iter().map(|margin| margin.double().to_bits()).collect()
}

/// The bits of each row's margins by the oracle, which takes longer than the kernels do.
fn of_the_oracle<M: Margin>(model: &Ensemble, rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    let mut margins = vec![M::of(0.0); model.num_outputs()];
    let of_row = |row: &Vec<f64>| {
        reference::margins(model, row, &mut margins);
        bits(&margins)
    };
    rows.iter().map(of_row).collect()
}

/// Asserts the expected bits for all rows in one call.
fn batch_agrees<M: Margin>(
    compiled: &CompiledModel<impl StableBytes>,
    rows: &[Vec<f64>],
    expected: &[Vec<u64>],
) {
    let narrow = narrowed(compiled, rows).concat();
    let outputs = compiled.num_outputs();
    for kernel in Kernel::available() {
        let mut scratch = BatchScratch::with_kernel(compiled, kernel);
        let mut margins = vec![M::of(7.0); rows.len() * outputs];
        compiled.margins_batch(&mut scratch, &narrow, &mut margins).unwrap();
        for ((row, margins), expected) in
            rows.iter().zip(margins.chunks_exact(outputs)).zip(expected)
        {
            assert_eq!(bits(margins), *expected, "{kernel:?}: {row:?}");
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1usize..300, 1usize..5, 0usize..40, 0u32..13, 0usize..4, any::<bool>()).prop_map(
        |(features, outputs, trees, depth, categorical, any_library)| {
            // Fewer deep trees, since they are large.
            let trees = trees * 6 / (depth as usize).max(6);
            Shape { features, outputs, trees, depth, categorical, any_library }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_image_agrees_with_the_oracle(seed in any::<u64>(), shape in shapes()) {
        let mut model = model(seed, shape);
        model.set_real_input([RealInput::Decimal, RealInput::Binary][(seed % 2) as usize]);
        let rows = rows(seed ^ 1, &model, 70);
        reals_agree(&model, &agrees(&model, &rows), &rows);
    }
}

/// The bits of a row's margins by the compiled model and by the oracle.
fn both<M: Margin>(
    model: &Ensemble,
    compiled: &CompiledModel<impl StableBytes>,
    narrow: &[f32],
    row: &[f64],
) -> (Vec<u64>, Vec<u64>) {
    let mut margins = vec![M::of(0.0); model.num_outputs()];
    compiled.margins(&mut Scratch::new(compiled), narrow, &mut margins).unwrap();
    let found = bits(&margins);
    reference::margins(model, row, &mut margins);
    (found, bits(&margins))
}

/// The margins of rows of reals are those of the numbers that the model takes them for.
fn reals_agree(model: &Ensemble, compiled: &CompiledModel<impl StableBytes>, rows: &[Vec<f64>]) {
    let (mut row_of_reals, mut doubles) = (vec![0.0; compiled.row_length()], Vec::new());
    for row in rows {
        let reals: Vec<f32> = row.iter().map(|value| *value as f32).collect();
        doubles.clear();
        doubles.extend(reals.iter().map(|real| compiled.double_of_real(*real)));
        compiled.narrow_row(&doubles, &mut row_of_reals);
        for (feature, real) in reals.iter().enumerate() {
            if !compiled.takes_hash(feature) {
                row_of_reals[feature] = compiled.narrow_real(feature, *real);
            }
        }
        let (found, expected) = match model.sum_precision() {
            Precision::Single => both::<f32>(model, compiled, &row_of_reals, &doubles),
            Precision::Double => both::<f64>(model, compiled, &row_of_reals, &doubles),
        };
        assert_eq!(found, expected, "{:?}: {reals:?}", model.real_input());
    }
}

#[test]
fn linear_models_agree_with_the_oracle() {
    for (seed, (features, outputs)) in (0..).zip([(1, 1), (7, 1), (40, 3), (300, 2)]) {
        let model = linear(seed, features, outputs);
        let compiled = opened(&model);
        let rows = rows(seed, &model, 70);
        let (mut margins, mut expected) = (vec![7.0f32; outputs], vec![0.0f32; outputs]);
        let mut scratch = Scratch::new(&compiled);
        for (row, narrow) in rows.iter().zip(narrowed(&compiled, &rows)) {
            reference::margins(&model, row, &mut expected);
            compiled.margins(&mut scratch, &narrow, &mut margins).unwrap();
            assert_eq!(bits(&margins), bits(&expected), "{row:?}");
            // Starting from the model's base margins gives the same.
            margins.copy_from_slice(model.base_margin());
            compiled.margins_from(&mut scratch, &narrow, &mut margins).unwrap();
            assert_eq!(bits(&margins), bits(&expected), "{row:?}");
        }
        batch_agrees::<f32>(&compiled, &rows, &of_the_oracle::<f32>(&model, &rows));
        let leaves = compiled.leaves(&mut scratch, &vec![0.0; features], &mut []);
        assert_eq!(leaves.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn linear_leaves_agree_with_the_oracle() {
    for seed in 0..60 {
        let (any_library, categorical) = (seed % 2 == 0, [0, 3][seed as usize % 3 % 2]);
        let shape =
            Shape { any_library, categorical, ..Shape::of(9, 1 + seed as usize % 4, 30, 6) };
        let model = with_linear_leaves(seed, model(seed, shape));
        let compiled = opened(&model);
        assert_eq!((compiled.row_length(), compiled.has_linear_leaves()), (27, true));
        agrees(&model, &rows(seed ^ 1, &model, 70));
        let row = vec![0.5; compiled.row_length()];
        let mut out = vec![0.0; 10 * model.num_outputs()];
        let mut scratch = ContributionScratch::default();
        let refused = compiled.contributions(&mut scratch, &row, &mut out, Cancel::never());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn symmetric_trees_agree_with_the_oracle() {
    let mut symmetric_groups = 0;
    for seed in 0..60 {
        let any_library = seed % 2 == 0;
        let categorical = [0, 2][seed as usize % 3 % 2];
        let shape =
            Shape { any_library, categorical, ..Shape::of(4, 1 + seed as usize % 2, 40, 9) };
        let model = symmetric(seed, model(seed, shape));
        let compiled = agrees(&model, &rows(seed ^ 1, &model, 130));
        let groups = compiled.sections().get(TILE_GROUPS);
        symmetric_groups += groups.iter().filter(|group| group.form == TileForm::Symmetric).count();
    }
    assert!(symmetric_groups > 100, "{symmetric_groups}");
}

/// Trees of several outputs, with numbers of outputs and of rows around those that are added together.
#[test]
fn leaf_vectors_have_the_oracles_bits() {
    let (mut in_tiles, mut deep) = (0, 0);
    for seed in 0..90 {
        let outputs = [2, 3, 4, 5, 6, 7, 8, 9, 10, 17][seed as usize % 10];
        let depth = if seed % 3 == 0 { 13 } else { 7 };
        let categorical = [0, 0, 0, 3][seed as usize % 4];
        let shape = Shape { any_library: true, categorical, ..Shape::of(4, outputs, 12, depth) };
        let model = model(seed, shape);
        let model = match seed % 3 {
            0 => model,
            1 => symmetric(seed, model),
            _ => leaf_wise(seed, model, 40),
        };
        let model = with_vectors(model);
        let count = [127, 128, 300, 512, 700][seed as usize % 5];
        let compiled = agrees(&model, &rows(seed ^ 1, &model, count));
        let groups = compiled.sections().get(TILE_GROUPS);
        let is_tile = |group: &TileGroup| group.below == 0 && group.levels <= TILE_LEVELS;
        in_tiles += usize::from(groups.iter().all(is_tile));
        deep += usize::from(groups.iter().any(|group| group.below > 0));
    }
    assert!(in_tiles > 20 && deep > 10, "{in_tiles} in tiles, {deep} deep");
}

/// Equal leaves of a tree share values, also across outputs, if all their bits are equal.
#[test]
fn equal_leaves_share_values() {
    let mut model = with_vectors(model(3, Shape::of(4, 2, 30, 5)));
    let pure = [[1.0, 0.0], [0.0, 1.0], [0.0, -0.0]];
    for (number, tree) in model.trees.iter_mut().enumerate() {
        let vectors = tree.leaf_vectors.len() / 2;
        let vector = |leaf: usize| pure[(leaf + number) % pure.len()];
        tree.leaf_vectors = (0..vectors).flat_map(vector).collect();
    }
    let compiled = opened(&model);
    let most = model.trees.iter().map(|tree| tree.leaf_vectors.len().min(2 * pure.len())).sum();
    let values = compiled.sections().get(LEAF_VALUES_SINGLE).len();
    assert_eq!(values, most);
    agrees(&model, &rows(4, &model, if cfg!(miri) { 4 } else { 300 }));
}

/// Leaf-wise trees, including chains, with all kinds of missing values, categories, precision and
/// output.
#[test]
fn recoded_trees_agree_with_the_oracle() {
    let mut coded = [0; CODE_LEVELS as usize + 1];
    for seed in 0..100 * times() as u64 {
        let shape = Shape {
            any_library: seed % 3 != 0,
            categorical: [0, 1, 3][seed as usize % 3],
            ..Shape::of([1, 3, 10, 60][seed as usize % 4], 1 + seed as usize / 4 % 2, 40, 9)
        };
        let leaves =
            [5, 12, 31, 33, 64, 100, 127, 200, 255, 256, 257, 1000, 3000][seed as usize % 13];
        // Fewer large trees, so that codes pay off; those of 257 leaves have more conditions than a
        // segment.
        let trees = if leaves > 257 { 6 } else { 40 };
        let model = leaf_wise(seed, model(seed, Shape { trees, ..shape }), leaves);
        let rows = rows(seed ^ 1, &model, [70, 130, 512, 600][seed as usize / 2 % 4]);
        for group in agrees(&model, &rows).sections().get(TILE_GROUPS) {
            coded[group.levels as usize] += u32::from(group.form == TileForm::Coded);
        }
    }
    assert!(coded[4..].iter().all(|groups| *groups > 2), "{coded:?}");
}

#[test]
fn categorical_models_agree_with_the_oracle_with_outcomes_and_without() {
    let mut with_outcomes = 0;
    for seed in 0..60 {
        let shape = Shape {
            categorical: 1 + seed as usize % 3,
            any_library: seed % 5 == 0,
            ..Shape::of(1 + seed as usize % 7, 1, 37, 2 + seed as u32 % 9)
        };
        let mut model = model(seed, shape);
        let set = model.trees.iter_mut().find_map(|tree| tree.category_sets.last_mut());
        // Too many codes for a table.
        if let (true, Some(set)) = (seed % 2 == 0, set) {
            set.words.resize(1 << 18, 1 << 31);
        }
        let compiled = agrees(&model, &rows(seed ^ 1, &model, 70));
        with_outcomes += usize::from(compiled.sections().outcome_slots().is_some());
    }
    assert!((20..40).contains(&with_outcomes), "{with_outcomes}");
}

#[test]
fn models_of_unusual_shapes_agree_with_the_oracle() {
    // Wide nodes for many features; thresholds hit exactly; base margins alone; single leaves.
    for (seed, shape, count) in [
        (11, Shape { categorical: 5, ..Shape::of(40_000, 2, 21, 7) }, 20),
        (21, Shape::of(1, 1, 37, 5), 3000),
        (31, Shape::of(3, 3, 0, 0), 3),
        (41, Shape::of(2, 1, 19, 0), 3),
    ] {
        let model = model(seed, shape);
        agrees(&model, &rows(seed + 1, &model, count));
    }
}

#[test]
fn a_tree_too_large_for_compact_links_takes_wide_nodes() {
    let shape = Shape::of(5, 1, 3, 4);
    let mut model = model(13, shape);
    let inner = (1u32 << 17) - 1;
    let split = |id| {
        let [left, right] = [2 * id + 1, 2 * id + 2];
        let threshold = f64::from(id % 1009) / 64.0 - 8.0;
        Node::numerical(id % 5, threshold, id % 3 == 0, [left, right], 0.0, 0.0)
    };
    let leaf = |id| Node::Leaf { value: f64::from(id), cover: 0.0 };
    let nodes = (0..inner).map(split).chain((inner..2 * inner + 1).map(leaf)).collect();
    model.trees[1] = Tree::of(nodes, 17);
    let polls = Cell::new(0);
    let compiled = CompiledModel::open(
        compile(&model, &[], Cancel::unwinding(&|| polls.set(polls.get() + 1))).unwrap(),
    )
    .unwrap();
    // Every 16,384 of 262,143 nodes, in each of four passes.
    assert!(polls.get() > 4 * 16, "{} polls", polls.get());
    let kinds: Vec<GroupKind> =
        compiled.sections().get(GROUPS).iter().map(|group| group.kind).collect();
    assert_eq!(kinds, [GroupKind::Compact, GroupKind::Wide, GroupKind::Compact]);
    agrees(&model, &rows(14, &model, 300));
}

/// XGBoost's margin of a base score of one half is -0.0, and stays so if no tree adds to it.
#[test]
fn an_empty_sum_keeps_its_sign() {
    let file = br#"{"version": [3, 4, 1], "learner": {
        "objective": {"name": "binary:logistic"},
        "learner_model_param":
            {"base_score": "5E-1", "num_class": "0", "num_feature": "1", "num_target": "2"},
        "gradient_booster": {"name": "gbtree", "model": {
            "gbtree_model_param": {"num_trees": "1"}, "tree_info": [0], "trees": [{
                "tree_param": {"num_nodes": "1"}, "left_children": [-1], "right_children": [-1],
                "split_indices": [0], "split_conditions": [0.25], "default_left": [0],
                "loss_changes": [0], "sum_hessian": [1]}]}}}}"#;
    let model = crate::internals::parse(file, &crate::Limits::default(), Cancel::never()).unwrap();
    let mut margins = [1.0f32; 2];
    reference::margins(&model, &[0.0f64], &mut margins);
    assert_eq!(bits(&margins), bits(&[0.25f32, -0.0]));
    agrees(&model, &[vec![0.0]]);
}

/// Two features with more thresholds than 16 bits count, one of them with missing values going right.
#[test]
fn ranks_of_many_thresholds_agree_with_the_oracle() {
    let shape = Shape::of(2, 1, 540, 2);
    let mut model = model(17, shape);
    let inner = (1u32 << 8) - 1;
    for (index, tree) in (0u32..).zip(&mut model.trees) {
        let split = |id| {
            let feature = index % 2;
            let threshold = f64::from(id * 271 + index / 2) / 16.0;
            let children = [2 * id + 1, 2 * id + 2];
            Node::numerical(feature, threshold, feature == 0, children, 0.0, 0.0)
        };
        let leaf = |id| Node::Leaf { value: f64::from((id * 37 + index) % 101), cover: 0.0 };
        *tree =
            Tree::of((0..inner).map(split).chain((inner..2 * inner + 1).map(leaf)).collect(), 8);
    }
    let columns = opened(&model).sections().get(CONDITION_COLUMNS).len();
    assert!(columns > 2 * MAX_SHARING, "{columns} columns");
    agrees(&model, &rows(18, &model, 600));
}

/// Many rows, in batches of all sizes.
#[test]
fn kernels_agree_with_the_oracle_on_many_rows() {
    let shape = |features, outputs, trees, depth, categorical| {
        let any_library = [5, 7, 8, 13].contains(&depth) && categorical != 4;
        Shape { categorical, any_library, ..Shape::of(features, outputs, trees, depth) }
    };
    let shapes = [
        // All in one chunk; several chunks and levels; more thresholds than a column has ranks.
        shape(10, 1, 25, 6, 0),
        shape(7, 1, 150, 5, 0),
        shape(3, 1, 90, 8, 0),
        Shape::of(3, 1, 90, 8),
        shape(2, 3, 70, 7, 0),
        // Deep trees, with and without codes; codes alone; more cuts than a segment has.
        shape(20, 1, 24, 12, 0),
        shape(9, 2, 20, 13, 3),
        shape(12, 1, 60, 6, 1),
        shape(150, 1, 70, 8, 4),
    ];
    let mut random = Random(91);
    let mut count = 0;
    while count < 25_000 * times() {
        for shape in shapes {
            let seed = random.next();
            let model = model(seed, shape);
            let most = [20, 130, 600, 1000][random.below(4)];
            let batch = 1 + random.below(most);
            agrees(&model, &rows(seed ^ 1, &model, batch));
            count += batch;
        }
    }
}

#[test]
fn a_call_takes_fewer_rows_of_a_deep_forest() {
    let shape = Shape::of(3, 1, 480, 6);
    let mut model = model(33, shape);
    let rows_per_call = |model: &Ensemble| opened(model).rows_per_call();
    assert_eq!(rows_per_call(&model), 512);
    // The stated depth is walked, to the deepest of each sixteen.
    model.trees.iter_mut().for_each(|tree| tree.depth = 1000);
    assert_eq!(rows_per_call(&model), (16 << 20) / (480 * 1000 + 3));
    // Each part of a target statistic's key counts as 16 nodes.
    let file = golden_models::file("catboost/1.2.10/ctr_four.cbm");
    let limits = crate::Limits::default();
    let mut model = crate::internals::parse(file, &limits, Cancel::never()).unwrap();
    model.trees = model.trees.iter().cloned().cycle().take(480).collect();
    model.trees.iter_mut().for_each(|tree| tree.depth = 100);
    model.round_starts = (0..=480).collect();
    let compiled = opened(&model);
    let parts = compiled.sections().get(CTR_PARTS).len();
    let steps = 480 * 100 + compiled.num_split_features();
    assert_eq!(compiled.rows_per_call(), (16 << 20) / (steps + 16 * parts));
    assert_ne!(compiled.rows_per_call(), (16 << 20) / steps);
}

fn image_of(task: Task, transform: Transform, outputs: usize) -> CompiledModel<impl StableBytes> {
    let shape = Shape::of(2, outputs, 4, 2);
    let mut model = model(51, shape);
    model.parts.objective.task = task;
    model.parts.objective.transform = transform;
    if transform == Transform::Identity {
        (model.parts.objective.class_by, model.parts.objective.class_threshold) =
            (ClassBy::Margin, 0.0);
    }
    opened(&model)
}

#[test]
fn classes_follow_the_margins() {
    let binary = image_of(Task::Binary, Transform::Logistic, 1);
    assert_eq!(binary.class(&mut [0.0f32]), Some(0), "one half is not above one half");
    assert_eq!(binary.class(&mut [0.1f32]), Some(1));
    // Above zero, but its logistic function rounds to one half.
    assert_eq!(binary.class(&mut [1e-9f32]), Some(0));
    let raw = image_of(Task::Binary, Transform::Identity, 1);
    assert_eq!([raw.class(&mut [1e-9f32]), raw.class(&mut [0.0f32])], [Some(1), Some(0)]);
    assert!(binary.predicts_probabilities() && !raw.predicts_probabilities());
    let several = image_of(Task::Multiclass, Transform::ArgMax, 3);
    assert_eq!(several.class(&mut [1.0f32, 2.0, 2.0]), Some(1));
    assert_eq!(several.num_values(), 1);
    assert!(!several.predicts_probabilities());
    assert!(image_of(Task::Multiclass, Transform::Softmax, 3).predicts_probabilities());
    assert_eq!(image_of(Task::Regression, Transform::Identity, 1).class(&mut [1.0f32]), None);
    assert_eq!(image_of(Task::Binary, Transform::Logistic, 2).class(&mut [1.0f32, 1.0]), None);
}

#[test]
fn the_first_of_equal_probabilities_decides() {
    let file = include_bytes!("../../tests/golden/tie.json");
    let model = crate::internals::parse(file, &crate::Limits::default(), Cancel::never()).unwrap();
    let compiled = opened(&model);
    let mut margins = [0.0f32; 3];
    compiled.margins(&mut Scratch::new(&compiled), &[0.0], &mut margins).unwrap();
    assert!(margins[0] < margins[1], "{margins:?}");
    assert_eq!(compiled.class(&mut margins), Some(0), "{margins:?}");
}

#[test]
fn wrong_lengths_are_errors() {
    let shape = Shape { categorical: 3, ..Shape::of(3, 2, 20, 4) };
    let compiled = opened(&model(61, shape));
    let mut scratch = Scratch::new(&compiled);
    let refused = |result: crate::Result<()>, what: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::RowLength, what));
    };
    let mut margins = |features: usize, out: usize| {
        let row = vec![0.5; features];
        compiled.margins(&mut scratch, &row, &mut vec![0.0f32; out])?;
        compiled.margins_from(&mut scratch, &row, &mut vec![0.0f64; out])?;
        compiled.leaves(&mut scratch, &row, &mut vec![0; 10 * out])
    };
    margins(3, 2).unwrap();
    refused(margins(2, 2), "there are 2 features, not 3");
    refused(margins(4, 2), "there are 4 features, not 3");
    refused(margins(3, 1), "there is room for 1 numbers, not for 2");
    refused(margins(3, 3), "there is room for 3 numbers, not for 2");
    let leaves =
        |out: usize| compiled.leaves(&mut Scratch::new(&compiled), &[0.5; 3], &mut vec![0; out]);
    refused(leaves(19), "there is room for 19 numbers, not for 20");
    let mut scratch = BatchScratch::new(&compiled);
    let mut batch = |numbers: usize, out: usize| {
        compiled.margins_batch(&mut scratch, &vec![0.5; numbers], &mut vec![0.0f64; out])
    };
    batch(0, 0).unwrap();
    batch(600, 400).unwrap();
    refused(batch(601, 400), "there are 601 features, not 600");
    refused(batch(600, 399), "there is room for 399 numbers, not for 400");
    let mut scratch = ContributionScratch::default();
    let mut explained = |numbers: usize, out: usize| {
        let rows = vec![0.5; numbers];
        compiled.contributions(&mut scratch, &rows, &mut vec![0.0; 8 * out], Cancel::never())?;
        compiled.interactions(&mut scratch, &rows, &mut vec![0.0; 32 * out], Cancel::never())
    };
    explained(6, 2).unwrap();
    refused(explained(7, 2), "there are 7 features, not 6");
    refused(explained(6, 1), "there is room for 8 numbers, not for 16");
}

#[test]
fn scratch_of_another_image_is_reused() {
    let small = Shape::of(2, 1, 5, 3);
    let large = Shape { features: 90, ..small };
    let [small, large] = [small, large].map(|shape| model(71, shape));
    let [small_image, large_image] = [&small, &large].map(opened);
    let mut scratch = Scratch::new(&small_image);
    let (mut margin, mut expected) = ([0.0f32], [0.0f32]);
    for (model, compiled) in [(&large, &large_image), (&small, &small_image)] {
        let row = &rows(72, model, 1)[0];
        compiled
            .margins(&mut scratch, &narrowed(compiled, std::slice::from_ref(row))[0], &mut margin)
            .unwrap();
        reference::margins(model, row, &mut expected);
        assert_eq!(margin, expected);
    }
}

#[test]
fn categories_are_found_by_value() {
    let shape = Shape::of(4, 1, 1, 1);
    let model = with_categories(model(81, shape));
    let compiled = opened(&model);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|feature| compiled.is_categorical(feature)),
        [true, true, true, false, false]
    );
    let text = compiled.categories(0).unwrap();
    let codes = ["Zürich", "", "Aachen", "aachen", "Z", "b"].map(|word| text.code_of_text(word));
    assert_eq!(codes, [Some(0), Some(1), Some(2), Some(3), None, None]);
    assert_eq!((text.code_of_integer(0), text.code_of_float(0.0)), (None, None));
    let integers = compiled.categories(1).unwrap();
    let codes = [7, -3, i64::MAX, 0, 1].map(|number| integers.code_of_integer(number));
    assert_eq!(codes, [Some(0), Some(1), Some(2), Some(3), None]);
    let floats = compiled.categories(2).unwrap();
    let codes =
        [1.5, 0.0, -0.0, f64::INFINITY, -2.0, f64::NAN].map(|number| floats.code_of_float(number));
    assert_eq!(codes, [Some(0), Some(1), Some(1), Some(2), Some(3), None]);
    let crossed = [7.0, -0.0, 7.5, 1e19].map(|number| integers.code_of_float(number));
    assert_eq!(crossed, [Some(0), Some(3), None, None]);
    assert_eq!([0, -2, 1].map(|number| floats.code_of_integer(number)), [Some(1), Some(3), None]);
    assert!(compiled.categories(3).is_none() && compiled.categories(4).is_none());
}
