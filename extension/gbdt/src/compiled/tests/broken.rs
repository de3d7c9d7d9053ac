//! Images that change after they were verified: evaluation stops, and gives no number.

#![allow(unsafe_code, reason = "opens images without verification")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::compiled::Image;
use crate::compiled::aligned::AlignedBytes;
use crate::compiled::records::{Leaves, Split};
use crate::compiled::sections::*;
use crate::compiled::tests::{refused, tampered, tampered_at};
use crate::eval::{BatchScratch, Kernel, Scratch};
use crate::explain::ContributionScratch;
use crate::lower::compile;
use crate::random::Shape;
use crate::random::model::model;
use crate::{Cancel, ErrorKind, Result};

/// What is asked of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Margins,
    Leaves,
    Batch,
    Contributions,
    Interactions,
}

use Asked::*;

/// Whether what was asked gave numbers: not if it stopped at an invariant, or returned an error for it.
fn gives_numbers(image: &Image<AlignedBytes>, asked: Asked) -> bool {
    match catch_unwind(AssertUnwindSafe(|| ask(image, asked))) {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            false
        }
        Err(_) => false,
    }
}

fn ask(image: &Image<AlignedBytes>, asked: Asked) -> Result<()> {
    let (features, outputs) = (image.num_features(), image.num_outputs());
    let rows = vec![0.5; 600 * features];
    let row = &rows[..features];
    let mut scratch = Scratch::with_kernel(image, Kernel::from_name("portable").unwrap());
    let check = Cancel::never();
    match asked {
        Margins => image.margins(&mut scratch, row, &mut vec![0.0f64; outputs]),
        Leaves => image.leaves(&mut scratch, row, &mut vec![0; image.num_trees()]),
        Batch => {
            image.margins_batch(&mut BatchScratch::new(image), &rows, &mut vec![0.0; 600 * outputs])
        }
        Contributions => {
            let mut out = vec![0.0; outputs * (features + 1)];
            image.contributions(&mut ContributionScratch::default(), row, &mut out, check)
        }
        Interactions => {
            let mut out = vec![0.0; outputs * (features + 1) * (features + 1)];
            image.interactions(&mut ContributionScratch::default(), row, &mut out, check)
        }
    }
}

/// The image, which nobody has verified since it was changed, does not answer, and is refused at opening.
fn stops(what: &str, image: AlignedBytes, all: &[Asked]) {
    assert!(refused(&image), "{what}: opened");
    // SAFETY: tests read nothing without a check: see `verified`.
    let image = unsafe { Image::open_checked(image) }.unwrap();
    for asked in all {
        assert!(!gives_numbers(&image, *asked), "{what}: {asked:?}");
    }
}

const ALL: &[Asked] = &[Margins, Leaves, Contributions, Interactions];

fn compiled(shape: Shape) -> AlignedBytes {
    compile(&model(5, shape), &[], Cancel::never()).unwrap()
}

#[test]
fn nodes_that_are_not_there_stop_evaluation() {
    let numerical = || compiled(Shape::of(4, 2, 5, 3));
    assert!(ALL.iter().all(|asked| gives_numbers(&Image::open(numerical()).unwrap(), *asked)));
    let walked = &[Margins, Leaves];
    stops("root", tampered(numerical(), ROOTS, |roots| roots[0] = 1 << 20), walked);
    let far = |nodes: &mut [_]| {
        let nodes: &mut [crate::compiled::records::CompactNode] = nodes;
        nodes.iter_mut().filter(|node| node.right_offset != 0).for_each(|node| {
            node.right_offset = u16::MAX;
        });
    };
    stops("link", tampered(numerical(), COMPACT_NODES, far), walked);
    // The depth is the third word of a group.
    let shallow = tampered_at(numerical(), GROUPS.index, |groups: &mut [u32]| groups[2] = 0);
    stops("depth", shallow, &[Margins, Leaves, Interactions]);
    let outputs = tampered(numerical(), OUTPUTS, |outputs| outputs[0] = 2);
    stops("output", outputs, &[Margins, Contributions]);
    stops("source", tampered(numerical(), SOURCES, |sources| sources[1] = 9), &[Leaves]);
}

#[test]
fn sets_and_values_that_are_not_there_stop_evaluation() {
    let categorical = || compiled(Shape { categorical: 2, ..Shape::of(2, 1, 6, 11) });
    let sets = |nodes: &mut [crate::compiled::records::WideNode]| {
        nodes.iter_mut().filter(|node| node.kind == 1).for_each(|node| node.key = 1 << 20);
    };
    // Where there are answers, nobody reads them.
    stops("set", tampered(categorical(), WIDE_NODES, sets), &[]);
    let double = || compiled(Shape { any_library: true, ..Shape::of(6, 2, 30, 5) });
    let values = |nodes: &mut [crate::compiled::records::CompactNode]| {
        nodes.iter_mut().filter(|node| node.right_offset == 0).for_each(|node| node.key = 1 << 20);
    };
    assert!(gives_numbers(&Image::open(double()).unwrap(), Margins));
    stops("leaf", tampered(double(), COMPACT_NODES, values), &[Margins]);
}

#[test]
fn splits_that_are_not_there_stop_explanations() {
    let tampered = |change: fn(&mut Split)| {
        let image = compiled(Shape::of(4, 2, 5, 5));
        tampered(image, SPLITS, |splits| splits.iter_mut().for_each(change))
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
    let last = |splits: &mut [Split]| splits[0] = Split::new(0, 0, 1).on(0, Leaves::Both);
    let image = crate::compiled::tests::tampered(compiled(Shape::of(4, 2, 5, 5)), SPLITS, last);
    assert!(refused(&image), "splits below none");
    let few =
        crate::compiled::tests::tampered(compiled(Shape::of(4, 2, 5, 5)), TREE_SUMMARIES, |all| {
            all.iter_mut().for_each(|summary| summary.splits += 1);
        });
    stops("count", few, explained);
}

#[test]
fn tiles_that_are_not_there_stop_evaluation() {
    let numerical = || compiled(Shape::of(3, 2, 70, 8));
    let image = Image::open(numerical()).unwrap();
    // Without vectors there are no blocks.
    if Kernel::default().name() == "portable" {
        return;
    }
    assert!(gives_numbers(&image, Batch));
    let outputs = tampered(numerical(), OUTPUTS, |outputs| outputs[69] = 2);
    stops("output", outputs, &[Batch]);
    let run = |runs: &mut [crate::compiled::tiles::PredicateRun]| runs[0].column = 100;
    stops("column", tampered(numerical(), PREDICATE_RUNS, run), &[Batch]);
    let run = |runs: &mut [crate::compiled::tiles::PredicateRun]| runs[0].operands = 1 << 20;
    stops("operands", tampered(numerical(), PREDICATE_RUNS, run), &[Batch]);
    let segment = |segments: &mut [crate::compiled::tiles::Segment]| segments[0].groups = 1;
    assert!(refused(&tampered(numerical(), SEGMENTS, segment)), "groups in no segment");
}
