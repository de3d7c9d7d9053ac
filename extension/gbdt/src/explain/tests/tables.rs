//! Contributions by tables against the oracle, with every kernel, room and number of rows.

use super::*;
use crate::forest::sections::TILE_GROUPS;
use crate::forest::tiles::TileForm;

/// The contributions by tables of at most so many bytes: all rows in one call, then a few alone.
fn by_tables(
    image: &Image<AlignedBytes>,
    kernel: Kernel,
    kind: ContributionKind,
    max_bytes: usize,
    rows: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let mut scratch = ContributionScratch::with_tables(image, kernel, max_bytes).unwrap();
    let per_row = image.num_outputs() * (image.num_features() + 1);
    let mut out = vec![7.0; rows.len() * per_row];
    image.contributions(&mut scratch, kind, &rows.concat(), &mut out, &mut || ()).unwrap();
    let found: Vec<Vec<f32>> = out.chunks(per_row).map(<[f32]>::to_vec).collect();
    assert!(scratch.table_bytes() <= max_bytes, "{}", scratch.table_bytes());
    for count in [1, 2, 50] {
        let few = &rows[rows.len() - count..];
        let out = &mut out[..count * per_row];
        image.contributions(&mut scratch, kind, &few.concat(), out, &mut || ()).unwrap();
        assert_eq!(bits(out), bits(&found[rows.len() - count..].concat()), "{count} rows");
    }
    found
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Whether sums of tables' entries, which are f32, are as near as their roundings allow. Those of trees that
/// cancel each other are larger than what is left.
fn sums_are_close(model: &Model, found: &[f32], expected: &[f64], what: &str) {
    let rounded = rounding(found, 0.0, model.trees().len(), largest_sum(model));
    within(found, expected, ORACLE * largest(expected) + rounded, what);
}

/// Tables give what the oracle gives, with every kernel the same bits.
fn tables_agree(model: &Model, seed: u64, rows_in_a_call: usize, compared: usize) {
    let rows = rows(seed, model, rows_in_a_call);
    let image = opened(model);
    let narrow = narrowed(&image, &rows);
    for (kind, max_bytes) in
        KINDS.into_iter().flat_map(|kind| [(kind, usize::MAX), (kind, 600_000), (kind, 60_000)])
    {
        let mut expected: Option<Vec<Vec<f32>>> = None;
        for kernel in Kernel::available() {
            let found = by_tables(&image, kernel, kind, max_bytes, &narrow);
            let same = expected.get_or_insert_with(|| found.clone());
            for (number, (found, same)) in found.iter().zip(same).enumerate() {
                assert_eq!(bits(found), bits(same), "{kernel:?}, row {number}");
            }
        }
        for (row, found) in rows.iter().zip(expected.unwrap()).take(compared) {
            let expected = reference::contributions(model, kind, row);
            sums_are_close(model, &found, &expected, "tables");
        }
    }
}

/// The same for interactions.
fn pairs_by_tables(
    image: &Image<AlignedBytes>,
    kernel: Kernel,
    max_bytes: usize,
    rows: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let mut scratch = ContributionScratch::with_tables(image, kernel, max_bytes).unwrap();
    image.make_interaction_tables(&mut scratch, &mut || ());
    assert!(scratch.table_bytes() <= max_bytes, "{}", scratch.table_bytes());
    let per_row = image.num_outputs() * (image.num_features() + 1).pow(2);
    let mut out = vec![7.0; rows.len() * per_row];
    image.interactions(&mut scratch, &rows.concat(), &mut out, &mut || ()).unwrap();
    let found: Vec<Vec<f32>> = out.chunks(per_row).map(<[f32]>::to_vec).collect();
    for count in [1, 2, 50] {
        let few = &rows[rows.len() - count..];
        let out = &mut out[..count * per_row];
        image.interactions(&mut scratch, &few.concat(), out, &mut || ()).unwrap();
        assert_eq!(bits(out), bits(&found[rows.len() - count..].concat()), "{count} rows");
    }
    found
}

fn pairs_agree(model: &Model, seed: u64, rows_in_a_call: usize, compared: usize) {
    let rows = rows(seed, model, rows_in_a_call);
    let image = opened(model);
    let narrow = narrowed(&image, &rows);
    for max_bytes in [usize::MAX, 600_000, 60_000] {
        let mut expected: Option<Vec<Vec<f32>>> = None;
        for kernel in Kernel::available() {
            let found = pairs_by_tables(&image, kernel, max_bytes, &narrow);
            let same = expected.get_or_insert_with(|| found.clone());
            for (number, (found, same)) in found.iter().zip(same).enumerate() {
                assert_eq!(bits(found), bits(same), "{kernel:?}, row {number}");
            }
        }
        for (row, found) in rows.iter().zip(expected.unwrap()).take(compared) {
            let expected = reference::interactions(model, row);
            sums_are_close(model, &found, &expected, "tables of pairs");
        }
    }
}

#[test]
fn tables_that_are_made_first_serve_the_first_row() {
    let model = covered(5, Shape { categorical: 1, ..Shape::of(6, 2, 12, 6) });
    let (image, rows) = (opened(&model), rows(6, &model, 100));
    let narrow = narrowed(&image, &rows);
    for kind in KINDS {
        let many = by_tables(&image, Kernel::default(), kind, usize::MAX, &narrow);
        let mut scratch =
            ContributionScratch::with_tables(&image, Kernel::default(), usize::MAX).unwrap();
        image.make_tables(&mut scratch, kind, &mut || ());
        assert!(scratch.table_bytes() > 0);
        let mut out = vec![7.0; many[0].len()];
        image.contributions(&mut scratch, kind, &narrow[0], &mut out, &mut || ()).unwrap();
        assert_eq!(bits(&out), bits(&many[0]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_agree_with_the_oracle(
        seed in any::<u64>(),
        (features, outputs, trees, depth) in (1usize..40, 1usize..4, 1usize..9, 0u32..11),
        categorical in 0usize..3,
        any_library in any::<bool>(),
    ) {
        let shape = Shape { features, outputs, trees, depth, categorical, any_library };
        tables_agree(&covered(seed, shape), seed ^ 1, 70, 5);
    }

    #[test]
    fn tables_of_pairs_agree_with_the_oracle(
        seed in any::<u64>(),
        (features, outputs, trees, depth) in (1usize..30, 1usize..4, 1usize..7, 0u32..9),
        categorical in 0usize..3,
        any_library in any::<bool>(),
    ) {
        let shape = Shape { features, outputs, trees, depth, categorical, any_library };
        pairs_agree(&covered(seed, shape), seed ^ 1, 70, 3);
    }
}

/// Leaves of up to 2 in six trees add up to -0.517.
#[test]
fn trees_that_cancel_each_other_agree_with_the_oracle() {
    let seed = 6045039943453899360;
    let model = covered(seed, Shape { categorical: 2, ..Shape::of(1, 1, 6, 7) });
    pairs_agree(&model, seed ^ 1, 70, 3);
    tables_agree(&model, seed ^ 1, 70, 5);
}

#[test]
fn tables_of_many_rows_agree_with_the_oracle() {
    for (seed, rows) in [(1, 511), (2, 513), (3, 2049), (4, 2600)] {
        let shape = Shape { categorical: 2, ..Shape::of(6, 2, 12, 6) };
        tables_agree(&covered(seed, shape), seed ^ 1, rows, 20);
        pairs_agree(&covered(seed, shape), seed ^ 1, rows, 5);
    }
}

/// Lines of leaves lie in the order of codes where trees are recoded.
#[test]
fn tables_of_recoded_trees_agree_with_the_oracle() {
    let mut coded = 0;
    for seed in 0..12 {
        let shape =
            Shape { any_library: seed % 2 == 0, ..Shape::of(6, 1 + seed as usize % 2, 20, 6) };
        let model = leaf_wise(seed, model(seed, shape), [20, 40, 90][seed as usize % 3]);
        let model = with_covers(seed, model);
        tables_agree(&model, seed ^ 1, 600, 30);
        let image = opened(&model);
        let groups = image.sections().get(TILE_GROUPS);
        coded += groups.iter().filter(|group| group.form == TileForm::Coded).count();
    }
    assert!(coded > 10, "{coded}");
}
