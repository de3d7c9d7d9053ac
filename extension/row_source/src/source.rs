//! The `source` argument: the name of a table or view, or a query, with its columns and groups.
//!
//! Text that begins like a query runs unchanged. Anything else is a name, which PostgreSQL itself
//! resolves and quotes; only such names, and columns', become part of SQL. Column names may also be
//! those of array elements.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use pg_interface::array::{ElementType, number_elements};
use pg_interface::query::{self, Column, Each, Field, Row};
use pg_interface::{Oid, catalog};

use crate::error::{Error, Result};
use crate::names;

/// The origin of rows.
pub enum Source {
    /// A table or view.
    Relation {
        /// Qualified, and quoted where needed.
        name: String,
        /// Whether rows can be read as stored.
        stored: bool,
    },
    /// A query, unchanged.
    Query(String),
}

impl Source {
    /// Parses the argument. Raises PostgreSQL's error for an unknown name.
    pub fn of(text: &str) -> Result<Source> {
        if begins_like_a_query(text) {
            return Ok(Source::Query(text.to_owned()));
        }
        if is_no_name(text) {
            return Err(Error::NotAName { text: text.to_owned() });
        }
        let refused = |detail| Error::NotOneSelect { argument: "source", detail };
        let relation = catalog::relation_named(text);
        let relation = relation.ok_or_else(|| refused("It has a NUL character."))?;
        let name = catalog::quoted_relation(relation)
            .ok_or_else(|| refused("No table or view has that number."))?;
        Ok(Source::Relation { name, stored: catalog::may_read_rows(relation) })
    }

    /// Returns whether the source is a relation, for which a query selects the used columns.
    pub fn is_relation(&self) -> bool {
        matches!(self, Source::Relation { .. })
    }

    /// Returns all columns.
    pub fn columns(&self, argument: &'static str) -> Result<Vec<Column>> {
        match self {
            Source::Relation { name, .. } => Ok(query::columns(&all(name), argument)?),
            Source::Query(query) => Ok(query::columns(query, argument)?),
        }
    }

    /// Returns, by table, the names of those of the source's columns that are the table's unchanged, by their numbers
    /// there.
    pub fn origins(
        &self,
        columns: &[Column],
        argument: &'static str,
    ) -> Result<BTreeMap<u32, BTreeMap<i32, String>>> {
        let tables = match self {
            Source::Relation { name, .. } => query::origins(&all(name), argument)?,
            Source::Query(query) => query::origins(query, argument)?,
        };
        let named = |(number, place): (i32, usize)| {
            columns.get(place).map(|column| (number, column.name.clone()))
        };
        let named = |(table, places): (u32, BTreeMap<i32, usize>)| {
            (table, places.into_iter().filter_map(named).collect())
        };
        Ok(tables.into_iter().map(named).collect())
    }

    /// Returns the column names of primary keys, for each table whose whole key is among the columns.
    pub fn primary_keys(&self, argument: &'static str) -> Result<Vec<Vec<String>>> {
        let origins = self.origins(&self.columns(argument)?, argument)?;
        let keys = origins.into_iter().filter_map(|(table, columns)| {
            let key = query::primary_key(Oid::from(table));
            let names = key.iter().map(|number| columns.get(number).cloned());
            names.collect::<Option<Vec<String>>>().filter(|names| !names.is_empty())
        });
        Ok(keys.collect())
    }

    /// Returns a query of whole stored rows, which saves a copy of each, if the source is a table with
    /// all columns readable by the caller.
    pub fn whole_rows(&self) -> Option<String> {
        match self {
            Source::Relation { name, stored: true } => Some(all(name)),
            _ => None,
        }
    }

    /// Returns the query of the rows. For a relation it selects only the named columns, so that no
    /// other privileges are needed, and it keeps groups together.
    pub fn query(&self, columns: &[&str], group: Option<&str>) -> String {
        match self {
            Source::Query(query) => query.clone(),
            Source::Relation { name, .. } => {
                let columns: Vec<_> =
                    columns.iter().map(|column| catalog::quoted(column)).collect();
                let order = group.map(|group| format!(" ORDER BY {}", catalog::quoted(group)));
                let order = order.unwrap_or_default();
                format!("SELECT {} FROM {name}{order}", columns.join(", "))
            }
        }
    }
}

