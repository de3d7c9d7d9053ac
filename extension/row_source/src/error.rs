//! Errors about a source, common to both extensions.

use pg_interface::query::NotOneSelect;
use pg_interface::report::Phrase;
use pg_interface::temporary_file::FileError;
use pg_interface::*;

use crate::names::hint as meant;

error_table! {
    "pgboost":
    /// The argument is neither a relation's name nor a single query.
    NotOneSelect { argument: &'static str, detail: &'static str } =>
        SYNTAX_ERROR, "{argument} must be the name of a table or view, or one SELECT statement",
        detail "{detail}";
    /// Neither a query nor a name.
    NotAName { text: String } =>
        SYNTAX_ERROR, "source \"{text}\" is neither the name of a table or view nor a query",
        hint "A query begins with SELECT, WITH, VALUES or TABLE: SELECT * FROM customers WHERE id < 9.";
    /// A missing column, and the most similar name.
    NoSuchColumn { column: String, argument: &'static str, nearest: Option<String> } =>
        UNDEFINED_COLUMN, "column \"{column}\" is not in the {argument}",
        hint (meant(nearest.as_deref()));
    /// A name shared by several columns.
    AmbiguousColumn { column: String } =>
        AMBIGUOUS_COLUMN, "column \"{column}\" is in the source more than once",
        hint "Give the columns of the query different names.";
    /// A column whose type does not fit its role, which is given with its article.
    ColumnType { column: String, type_name: String, role: &'static str, hint: &'static str } =>
        DATATYPE_MISMATCH, "column \"{column}\" of type {type_name} cannot be {role}",
        hint "{hint}";
    /// No rows, or only skipped ones.
    NoRows { argument: &'static str, skipped: u64 } =>
        DATA_EXCEPTION, "{argument} returns no rows",
        detail ((*skipped > 0).then(|| "The target is null in all of them.".to_owned()));
    /// An invalid target, weight or group.
    ValueRefused { column: String, what: &'static str } =>
        DATA_EXCEPTION, "a value of column \"{column}\" {what}";
    /// A group with rows in separate places.
    GroupApart { group: String } =>
        INVALID_PARAMETER_VALUE, "rows of group \"{group}\" are not next to each other",
        hint "Order the query by the column of the group.";
    /// The distinct texts exceed memory.
    TooManyTexts { column: String } =>
        PROGRAM_LIMIT_EXCEEDED, "the distinct texts of column \"{column}\" do not fit into work_mem",
        hint "Raise work_mem.";
    /// A temporary file cannot be written or read.
    TemporaryFile { reason: Phrase, disk_full: bool } =>
        if *disk_full { DISK_FULL } else { IO_ERROR },
        "could not use a temporary file: {reason}";
}

error_conversions! {
    NotOneSelect: NotOneSelect { argument, detail } => Error::NotOneSelect { argument, detail };
    FileError: FileError { reason, disk_full } =>
        Error::TemporaryFile { reason: reason.into(), disk_full };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test may stop at a surprise")]

    use super::Error;
    use pg_interface::error_table_tests;

    error_table_tests!([]);
}
