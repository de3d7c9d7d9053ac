//! Every error that a user can meet, and the one table from errors to SQLSTATEs.
//!
//! A test walks the table: each kind must have a SQLSTATE, and none may be XX000, which PostgreSQL
//! keeps for bugs. Messages follow PostgreSQL's style guide; a hint says what to do next and is
//! absent where there is nothing useful to say. Nothing here repeats model bytes or row values,
//! except an unknown category, which the caller has just supplied.

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

/// Characters of an unknown category that a message shows.
const MAX_SHOWN: usize = 64;

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
        use Error::*;
        match self {
            Engine(error) => engine_sqlstate(error.kind()),
            ModelName { .. } | VersionNumber { .. } => INVALID_NAME,
            NoSuchModel { .. } | NoSuchVersion { .. } | NoSuchRole { .. } => UNDEFINED_OBJECT,
            Denied { .. } | NotOwner { .. } => INSUFFICIENT_PRIVILEGE,
            Deployed { .. } => OBJECT_IN_USE,
            FeatureCount { .. } => DATA_EXCEPTION,
            NoSuchFeature { .. } | NoFeatureNames { .. } => UNDEFINED_COLUMN,
            AmbiguousColumn { .. } => AMBIGUOUS_COLUMN,
            FeatureType { .. } | ArrayType { .. } | NotAnObject => DATATYPE_MISMATCH,
            FileName => INVALID_BINARY_REPRESENTATION,
            Dimensions { .. } => ARRAY_SUBSCRIPT_ERROR,
            UnknownCategory { .. } => INVALID_TEXT_REPRESENTATION,
            Shape { .. } => WRONG_OBJECT_TYPE,
            ImportanceKind { .. } | KernelMissing { .. } => INVALID_PARAMETER_VALUE,
            NullArgument { .. } => NULL_VALUE_NOT_ALLOWED,
            Encoding { .. } => FEATURE_NOT_SUPPORTED,
            NoRegistry => UNDEFINED_TABLE,
            Registry { .. } => OBJECT_NOT_IN_PREREQUISITE_STATE,
        }
    }

    /// The message: lower case, no full stop.
    pub fn message(&self) -> String {
        use Error::*;
        match self {
            Engine(error) => match error.kind() {
                ErrorKind::Unsupported
                | ErrorKind::Names
                | ErrorKind::Limit
                | ErrorKind::OutOfMemory => error.message().to_owned(),
                _ => format!("invalid model: {}", error.message()),
            },
            ModelName { name, .. } => format!("invalid model name: \"{name}\""),
            VersionNumber { reference } => format!("invalid model version in \"{reference}\""),
            NoSuchModel { name } => format!("model \"{name}\" does not exist"),
            NoSuchVersion { name, version } => format!("model \"{name}\" has no version {version}"),
            Denied { name } => format!("permission denied for model \"{name}\""),
            NotOwner { name } => format!("must be owner of model \"{name}\""),
            NoSuchRole { role } => format!("role \"{role}\" does not exist"),
            Deployed { name, version } => {
                format!("cannot drop version {version} of model \"{name}\" because it is deployed")
            }
            FeatureCount { model, expected, given, .. } => {
                format!("model \"{model}\" expects {expected} features, not {given}")
            }
            NoSuchFeature { model, feature, form, .. } => {
                format!("feature \"{feature}\" of model \"{model}\" is not in the {form}")
            }
            NotAnObject => "features must be a jsonb object".to_owned(),
            FileName => "invalid model: these bytes are the name of a file".to_owned(),
            NoFeatureNames { model, form } => {
                format!("cannot match a {form} to model \"{model}\", which has no feature names")
            }
            FeatureType { feature, type_name, .. } => {
                format!("feature {feature} cannot be of type {type_name}")
            }
            Dimensions { what, given } => {
                format!("array of {what}s must have one dimension, not {given}")
            }
            ArrayType { type_name } => format!("array of features cannot be of type {type_name}"),
            AmbiguousColumn { column } => format!("column \"{column}\" is ambiguous"),
            UnknownCategory { feature, value } => {
                let (shown, rest) = match value.char_indices().nth(MAX_SHOWN) {
                    Some((end, _)) => (value.split_at(end).0, "..."),
                    None => (value.as_str(), ""),
                };
                format!("unknown category \"{shown}{rest}\" for feature {feature}")
            }
            Shape { model, function, .. } => {
                format!("{function} cannot be used with model \"{model}\"")
            }
            ImportanceKind { kind } => format!("unknown kind of importance: \"{kind}\""),
            NullArgument { argument } => format!("{argument} must not be null"),
            Encoding { what } => {
                format!("{what} beyond ASCII cannot be used in a database of this encoding")
            }
            KernelMissing { name, .. } => format!("this CPU cannot run kernel \"{name}\""),
            NoRegistry => "the tables of extension pgboost do not exist".to_owned(),
            Registry { name, what } => {
                format!("the registry has no valid {what} for model \"{name}\"")
            }
        }
    }

    /// The detail: whole sentences.
    pub fn detail(&self) -> Option<String> {
        use {Error::*, ShapeReason::*, TypeReason::*};
        let fixed = match self {
            Engine(error) => match error.place() {
                Place::Model => return None,
                place => return Some(format!("The error is at {place}.")),
            },
            Shape { reason: SeveralValues { values, .. }, .. } => {
                return Some(format!("The model produces {values} values per row."));
            }
            KernelMissing { present, .. } => {
                return Some(format!("The kernels that it can run are: {}.", present.join(", ")));
            }
            ModelName { reason, .. } => *reason,
            Shape { reason: NoClasses, .. } => {
                "The model's objective does not choose one class per row."
            }
            FeatureType { reason, .. } => match reason {
                Unusable => return None,
                TextForNumber => "The feature is a number.",
                TextWithoutCategories => {
                    "The model file does not carry the names of the feature's categories."
                }
                TextForNumericCategories => "The feature's categories are numbers.",
                NumberForTextCategories => "The feature's categories are text.",
            },
            Registry { .. } => "It was changed by other means than the functions of pgboost.",
            _ => return None,
        };
        Some(fixed.to_owned())
    }

    /// The hint: what to do next, in whole sentences.
    pub fn hint(&self) -> Option<&'static str> {
        use {Error::*, ShapeReason::*, TypeReason::*};
        Some(match self {
            Engine(error) => return error.hint(),
            FeatureCount { hint, .. } => return *hint,
            VersionNumber { .. } => "Write model@version with a version number, such as flights@2.",
            NoSuchRole { role } if role.eq_ignore_ascii_case("public") => {
                "Everybody is public, in lower case."
            }
            Dimensions { given: 0, .. } => "Pass NULL for none.",
            ArrayType { .. } => "Cast the array to real[], with codes for categories.",
            AmbiguousColumn { .. } => "Each feature of the model must be one column of the row.",
            Denied { .. } => "The model's owner can grant it with grant_model.",
            Deployed { .. } => {
                "Deploy another version first, or drop the model with all its versions."
            }
            NoSuchFeature { unnamed: true, .. } => {
                "The row's columns have no names; pass a table's alias, or a subquery's."
            }
            NoSuchFeature { .. } => "A feature whose value is missing must be there, as null.",
            NotAnObject => "Pass an object with a key for each feature.",
            FileName => {
                "Pass what is in the file. A superuser can read it on the server with pg_read_binary_file."
            }
            NoFeatureNames { .. } => {
                "Pass the features as columns or as an array, or name them with the feature_names argument of load_model."
            }
            FeatureType { reason, .. } => match reason {
                Unusable => {
                    "Features are numbers, booleans, dates and timestamps, or text and enums for categorical features."
                }
                TextForNumber | TextForNumericCategories => "Cast the value to a numeric type.",
                TextWithoutCategories => {
                    "Pass the category's code, or train the model on a data frame with XGBoost 3.4 or later."
                }
                NumberForTextCategories => {
                    "Pass the category as text, or all features as an array with the category's code."
                }
            },
            UnknownCategory { .. } => {
                "Set pgboost.unknown_category to missing to score such rows as if it were null."
            }
            Shape { reason: SeveralValues { classes: true, .. }, .. } => {
                "Use predict_array for all values, or predict_class for a label."
            }
            Shape { reason: SeveralValues { .. }, .. } => "Use predict_array for all values.",
            Shape { reason: NoClasses, .. } => "Use predict or predict_array.",
            ImportanceKind { .. } => {
                "The kinds are weight, gain, cover, total_gain and total_cover."
            }
            KernelMissing { .. } => "Set pgboost.kernel to auto for the best of them.",
            Encoding { .. } => "Use a database whose encoding is UTF8.",
            NoRegistry => "Create the extension again.",
            _ => return None,
        })
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
