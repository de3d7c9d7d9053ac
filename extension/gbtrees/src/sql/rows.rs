//! All rows of a query at once: trees as expressions over columns, without a function's call per row.
//!
//! A session compiles expressions once per call. Those of some thousand nodes stay in the processor's caches;
//! of more trees, groups take turns over chunks of rows: a window's function reads all rows of its
//! partition before the first one goes on, so that a chunk passes one group before the next group begins.

use super::columns::FeatureColumns;
use super::inputs::{MAX_ARGUMENTS, Prologue};
use super::nested::{self, sum_type};
use super::quote::number;
use super::symmetric::Symmetric;
use super::trees::{Forest, Kind};
use super::values::scaled;
use crate::ensemble::Ensemble;
use crate::{Cancel, Result};

/// Nodes up to which one group is faster than several.
const MAX_ALONE: usize = 10_000;
/// Nodes in a group of several, and trees, since each nests a sum.
const NODES: usize = 5_000;
const TREES: usize = 1_000;
/// Functions of groups, which a script that drops them names.
pub(super) const MAX_GROUPS: usize = 256;
/// Rows in a chunk: what is kept of them stays below `work_mem`.
const CHUNK: usize = 2_000;

/// A window's function that reads all rows of a chunk: the number of the only bucket. Each is of the one before,
/// so that none is left out.
const COUNTED: &str = "ntile(q.w) OVER (PARTITION BY q.c) AS w";

/// Returns the column of a row's chunk.
fn chunk() -> String {
    format!("(row_number() OVER () - 1) / {CHUNK} AS c")
}

/// The end of each query, which keeps the planner from putting expressions in the place of columns.
pub(super) const END: &str = " OFFSET 0";

/// A query around that of the values `x0`, `x1` and so on, which has the columns `id` and `s`, the margins.
#[derive(Default)]
pub(super) struct Query {
    head: String,
    tail: String,
}

impl Query {
    /// Puts a query around, which computes columns of those of `q`.
    fn around(&mut self, columns: &[String]) {
        let columns: String = columns.iter().map(|column| format!(", {column}")).collect();
        self.head.insert_str(0, &format!("SELECT q.id{columns} FROM ("));
        self.tail += &format!(") AS q{END}");
    }

    /// Returns the body of the function from the user's query to the whole one, without an end, so that the
    /// planner may put margins in the place of `s`.
    pub(super) fn body(&self, columns: &FeatureColumns) -> String {
        columns.body(&self.head, self.tail.trim_end_matches(END))
    }
}

/// Returns the query that calls a function per row, by its expression over columns of `q`.
pub(super) fn called(margins: &str) -> Query {
    let mut query = Query::default();
    query.around(&[format!("{margins} AS s")]);
    query
}

/// A function that adds trees to a sum, its last argument. Queries have its body in its place, so that a
/// session plans each group once, however many queries are around it.
pub(super) struct Group {
    pub(super) types: Vec<&'static str>,
    pub(super) body: String,
}

/// The trees of a query.
pub(super) struct Trees<'a> {
    pub(super) model: &'a Ensemble,
    pub(super) forest: &'a Forest<'a>,
    pub(super) symmetric: Option<&'a Symmetric<'a>>,
    pub(super) prologue: &'a Prologue,
}

impl Trees<'_> {
    /// Returns the query that computes trees, and its groups, or `None` if these are too many. `name` names a
    /// group's function.
    pub(super) fn computed(
        &self,
        name: impl Fn(usize) -> String,
        cancel: Cancel<'_>,
    ) -> Result<Option<(Query, Vec<Group>)>> {
        let Trees { model, prologue, .. } = self;
        let mut query = Query::default();
        let mut kept: Vec<String> =
            (0..model.num_features()).map(|feature| format!("q.x{feature}")).collect();
        for steps in [&prologue.codes, &prologue.computed] {
            if !steps.is_empty() {
                let new = steps.iter().map(|step| format!("{} AS {}", step.expression, step.name));
                query.around(&kept.iter().cloned().chain(new).collect::<Vec<_>>());
                kept.extend(steps.iter().map(|step| format!("q.{}", step.name)));
            }
        }
        let terms = Terms::of(self, &mut query, cancel)?;
        let Some((sums, groups)) = terms.sum(model, &mut query, name) else { return Ok(None) };
        let margins = match scaled(model, sums).as_slice() {
            [margin] => format!("{margin} AS s"),
            margins => format!("ARRAY[{}] AS s", margins.join(", ")),
        };
        if terms.turns().len() == 1 {
            query.around(&[margins]);
        } else {
            query.around(&[margins, COUNTED.to_owned()]);
            query.around(&["q.s".to_owned()]);
            let end = query.tail.len() - END.len();
            query.tail.insert_str(end, " WHERE q.w > 0");
        }
        Ok(Some((query, groups)))
    }
}

