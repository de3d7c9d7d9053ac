//! The lines after the trees: importances, training parameters, and pandas categories.
//!
//! Only Python writes the categories, and other programs may end the file after any part, so truncation
//! is detected only inside a part.

use crate::ensemble::Categories;
use crate::format::json::Json;
use crate::format::lightgbm::header::FeatureInfo;
use crate::format::lightgbm::lines::{Line, Lines};
use crate::format::reader::{CancelChecks, Number, Reader, ValueKind, array};
use crate::format::sniff::unsupported;
use crate::memory::owned;
use crate::{Error, ErrorKind, Limits, Place, Result};

#[derive(Default)]
pub(super) struct Tail {
    /// Features listed in the parameter `categorical_feature`.
    pub categorical: Vec<usize>,
    /// The parameter `alpha`: the quantile, in a model of one.
    pub alpha: Option<f32>,
    /// The categories of the data frame's categorical columns, in column order.
    pub categories: Vec<Categories>,
    /// Position of the categories in the file.
    pub place: Place,
}

const PARAMETERS: &[u8] = b"parameters:";
const END_OF_PARAMETERS: &[u8] = b"end of parameters";
const ALPHA: &[u8] = b"[alpha: ";
const CATEGORICAL: &[u8] = b"[categorical_feature: ";
const CATEGORIES: &[u8] = b"pandas_categorical:";

pub(super) fn read(lines: &mut Lines<'_, '_>, limits: &Limits) -> Result<Tail> {
    let mut tail = Tail::default();
    let mut in_parameters = false;
    while let Some(line) = lines.next() {
        if in_parameters {
            if line.bytes == END_OF_PARAMETERS {
                in_parameters = false;
            } else if let Some(list) = line.bytes.strip_prefix(CATEGORICAL) {
                tail.categorical = indices(list, limits);
            } else if let Some(alpha) = line.bytes.strip_prefix(ALPHA) {
                let text = std::str::from_utf8(alpha).unwrap_or_default();
                tail.alpha = text.trim_end_matches(']').parse().ok();
            }
        } else if line.bytes == PARAMETERS {
            in_parameters = true;
        } else if let Some(json) = line.bytes.strip_prefix(CATEGORIES) {
            tail.categories =
                categories(json, limits, lines.checks()).map_err(|error| error.at(place(line)))?;
            tail.place = place(line);
            lines.skip_blank();
            if let Some(line) = lines.next() {
                let message = "the model is followed by further lines";
                return Err(Error::new(ErrorKind::Syntax, message).at(place(line)));
            }
            return Ok(tail);
        } else if !line.ended && !line.bytes.trim_ascii().is_empty() {
            return Err(fault!(Truncated, "model ends within a line").at(place(line)));
        }
    }
    if in_parameters {
        return Err(fault!(Truncated, "model ends before \"end of parameters\"")
            .at(Place::Line { line: lines.number(), tree: None }));
    }
    Ok(tail)
}

fn place(line: Line<'_>) -> Place {
    Place::Line { line: line.number, tree: None }
}

/// Parses an index list such as `2,5]`; names, which the parameter may also list, are ignored.
fn indices(list: &[u8], limits: &Limits) -> Vec<usize> {
    let list = std::str::from_utf8(list).unwrap_or_default().trim_end_matches(']');
    list.split(',').take(limits.features).filter_map(|index| index.parse().ok()).collect()
}

/// Parses the JSON lists of categories; `null` is none.
fn categories(
    json: &[u8],
    limits: &Limits,
    checks: &mut CancelChecks<'_>,
) -> Result<Vec<Categories>> {
    let mut reader = Json::new(json, checks.cancel());
    if reader.kind()? == ValueKind::Null {
        reader.skip()?;
        reader.finish()?;
        return Ok(Vec::new());
    }
    let mut left = Categories::MAX_CODES;
    let lists = array(&mut reader, limits.features, "categorical features", |reader| {
        let mut list = List::default();
        let values = array(reader, left, "categories", |reader| list.add(reader))?;
        left -= values.len();
        Ok(list.categories())
    })?;
    reader.finish()?;
    Ok(lists)
}

