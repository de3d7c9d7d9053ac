//! Trees whose nodes of one depth have the same test, CatBoost's, as one byte of outcomes per tree.
//!
//! A variable has a line of bits per bin of its values, with a byte per tree and the outcomes of the tests of
//! that variable in it. The lines of a row's bins, joined by OR, are the numbers of the leaves of all trees.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::cuts::{ordered, unordered};
use super::inputs::Prologue;
use super::nested::sum_type;
use super::quote::{array, number};
use super::trees::{Forest, SqlNode, SqlSplit, SqlTree, Test};
use crate::ensemble::{Precision, end_of_set, is_in_set};
use crate::{Cancel, Result};

/// Outcomes that a byte holds.
const MAX_DEPTH: u32 = 8;
/// Digits of all lines, half a byte each.
const MAX_DIGITS: usize = 1 << 23;
/// Trees in a statement: see `nested`.
const TREES: usize = 25;

/// The trees: the test of each depth, and the leaves by number.
pub(super) struct Symmetric<'m> {
    levels: Vec<Vec<SqlSplit<'m>>>,
    leaves: Vec<Vec<f64>>,
    outputs: Vec<usize>,
}

impl<'m> Symmetric<'m> {
    /// Returns the trees of a forest, if all are symmetric and their lines are not too long.
    pub(super) fn of(forest: &Forest<'m>, cancel: Cancel<'_>) -> Result<Option<Self>> {
        let mut all = Symmetric { levels: Vec::new(), leaves: Vec::new(), outputs: Vec::new() };
        for tree in &forest.trees {
            cancel.check()?;
            let Some((levels, leaves)) = levels(tree) else { return Ok(None) };
            all.levels.push(levels);
            all.leaves.push(leaves);
            all.outputs.push(tree.output);
        }
        let bins: usize = (0..forest.variables.len()).map(|own| all.bins(own).count()).sum();
        let fits = bins.saturating_mul(2 * all.levels.len()) <= MAX_DIGITS;
        Ok(Some(all).filter(|all| fits && all.levels.len() > 1))
    }

    /// Returns the bins of a variable.
    fn bins(&self, variable: usize) -> Bins {
        let tests = self.levels.iter().flatten().filter(|split| split.variable == variable);
        let (mut cuts, mut end) = (BTreeSet::new(), 0);
        for split in tests {
            match split.test {
                Test::Below(cut) => {
                    cuts.insert(ordered(cut + 0.0));
                }
                Test::In(words) => end = end_of_set(words).max(end),
                Test::Always => {}
            }
        }
        Bins { cuts: cuts.into_iter().collect(), end }
    }

    /// Returns the expression of the bytes with the numbers of all leaves.
    pub(super) fn found(&self, variables: usize, prologue: &Prologue) -> String {
        let lines = (0..variables).filter_map(|variable| {
            let value = prologue.variables.get(variable)?;
            let bins = self.bins(variable);
            let used = self.levels.iter().flatten().any(|split| split.variable == variable);
            let table: String =
                (0..bins.count()).map(|bin| self.line(variable, &bins, bin)).collect();
            let width = 8 * self.levels.len();
            let bin = bins.number_of(value);
            used.then(|| format!("substring(X'{table}', 1 + ({width} * {bin}), {width})"))
        });
        let lines: Vec<String> = lines.collect();
        let joined = match lines.as_slice() {
            [] => format!("X'{}'", "00".repeat(self.levels.len())),
            lines => lines.join("\n    | "),
        };
        format!("varbit_send({joined})")
    }

    /// Returns declarations, and the statement that finds all leaves.
    fn start(&self, variables: usize, prologue: &Prologue) -> (String, String) {
        let declared = "  v bytea;\n".to_owned();
        (declared, format!("  v := {};\n", self.found(variables, prologue)))
    }

    /// Returns each tree's output and its expression, of the bytes in `v`.
    pub(super) fn terms(&self, v: &str, precision: Precision) -> Vec<(usize, String)> {
        let of = |(tree, leaves): (usize, &Vec<f64>)| {
            let values = array(leaves.iter().map(|value| number(*value, precision)));
            format!(
                "('[0:{}]={}::{}[])[get_byte({v}, {})]",
                leaves.len() - 1,
                values.trim_start_matches('\''),
                sum_type(precision),
                tree + 4,
            )
        };
        self.outputs.iter().copied().zip(self.leaves.iter().enumerate().map(of)).collect()
    }

    /// The digits of a bin: for each tree the outcomes of its tests of a variable.
    fn line(&self, variable: usize, bins: &Bins, bin: usize) -> String {
        let mut line = String::with_capacity(2 * self.levels.len());
        for levels in &self.levels {
            let mut byte = 0u8;
            for (level, split) in levels.iter().enumerate() {
                if split.variable == variable && bins.holds(split, bin) {
                    byte |= 1 << level;
                }
            }
            let _ = write!(line, "{byte:02X}");
        }
        line
    }

    fn trees_of(&self, output: usize) -> Vec<usize> {
        (0..self.levels.len()).filter(|tree| self.outputs[*tree] == output).collect()
    }

