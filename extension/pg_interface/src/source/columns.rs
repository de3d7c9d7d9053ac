//! Columns of a source by their names, which may be those of an array's elements.

use pgrx::pg_sys::Oid;

use super::argument::Source;
use super::error::{Error, Result};
use super::query::Column;
use crate::array::{ElementType, number_elements};
use crate::elements;
use crate::nearest::nearest;

/// A column, and where a row of the query has it.
#[derive(Clone, Debug)]
pub struct PlacedColumn {
    /// Counted from 0.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Its type, that of the array where it is an element.
    pub type_oid: Oid,
    /// If it is an element of an array, its place among those that are asked for, counted from 0, and how
    /// many these are: all elements of the array.
    pub element: Option<(usize, usize)>,
}

impl PlacedColumn {
    /// The type of the elements, if it is an array of numbers.
    pub fn element_type(&self) -> Option<ElementType> {
        number_elements(self.type_oid)
    }

    /// The name of the array that it is the first element of.
    pub fn array_name(&self) -> &str {
        self.name.strip_suffix("[1]").unwrap_or(&self.name)
    }
}

/// How many of a row's first columns these are among.
pub fn width(columns: &[PlacedColumn]) -> usize {
    columns.iter().map(|column| column.position + 1).max().unwrap_or(0)
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
    /// relation have these columns alone, unless they may be had as they are stored, and are ordered by
    /// the column of the group. Names `image[1]`, `image[2]` and so on are the
    /// elements of a column `image`, if there are no columns of these names.
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
        let whole = self.whole_rows().filter(|_| group.is_none());
        let picks = self.is_relation() && whole.is_none();
        let mut asked: Vec<&str> = Vec::new();
        let mut placed = Vec::with_capacity(names.len());
        while let Some(rest) = names.get(placed.len()..).filter(|rest| !rest.is_empty()) {
            let array = elements_of(&columns, rest);
            let name = array.or_else(|| Some((*rest.first()?, 1)));
            let Some((name, count)) = name else { break };
            let (position, column) = find(&columns, name, argument)?;
            let position = if picks { asked.len() } else { position };
            asked.push(name);
            placed.extend(rest.iter().take(count).enumerate().map(|(place, name)| PlacedColumn {
                position,
                name: (*name).to_owned(),
                type_oid: column.type_oid,
                element: array.map(|_| (place, count)),
            }));
        }
        Ok((whole.unwrap_or_else(|| self.query(&asked, group)), placed))
    }
}

/// The column of an array of numbers whose elements the names begin with, and how many of them they are.
fn elements_of<'a>(columns: &[Column], names: &[&'a str]) -> Option<(&'a str, usize)> {
    let first = *names.first()?;
    let name = first.strip_suffix("[1]")?;
    let (_, count) = elements::named(names)?;
    let named = |wanted: &str| columns.iter().find(|column| column.name == wanted);
    let is_array = number_elements(named(name)?.type_oid).is_some();
    (named(first).is_none() && is_array).then_some((name, count))
}
