//! Every error that a user can meet, and the one table from errors to SQLSTATEs.
//!
//! A test walks the table. What libxgboost refuses has a state of class 38, which the SQL standard
//! keeps for what happens outside of the server's own code; none is XX000, which PostgreSQL keeps for
//! bugs. Messages follow PostgreSQL's style guide. They repeat no values of rows, except the name of a
//! group that is in two places.

use pg_interface::*;
use pgrx::pg_sys::panic::ErrorReport;

/// An error of the extension.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// An argument that must not be NULL is NULL.
    NullArgument { argument: &'static str },
    /// An argument is outside of its range.
    ArgumentRange { argument: &'static str, given: String, allowed: &'static str },
    /// Two arguments that exclude each other, or one that needs another.
    Arguments { message: &'static str, hint: &'static str },
    /// A name that no model can have.
    ModelName { name: String, reason: &'static str },
    /// The current user may not call the function of pgboost that stores a model.
    Denied { function: &'static str },
    /// The model exists and belongs to somebody else.
    NotOwner { name: String },
    /// `params` is no object.
    ParametersForm { given: &'static str },
    /// A parameter that does not exist.
    UnknownParameter { name: String, nearest: Option<&'static str> },
    /// Two names for one thing, argument or parameter, with different values.
    Contradiction { names: [String; 2] },
    /// A parameter of the wrong type or outside of its range.
    ParameterValue { name: String, allowed: String, given: String },
    /// A parameter that XGBoost has and that cannot be used here.
    ParameterRefused { name: String, hint: &'static str },
    /// The text is not one SELECT.
    NotOneSelect { argument: &'static str, detail: &'static str },
    /// The source lacks a column.
    NoSuchColumn { column: String, argument: &'static str, nearest: Option<String> },
    /// The source has two columns of that name.
    AmbiguousColumn { column: String },
    /// One column in two roles.
    ColumnTwice { column: String },
    /// A column's type does not fit what it is used for.
    ColumnType { column: String, type_name: String, role: &'static str, hint: &'static str },
    /// There is no column to learn from.
    NoFeatures,
    /// There is no row to learn from.
    NoRows { argument: &'static str, skipped: u64 },
    /// A value that is infinite, or too large for a real.
    ValueRange { column: String },
    /// A target or a weight that cannot be one.
    ValueRefused { column: String, what: &'static str },
    /// A column has more distinct texts than a categorical feature may have.
    TooManyCategories { column: String, limit: usize },
    /// A category of the evaluation rows or of a new row that the model does not know.
    UnknownCategory { column: String, argument: &'static str },
    /// The target has too few or too many distinct values for the objective.
    Classes { objective: String, classes: usize, allowed: &'static str },
    /// Rows of one group are not next to each other.
    GroupApart { group: String },
    /// libxgboost is not where it should be.
    LibraryMissing { path: String, reason: String },
    /// libxgboost is too old.
    LibraryOld { version: String },
    /// The trainer is not where it should be, or not of this version.
    TrainerMissing { path: String, reason: String },
    /// The trainer was killed.
    TrainerKilled,
    /// The trainer ended without an answer.
    TrainerEnded { how: String, said: String },
    /// A temporary file cannot be written or read.
    TemporaryFile { reason: String, disk_full: bool },
    /// The rows times the outputs are more than the setting allows.
    TooManyPredictions { rows: u64, outputs: u64, max: u64 },
    /// The trained model is larger than a value can be.
    ModelSize { bytes: u64 },
    /// libxgboost refused what it was asked for.
    XGBoost { message: String },
    /// There is no more memory.
    OutOfMemory,
    /// A row has another number of features than the model.
    FeatureCount { model: String, expected: usize, given: usize },
    /// The model produces several values per row.
    SeveralValues { model: String, function: &'static str },
    /// The model does not name its features.
    NoFeatureNames { model: String },
    /// pgboost gave something that it should not.
    Registry { what: &'static str },
}

impl Error {
    /// The SQLSTATE.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::NullArgument { .. } => NULL_VALUE_NOT_ALLOWED,
            Error::ArgumentRange { .. }
            | Error::Arguments { .. }
            | Error::ParametersForm { .. }
            | Error::UnknownParameter { .. }
            | Error::Contradiction { .. }
            | Error::ParameterValue { .. }
            | Error::NoFeatures
            | Error::Classes { .. }
            | Error::GroupApart { .. } => INVALID_PARAMETER_VALUE,
            Error::ParameterRefused { .. } => FEATURE_NOT_SUPPORTED,
            Error::ModelName { .. } => INVALID_NAME,
            Error::Denied { .. } | Error::NotOwner { .. } => INSUFFICIENT_PRIVILEGE,
            Error::NotOneSelect { .. } => SYNTAX_ERROR,
            Error::NoSuchColumn { .. } | Error::NoFeatureNames { .. } => UNDEFINED_COLUMN,
            Error::AmbiguousColumn { .. } => AMBIGUOUS_COLUMN,
            Error::ColumnTwice { .. } => DUPLICATE_COLUMN,
            Error::ColumnType { .. } => DATATYPE_MISMATCH,
            Error::NoRows { .. } | Error::ValueRefused { .. } | Error::FeatureCount { .. } => {
                DATA_EXCEPTION
            }
            Error::ValueRange { .. } => NUMERIC_VALUE_OUT_OF_RANGE,
            Error::TooManyCategories { .. }
            | Error::TooManyPredictions { .. }
            | Error::ModelSize { .. } => PROGRAM_LIMIT_EXCEEDED,
            Error::UnknownCategory { .. } => INVALID_TEXT_REPRESENTATION,
            Error::LibraryMissing { .. }
            | Error::LibraryOld { .. }
            | Error::TrainerMissing { .. } => UNDEFINED_FILE,
            Error::XGBoost { .. } | Error::TrainerEnded { .. } => EXTERNAL_ROUTINE_EXCEPTION,
            Error::OutOfMemory | Error::TrainerKilled => OUT_OF_MEMORY,
            Error::TemporaryFile { disk_full: true, .. } => DISK_FULL,
            Error::TemporaryFile { .. } => IO_ERROR,
            Error::SeveralValues { .. } => WRONG_OBJECT_TYPE,
            Error::Registry { .. } => OBJECT_NOT_IN_PREREQUISITE_STATE,
        }
    }

    /// The message: lower case, no full stop.
    pub fn message(&self) -> String {
        match self {
            Error::NullArgument { argument } => format!("{argument} must not be null"),
            Error::ArgumentRange { argument, given, allowed } => {
                format!("{argument} must be {allowed}, not {given}")
            }
            Error::Arguments { message, .. } => (*message).to_owned(),
            Error::ModelName { name, .. } => format!("invalid model name: \"{name}\""),
            Error::Denied { function } => format!("permission denied for function {function}"),
            Error::NotOwner { name } => format!("must be owner of model \"{name}\""),
            Error::ParametersForm { given } => {
                format!("params must be a jsonb object, not {given}")
            }
            Error::UnknownParameter { name, .. } => {
                format!("unknown training parameter \"{name}\"")
            }
            Error::Contradiction { names: [first, second] } => {
                format!("{first} and {second} have different values")
            }
            Error::ParameterValue { name, allowed, given } => {
                format!("training parameter \"{name}\" must be {allowed}, not {given}")
            }
            Error::ParameterRefused { name, .. } => {
                format!("training parameter \"{name}\" cannot be used in train_model")
            }
            Error::NotOneSelect { argument, .. } => {
                format!("{argument} must be the name of a table or view, or one SELECT statement")
            }
            Error::NoSuchColumn { column, argument, .. } => {
                format!("column \"{column}\" is not in the {argument}")
            }
            Error::AmbiguousColumn { column } => {
                format!("column \"{column}\" is in the source more than once")
            }
            Error::ColumnTwice { column } => {
                format!("column \"{column}\" cannot be used for two things")
            }
            Error::ColumnType { column, type_name, role, .. } => {
                format!("column \"{column}\" of type {type_name} cannot be the {role}")
            }
            Error::NoFeatures => "there are no features to train on".to_owned(),
            Error::NoRows { argument, .. } => format!("{argument} returns no rows"),
            Error::ValueRange { column } => {
                format!("a value of column \"{column}\" is infinite or out of range for type real")
            }
            Error::ValueRefused { column, what } => {
                format!("a value of column \"{column}\" {what}")
            }
            Error::TooManyCategories { column, limit } => {
                format!(
                    "column \"{column}\" has more than {limit} distinct texts, or too long ones"
                )
            }
            Error::UnknownCategory { column, argument } => {
                format!("{argument} has a value of column \"{column}\" that is not in the model")
            }
            Error::Classes { objective, classes, allowed } => {
                format!("objective {objective} needs a target of {allowed}, not of {classes}")
            }
            Error::GroupApart { group } => {
                format!("rows of group \"{group}\" are not next to each other")
            }
            Error::LibraryMissing { .. } => "libxgboost is not installed".to_owned(),
            Error::LibraryOld { version } => format!("libxgboost {version} is too old"),
            Error::TrainerMissing { .. } => "pgboost_trainer is not installed".to_owned(),
            Error::TrainerKilled => "the training process was killed".to_owned(),
            Error::TrainerEnded { .. } => "the training process ended unexpectedly".to_owned(),
            Error::TemporaryFile { reason, .. } => {
                format!("could not use a temporary file of the training: {reason}")
            }
            Error::TooManyPredictions { rows, outputs, .. } => {
                format!("too many predictions to train: {rows} rows times {outputs} outputs")
            }
            Error::ModelSize { bytes } => format!("a model of {bytes} bytes is too large to store"),
            Error::XGBoost { .. } => "libxgboost reported an error".to_owned(),
            Error::OutOfMemory => "out of memory".to_owned(),
            Error::FeatureCount { model, expected, given } => {
                format!("model \"{model}\" expects {expected} features, not {given}")
            }
            Error::SeveralValues { model, function } => {
                format!("{function} cannot be used with model \"{model}\"")
            }
            Error::NoFeatureNames { model } => {
                format!("cannot match a source to model \"{model}\", which has no feature names")
            }
            Error::Registry { what } => format!("extension pgboost gave no {what}"),
        }
    }

    /// The detail: whole sentences.
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::ModelName { reason, .. } => Some((*reason).to_owned()),
            Error::NotOneSelect { detail, .. } => Some((*detail).to_owned()),
            Error::NoRows { skipped: 1.., .. } => {
                Some("The target is null in all of them.".to_owned())
            }
            Error::TooManyCategories { .. } => {
                Some("The distinct texts of a column may have 16 MiB together.".to_owned())
            }
            Error::LibraryMissing { path, reason } | Error::TrainerMissing { path, reason } => {
                Some(format!("It should be at {path}: {reason}"))
            }
            Error::TooManyPredictions { max, .. } => {
                Some(format!("The setting pgboost_train.max_predictions allows {max}."))
            }
            Error::TrainerKilled => {
                Some("The system kills it first where memory runs out.".to_owned())
            }
            Error::TrainerEnded { how, said } if said.is_empty() => Some(format!("{how}.")),
            Error::TrainerEnded { how, said } => Some(format!("{how}: {said}")),
            Error::XGBoost { message } => Some(message.clone()),
            Error::SeveralValues { .. } => {
                Some("The model produces several values per row.".to_owned())
            }
            _ => None,
        }
    }

    /// The hint: what to do next, in whole sentences.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Error::UnknownParameter { nearest: Some(nearest), .. } => {
                return Some(format!("Perhaps you mean \"{nearest}\"."));
            }
            Error::NoSuchColumn { nearest: Some(nearest), .. } => {
                return Some(format!("Perhaps you mean \"{nearest}\"."));
            }
            Error::Arguments { hint, .. }
            | Error::ParameterRefused { hint, .. }
            | Error::ColumnType { hint, .. } => hint,
            Error::UnknownParameter { .. } => {
                "The parameters are those of XGBoost's tree boosters and objectives."
            }
            Error::Contradiction { .. } => "Give one of the two.",
            Error::NotOwner { .. } => "Choose another name for the model.",
            Error::AmbiguousColumn { .. } => "Give the columns of the query names of their own.",
            Error::ColumnTwice { .. } => "Leave it out of the features.",
            Error::ValueRange { .. } => "Filter such rows out, or make the values null.",
            Error::TooManyCategories { .. } => "Leave the column out with the features argument.",
            Error::GroupApart { .. } => "Order the query by the column of the group.",
            Error::OutOfMemory | Error::TrainerKilled => {
                "Train on fewer rows, with a smaller max_bin or max_depth, or give the server more \
                 memory."
            }
            Error::TooManyPredictions { .. } => {
                "Train on fewer rows, or have a superuser raise the setting."
            }
            Error::ModelSize { .. } => "Train fewer rounds, or trees of less depth.",
            Error::LibraryMissing { .. }
            | Error::LibraryOld { .. }
            | Error::TrainerMissing { .. } => {
                "Install it with make install; extension pgboost works without it."
            }
            Error::NoFeatureNames { .. } => {
                "Name them with the feature_names argument of load_model."
            }
            _ => return None,
        };
        Some(fixed.to_owned())
    }
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let (message, detail, hint) = (error.message(), error.detail(), error.hint());
        report::error_report("pgboost_train", error.sqlstate(), message, detail, hint)
    }
}

/// The result of everything in the extension that can fail.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests;
