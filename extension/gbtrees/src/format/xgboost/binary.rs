//! XGBoost's first format: consecutive C structs in the byte order of x86-64.
//!
//! Releases up to 3.0 write and read it. The layout is that of `LearnerIO::LoadModel` in
//! src/learner.cc, `GBTree::Load` and `Dart::Load` in src/gbm/gbtree.cc, `GBTreeModel::Load` in
//! src/gbm/gbtree_model.cc and `RegTree::Load` in src/tree/tree_model.cc of release 1.7. Structs have
//! reserved fields, so their sizes never changed. Files have no feature names, categorical splits or
//! vector leaves. Before 1.0, the base score is a margin.
//!
//! Trees become the arrays of a JSON file, so `tree_nodes` and `build` check both formats alike.

use crate::ensemble::{Task, check_limit, in_tree};
use crate::format::sniff::{SNAPSHOT, without_classes};
use crate::format::xgboost::booster::Booster;
use crate::format::xgboost::learner::{Learner, Parameters, objective_named};
use crate::format::xgboost::training::Training;
use crate::format::xgboost::tree::{Allowance, Arrays};
use crate::format::xgboost::{File, booster, tree, tree_nodes};
use crate::memory::{push, with_capacity};
use crate::transform::single;
use crate::{Cancel, Error, ErrorKind, Limits, Place, Result};

/// Optional magic bytes at the start.
const MARK: &[u8] = b"binf";

/// Sizes of the structs in bytes.
const LEARNER: usize = 136;
const MODEL: usize = 160;
const LINEAR: usize = 136;
const TREE: usize = 148;
const NODE: usize = 20;
const STATISTICS: usize = 16;

/// Masks off the highest bit, which marks a left child in a node's parent, and default-left in its
/// feature.
const REST: u32 = u32::MAX >> 1;

/// Prefix of attributes in which releases up to 1.7 keep training parameters.
const PARAMETER: &str = "SAVED_PARAM_";

