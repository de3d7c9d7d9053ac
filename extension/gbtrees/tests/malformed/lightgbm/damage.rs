//! No damage to a valid text makes the reader panic, and none makes it run on unasked.

use std::cell::Cell;

use super::{FRAME, LINEAR, VALID, edited};
use crate::malformed::damage::{Random, change_every_byte, survives};
use crate::malformed::parse;
use gbtrees::{Cancel, ErrorKind, Limits};

/// Up to the end of the trees every truncation is refused. Behind it, where lines that not every file has
/// begin, the rest may be absent, and what is left gives the same trees.
#[test]
fn every_truncation_is_refused_or_leaves_all_trees() {
    for text in [VALID, *FRAME, &edited(LINEAR.trim_end_matches("; "))] {
        let whole = parse(text.as_bytes()).unwrap();
        let trees_end = text.find("end of trees").unwrap() + "end of trees".len();
        // A long file is cut at every byte of its end, and at some before.
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
fn damaged_bytes_are_refused_or_give_a_model() {
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

/// However a megabyte is spent, a caller is asked whether to go on.
#[test]
fn a_cancel_is_looked_for_within_one_line() {
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
