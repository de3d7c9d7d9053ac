//! The functions that take a query: `churn_rows(query)` and those behind it.

use super::catalog::in_pg_catalog;
use super::columns::FeatureColumns;
use super::function::Function;
use super::inputs::Place;
use super::nested::sum_type;
use super::quote::literal;
use super::rows;
use super::script::{Functions, ONE, QUERY, group};
use super::symmetric::Symmetric;
use super::values::short_value;
use crate::{Cancel, Result};

/// Nodes up to which a query has trees as expressions: planning it takes 2 kB per node.
const MAX_PLANNED: usize = 200_000;

/// A query may do whatever its caller may.
const ANY_QUERY: &str = "VOLATILE PARALLEL UNSAFE SET jit = off";
/// The setting decides on the digits of a real as text.
const IN_DECIMALS: &str = "VOLATILE PARALLEL UNSAFE SET jit = off SET extra_float_digits = 1";

impl Functions<'_> {
    /// The functions behind those that take a query: of groups of trees, and the text of the query around the
    /// user's.
    pub(super) fn query_of_rows(
        &self,
        symmetric: Option<&Symmetric<'_>>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<Function>> {
        let is_planned =
            symmetric.is_some() || self.can_nest() && self.forest.num_nodes() <= MAX_PLANNED;
        let computed = if is_planned { self.computed(symmetric, cancel)? } else { None };
        let called = computed.is_none();
        let (query, mut all) = computed.unwrap_or_else(|| (self.called(), Vec::new()));
        let text = "text";
        let body = query.body(&self.columns(called));
        let function = self.internal(QUERY, vec![text], text, body, "margins of a query's rows");
        all.push(Function { properties: "VOLATILE PARALLEL UNSAFE", ..function });
        Ok(all)
    }

    /// The columns of a query. The function of one row, where that is called, takes no NaN.
    fn columns(&self, called: bool) -> FeatureColumns {
        let qualified = |ending: &str| self.names.qualified(ending);
        let telling = self.forest.tells_nan();
        let tells_nan =
            |feature| called || self.inputs.is_category(feature) || telling.contains(&feature);
        FeatureColumns::of(
            &self.inputs,
            &self.forest,
            self.options.unknown_category,
            qualified,
            tells_nan,
        )
    }

    /// The query that computes trees, and the functions in it.
    fn computed(
        &self,
        symmetric: Option<&Symmetric<'_>>,
        cancel: Cancel<'_>,
    ) -> Result<Option<(rows::Query, Vec<Function>)>> {
        let name = |number: usize| self.names.qualified(&group(number));
        let (model, prologue) = (self.model, self.prologue(Place::Query));
        let found = rows::Trees { model, forest: &self.forest, symmetric, prologue: &prologue }
            .computed(name, cancel)?;
        Ok(found.map(|(query, groups)| {
            let sum = sum_type(model.sum_precision());
            let groups = groups.into_iter().enumerate().map(|(number, own)| {
                let function =
                    self.internal(&group(number), own.types, sum, own.body, "some trees");
                Function { language: "sql", ..function }
            });
            (query, groups.collect())
        }))
    }

    /// The query that calls the function of one row for each.
    fn called(&self) -> rows::Query {
        let given = (0..self.inputs.arguments.len())
            .map(|feature| self.inputs.given(feature, Place::Query));
        let passed = self.passed(given.collect());
        rows::called(&format!("{}({passed})", self.names.qualified(ONE)))
    }

    /// The function of all rows of a query, under a name.
    pub(super) fn of_rows(&self, name: &str, ending: &str) -> Option<Function> {
        let single = ending.trim_start_matches("_rows");
        let short = short_value(self.model, "r.s").filter(|_| single.is_empty());
        let (returns, result) = match short {
            Some(value) => (self.value_type(), value),
            None => self.result(single, "r.s")?,
        };
        let (column, columns): (_, &[&str]) = match single {
            "" => ("prediction", &["id", "prediction"]),
            _ => ("margin", &["id", "margin"]),
        };
        let query = self.names.qualified(QUERY);
        let is_used_once = result.matches("r.s").count() == 1;
        let end = if is_used_once { "" } else { rows::END };
        let function = self.internal(
            "",
            vec!["text"],
            &format!("TABLE(id text, {column} {returns})"),
            format!(
                "BEGIN\n  RETURN QUERY EXECUTE {}\n    || {query}($1) || '{end}) AS r';\nEND",
                literal(&in_pg_catalog(&format!("SELECT r.id, {result} FROM (")))
            ),
            &format!("{column} of each row of a query"),
        );
        Some(Function {
            name: format!("{name}{ending}"),
            names: vec!["query".to_owned()],
            columns,
            properties: if self.inputs.have_decimals() { IN_DECIMALS } else { ANY_QUERY },
            cost: 1000,
            ..function
        })
    }
}
