//! Names that callers write: the rule for a model's name, the names of an array's elements as features, and
//! the name that was probably meant.
//!
//! A model's name is free text that keeps `name@version` unambiguous, and no longer than PostgreSQL's own
//! identifiers. The elements of an array are `image[1]`, `image[2]` and so on, as a subscript names them.

/// Longest name in bytes.
pub const MAX_BYTES: usize = 63;

/// The name itself, if a model may have it.
///
/// # Errors
/// Why it may not, as a whole sentence.
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

/// The part of a refused name that a message shows.
pub fn shown(name: &str) -> String {
    name.chars().take(MAX_BYTES).collect()
}

/// The names of an array's elements.
pub fn element_names(column: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| format!("{column}[{number}]"))
}

/// The column whose elements the names begin with, and how many of them follow one another.
pub fn leading_elements<N: AsRef<str>>(names: &[N]) -> Option<(&str, usize)> {
    let column = names.first()?.as_ref().strip_suffix("[1]")?;
    let numbered = (1_usize..).zip(names);
    let follows = |(number, name): &(usize, &N)| {
        let rest = name.as_ref().strip_prefix(column).and_then(|rest| rest.strip_prefix('['));
        rest.and_then(|rest| rest.strip_suffix(']')) == Some(number.to_string().as_str())
    };
    Some((column, numbered.take_while(follows).count()))
}

/// The candidate nearest to a name that is none of them, if one is near enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The hint that asks whether this was meant.
pub fn hint(nearest: Option<&str>) -> Option<String> {
    nearest.map(|nearest| format!("Perhaps you mean \"{nearest}\"."))
}

#[cfg(test)]
mod tests {
    use super::*;

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
