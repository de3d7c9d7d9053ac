//! The values of categorical features, which files carry since 3.1.
//!
//! `enc` has an entry per feature: strings as a run of UTF-8 bytes with the offsets of their ends,
//! numbers with XGBoost's code for the type of their array (7 and 8 are floating-point, 9 to 16
//! integers), and no strings at all for a feature that is not categorical.
//!
//! Releases from 3.1 to 3.3 count characters where they should count bytes, so strings with others
//! than ASCII characters are cut in the wrong places and cannot be restored. Such a dictionary is
//! dropped: the model then takes codes, like one of a release that does not store values.

use crate::ensemble::Categories;
use crate::format::reader::required;
use crate::format::reader::{Number, Reader, array, object};
use crate::{Error, ErrorKind, Limits, Place, Result};

/// The offsets that strings are found by are 32 bits wide.
const MAX_BYTES: usize = i32::MAX as usize;

pub(super) fn read<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<Vec<Option<Categories>>> {
    let mut features: Vec<Feature> = Vec::new();
    let mut segments = Vec::new();
    object(reader, |reader, key| {
        match key {
            "enc" => {
                features = array(reader, limits.features, "features", read_feature)?;
            }
            "feature_segments" => {
                let max = limits.features.saturating_add(1);
                segments = array(reader, max, "features", R::integer)?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    check_segments(&features, &segments)?;
    Ok(features.into_iter().map(|feature| feature.categories).collect())
}

/// One feature's values, or only their number if they cannot be used.
#[derive(Default)]
struct Feature {
    count: usize,
    categories: Option<Categories>,
}

/// The segments say again how many values each feature has.
fn check_segments(features: &[Feature], segments: &[i64]) -> Result<()> {
    let mut end = 0;
    let mut ends = vec![0];
    for feature in features {
        end += feature.count as i64;
        ends.push(end);
    }
    let stated = if segments.is_empty() { &[0] } else { segments };
    if stated != ends {
        let message = "the segments of the categories differ from their numbers";
        return Err(Error::new(ErrorKind::Length, message));
    }
    Ok(())
}

/// How the values of one feature are written.
enum Encoding {
    /// Offsets into the bytes of all strings.
    Text(Vec<i64>),
    Integers,
    Floats,
}

impl Encoding {
    fn strings(&self) -> usize {
        match self {
            Encoding::Text(offsets) => offsets.len().saturating_sub(1),
            Encoding::Integers | Encoding::Floats => 0,
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
    match reader.integer()? {
        7 | 8 => Ok(Encoding::Floats),
        9..=16 => Ok(Encoding::Integers),
        _ => Err(reader.error(ErrorKind::Parameter, "categories have an unknown type")),
    }
}

/// The writer sorts keys, so how values are written is known before they come.
fn read_values<'a, R: Reader<'a>>(reader: &mut R, encoding: Option<&Encoding>) -> Result<Feature> {
    let categories = match encoding {
        Some(Encoding::Text(offsets)) => {
            let bytes = array(reader, MAX_BYTES, "bytes of categories", byte)?;
            Categories::from_offsets(offsets, &bytes)
        }
        Some(Encoding::Integers) => {
            let values = array(reader, Categories::MAX_CODES, "categories", R::integer)?;
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
        None => Err(Error::new(
            ErrorKind::MissingKey,
            "categories have neither \"offsets\" nor \"type\" before \"values\"",
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

/// A byte of a string, which XGBoost writes as a signed number.
fn byte<'a, R: Reader<'a>>(reader: &mut R) -> Result<u8> {
    let value = reader.integer()?;
    i8::try_from(value)
        .map(i8::cast_unsigned)
        .or_else(|_| u8::try_from(value))
        .map_err(|_| reader.error(ErrorKind::Number, "a byte of a category is no byte"))
}

/// Releases from 3.1 to 3.3 cut text by characters where bytes are meant. Where that happens to
/// yield UTF-8 the values are wrong all the same, so their text is kept only if it is ASCII.
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
