//! Compiled models that change after verification: evaluation stops without a result.

#![allow(unsafe_code, reason = "opens compiled models without verification")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::compiled::CompiledModel;
use crate::compiled::aligned::AlignedBytes;
use crate::compiled::records::CtrProjection;
use crate::compiled::records::{Leaves, LinearLeaf, LinearTerm, SplitRecord};
use crate::compiled::sections::*;
use crate::compiled::tests::{refused, tampered, tampered_at};
use crate::ensemble::Ensemble;
use crate::eval::{BatchScratch, Kernel, Scratch};
use crate::explain::ContributionScratch;
use crate::lower::compile;
use crate::random::{Shape, linear, model, with_linear_leaves, with_vectors};
use crate::{Cancel, ErrorKind, Result};

/// The calls that a compiled model must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Margins,
    Leaves,
    Batch,
    Contributions,
    Interactions,
}

use Call::*;

/// Returns whether a call gave numbers, instead of stopping at an invariant or returning its error.
fn gives_numbers(compiled: &CompiledModel<AlignedBytes>, call: Call) -> bool {
    match catch_unwind(AssertUnwindSafe(|| run(compiled, call))) {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            false
        }
        Err(_) => false,
    }
}

fn run(compiled: &CompiledModel<AlignedBytes>, call: Call) -> Result<()> {
    let (features, outputs) = (compiled.num_features(), compiled.num_outputs());
    let rows = vec![0.5; 600 * compiled.row_length()];
    let row = &rows[..compiled.row_length()];
    let mut scratch = Scratch::with_kernel(compiled, Kernel::from_name("portable").unwrap());
    let check = Cancel::never();
    match call {
        Margins => compiled.margins(&mut scratch, row, &mut vec![0.0f64; outputs]),
        Leaves => compiled.leaves(&mut scratch, row, &mut vec![0; compiled.num_trees()]),
        Batch => compiled.margins_batch(
            &mut BatchScratch::new(compiled),
            &rows,
            &mut vec![0.0; 600 * outputs],
        ),
        Contributions => {
            let mut out = vec![0.0; outputs * (features + 1)];
            compiled.contributions(&mut ContributionScratch::default(), row, &mut out, check)
        }
        Interactions => {
            let mut out = vec![0.0; outputs * (features + 1) * (features + 1)];
            compiled.interactions(&mut ContributionScratch::default(), row, &mut out, check)
        }
    }
}

/// Asserts that a changed compiled model gives no numbers, and is refused when opened.
fn stops(what: &str, compiled: AlignedBytes, calls: &[Call]) {
    assert!(refused(&compiled), "{what}: opened");
    // SAFETY: tests check every access: see `verified`.
    let compiled = unsafe { CompiledModel::open_checked(compiled) }.unwrap();
    for call in calls {
        assert!(!gives_numbers(&compiled, *call), "{what}: {call:?}");
    }
}

const ALL: &[Call] = &[Margins, Leaves, Contributions, Interactions];

/// Returns a source of copies, so that the model is compiled once; under miri that takes minutes.
fn copies_of(model: &Ensemble) -> impl Fn() -> AlignedBytes + use<> {
    let bytes = compile(model, &[], Cancel::never()).unwrap();
    move || AlignedBytes::copy_of(&bytes).unwrap()
}

fn copies(shape: Shape) -> impl Fn() -> AlignedBytes {
    copies_of(&model(5, shape))
}

#[test]
fn missing_nodes_stop_evaluation() {
    let numerical = copies(Shape::of(4, 2, 5, 3));
    assert!(
        ALL.iter().all(|call| gives_numbers(&CompiledModel::open(numerical()).unwrap(), *call))
    );
    let walked = &[Margins, Leaves];
    stops("root", tampered(numerical(), ROOTS, |roots| roots[0] = 1 << 20), walked);
    let far = |nodes: &mut [_]| {
        let nodes: &mut [crate::compiled::records::CompactNode] = nodes;
        nodes.iter_mut().filter(|node| node.right_offset != 0).for_each(|node| {
            node.right_offset = u16::MAX;
        });
    };
    stops("link", tampered(numerical(), COMPACT_NODES, far), walked);
    // The third word of a group is its depth.
    let shallow = tampered_at(numerical(), GROUPS.index, |groups: &mut [u32]| groups[2] = 0);
    stops("depth", shallow, &[Margins, Leaves, Interactions]);
    let outputs = tampered(numerical(), OUTPUTS, |outputs| outputs[0] = 2);
    stops("output", outputs, &[Margins, Contributions]);
    stops("source", tampered(numerical(), SOURCES, |sources| sources[1] = 9), &[]);
    let merged = |sources: &mut [u32]| sources.iter_mut().skip(1).for_each(|source| *source -= 1);
    assert!(refused(&tampered(numerical(), SOURCES, merged)), "roots of no tree");
}

