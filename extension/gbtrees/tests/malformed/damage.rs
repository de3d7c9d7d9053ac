//! Damage to valid models: truncated anywhere, or with bytes changed, lost or added.
//!
//! JSON and UBJSON are from XGBoost 3.4.1: two trees of depth 2 on a text category, an integer category
//! and a number. The binary file is from 1.6.2.

use std::sync::LazyLock;

use crate::malformed::models::{binary, categorical};
use crate::malformed::{ErrorKind, Place, parse};
use gbtrees::internals::{Ensemble, Node, SplitCondition, TreeOutput};

const XGBOOST_JSON: &[u8] = include_bytes!("categories.json");
const XGBOOST_UBJSON: &[u8] = include_bytes!("categories.ubj");

static XGBOOST_BINARY: LazyLock<&[u8]> =
    LazyLock::new(|| golden_models::file("xgboost/1.6.2/binary_logistic.bin"));

fn models() -> [Vec<u8>; 6] {
    [
        binary().to_json(),
        binary().to_ubjson(),
        categorical().to_ubjson(),
        XGBOOST_JSON.to_vec(),
        XGBOOST_UBJSON.to_vec(),
        XGBOOST_BINARY.to_vec(),
    ]
}

#[test]
fn every_truncation_is_refused() {
    for bytes in models() {
        parse(&bytes).unwrap();
        for length in 0..bytes.len() {
            let error = parse(&bytes[..length]).unwrap_err();
            // The binary format is recognized by four bytes.
            let untold = bytes == *XGBOOST_BINARY && (1..4).contains(&length);
            let kind = if untold { ErrorKind::Syntax } else { ErrorKind::Truncated };
            assert_eq!(error.kind(), kind, "{length} bytes: {error}");
        }
    }
}

/// Asserts the invariants that evaluation relies on.
fn assert_invariants(model: &Ensemble) {
    let outputs = model.num_outputs();
    assert!(outputs > 0 && model.num_features() > 0);
    assert!(model.base_margin().iter().all(|margin| margin.is_finite()));
    assert_eq!(model.feature_types().len(), model.num_features());
    assert_eq!(model.categories().len(), model.num_features());
    for tree in model.trees() {
        let vectors = tree.output() == TreeOutput::All;
        assert!(
            vectors || matches!(tree.output(), TreeOutput::One(one) if (one as usize) < outputs)
        );
        let mut way = vec![(0usize, 0u32)];
        let mut steps = 0;
        while let Some((node, depth)) = way.pop() {
            steps += 1;
            assert!(steps <= tree.nodes().len() && depth <= tree.depth());
            match &tree.nodes()[node] {
                Node::Leaf { value, .. } => assert!(value.is_finite() && !vectors),
                Node::LeafVector { vector, .. } => {
                    assert!(vectors);
                    assert!((*vector as usize + 1) * outputs <= tree.leaf_vectors().len());
                }
                Node::Split(split) => {
                    assert!((split.feature as usize) < model.num_split_features());
                    match split.condition {
                        SplitCondition::Compare { threshold, .. } => assert!(!threshold.is_nan()),
                        SplitCondition::InSet { set, .. } => {
                            assert!((set as usize) < tree.category_sets().len());
                        }
                    }
                    let below = [split.left, split.right];
                    way.extend(below.map(|child| (child as usize, depth + 1)));
                }
                Node::Deleted => panic!("a link leads to a deleted node"),
            }
        }
    }
}

/// A xorshift generator with a fixed seed, so that runs are reproducible.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns the bytes with up to three runs lost, added, copied or changed.
    pub(crate) fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let start = self.below(damaged.len());
            let length = 1 + self.below(12).min(damaged.len() - start - 1);
            match self.below(4) {
                0 => drop(damaged.drain(start..start + length)),
                1 => {
                    let added: Vec<u8> = (0..length).map(|_| self.next() as u8).collect();
                    drop(damaged.splice(start..start, added));
                }
                2 => {
                    let copied = damaged[start..start + length].to_vec();
                    let target = self.below(damaged.len());
                    drop(damaged.splice(target..target, copied));
                }
                _ => damaged[start] = self.next() as u8,
            }
        }
        damaged
    }
}

/// Parses damaged bytes; returns whether they are a valid model. An error's place is in the file or at its end.
pub(crate) fn survives(bytes: &[u8]) -> bool {
    match parse(bytes) {
        Ok(model) => {
            assert_invariants(&model);
            true
        }
        Err(error) => {
            assert!(!error.message().is_empty());
            let is_inside = match error.place() {
                Place::Byte(at) => at <= bytes.len(),
                Place::Line { line, .. } => line <= bytes.split(|byte| *byte == b'\n').count(),
                _ => true,
            };
            assert!(is_inside, "{error} of {} bytes", bytes.len());
            false
        }
    }
}

/// Replaces each byte in turn: with one bit flipped, with random values, and with `values`. Returns the
/// number of refused and of accepted models.
pub(crate) fn change_every_byte(bytes: &[u8], values: &[u8], random: &mut Random) -> [usize; 2] {
    let mut counts = [0, 0];
    let mut damaged = bytes.to_vec();
    for index in 0..bytes.len() {
        let byte = bytes[index];
        let others = [0, 0xff, byte ^ 1, byte ^ 0x20, byte ^ 0x80, random.next() as u8];
        for value in others.iter().chain(values) {
            damaged[index] = *value;
            counts[usize::from(survives(&damaged))] += 1;
        }
        damaged[index] = byte;
    }
    counts
}

#[test]
fn every_changed_byte_gives_an_error_or_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for bytes in models() {
        let counts = change_every_byte(&bytes, b"[\"9", &mut random);
        (refused, accepted) = (refused + counts[0], accepted + counts[1]);
    }
    assert!(accepted > 1000 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn lost_added_and_moved_bytes_give_an_error_or_a_model() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut refused = 0;
    for bytes in models() {
        for _ in 0..4000 {
            refused += usize::from(!survives(&random.damaged(&bytes)));
        }
    }
    assert!(refused > 10_000, "{refused} refused");
}
