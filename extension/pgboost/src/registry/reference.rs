//! References to models: `name`, `name@version` or `name@alias`.
//!
//! An alias begins with a letter or an underscore, so that it cannot be mistaken for a version's number.

use row_source::names::{self, MAX_BYTES};

use crate::error::{Error, Result};

/// A model's name and the version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    pub(crate) wanted: Wanted<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    Deployed,
    Version(i32),
    Alias(&'a str),
}

impl<'a> Reference<'a> {
    /// Splits a reference at its `@`.
    pub(crate) fn parse(reference: &'a str) -> Result<Self> {
        let Some((name, version)) = reference.rsplit_once('@') else {
            return Ok(Reference { name: check_name(reference)?, wanted: Wanted::Deployed });
        };
        let digits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        let wanted = match version.parse::<i32>() {
            Ok(number) if digits && number > 0 => Wanted::Version(number),
            _ if check_alias(version).is_ok() => Wanted::Alias(version),
            _ => return Err(Error::VersionNumber { reference: reference.to_owned() }),
        };
        Ok(Reference { name: check_name(name)?, wanted })
    }
}

pub(crate) fn check_name(name: &str) -> Result<&str> {
    names::check(name).map_err(|reason| Error::ModelName { name: name.to_owned(), reason })
}

/// Returns the alias if it is valid.
pub(crate) fn check_alias(alias: &str) -> Result<&str> {
    let is_first = |first: char| first.is_alphabetic() || first == '_';
    let reason = if !alias.starts_with(is_first) {
        "An alias begins with a letter or an underscore, so that it cannot be taken for a version."
    } else if alias.len() > MAX_BYTES {
        "An alias must not be longer than 63 bytes."
    } else if alias.contains('@') {
        "An alias must not contain \"@\", which separates it from the model's name."
    } else {
        return Ok(alias);
    };
    Err(Error::AliasName { alias: alias.to_owned(), reason })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]
mod tests {
    use super::*;

    #[test]
    fn versions_are_positive_numbers() {
        for wrong in ["m@", "m@0", "m@-1", "m@+1", "m@1x", "m@ x", "m@1 ", "m@99999999999"] {
            let error = Error::VersionNumber { reference: wrong.to_owned() };
            assert_eq!(Reference::parse(wrong), Err(error));
        }
    }

    #[test]
    fn an_alias_is_never_a_number() {
        let reference = Reference::parse("m@v2").unwrap();
        assert_eq!(reference, Reference { name: "m", wanted: Wanted::Alias("v2") });
        for wrong in ["", "2", "2nd", "-x", "+x", " x", "x@y", "٣", &"x".repeat(64)] {
            assert!(matches!(check_alias(wrong), Err(Error::AliasName { .. })), "{wrong}");
        }
    }

    #[test]
    fn the_name_before_the_version_is_checked() {
        assert!(matches!(Reference::parse("@1"), Err(Error::ModelName { .. })));
        assert!(matches!(Reference::parse("a@b@1"), Err(Error::ModelName { .. })));
    }
}
