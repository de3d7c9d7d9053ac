//! Text that comes from SQL, in the database's encoding.
//!
//! The engine's text is UTF-8, as model files are. In a database of another encoding text is taken
//! as long as it means the same in both: ASCII does. SQL_ASCII means no encoding at all, so there
//! whatever is UTF-8 is taken as that.

use pgrx::pg_sys;

use crate::error::{Error, Result};

/// A text argument's bytes as UTF-8.
pub fn utf8<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => require_allowed(text, what),
        Err(_) => Err(Error::Encoding { what }),
    }
}

/// The text, if the database can hold it and messages can show it.
pub fn require_allowed<T: AsRef<str>>(text: T, what: &'static str) -> Result<T> {
    use pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};
    // SAFETY: returns a variable of the backend.
    let encoding = || unsafe { pg_sys::GetDatabaseEncoding() }.cast_unsigned();
    let allowed = text.as_ref().is_ascii() || matches!(encoding(), PG_UTF8 | PG_SQL_ASCII);
    if allowed { Ok(text) } else { Err(Error::Encoding { what }) }
}
