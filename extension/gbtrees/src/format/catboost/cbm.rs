//! `cbm`: four magic bytes, the length of a FlatBuffer, the FlatBuffer, and tables of statistics.
//!
//! Field numbers are those of catboost/libs/model/flatbuffers/model.fbs and features.fbs. Asymmetric
//! trees have an entry per node: the distances to its two children, 0 if absent, and the index of the
//! values of rows that end there (`CalcNonSymmetricTreesSingle` in
//! catboost/libs/model/cpu/evaluator_impl.cpp).

use crate::ensemble::{check_limit, in_tree, node_of};
use crate::format::catboost::cbm_ctr::{read_ctrs, read_tables};
use crate::format::catboost::ctr::RawCtrs;
use crate::format::catboost::features::{
    Column, Features, FloatFeature, NanTreatment, OneHot, Unscored,
};
use crate::format::catboost::flatbuffer::{Buffer, Table};
use crate::format::catboost::info::Info;
use crate::format::catboost::splits::RawSplit;
use crate::format::catboost::tree::{Child, RawTree, Shape};
use crate::format::catboost::{File, KNOWN_RELEASE};
use crate::format::reader::{CancelChecks, appended};
use crate::format::sniff::{shown, unsupported};
use crate::memory::{collect, push};
use crate::{Cancel, Error, ErrorKind, Limits, Place, Result};

const SIGNATURE: &[u8] = b"CBM1";
/// The spelling is CatBoost's.
const VERSION: &str = "FlabuffersModel_v1";

pub(in crate::format) fn read(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<File> {
    let (core, rest) = parts(bytes)?;
    let buffer = Buffer::new(core, bytes.len() - core.len() - rest.len());
    let root = buffer.root()?;
    match root.text(0)? {
        Some(VERSION) => {}
        version => {
            let version = shown(version.unwrap_or_default());
            return Err(unsupported(
                &format!("a cbm file of version \"{version}\""),
                KNOWN_RELEASE,
            ));
        }
    }
    let mut info = Info::default();
    for entry in root.tables(2)? {
        cancel.check()?;
        let entry = entry?;
        if let (Some(key), Some(value)) = (entry.text(0)?, entry.text(1)?) {
            info.add(key, value, limits, cancel)?;
        }
    }
    let table = root.table(1)?.ok_or_else(|| missing("ModelTrees"))?;
    let features = read_features(&table, limits)?;
    features.check_scored()?;
    let mut ctrs = RawCtrs { ctrs: read_ctrs(&table, limits, cancel)?, tables: Vec::new() };
    check_limit(ctrs.count_borders(), limits.nodes, "borders")?;
    let parts = root.texts(3)?;
    let rest_start = bytes.len() - rest.len();
    if parts.len() == 0 && !rest.is_empty() {
        return Err(appended(rest_start));
    }
    if parts.len() > 0 && !ctrs.ctrs.is_empty() {
        ctrs.tables = read_tables(parts, rest, rest_start, cancel)?;
    }
    cancel.check()?;
    let trees = read_trees(&table, limits, cancel)?;
    let several = table.vector::<8>(16)?;
    check_limit(several.len(), limits.outputs, "biases")?;
    let bias = match several {
        [] => vec![table.double(15, 0.0)?],
        several => several.iter().map(|bias| f64::from_le_bytes(*bias)).collect(),
    };
    Ok(File { info, features, ctrs, trees, scale: table.double(14, 1.0)?, bias })
}

/// Splits the file into the FlatBuffer and the rest.
fn parts(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(SIGNATURE).and_then(|rest| rest.split_first_chunk());
    let cut =
        rest.and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
    cut.ok_or_else(|| fault!(Truncated, "model ends early").at(Place::Byte(bytes.len())))
}

fn missing(field: &str) -> Error {
    fault!(MissingKey, "model has no field \"{field}\"")
}

fn read_features(trees: &Table<'_, '_>, limits: &Limits) -> Result<Features> {
    let mut features = Features::default();
    let max = limits.features;
    for feature in trees.tables(5)? {
        let feature = feature?;
        check_limit(features.floats.len() + 1, max, "features")?;
        features.floats.push(FloatFeature {
            column: column(&feature, [1, 2, 4])?,
            borders: feature.vector(3)?.iter().map(|border| f32::from_le_bytes(*border)).collect(),
            has_nans: feature.byte(0, 0)? != 0,
            nan_treatment: match feature.byte(5, 0)? {
                0 => NanTreatment::Nan,
                1 => NanTreatment::Below,
                2 => NanTreatment::Above,
                _ => {
                    bail!(Parameter, "a feature has an unknown treatment of missing values");
                }
            },
        });
    }
    for feature in trees.tables(4)? {
        check_limit(features.categorical.len() + 1, max, "features")?;
        features.categorical.push(column(&feature?, [0, 1, 2])?);
    }
    for feature in trees.tables(6)? {
        let feature = feature?;
        check_limit(features.one_hots.len() + 1, max, "features")?;
        let values = feature.vector(1)?.iter().map(|value| i32::from_le_bytes(*value)).collect();
        features.one_hots.push(OneHot { index: feature.integer(0, -1)?, values });
    }
    let count = |column: &FloatFeature| column.borders.len();
    check_limit(features.floats.iter().map(count).sum(), limits.nodes, "borders")?;
    // The first unsupported feature suffices for the error.
    for feature in trees.tables(12)?.take(1) {
        features.unscored.push(Unscored::Text(column(&feature?, [0, 1, 2])?));
    }
    for feature in trees.tables(18)?.take(1) {
        features.unscored.push(Unscored::Embedding(column(&feature?, [0, 1, 2])?));
    }
    if trees.tables(13)?.len() > 0 {
        features.unscored.push(Unscored::Estimated);
    }
    Ok(features)
}

/// Reads a feature, given the field numbers of its index, flat index and name.
fn column(feature: &Table<'_, '_>, [index, flat_index, name]: [usize; 3]) -> Result<Column> {
    Ok(Column {
        index: feature.integer(index, -1)?,
        flat_index: feature.integer(flat_index, -1)?,
        name: feature.text(name)?.unwrap_or_default().to_owned(),
    })
}

/// Vectors shared by all trees; each tree takes the next part.
struct Vectors<'a> {
    splits: &'a [[u8; 4]],
    steps: &'a [[u8; 4]],
    leaf_ids: &'a [[u8; 4]],
    leaves: &'a [[u8; 8]],
    weights: &'a [[u8; 8]],
    /// Whether leaves have weights; old files have none.
    weighted: bool,
    /// Number of leaf values taken so far.
    first_leaf: usize,
    dimensions: usize,
}

