//! `name` or `name@version`: how SQL refers to a model.

use pg_interface::model_name;

use crate::error::{Error, Result};

/// A model's name, and the version if one was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
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

pub fn check_name(name: &str) -> Result<&str> {
    model_name::check(name)
        .map_err(|reason| Error::ModelName { name: model_name::shown(name), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_positive_numbers() {
        for wrong in ["m@", "m@0", "m@-1", "m@+1", "m@x", "m@1 ", "m@99999999999"] {
            let error = Error::VersionNumber { reference: wrong.to_owned() };
            assert_eq!(Reference::parse(wrong), Err(error));
        }
    }

    #[test]
    fn the_name_before_the_version_is_checked() {
        assert!(matches!(Reference::parse("@1"), Err(Error::ModelName { .. })));
        assert!(matches!(Reference::parse("a@b@1"), Err(Error::ModelName { .. })));
    }
}
