//! pgboost_train: trains gradient-boosted trees inside PostgreSQL, by libxgboost.
//!
//! A training goes through these modules in order: `functions` takes the call, `params` checks the parameters,
//! `source` writes the rows of the source as records into a temporary file, and `training` runs the rounds in
//! a separate process, `pgboost_trainer`, and stores the model by pgboost's SQL function `load_model`.
//!
//! libxgboost's own predictions come from such a process too, by `trainer::predictor`. A backend never loads
//! libxgboost: this library starts no thread and maps no C++, so that a server may preload it.

mod error;
mod guc;
mod params;
mod registry;
mod trainer;
mod training;

/// Converts the rows of a source to records of numbers in a temporary file.
///
/// The source is read once. libxgboost wants the rows four times and in the same order each time;
/// reading them back costs far less than running the query again, and a query that returns
/// other rows the second time does no harm. A record is four bytes per value, and lies on disk, not in
/// memory.
mod source {
    pub(crate) mod columns;
    pub(crate) mod dictionary;
    pub(crate) mod record_file;
}

/// The SQL functions, a file per verb. `pgboost_train.sql` declares them.
mod functions {
    mod train;
    mod xgboost_predict;

    use pg_interface::{ErrorReport, varlena};
    use pgrx::Array;
    use pgrx::iter::TableIterator;

    use crate::error::{Error, Result};

    /// The result of a function that PostgreSQL calls.
    type Answer<T> = std::result::Result<T, ErrorReport>;

    /// The rows of a function that returns a table.
    type Rows<T> = Answer<TableIterator<'static, T>>;

    /// Returns the value of a mandatory argument.
    fn required<T>(value: Option<T>, argument: &'static str) -> Result<T> {
        value.ok_or(Error::NullArgument { argument })
    }

    /// Returns a text argument. It is taken as bytes, because pgrx's conversion to UTF-8 raises an internal error
    /// if the database has another encoding, and does not check the elements of an array.
    fn text<'a>(value: Option<&'a [u8]>, argument: &'static str) -> Result<Option<&'a str>> {
        Ok(value.map(|bytes| varlena::utf8(bytes, argument)).transpose()?)
    }

    /// Returns the elements of a text[] argument.
    fn texts(
        given: Option<Array<'_, &[u8]>>,
        argument: &'static str,
    ) -> Result<Option<Vec<Option<String>>>> {
        let Some(given) = given else { return Ok(None) };
        let texts = given.iter().map(|value| Ok(text(value, argument)?.map(str::to_owned)));
        texts.collect::<Result<_>>().map(Some)
    }
}

::pgrx::pg_module_magic!();

/// Defines the settings. Starts no process and loads no library.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    guc::define();
}
