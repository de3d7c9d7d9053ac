//! The rule for a model's name: free text that keeps `name@version` unambiguous, and no longer than
//! PostgreSQL's own identifiers.

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

/// As much of a refused name as a message shows.
pub fn shown(name: &str) -> String {
    name.chars().take(MAX_BYTES).collect()
}
