//! Every error that a user can meet, and the one table from errors to SQLSTATEs.
//!
//! Refusals of libxgboost have a state of class 38, the SQL standard's class for external routines; no error
//! has XX000, which PostgreSQL reserves for bugs. Messages show no values of rows, except the name of a group
//! that is in two places.

use gbtrees::ErrorKind;
use pg_interface::report::Phrase;
use pg_interface::{error_conversions, error_table, error_text, *};
use row_source::SourceError;
use row_source::names::hint as meant;

error_table! {
    "pgboost_train":
    /// An error of the source's query or of its values.
    Source { error: SourceError } =>
        error.report().sqlstate, (Some(error.report().message)),
        detail (error.report().detail), hint (error.report().hint);
    NullArgument { argument: &'static str } =>
        NULL_VALUE_NOT_ALLOWED, "{argument} must not be null";
    Encoding { what: &'static str } =>
        FEATURE_NOT_SUPPORTED, "{what} beyond ASCII cannot be used in a database of this encoding",
        hint "Use a database whose encoding is UTF8.";
    ArgumentRange { argument: &'static str, given: String, allowed: &'static str } =>
        INVALID_PARAMETER_VALUE, "{argument} must be {allowed}, not {given}";
    Arguments { message: &'static str, hint: &'static str } =>
        INVALID_PARAMETER_VALUE, "{message}", hint "{hint}";
    ModelName { name: String, reason: &'static str } =>
        INVALID_NAME, "invalid model name: \"{name}\"", detail "{reason}";
    /// The current user may not call the function of pgboost that stores a model.
    Denied { function: &'static str } =>
        INSUFFICIENT_PRIVILEGE, "permission denied for function {function}";
    /// A function that would be called in place of pgboost's. Whoever may create functions in the schema can add
    /// one.
    OtherFunction { function: &'static str } =>
        AMBIGUOUS_FUNCTION, "the schema of pgboost has another function \"{function}\"",
        hint "Drop it, or move it to another schema.";
    /// A change of meaning that `load_model` would refuse after the training.
    OtherMeaning { name: String, version: i32, what: &'static str, old: String, new: String } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the new version of model \"{name}\" has {what} than version {version}",
        detail "Version {version} has {old}; the new one has {new}.",
        hint "Pass allow_change => true if that is meant, or deploy => false to store the version only.";
    ParametersForm { given: &'static str } =>
        INVALID_PARAMETER_VALUE, "params must be a jsonb object, not {given}";
    SearchForm { given: &'static str } =>
        INVALID_PARAMETER_VALUE, "search must be a jsonb object, not {given}",
        hint "Give it training parameters, each with an array of values or an object with min and max.";
    SearchValues { name: String, what: &'static str, hint: &'static str } =>
        INVALID_PARAMETER_VALUE, "training parameter \"{name}\" of search {what}", hint "{hint}";
    TooManyTrials { trials: u64, max: u64 } =>
        PROGRAM_LIMIT_EXCEEDED, "search has {trials} combinations, and {max} can be tried",
        hint "Choose some of them at random with the argument trials.";
    UnknownParameter { name: String, nearest: Option<&'static str> } =>
        INVALID_PARAMETER_VALUE, "unknown training parameter \"{name}\"",
        hint (meant(*nearest).or_else(|| error_text!(
            "The parameters are those of XGBoost's tree boosters and objectives."
        )));
    /// Two names for one thing, argument or parameter, with different values.
    Contradiction { first: String, second: String } =>
        INVALID_PARAMETER_VALUE, "{first} and {second} have different values",
        hint "Give one of the two.";
    ParameterValue { name: String, allowed: Phrase, given: String } =>
        INVALID_PARAMETER_VALUE, "training parameter \"{name}\" must be {allowed}, not {given}";
    ParameterRefused { name: String, hint: &'static str } =>
        FEATURE_NOT_SUPPORTED, "training parameter \"{name}\" cannot be used in train_model",
        hint "{hint}";
    CannotContinue { model: String, reason: Phrase } =>
        INVALID_PARAMETER_VALUE, "training cannot continue from model \"{model}\"",
        detail "{reason}", hint "Train a new model without continue_from.";
    ColumnTwice { column: String } =>
        DUPLICATE_COLUMN, "column \"{column}\" cannot be used for two purposes",
        hint "Leave it out of the features.";
    NoFeatures =>
        INVALID_PARAMETER_VALUE, "there are no features to train on";
    ValueRange { column: String } =>
        NUMERIC_VALUE_OUT_OF_RANGE,
        "a value of column \"{column}\" is infinite or out of range for type real",
        hint "Filter such rows out, or make the values null.";
    TargetRange { column: String, objective: &'static str, allowed: &'static str, given: String } =>
        NUMERIC_VALUE_OUT_OF_RANGE,
        "target \"{column}\" must be {allowed} for objective {objective}, not {given}",
        hint "Filter such rows out, or choose another objective.";
    Needed { by: String, needed: &'static str } =>
        INVALID_PARAMETER_VALUE, "{by} needs {needed}";
    NoValues { column: String } =>
        INVALID_PARAMETER_VALUE, "there are no features to train on",
        detail "Column \"{column}\" is text and null in every row.";
    NoWeight { column: String } =>
        DATA_EXCEPTION, "weight \"{column}\" is 0 in every row",
        hint "Give some rows a weight above 0.";
    TooManyCategories { column: String, limit: usize } =>
        PROGRAM_LIMIT_EXCEEDED,
        "column \"{column}\" has more than {limit} distinct texts, or too long ones",
        detail "The distinct texts of a column may have 16 MiB together.",
        hint "Leave the column out with the features argument.";
    TooManyFolds { column: String, limit: u32 } =>
        PROGRAM_LIMIT_EXCEEDED,
        "column \"{column}\" has more than {limit} distinct values, too many for folds";
    ArrayUnmeasured { column: String, what: &'static str } =>
        DATA_EXCEPTION, "the array of column \"{column}\" is {what} in the first row",
        detail "The first row determines the number of features of the column.",
        hint "Order the query so that a row with an array comes first, or leave the column out.";
    ArrayLength { column: String, expected: usize, given: Phrase, array: String } =>
        DATA_EXCEPTION,
        "an array of column \"{column}\" has {given}, not {expected}",
        detail "The array is {array}.";
    UnknownCategory { column: String, argument: &'static str } =>
        INVALID_TEXT_REPRESENTATION,
        "{argument} has a value of column \"{column}\" that is not in the model";
    Classes { objective: String, classes: usize, allowed: &'static str } =>
        INVALID_PARAMETER_VALUE,
        "objective {objective} needs a target of {allowed}, not of {classes}";
    LibraryMissing { path: Phrase, reason: Phrase } =>
        UNDEFINED_FILE, "libxgboost is not installed",
        detail "It should be at {path}: {reason}", hint (install());
    LibraryOld { version: String } =>
        UNDEFINED_FILE, "libxgboost {version} is too old", hint (install());
    /// The trainer is missing, or has another version.
    TrainerMissing { path: Phrase, reason: Phrase } =>
        UNDEFINED_FILE, "pgboost_trainer is not installed",
        detail "It should be at {path}: {reason}", hint (install());
    TrainerKilled =>
        OUT_OF_MEMORY, "the training process was killed",
        detail "The system kills this process first when memory runs out.", hint (need_less_memory());
    TrainerEnded { how: Phrase, said: Phrase } =>
        EXTERNAL_ROUTINE_EXCEPTION, "the training process ended unexpectedly",
        detail (Some(if said.is_empty() { format!("{how}.") } else { format!("{how}: {said}") }));
    TooManyPredictions { rows: u64, outputs: u64, bytes: u64, max_kb: u64 } =>
        PROGRAM_LIMIT_EXCEEDED,
        "too many predictions to train: {rows} rows times {outputs} outputs",
        detail "They take {bytes} bytes, and the setting pgboost_train.max_prediction_memory is {max_kb} kB.",
        hint "Train on fewer rows, or have a superuser raise the setting.";
    ModelSize { bytes: u64 } =>
        PROGRAM_LIMIT_EXCEEDED, "a model of {bytes} bytes is too large to store",
        hint "Train fewer rounds, or trees of less depth.";
    XGBoost { message: Phrase } =>
        EXTERNAL_ROUTINE_EXCEPTION, "libxgboost reported an error", detail "{message}";
    OutOfMemory =>
        OUT_OF_MEMORY, "out of memory", hint (need_less_memory());
    FeatureCount { model: String, expected: Phrase, given: usize } =>
        DATA_EXCEPTION, "model \"{model}\" expects {expected}, not {given}";
    SeveralValues { model: String, function: &'static str } =>
        WRONG_OBJECT_TYPE, "{function} cannot be used with model \"{model}\"",
        detail "The model produces several values per row.";
    NoFeatureNames { model: String } =>
        UNDEFINED_COLUMN,
        "cannot match a source to model \"{model}\", which has no feature names",
        hint "Name them with the feature_names argument of load_model.";
    OtherLibrary { model: String, format: &'static str } =>
        FEATURE_NOT_SUPPORTED, "model \"{model}\" is not a model of XGBoost",
        detail "Its format is {format}, which libxgboost cannot read.",
        hint "Use predict, and compare with the predictions of the model's own library.";
    /// A SQL function of an earlier release, whose arguments are others.
    EarlierFunctions =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "the functions of extension pgboost_train are not those of its library",
        hint "Run ALTER EXTENSION pgboost_train UPDATE in this database.";
    /// An unexpected result of one of pgboost's functions.
    Registry { what: &'static str } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "extension pgboost gave no {what}";
}

fn install() -> Option<String> {
    error_text!("Install it with make install; extension pgboost works without it.")
}

fn need_less_memory() -> Option<String> {
    error_text!(
        "Use fewer rows, in training a smaller max_bin or max_depth, or give the server more memory."
    )
}

error_conversions! {
    SourceError: error => Error::Source { error };
    varlena::EncodingError: varlena::EncodingError(what) => Error::Encoding { what };
    /// Of reading a model that extension pgboost has read before: only memory can be short.
    gbtrees::Error: error => match error.kind() {
        ErrorKind::OutOfMemory => Error::OutOfMemory,
        _ => Error::Registry { what: "valid model" },
    };
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]
mod tests {
    use pg_interface::{error_table_tests, sampled};
    use row_source::SourceError;

    use super::{Error, Sampled};

    sampled!(text: SourceError => [SourceError::AmbiguousColumn { column: text.to_owned() }]);

    error_table_tests!([Error::TrainerEnded {
        how: "It failed".to_owned().into(),
        said: String::new().into()
    }]);

    #[test]
    fn what_was_meant_is_hinted_at() {
        let error = Error::UnknownParameter { name: "etaa".to_owned(), nearest: Some("eta") };
        assert_eq!(error.report().hint.unwrap(), "Perhaps you mean \"eta\".");
    }

    #[test]
    fn a_model_that_memory_is_too_small_for_is_valid() {
        let refused = Vec::<u8>::new().try_reserve(usize::MAX).unwrap_err();
        assert_eq!(Error::from(gbtrees::Error::from(refused)), Error::OutOfMemory);
    }
}