/// A column's categories, all of one type. Booleans are the integers 0 and 1, as rows give them;
/// integers among other numbers become f64.
#[derive(Default)]
struct List {
    kind: Option<ValueKind>,
    texts: Vec<String>,
    integers: Vec<i64>,
    floats: Vec<f64>,
}

impl List {
    fn add<'a>(&mut self, reader: &mut Json<'a, '_>) -> Result<()> {
        let kind = reader.kind()?;
        if *self.kind.get_or_insert(kind) != kind {
            bail!(WrongType, "a feature has categories of several types");
        }
        match kind {
            ValueKind::String => self.texts.push(owned(reader.string()?)?),
            ValueKind::Bool => self.integers.push(i64::from(reader.boolean()?)),
            _ => match reader.number()? {
                Number::Integer(number) if self.floats.is_empty() => self.integers.push(number),
                Number::Integer(number) => self.floats.push(number as f64),
                Number::Float(number) => {
                    self.floats.extend(self.integers.drain(..).map(|integer| integer as f64));
                    self.floats.push(number);
                }
            },
        }
        Ok(())
    }

    fn categories(self) -> Categories {
        if !self.floats.is_empty() {
            Categories::Float(self.floats)
        } else if !self.integers.is_empty() {
            Categories::Integer(self.integers)
        } else {
            Categories::Text(self.texts)
        }
    }
}

/// Returns the categories of each feature, `None` for features without.
pub(super) fn categories_by_feature(
    infos: &[FeatureInfo],
    tail: Tail,
) -> Result<Vec<Option<Categories>>> {
    let mut found: Vec<Option<Categories>> = infos.iter().map(|_| None).collect();
    if tail.categories.is_empty() {
        return Ok(found);
    }
    let is_categorical = |info: &FeatureInfo| matches!(info, FeatureInfo::Categorical { .. });
    let mut marked: Vec<bool> = infos.iter().map(is_categorical).collect();
    for feature in &tail.categorical {
        if let Some(mark) = marked.get_mut(*feature) {
            *mark = true;
        }
    }
    let features = features(infos, &marked, &tail.categories).ok_or_else(|| {
        let what =
            "a model whose file does not tell which features its pandas categories belong to";
        unsupported(what, HINT).at(tail.place)
    })?;
    for (feature, categories) in features.into_iter().zip(tail.categories) {
        if let Some(place) = found.get_mut(feature) {
            *place = Some(categories);
        }
    }
    Ok(found)
}

const HINT: &str =
    "Set the booster's pandas_categorical to None, save it, and pass the codes of categories.";

/// Maximum product of features and lists to search.
const MAX_TRIED: usize = 1 << 22;

/// Assigns a feature to each list if there is exactly one way: order is kept, every marked feature gets
/// a list, and every list fits its feature.
fn features(infos: &[FeatureInfo], marked: &[bool], lists: &[Categories]) -> Option<Vec<usize>> {
    let marks = (0..infos.len()).filter(|feature| marked.get(*feature) == Some(&true));
    if marks.clone().count() == lists.len() {
        // The common case: no ordered categories.
        let mut pairs = marks.clone().zip(lists);
        return pairs.all(|(feature, list)| fits(infos, feature, list)).then(|| marks.collect());
    }
    let width = lists.len() + 1;
    if infos.len().saturating_mul(width) > MAX_TRIED {
        return None;
    }
    // `ways[feature * width + list]` counts the assignments of the lists from `list` on to the features
    // from `feature` on, saturating at 2.
    let mut ways = vec![0u8; (infos.len() + 1) * width];
    let at = |ways: &[u8], feature: usize, list: usize| {
        ways.get(feature * width + list).copied().unwrap_or(0)
    };
    let taken = |ways: &[u8], feature: usize, list: usize| match lists.get(list) {
        Some(categories) if fits(infos, feature, categories) => at(ways, feature + 1, list + 1),
        _ => 0,
    };
    *ways.last_mut()? = 1;
    for feature in (0..infos.len()).rev() {
        for list in 0..width {
            let passed =
                if marked.get(feature) == Some(&true) { 0 } else { at(&ways, feature + 1, list) };
            let count = (passed + taken(&ways, feature, list)).min(2);
            if let Some(place) = ways.get_mut(feature * width + list) {
                *place = count;
            }
        }
    }
    if at(&ways, 0, 0) != 1 {
        return None;
    }
    let mut found = Vec::with_capacity(lists.len());
    for feature in 0..infos.len() {
        if taken(&ways, feature, found.len()) == 1 {
            found.push(feature);
        }
    }
    Some(found)
}

