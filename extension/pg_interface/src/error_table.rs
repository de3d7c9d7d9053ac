//! The one way in which both extensions declare their errors: a table of fields, SQLSTATEs and texts.
//!
//! `error_table!` makes of it the type `Error`, and what it says as a [`Report`]; `error_table_tests!`
//! walks it. Messages follow PostgreSQL's style guide: lower case and no full stop; a detail and a hint
//! are whole sentences, the hint says what to do next, and both are absent where there is nothing
//! useful to say.

use crate::SqlState;

/// How an error is told.
#[derive(Debug)]
pub struct Report {
    /// The SQLSTATE.
    pub sqlstate: SqlState,
    /// Lower case, no full stop.
    pub message: String,
    /// Whole sentences, as the hint.
    pub detail: Option<String>,
    /// What to do next.
    pub hint: Option<String>,
}

/// A text of a table: a format of the error's fields, or an option of a text in parentheses.
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

/// Declares `Error`: the fields, the SQLSTATE, the message, the detail and the hint of each variant.
/// `$extension` is who raises it.
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
            /// How it is told.
            #[allow(unused_variables, reason = "not every text has every field")]
            pub fn report(&self) -> $crate::Report {
                match self {
                    $(Error::$name $({ $($field),* })? => $crate::Report {
                        sqlstate: $state,
                        message: $crate::error_text!($message).unwrap_or_default(),
                        detail: $crate::error_text!($($detail)?),
                        hint: $crate::error_text!($($hint)?),
                    },)*
                }
            }
        }

        impl From<Error> for $crate::ErrorReport {
            fn from(error: Error) -> Self {
                $crate::report::error_report($extension, error.report())
            }
        }

        /// The result of everything in the extension that can fail.
        pub type Result<T> = std::result::Result<T, Error>;

        #[cfg(test)]
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Defines the tests that walk the table: `samples` has a value of every variant, and of all that a text
/// depends on.
#[macro_export]
macro_rules! error_table_tests {
    ($samples:expr) => {
        #[test]
        fn every_variant_is_sampled() {
            let shown: Vec<String> = $samples.iter().map(|error| format!("{error:?}")).collect();
            let name = |text: &'_ String| text.split(' ').next().unwrap().to_owned();
            let seen: std::collections::BTreeSet<String> = shown.iter().map(name).collect();
            assert_eq!(seen, NAMES.iter().map(|name| (*name).to_owned()).collect());
        }

        #[test]
        fn every_error_has_an_allowed_sqlstate_and_text_in_postgresql_style() {
            $samples.iter().for_each(assert_style);
        }

        fn assert_style(error: &Error) {
            // What a caller, the data or the machine can do wrong, and what happens in a library (38);
            // XX, a bug, is not among them.
            const CLASSES: [&str; 8] = ["0A", "22", "38", "42", "53", "54", "55", "58"];
            let $crate::Report { sqlstate, message, detail, hint } = error.report();
            let shown = format!("{error:?}: {message}");
            // Six bits for each of its characters, the first lowest (elog.h).
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