fn read_trees(table: &Table<'_, '_>, limits: &Limits, cancel: Cancel<'_>) -> Result<Vec<RawTree>> {
    let dimensions =
        usize::try_from(table.integer(0, 0)?).ok().filter(|dimensions| *dimensions > 0);
    let dimensions =
        dimensions.ok_or_else(|| fault!(Parameter, "\"ApproxDimension\" is not above 0"))?;
    check_limit(dimensions, limits.outputs, "outputs")?;
    let mut vectors = Vectors {
        splits: table.vector(1)?,
        steps: table.vector(10)?,
        leaf_ids: table.vector(11)?,
        leaves: table.vector(8)?,
        weights: table.vector(9)?,
        weighted: false,
        first_leaf: 0,
        dimensions,
    };
    vectors.weighted = !vectors.weights.is_empty();
    let sizes = table.vector::<4>(2)?;
    check_limit(sizes.len(), limits.trees, "trees")?;
    check_limit(vectors.leaves.len(), limits.nodes, "leaves")?;
    check_limit(vectors.splits.len(), limits.nodes, "splits")?;
    let symmetric = vectors.steps.is_empty() && vectors.leaf_ids.is_empty();
    let mut checks = CancelChecks::new(cancel);
    let mut trees = Vec::new();
    let mut start = 0usize;
    let starts = table.vector::<4>(3)?;
    for (index, size) in sizes.iter().enumerate() {
        let stated = starts.get(index).map(|start| i32::from_le_bytes(*start));
        if stated.is_some_and(|stated| usize::try_from(stated) != Ok(start)) {
            let message = "a tree does not begin where the one before it ends";
            return Err(Error::new(ErrorKind::Parameter, message).at(Place::Tree(index)));
        }
        let size = usize::try_from(i32::from_le_bytes(*size)).unwrap_or(usize::MAX);
        let tree = if symmetric { vectors.symmetric(size) } else { vectors.any(size, &mut checks) };
        push(&mut trees, tree.map_err(|error| in_tree(error, index))?)?;
        start = start.saturating_add(size);
        checks.check()?;
    }
    if !(vectors.splits.is_empty() && vectors.leaves.is_empty() && vectors.weights.is_empty()) {
        bail!(Length, "the trees do not take up all splits and leaves");
    }
    Ok(trees)
}