/// The trees' expressions of a function's arguments, and the columns that these are.
struct Terms {
    columns: Vec<(String, &'static str)>,
    trees: Vec<Term>,
}

struct Term {
    output: usize,
    nodes: usize,
    expression: String,
}

impl Terms {
    fn of(trees: &Trees<'_>, query: &mut Query, cancel: Cancel<'_>) -> Result<Self> {
        let Trees { model, forest, symmetric, prologue } = trees;
        let precision = model.sum_precision();
        if let Some(symmetric) = symmetric {
            let found = symmetric.found(forest.variables.len(), prologue);
            query.around(&[format!("{found} AS v")]);
            let terms = symmetric.terms("$1", precision).into_iter();
            // A term is as large as a few nodes, however many leaves there are.
            let trees = terms.map(|(output, expression)| Term { output, nodes: 2, expression });
            let columns = vec![("q.v".to_owned(), "bytea")];
            return Ok(Terms { columns, trees: trees.collect() });
        }
        let mut columns: Vec<(String, &'static str)> = Vec::new();
        let mut arguments = Vec::new();
        for (column, variable) in prologue.variables.iter().zip(&forest.variables) {
            let known = columns.iter().position(|(known, _)| known == column);
            arguments.push(format!("${}", known.unwrap_or(columns.len()) + 1));
            if known.is_none() {
                let is_code = variable.kind == Kind::Code;
                let type_name = if is_code { "int4" } else { "float8" };
                columns.push((column.clone(), type_name));
            }
        }
        let mut trees = Vec::new();
        for tree in &forest.trees {
            cancel.check()?;
            let expression = nested::term(tree, precision, &arguments);
            trees.push(Term { output: tree.output, nodes: tree.nodes.len(), expression });
        }
        Ok(Terms { columns, trees })
    }

    /// Adds all trees but those of the last turn to the sums `s0`, `s1` and so on, group by group. Returns the
    /// expressions of all sums, and the groups.
    fn sum(
        &self,
        model: &Ensemble,
        query: &mut Query,
        name: impl Fn(usize) -> String,
    ) -> Option<(Vec<String>, Vec<Group>)> {
        let sum_type = sum_type(model.sum_precision());
        let given: Vec<String> = self.columns.iter().map(|(column, _)| column.clone()).collect();
        let mut types: Vec<&str> = self.columns.iter().map(|(_, type_name)| *type_name).collect();
        types.push(sum_type);
        if types.len() > MAX_ARGUMENTS {
            return None;
        }
        let passed: String = given.iter().map(|column| format!("{column}, ")).collect();
        let base = model.base_margin().iter().map(|base| {
            format!("'{}'::{sum_type}", number(f64::from(*base), model.sum_precision()))
        });
        let (mut sums, mut groups): (Vec<String>, _) = (base.collect(), Vec::new());
        for (turn, terms) in self.turns().iter().enumerate() {
            if turn > 0 {
                let mut columns = given.clone();
                columns.extend((0..).zip(&sums).map(|(output, sum)| format!("{sum} AS s{output}")));
                columns.extend(match turn {
                    1 => [chunk(), "1 AS w".to_owned()],
                    _ => ["q.c".to_owned(), COUNTED.to_owned()],
                });
                query.around(&columns);
                sums = (0..sums.len()).map(|output| format!("q.s{output}")).collect();
            }
            for (output, sum) in sums.iter_mut().enumerate() {
                let own = terms.iter().filter(|term| term.output == output);
                let own: Vec<&str> = own.map(|term| term.expression.as_str()).collect();
                if own.is_empty() {
                    continue;
                }
                let terms = own.join(" +\n");
                let body = format!("SELECT ${} +\n{terms}", types.len());
                *sum = format!("{}({passed}{sum})", name(groups.len()));
                groups.push(Group { types: types.clone(), body });
            }
        }
        (groups.len() <= MAX_GROUPS).then_some((sums, groups))
    }

    /// Returns the trees in the order of their summation, as they take turns.
    fn turns(&self) -> Vec<&[Term]> {
        let nodes: usize = self.trees.iter().map(|tree| tree.nodes).sum();
        let most = if nodes <= MAX_ALONE { MAX_ALONE } else { NODES };
        let (mut turns, mut rest, mut held, mut count) = (Vec::new(), &self.trees[..], 0, 0);
        for tree in &self.trees {
            if count > 0 && (held + tree.nodes > most || count == TREES) {
                let (turn, others) = rest.split_at(count);
                turns.push(turn);
                (rest, held, count) = (others, 0, 0);
            }
            held += tree.nodes;
            count += 1;
        }
        turns.push(rest);
        turns
    }
}
