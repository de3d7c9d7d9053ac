//! Declaring and raising errors.
//!
//! `error_table!` turns a table of fields, SQLSTATEs and texts into the type `Error`, which yields a
//! [`Report`]; `error_table_tests!` tests the whole table. Messages follow PostgreSQL's style guide:
//! lower case without full stop; optional details and hints are sentences. An extension's error unwinds
//! as a panic to the entry point, dropping values on the way, and becomes an `ereport` there. No
//! SQLSTATE is XX000, which PostgreSQL reserves for bugs.
//!
//! Names and values from callers and files may have any length, while reports and log lines are bounded:
//! the texts of the table show [`Field`]s of an error, which cut them.

use std::borrow::Cow;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, PgTryBuilder, pg_sys};
use sqlstate::SqlState;

use crate::reserve;

/// Maximum number of characters of a name or a value in a message.
const NAME_CHARACTERS: usize = 64;
/// Maximum length in bytes of a [`Phrase`].
const PHRASE_BYTES: usize = 700;
/// Maximum length in bytes of the texts of notices, warnings and log lines.
const TEXT_BYTES: usize = 1_500;

/// Returns the part of a name or a value that messages show.
pub fn shown(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARACTERS) {
        Some((end, _)) => cut(name, end),
        None => name.into(),
    }
}

fn bounded(text: &str) -> String {
    of_bytes(text, TEXT_BYTES).into_owned()
}

fn of_bytes(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes { text.into() } else { cut(text, bytes) }
}

/// Cuts a text at the character boundary at or before a byte.
fn cut(text: &str, end: usize) -> Cow<'_, str> {
    let start = text.get(..text.floor_char_boundary(end)).unwrap_or_default();
    format!("{start}...").into()
}

/// A part of a message with several names, each cut before, or a text of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase(String);

/// Returns a number of things: "1 feature", "3 features".
pub fn counted(number: usize, thing: &str) -> Phrase {
    let plural = if number == 1 { "" } else { "s" };
    Phrase(format!("{number} {thing}{plural}"))
}

/// Returns a sentence with the names of that many features: "The feature is a.", "The features are a, b."
pub fn named_features(number: usize, names: &str) -> String {
    let are = if number == 1 { "feature is" } else { "features are" };
    format!("The {are} {names}.")
}

impl From<String> for Phrase {
    fn from(words: String) -> Self {
        Phrase(words)
    }
}

/// A field of an error as its texts show it. A `String` is a name or a value.
pub struct Field<'a, T>(pub &'a T);

impl<'a> Field<'a, String> {
    /// Returns the name, cut.
    pub fn shown(&self) -> Cow<'a, str> {
        shown(self.0)
    }
}

impl<'a> Field<'a, Option<String>> {
    /// Returns the name, cut.
    pub fn shown(&self) -> Option<Cow<'a, str>> {
        self.0.as_deref().map(shown)
    }
}

impl<'a> Field<'a, Phrase> {
    /// Returns the phrase, cut.
    pub fn shown(&self) -> Cow<'a, str> {
        of_bytes(&self.0.0, PHRASE_BYTES)
    }
}

impl<'a> Field<'a, Option<Phrase>> {
    /// Returns the phrase, cut.
    pub fn shown(&self) -> Option<Cow<'a, str>> {
        self.0.as_ref().map(|words| of_bytes(&words.0, PHRASE_BYTES))
    }
}

/// The fallback for fields of bounded length; the methods of [`Field`] itself take precedence.
pub trait Short<'a, T> {
    /// Returns the field.
    fn shown(&self) -> &'a T;
}

impl<'a, T> Short<'a, T> for Field<'a, T> {
    fn shown(&self) -> &'a T {
        self.0
    }
}

/// Converts an error into pgrx's; `raised_by` is the extension's name.
pub fn error_report(raised_by: &'static str, error: Report) -> ErrorReport {
    let mut report = ErrorReport::new(error.sqlstate, error.message, raised_by);
    if let Some(detail) = error.detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = error.hint {
        report = report.set_hint(hint);
    }
    report
}