    /// Returns declarations and statements that add trees in a loop, which is ready faster.
    pub(super) fn loops(
        &self,
        variables: usize,
        outputs: usize,
        precision: Precision,
        prologue: &Prologue,
    ) -> (String, String) {
        let (declared, mut out) = self.start(variables, prologue);
        for output in 0..outputs {
            let own = self.trees_of(output);
            if own.is_empty() {
                continue;
            }
            let mut firsts = Vec::new();
            let mut leaves = Vec::new();
            for tree in &own {
                firsts.push(leaves.len() + 1);
                leaves.extend(self.leaves[*tree].iter().map(|value| number(*value, precision)));
            }
            let places = own.iter().map(|tree| tree + 4);
            let _ = writeln!(
                out,
                "  FOR i IN 1..{} LOOP\n    s{output} := s{output} + ({}::{}[])[({}::int4[])[i] + \
                 get_byte(v, ({}::int4[])[i])];\n  END LOOP;",
                own.len(),
                array(leaves),
                sum_type(precision),
                array(firsts),
                array(places),
            );
        }
        (declared, out)
    }

    /// The same with an expression per tree, which is faster over many rows.
    pub(super) fn unrolled(
        &self,
        variables: usize,
        outputs: usize,
        precision: Precision,
        prologue: &Prologue,
    ) -> (String, String) {
        let (declared, mut out) = self.start(variables, prologue);
        let terms = self.terms("v", precision);
        for output in 0..outputs {
            let own: Vec<&str> = terms
                .iter()
                .filter(|(own, _)| *own == output)
                .map(|(_, term)| term.as_str())
                .collect();
            for terms in own.chunks(TREES) {
                let terms = terms.join(" +\n    ");
                let _ = writeln!(out, "  s{output} := s{output} +\n    {terms};");
            }
        }
        (declared, out)
    }
}

/// The bins of a variable: between cuts, or codes and all others; the last one is that of missing values.
struct Bins {
    cuts: Vec<u64>,
    end: usize,
}

impl Bins {
    fn count(&self) -> usize {
        if self.cuts.is_empty() { self.end + 2 } else { self.cuts.len() + 2 }
    }

    /// Returns the expression of a value's bin.
    fn number_of(&self, value: &str) -> String {
        let (end, missing) = (self.end, self.count() - 1);
        if self.cuts.is_empty() {
            return format!(
                "(CASE WHEN {value} IS NULL THEN {missing} WHEN {value} >= 0 AND {value} < {end} \
                 THEN {value}::int4 ELSE {end} END)"
            );
        }
        let cuts = array(self.cuts.iter().map(|cut| number(unordered(*cut), Precision::Double)));
        format!("COALESCE(width_bucket({value}, {cuts}::float8[]), {missing})")
    }

    /// Returns whether a test holds of the values of a bin.
    fn holds(&self, split: &SqlSplit<'_>, bin: usize) -> bool {
        if bin + 1 == self.count() {
            return split.missing_left;
        }
        match split.test {
            Test::Always => true,
            // A bin's values are not below as many cuts as its number.
            Test::Below(cut) => {
                self.cuts.binary_search(&ordered(cut + 0.0)).is_ok_and(|place| place >= bin)
            }
            Test::In(words) => bin < self.end && is_in_set(words, bin as f32),
        }
    }
}

fn same(a: &SqlSplit<'_>, b: &SqlSplit<'_>) -> bool {
    let same_test = match (a.test, b.test) {
        (Test::Below(a), Test::Below(b)) => a.to_bits() == b.to_bits(),
        (Test::In(a), Test::In(b)) => a == b,
        (Test::Always, Test::Always) => true,
        _ => false,
    };
    same_test && a.variable == b.variable && a.missing_left == b.missing_left
}

/// Returns the tests of a symmetric tree from the root on, and its leaves by the outcomes, the root's in the
/// lowest bit.
fn levels<'m>(tree: &SqlTree<'m>) -> Option<(Vec<SqlSplit<'m>>, Vec<f64>)> {
    if tree.depth > MAX_DEPTH {
        return None;
    }
    let (mut levels, mut nodes) = (Vec::new(), vec![0u32]);
    loop {
        let splits: Vec<&SqlSplit<'m>> = nodes
            .iter()
            .filter_map(|id| match tree.nodes.get(*id as usize) {
                Some(SqlNode::Split(split)) => Some(split),
                _ => None,
            })
            .collect();
        let Some(first) = splits.first() else { break };
        if splits.len() != nodes.len() || !splits.iter().all(|split| same(first, split)) {
            return None;
        }
        levels.push(**first);
        // Nodes are in order of their outcomes; the next one's is a higher bit.
        let right = splits.iter().map(|split| split.right);
        nodes = right.chain(splits.iter().map(|split| split.left)).collect();
    }
    let leaves = nodes.iter().map(|id| match tree.nodes.get(*id as usize) {
        Some(SqlNode::Leaf(value)) => Some(*value),
        _ => None,
    });
    Some((levels, leaves.collect::<Option<_>>()?))
}