/// Returns whether all values of a feature in training can be codes of a list.
fn fits(infos: &[FeatureInfo], feature: usize, list: &Categories) -> bool {
    let codes = list.len() as f64;
    match infos.get(feature) {
        Some(FeatureInfo::Trivial) => true,
        // LightGBM 2.x gives a feature with a single code the next code too, for a second bin.
        Some(FeatureInfo::Categorical { largest }) => *largest as f64 <= codes,
        Some(FeatureInfo::Numerical { least, largest }) => {
            *least >= 0.0 && least.fract() == 0.0 && largest.fract() == 0.0 && *largest < codes
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: FeatureInfo = FeatureInfo::Numerical { least: -1.5, largest: 2.0 };
    const FLAG: FeatureInfo = FeatureInfo::Numerical { least: 0.0, largest: 1.0 };
    const CODES: FeatureInfo = FeatureInfo::Categorical { largest: 2 };
    const TRIVIAL: FeatureInfo = FeatureInfo::Trivial;

    /// Returns the features assigned to lists of these lengths.
    fn found(
        infos: &[FeatureInfo],
        categorical: &[usize],
        lengths: &[usize],
    ) -> Option<Vec<usize>> {
        let list = |length: &usize| Categories::Integer((0..*length as i64).collect());
        let categories = lengths.iter().map(list).collect();
        let tail = Tail { categorical: categorical.to_vec(), categories, ..Tail::default() };
        let features = categories_by_feature(infos, tail).ok()?;
        Some((0..infos.len()).filter(|feature| features[*feature].is_some()).collect())
    }

    #[test]
    fn lists_match_one_feature_each_or_the_file_is_refused() {
        assert_eq!(found(&[NUMBER, CODES, FLAG, CODES], &[], &[3, 4]), Some(vec![1, 3]));
        // Code 2 is out of range for one category.
        assert_eq!(found(&[NUMBER, CODES], &[], &[1]), None);
        // A constant feature is identified only by the parameter.
        assert_eq!(found(&[TRIVIAL, TRIVIAL, CODES], &[1, 2], &[1, 3]), Some(vec![1, 2]));
        assert_eq!(found(&[TRIVIAL, TRIVIAL, CODES], &[], &[1, 3]), None);
        assert_eq!(found(&[NUMBER, TRIVIAL, CODES], &[], &[1, 3]), Some(vec![1, 2]));
        // Ordered categories look numeric: one feature could match, or two.
        assert_eq!(found(&[CODES, FLAG, CODES], &[], &[3, 2, 3]), Some(vec![0, 1, 2]));
        assert_eq!(found(&[NUMBER, FLAG, CODES], &[], &[2, 3]), Some(vec![1, 2]));
        assert_eq!(found(&[FLAG, FLAG, CODES], &[], &[2, 3]), None);
        assert_eq!(found(&[FLAG, CODES, FLAG], &[], &[3]), Some(vec![1]));
        // More categorical features than the frame had categorical columns.
        assert_eq!(found(&[CODES, CODES], &[], &[3]), None);
        assert_eq!(found(&[NUMBER, CODES], &[], &[]), Some(vec![]));
    }
}