/// Runs statements that may violate a unique index, and replaces PostgreSQL's error by another. The caller must
/// raise it: relations that the violation has left open are closed when the statement ends.
///
/// # Errors
/// Those of `run`; `taken`.
pub fn or_if_not_unique<T, E>(
    taken: impl Fn() -> E + UnwindSafe + RefUnwindSafe,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    PgTryBuilder::new(AssertUnwindSafe(run))
        .catch_when(PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION, move |_| Err(taken()))
        .execute()
}

/// Ends the statement with an error.
#[expect(
    clippy::unreachable,
    reason = "pgrx's report has no type for a level that does not return"
)]
pub fn raise(error: impl Into<ErrorReport>) -> ! {
    error.into().report(PgLogLevel::ERROR);
    unreachable!("an ERROR does not return")
}

/// Removes backtraces from errors, whatever the server's environment says: pgrx would send them to the
/// client as details, with paths of the build machine.
pub fn without_backtraces() {
    const VARIABLES: [&str; 2] = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];
    let before = VARIABLES.map(std::env::var_os);
    // SAFETY: the process has a single thread when it loads a library.
    unsafe {
        VARIABLES.iter().for_each(|variable| std::env::remove_var(variable));
        // The first capture determines all later ones.
        let _ = std::backtrace::Backtrace::capture();
        for (variable, value) in VARIABLES.iter().zip(before) {
            if let Some(value) = value {
                std::env::set_var(variable, value);
            }
        }
    }
}

/// Raises an error if the statement was cancelled, the backend is to terminate, or memory has run out.
pub fn check_for_interrupts() {
    require_reserve();
    pgrx::check_for_interrupts!();
}

/// Runs work that may use up all memory, with the reserve for the error report; raises an error if the
/// reserve cannot be allocated.
///
/// pgrx copies PostgreSQL's error before unwinding. Without memory the copy is the next error, copied
/// again, until PostgreSQL runs out of space and restarts the server (`errstart` in elog.c). Hence an
/// error context frees the reserve first.
#[inline(never)]
pub fn with_reserve<T>(work: impl FnOnce() -> T) -> T {
    /// Removes the context, also on unwinding.
    struct Outer(*mut pg_sys::ErrorContextCallback);
    impl Drop for Outer {
        fn drop(&mut self) {
            // SAFETY: a variable of the single-threaded backend.
            unsafe { pg_sys::error_context_stack = self.0 };
        }
    }
    extern "C-unwind" fn free_reserve(_: *mut c_void) {
        // SAFETY: PostgreSQL calls this while reporting an error or a notice.
        if unsafe { pg_sys::geterrcode() } == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32 {
            reserve::spend();
        }
    }
    require_reserve();
    // SAFETY: as above.
    let outer = Outer(unsafe { pg_sys::error_context_stack });
    let mut context = pg_sys::ErrorContextCallback {
        previous: outer.0,
        callback: Some(free_reserve),
        arg: std::ptr::null_mut(),
    };
    // SAFETY: as above; the context outlives its place on the stack.
    unsafe { pg_sys::error_context_stack = &raw mut context };
    work()
}

fn require_reserve() {
    if !reserve::keep() {
        let code = PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY;
        raise(ErrorReport::new(code, "out of memory", "pgboost"));
    }
}

/// Writes to the server log only.
pub fn log(message: &str) {
    pgrx::ereport!(PgLogLevel::LOG, PgSqlErrorCode::ERRCODE_IO_ERROR, bounded(message));
}

/// Returns whether the client gets DEBUG1 messages. Unguarded, since planning every statement calls it.
pub fn is_debugged() -> bool {
    // SAFETY: a variable of the single-threaded backend.
    unsafe { pg_sys::client_min_messages <= pg_sys::DEBUG1 as i32 }
}

/// Sends a DEBUG1 message to the client.
pub fn debug(message: &str) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    ErrorReport::new(code, bounded(message), "pgboost").report(PgLogLevel::DEBUG1);
}

/// Sends a warning to the client, which programs that drop notices show.
pub fn warning_with(message: &str, detail: &str, hint: &str) {
    let report = ErrorReport::new(PgSqlErrorCode::ERRCODE_WARNING, bounded(message), "pgboost");
    report.set_detail(bounded(detail)).set_hint(bounded(hint)).report(PgLogLevel::WARNING);
}

