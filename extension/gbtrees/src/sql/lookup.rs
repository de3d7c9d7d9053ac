//! Trees as constant arrays that loops walk, three levels at a time: the form that is ready fastest and keeps
//! the least memory, for trees of any shape.
//!
//! A row's variables become one string of bits, with a bit per distinct test and side of missing values. A
//! number's bits are a piece of a constant, found by the number's rank among its cuts; a code's bits are a
//! line of a constant table. Steps of the walk read bits, whatever the tests are.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

use super::codes::{MAX_BITS, too_many};
use super::cuts::{ordered, unordered};
use super::inputs::Prologue;
use super::nested::sum_type;
use super::quote::{array, number};
use super::trees::{Forest, SqlNode, SqlSplit, SqlTree, Test};
use crate::ensemble::{Precision, end_of_set, is_in_set};
use crate::memory::push;
use crate::{Cancel, Result};

/// The tests of a step, as a heap, and where it leads.
const TESTS: usize = 7;
const EXITS: usize = 8;

/// A test with the side of missing values; cuts by their bits, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key<'m> {
    Below { missing_left: bool, cut: u64 },
    Present,
    In { missing_left: bool, words: &'m [u32] },
}

impl<'m> Key<'m> {
    /// Returns the test of a split; `None` if all rows go left.
    pub(super) fn of(split: &SqlSplit<'m>) -> Option<Self> {
        let missing_left = split.missing_left;
        match split.test {
            Test::Below(cut) => Some(Key::Below { missing_left, cut: ordered(cut + 0.0) }),
            Test::Always if missing_left => None,
            Test::Always => Some(Key::Present),
            Test::In(words) => Some(Key::In { missing_left, words }),
        }
    }
}

/// The bits of a row: each test's place, and the expression that makes them.
pub(super) struct Bits<'m> {
    places: HashMap<(usize, Key<'m>), usize>,
    /// Pieces in order.
    pieces: Vec<String>,
}

