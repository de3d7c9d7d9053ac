//! A function of the script, and the statements that create it.

use std::fmt::Write as _;

use super::catalog::in_pg_catalog;
use super::guard::{Kept, qualified};
use super::quote::{body, identifier, literal};

/// A function of the script.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) types: Vec<&'static str>,
    /// Empty, or the arguments' names, whose default is NULL if they are features.
    pub(super) names: Vec<String>,
    /// Names of the columns of a table that it returns.
    pub(super) columns: &'static [&'static str],
    pub(super) returns: String,
    pub(super) language: &'static str,
    pub(super) properties: &'static str,
    pub(super) cost: u64,
    /// Its code, in which names of PostgreSQL are not qualified.
    pub(super) body: String,
    /// The first words of the comment.
    pub(super) mark: String,
    pub(super) comment: String,
}

impl Function {
    pub(super) fn kept(&self) -> Kept {
        let columns = self.columns.iter().map(|column| (*column).to_owned());
        let (name, names) =
            (self.name.clone(), self.names.iter().cloned().chain(columns).collect());
        let (mark, types, returns) = (self.mark.clone(), self.types.clone(), self.returns.clone());
        Kept { name, mark, types, names, returns }
    }

    pub(super) fn is_ascii(&self) -> bool {
        [&self.name, &self.body, &self.mark]
            .into_iter()
            .chain(&self.names)
            .all(|text| text.is_ascii())
    }

    pub(super) fn create(&self, out: &mut String, schema: &str) {
        let name = qualified(schema, &self.name);
        let types = in_pg_catalog(&self.types.join(", "));
        let arguments = match self.names.as_slice() {
            [] => self.types.join(", "),
            names => {
                let default = if self.columns.is_empty() { " DEFAULT NULL" } else { "" };
                let arguments = names.iter().zip(&self.types).map(|(name, type_name)| {
                    format!("\n    {} {type_name}{default}", identifier(name))
                });
                arguments.collect::<Vec<_>>().join(",")
            }
        };
        let _ = write!(
            out,
            "CREATE OR REPLACE FUNCTION {name}({})\n  RETURNS {} LANGUAGE {} {} COST {}\n  AS {};\nCOMMENT ON FUNCTION {name}({types}) IS {};\n\n",
            in_pg_catalog(&arguments),
            in_pg_catalog(&self.returns),
            self.language,
            self.properties,
            self.cost,
            body(&in_pg_catalog(&self.body)),
            literal(&format!("{}{}", self.mark, self.comment)),
        );
    }
}