/// Sends a notice to the client, with an optional detail and hint.
pub fn notice_with(message: &str, detail: Option<&str>, hint: Option<&str>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = ErrorReport::new(code, bounded(message), "pgboost");
    if let Some(detail) = detail {
        report = report.set_detail(bounded(detail));
    }
    if let Some(hint) = hint {
        report = report.set_hint(bounded(hint));
    }
    report.report(PgLogLevel::NOTICE);
}

/// Sends a notice to the client.
pub fn notice(message: &str) {
    notice_with(message, None, None);
}

/// An error as reported.
#[derive(Debug)]
pub struct Report {
    /// The SQLSTATE.
    pub sqlstate: SqlState,
    /// Lower case, without full stop.
    pub message: String,
    /// Sentences, like the hint.
    pub detail: Option<String>,
    /// Advice on what to do.
    pub hint: Option<String>,
}

/// A text of the table: a format of the error's fields, or an optional text in parentheses.
#[macro_export]
macro_rules! error_text {
    () => {
        None
    };
    (($text:expr)) => {
        Option::map($text, String::from)
    };
    ($format:literal) => {
        Some(format!($format))
    };
}

/// Declares `Error`: each variant's fields, SQLSTATE, message, detail and hint. `$extension` raises it.
#[macro_export]
macro_rules! error_table {
    ($extension:literal: $($(#[$doc:meta])* $name:ident $({ $($field:ident: $type:ty),* })? =>
        $state:expr, $message:tt $(, detail $detail:tt)? $(, hint $hint:tt)?;)*) => {
        /// An error of the extension.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Error {
            $($(#[$doc])* $name $({
                $(#[allow(missing_docs, reason = "the message says it")] $field: $type),*
            })?,)*
        }

        impl Error {
            /// Returns the error as reported.
            #[allow(unused_variables, reason = "not every text has every field")]
            pub fn report(&self) -> $crate::Report {
                #[allow(unused_imports, reason = "not every table has a field that is no name")]
                use $crate::report::Short as _;
                match self {
                    $(Error::$name $({ $($field),* })? => {
                        $($(let $field = $crate::report::Field($field).shown();)*)?
                        $crate::Report {
                            sqlstate: $state,
                            message: $crate::error_text!($message).unwrap_or_default(),
                            detail: $crate::error_text!($($detail)?),
                            hint: $crate::error_text!($($hint)?),
                        }
                    })*
                }
            }

            /// Returns the error with very long names.
            #[cfg(test)]
            fn with_long_names(&self) -> Error {
                #[allow(unused_imports, reason = "as above")]
                use $crate::report::ShortInTests as _;
                match self {
                    $(Error::$name $({ $($field),* })? => Error::$name $({
                        $($field: $crate::report::Field($field).long(),)*
                    })?,)*
                }
            }
        }

        impl From<Error> for $crate::ErrorReport {
            fn from(error: Error) -> Self {
                $crate::report::error_report($extension, error.report())
            }
        }

        /// The result of a fallible operation of the extension.
        pub type Result<T> = std::result::Result<T, Error>;

        #[cfg(test)]
        impl Error {
            /// Returns every variant with the samples of its fields. A text of which a detail or a hint is made is a
            /// sentence, unless a message ends with it.
            fn samples() -> Vec<Error> {
                let mut all = Vec::new();
                $({
                    #[allow(unused_variables, reason = "not every variant has fields")]
                    let text = |field: &str| {
                        let texts = [$(stringify!($detail),)? $(stringify!($hint),)? ""];
                        let ends = stringify!($message).ends_with(&format!("{{{field}}}\""));
                        let shows = |text: &&str| text.contains(&format!("{{{field}}}"))
                            || text.starts_with('(') && text.contains(field);
                        if !ends && texts.iter().any(shows) { "It failed." } else { "x" }
                    };
                    $($(let $field = <$type as Sampled>::samples(text(stringify!($field)));)*)?
                    let forms = [1, $($($field.len()),*)?].into_iter().max().unwrap_or(1);
                    all.extend((0..forms).map(|_form| Error::$name $({
                        $($field: $field[_form % $field.len()].clone()),*
                    })?));
                })*
                all
            }
        }

        /// A type of fields, with the values that change a text.
        #[cfg(test)]
        trait Sampled: Sized {
            /// Returns the samples; one of a text is `text`.
            fn samples(text: &'static str) -> Vec<Self>;
        }

        $crate::sampled!(text: String => [text.to_owned()], &'static str => [text],
            $crate::report::Phrase => [text.to_owned().into()], bool => [false, true],
            i32 => [0, 1, 2], u32 => [0, 1, 2], u64 => [0, 1, 2], usize => [0, 1, 2]);

        #[cfg(test)]
        impl<T: Sampled> Sampled for Option<T> {
            fn samples(text: &'static str) -> Vec<Self> {
                T::samples(text).into_iter().map(Some).chain([None]).collect()
            }
        }
    };
}

/// Converts other errors into those of a table.
#[macro_export]
macro_rules! error_conversions {
    ($($(#[$doc:meta])* $type:ty: $given:pat => $error:expr;)*) => {$(
        impl From<$type> for Error {
            $(#[$doc])*
            fn from($given: $type) -> Self {
                $error
            }
        }
    )*};
}

/// Implements the `Sampled` of a table for types.
#[macro_export]
macro_rules! sampled {
    ($text:ident: $($type:ty => $samples:expr),*) => {$(
        #[cfg(test)]
        impl Sampled for $type {
            #[allow(unused_variables, reason = "not every type is a text")]
            fn samples($text: &'static str) -> Vec<Self> {
                $samples.to_vec()
            }
        }
    )*};
}

/// Defines tests that walk the table, and further errors whose texts come from elsewhere.
#[macro_export]
macro_rules! error_table_tests {
    ($more:expr) => {
        #[test]
        fn every_error_has_an_allowed_sqlstate_and_text_in_postgresql_style() {
            Error::samples().iter().chain(&$more).for_each(assert_style);
        }

        #[test]
        fn reports_have_a_bound_whatever_the_names() {
            for error in Error::samples().iter().chain(&$more).map(Error::with_long_names) {
                let $crate::Report { message, detail, hint, .. } = error.report();
                let texts = [Some(message), detail, hint];
                let bytes: usize = texts.iter().flatten().map(String::len).sum();
                assert!(bytes <= 2_048, "{bytes} bytes: {texts:?}");
            }
        }

        fn assert_style(error: &Error) {
            // Faults of the caller, the data or the machine, and of a library's function (38); XX, a
            // bug, is excluded.
            const CLASSES: [&str; 12] =
                ["0A", "22", "25", "38", "3F", "40", "42", "53", "54", "55", "57", "58"];
            let $crate::Report { sqlstate, message, detail, hint } = error.report();
            let shown = format!("{error:?}: {message}");
            // Six bits per character, the first lowest (elog.h).
            let packed = |at: i32| ((sqlstate as i32 >> (6 * at)) & 0x3f) as u8 + b'0';
            let class: String = [0, 1].map(|at| char::from(packed(at))).iter().collect();
            assert!(CLASSES.contains(&class.as_str()), "class {class} of {shown}");
            let first = message.chars().next().expect(&shown);
            let acronym = message.chars().nth(1).is_some_and(|second| !second.is_lowercase());
            assert!(!first.is_uppercase() || acronym, "starts with a capital: {shown}");
            assert!(!message.ends_with(['.', ' ', '!', ':']), "ends in punctuation: {shown}");
            assert!(!message.contains(['\n', '\r', '\t']), "has more than one line: {shown}");
            assert!(!message.contains("  "), "has two blanks in a row: {shown}");
            for text in detail.iter().chain(&hint) {
                let whole = text.starts_with(char::is_uppercase) && text.ends_with('.');
                assert!(whole && !text.contains('\n'), "{text} is no sentence: {shown}");
            }
        }
    };
}

/// Very long fields for the tests of the tables.
impl Field<'_, String> {
    /// Returns a very long name.
    pub fn long(&self) -> String {
        "\u{1f600}".repeat(100_000)
    }
}

impl Field<'_, Option<String>> {
    /// Returns a very long name.
    pub fn long(&self) -> Option<String> {
        Some(Field(&String::new()).long())
    }
}

impl Field<'_, Phrase> {
    /// Returns a very long phrase.
    pub fn long(&self) -> Phrase {
        Field(&String::new()).long().into()
    }
}

