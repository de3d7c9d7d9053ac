//! Reads tree ensembles in this project's documented format, for libraries without a model file.
//!
//! docs/formats.md specifies the file; the Python package writes scikit-learn's trees in it. It is one
//! JSON object, or the same in UBJSON, whose key `tree_ensemble` is the version of the specification,
//! 1. Unknown keys are errors, since a misspelled `threshold` must not become a default.
//!
//! The file determines every bit of a result: types of values and sums, comparison, missing values,
//! start of the sum, and everything after it.

mod tree;

use crate::ensemble::{
    Builder, Categories, ClassBy, Comparison, Ensemble, EnsembleParts, MissingRule, Node,
    Objective, Precision, Scaling, Task, Transform, Tree, TreeOutput, check_limit, in_tree,
};
use crate::format::reader::{Reader, ValueKind, array, double, list, object};
use crate::format::sniff::shown;
use crate::memory::owned;
use crate::{Cancel, Error, ErrorKind, Limits, Result};
use tree::{Allowance, Arrays, threshold};

/// The supported version of the specification.
const VERSION: i64 = 1;

/// Comparison rules, stated once for all trees.
#[derive(Clone, Copy)]
struct Comparing<'a> {
    comparison: Comparison,
    missing: MissingRule,
    /// Whether each feature has `cuts`, which its splits compare with.
    is_cut: &'a [bool],
}

struct File {
    version: Option<i64>,
    library_version: [u32; 3],
    objective: String,
    task: Task,
    transform: Transform,
    slope: f64,
    class_by: ClassBy,
    class_threshold: Option<f64>,
    class_labels: Vec<String>,
    num_features: Option<usize>,
    feature_names: Vec<String>,
    categories: Vec<Option<Categories>>,
    unknown_codes: Vec<bool>,
    value_precision: Precision,
    sum_precision: Precision,
    comparison: Comparison,
    missing: MissingRule,
    cuts: Vec<Vec<f64>>,
    outputs: usize,
    base: Vec<f64>,
    scaling: Scaling,
    trees: Vec<Arrays>,
    round_starts: Option<Vec<u32>>,
    attributes: Vec<(String, String)>,
}

impl Default for File {
    fn default() -> Self {
        File {
            version: None,
            library_version: [0; 3],
            objective: String::new(),
            task: Task::Regression,
            transform: Transform::Identity,
            slope: 1.0,
            class_by: ClassBy::Margin,
            class_threshold: None,
            class_labels: Vec::new(),
            num_features: None,
            feature_names: Vec::new(),
            categories: Vec::new(),
            unknown_codes: Vec::new(),
            value_precision: Precision::Double,
            sum_precision: Precision::Double,
            comparison: Comparison::LessOrEqual,
            missing: MissingRule::Nan,
            cuts: Vec::new(),
            outputs: 1,
            base: Vec::new(),
            scaling: Scaling::default(),
            trees: Vec::new(),
            round_starts: None,
            attributes: Vec::new(),
        }
    }
}

/// Reads and checks a file. `format` is its name for users.
pub(super) fn read<'a, R: Reader<'a>>(
    reader: &mut R,
    format: &'static str,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<Ensemble> {
    let mut file = File::default();
    let mut allowance = Allowance::new(limits);
    object(reader, |reader, key| file.member(reader, key, limits, &mut allowance))?;
    reader.finish()?;
    if file.version.is_none() {
        bail!(MissingKey, "the file has no key \"tree_ensemble\"");
    }
    file.build(format, limits, cancel)
}

