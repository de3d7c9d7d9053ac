//! The name that was probably meant.

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

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["max_depth", "eta", "lambda"];
        assert_eq!(nearest("maxdepth", names.into_iter()), Some("max_depth"));
        assert_eq!(nearest("Max_Depht", names.into_iter()), Some("max_depth"));
        assert_eq!(nearest("temperature", names.into_iter()), None);
    }
}
