//! Damage to valid text causes neither a panic nor a long run without polling for cancellation.

use std::cell::Cell;

use super::{FRAME, LINEAR, VALID, edited};
use crate::malformed::damage::{Random, change_every_byte, survives};
use crate::malformed::parse;
use gbtrees::{Cancel, ErrorKind, Limits};

/// Truncation before the end of the trees is refused. Later lines are optional, so truncation between
/// them gives the same trees.
#[test]
fn every_truncation_is_refused_or_leaves_all_trees() {
    for text in [VALID, *FRAME, &edited(LINEAR.trim_end_matches("; "))] {
        let whole = parse(text.as_bytes()).unwrap();
        let trees_end = text.find("end of trees").unwrap() + "end of trees".len();
        // Long files are cut at every byte near the end, and at some before.
        let step = if text.len() < 2000 { 1 } else { 7 };
        let early = (0..trees_end).step_by(step);
        for length in early.chain(trees_end..text.len()) {
            match parse(&text.as_bytes()[..length]) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}")
                }
                Ok(model) => {
                    assert!(length >= trees_end, "{length} bytes are accepted");
                    assert_eq!(model.trees(), whole.trees());
                    let last = text[..length].trim_end_matches('\n').lines().last().unwrap();
                    assert!(
                        text.lines().any(|line| line == last),
                        "a line is cut at {length} bytes"
                    );
                }
            }
        }
    }
}

#[test]
fn damaged_bytes_give_an_error_or_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let valid = VALID.as_bytes();
    let linear = edited(LINEAR.trim_end_matches("; "));
    let mut counts = change_every_byte(linear.as_bytes(), b"\n= -9", &mut random);
    for (bytes, times) in [(valid, 10_000), (linear.as_bytes(), 10_000), (FRAME.as_bytes(), 1000)] {
        for _ in 0..times {
            counts[usize::from(survives(&random.damaged(bytes)))] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
}

/// Polls for cancellation in each mebibyte, whatever it holds.
#[test]
fn a_long_line_polls_for_cancellation() {
    let mebibytes = 4;
    let spaces = " ".repeat(mebibytes << 20);
    for text in [
        format!("tree\n{spaces}"),
        edited(&format!("leaf_value= -> leaf_value={spaces}x")),
        edited(&format!("feature_names= -> feature_names={spaces}x")),
        edited(&format!("binary -> {spaces}x")),
        edited(&format!("1:33:0 -> {}", "1:".repeat(mebibytes << 19))),
        edited(&format!("null -> [[{}", "1,".repeat(mebibytes << 19))),
    ] {
        let pauses = Cell::new(0);
        let _ = gbtrees::internals::parse(
            text.as_bytes(),
            &Limits::default(),
            Cancel::unwinding(&|| pauses.set(pauses.get() + 1)),
        );
        assert!(pauses.get() >= mebibytes, "{} pauses in {} MiB", pauses.get(), text.len() >> 20);
    }
}
