//! Which features the categories of a data frame belong to.
//!
//! The file lists categories in the order of the frame's columns and does not name the columns. Columns
//! whose categories have no order are categorical features, and the file tells which those are. Others,
//! whose categories are ordered, are numbers to LightGBM (their codes), and look like any whole numbers.
//! So the lists are laid over the features such that every categorical feature has one, and the codes of
//! a feature are codes of its list. Unless there is exactly one way to do that, the file is
//! refused: a list at the wrong feature would give wrong numbers in silence.

use super::header::FeatureInfo;
use super::tail::Tail;
use crate::Result;
use crate::format::sniff::unsupported;
use crate::model::Categories;

/// The categories of each feature, and nothing for those without.
pub(super) fn by_feature(infos: &[FeatureInfo], tail: Tail) -> Result<Vec<Option<Categories>>> {
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

/// Features times lists that are tried at most.
const MAX_TRIED: usize = 1 << 22;

/// The feature of each list, if there is exactly one way: both ascend, every marked feature has a list, and
/// every list fits its feature.
fn features(infos: &[FeatureInfo], marked: &[bool], lists: &[Categories]) -> Option<Vec<usize>> {
    let marks = (0..infos.len()).filter(|feature| marked.get(*feature) == Some(&true));
    if marks.clone().count() == lists.len() {
        // The usual case: no ordered categories.
        let mut pairs = marks.clone().zip(lists);
        return pairs.all(|(feature, list)| fits(infos, feature, list)).then(|| marks.collect());
    }
    let width = lists.len() + 1;
    if infos.len().saturating_mul(width) > MAX_TRIED {
        return None;
    }
    // At [feature * width + list]: in how many ways, two standing for more, the features from this one on
    // can have the lists from this one on.
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

/// Whether all that a feature had in training can be codes of a list.
fn fits(infos: &[FeatureInfo], feature: usize, list: &Categories) -> bool {
    let codes = list.len() as f64;
    match infos.get(feature) {
        Some(FeatureInfo::Trivial) => true,
        // Beside a code that is alone, 2.x puts the next one, so that there are two bins.
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

    /// The features that lists of these lengths belong to.
    fn found(
        infos: &[FeatureInfo],
        categorical: &[usize],
        lengths: &[usize],
    ) -> Option<Vec<usize>> {
        let list = |length: &usize| Categories::Integer((0..*length as i64).collect());
        let categories = lengths.iter().map(list).collect();
        let tail = Tail { categorical: categorical.to_vec(), categories, ..Tail::default() };
        let features = by_feature(infos, tail).ok()?;
        Some((0..infos.len()).filter(|feature| features[*feature].is_some()).collect())
    }

    #[test]
    fn lists_are_found_a_feature_or_the_file_is_refused() {
        assert_eq!(found(&[NUMBER, CODES, FLAG, CODES], &[], &[3, 4]), Some(vec![1, 3]));
        // Code 2 is none of one category.
        assert_eq!(found(&[NUMBER, CODES], &[], &[1]), None);
        // A feature that is constant is known by the parameter alone.
        assert_eq!(found(&[TRIVIAL, TRIVIAL, CODES], &[1, 2], &[1, 3]), Some(vec![1, 2]));
        assert_eq!(found(&[TRIVIAL, TRIVIAL, CODES], &[], &[1, 3]), None);
        assert_eq!(found(&[NUMBER, TRIVIAL, CODES], &[], &[1, 3]), Some(vec![1, 2]));
        // Ordered categories are numbers: one feature can be it, or two.
        assert_eq!(found(&[CODES, FLAG, CODES], &[], &[3, 2, 3]), Some(vec![0, 1, 2]));
        assert_eq!(found(&[NUMBER, FLAG, CODES], &[], &[2, 3]), Some(vec![1, 2]));
        assert_eq!(found(&[FLAG, FLAG, CODES], &[], &[2, 3]), None);
        assert_eq!(found(&[FLAG, CODES, FLAG], &[], &[3]), Some(vec![1]));
        // More features are categorical than the frame had columns of categories.
        assert_eq!(found(&[CODES, CODES], &[], &[3]), None);
        assert_eq!(found(&[NUMBER, CODES], &[], &[]), Some(vec![]));
    }
}
