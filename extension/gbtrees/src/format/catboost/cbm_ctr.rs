//! Target statistics of `cbm`. The model's FlatBuffer has the ones that splits test; their tables
//! follow it, each with its length, in a FlatBuffer per table.
//!
//! Field numbers are those of catboost/libs/model/flatbuffers/ctr_data.fbs and features.fbs, the order
//! of tables that of `TCtrData::Save`. A table's keys are an open hash table of 2^n buckets of 12 bytes
//! (catboost/libs/helpers/dense_hash_view.h), whose layout does not matter here.

use crate::ensemble::check_limit;
use crate::format::catboost::KNOWN_RELEASE;
use crate::format::catboost::ctr::{Combination, CountTable, Counts, Ctr, Kind, NO_KEY, TableKey};
use crate::format::catboost::flatbuffer::{self, Buffer};
use crate::format::reader::{CancelChecks, appended};
use crate::format::sniff::{shown, unsupported};
use crate::memory::{collect, push};
use crate::{Cancel, Error, Limits, Place, Result};

/// CatBoost's name of the part of a file that holds tables.
const TABLES: &str = "static_provider_v1";

/// Size of a bucket: the key, and the index of its counts.
const BUCKET: usize = 12;

/// Reads the statistics that splits test.
pub(super) fn read_ctrs(
    trees: &flatbuffer::Table<'_, '_>,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<Vec<Ctr>> {
    let mut checks = CancelChecks::new(cancel);
    let mut ctrs = Vec::new();
    for feature in trees.tables(7)? {
        checks.count()?;
        let feature = feature?;
        check_limit(ctrs.len() + 1, limits.features, "target statistics")?;
        let ctr = feature.table(0)?.ok_or_else(|| missing("Ctr"))?;
        let base = ctr.table(0)?.ok_or_else(|| missing("Base"))?;
        let ctr = Ctr {
            table: read_key(&base)?,
            target_border: ctr.integer(1, 0)?,
            prior: [ctr.float(2, 0.0)?, ctr.float(3, 1.0)?],
            shift: ctr.float(4, 0.0)?,
            scale: ctr.float(5, 1.0)?,
            borders: collect(feature.vector(1)?.iter().map(|border| f32::from_le_bytes(*border)))?,
        };
        push(&mut ctrs, ctr)?;
    }
    Ok(ctrs)
}

/// Reads the tables after the model's FlatBuffer; `start` is their offset in the file.
pub(super) fn read_tables<'a>(
    names: impl Iterator<Item = Result<&'a str>>,
    bytes: &[u8],
    start: usize,
    cancel: Cancel<'_>,
) -> Result<Vec<CountTable>> {
    for (index, name) in names.enumerate() {
        let name = name?;
        if index > 0 || name != TABLES {
            let what = format!("a model with the part \"{}\"", shown(name));
            return Err(unsupported(&what, KNOWN_RELEASE));
        }
    }
    let mut checks = CancelChecks::new(cancel);
    let end = start + bytes.len();
    let mut rest = bytes;
    let count = take_length(&mut rest, end)?;
    let mut tables = Vec::new();
    for _ in 0..count {
        let length = take_length(&mut rest, end)?;
        let (table, others) = rest.split_at_checked(length).ok_or_else(|| truncated(end))?;
        push(&mut tables, read_table(&Buffer::new(table, end - rest.len()), &mut checks)?)?;
        rest = others;
        checks.check()?;
    }
    if !rest.is_empty() {
        return Err(appended(end - rest.len()));
    }
    Ok(tables)
}

fn truncated(end: usize) -> Error {
    fault!(Truncated, "model ends early").at(Place::Byte(end))
}

fn missing(field: &str) -> Error {
    fault!(MissingKey, "a target statistic has no field \"{field}\"")
}

fn take_length(rest: &mut &[u8], end: usize) -> Result<usize> {
    let (length, others) = rest.split_first_chunk().ok_or_else(|| truncated(end))?;
    *rest = others;
    Ok(u32::from_le_bytes(*length) as usize)
}

fn read_key(base: &flatbuffer::Table<'_, '_>) -> Result<TableKey> {
    let mut combination = Combination::default();
    if let Some(parts) = base.table(0)? {
        let integer = |bytes: &[u8; 4]| i64::from(i32::from_le_bytes(*bytes));
        combination.categories = parts.vector(0)?.iter().map(integer).collect();
        let pair = |bytes: &[[u8; 4]; 2]| (integer(&bytes[0]), u32::from_le_bytes(bytes[1]));
        let pairs = |number| -> Result<Vec<(i64, u32)>> {
            let bytes: &[[u8; 8]] = parts.vector(number)?;
            let words = bytes.as_flattened().as_chunks::<4>().0.as_chunks::<2>().0;
            Ok(words.iter().map(pair).collect())
        };
        combination.borders = pairs(1)?;
        let hashes = pairs(2)?.into_iter();
        combination.hashes = hashes.map(|(index, hash)| (index, hash.cast_signed())).collect();
    }
    let number = base.byte(1, 0)?;
    let kind = Kind::of_number(number).ok_or_else(|| {
        unsupported(&format!("a target statistic of kind {number}"), KNOWN_RELEASE)
    })?;
    Ok(TableKey { combination, kind, target: base.integer(2, 0)? })
}

fn read_table(buffer: &Buffer<'_>, checks: &mut CancelChecks<'_>) -> Result<CountTable> {
    let root = buffer.root()?;
    let key = read_key(&root.table(0)?.ok_or_else(|| missing("ModelCtrBase"))?)?;
    let (buckets, rest) = root.vector::<1>(1)?.as_flattened().as_chunks::<BUCKET>();
    if !rest.is_empty() {
        bail!(Length, "the keys of a table of target statistics do not come out even");
    }
    let mut entries = Vec::new();
    for [a, b, c, d, e, f, g, h, index @ ..] in buckets {
        checks.count()?;
        let key = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
        if key != NO_KEY {
            push(&mut entries, (key, u32::from_le_bytes(*index)))?;
        }
    }
    let words = root.vector::<1>(2)?.as_flattened().as_chunks::<4>().0;
    let integer = |word: &[u8; 4]| i32::from_le_bytes(*word);
    let counts = match key.kind {
        Kind::BinarizedTargetMeanValue | Kind::FloatTargetMeanValue => {
            let pairs = words.as_chunks::<2>().0.iter();
            Counts::Means(collect(
                pairs.map(|[sum, count]| (f32::from_le_bytes(*sum), integer(count))),
            )?)
        }
        Kind::Counter | Kind::FeatureFreq => {
            Counts::Rows { per_entry: 1, rows: collect(words.iter().map(integer))? }
        }
        Kind::Borders | Kind::Buckets => {
            let per_entry = usize::try_from(root.integer(4, 0)?).unwrap_or(0);
            Counts::Rows { per_entry, rows: collect(words.iter().map(integer))? }
        }
    };
    // The field is an i32.
    let denominator = root.integer(3, 0)? as i32;
    Ok(CountTable { key, entries, counts, denominator })
}