#[test]
fn missing_sets_and_values_stop_evaluation() {
    let categorical = copies(Shape { categorical: 2, ..Shape::of(2, 1, 6, 11) });
    let sets = |nodes: &mut [crate::compiled::records::WideNode]| {
        nodes.iter_mut().filter(|node| node.kind == 1).for_each(|node| node.key = 1 << 20);
    };
    // Models with outcomes do not read sets.
    stops("set", tampered(categorical(), WIDE_NODES, sets), &[]);
    let double = copies(Shape { any_library: true, ..Shape::of(6, 2, 30, 5) });
    let values = |nodes: &mut [crate::compiled::records::CompactNode]| {
        nodes.iter_mut().filter(|node| node.right_offset == 0).for_each(|node| node.key = 1 << 20);
    };
    assert!(gives_numbers(&CompiledModel::open(double()).unwrap(), Margins));
    stops("leaf", tampered(double(), COMPACT_NODES, values), &[Margins]);
}

#[test]
fn missing_values_of_an_output_stop_evaluation() {
    let compiled = copies_of(&with_vectors(model(5, Shape::of(4, 3, 80, 3))));
    let opened = CompiledModel::open(compiled()).unwrap();
    assert!([Margins, Batch].iter().all(|call| gives_numbers(&opened, *call)));
    let values = opened.sections().get(LEAF_VALUES_SINGLE).len() as u32;
    let all = |key: u32| {
        let nodes = |nodes: &mut [crate::compiled::records::CompactNode]| {
            nodes.iter_mut().filter(|node| node.right_offset == 0).for_each(|node| node.key = key);
        };
        tampered(compiled(), COMPACT_NODES, nodes)
    };
    assert!(!refused(&all(values - 3)));
    stops("last output", all(values - 2), &[Margins]);
    stops("all outputs", all(1 << 20), &[Margins]);
    let apart = |sources: &mut [u32]| sources.iter_mut().skip(1).for_each(|source| *source += 1);
    assert!(refused(&tampered(compiled(), SOURCES, apart)), "a tree of the model without a root");
}

#[test]
fn missing_splits_stop_explanations() {
    let compiled = copies(Shape::of(4, 2, 5, 5));
    let tampered = |change: fn(&mut SplitRecord)| {
        tampered(compiled(), SPLITS, |splits| splits.iter_mut().for_each(change))
    };
    let explained = &[Contributions, Interactions];
    let link = tampered(|split| {
        if split.leaves() == Leaves::None {
            split.other = 1 << 20;
        }
    });
    stops("link", link, explained);
    stops("slot", tampered(|split| split.slot_and_shift |= 1 << 20), explained);
    stops("feature", tampered(|split| split.place_and_kind |= 1 << 20), explained);
    stops("set", tampered(|split| split.place_and_kind |= 1 << 31), explained);
    stops("above", tampered(|split| split.above = 1 << 20), &[Contributions]);
    assert!(refused(&tampered(|split| split.share = 2.0)), "share");
    let kinds = tampered(|split| split.place_and_kind ^= 1 << 27);
    assert!(refused(&kinds), "other leaves than below");
    let right = tampered(|split| {
        if matches!(split.leaves(), Leaves::Left | Leaves::Right) {
            split.other += 1;
        }
    });
    stops("right", right, &[]);
    let last =
        |splits: &mut [SplitRecord]| splits[0] = SplitRecord::new(0, 0, 1).on(0, Leaves::Both);
    let broken = crate::compiled::tests::tampered(compiled(), SPLITS, last);
    assert!(refused(&broken), "splits below none");
    let few = crate::compiled::tests::tampered(compiled(), TREE_SUMMARIES, |all| {
        all.iter_mut().for_each(|summary| summary.splits += 1);
    });
    stops("count", few, explained);
}