impl<'m> Bits<'m> {
    pub(super) fn of(
        forest: &Forest<'m>,
        trees: &[&SqlTree<'m>],
        prologue: &Prologue,
    ) -> Result<Self> {
        let mut tests: BTreeMap<(usize, Key<'m>), ()> = BTreeMap::new();
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            if let SqlNode::Split(split) = node
                && let Some(key) = Key::of(split)
            {
                tests.insert((split.variable, key), ());
            }
        }
        let mut bits = Bits { places: HashMap::new(), pieces: Vec::new() };
        let mut end = 0;
        for variable in 0..forest.variables.len() {
            let Some(value) = prologue.variables.get(variable) else { continue };
            let own: Vec<Key<'m>> = tests
                .range((variable, Key::Below { missing_left: false, cut: 0 })..)
                .take_while(|((number, _), ())| *number == variable)
                .map(|((_, key), ())| *key)
                .collect();
            for missing_left in [false, true] {
                let is = |key: &&Key<'m>| matches!(key, Key::Below { missing_left: own, .. } if *own == missing_left);
                let cuts: Vec<Key<'m>> = own.iter().filter(is).copied().collect();
                bits.place(variable, &cuts, &mut end);
                bits.numbers(value, &cuts, missing_left);
            }
            if own.contains(&Key::Present) {
                bits.place(variable, &[Key::Present], &mut end);
                bits.pieces.push(format!("CASE WHEN {value} IS NULL THEN B'0' ELSE B'1' END"));
            }
            let sets: Vec<Key<'m>> =
                own.iter().filter(|key| matches!(key, Key::In { .. })).copied().collect();
            bits.place(variable, &sets, &mut end);
            bits.codes(value, &sets)?;
        }
        Ok(bits)
    }

    /// Returns the bit of a test.
    pub(super) fn place_of(&self, variable: usize, key: Key<'m>) -> Option<usize> {
        self.places.get(&(variable, key)).copied()
    }

    /// Returns the statement that finds a row's bits, as `v`.
    pub(super) fn statement(&self) -> String {
        match self.pieces.as_slice() {
            [] => String::new(),
            pieces => format!("  v := {};\n", pieces.join("\n    || ")),
        }
    }

    fn place(&mut self, variable: usize, keys: &[Key<'m>], end: &mut usize) {
        for key in keys {
            self.places.insert((variable, *key), *end);
            *end += 1;
        }
    }

    /// Ones for the cuts that a number is below, which follow those that it is not below.
    fn numbers(&mut self, value: &str, cuts: &[Key<'m>], missing_left: bool) {
        let numbers: Vec<String> = cuts
            .iter()
            .filter_map(|key| match key {
                Key::Below { cut, .. } => Some(number(unordered(*cut), Precision::Double)),
                _ => None,
            })
            .collect();
        let count = numbers.len();
        if count == 0 {
            return;
        }
        let missing = if missing_left { 0 } else { count };
        self.pieces.push(format!(
            "substring(B'{}{}', {} - COALESCE(width_bucket({value}, {}::float8[]), \
             {missing}), {count})",
            "0".repeat(count),
            "1".repeat(count),
            count + 1,
            array(numbers),
        ));
    }

    /// A line per code, one for all others, and one for missing values.
    fn codes(&mut self, value: &str, sets: &[Key<'m>]) -> Result<()> {
        let ends = sets.iter().map(|key| match key {
            Key::In { words, .. } => end_of_set(words),
            _ => 0,
        });
        let Some(end) = ends.max() else { return Ok(()) };
        if end.saturating_add(2).saturating_mul(sets.len()) > MAX_BITS {
            return Err(too_many());
        }
        let mut table = String::new();
        for code in 0..=end + 1 {
            for set in sets {
                let Key::In { missing_left, words } = set else { continue };
                let holds = match code == end + 1 {
                    true => *missing_left,
                    false => code < end && is_in_set(words, code as f32),
                };
                table.push(if holds { '1' } else { '0' });
            }
        }
        let width = sets.len();
        self.pieces.push(format!(
            "substring(B'{table}', 1 + ({width} * (CASE WHEN {value} IS NULL THEN {} WHEN \
             {value} < 0 OR {value} >= {end} THEN {end} ELSE {value} END)), {width})",
            end + 1
        ));
        Ok(())
    }
}

/// The trees of an output as arrays.
#[derive(Default)]
struct Walk {
    roots: Vec<i64>,
    tests: Vec<[usize; TESTS]>,
    exits: Vec<[i64; EXITS]>,
    leaves: Vec<String>,
    linear: Linear,
}

/// Linear models of leaves: by leaf the constant, and the terms' range.
#[derive(Default)]
struct Linear {
    constants: Vec<String>,
    firsts: Vec<usize>,
    lasts: Vec<usize>,
    features: Vec<usize>,
    coefficients: Vec<String>,
}

impl Walk {
    fn add(
        &mut self,
        tree: &SqlTree<'_>,
        bits: &Bits<'_>,
        precision: Precision,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        cancel.check()?;
        // Steps whose tests and exits are still to be written: the place of the exit, and the node.
        let root = self.node(tree, 0, precision)?;
        push(&mut self.roots, root.unwrap_or(self.tests.len() as i64 + 1))?;
        let mut open = Vec::new();
        if root.is_none() {
            open.push((self.step()?, 0));
        }
        while let Some((step, id)) = open.pop() {
            self.fill(tree, bits, precision, step, id, &mut open)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<usize> {
        push(&mut self.tests, [0; TESTS])?;
        push(&mut self.exits, [0; EXITS])?;
        Ok(self.tests.len() - 1)
    }

    /// Returns the exit that a leaf is, which it adds; `None` for a split.
    fn node(&mut self, tree: &SqlTree<'_>, id: u32, precision: Precision) -> Result<Option<i64>> {
        let value = match tree.nodes.get(id as usize) {
            Some(SqlNode::Split(_)) => return Ok(None),
            Some(SqlNode::Leaf(value)) => {
                self.linear.add(None, *value, precision)?;
                *value
            }
            Some(SqlNode::Linear(linear, value)) => {
                self.linear.add(Some(linear), *value, precision)?;
                *value
            }
            Some(SqlNode::Unused) | None => 0.0,
        };
        push(&mut self.leaves, number(value, precision))?;
        Ok(Some(-(self.leaves.len() as i64)))
    }

    /// Fills a step from the node `root` on.
    fn fill(
        &mut self,
        tree: &SqlTree<'_>,
        bits: &Bits<'_>,
        precision: Precision,
        step: usize,
        root: u32,
        open: &mut Vec<(usize, u32)>,
    ) -> Result<()> {
        // Nodes of the heap by their place; a leaf's is taken by both exits below it.
        let mut heap: [Option<(u32, Option<i64>)>; 2 * TESTS + 1] = [None; 2 * TESTS + 1];
        heap[0] = Some((root, None));
        for place in 0..TESTS {
            let Some((id, exit)) = heap[place] else { continue };
            let children = [2 * place + 1, 2 * place + 2];
            let split = match tree.nodes.get(id as usize) {
                Some(SqlNode::Split(split)) => split,
                _ => {
                    let exit = match exit {
                        Some(exit) => Some(exit),
                        None => self.node(tree, id, precision)?,
                    };
                    children.iter().for_each(|child| heap[*child] = Some((id, exit)));
                    continue;
                }
            };
            let key = Key::of(split);
            let place_of = |key| bits.place_of(split.variable, key);
            self.tests[step][place] = key.and_then(place_of).unwrap_or(0);
            let right = if key.is_some() { split.right } else { split.left };
            for (child, id) in children.into_iter().zip([split.left, right]) {
                // Both children are the same node where all rows go left; then it is walked twice.
                heap[child] = Some((id, None));
            }
        }
        for exit in 0..EXITS {
            let Some((id, known)) = heap[TESTS + exit] else { continue };
            let known = match known {
                Some(known) => Some(known),
                None => self.node(tree, id, precision)?,
            };
            self.exits[step][exit] = match known {
                Some(leaf) => leaf,
                None => {
                    let next = self.step()?;
                    open.push((next, id));
                    next as i64 + 1
                }
            };
        }
        Ok(())
    }
}

impl Linear {
    fn add(
        &mut self,
        linear: Option<&crate::ensemble::LinearLeaf>,
        value: f64,
        precision: Precision,
    ) -> Result<()> {
        let constant = linear.map_or(value, |linear| linear.constant);
        push(&mut self.constants, number(constant, precision))?;
        push(&mut self.firsts, self.features.len() + 1)?;
        for (feature, coefficient) in linear.map_or(&[][..], |linear| &linear.terms) {
            push(&mut self.features, *feature as usize + 1)?;
            push(&mut self.coefficients, number(*coefficient, Precision::Double))?;
        }
        push(&mut self.lasts, self.features.len())
    }
}

/// Returns declarations and statements that add trees to the sums `s0`, `s1` and so on. `factors` is the
/// expression of the array that coefficients of linear leaves multiply, if there are any.
pub(super) fn statements(
    forest: &Forest<'_>,
    trees: Range<usize>,
    outputs: usize,
    precision: Precision,
    prologue: &Prologue,
    factors: Option<&str>,
    cancel: Cancel<'_>,
) -> Result<(String, String)> {
    let trees: Vec<&SqlTree<'_>> = forest.trees.get(trees).unwrap_or_default().iter().collect();
    let bits = Bits::of(forest, &trees, prologue)?;
    let sum_type = sum_type(precision);
    let mut declared = "  v varbit;\n  q int4;\n".to_owned();
    let mut out = bits.statement();
    if let Some(factors) = factors {
        declared += "  x float8[];\n  o float8;\n";
        let _ = writeln!(out, "  x := {factors};");
    }
    for output in 0..outputs {
        let mut walk = Walk::default();
        for tree in trees.iter().filter(|tree| tree.output == output) {
            walk.add(tree, &bits, precision, cancel)?;
        }
        if walk.roots.is_empty() {
            continue;
        }
        let _ = writeln!(out, "  FOREACH q IN ARRAY {}::int4[] LOOP", array(walk.roots.iter()));
        if !walk.tests.is_empty() {
            let _ = writeln!(
                out,
                "    WHILE q > 0 LOOP\n      q := ({}::int4[])[q][{}];\n    END LOOP;",
                table(&walk.exits),
                path(&walk.tests, 0),
            );
        }
        match factors {
            None => {
                let _ = writeln!(
                    out,
                    "    s{output} := s{output} + ({}::{sum_type}[])[- q];",
                    array(walk.leaves.iter())
                );
            }
            Some(_) => walk.linear.write(&mut out, &walk.leaves, output),
        }
        out.push_str("  END LOOP;\n");
    }
    Ok((declared, out))
}

impl Linear {
    fn write(&self, out: &mut String, leaves: &[String], output: usize) {
        let of = |values: String, kind: &str, index: &str| format!("({values}::{kind}[])[{index}]");
        let leaf = "- q";
        let _ = writeln!(
            out,
            "    o := {};\n    FOR i IN {}..{} LOOP\n      IF x[{f}] IS NULL THEN\n        o := \
             {};\n        EXIT;\n      END IF;\n      o := o + ({} * x[{f}]);\n    END LOOP;\n    \
             s{output} := s{output} + o;",
            of(array(self.constants.iter()), "float8", leaf),
            of(array(self.firsts.iter()), "int4", leaf),
            of(array(self.lasts.iter()), "int4", leaf),
            of(array(leaves.iter()), "float8", leaf),
            of(array(self.coefficients.iter()), "float8", "i"),
            f = of(array(self.features.iter()), "int4", "i"),
        );
    }
}

/// Writes a table of numbers.
fn table<const N: usize, T: ToString>(lines: &[[T; N]]) -> String {
    let lines = lines.iter().map(|line| {
        let numbers: Vec<String> = line.iter().map(ToString::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    });
    array(lines)
}

/// Writes the expression of the exit, from a place in the heap on.
fn path(tests: &[[usize; TESTS]], place: usize) -> String {
    if place >= TESTS {
        return (place - TESTS + 1).to_string();
    }
    let own: Vec<usize> = tests.iter().map(|tests| tests[place]).collect();
    format!(
        "CASE WHEN get_bit(v, ({}::int4[])[q]) = 1 THEN {} ELSE {} END",
        array(own),
        path(tests, 2 * place + 1),
        path(tests, 2 * place + 2),
    )
}
