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

/// The hint that asks whether this was meant.
pub fn hint(nearest: Option<&str>) -> Option<String> {
    nearest.map(|nearest| format!("Perhaps you mean \"{nearest}\"."))
}