pub(in crate::format) fn read(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<File> {
    let mut bytes = Bytes { all: bytes, position: 0 };
    bytes.take(bytes.all.len() - without_classes(bytes.all).len())?;
    if bytes.all.starts_with(SNAPSHOT) {
        bytes.take(SNAPSHOT.len() + size_of::<u64>())?;
    }
    if bytes.rest().starts_with(MARK) {
        bytes.take(MARK.len())?;
    }
    learner(&mut bytes, limits, cancel)
}

fn learner(bytes: &mut Bytes<'_>, limits: &Limits, cancel: Cancel<'_>) -> Result<File> {
    let header = bytes.words::<{ LEARNER / 4 }>()?;
    let [base_score, num_feature, num_class, extra, _, major, minor, num_target, ..] = header;
    let objective = bytes.text()?;
    let name = bytes.text()?;
    booster::check_name(name)?;
    let booster = match name {
        booster::LINEAR => linear(bytes, limits)?,
        "dart" => {
            let trees = trees(bytes, limits, cancel)?;
            with_weights(bytes, trees)?
        }
        _ => trees(bytes, limits, cancel)?,
    };
    let attributes = if extra == 0 { Vec::new() } else { attributes(bytes, limits)? };
    // The rest, Poisson's step and metric names, concerns training only.
    let (objective, link) = objective_named(objective, &[])?;
    let mut base_score = vec![f32::from_bits(base_score)];
    if major == 0 && objective.task != Task::Multiclass {
        // A margin, or the score of a release candidate. XGBoost takes either for a margin and makes a
        // score of it, which turns back into a margin with its own rounding.
        single::apply(objective.transform, 1.0, &mut base_score);
    }
    let parameters = Parameters {
        base_score,
        num_class: i64::from(num_class.cast_signed()),
        // Releases before 1.6 leave the field 0.
        num_target: i64::from(num_target.max(1)),
        num_feature: i64::from(num_feature),
        boost_from_average: None,
    };
    let learner = Learner {
        objective,
        link,
        parameters,
        feature_names: Vec::new(),
        feature_types: Vec::new(),
        attributes,
        booster,
        training: Training::default(),
    };
    Ok(File { version: [major, minor, 0], learner })
}

fn trees(bytes: &mut Bytes<'_>, limits: &Limits, cancel: Cancel<'_>) -> Result<Booster> {
    let at = bytes.place();
    let [num_trees, num_parallel_tree, ..] = bytes.words::<{ MODEL / 4 }>()?;
    let num_trees = bytes.count(num_trees, TREE + NODE + STATISTICS, "trees", at)?;
    check_limit(num_trees, limits.trees, "trees")?;
    let mut trees = Vec::new();
    let mut left = Allowance::new(limits);
    for index in 0..num_trees {
        let arrays = arrays(bytes, &left, cancel).map_err(|error| in_tree(error, index))?;
        let tree = tree_nodes::build(&arrays, index, &mut left, cancel);
        let mut tree = tree.map_err(|error| in_tree(error, index))?;
        tree.statistics = arrays.into_statistics();
        push(&mut trees, tree)?;
    }
    let tree_info = bytes.list(num_trees, |word| i64::from(word.cast_signed()))?;
    Ok(Booster {
        num_trees: num_trees as i64,
        // Before 1.4 this field is the number of roots: 1, or left 0.
        num_parallel_tree: i64::from(num_parallel_tree.max(1)),
        trees,
        tree_info,
        iteration_indptr: None,
        weights: None,
        categories: Vec::new(),
        coefficients: None,
        boosted_rounds: None,
    })
}

/// Reads a linear booster's weights, after sizes that the learner also has (`GBLinearModel::Load` in
/// src/gbm/gblinear_model.h).
fn linear(bytes: &mut Bytes<'_>, limits: &Limits) -> Result<Booster> {
    bytes.take(LINEAR)?;
    let count = bytes.length(size_of::<f32>())?;
    check_limit(count, limits.nodes, "weights")?;
    Ok(Booster::linear(bytes.list(count, f32::from_bits)?))
}

/// Reads a tree's nodes, then all their statistics.
fn arrays(bytes: &mut Bytes<'_>, left: &Allowance, cancel: Cancel<'_>) -> Result<Arrays> {
    let at = bytes.place();
    let [_, num_nodes, num_deleted, _, _, leaf_size, ..] = bytes.words::<{ TREE / 4 }>()?;
    let nodes = bytes.count(num_nodes, NODE + STATISTICS, "nodes", at)?;
    check_limit(nodes, left.nodes, "nodes")?;
    if leaf_size > 1 {
        let message = "a tree in the binary format has vectors in its leaves";
        return Err(Error::new(ErrorKind::Unsupported, message).at(at));
    }
    let (records, _) = bytes.take(nodes * NODE)?.as_chunks::<NODE>();
    let (statistics, _) = bytes.take(nodes * STATISTICS)?.as_chunks::<STATISTICS>();
    let rest = |word: u32| (word & REST).cast_signed();
    Ok(Arrays {
        parameters: Some(tree::Parameters {
            num_nodes: Some(nodes as i64),
            num_deleted: Some(i64::from(num_deleted.cast_signed())),
            size_leaf_vector: 0,
        }),
        parents: Some(column(records, 0, rest, cancel)?),
        left_children: Some(column(records, 1, u32::cast_signed, cancel)?),
        right_children: Some(column(records, 2, u32::cast_signed, cancel)?),
        split_indices: Some(column(records, 3, rest, cancel)?),
        default_left: Some(column(records, 3, |word| word > REST, cancel)?),
        split_conditions: Some(column(records, 4, f32::from_bits, cancel)?),
        loss_changes: Some(column(statistics, 0, f32::from_bits, cancel)?),
        sum_hessian: Some(column(statistics, 1, f32::from_bits, cancel)?),
        base_weights: column(statistics, 2, f32::from_bits, cancel)?,
        ..Arrays::default()
    })
}

/// Extracts and converts one word of every record.
fn column<T, const N: usize>(
    records: &[[u8; N]],
    place: usize,
    of: impl Fn(u32) -> T,
    cancel: Cancel<'_>,
) -> Result<Vec<T>> {
    cancel.check()?;
    let mut column = with_capacity(records.len())?;
    let word = |record: &[u8; N]| {
        record.as_chunks().0.get(place).map_or(0, |word| u32::from_le_bytes(*word))
    };
    column.extend(records.iter().map(|record| of(word(record))));
    Ok(column)
}

/// Reads DART's weights, one per tree, after their count.
fn with_weights(bytes: &mut Bytes<'_>, booster: Booster) -> Result<Booster> {
    if booster.trees.is_empty() {
        return Ok(booster);
    }
    let count = bytes.length(size_of::<f32>())?;
    Ok(Booster { weights: Some(bytes.list(count, f32::from_bits)?), ..booster })
}

fn attributes(bytes: &mut Bytes<'_>, limits: &Limits) -> Result<Vec<(String, String)>> {
    let count = bytes.length(2 * size_of::<u64>())?;
    check_limit(count, limits.features, "attributes")?;
    let mut attributes = Vec::new();
    for _ in 0..count {
        let (key, value) = (bytes.text()?, bytes.text()?);
        if !key.starts_with(PARAMETER) {
            attributes.push((key.to_owned(), value.to_owned()));
        }
    }
    Ok(attributes)
}

/// The unread rest of the file.
struct Bytes<'a> {
    all: &'a [u8],
    position: usize,
}

