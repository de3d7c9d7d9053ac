//! The values of categorical features, stored since 3.1.
//!
//! `enc` has an entry per feature: strings as a run of UTF-8 bytes with the offsets of their ends,
//! numbers with XGBoost's code for the type of their array (`ValueKind` in include/xgboost/json.h: 7 and 8 are
//! floating-point, 9 to 16 integers), and no strings at all for a feature that is not categorical. UBJSON has
//! no markers for unsigned types but that of bytes, so XGBoost writes those of the signed ones.
//!
//! Releases 3.1 to 3.3 count characters instead of bytes, so strings with non-ASCII characters are cut
//! wrongly and cannot be restored. Such a dictionary is dropped, and the model takes codes like those
//! of older releases.

use crate::ensemble::Categories;
use crate::format::reader::required;
use crate::format::reader::{Number, Reader, array, object};
use crate::{ErrorKind, Limits, Place, Result};

/// Limit of the bytes of a feature's strings; their offsets are 32-bit.
const MAX_BYTES: usize = i32::MAX as usize;

pub(super) fn read<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<Vec<Option<Categories>>> {
    let mut features: Vec<Feature> = Vec::new();
    let (mut segments, mut sorted) = (Vec::new(), Vec::new());
    object(reader, |reader, key| {
        match key {
            "enc" => {
                features = array(reader, limits.features, "features", read_feature)?;
            }
            "feature_segments" => {
                let max = limits.features.saturating_add(1);
                segments = array(reader, max, "features", R::integer)?;
            }
            "sorted_idx" => sorted = array(reader, MAX_BYTES, "categories", R::integer)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    check_segments(&features, &segments)?;
    check_order(&features, &sorted)?;
    Ok(features.into_iter().map(|feature| feature.categories).collect())
}

/// One feature's values, or just their count if they are unusable.
#[derive(Default)]
struct Feature {
    count: usize,
    categories: Option<Categories>,
}

/// Checks the segments, which repeat the number of values per feature.
fn check_segments(features: &[Feature], segments: &[i64]) -> Result<()> {
    let mut end = 0;
    let mut ends = vec![0];
    for feature in features {
        end += feature.count as i64;
        ends.push(end);
    }
    let stated = if segments.is_empty() { &[0] } else { segments };
    if stated != ends {
        bail!(Length, "the segments of the categories differ from their numbers");
    }
    Ok(())
}

/// The places of each feature's values in their order, which libxgboost looks up by; none where it has not
/// sorted them yet.
fn check_order(features: &[Feature], sorted: &[i64]) -> Result<()> {
    if sorted.is_empty() {
        return Ok(());
    }
    let mut rest = sorted;
    let fits = features.iter().all(|feature| {
        let Some((own, others)) = rest.split_at_checked(feature.count) else { return false };
        rest = others;
        let is_place = |place: &i64| usize::try_from(*place).is_ok_and(|at| at < feature.count);
        own.iter().all(is_place)
    });
    if fits && rest.is_empty() {
        return Ok(());
    }
    Err(fault!(Length, "the order of the categories has other places than they have"))
}

/// How the values of one feature are written.
enum Encoding {
    /// Offsets into the concatenated strings.
    Text(Vec<i64>),
    Integers(Integers),
    Floats,
}

/// A type of integers, in the order of XGBoost's codes from 9 on.
#[derive(Clone, Copy, Debug)]
enum Integers {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl Integers {
    const ALL: [Integers; 8] = {
        use Integers::{I8, I16, I32, I64, U8, U16, U32, U64};
        [I8, U8, I16, U16, I32, U32, I64, U64]
    };

    /// Returns the value of a written number, which may be the signed form of an unsigned one; `None` unless the
    /// type and i64 hold it.
    fn value(self, written: i64) -> Option<i64> {
        let bits = match self {
            Integers::I8 | Integers::U8 => 8,
            Integers::I16 | Integers::U16 => 16,
            Integers::I32 | Integers::U32 => 32,
            Integers::I64 => return Some(written),
            Integers::U64 => return (written >= 0).then_some(written),
        };
        let (end, half) = (1_i64 << bits, 1_i64 << (bits - 1));
        let signed = (-half..half).contains(&written);
        match self {
            Integers::I8 | Integers::I16 | Integers::I32 => signed.then_some(written),
            _ if signed => Some(written.rem_euclid(end)),
            _ => (0..end).contains(&written).then_some(written),
        }
    }
}

impl Encoding {
    fn strings(&self) -> usize {
        match self {
            Encoding::Text(offsets) => offsets.len().saturating_sub(1),
            Encoding::Integers(_) | Encoding::Floats => 0,
        }
    }
}

fn read_feature<'a, R: Reader<'a>>(reader: &mut R) -> Result<Feature> {
    let mut encoding = None;
    let mut feature = None;
    object(reader, |reader, key| {
        match key {
            "offsets" => {
                let offsets = array(reader, Categories::MAX_CODES + 1, "categories", R::integer)?;
                encoding = Some(Encoding::Text(offsets));
            }
            "type" => encoding = Some(read_type(reader)?),
            "values" => feature = Some(read_values(reader, encoding.as_ref())?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    required(feature, "values")
}

fn read_type<'a, R: Reader<'a>>(reader: &mut R) -> Result<Encoding> {
    let code = reader.integer()?;
    if matches!(code, 7 | 8) {
        return Ok(Encoding::Floats);
    }
    let integers = usize::try_from(code - 9).ok().and_then(|code| Integers::ALL.get(code));
    let unknown = || reader.error(ErrorKind::Parameter, "categories have an unknown type");
    integers.copied().map(Encoding::Integers).ok_or_else(unknown)
}

/// Reads a feature's values. The writer sorts keys, so their encoding precedes them.
fn read_values<'a, R: Reader<'a>>(reader: &mut R, encoding: Option<&Encoding>) -> Result<Feature> {
    let categories = match encoding {
        Some(Encoding::Text(offsets)) => {
            let bytes = array(reader, MAX_BYTES, "bytes of categories", byte)?;
            Categories::from_offsets(offsets, &bytes)
        }
        Some(Encoding::Integers(integers)) => {
            let values = array(reader, Categories::MAX_CODES, "categories", |reader| {
                let too_large = "a category is too large for its type, or for bigint";
                let written = reader.integer()?;
                integers.value(written).ok_or_else(|| reader.error(ErrorKind::Number, too_large))
            })?;
            Ok(Categories::Integer(values))
        }
        Some(Encoding::Floats) => {
            let values = array(reader, Categories::MAX_CODES, "categories", |reader| {
                Ok(match reader.number()? {
                    Number::Integer(value) => value as f64,
                    Number::Float(value) => value,
                })
            })?;
            Ok(Categories::Float(values))
        }
        None => Err(fault!(
            MissingKey,
            "categories have neither \"offsets\" nor \"type\" before \"values\""
        )),
    };
    match categories {
        Ok(categories) => Ok(Feature {
            count: categories.len(),
            categories: (!categories.is_empty()).then_some(categories),
        }),
        Err(error) if error.kind() == ErrorKind::Encoding => {
            Ok(Feature { count: encoding.map_or(0, Encoding::strings), categories: None })
        }
        Err(error) => Err(error.at(Place::Byte(reader.offset()))),
    }
}

/// Reads a byte of a string, written as a signed number.
fn byte<'a, R: Reader<'a>>(reader: &mut R) -> Result<u8> {
    let value = reader.integer()?;
    i8::try_from(value)
        .map(i8::cast_unsigned)
        .or_else(|_| u8::try_from(value))
        .map_err(|_| reader.error(ErrorKind::Number, "a byte of a category is no byte"))
}

/// Drops text that releases 3.1 to 3.3 may have cut by characters. A wrong cut may still be UTF-8, so
/// only ASCII text is kept.
pub(super) fn drop_miscut_categories(
    version: [u32; 3],
    mut features: Vec<Option<Categories>>,
) -> Vec<Option<Categories>> {
    let is_cut = |categories: &mut Categories| match categories {
        Categories::Text(values) => !values.iter().all(|value| value.is_ascii()),
        Categories::Integer(_) | Categories::Float(_) | Categories::Hashed(_) => false,
    };
    if matches!(version, [3, 1..=3, _]) {
        features.iter_mut().for_each(|feature| drop(feature.take_if(is_cut)));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsigned_integers_are_read_behind_the_markers_of_signed_ones() {
        let cases = [
            (Integers::I8, -3, Some(-3)),
            (Integers::I8, 128, None),
            (Integers::U8, -1, Some(255)),
            (Integers::U8, 255, Some(255)),
            (Integers::I16, -25_536, Some(-25_536)),
            (Integers::U16, -25_536, Some(40_000)),
            (Integers::U16, 40_000, Some(40_000)),
            (Integers::U16, 65_536, None),
            (Integers::U16, -32_769, None),
            (Integers::I32, i64::from(i32::MAX) + 1, None),
            (Integers::U32, -1, Some(i64::from(u32::MAX))),
            (Integers::I64, i64::MIN, Some(i64::MIN)),
            (Integers::U64, i64::MAX, Some(i64::MAX)),
            (Integers::U64, -1, None),
        ];
        for (integers, written, value) in cases {
            assert_eq!(integers.value(written), value, "{integers:?} {written}");
        }
    }
}