impl Field<'_, Option<Phrase>> {
    /// Returns a very long phrase.
    pub fn long(&self) -> Option<Phrase> {
        Some(Field(&String::new()).long().into())
    }
}

/// As [`Short`].
pub trait ShortInTests<T> {
    /// Returns the field.
    fn long(&self) -> T;
}

impl<T: Clone> ShortInTests<T> for Field<'_, T> {
    fn long(&self) -> T {
        self.0.clone()
    }
}

/// The SQLSTATEs that the extensions raise, by PostgreSQL's names (errcodes.txt).
pub mod sqlstate {
    pub use pgrx::PgSqlErrorCode as SqlState;
    pub use pgrx::PgSqlErrorCode::{
        ERRCODE_ACTIVE_SQL_TRANSACTION as ACTIVE_SQL_TRANSACTION,
        ERRCODE_AMBIGUOUS_COLUMN as AMBIGUOUS_COLUMN,
        ERRCODE_AMBIGUOUS_FUNCTION as AMBIGUOUS_FUNCTION,
        ERRCODE_ARRAY_ELEMENT_ERROR as ARRAY_SUBSCRIPT_ERROR,
        ERRCODE_DATA_EXCEPTION as DATA_EXCEPTION, ERRCODE_DATATYPE_MISMATCH as DATATYPE_MISMATCH,
        ERRCODE_DISK_FULL as DISK_FULL, ERRCODE_DUPLICATE_COLUMN as DUPLICATE_COLUMN,
        ERRCODE_DUPLICATE_FUNCTION as DUPLICATE_FUNCTION,
        ERRCODE_DUPLICATE_OBJECT as DUPLICATE_OBJECT,
        ERRCODE_EXTERNAL_ROUTINE_EXCEPTION as EXTERNAL_ROUTINE_EXCEPTION,
        ERRCODE_FEATURE_NOT_SUPPORTED as FEATURE_NOT_SUPPORTED,
        ERRCODE_INSUFFICIENT_PRIVILEGE as INSUFFICIENT_PRIVILEGE,
        ERRCODE_INVALID_BINARY_REPRESENTATION as INVALID_BINARY_REPRESENTATION,
        ERRCODE_INVALID_NAME as INVALID_NAME,
        ERRCODE_INVALID_PARAMETER_VALUE as INVALID_PARAMETER_VALUE,
        ERRCODE_INVALID_SCHEMA_NAME as INVALID_SCHEMA_NAME,
        ERRCODE_INVALID_TEXT_REPRESENTATION as INVALID_TEXT_REPRESENTATION,
        ERRCODE_IO_ERROR as IO_ERROR, ERRCODE_NULL_VALUE_NOT_ALLOWED as NULL_VALUE_NOT_ALLOWED,
        ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE as NUMERIC_VALUE_OUT_OF_RANGE,
        ERRCODE_OBJECT_IN_USE as OBJECT_IN_USE,
        ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE as OBJECT_NOT_IN_PREREQUISITE_STATE,
        ERRCODE_OUT_OF_MEMORY as OUT_OF_MEMORY,
        ERRCODE_PROGRAM_LIMIT_EXCEEDED as PROGRAM_LIMIT_EXCEEDED,
        ERRCODE_QUERY_CANCELED as QUERY_CANCELED, ERRCODE_SYNTAX_ERROR as SYNTAX_ERROR,
        ERRCODE_T_R_SERIALIZATION_FAILURE as SERIALIZATION_FAILURE,
        ERRCODE_UNDEFINED_COLUMN as UNDEFINED_COLUMN, ERRCODE_UNDEFINED_FILE as UNDEFINED_FILE,
        ERRCODE_UNDEFINED_FUNCTION as UNDEFINED_FUNCTION,
        ERRCODE_UNDEFINED_OBJECT as UNDEFINED_OBJECT,
        ERRCODE_WRONG_OBJECT_TYPE as WRONG_OBJECT_TYPE,
    };
}