impl<'a> Bytes<'a> {
    fn place(&self) -> Place {
        Place::Byte(self.position)
    }

    fn rest(&self) -> &'a [u8] {
        self.all.get(self.position..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let taken = self.rest().get(..count).ok_or_else(|| {
            let message = "model ends inside a value";
            Error::new(ErrorKind::Truncated, message).at(Place::Byte(self.all.len()))
        })?;
        self.position += count;
        Ok(taken)
    }

    /// Reads the next `N` 32-bit words.
    fn words<const N: usize>(&mut self) -> Result<[u32; N]> {
        let (words, _) = self.take(N * 4)?.as_chunks::<4>();
        let mut found = [0; N];
        for (word, bytes) in found.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(found)
    }

    /// Reads and converts `count` words.
    fn list<T>(&mut self, count: usize, of: impl Fn(u32) -> T) -> Result<Vec<T>> {
        let (words, _) = self.take(count.saturating_mul(4))?.as_chunks::<4>();
        let mut list = with_capacity(count)?;
        list.extend(words.iter().map(|word| of(u32::from_le_bytes(*word))));
        Ok(list)
    }

    /// Converts a count, after checking it against the bytes left.
    fn count(&self, count: u32, bytes_each: usize, what: &str, at: Place) -> Result<usize> {
        let max = self.rest().len() / bytes_each;
        let signed = count.cast_signed();
        match usize::try_from(signed) {
            Ok(count) if count <= max => Ok(count),
            Ok(_) => Err(declares(i64::from(signed), what, max).at(at)),
            Err(_) => Err(fault!(Parameter, "a model cannot have {signed} {what}").at(at)),
        }
    }

    fn length(&mut self, bytes_each: usize) -> Result<usize> {
        let at = self.place();
        let [low, high] = self.words()?;
        let length = u64::from(high) << 32 | u64::from(low);
        let max = self.rest().len() / bytes_each;
        match usize::try_from(length) {
            Ok(length) if length <= max => Ok(length),
            _ => Err(declares(length, "values or bytes", max).at(at)),
        }
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.length(1)?;
        let start = self.position;
        std::str::from_utf8(self.take(length)?).map_err(|error| {
            fault!(Encoding, "a string is not UTF-8").at(Place::Byte(start + error.valid_up_to()))
        })
    }
}

fn declares(count: impl std::fmt::Display, what: &str, max: usize) -> Error {
    fault!(Truncated, "model declares {count} {what} where {max} are left")
}
