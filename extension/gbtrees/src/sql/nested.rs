//! Trees as nested CASE expressions, many to a statement: the fastest form over many rows, for trees that
//! are not too deep.
//!
//! A value that is NULL makes a comparison NULL, which takes ELSE; so a split whose missing values go left is
//! turned round. PL/pgSQL compiles a statement once per session, and JIT never does.

use std::fmt::Write as _;

use super::inputs::Prologue;
use super::quote::{array, number};
use super::trees::{Forest, SqlNode, SqlSplit, SqlTree, Test};
use crate::ensemble::{Ensemble, Precision};

/// Trees in a statement: a sum of some thousands exceeds `max_stack_depth`.
const TREES: usize = 25;
/// PostgreSQL's parser fails at a nesting of 2,000.
pub(super) const MAX_DEPTH: u32 = 400;

/// Returns the type of sums.
pub(super) fn sum_type(precision: Precision) -> &'static str {
    match precision {
        Precision::Single => "float4",
        Precision::Double => "float8",
    }
}

/// Returns the declarations of sums, with their initial values.
pub(super) fn sums(model: &Ensemble) -> String {
    let precision = model.sum_precision();
    let mut out = String::new();
    for (output, start) in model.base_margin().iter().enumerate() {
        let start = number(f64::from(*start), precision);
        let _ = writeln!(out, "  s{output} {} := '{start}';", sum_type(precision));
    }
    out
}

/// Returns the statements that add trees to the sums `s0`, `s1` and so on.
pub(super) fn statements(
    forest: &Forest<'_>,
    trees: std::ops::Range<usize>,
    outputs: usize,
    precision: Precision,
    prologue: &Prologue,
) -> String {
    let mut out = String::new();
    let trees = forest.trees.get(trees).unwrap_or_default();
    for trees in trees.chunks(TREES * outputs) {
        for output in 0..outputs {
            let mut trees = trees.iter().filter(|tree| tree.output == output).peekable();
            if trees.peek().is_none() {
                continue;
            }
            let _ = write!(out, "  s{output} := s{output}");
            for tree in trees {
                let _ = write!(out, " +\n    {}", term(tree, precision, &prologue.variables));
            }
            out.push_str(";\n");
        }
    }
    out
}

/// Returns the expression of a tree, of those of its variables.
pub(super) fn term(tree: &SqlTree<'_>, precision: Precision, variables: &[String]) -> String {
    let mut out = String::new();
    Writer { precision, variables }.write(&mut out, tree, 0, true);
    out
}

struct Writer<'a> {
    precision: Precision,
    variables: &'a [String],
}

impl Writer<'_> {
    /// Writes a node; recursion is as deep as the tree.
    fn write(&self, out: &mut String, tree: &SqlTree<'_>, id: u32, typed: bool) {
        match tree.nodes.get(id as usize) {
            Some(SqlNode::Leaf(value)) => self.leaf(out, *value, typed),
            Some(SqlNode::Linear(..) | SqlNode::Unused) | None => {}
            Some(SqlNode::Split(split)) => self.split(out, tree, split, typed),
        }
    }

    fn leaf(&self, out: &mut String, value: f64, typed: bool) {
        let value = number(value, self.precision);
        let _ = match typed {
            true => write!(out, "'{value}'::{}", sum_type(self.precision)),
            false => write!(out, "'{value}'"),
        };
    }

    fn split(&self, out: &mut String, tree: &SqlTree<'_>, split: &SqlSplit<'_>, typed: bool) {
        let Some(value) = self.variables.get(split.variable) else { return };
        let (when, then, otherwise) = match (split.test, split.missing_left) {
            (Test::Always, true) => return self.write(out, tree, split.left, typed),
            (Test::Always, false) => (format!("{value} IS NOT NULL"), split.left, split.right),
            (Test::Below(cut), missing_left) => {
                let cut = number(cut, Precision::Double);
                let [below, from] =
                    ["<", ">="].map(|operator| format!("{value} {operator} '{cut}'"));
                if missing_left {
                    (from, split.right, split.left)
                } else {
                    (below, split.left, split.right)
                }
            }
            (Test::In(words), missing_left) => {
                let is_in = in_set(value, words);
                if missing_left {
                    (format!("NOT ({is_in})"), split.right, split.left)
                } else {
                    (is_in, split.left, split.right)
                }
            }
        };
        let _ = write!(out, "CASE WHEN {when} THEN ");
        self.write(out, tree, then, true);
        out.push_str(" ELSE ");
        // Of two leaves, the first one's type is that of both.
        self.write(out, tree, otherwise, false);
        out.push_str(" END");
    }
}

/// Codes in a list, beyond which a set is written as bits.
const LISTED: usize = 16;

fn in_set(value: &str, words: &[u32]) -> String {
    let is_in = |code: &u32| {
        words.get((*code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    };
    let end = 32 * words.len() as u32;
    let codes: Vec<u32> = (0..end).filter(is_in).collect();
    if codes.len() <= LISTED {
        let codes = array(codes);
        return format!("{value} = ANY ({codes}::int4[])");
    }
    let bits: String = (0..end).map(|code| if is_in(&code) { '1' } else { '0' }).collect();
    // No code is as large as the length of the set, of which the substring would be empty; -1 is at 0, which
    // has no bit either.
    format!("substring(B'{bits}', {value} + 1, 1) = B'1'")
}
