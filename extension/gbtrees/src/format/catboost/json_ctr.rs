//! Target statistics of JSON: `features_info` has the ones that splits test, `ctr_data` their tables.
//!
//! A table's key in `ctr_data` is JSON itself, of the combination and the kind. Its `hash_map` holds
//! each entry's key as a text, then the counts (`CtrDataFromJson` in
//! catboost/libs/model/json_model_helpers.cpp). Keys do not identify the target's binarization, so a
//! file of a model with several lacks tables, and is refused.

use std::collections::HashMap;

use crate::format::catboost::KNOWN_RELEASE;
use crate::format::catboost::ctr::{Combination, CountTable, Counts, Ctr, Kind, NO_KEY, TableKey};
use crate::format::json::Json;
use crate::format::reader::{Reader, ValueKind, double, list, object, required};
use crate::format::sniff::{shown, unsupported};
use crate::memory::{collect, owned, push};
use crate::{ErrorKind, Limits, Result};

const COUNT_TOO_LARGE: &str = "a count is too large for i32";

/// Reads the statistics of `features_info`.
pub(super) fn read_ctrs<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Vec<Ctr>> {
    list(reader, limits.features, "target statistics", |reader| {
        let (mut combination, mut kind) = (None, None);
        let mut target_border = 0;
        let (mut prior, mut shift, mut scale) = ([0.0, 1.0], 0.0, 1.0);
        let mut borders = Vec::new();
        object(reader, |reader, key| {
            match key {
                "elements" => combination = Some(read_combination(reader, limits)?),
                "ctr_type" => kind = Some(read_kind(reader)?),
                "target_border_idx" => target_border = reader.integer()?,
                "prior_numerator" => prior[0] = reader.float()?,
                // The spelling is CatBoost's.
                "prior_denomerator" => prior[1] = reader.float()?,
                "shift" => shift = reader.float()?,
                "scale" => scale = reader.float()?,
                "borders" => {
                    borders = list(reader, limits.nodes, "borders", |reader| reader.float())?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let combination = required(combination, "elements")?;
        let kind = required(kind, "ctr_type")?;
        let table = TableKey { combination, kind, target: 0 };
        Ok(Ctr { table, target_border, prior, shift, scale, borders })
    })
}

fn read_kind<'a, R: Reader<'a>>(reader: &mut R) -> Result<Kind> {
    let name = reader.string()?;
    Kind::of_name(&name).ok_or_else(|| {
        let what = format!("a target statistic of kind \"{}\"", shown(&name));
        unsupported(&what, KNOWN_RELEASE)
    })
}

fn read_combination<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Combination> {
    let mut combination = Combination::default();
    list(reader, limits.features, "elements", |reader| {
        let mut kind = None;
        let (mut category, mut number, mut border, mut value) = (None, None, None, None);
        object(reader, |reader, key| {
            match key {
                "combination_element" => kind = Some(owned(reader.string()?)?),
                "cat_feature_index" => category = Some(reader.integer()?),
                "float_feature_index" => number = Some(reader.integer()?),
                "border" => border = Some(reader.float()?),
                "value" => value = Some(hash(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        match required(kind, "combination_element")?.as_str() {
            "cat_feature_value" => {
                combination.categories.push(required(category, "cat_feature_index")?);
            }
            "float_feature" => {
                let number = required(number, "float_feature_index")?;
                combination.borders.push((number, required(border, "border")?.to_bits()));
            }
            "cat_feature_exact_value" => {
                let category = required(category, "cat_feature_index")?;
                combination.hashes.push((category, required(value, "value")?));
            }
            other => {
                let what = format!("a target statistic of \"{}\"", shown(other));
                return Err(unsupported(&what, KNOWN_RELEASE));
            }
        }
        Ok(())
    })?;
    Ok(combination)
}

/// Reads the tables of `ctr_data`, which may be null if empty.
pub(super) fn read_tables<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<Vec<CountTable>> {
    let mut tables = Vec::new();
    if reader.kind()? == ValueKind::Null {
        return reader.skip_scalar().map(|()| tables);
    }
    object(reader, |reader, key| {
        let key = read_key(key, reader, limits)?;
        push(&mut tables, read_table(reader, key, limits)?)
    })?;
    Ok(tables)
}

fn read_key<'a, R: Reader<'a>>(text: &str, reader: &R, limits: &Limits) -> Result<TableKey> {
    let mut json = Json::new(text.as_bytes(), reader.cancel());
    let (mut combination, mut kind) = (None, None);
    let read = object(&mut json, |json, key| {
        match key {
            "identifier" => combination = Some(read_combination(json, limits)?),
            "type" => kind = Some(read_kind(json)?),
            _ => json.skip()?,
        }
        Ok(())
    });
    // Replaces the error's place, which is an offset within the key.
    read.and_then(|()| json.finish()).map_err(|error| {
        reader.error(error.kind(), format!("\"ctr_data\": {}", error.message()))
    })?;
    let combination = required(combination, "identifier")?;
    Ok(TableKey { combination, kind: required(kind, "type")?, target: 0 })
}

fn read_table<'a, R: Reader<'a>>(
    reader: &mut R,
    key: TableKey,
    limits: &Limits,
) -> Result<CountTable> {
    let (mut denominator, mut stride) = (0, None);
    let mut numbers = Numbers::default();
    object(reader, |reader, name| {
        match name {
            "counter_denominator" => denominator = int32(reader, COUNT_TOO_LARGE)?,
            "hash_stride" => stride = Some(reader.integer()?),
            // Each number takes at least two bytes of the file.
            "hash_map" => numbers.read(reader, limits.bytes)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let stride = usize::try_from(required(stride, "hash_stride")?).unwrap_or(0);
    let per_entry = stride.saturating_sub(1);
    let is_mean = key.kind.is_mean();
    // A sum precedes each number of targets.
    let is_whole = |count: &f64| count.fract() == 0.0;
    let fits = per_entry > 0
        && numbers.places.iter().enumerate().all(|(entry, place)| *place == entry * per_entry)
        && numbers.counts.len() == numbers.places.len() * per_entry
        && (!is_mean || per_entry == 2)
        && numbers
            .counts
            .iter()
            .skip(usize::from(is_mean))
            .step_by(1 + usize::from(is_mean))
            .all(is_whole);
    if !fits {
        let message = "the counts of a target statistic do not come in strides";
        return Err(reader.error(ErrorKind::Length, message));
    }
    let counts = if is_mean {
        let pairs = numbers.counts.as_chunks::<2>().0.iter();
        Counts::Means(collect(pairs.map(|[sum, count]| (*sum as f32, *count as i32)))?)
    } else {
        // `Numbers::read` has checked that whole numbers fit in i32.
        let rows = numbers.counts.iter().map(|count| *count as i32);
        Counts::Rows { per_entry, rows: collect(rows)? }
    };
    let entries = (0..).zip(numbers.keys).filter(|(_, key)| *key != NO_KEY);
    Ok(CountTable {
        key,
        entries: collect(entries.map(|(index, key)| (key, index)))?,
        counts,
        denominator,
    })
}

/// The contents of a `hash_map`.
#[derive(Default)]
struct Numbers {
    keys: Vec<u64>,
    /// For each key, the number of counts before it.
    places: Vec<usize>,
    counts: Vec<f64>,
}

impl Numbers {
    fn read<'a, R: Reader<'a>>(&mut self, reader: &mut R, max: usize) -> Result<()> {
        list(reader, max, "counts", |reader| {
            if reader.kind()? == ValueKind::String {
                let key = reader.string()?.parse().map_err(|_| {
                    reader.error(ErrorKind::Number, "a key of a target statistic is no u64")
                })?;
                push(&mut self.keys, key)?;
                push(&mut self.places, self.counts.len())?;
            } else {
                let count = double(reader)?;
                if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&count) {
                    return Err(reader.error(ErrorKind::Number, COUNT_TOO_LARGE));
                }
                push(&mut self.counts, count)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Reads the kinds of statistics in a training option, with the number of the target's borders. Options
/// may be anything; others are skipped.
pub(super) fn read_targets<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<Vec<(String, i64)>> {
    let mut targets = Vec::new();
    if reader.kind()? != ValueKind::Array {
        return reader.skip().map(|()| targets);
    }
    list(reader, limits.features, "target statistics", |reader| {
        if reader.kind()? != ValueKind::Object {
            return reader.skip();
        }
        let (mut kind, mut borders) = (None, None);
        object(reader, |reader, key| match (key, reader.kind()?) {
            ("ctr_type", ValueKind::String) => {
                kind = Some(owned(reader.string()?)?);
                Ok(())
            }
            ("target_binarization", ValueKind::Object) => {
                object(reader, |reader, key| match (key, reader.kind()?) {
                    ("border_count", ValueKind::Number) => {
                        borders = Some(reader.integer()?);
                        Ok(())
                    }
                    _ => reader.skip(),
                })
            }
            _ => reader.skip(),
        })?;
        targets.extend(kind.zip(borders));
        Ok(())
    })?;
    Ok(targets)
}

/// Checks that no kind of statistics has several binarizations of the target.
///
/// # Errors
/// [`ErrorKind::Unsupported`].
pub(super) fn check_targets(targets: &[(String, i64)]) -> Result<()> {
    let mut first = HashMap::new();
    if targets.iter().any(|(kind, borders)| *first.entry(kind).or_insert(borders) != borders) {
        let what = "CatBoost's JSON of target statistics with several TargetBorderCount";
        return Err(unsupported(what, "Save the model as cbm, which tells them apart."));
    }
    Ok(())
}

/// The losses of several targets, each of which has its own statistics.
const SEVERAL_TARGETS: [&str; 4] =
    ["MultiRMSE", "MultiRMSEWithMissingValues", "MultiLogloss", "MultiCrossEntropy"];

/// Checks that there are no statistics of several targets: their tables have one key, so that the file has
/// those of the last target alone.
///
/// # Errors
/// [`ErrorKind::Unsupported`].
pub(super) fn check_one_target(ctrs: &[Ctr], loss: Option<&str>) -> Result<()> {
    let is_of_target = |ctr: &Ctr| !matches!(ctr.table.kind, Kind::Counter | Kind::FeatureFreq);
    if ctrs.iter().any(is_of_target) && loss.is_some_and(|loss| SEVERAL_TARGETS.contains(&loss)) {
        let what = "CatBoost's JSON of target statistics of several targets";
        return Err(unsupported(what, "Save the model as cbm, which has them all."));
    }
    Ok(())
}

/// Reads the hash of a category.
pub(super) fn hash<'a, R: Reader<'a>>(reader: &mut R) -> Result<i32> {
    int32(reader, "the hash of a category is too large for i32")
}

fn int32<'a, R: Reader<'a>>(reader: &mut R, too_large: &'static str) -> Result<i32> {
    let number = reader.integer()?;
    i32::try_from(number).map_err(|_| reader.error(ErrorKind::Number, too_large))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_several_targets_are_refused() {
        let ctr = |kind| Ctr {
            table: TableKey { combination: Combination::default(), kind, target: 0 },
            target_border: 0,
            prior: [0.0, 1.0],
            shift: 0.0,
            scale: 1.0,
            borders: Vec::new(),
        };
        let [of_target, of_rows] = [Kind::Borders, Kind::Counter].map(|kind| [ctr(kind)]);
        for loss in SEVERAL_TARGETS {
            let error = check_one_target(&of_target, Some(loss)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert_eq!(check_one_target(&of_rows, Some(loss)), Ok(()));
        }
        for loss in ["MultiClass", "MultiQuantile", "RMSE"] {
            assert_eq!(check_one_target(&of_target, Some(loss)), Ok(()));
        }
    }

    #[test]
    fn one_kind_has_one_binarization() {
        let targets = |list: &[(&str, i64)]| -> Vec<(String, i64)> {
            list.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
        };
        assert_eq!(
            check_targets(&targets(&[("Borders", 1), ("Buckets", 2), ("Borders", 1)])),
            Ok(())
        );
        let error = check_targets(&targets(&[("Borders", 1), ("Borders", 2)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
