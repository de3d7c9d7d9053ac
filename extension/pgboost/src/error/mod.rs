//! Every error that a user can meet, and the one table from errors to SQLSTATEs.
//!
//! None is XX000, which PostgreSQL reserves for bugs. No message shows model bytes or row values,
//! except an unknown category, which the caller has just supplied.

mod reasons;
#[cfg(test)]
mod tests;

use gbtrees::{ErrorKind, Place};
use pg_interface::report::Phrase;
use pg_interface::{error_conversions, error_table, *};
use row_source::SourceError;

pub(crate) use self::reasons::{CategoryReason, ShapeReason, TypeReason};

/// The most bytes of a column's name: PostgreSQL's NAMEDATALEN, without the terminating zero.
const NAME_BYTES: usize = 63;

error_table! {
    "pgboost":
    /// The engine refused a model.
    Engine { error: gbtrees::Error } =>
        engine_sqlstate(error.kind()), (Some(engine_message(error))),
        detail (engine_detail(error)), hint (error.hint());
    /// An error of a source's query or of its values.
    Source { error: SourceError } =>
        error.report().sqlstate, (Some(error.report().message)),
        detail (error.report().detail), hint (error.report().hint);
    ModelName { name: String, reason: &'static str } =>
        INVALID_NAME, "invalid model name: \"{name}\"", detail "{reason}";
    VersionNumber { reference: String } =>
        INVALID_NAME, "invalid model version in \"{reference}\"",
        hint "Write model@version with a version number, such as flights@2, or model@alias.";
    AliasName { alias: String, reason: &'static str } =>
        INVALID_NAME, "invalid alias: \"{alias}\"", detail "{reason}";
    WholeModel { reference: String, name: String } =>
        INVALID_PARAMETER_VALUE, "\"{reference}\" is a version of model \"{name}\", not the model",
        hint "Write the model's name alone.";
    NeedsVersion { name: String } =>
        INVALID_PARAMETER_VALUE, "deploy_model needs a version of model \"{name}\"",
        hint "Write model@version, such as flights@2, or model@alias.";
    /// A row to change was written after the transaction's snapshot.
    ConcurrentUpdate =>
        SERIALIZATION_FAILURE, "could not serialize access due to concurrent update";
    NotAnAlias { reference: String } =>
        INVALID_PARAMETER_VALUE, "\"{reference}\" names no alias",
        hint "Write model@alias, such as flights@champion.";
    ModelExists { name: String } =>
        DUPLICATE_OBJECT, "model \"{name}\" already exists";
    /// Stored expressions may refer to a version by the old or the new name.
    RenamePinned { name: String, pinned: String } =>
        OBJECT_IN_USE, "cannot rename model \"{name}\" because a version of \"{pinned}\" was pinned",
        detail "The predictions of predict_pinned for a version never change.";
    RenameInUse { name: String, function: Phrase } =>
        OBJECT_IN_USE, "cannot rename model \"{name}\" because function {function} predicts with it",
        hint "Drop the function, and make it again with create_predict_function.";
    FunctionOfOtherFeatures { name: String, function: Phrase, detail: Phrase } =>
        OBJECT_IN_USE, "cannot change the features of model \"{name}\" because function {function} gives them by position",
        detail "{detail}",
        hint "Drop the function, deploy the version, and make the function again with create_predict_function.";
    OtherMeaning { reference: String, before: i32, what: &'static str, detail: Phrase, hint: &'static str } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the new version of model \"{reference}\" has {what} than version {before}",
        detail "{detail}", hint "{hint}";
    RealInput { given: String } =>
        INVALID_PARAMETER_VALUE, "real_input cannot be \"{given}\"",
        hint "Pass decimal if the model was trained on the values' decimals, as text, CSV, JSON and drivers give \
              them, or float32 if it was trained on columns of that type.";
    NotMember { role: String } =>
        INSUFFICIENT_PRIVILEGE, "must be member of role \"{role}\"";
    NoSuchModel { name: String, nearest: Option<String> } =>
        UNDEFINED_OBJECT, "model \"{name}\" does not exist",
        hint (row_source::names::hint(nearest.as_deref()));
    NoSuchVersion { name: String, version: i32 } =>
        UNDEFINED_OBJECT, "model \"{name}\" has no version {version}";
    NoSuchAlias { name: String, alias: String } =>
        UNDEFINED_OBJECT, "model \"{name}\" has no alias \"{alias}\"";
    NothingDeployed { name: String } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "model \"{name}\" has no deployed version",
        hint "Deploy one with deploy_model, or name a version as model@version.";
    Denied { name: String } =>
        INSUFFICIENT_PRIVILEGE, "permission denied for model \"{name}\"",
        hint "The model's owner can grant it with grant_model.";
    InspectDenied { name: String } =>
        INSUFFICIENT_PRIVILEGE, "permission denied for the baseline of model \"{name}\"",
        detail "It has values of the rows that the model was trained on.",
        hint "The model's owner can grant it with grant_model and the privilege inspect.";
    NoSuchPrivilege { privilege: String } =>
        INVALID_PARAMETER_VALUE, "unknown privilege: \"{privilege}\"",
        hint "The privileges are predict and inspect.";
    NotOwner { name: String } =>
        INSUFFICIENT_PRIVILEGE, "must be owner of model \"{name}\"";
    NoSuchRole { role: String } =>
        UNDEFINED_OBJECT, "role \"{role}\" does not exist",
        hint ((role != "public" && role.eq_ignore_ascii_case("public"))
            .then_some("Write public in lower case for all roles."));
    Deployed { name: String, version: i32 } =>
        OBJECT_IN_USE, "cannot drop version {version} of model \"{name}\" because it is deployed",
        hint "Deploy another version first, or drop the model with all its versions.";
    OnlyVersion { name: String, version: i32 } =>
        OBJECT_IN_USE, "cannot drop version {version} of model \"{name}\" because it is the only one",
        hint "Drop the model, by leaving out the version.";
    Aliased { name: String, version: i32, alias: String } =>
        OBJECT_IN_USE,
        "cannot drop version {version} of model \"{name}\" because alias \"{alias}\" refers to it",
        hint "Let the alias refer to another version with set_alias, or remove it with drop_alias.";
    DropScored { what: Phrase, table: Phrase } =>
        OBJECT_IN_USE,
        "cannot drop {what} because table {table} has scores that are maintained with it",
        hint "Stop maintaining them with drop_scores first.";
    NotATable { relation: Phrase } =>
        WRONG_OBJECT_TYPE, "{relation} is not a table",
        hint "Scores are maintained in tables and partitioned tables.";
    NotTableOwner { table: Phrase } =>
        INSUFFICIENT_PRIVILEGE, "must be owner of table {table}";
    ScoreColumn { column: String, expected: &'static str } =>
        DATATYPE_MISMATCH, "column \"{column}\" is not of type {expected}",
        hint "Name a column that does not exist yet, or one of that type.";
    SameColumn { column: String } =>
        DUPLICATE_COLUMN, "score_column and version_column are both \"{column}\"",
        hint "Name different columns; PostgreSQL cuts names after 63 bytes.";
    ScoreExists { table: Phrase, name: String } =>
        DUPLICATE_OBJECT, "table {table} already maintains this score of model \"{name}\"",
        hint "Stop maintaining it with drop_scores first.";
    ScoreTaken { table: Phrase, column: String } =>
        DUPLICATE_OBJECT, "column \"{column}\" of table {table} is already a maintained score or its version",
        hint "Name another column, or stop maintaining it with drop_scores first.";
    GeneratedFeature { column: String } =>
        FEATURE_NOT_SUPPORTED, "cannot maintain scores whose feature \"{column}\" is a generated column",
        detail "PostgreSQL computes it after the triggers that score the row.";
    ScoreFeature { column: String } =>
        FEATURE_NOT_SUPPORTED, "cannot maintain scores whose feature \"{column}\" is a maintained score or its version",
        hint "Name another column, or train the model without it.";
    GeneratedScore { column: String } =>
        FEATURE_NOT_SUPPORTED, "cannot maintain scores in column \"{column}\", which is a generated column",
        hint "Name a column that does not exist yet.";
    NotScores { table: Phrase, score: String, version: String } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "table {table} has rows of which only one of \"{score}\" and \"{version}\" is null",
        detail "These are not scores and their versions, and would be overwritten.",
        hint "Name columns that do not exist yet, or set both to null.";
    ScoreOutput { output: String } =>
        INVALID_PARAMETER_VALUE, "invalid output of scores: \"{output}\"",
        hint "Use predict, predict_array, predict_class, predict_margin or predict_proba.";
    OnError { value: String } =>
        INVALID_PARAMETER_VALUE, "invalid value of on_error: \"{value}\"",
        hint "Use null or error.";
    NotScoreTrigger =>
        FEATURE_NOT_SUPPORTED, "pgboost_maintain_score is called only by triggers that maintain_scores has made";
    NoEarlierDeployment { name: String } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "model \"{name}\" has no earlier deployment to go back to",
        hint "Deploy a version by its number with deploy_model.";
    EarlierDropped { name: String, version: i32 } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot go back to version {version} of model \"{name}\" because it was dropped",
        hint "Deploy another version with deploy_model.";
    Pinned { name: String, version: i32 } =>
        OBJECT_IN_USE, "cannot drop version {version} of model \"{name}\" because it is pinned",
        hint "Drop the objects that call predict_pinned, then unpin the version with unpin_model.";
    PinnedInUse { name: String, version: i32, object: Phrase } =>
        OBJECT_IN_USE, "cannot unpin version {version} of model \"{name}\" because {object} depends on it",
        hint "Drop the dependent objects first.";
    NotPinned { model: String } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "predict_pinned cannot be used with model \"{model}\", which is no pinned version",
        hint "Let the model's owner pin the version with pin_model, and write model@version without leading zeros.";
    PinnedRow { type_name: String } =>
        DATATYPE_MISMATCH, "predict_pinned cannot take a row of type {type_name}",
        detail "Rows are matched by the names of their columns, which can change, and predict_pinned must not notice it.",
        hint "Pass the columns one by one, as an array or as a jsonb object.";
    PinnedNotConstant =>
        FEATURE_NOT_SUPPORTED, "predict_pinned needs a constant as the name of the model",
        hint "Write the name as a literal, or use predict, whose model may be an expression.";
    /// `names` is a sentence with the features' names, if they are few.
    FeatureCount { model: String, expected: Phrase, given: usize, names: Option<Phrase>, hint: Option<&'static str> } =>
        DATA_EXCEPTION, "model \"{model}\" expects {expected}, not {given}",
        detail (names), hint (*hint);
    /// A row or an object without a feature of the model; `unnamed` are the columns of ROW(...).
    NoSuchFeature { model: String, feature: String, form: &'static str, unnamed: bool } =>
        UNDEFINED_COLUMN, "feature \"{feature}\" of model \"{model}\" is not in the {form}",
        hint (Some(if *unnamed {
            "The row's columns have no names; pass a table's alias, or a subquery's."
        } else if feature.len() > NAME_BYTES && *form == "row" {
            "PostgreSQL cuts the names of columns after 63 bytes: pass a jsonb object, or give shorter names \
             in the feature_names argument of load_model."
        } else {
            "Names are compared exactly. Pass null for a feature whose value is missing."
        }));
    NotAnObject =>
        DATATYPE_MISMATCH, "features must be a jsonb object",
        hint "Pass an object with a key for each feature.";
    /// Of `load_model`, what describes the model.
    ArgumentNotAnObject { argument: &'static str } =>
        INVALID_PARAMETER_VALUE, "{argument} must be a jsonb object";
    NameLength { what: &'static str, bytes: usize, limit: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "a {what} has {bytes} bytes, more than the limit of {limit}";
    EmptyFeatureName =>
        INVALID_PARAMETER_VALUE, "feature name is empty",
        hint "Name the features with the feature_names argument of load_model.";
    FileName { is_pickle: bool } =>
        INVALID_BINARY_REPRESENTATION, "invalid model: these bytes are the name of a file",
        hint (Some(if *is_pickle {
            "Send the model in a pickle with the Python package: pgboost push model.pkl --name NAME."
        } else {
            "Pass the content of the file. A superuser can read it on the server with pg_read_binary_file."
        }));
    NoFeatureNames { model: String, form: &'static str } =>
        UNDEFINED_COLUMN, "cannot match a {form} to model \"{model}\", which has no feature names",
        hint "Pass the features as columns or as an array, or name them with the feature_names \
              argument of load_model.";
    /// A value of this type cannot be this feature. `feature` is the quoted name, or the number.
    FeatureType { feature: Phrase, type_name: String, reason: TypeReason } =>
        DATATYPE_MISMATCH, "feature {feature} cannot be of type {type_name}",
        detail (reason.texts().0), hint (Some(reason.texts().1));
    /// An array that does not have one dimension; `what` is its content: features, labels or names.
    Dimensions { what: &'static str, given: usize } =>
        ARRAY_SUBSCRIPT_ERROR, "array of {what}s must have one dimension, not {given}",
        hint (match (*what, *given) {
            (_, 0) => Some("Pass NULL for none."),
            ("feature", 2) => Some("For an array of rows use predict_batch."),
            _ => None,
        });
    MatrixDimensions { given: usize } =>
        ARRAY_SUBSCRIPT_ERROR, "array of rows must have two dimensions, not {given}",
        hint (Some(if *given == 1 {
            "Write a single row as ARRAY[[...]], or pass it to predict."
        } else {
            "Each element of the first dimension is a row, which has a feature in each element of the second."
        }));
    ArrayLength { column: String, expected: Phrase, given: usize } =>
        DATA_EXCEPTION, "array \"{column}\" must have {expected}, not {given}",
        detail "Each element is a feature of the model.";
    ArrayType { type_name: String } =>
        DATATYPE_MISMATCH, "array of features cannot be of type {type_name}",
        hint "Cast the array to real[], with codes for categories.";
    AmbiguousColumn { column: String } =>
        AMBIGUOUS_COLUMN, "column \"{column}\" is ambiguous",
        hint "Each feature of the model must be one column of the row.";
    UnknownCategory { feature: Phrase, value: String, reason: CategoryReason } =>
        INVALID_TEXT_REPRESENTATION, "unknown category \"{value}\" for feature {feature}",
        detail (reason.texts().0), hint (Some(reason.texts().1));
    NullCategory { feature: Phrase } =>
        NULL_VALUE_NOT_ALLOWED, "feature {feature} cannot be null",
        detail "The model takes statistics of this category, and CatBoost has none of a missing one.",
        hint "Pass the text that stood for missing values in training, such as coalesce(column, 'missing').";
    Shape { model: String, function: &'static str, reason: ShapeReason } =>
        WRONG_OBJECT_TYPE, "{function} cannot be used with model \"{model}\"",
        detail (Some(reason.texts().0)), hint (Some(reason.texts().1));
    ImportanceKind { kind: String } =>
        INVALID_PARAMETER_VALUE, "unknown kind of importance: \"{kind}\"",
        hint "The kinds are weight, gain, cover, total_gain and total_cover.";
    UnknownClass { column: String, value: String } =>
        INVALID_TEXT_REPRESENTATION,
        "a value of column \"{column}\" is not a class of the model: \"{value}\"",
        hint "A class is its label, or its number from 0 if the model has no labels.";
    /// A model whose target is more than one column, such as censored times.
    NoMetrics { model: String, objective: String } =>
        FEATURE_NOT_SUPPORTED, "model \"{model}\" cannot be evaluated",
        detail "There are no metrics for objective {objective}.";
    QuantileLevels { model: String, values: usize } =>
        INVALID_PARAMETER_VALUE, "quantile_alpha must be an array of length {values} of numbers between 0 and 1",
        detail "Model \"{model}\" predicts a quantile at each of them.",
        hint "Pass the levels that the model was trained for, such as \
              quantile_alpha => '{{0.1, 0.5, 0.9}}'.";
    EvaluationArgument { message: &'static str, hint: &'static str } =>
        INVALID_PARAMETER_VALUE, "{message}", hint "{hint}";
    NotComparable { baseline: String, candidate: String } =>
        WRONG_OBJECT_TYPE, "models \"{baseline}\" and \"{candidate}\" cannot be compared",
        detail "Their values or classes are not the same.";
    NoBaseline { name: String, version: i32 } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "version {version} of model \"{name}\" has no baseline",
        hint "The owner can store one with set_baseline, from the rows that the model was trained on.";
    InvalidBaseline =>
        INVALID_PARAMETER_VALUE, "baseline does not fit the features of the model",
        hint "It is an array with an object for each feature, as train_model makes it.";
    TooManySlices { slices: usize } =>
        PROGRAM_LIMIT_EXCEEDED,
        "the metrics of more than {slices} values of slice_by do not fit into work_mem",
        hint "Raise work_mem, or choose a column of fewer values.";
    GroupTooLarge { rows: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "a group of more than {rows} rows does not fit into work_mem",
        hint "Raise work_mem.";
    /// A group with a single row to rank. `number` is its place in the source, counted from 1.
    GroupOfOneRow { number: u64 } =>
        DATA_EXCEPTION, "group {number} of the source has one row, which cannot be ranked",
        hint "Leave out groups of one row, such as by count(*) OVER (PARTITION BY ...) > 1 in a query.";
    UnknownPolicy { given: String } =>
        INVALID_PARAMETER_VALUE, "unknown policy: \"{given}\"",
        hint "The policies are error, missing and library; NULL leaves it to pgboost.unknown_category.";
    NotAFeature { model: String, feature: String, nearest: Option<String> } =>
        UNDEFINED_COLUMN, "model \"{model}\" has no feature \"{feature}\"",
        hint (row_source::names::hint(nearest.as_deref()));
    SameFeature =>
        INVALID_PARAMETER_VALUE, "feature and second_feature must be different features";
    TooSmall { argument: &'static str, least: i32 } =>
        INVALID_PARAMETER_VALUE, "{argument} must be at least {least}";
    Percentiles =>
        INVALID_PARAMETER_VALUE, "percentiles must be two numbers from 0 to 1, the smaller one first";
    NoGrid { feature: Phrase } =>
        DATA_EXCEPTION, "the percentiles of feature {feature} are equal or infinite",
        hint "Pass percentiles that are further apart, or more points than the feature has values.";
    GridTooLarge { points: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "the averages at {points} points do not fit into work_mem",
        hint "Pass fewer points, or raise work_mem.";
    /// A name that is none of the model's metrics, whose names are in a sentence.
    UnknownMetric { metric: String, known: Phrase } =>
        INVALID_PARAMETER_VALUE, "unknown metric: \"{metric}\"", detail "{known}";
    TooManyRows { rows: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "the values of a feature in more than {rows} rows do not fit into work_mem",
        hint "Raise work_mem, or take a sample of the rows in a query.";
    NullArgument { argument: &'static str } =>
        NULL_VALUE_NOT_ALLOWED, "{argument} must not be null";
    FunctionExists { function: String } =>
        DUPLICATE_FUNCTION, "function \"{function}\" already exists",
        hint "Pass another name as function, or replace => true.";
    /// A function that would be called in place of pgboost's. Whoever may create functions in the schema can add
    /// one.
    OtherFunction { function: &'static str } =>
        AMBIGUOUS_FUNCTION, "the schema of pgboost has another function \"{function}\"",
        hint "Drop it, or move it to another schema.";
    OutputFunction { output: String } =>
        INVALID_PARAMETER_VALUE, "unknown output: \"{output}\"",
        hint "The outputs are predict, predict_array, predict_class and predict_margin.";
    /// VACUUM and CREATE INDEX CONCURRENTLY raise it too.
    TransactionBlock =>
        ACTIVE_SQL_TRANSACTION, "refresh_scores cannot run inside a transaction block",
        hint "It commits after each batch: call it outside of BEGIN and of functions, in a client with autocommit.";
    NoSchema =>
        INVALID_SCHEMA_NAME, "no schema has been selected to create in";
    NoBaseMargin { model: String } =>
        FEATURE_NOT_SUPPORTED, "model \"{model}\" cannot begin with a base margin",
        hint "Only XGBoost's models have base margins; add an offset to the margin in SQL.";
    ResultSize { rows: usize, values: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "{rows} rows of {values} values do not fit into an array",
        hint "Pass fewer rows at once.";
    ExplanationSize { model: String, features: usize, outputs: usize } =>
        PROGRAM_LIMIT_EXCEEDED, "an explanation of model \"{model}\" does not fit into an array",
        detail "The model has {features} features and {outputs} outputs.";
    NoSuchOutput { model: String, output: String } =>
        UNDEFINED_OBJECT, "model \"{model}\" has no output \"{output}\"",
        hint "An output's name is its class's label; without labels, its number, counted from 0.";
    /// No output was named, and the model has several, none of which belongs to a predicted class.
    OutputNotNamed { model: String, outputs: usize } =>
        INVALID_PARAMETER_VALUE, "one of the {outputs} outputs of model \"{model}\" must be named",
        hint "Pass the output's number, counted from 0, as output.";
    NegativeTop =>
        INVALID_PARAMETER_VALUE, "top must not be negative",
        hint "Pass NULL for all features.";
    ContributionShape =>
        ARRAY_SUBSCRIPT_ERROR, "contributions are not those of one model",
        hint "Pass results of predict_contribs, of one model at a time.";
    /// A value of a row that scikit-learn refuses as well.
    MetricArgument { argument: &'static str, what: &'static str } =>
        DATA_EXCEPTION, "{argument} {what}";
    NoEquality =>
        UNDEFINED_FUNCTION, "accuracy needs a type with an equality operator";
    OutsideAggregate =>
        FEATURE_NOT_SUPPORTED, "the function can only be called by its aggregate";
    RoundsTwice =>
        INVALID_PARAMETER_VALUE, "rounds and best_iteration cannot be used together",
        hint "Pass rounds for a number of rounds, or best_iteration for those that early stopping found best.";
    NoBestIteration =>
        INVALID_PARAMETER_VALUE, "the model file has no best_iteration",
        hint "Only a training that stops early writes it. Pass rounds to use a number of rounds.";
    CategoriesMissing { feature: String, others: String } =>
        FEATURE_NOT_SUPPORTED, "the file has no categories of feature \"{feature}\"{others}",
        detail "XGBoost 3.1 to 3.3 leave them out of slices such as booster[:10] and of models trained on codes, and \
                damage those beyond ASCII.",
        hint "Pass them in the order of their codes as categories, or categories => '{{}}' if the training had the \
              codes 0, 1 and so on.";
    Encoding { what: &'static str } =>
        FEATURE_NOT_SUPPORTED, "{what} beyond ASCII cannot be used in a database of this encoding",
        hint "Use a database whose encoding is UTF8.";
    KernelMissing { name: &'static str, present: Vec<&'static str> } =>
        INVALID_PARAMETER_VALUE, "this CPU cannot run kernel \"{name}\"",
        detail (Some(format!("The kernels that it can run are: {}.", present.join(", ")))),
        hint "Set pgboost.kernel to auto for the best of them.";
    /// The extension's tables are those of an earlier release, or do not exist.
    NoRegistry =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "the tables of extension pgboost are not those of its library",
        hint "Run ALTER EXTENSION pgboost UPDATE in this database.";
    /// A plan of the node that this library did not write.
    DamagedPlan =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "the plan of a batch cannot be read",
        hint "Plan the statement again.";
    Registry { name: String, what: &'static str } =>
        OBJECT_NOT_IN_PREREQUISITE_STATE, "the registry has no valid {what} for model \"{name}\"",
        detail "It was changed by other means than the functions of pgboost.";
}

fn engine_sqlstate(kind: ErrorKind) -> SqlState {
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
        ErrorKind::Cancelled => QUERY_CANCELED,
        ErrorKind::RowLength => DATA_EXCEPTION,
        // ErrorKind::CompiledModel, ErrorKind::Internal, and future kinds.
        _ => IO_ERROR,
    }
}

fn engine_message(error: &gbtrees::Error) -> String {
    use ErrorKind::{Cancelled, Internal, Limit, Names, OutOfMemory, RowLength, Unsupported};
    match error.kind() {
        Unsupported | Names | Limit | OutOfMemory | RowLength | Internal | Cancelled => {
            error.message().to_owned()
        }
        _ => format!("invalid model: {}", error.message()),
    }
}

fn engine_detail(error: &gbtrees::Error) -> Option<String> {
    let place = error.place();
    (place != Place::Model).then(|| format!("The error is at {place}."))
}

error_conversions! {
    SourceError: error => Error::Source { error };
    varlena::EncodingError: varlena::EncodingError(what) => Error::Encoding { what };
    gbtrees::Error: error => Error::Engine { error };
}