fn all(relation: &str) -> String {
    format!("SELECT * FROM {relation}")
}

/// First words of a query.
const FIRST_WORDS: [&str; 4] = ["select", "with", "values", "table"];

/// Returns whether the first word, after blanks, comments and parentheses, begins a query.
pub fn begins_like_a_query(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = after_comment(comment).unwrap_or_default();
        } else {
            break;
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    // A table may be called "values", but then nothing follows.
    !after.trim().is_empty() && FIRST_WORDS.iter().any(|first| word.eq_ignore_ascii_case(first))
}

/// Returns what follows a comment, which may contain others, given all behind its beginning.
fn after_comment(mut rest: &str) -> Option<&str> {
    let mut depth = 1;
    while depth > 0 {
        rest = rest.get(rest.find(['/', '*'])?..)?;
        let sign = rest.get(..2).unwrap_or(rest);
        depth = match sign {
            "/*" => depth + 1,
            "*/" => depth - 1,
            _ => depth,
        };
        rest = rest.get(if matches!(sign, "/*" | "*/") { 2 } else { 1 }..)?;
    }
    Some(rest)
}

/// Returns whether a text has consecutive words or signs that no name has: `customers WHERE id < 9`.
fn is_no_name(text: &str) -> bool {
    let mut quoted = false;
    let plain = text.trim().chars().filter(|c| {
        quoted ^= *c == '"';
        !quoted && *c != '"'
    });
    let plain: String = plain.collect();
    // Blanks are allowed around the dot of a qualified name.
    let parts = plain.split('.').map(str::trim);
    parts
        .into_iter()
        .any(|part| part.contains(|c: char| c.is_whitespace() || "()<>=;,*".contains(c)))
}

/// A column, and its place in rows of the query.
#[derive(Clone, Debug)]
pub struct PlacedColumn {
    /// Zero-based position.
    pub position: usize,
    /// Name of the column.
    pub name: String,
    /// The column's type; for an element, the array's.
    pub type_oid: Oid,
    /// For an array element, its zero-based index among the requested ones, and their number, which is
    /// that of all elements.
    pub element: Option<(usize, usize)>,
}

impl PlacedColumn {
    /// Returns the element type if the column is an array of numbers.
    pub fn element_type(&self) -> Option<ElementType> {
        number_elements(self.type_oid)
    }

    /// Returns the name of the array of which this is the first element.
    pub fn array_name(&self) -> &str {
        self.name.strip_suffix("[1]").unwrap_or(&self.name)
    }
}

/// Returns the number of leading columns of a row that include these.
pub fn width(columns: &[PlacedColumn]) -> usize {
    columns.iter().map(|column| column.position + 1).max().unwrap_or(0)
}

/// Returns the column of a name, and its position.
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
            let nearest = names::nearest(name, names).map(str::to_owned);
            Err(Error::NoSuchColumn { column: name.to_owned(), argument, nearest })
        }
    }
}