/// Takes `count` elements off the front.
fn take<'a, T>(from: &mut &'a [T], count: usize, what: &str) -> Result<&'a [T]> {
    let (taken, rest) = from.split_at_checked(count).ok_or_else(|| {
        fault!(Length, "a tree needs {count} {what}, of which {} are left", from.len())
    })?;
    *from = rest;
    Ok(taken)
}

fn doubles(bytes: &[[u8; 8]]) -> Result<Vec<f64>> {
    collect(bytes.iter().map(|double| f64::from_le_bytes(*double)))
}

fn bin(bytes: &[u8; 4]) -> RawSplit {
    RawSplit::Bin(i32::from_le_bytes(*bytes).into())
}

impl Vectors<'_> {
    fn symmetric(&mut self, depth: usize) -> Result<RawTree> {
        let splits = take(&mut self.splits, depth, "splits")?.iter().map(bin).collect();
        let leaves = u32::try_from(depth).ok().and_then(|depth| 1usize.checked_shl(depth));
        let (leaves, weights) = self.leaves(leaves.unwrap_or(usize::MAX))?;
        Ok(RawTree { splits, shape: Shape::Symmetric, leaves, weights })
    }

    /// Reads a tree of `nodes` nodes, some of them leaves.
    fn any(&mut self, nodes: usize, checks: &mut CancelChecks<'_>) -> Result<RawTree> {
        let splits = take(&mut self.splits, nodes, "splits")?;
        let steps = take(&mut self.steps, nodes, "steps")?;
        let leaf_ids = take(&mut self.leaf_ids, nodes, "leaves")?;
        let steps = steps.iter().map(|[a, b, c, d]| [[*a, *b], [*c, *d]].map(u16::from_le_bytes));
        let steps: Vec<[u16; 2]> = steps.collect();
        let is_split = |step: &&[u16; 2]| **step != [0, 0];
        checks.check()?;
        // Per node, its index among the tree's splits.
        let numbers: Vec<u32> = steps
            .iter()
            .scan(0, |count, step| {
                let number = *count;
                *count += u32::from(is_split(&step));
                Some(number)
            })
            .collect();
        let first = self.first_leaf;
        let leaf_at = |node: usize| {
            let id = leaf_ids.get(node).map(|id| u32::from_le_bytes(*id) as usize);
            let leaf = id.and_then(|id| id.checked_sub(first));
            leaf.filter(|leaf| leaf.is_multiple_of(self.dimensions))
                .map(|leaf| Child::Leaf((leaf / self.dimensions) as u32))
                .ok_or_else(|| {
                    let message = "a leaf is not among those of its tree";
                    Error::new(ErrorKind::TreeShape, message).at(node_of(node))
                })
        };
        let side = |node: usize, step: u16| -> Result<Child> {
            let below = node + usize::from(step);
            let message = "a split leads out of its tree";
            let fault = || Error::new(ErrorKind::TreeShape, message).at(node_of(node));
            let further = steps.get(below).ok_or_else(fault)?;
            if step == 0 || !is_split(&further) {
                return leaf_at(below);
            }
            numbers.get(below).map(|number| Child::Split(*number)).ok_or_else(fault)
        };
        let mut children = Vec::new();
        let mut own = Vec::new();
        for ((node, step), split) in steps.iter().enumerate().zip(splits) {
            checks.count()?;
            if is_split(&step) {
                push(&mut children, [side(node, step[0])?, side(node, step[1])?])?;
                push(&mut own, bin(split))?;
            }
        }
        let lone = if children.is_empty() { vec![leaf_at(0)?] } else { Vec::new() };
        let leaves = children.iter().flatten().chain(&lone).filter_map(|child| match child {
            Child::Leaf(leaf) => Some(*leaf as usize + 1),
            Child::Split(_) => None,
        });
        let leaves = leaves.max().unwrap_or(0);
        let (leaves, weights) = self.leaves(leaves)?;
        Ok(RawTree { splits: own, shape: Shape::Any(children), leaves, weights })
    }

    /// Takes the values of `count` leaves, and their weights where the file has them.
    fn leaves(&mut self, count: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let values = count.saturating_mul(self.dimensions);
        let leaves = doubles(take(&mut self.leaves, values, "values of leaves")?)?;
        self.first_leaf += values;
        let weights = if self.weighted { count } else { 0 };
        Ok((leaves, doubles(take(&mut self.weights, weights, "weights of leaves")?)?))
    }
}
