//! Every error that a user can meet, and the one table from errors to SQLSTATEs.
//!
//! A test walks the table: each kind must have a SQLSTATE, and none may be XX000, which PostgreSQL
//! keeps for bugs. Messages follow PostgreSQL's style guide; a hint says what to do next and is
//! absent where there is nothing useful to say. Nothing here repeats model bytes or row values,
//! except an unknown category, which the caller has just supplied.

use std::fmt::Write as _;

use gbdt::{ErrorKind, Place};
use pg_interface::*;
use pgrx::pg_sys::panic::ErrorReport;

#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The engine refused a model.
    Engine(gbdt::Error),
    /// A name that no model can have.
    ModelName { name: String, reason: &'static str },
    /// What follows the `@` is not a version number.
    VersionNumber { reference: String },
    /// There is no model of that name.
    NoSuchModel { name: String },
    /// The model has no such version.
    NoSuchVersion { name: String, version: i32 },
    /// The current user may not do that with the model.
    Denied { name: String },
    /// Only a model's owner may do that.
    NotOwner { name: String },
    /// There is no role of that name.
    NoSuchRole { role: String },
    /// The version is the deployed one and cannot be dropped alone.
    Deployed { name: String, version: i32 },
    /// The row has another number of features than the model.
    FeatureCount { model: String, expected: usize, given: usize, hint: Option<&'static str> },
    /// A row or an object lacks a feature of the model.
    NoSuchFeature { model: String, feature: String, form: &'static str, unnamed: bool },
    /// A jsonb value that is no object.
    NotAnObject,
    /// Bytes that are a file's name instead of a model.
    FileName,
    /// The model does not name its features, so nothing can be matched by name.
    NoFeatureNames { model: String, form: &'static str },
    /// A value of this type cannot be this feature, which is its name in quotes or its number.
    FeatureType { feature: String, type_name: String, reason: TypeReason },
    /// An array of features, labels or names, of which `what` is one, has not one dimension.
    Dimensions { what: &'static str, given: usize },
    /// Features cannot be an array of this type.
    ArrayType { type_name: String },
    /// A row has several columns of a feature's name.
    AmbiguousColumn { column: String },
    /// A value that is none of the feature's categories; the feature as above.
    UnknownCategory { feature: String, value: String },
    /// The model's shape does not fit the function.
    Shape { model: String, function: &'static str, reason: ShapeReason },
    /// A kind of importance that does not exist.
    ImportanceKind { kind: String },
    /// An argument that must not be NULL is NULL.
    NullArgument { argument: &'static str },
    /// Text that the database's encoding and UTF-8 do not share.
    Encoding { what: &'static str },
    /// A kernel whose instructions the processor lacks, and those that it can run.
    KernelMissing { name: &'static str, present: Vec<&'static str> },
    /// The functions are there, but the extension's tables are not.
    NoRegistry,
    /// The registry lacks what a model needs: somebody changed it by hand.
    Registry { name: String, what: &'static str },
}

/// Why a type cannot be used for a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeReason {
    Unusable,
    TextForNumber,
    /// Text, but the model does not carry the names of the feature's categories.
    TextWithoutCategories,
    /// Text, but the feature's categories are numbers.
    TextForNumericCategories,
    /// A number, but the feature's categories are text.
    NumberForTextCategories,
}

/// Why a function cannot be used with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeReason {
    /// It produces several values per row; of one class each, or not.
    SeveralValues { values: usize, classes: bool },
    /// It does not classify.
    NoClasses,
}

pub fn engine_sqlstate(kind: ErrorKind) -> SqlState {
    match kind {
        ErrorKind::Syntax
        | ErrorKind::Truncated
        | ErrorKind::Encoding
        | ErrorKind::Number
        | ErrorKind::MissingKey
        | ErrorKind::DuplicateKey
        | ErrorKind::WrongType
        | ErrorKind::Length
        | ErrorKind::Parameter
        | ErrorKind::TreeShape
        | ErrorKind::FeatureRange
        | ErrorKind::OutputRange
        | ErrorKind::CategoryRange
        | ErrorKind::NotFinite => INVALID_BINARY_REPRESENTATION,
        ErrorKind::Limit => PROGRAM_LIMIT_EXCEEDED,
        ErrorKind::Unsupported => FEATURE_NOT_SUPPORTED,
        ErrorKind::Names => INVALID_PARAMETER_VALUE,
        ErrorKind::OutOfMemory => OUT_OF_MEMORY,
        ErrorKind::Image => IO_ERROR,
    }
}

impl Error {
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::Engine(error) => engine_sqlstate(error.kind()),
            Error::ModelName { .. } | Error::VersionNumber { .. } => INVALID_NAME,
            Error::NoSuchModel { .. } | Error::NoSuchVersion { .. } | Error::NoSuchRole { .. } => {
                UNDEFINED_OBJECT
            }
            Error::Denied { .. } | Error::NotOwner { .. } => INSUFFICIENT_PRIVILEGE,
            Error::Deployed { .. } => OBJECT_IN_USE,
            Error::FeatureCount { .. } => DATA_EXCEPTION,
            Error::NoSuchFeature { .. } | Error::NoFeatureNames { .. } => UNDEFINED_COLUMN,
            Error::AmbiguousColumn { .. } => AMBIGUOUS_COLUMN,
            Error::FeatureType { .. } | Error::ArrayType { .. } | Error::NotAnObject => {
                DATATYPE_MISMATCH
            }
            Error::FileName => INVALID_BINARY_REPRESENTATION,
            Error::Dimensions { .. } => ARRAY_SUBSCRIPT_ERROR,
            Error::UnknownCategory { .. } => INVALID_TEXT_REPRESENTATION,
            Error::Shape { .. } => WRONG_OBJECT_TYPE,
            Error::ImportanceKind { .. } | Error::KernelMissing { .. } => INVALID_PARAMETER_VALUE,
            Error::NullArgument { .. } => NULL_VALUE_NOT_ALLOWED,
            Error::Encoding { .. } => FEATURE_NOT_SUPPORTED,
            Error::NoRegistry => UNDEFINED_TABLE,
            Error::Registry { .. } => OBJECT_NOT_IN_PREREQUISITE_STATE,
        }
    }

    /// The message: lower case, no full stop.
    pub fn message(&self) -> String {
        match self {
            Error::Engine(error) => match error.kind() {
                ErrorKind::Unsupported
                | ErrorKind::Names
                | ErrorKind::Limit
                | ErrorKind::OutOfMemory => error.message().to_owned(),
                _ => format!("invalid model: {}", error.message()),
            },
            Error::ModelName { name, .. } => format!("invalid model name: \"{name}\""),
            Error::VersionNumber { reference } => {
                format!("invalid model version in \"{reference}\"")
            }
            Error::NoSuchModel { name } => format!("model \"{name}\" does not exist"),
            Error::NoSuchVersion { name, version } => {
                format!("model \"{name}\" has no version {version}")
            }
            Error::Denied { name } => format!("permission denied for model \"{name}\""),
            Error::NotOwner { name } => format!("must be owner of model \"{name}\""),
            Error::NoSuchRole { role } => format!("role \"{role}\" does not exist"),
            Error::Deployed { name, version } => {
                format!("cannot drop version {version} of model \"{name}\" because it is deployed")
            }
            Error::FeatureCount { model, expected, given, .. } => {
                format!("model \"{model}\" expects {expected} features, not {given}")
            }
            Error::NoSuchFeature { model, feature, form, .. } => {
                format!("feature \"{feature}\" of model \"{model}\" is not in the {form}")
            }
            Error::NotAnObject => "features must be a jsonb object".to_owned(),
            Error::FileName => "invalid model: these bytes are the name of a file".to_owned(),
            Error::NoFeatureNames { model, form } => {
                format!("cannot match a {form} to model \"{model}\", which has no feature names")
            }
            Error::FeatureType { feature, type_name, .. } => {
                format!("feature {feature} cannot be of type {type_name}")
            }
            Error::Dimensions { what, given } => {
                format!("array of {what}s must have one dimension, not {given}")
            }
            Error::ArrayType { type_name } => {
                format!("array of features cannot be of type {type_name}")
            }
            Error::AmbiguousColumn { column } => format!("column \"{column}\" is ambiguous"),
            Error::UnknownCategory { feature, value } => {
                let mut shown = String::new();
                for (count, character) in value.chars().enumerate() {
                    if count == 64 {
                        let _ = shown.write_str("...");
                        break;
                    }
                    shown.push(character);
                }
                format!("unknown category \"{shown}\" for feature {feature}")
            }
            Error::Shape { model, function, .. } => {
                format!("{function} cannot be used with model \"{model}\"")
            }
            Error::ImportanceKind { kind } => format!("unknown kind of importance: \"{kind}\""),
            Error::NullArgument { argument } => format!("{argument} must not be null"),
            Error::Encoding { what } => {
                format!("{what} beyond ASCII cannot be used in a database of this encoding")
            }
            Error::KernelMissing { name, .. } => format!("this CPU cannot run kernel \"{name}\""),
            Error::NoRegistry => "the tables of extension pgboost do not exist".to_owned(),
            Error::Registry { name, what } => {
                format!("the registry has no valid {what} for model \"{name}\"")
            }
        }
    }

    /// The detail: whole sentences.
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::Engine(error) => match error.place() {
                Place::Model => None,
                place => Some(format!("The error is at {place}.")),
            },
            Error::ModelName { reason, .. } => Some((*reason).to_owned()),
            Error::Shape { reason: ShapeReason::SeveralValues { values, .. }, .. } => {
                Some(format!("The model produces {values} values per row."))
            }
            Error::Shape { reason: ShapeReason::NoClasses, .. } => {
                Some("The model's objective does not choose one class per row.".to_owned())
            }
            Error::FeatureType { reason, .. } => match reason {
                TypeReason::Unusable => None,
                TypeReason::TextForNumber => Some("The feature is a number.".to_owned()),
                TypeReason::TextWithoutCategories => Some(
                    "The model file does not carry the names of the feature's categories."
                        .to_owned(),
                ),
                TypeReason::TextForNumericCategories => {
                    Some("The feature's categories are numbers.".to_owned())
                }
                TypeReason::NumberForTextCategories => {
                    Some("The feature's categories are text.".to_owned())
                }
            },
            Error::KernelMissing { present, .. } => {
                Some(format!("The kernels that it can run are: {}.", present.join(", ")))
            }
            Error::Registry { .. } => {
                Some("It was changed by other means than the functions of pgboost.".to_owned())
            }
            _ => None,
        }
    }

    /// The hint: what to do next, in whole sentences.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Engine(error) => error.hint(),
            Error::VersionNumber { .. } => {
                Some("Write model@version with a version number, such as flights@2.")
            }
            Error::NoSuchRole { role } if role.eq_ignore_ascii_case("public") => {
                Some("Everybody is public, in lower case.")
            }
            Error::Dimensions { given: 0, .. } => Some("Pass NULL for none."),
            Error::ArrayType { .. } => Some("Cast the array to real[], with codes for categories."),
            Error::AmbiguousColumn { .. } => {
                Some("Each feature of the model must be one column of the row.")
            }
            Error::Denied { .. } => Some("The model's owner can grant it with grant_model."),
            Error::Deployed { .. } => {
                Some("Deploy another version first, or drop the model with all its versions.")
            }
            Error::NoSuchFeature { unnamed: true, .. } => {
                Some("The row's columns have no names; pass a table's alias, or a subquery's.")
            }
            Error::NoSuchFeature { .. } => {
                Some("A feature whose value is missing must be there, as null.")
            }
            Error::NotAnObject => Some("Pass an object with a key for each feature."),
            Error::FileName => Some(
                "Pass what is in the file. A superuser can read it on the server with pg_read_binary_file.",
            ),
            Error::NoFeatureNames { .. } => Some(
                "Pass the features as columns or as an array, or name them with the feature_names argument of load_model.",
            ),
            Error::FeatureType { reason, .. } => Some(match reason {
                TypeReason::Unusable => {
                    "Features are numbers, booleans, dates and timestamps, or text and enums for categorical features."
                }
                TypeReason::TextForNumber => "Cast the value to a numeric type.",
                TypeReason::TextWithoutCategories => {
                    "Pass the category's code, or train the model on a data frame with XGBoost 3.4 or later."
                }
                TypeReason::TextForNumericCategories => "Cast the value to a numeric type.",
                TypeReason::NumberForTextCategories => {
                    "Pass the category as text, or all features as an array with the category's code."
                }
            }),
            Error::UnknownCategory { .. } => Some(
                "Set pgboost.unknown_category to missing to score such rows as if it were null.",
            ),
            Error::Shape { reason: ShapeReason::SeveralValues { classes, .. }, .. } => {
                Some(if *classes {
                    "Use predict_array for all values, or predict_class for a label."
                } else {
                    "Use predict_array for all values."
                })
            }
            Error::FeatureCount { hint, .. } => *hint,
            Error::Shape { reason: ShapeReason::NoClasses, .. } => {
                Some("Use predict or predict_array.")
            }
            Error::ImportanceKind { .. } => {
                Some("The kinds are weight, gain, cover, total_gain and total_cover.")
            }
            Error::KernelMissing { .. } => Some("Set pgboost.kernel to auto for the best of them."),
            Error::Encoding { .. } => Some("Use a database whose encoding is UTF8."),
            Error::NoRegistry => Some("Create the extension again."),
            _ => None,
        }
    }
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let hint = error.hint().map(str::to_owned);
        let (message, detail) = (error.message(), error.detail());
        report::error_report("pgboost", error.sqlstate(), message, detail, hint)
    }
}

impl From<gbdt::Error> for Error {
    fn from(error: gbdt::Error) -> Self {
        Error::Engine(error)
    }
}

/// The result of everything in the extension that can fail.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests;