impl File {
    fn member<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        key: &str,
        limits: &Limits,
        allowance: &mut Allowance,
    ) -> Result<()> {
        match key {
            "tree_ensemble" => self.version = Some(version(reader)?),
            "library_version" => self.library_version = library_version(&reader.string()?),
            "objective" => self.objective = owned(reader.string()?)?,
            "task" => self.task = word(reader, key, TASKS)?,
            "link" => self.transform = word(reader, key, LINKS)?,
            "slope" => self.slope = real(reader)?,
            "class_by" => self.class_by = word(reader, key, CLASS_BY)?,
            "class_threshold" => self.class_threshold = Some(real(reader)?),
            "class_labels" => self.class_labels = strings(reader, limits.outputs, "class labels")?,
            "num_features" => self.num_features = Some(size(reader, limits.features, "features")?),
            "feature_names" => {
                self.feature_names = strings(reader, limits.features, "feature names")?;
            }
            "categories" => {
                self.categories = array(reader, limits.features, "features", categories)?;
            }
            "unknown_category" => {
                self.unknown_codes = array(reader, limits.features, "features", R::boolean)?;
            }
            "value_type" => self.value_precision = word(reader, key, PRECISIONS)?,
            "sum_type" => self.sum_precision = word(reader, key, PRECISIONS)?,
            "comparison" => self.comparison = word(reader, key, COMPARISONS)?,
            "missing" => self.missing = word(reader, key, MISSING)?,
            "cuts" => {
                self.cuts =
                    array(reader, limits.features, "features", |reader| cuts(reader, allowance))?;
            }
            "outputs" => self.outputs = size(reader, limits.outputs, "outputs")?,
            "base" => self.base = array(reader, limits.outputs, "outputs", real)?,
            "scale" => self.scaling.scale = real(reader)?,
            "divisor" => self.scaling.divisor = real(reader)?,
            "bias" => self.scaling.bias = array(reader, limits.outputs, "outputs", real)?,
            "trees" => {
                self.trees =
                    array(reader, limits.trees, "trees", |reader| Arrays::read(reader, allowance))?;
            }
            "round_starts" => {
                let starts = array(reader, limits.trees + 1, "rounds", index)?;
                self.round_starts = Some(starts);
            }
            "attributes" => object(reader, |reader, key| {
                check_limit(self.attributes.len() + 1, limits.features, "attributes")?;
                self.attributes.push((key.to_owned(), owned(reader.string()?)?));
                Ok(())
            })?,
            _ => return Err(unknown(reader, key)),
        }
        Ok(())
    }

    fn build(self, format: &'static str, limits: &Limits, cancel: Cancel<'_>) -> Result<Ensemble> {
        let (task, outputs) = (self.task, self.outputs);
        let means = self.transform == Transform::MeanLogistic;
        if task == Task::Binary && outputs != 1 && !means
            || task == Task::Multiclass && (outputs < 2 || means)
            || self.transform == Transform::WeightedMedian
                && (task != Task::Regression || !outputs.is_multiple_of(2))
        {
            bail!(Parameter, "{outputs} outputs do not fit the task");
        }
        if ![0, outputs].contains(&self.base.len()) {
            bail!(Length, "model has {outputs} outputs, but {} bases", self.base.len());
        }
        let probability = matches!(self.transform, Transform::Identity | Transform::Softmax);
        let class_by = if means { ClassBy::Value } else { self.class_by };
        let one_half = if class_by == ClassBy::Value || probability { 0.5 } else { 0.0 };
        let mut bases = vec![0.0; outputs];
        bases.iter_mut().zip(&self.base).for_each(|(base, given)| *base = *given);
        let single = self.sum_precision == Precision::Single;
        let at_most = self.comparison == Comparison::LessOrEqual;
        let ranks = self.cuts.into_iter().map(|cuts| {
            // The number after the largest below 0 is -0, and ranks are compared by their bits.
            cuts.into_iter().map(|cut| if at_most { cut.next_up() } else { cut } + 0.0).collect()
        });
        let ranks: Vec<Vec<f64>> = ranks.collect();
        let base_score: Vec<f32> = bases.iter().map(|base| *base as f32).collect();
        let is_cut: Vec<bool> = ranks.iter().map(|ranks| !ranks.is_empty()).collect();
        let parts = EnsembleParts {
            format,
            version: self.library_version,
            objective: Objective {
                name: self.objective,
                transform: self.transform,
                slope: self.slope,
                task,
                class_by,
                class_threshold: self.class_threshold.unwrap_or(one_half),
                levels: Vec::new(),
            },
            value_precision: self.value_precision,
            sum_precision: self.sum_precision,
            base_margin: if single { base_score.clone() } else { vec![0.0; outputs] },
            base_score,
            scaling: self.scaling,
            num_features: self.num_features.unwrap_or(self.feature_names.len()),
            feature_names: self.feature_names,
            feature_types: Vec::new(),
            categories: self.categories,
            ranks,
            class_labels: self.class_labels,
            attributes: self.attributes,
        };
        if self.value_precision == Precision::Single && self.trees.iter().any(Arrays::is_linear) {
            bail!(Parameter, "linear models of leaves need the \"value_type\" float64");
        }
        let mut builder = Builder::new(parts, limits)?;
        builder.set_unknown_codes(self.unknown_codes)?;
        let mut starts = if single { Vec::new() } else { bases };
        let comparing =
            Comparing { comparison: self.comparison, missing: self.missing, is_cut: &is_cut };
        let count = self.trees.len();
        for (number, arrays) in self.trees.into_iter().enumerate() {
            let tree =
                arrays.tree(comparing, outputs, cancel).map_err(|error| in_tree(error, number))?;
            builder.add_tree(started(tree, &mut starts, outputs), cancel)?;
        }
        if starts.iter().any(|base| *base != 0.0) {
            bail!(Unsupported, "an output has a base, but no tree");
        }
        let rounds = self.round_starts.unwrap_or_else(|| (0..=count as u32).collect());
        builder.finish(rounds)
    }
}

/// Adds an output's start of the sum to the leaves of its first tree. 0 plus a number is that number,
/// so the bits are those of a sum that starts from it.
fn started(mut tree: Tree, starts: &mut [f64], outputs: usize) -> Tree {
    match tree.output {
        TreeOutput::One(output) => {
            let Some(start) = starts.get_mut(output as usize) else { return tree };
            for node in &mut tree.nodes {
                if let Node::Leaf { value, .. } = node {
                    *value += *start;
                }
            }
            tree.linear_leaves.iter_mut().for_each(|leaf| leaf.constant += *start);
            *start = 0.0;
        }
        TreeOutput::All => {
            for vector in tree.leaf_vectors.chunks_mut(outputs) {
                vector.iter_mut().zip(&*starts).for_each(|(value, start)| *value += start);
            }
            starts.fill(0.0);
        }
    }
    tree
}