impl Source {
    /// Returns the query of the rows, and the places of the named columns: the features of each model,
    /// then the others. Rows of a relation have only these columns, unless they are read as stored, and
    /// are ordered by the group column. Names `image[1]`, `image[2]` and so on are elements of a column
    /// `image`, unless there are columns of these names. A longer name than PostgreSQL's means the column
    /// of which the name was cut, unless another name of the model, or one of the others, does.
    ///
    /// # Errors
    /// Those of [`find`], and [`Error::NotOneSelect`].
    pub fn select<'n>(
        &self,
        models: &[Vec<&'n str>],
        others: &[&'n str],
        group: Option<&str>,
        argument: &'static str,
    ) -> Result<(String, Vec<PlacedColumn>)> {
        let columns = self.columns(argument)?;
        let whole = self.whole_rows().filter(|_| group.is_none());
        let picks = self.is_relation() && whole.is_none();
        let is_column = |name: &str| columns.iter().any(|column| column.name == name);
        let of_model = |features: &[&'n str]| {
            let mut stored = names::stored(&[features, others].concat(), is_column);
            stored.truncate(features.len());
            stored
        };
        let mut stored: Vec<&str> = models.iter().flat_map(|features| of_model(features)).collect();
        stored.extend(names::stored(others, is_column));
        let names = [models.concat().as_slice(), others].concat();
        let mut asked: Vec<&str> = Vec::new();
        let mut placed = Vec::with_capacity(names.len());
        while let Some(rest) = names.get(placed.len()..).filter(|rest| !rest.is_empty()) {
            let array = elements_of(&columns, rest);
            let name = array.or_else(|| Some((*stored.get(placed.len())?, 1)));
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

/// Returns the array of numbers whose leading elements the names begin with, and their number.
fn elements_of<'a>(columns: &[Column], names: &[&'a str]) -> Option<(&'a str, usize)> {
    let first = *names.first()?;
    let name = first.strip_suffix("[1]")?;
    let (_, count) = names::leading_elements(names)?;
    let named = |wanted: &str| columns.iter().find(|column| column.name == wanted);
    let is_array = number_elements(named(name)?.type_oid).is_some();
    (named(first).is_none() && is_array).then_some((name, count))
}

/// The groups seen so far.
#[derive(Default)]
pub struct Groups {
    current: Option<String>,
    /// Hashes of completed groups. A collision has a probability of 3 % among a billion groups, and of
    /// 3 in a hundred million among a million.
    ended: HashSet<u64>,
}

impl Groups {
    /// Returns whether a row starts a new group, given its field in the group column.
    ///
    /// # Errors
    /// [`Error::ValueRefused`] for a NULL, [`Error::GroupApart`].
    pub fn begins(&mut self, column: &str, field: Option<Field<'_>>) -> Result<bool> {
        let Some(field) = field else {
            let what = "is null, so it cannot be a group";
            return Err(Error::ValueRefused { column: column.to_owned(), what });
        };
        let group = field.written();
        if self.current.as_deref() == Some(group.as_str()) {
            return Ok(false);
        }
        if self.ended.contains(&hash(&group)) {
            return Err(Error::GroupApart { group });
        }
        self.ended.extend(self.current.replace(group).as_deref().map(hash));
        Ok(true)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Runs a query and passes each row to the closure, whose first error ends it.
///
/// # Errors
/// [`Error::NotOneSelect`], and those of the closure. PostgreSQL's are raised.
pub fn run<E: From<Error>>(
    query: &str,
    argument: &'static str,
    each: impl FnMut(Row<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    run_first(query, argument, usize::MAX, each)
}

/// Like [`run`], with rows cut to their first `width` columns.
///
/// # Errors
/// As for [`run`].
pub fn run_first<E: From<Error>>(
    query: &str,
    argument: &'static str,
    width: usize,
    mut each: impl FnMut(Row<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut outcome = Ok(());
    let mut visit = |row: Row<'_>| {
        outcome = each(row);
        outcome.is_ok()
    };
    let visit: &mut Each<'_> = &mut visit;
    query::run(query, argument, width, visit).map_err(Error::from)?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::begins_like_a_query;

    #[test]
    fn queries_are_distinguished_from_names() {
        for query in [
            "select 1",
            " (SELECT 1)",
            "-- a\nWITH x AS (SELECT 1) TABLE x",
            "/* b */ values(1)",
            "/*/* b */ é* **/select 1",
        ] {
            assert!(begins_like_a_query(query), "{query}");
        }
        for name in [
            "flights",
            "\"select\"",
            "public.flights",
            "selected",
            "select",
            "values ",
            "/*/* b */ select 1",
        ] {
            assert!(!begins_like_a_query(name), "{name}");
        }
    }
}
