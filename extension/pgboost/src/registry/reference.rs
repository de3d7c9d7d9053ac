//! `name` or `name@version`: how SQL refers to a model.
//!
//! Names are free text with two rules that keep references unambiguous and short: no `@`, and at
//! most 63 bytes, like PostgreSQL's own identifiers.

use crate::error::{Error, Result};

/// Longest name in bytes.
const MAX_NAME_BYTES: usize = 63;

/// A model's name, and the version if one was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The name, without the version.
    pub name: &'a str,
    /// The version; nothing means the deployed one.
    pub version: Option<i32>,
}

impl<'a> Reference<'a> {
    /// Takes `name` or `name@version` apart.
    pub fn parse(reference: &'a str) -> Result<Self> {
        let Some((name, version)) = reference.rsplit_once('@') else {
            return Ok(Reference { name: check_name(reference)?, version: None });
        };
        let digits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        match version.parse::<i32>() {
            Ok(number) if digits && number > 0 => {
                Ok(Reference { name: check_name(name)?, version: Some(number) })
            }
            _ => Err(Error::VersionNumber { reference: reference.to_owned() }),
        }
    }
}

/// The name itself, if a model may have it.
pub fn check_name(name: &str) -> Result<&str> {
    let reason = if name.is_empty() {
        "A model name must not be empty."
    } else if name.len() > MAX_NAME_BYTES {
        "A model name must not be longer than 63 bytes."
    } else if name.contains('@') {
        "A model name must not contain \"@\", which separates it from the version."
    } else {
        return Ok(name);
    };
    Err(Error::ModelName { name: name.chars().take(MAX_NAME_BYTES).collect(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_alone_means_the_deployed_version() {
        assert_eq!(Reference::parse("flights"), Ok(Reference { name: "flights", version: None }));
    }

    #[test]
    fn version_follows_the_last_at_sign() {
        let reference = Reference { name: "flights", version: Some(12) };
        assert_eq!(Reference::parse("flights@12"), Ok(reference));
    }

    #[test]
    fn versions_are_positive_numbers() {
        for wrong in ["m@", "m@0", "m@-1", "m@+1", "m@x", "m@1 ", "m@99999999999"] {
            let error = Error::VersionNumber { reference: wrong.to_owned() };
            assert_eq!(Reference::parse(wrong), Err(error));
        }
    }

    #[test]
    fn names_are_short_and_without_at_signs() {
        assert!(check_name(&"x".repeat(63)).is_ok());
        for wrong in ["", "a@b", &"x".repeat(64)] {
            assert!(matches!(check_name(wrong), Err(Error::ModelName { .. })));
        }
        assert!(matches!(Reference::parse("@1"), Err(Error::ModelName { .. })));
        assert!(matches!(Reference::parse("a@b@1"), Err(Error::ModelName { .. })));
    }
}
