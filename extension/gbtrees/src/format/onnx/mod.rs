//! Reads ONNX files of one tree ensemble, as skl2onnx, onnxmltools and others write them.
//!
//! `wire` and `proto` read the protocol buffer, `graph` interprets its nodes, `ensemble` and
//! `ensemble5` read the trees, and `splits` rewrites them to test the model's input, described by
//! `inputs`, instead of the results of earlier nodes.
//!
//! Numbers are those of single-threaded ONNX Runtime
//! (onnxruntime/core/providers/cpu/ml/tree_ensemble_common.h): ensembles of floats or integers compare
//! and add in f32, of doubles in f64, tree after tree from 0; an average divides the sum, then base
//! values are added. With several threads ONNX Runtime adds in another order.
//!
//! Errors name the byte, or the tree and node.

mod cells;
mod columns;
mod encoders;
mod ensemble;
mod ensemble5;
mod graph;
mod graph_value;
mod inputs;
mod leaves;
mod postprocess;
mod preprocess;
mod proto;
mod splits;
mod trees;
mod wire;

use crate::ensemble::{
    Builder, Ensemble, EnsembleParts, FeatureType, Node, Scaling, Task, check_limit,
};
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::proto::File;
use crate::format::onnx::wire::Bytes;
use crate::format::reader::CancelChecks;
use crate::{Cancel, Limits, Result};

pub(super) fn read(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<Ensemble> {
    let file = proto::read(Bytes { bytes, start: 0 }, &mut CancelChecks::new(cancel))?;
    let graph = graph::read(&file, limits, CancelChecks::new(cancel))?;
    let graph::Graph { ensemble, inputs } = graph;
    let mut codes = inputs.codes();
    let num_features = inputs.columns.unwrap_or_else(|| used(&ensemble));
    check_limit(num_features, limits.features, "features")?;
    let RawEnsemble { objective, trees, outputs, base, divisor, labels, precision } = ensemble;
    let mut checks = CancelChecks::new(cancel);
    let splits::Lowered { trees, value_precision, ranks } =
        splits::lowered(trees, num_features, &codes, limits, &mut checks)?;
    let base_score = base.iter().map(|value| *value as f32).chain(std::iter::repeat(0.0));
    let class_labels = match objective.task {
        Task::Binary | Task::Multiclass => labels,
        Task::Regression | Task::Ranking => Vec::new(),
    };
    let features = 0..num_features;
    let kind = |feature| match codes.contains_key(&feature) {
        true => FeatureType::Categorical,
        false => FeatureType::Numerical,
    };
    let feature_types = features.clone().map(kind).collect();
    let is_open = |feature| codes.get(&feature).is_some_and(|codes| codes.is_open);
    let unknown_codes = features.clone().map(is_open).collect();
    let parts = EnsembleParts {
        format: "onnx",
        version: version(file.producer_version),
        objective,
        value_precision,
        sum_precision: precision,
        base_score: base_score.take(outputs).collect(),
        base_margin: vec![0.0; outputs],
        scaling: Scaling { divisor, bias: base, in_margin: true, ..Scaling::default() },
        num_features,
        feature_names: inputs.names,
        feature_types,
        categories: features.map(|feature| Some(codes.remove(&feature)?.categories)).collect(),
        ranks,
        class_labels,
        attributes: attributes(&file),
    };
    let rounds = (0..=trees.len()).map(|tree| tree as u32).collect();
    let mut builder = Builder::new(parts, limits)?;
    builder.set_unknown_codes(unknown_codes)?;
    for tree in trees {
        builder.add_tree(tree, cancel)?;
    }
    builder.finish(rounds)
}

/// Returns the number of input columns in use, for files that do not fix a row's width.
fn used(ensemble: &RawEnsemble) -> usize {
    let tested = ensemble.trees.iter().map(|tree| {
        let features = tree.parts.nodes.iter().filter_map(|node| match node {
            Node::Split(split) => {
                tree.table.column(split.feature as usize).map(|(source, _)| source + 1)
            }
            _ => None,
        });
        features.max().unwrap_or(1).max(tree.table.sources())
    });
    tested.max().unwrap_or(1)
}

/// Parses the leading numbers of the converter's version.
fn version(text: &str) -> [u32; 3] {
    let mut version = [0; 3];
    for (number, part) in version.iter_mut().zip(text.split('.')) {
        let Ok(found) = part.parse() else { break };
        *number = found;
    }
    version
}

fn attributes(file: &File<'_>) -> Vec<(String, String)> {
    let opsets = file.opsets.iter().filter(|(domain, _)| *domain == "ai.onnx.ml");
    let mut attributes: Vec<(String, String)> = opsets
        .take(1)
        .map(|(domain, version)| ((*domain).to_owned(), version.to_string()))
        .collect();
    if !file.producer.is_empty() {
        attributes.push(("producer".to_owned(), file.producer.to_owned()));
    }
    attributes
}
