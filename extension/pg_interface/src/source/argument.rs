//! What a `source` argument says: the name of a table or view, or a query.
//!
//! A text that begins like a query is one, and runs as it is. Everything else is a name, which
//! PostgreSQL itself resolves and quotes; only such names, and those of columns, are put into SQL.

use super::error::Result;
use super::first_word::begins_like_a_query;
use super::keys;
use super::query::{self, Column};
use crate::catalog;

/// What rows come from.
pub enum Source {
    /// A table or view.
    Relation {
        /// As SQL would write it: qualified, and quoted where needed.
        name: String,
        /// Whether its rows may be had as they are stored.
        stored: bool,
    },
    /// A query, as it was given.
    Query(String),
}

impl Source {
    /// What the argument says. Raises PostgreSQL's own error if it is the name of nothing.
    pub fn of(text: &str) -> Result<Source> {
        if begins_like_a_query(text) {
            return Ok(Source::Query(text.to_owned()));
        }
        let relation = catalog::relation_named(text)?;
        let name = catalog::quoted_relation(relation)?;
        Ok(Source::Relation { name, stored: catalog::may_read_rows(relation) })
    }

    /// Whether a query of the columns in use is made for it.
    pub fn is_relation(&self) -> bool {
        matches!(self, Source::Relation { .. })
    }

    /// The columns that there are.
    pub fn columns(&self, argument: &'static str) -> Result<Vec<Column>> {
        match self {
            Source::Relation { name, .. } => query::columns(&all(name), argument),
            Source::Query(query) => query::columns(query, argument),
        }
    }

    /// The names of the columns that make up a primary key, for each table whose whole key is among the columns.
    pub fn primary_keys(&self, argument: &'static str) -> Result<Vec<Vec<String>>> {
        let columns = self.columns(argument)?;
        let keys = match self {
            Source::Relation { name, .. } => keys::primary_keys(&all(name), argument)?,
            Source::Query(query) => keys::primary_keys(query, argument)?,
        };
        let name = |place: usize| columns.get(place).map(|column| column.name.clone());
        Ok(keys.into_iter().map(|key| key.into_iter().filter_map(name).collect()).collect())
    }

    /// The query that returns the rows of a table as they are stored, which spares a copy of each, if that is
    /// what it is and the caller may read all columns.
    pub fn whole_rows(&self) -> Option<String> {
        match self {
            Source::Relation { name, stored: true } => Some(all(name)),
            _ => None,
        }
    }

    /// The query that returns the rows. Of a relation it takes the named columns only, so that no
    /// right to the others is needed, and it brings groups together.
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
