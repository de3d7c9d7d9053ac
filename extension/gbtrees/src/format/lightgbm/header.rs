//! The lines before the trees: sizes, objective, features.

use crate::ensemble::{Objective, check_limit};
use crate::format::lightgbm::lines::{Block, Lines};
use crate::format::lightgbm::objective::objective;
use crate::format::reader::CancelChecks;
use crate::format::sniff::unsupported;
use crate::{Error, ErrorKind, Limits, Result};

pub(super) struct Header<'a> {
    /// The format version, such as `v4`.
    pub version: &'a str,
    /// Trees per iteration, which is the number of raw scores per row.
    pub outputs: usize,
    pub objective: Objective,
    /// Whether values are means over iterations, as in a random forest.
    pub averages: bool,
    pub feature_names: Vec<String>,
    /// One entry per feature.
    pub infos: Vec<FeatureInfo>,
    /// Sizes of the trees in bytes, where the file lists them.
    pub tree_sizes: Option<Vec<usize>>,
}

/// A feature's values in the training data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FeatureInfo {
    /// `none`: a single value, or too few others to split by.
    Trivial,
    /// `[least:largest]`.
    Numerical { least: f64, largest: f64 },
    /// `3:-1:7`: category codes; the largest one.
    Categorical { largest: i64 },
}

pub(super) fn read<'a>(lines: &mut Lines<'a, '_>, limits: &Limits) -> Result<Header<'a>> {
    let Some(first) = lines.next().filter(|line| line.ended) else {
        return Err(lines.truncated(None));
    };
    debug_assert_eq!(first.bytes, b"tree", "the format was recognised by it");
    let block = lines.block(None)?;
    let version = version(&block)?;
    let outputs = outputs(&block, limits)?;
    let last = block.required("max_feature_idx")?;
    let num_features = usize::try_from(last.number::<i32>()?)
        .map_err(|_| last.error(ErrorKind::Parameter, "is negative, but a model has a feature"))?
        + 1;
    check_limit(num_features, limits.features, "features")
        .map_err(|error| error.at(last.place()))?;
    Ok(Header {
        version,
        outputs,
        objective: objective(block.get("objective"), outputs, lines.checks())?,
        averages: block.get("average_output").is_some(),
        feature_names: words(&block, "feature_names", num_features, lines)?
            .into_iter()
            .map(str::to_owned)
            .collect(),
        infos: feature_infos(&block, num_features, lines)?,
        tree_sizes: tree_sizes(&block, limits, lines)?,
    })
}

const VERSION_HINT: &str = "Models of LightGBM up to 4, versions v2 to v4, are read.";

/// Returns the format version. Releases before 2.1 omit it and write v2.
fn version<'a>(block: &Block<'a>) -> Result<&'a str> {
    let Some(field) = block.get("version") else { return Ok("v2") };
    if matches!(field.value, "v2" | "v3" | "v4") {
        return Ok(field.value);
    }
    let what =
        format!("version \"{}\" of LightGBM's models", crate::format::lightgbm::shown(field.value));
    Err(unsupported(&what, VERSION_HINT).at(field.place()))
}

fn outputs(block: &Block<'_>, limits: &Limits) -> Result<usize> {
    let classes = block.required("num_class")?;
    let field = block.get("num_tree_per_iteration").unwrap_or(classes);
    let outputs = field.number::<i32>()?;
    if classes.number::<i32>()? != outputs {
        let message = format!("is not the number of trees per iteration, which is {outputs}");
        return Err(classes.error(ErrorKind::Parameter, &message));
    }
    let outputs = usize::try_from(outputs)
        .ok()
        .filter(|outputs| *outputs > 0)
        .ok_or_else(|| field.error(ErrorKind::Parameter, "is not above 0"))?;
    check_limit(outputs, limits.outputs, "outputs").map_err(|error| error.at(field.place()))?;
    Ok(outputs)
}

/// Splits a line into one word per feature.
fn words<'a>(
    block: &Block<'a>,
    key: &str,
    num_features: usize,
    lines: &mut Lines<'_, '_>,
) -> Result<Vec<&'a str>> {
    let field = block.required(key)?;
    let words = field.words(num_features, lines.checks());
    if words.len() == num_features {
        return Ok(words);
    }
    let found =
        if words.len() > num_features { "more".to_owned() } else { words.len().to_string() };
    let message = format!("has {found} values where {num_features} belong");
    Err(field.error(ErrorKind::Length, &message))
}

fn feature_infos(
    block: &Block<'_>,
    num_features: usize,
    lines: &mut Lines<'_, '_>,
) -> Result<Vec<FeatureInfo>> {
    let message = "has a value that is no range, no codes and not none";
    let field = block.required("feature_infos")?;
    words(block, "feature_infos", num_features, lines)?
        .into_iter()
        .map(|word| {
            feature_info(word, lines.checks())
                .ok_or_else(|| field.error(ErrorKind::Parameter, message))
        })
        .collect()
}

fn feature_info(word: &str, checks: &mut CancelChecks<'_>) -> Option<FeatureInfo> {
    if word == "none" {
        return Some(FeatureInfo::Trivial);
    }
    if let Some(range) = word.strip_prefix('[') {
        let (least, largest) = range.strip_suffix(']')?.split_once(':')?;
        return Some(FeatureInfo::Numerical {
            least: least.parse().ok()?,
            largest: largest.parse().ok()?,
        });
    }
    let mut largest = i64::MIN;
    for code in word.split(':') {
        checks.note();
        largest = largest.max(code.parse().ok()?);
    }
    Some(FeatureInfo::Categorical { largest })
}

fn tree_sizes(
    block: &Block<'_>,
    limits: &Limits,
    lines: &mut Lines<'_, '_>,
) -> Result<Option<Vec<usize>>> {
    let Some(field) = block.get("tree_sizes") else { return Ok(None) };
    let count = field.words(limits.trees, lines.checks()).len();
    check_limit(count, limits.trees, "trees").map_err(|error: Error| error.at(field.place()))?;
    field.numbers(count, lines.checks()).map(Some)
}
