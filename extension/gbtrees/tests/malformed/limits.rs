//! A model at a limit is accepted, one above it refused.

use std::cell::Cell;

use crate::malformed::models::{binary, categorical, path};
use crate::malformed::value::Document;
use gbtrees::{Cancel, Error, ErrorKind, Limits};
use serde_json::{Value, json};

fn parse(bytes: &[u8], limits: &Limits) -> Result<gbtrees::internals::Ensemble, Error> {
    gbtrees::internals::parse(bytes, limits, Cancel::never())
}

/// Asserts that the limit `set` accepts the model at `size` and refuses it below.
fn is_bounded(model: &Document, size: usize, set: fn(&mut Limits, usize)) {
    for bytes in [model.to_json(), model.to_ubjson()] {
        let mut limits = Limits::default();
        set(&mut limits, size);
        parse(&bytes, &limits).unwrap();
        set(&mut limits, size - 1);
        assert_eq!(parse(&bytes, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}

#[test]
fn sizes_of_a_model() {
    let mut model = binary();
    is_bounded(&model, 2, |limits, size| limits.trees = size);
    is_bounded(&model, 8, |limits, size| limits.nodes = size);
    is_bounded(&model, 2, |limits, size| limits.depth = size);
    is_bounded(&model, 3, |limits, size| limits.features = size);
    model.set("learner.feature_names", json!([]));
    is_bounded(&model, 3, |limits, size| limits.features = size);
    model.set("learner.learner_model_param.num_target", "5");
    is_bounded(&model, 5, |limits, size| limits.outputs = size);
    model.set("learner.learner_model_param.num_target", "1");
    model.set("learner.learner_model_param.num_class", "5");
    is_bounded(&model, 5, |limits, size| limits.outputs = size);
}

#[test]
fn bytes_of_the_file() {
    for bytes in [binary().to_json(), binary().to_ubjson()] {
        let at = |size| Limits::default().with_bytes(size);
        parse(&bytes, &at(bytes.len())).unwrap();
        let error = parse(&bytes, &at(bytes.len() - 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}

/// A code of 16 million takes 2 MiB, so a few bytes of a file could demand any amount of memory.
#[test]
fn memory_of_category_sets() {
    let mut model = categorical();
    model.set(&path("categories"), [(1 << 24) - 1]);
    model.set(&path("categories_sizes"), [1]);
    let at = |size| Limits::default().with_bytes(size);
    parse(&model.to_json(), &at(2 << 20)).unwrap();
    let error = parse(&model.to_json(), &at((2 << 20) - 4)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

/// Each node of a chain is the right child of the previous one.
#[test]
fn a_chain_as_deep_as_memory_is_walked_without_recursion() {
    let splits = 200_000i64;
    let nodes = 2 * splits + 1;
    let inner = |node: i64| node % 2 == 0 && node < nodes - 1;
    let list = |of: &dyn Fn(i64) -> i64| (0..nodes).map(of).collect::<Value>();
    let zeros = || json!(vec![0.0; nodes as usize]);
    let mut model = binary();
    for (key, value) in [
        ("left_children", list(&|node| if inner(node) { node + 1 } else { -1 })),
        ("right_children", list(&|node| if inner(node) { node + 2 } else { -1 })),
        ("split_indices", list(&|_| 0)),
        ("default_left", list(&|_| 0)),
        ("split_type", list(&|_| 0)),
        ("split_conditions", zeros()),
        ("loss_changes", zeros()),
        ("sum_hessian", zeros()),
        ("tree_param.num_nodes", nodes.to_string().into()),
    ] {
        model.set(&path(key), value);
    }
    model.remove(crate::malformed::models::TREE, "parents");
    let bytes = model.to_ubjson();
    let error = parse(&bytes, &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let polls = Cell::new(0);
    let limits = Limits::default().with_depth(splits as usize);
    let model = gbtrees::internals::parse(
        &bytes,
        &limits,
        Cancel::unwinding(&|| polls.set(polls.get() + 1)),
    )
    .unwrap();
    assert_eq!(model.trees()[0].depth(), 200_000);
    assert!(polls.get() > 100, "only {} polls", polls.get());
}

/// A tree of a few hundred kilobytes becomes 131,071 nodes.
#[test]
fn a_symmetric_tree_polls_for_cancellation() {
    let depth = 16;
    let borders: Vec<f64> = (0..depth).map(f64::from).collect();
    let split = |border: &f64| json!({"split_type": "FloatFeature", "float_feature_index": 0, "border": border});
    let model = json!({
        "features_info": {"float_features": [
            {"feature_index": 0, "flat_feature_index": 0, "borders": borders, "has_nans": false,
             "nan_value_treatment": "AsIs"}
        ]},
        "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        "oblivious_trees": [{
            "leaf_values": vec![1; 1 << depth],
            "splits": borders.iter().map(split).collect::<Value>()
        }],
        "scale_and_bias": [1, [0]]
    });
    let polls = Cell::new(0);
    gbtrees::internals::parse(
        model.to_string().as_bytes(),
        &Limits::default(),
        Cancel::unwinding(&|| polls.set(polls.get() + 1)),
    )
    .unwrap();
    // Reading leaves polls 16 times and the builder 3 * 8; creating the nodes must exceed that.
    assert!(polls.get() > 100, "only {} polls", polls.get());
}

#[test]
fn a_caller_may_unwind_between() {
    let bytes = binary().to_json();
    let result = std::panic::catch_unwind(|| {
        gbtrees::internals::parse(
            &bytes,
            &Limits::default(),
            Cancel::unwinding(&|| std::panic::panic_any("cancelled")),
        )
    });
    assert!(result.is_err());
}
