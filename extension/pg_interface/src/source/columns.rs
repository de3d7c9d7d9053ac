//! Columns of a source by their names.

use pgrx::pg_sys::Oid;

use super::argument::Source;
use super::error::{Error, Result};
use super::query::Column;
use crate::nearest::nearest;

/// A column, and where a row of the query has it.
#[derive(Clone, Debug)]
pub struct PlacedColumn {
    /// Counted from 0.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
}

/// The column of this name, and its place.
///
/// # Errors
/// [`Error::NoSuchColumn`], [`Error::AmbiguousColumn`].
pub fn find<'a>(
    columns: &'a [Column],
    name: &str,
    argument: &'static str,
) -> Result<(usize, &'a Column)> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| column.name == name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => Err(Error::AmbiguousColumn { column: name.to_owned() }),
        (None, _) => {
            let names = columns.iter().map(|column| column.name.as_str());
            let nearest = nearest(name, names).map(str::to_owned);
            Err(Error::NoSuchColumn { column: name.to_owned(), argument, nearest })
        }
    }
}

impl Source {
    /// The query that returns the rows, and where each of the columns named is in them. Rows of a
    /// relation are ordered by the column of the group.
    ///
    /// # Errors
    /// Those of [`find`], and [`Error::NotOneSelect`].
    pub fn select(
        &self,
        names: &[&str],
        group: Option<&str>,
        argument: &'static str,
    ) -> Result<(String, Vec<PlacedColumn>)> {
        let columns = self.columns(argument)?;
        let place = |(index, name): (usize, &&str)| {
            let (position, column) = find(&columns, name, argument)?;
            let position = if self.is_relation() { index } else { position };
            Ok(PlacedColumn { position, name: column.name.clone(), type_oid: column.type_oid })
        };
        let placed = names.iter().enumerate().map(place).collect::<Result<_>>()?;
        Ok((self.query(names, group), placed))
    }
}