const PRECISIONS: &[(&str, Precision)] =
    &[("float32", Precision::Single), ("float64", Precision::Double)];
const COMPARISONS: &[(&str, Comparison)] =
    &[("<=", Comparison::LessOrEqual), ("<", Comparison::Less)];
const MISSING: &[(&str, MissingRule)] =
    &[("nan", MissingRule::Nan), ("zero", MissingRule::Zero), ("none", MissingRule::None)];
const CLASS_BY: &[(&str, ClassBy)] = &[("margin", ClassBy::Margin), ("value", ClassBy::Value)];
const TASKS: &[(&str, Task)] = &[
    ("regression", Task::Regression),
    ("binary", Task::Binary),
    ("multiclass", Task::Multiclass),
    ("ranking", Task::Ranking),
];
const LINKS: &[(&str, Transform)] = &[
    ("identity", Transform::Identity),
    ("logistic", Transform::Logistic),
    ("softmax", Transform::Softmax),
    ("exponential", Transform::Exponential),
    ("exponential_minus_one", Transform::ExponentialMinusOne),
    ("isolation", Transform::Isolation),
    ("signed_square", Transform::SignedSquare),
    ("log_one_plus_exp", Transform::LogOnePlusExp),
    ("mean_variance", Transform::MeanVariance),
    ("mean_logistic", Transform::MeanLogistic),
    ("hinge", Transform::Hinge),
    ("ascending", Transform::Ascending),
    ("expectile", Transform::Expectile),
    ("weighted_median", Transform::WeightedMedian),
];

/// Reads one of a key's allowed words.
fn word<'a, R: Reader<'a>, T: Copy>(reader: &mut R, key: &str, words: &[(&str, T)]) -> Result<T> {
    let found = reader.string()?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let message = format!("\"{key}\" is \"{}\", not one of: {}", shown(&found), known.join(", "));
    Err(reader.error(ErrorKind::Parameter, message))
}

fn unknown<'a, R: Reader<'a>>(reader: &R, key: &str) -> Error {
    let message = format!("\"{}\" is not a key of a tree ensemble", shown(key));
    reader.error(ErrorKind::Parameter, message)
}

fn version<'a, R: Reader<'a>>(reader: &mut R) -> Result<i64> {
    match reader.integer()? {
        VERSION => Ok(VERSION),
        other => {
            let message = format!("version {other} of tree ensembles is not supported");
            Err(reader.error(ErrorKind::Unsupported, message))
        }
    }
}

/// Parses a version such as `1.7.2`; zeros for anything else.
fn library_version(text: &str) -> [u32; 3] {
    let mut parts = text.split('.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part.get(..digits).and_then(|digits| digits.parse().ok())
    });
    match [parts.next(), parts.next(), parts.next()] {
        [Some(Some(major)), Some(Some(minor)), patch] => {
            [major, minor, patch.flatten().unwrap_or_default()]
        }
        _ => [0; 3],
    }
}

/// Reads a finite f64.
fn real<'a, R: Reader<'a>>(reader: &mut R) -> Result<f64> {
    let value = double(reader)?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(reader.error(ErrorKind::NotFinite, "a number is not finite"))
}

fn index<'a, R: Reader<'a>>(reader: &mut R) -> Result<u32> {
    let value = reader.integer()?;
    u32::try_from(value)
        .map_err(|_| reader.error(ErrorKind::Number, "an index is negative, or too large for u32"))
}

fn size<'a, R: Reader<'a>>(reader: &mut R, max: usize, what: &str) -> Result<usize> {
    let value = usize::try_from(reader.integer()?).ok().filter(|size| *size > 0);
    let size =
        value.ok_or_else(|| reader.error(ErrorKind::Parameter, format!("a model needs {what}")))?;
    check_limit(size, max, what)?;
    Ok(size)
}

fn strings<'a, R: Reader<'a>>(reader: &mut R, max: usize, what: &str) -> Result<Vec<String>> {
    array(reader, max, what, |reader| owned(reader.string()?))
}

/// Reads the cuts of a feature into intervals, or null.
fn cuts<'a, R: Reader<'a>>(reader: &mut R, allowance: &mut Allowance) -> Result<Vec<f64>> {
    let cuts = list(reader, allowance.values, "cuts", threshold)?;
    allowance.values = allowance.values.saturating_sub(cuts.len());
    if cuts.iter().any(|cut| cut.is_nan() || *cut == f64::INFINITY) {
        return Err(reader.error(ErrorKind::NotFinite, "a cut is NaN or infinite"));
    }
    Ok(cuts)
}

/// Reads a feature's values in code order, or null for a numeric feature.
fn categories<'a, R: Reader<'a>>(reader: &mut R) -> Result<Option<Categories>> {
    if reader.kind()? == ValueKind::Null {
        reader.skip()?;
        return Ok(None);
    }
    crate::format::categories::of_file(reader).map(Some)
}

#[cfg(test)]
mod tests;
