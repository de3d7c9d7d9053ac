//! Names in arguments: the rule for model names, names of array elements as features, and suggestions
//! for misspelled names.
//!
//! A model's name is free text that keeps `name@version` unambiguous and is at most as long as a
//! PostgreSQL identifier. Array elements are named by their subscripts: `image[1]`, `image[2]` and so
//! on.

use std::collections::{HashMap, HashSet};

/// Maximum length of a name in bytes.
pub const MAX_BYTES: usize = 63;

/// Maximum length in bytes of a name that is compared with others.
const MAX_COMPARED: usize = 4 * MAX_BYTES;

/// Returns the name if it is valid for a model.
///
/// # Errors
/// The reason, as a sentence.
pub fn check(name: &str) -> Result<&str, &'static str> {
    if name.is_empty() {
        Err("A model name must not be empty.")
    } else if name.len() > MAX_BYTES {
        Err("A model name must not be longer than 63 bytes.")
    } else if name.contains('@') {
        Err("A model name must not contain \"@\", which separates it from the version.")
    } else {
        Ok(name)
    }
}

/// Returns the leading characters of a name in that many bytes.
pub fn cut(name: &str, bytes: usize) -> &str {
    name.get(..name.floor_char_boundary(bytes)).unwrap_or_default()
}

/// Returns the names as PostgreSQL has cut those of columns, except where two would be the same.
pub fn stored<'a>(names: &[&'a str], is_column: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let cut = |name: &'a str| cut(name, MAX_BYTES);
    let mut whole: HashMap<&str, HashSet<&str>> = HashMap::new();
    for name in names {
        whole.entry(cut(name)).or_default().insert(name);
    }
    let is_one = |name| whole.get(cut(name)).is_some_and(|names| names.len() == 1);
    let is_cut = |name: &'a str| name.len() > MAX_BYTES && is_one(name) && is_column(cut(name));
    names.iter().map(|name| if is_cut(name) { cut(name) } else { name }).collect()
}

/// Returns the names of an array's elements.
pub fn element_names(column: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| format!("{column}[{number}]"))
}

/// Returns the column whose leading elements the names begin with, and their number.
pub fn leading_elements<N: AsRef<str>>(names: &[N]) -> Option<(&str, usize)> {
    let column = names.first()?.as_ref().strip_suffix("[1]")?;
    let numbered = (1_usize..).zip(names);
    let follows = |(number, name): &(usize, &N)| {
        let rest = name.as_ref().strip_prefix(column).and_then(|rest| rest.strip_prefix('['));
        rest.and_then(|rest| rest.strip_suffix(']')) == Some(number.to_string().as_str())
    };
    Some((column, numbered.take_while(follows).count()))
}

/// Returns the most similar candidate, if a slip could explain the difference.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near(name, candidates).first().copied()
}

/// Returns the candidates whose difference a slip could explain, the most similar first.
pub fn near<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // The time grows with the product of both lengths, and long names are seldom misspelled names.
    if name.len() > MAX_COMPARED {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = candidates
        .map(|candidate| (strsim::damerau_levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns a hint that suggests the name.
pub fn hint(nearest: Option<&str>) -> Option<String> {
    nearest.map(|nearest| format!("Perhaps you mean \"{nearest}\"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_they_stay_different() {
        let (long, twin) = ("x".repeat(62) + "é", "x".repeat(62) + "à");
        let short = "x".repeat(62);
        let column = |name: &str| name == short;
        assert_eq!(stored(&[&long, "a", &long], column), [&short, "a", &short]);
        assert_eq!(stored(&[&long, "a"], |_| false), [&long, "a"]);
        for other in [&twin, &short] {
            assert_eq!(stored(&[&long, other], column), [&long, other]);
        }
    }

    #[test]
    fn elements_are_found_by_name() {
        assert_eq!(leading_elements(&["a[1]", "a[2]", "a[4]"]), Some(("a", 2)));
        assert_eq!(leading_elements(&["a[1][1]", "b"]), Some(("a[1]", 1)));
        assert_eq!(leading_elements(&["a[2]", "a[1]"]), None);
        assert_eq!(leading_elements(&["a[1]", "a[02]"]), Some(("a", 1)));
        assert_eq!(leading_elements(&["a"]), None);
        assert_eq!(leading_elements::<&str>(&[]), None);
        assert_eq!(element_names("a", 2).collect::<Vec<_>>(), ["a[1]", "a[2]"]);
    }
}