#[test]
fn missing_tiles_stop_evaluation() {
    // Without vector instructions there are no blocks.
    if Kernel::default().name() == "portable" {
        return;
    }
    let numerical = copies(Shape::of(3, 2, 70, 8));
    let compiled = CompiledModel::open(numerical()).unwrap();
    assert!(gives_numbers(&compiled, Batch));
    let outputs = tampered(numerical(), OUTPUTS, |outputs| outputs[69] = 2);
    stops("output", outputs, &[Batch]);
    let run = |runs: &mut [crate::compiled::tiles::ConditionRun]| runs[0].column = 100;
    stops("column", tampered(numerical(), CONDITION_RUNS, run), &[Batch]);
    let run = |runs: &mut [crate::compiled::tiles::ConditionRun]| runs[0].operands = 1 << 20;
    stops("operands", tampered(numerical(), CONDITION_RUNS, run), &[Batch]);
    let segment = |segments: &mut [crate::compiled::tiles::Segment]| segments[0].groups = 1;
    assert!(refused(&tampered(numerical(), SEGMENTS, segment)), "groups in no segment");
}

#[test]
fn missing_coefficients_are_refused() {
    let refused = |model| refused(&compile(&model, &[], Cancel::never()).unwrap());
    let whole = linear(1, 3, 2);
    assert!(!refused(whole.clone()));
    let few = whole.coefficients[1..].to_vec();
    assert!(refused(Ensemble { coefficients: few, ..whole.clone() }), "one is not there");
    assert!(refused(Ensemble {
        coefficients: whole.coefficients,
        ..model(1, Shape::of(3, 2, 1, 1))
    }));
}

#[test]
fn missing_linear_leaves_stop_evaluation() {
    let compiled = copies_of(&with_linear_leaves(4, model(4, Shape::of(3, 2, 20, 4))));
    let evaluated = &[Margins, Batch];
    let opened = CompiledModel::open(compiled()).unwrap();
    assert!(evaluated.iter().all(|call| gives_numbers(&opened, *call)));
    let far = |leaves: &mut [LinearLeaf]| leaves.iter_mut().for_each(|leaf| leaf.first = 1 << 20);
    stops("first", tampered(compiled(), LINEAR_LEAVES, far), evaluated);
    let many = |leaves: &mut [LinearLeaf]| leaves.iter_mut().for_each(|leaf| leaf.terms = u32::MAX);
    stops("terms", tampered(compiled(), LINEAR_LEAVES, many), evaluated);
    let feature = |terms: &mut [LinearTerm]| terms.iter_mut().for_each(|term| term.feature = 3);
    stops("feature", tampered(compiled(), LINEAR_TERMS, feature), evaluated);
    // A leaf has no model.
    let mut few = compiled();
    let span = size_of::<Header>() - size_of::<Span>() * (SECTIONS - LINEAR_LEAVES.index) + 8;
    let length = &mut few.bytes_mut()[span..span + 8];
    let leaves = u64::from_ne_bytes(length.try_into().unwrap()) - size_of::<LinearLeaf>() as u64;
    length.copy_from_slice(&leaves.to_ne_bytes());
    seal(few.bytes_mut());
    assert!(refused(&few), "leaf");
}

#[test]
fn missing_statistics_are_refused() {
    let bytes = golden_models::file("catboost/1.2.10/ctr_simple.cbm");
    let model = crate::format::parse(bytes, &crate::Limits::default(), Cancel::never()).unwrap();
    let compiled = copies_of(&model);
    assert!(!refused(&compiled()));
    let projection = |change: fn(&mut CtrProjection)| {
        refused(&tampered(compiled(), CTR_PROJECTIONS, |all| change(&mut all[0])))
    };
    assert!(projection(|projection| projection.width += 1), "width");
    assert!(projection(|projection| projection.bits += 1), "bits");
    assert!(projection(|projection| projection.bits = 64), "all bits");
    assert!(projection(|projection| projection.parts += 1), "parts");
    assert!(projection(|projection| projection.first_word += 1), "table");
    let full = |words: &mut [u32]| words.iter_mut().for_each(|word| *word = 0);
    assert!(refused(&tampered(compiled(), CTR_TABLES, full)), "no empty slot");
    let part = |parts: &mut [u32]| parts[1] = 1 << 20;
    assert!(refused(&tampered_at(compiled(), CTR_PARTS.index, part)), "feature");
    let part = |parts: &mut [u32]| parts[0] = 9;
    assert!(refused(&tampered_at(compiled(), CTR_PARTS.index, part)), "kind");
    let end = (model.num_features() + model.ctrs.projections.len()) as u32;
    let on = |player| refused(&tampered(compiled(), SPLIT_FEATURES, |all| all[0] = player));
    assert!(on(end) && !on(end - 1), "player");
}
