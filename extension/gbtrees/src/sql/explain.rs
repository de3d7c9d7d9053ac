//! One row's SHAP values, leaf by leaf: [`crate::explain`] in double precision.
//!
//! A leaf's features are the players of a game. A feature's value is an integral over t, from 0 to 1, of
//! `(taken - share) * product`, where the product is that of `t * taken + (1 - t) * share` of the others.
//! Gauss-Legendre quadrature solves it, with half as many points as there are features. The loops cost some
//! microseconds per leaf, so that only small models have them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::inputs::{Inputs, Prologue};
use super::lookup::{Bits, Key};
use super::quote::{array, literal, number};
use super::trees::{Forest, SqlNode, SqlTree};
use crate::ensemble::{Ensemble, Node, Precision, Tree, cover_share};
use crate::quadrature::{Rule, exact_points};
use crate::{Cancel, Result};

/// Statements of the loops, of which some 25 take a microsecond.
const MAX_STATEMENTS: usize = 700_000;
/// Products of shares below which PostgreSQL's might underflow.
const TINY: f64 = 1e-200;

/// Leaves whose integrals take the same number of points.
#[derive(Default)]
struct Leaves {
    values: Vec<f64>,
    /// The first player of each leaf; the next one's is the end.
    starts: Vec<usize>,
    features: Vec<usize>,
    shares: Vec<f64>,
    /// Each player's first test, as its place and outcome, and the range of its others.
    first: Vec<(usize, bool)>,
    others: Vec<(usize, usize)>,
    tests: Vec<(usize, bool)>,
}

/// A feature on the path to a leaf.
#[derive(Clone)]
struct Player {
    feature: usize,
    share: f64,
    tests: Vec<(usize, bool)>,
}

/// The leaves by the points that they take, and the bias.
struct Explained {
    leaves: BTreeMap<usize, Leaves>,
    bias: f64,
    statements: usize,
}

/// Returns declarations and statements, which end with the result, an object; or the reason why there are none.
pub(super) fn statements(
    model: &Ensemble,
    inputs: &Inputs<'_>,
    forest: &Forest<'_>,
    prologue: &Prologue,
    cancel: Cancel<'_>,
) -> Result<std::result::Result<(String, String), &'static str>> {
    if model.num_outputs() != 1 {
        return Ok(Err("there are several outputs"));
    }
    if model.is_linear() || model.has_linear_leaves() {
        return Ok(Err("there are linear models in it"));
    }
    if !has_covers(model) {
        return Ok(Err("the file does not say how many rows reached each node"));
    }
    let trees: Vec<&SqlTree<'_>> = forest.trees.iter().collect();
    let bits = Bits::of(forest, &trees, prologue)?;
    let scale = if model.parts.scaling.in_margin {
        model.parts.scaling.scale / model.parts.scaling.divisor
    } else {
        1.0
    };
    let mut all = Explained { leaves: BTreeMap::new(), bias: 0.0, statements: 0 };
    for (tree, own) in forest.trees.iter().zip(model.trees()) {
        cancel.check()?;
        if let Err(reason) = all.add(forest, tree, own, &bits, scale) {
            return Ok(Err(reason));
        }
    }
    let base = model.base_margin().first().copied().map_or(0.0, f64::from);
    all.bias += base * scale;
    if model.parts.scaling.in_margin {
        all.bias += model.parts.scaling.bias.first().copied().unwrap_or(0.0);
    }
    Ok(Ok(all.write(inputs, &bits)))
}

fn has_covers(model: &Ensemble) -> bool {
    let nodes = || model.trees().iter().flat_map(Tree::nodes);
    let mut splits = nodes().filter_map(|node| node.split()).peekable();
    let has_splits = splits.peek().is_some();
    nodes().map(Node::cover).all(|cover| cover.is_finite() && cover >= 0.0)
        && (!has_splits || splits.any(|split| split.cover > 0.0))
}

impl Explained {
    fn add(
        &mut self,
        forest: &Forest<'_>,
        tree: &SqlTree<'_>,
        own: &Tree,
        bits: &Bits<'_>,
        scale: f64,
    ) -> std::result::Result<(), &'static str> {
        let cover = |id: u32| own.nodes().get(id as usize).map_or(0.0, Node::cover);
        let mut open = vec![(0u32, Vec::<Player>::new())];
        while let Some((id, players)) = open.pop() {
            let split = match tree.nodes.get(id as usize) {
                Some(SqlNode::Split(split)) => split,
                Some(SqlNode::Leaf(value)) => {
                    self.leaf(*value * scale, &players)?;
                    continue;
                }
                _ => continue,
            };
            let key = Key::of(split).ok_or("there are splits that all rows pass")?;
            let feature = forest.variables.get(split.variable).map_or(0, |own| own.feature);
            let Some(place) = bits.place_of(split.variable, key) else { continue };
            for (child, holds) in [(split.left, true), (split.right, false)] {
                let mut players = players.clone();
                let share = cover_share(cover(child), cover(id));
                match players.iter_mut().find(|player| player.feature == feature) {
                    Some(player) => {
                        player.share *= share;
                        player.tests.push((place, holds));
                    }
                    None => players.push(Player { feature, share, tests: vec![(place, holds)] }),
                }
                open.push((child, players));
            }
        }
        Ok(())
    }

    fn leaf(&mut self, value: f64, players: &[Player]) -> std::result::Result<(), &'static str> {
        let product: f64 = players.iter().map(|player| player.share).product();
        if product < TINY {
            return Err("hardly any row reached some of its leaves");
        }
        self.bias += value * product;
        let points = exact_points(players.len());
        self.statements += 5 + points + players.len() * (9 + points);
        if self.statements > MAX_STATEMENTS {
            return Err("it would take too long");
        }
        let leaves = self.leaves.entry(points).or_default();
        leaves.values.push(value);
        leaves.starts.push(leaves.features.len() + 1);
        for player in players {
            leaves.features.push(player.feature + 1);
            leaves.shares.push(player.share);
            let start = leaves.tests.len() + 1;
            leaves.tests.extend(player.tests.iter().skip(1));
            leaves.others.push((start, leaves.tests.len()));
            leaves.first.extend(player.tests.first());
        }
        Ok(())
    }

    fn write(&self, inputs: &Inputs<'_>, bits: &Bits<'_>) -> (String, String) {
        let count = inputs.arguments.len();
        let most = self.leaves.keys().last().copied().unwrap_or(0);
        let mut declared = format!(
            "  v varbit;\n  s float8[] := {}::float8[];\n  k float8[];\n  a int4;\n  b int4;\n  n \
             int4;\n  o float8;\n  z float8;\n",
            array(vec!["0"; count])
        );
        for point in 0..most {
            let _ = writeln!(declared, "  p{point} float8;");
        }
        let mut out = bits.statement();
        self.leaves.iter().for_each(|(points, leaves)| leaves.write(&mut out, *points));
        let names = inputs.arguments.iter().map(|argument| literal(&argument.feature));
        let names: Vec<String> = names.chain([literal("(bias)")]).collect();
        let _ = writeln!(
            out,
            "  RETURN (SELECT jsonb_object_agg(q.k, q.v) FROM ROWS FROM \
             (unnest(ARRAY[{}]::text[]), unnest(array_append(s, '{}'::float8))) AS q(k, v));",
            names.join(", "),
            number(self.bias, Precision::Double)
        );
        (declared, out)
    }
}

impl Leaves {
    fn write(&self, out: &mut String, points: usize) {
        let rule = Rule::of(points);
        let double = |value: f64| number(value, Precision::Double);
        let of = |values: String, index: &str| format!("({values}::int4[])[{index}]");
        let whole = |values: &mut dyn Iterator<Item = usize>, index: &str| of(array(values), index);
        let real = |values: &[f64], index: &str| {
            format!("({}::float8[])[{index}]", array(values.iter().copied().map(double)))
        };
        let bit = |tests: &[(usize, bool)], index: &str| {
            let places = whole(&mut tests.iter().map(|(place, _)| *place), index);
            let holds = whole(&mut tests.iter().map(|(_, holds)| usize::from(*holds)), index);
            [format!("get_bit(v, {places})"), holds]
        };
        let ends = self.starts.iter().skip(1).map(|start| start - 1);
        let ends: Vec<usize> = ends.chain([self.features.len()]).collect();
        // The part of a player in the product at a point.
        let part =
            |point: f64| format!("((o * '{}') + (z * '{}'))", double(point), double(1.0 - point));
        let place = "e - a + 1";
        let _ = writeln!(
            out,
            "  FOR l IN 1..{} LOOP\n    a := {};\n    b := {};\n    z := {};",
            self.values.len(),
            whole(&mut self.starts.iter().copied(), "l"),
            whole(&mut ends.iter().copied(), "l"),
            real(&self.values, "l"),
        );
        for (point, weight) in rule.weights.iter().enumerate() {
            let _ = writeln!(out, "    p{point} := z * '{}';", double(*weight));
        }
        let [first, expected] = bit(&self.first, "e");
        let share = real(&self.shares, "e");
        let _ = writeln!(
            out,
            "    FOR e IN a..b LOOP\n      z := {share};\n      o := CASE WHEN {first} = \
             {expected} THEN 1 ELSE 0 END;"
        );
        if !self.tests.is_empty() {
            let [other, expected] = bit(&self.tests, "x");
            let _ = writeln!(
                out,
                "      FOR x IN {}..{} LOOP\n        IF {other} <> {expected} THEN\n          o := \
                 0;\n          EXIT;\n        END IF;\n      END LOOP;",
                whole(&mut self.others.iter().map(|(start, _)| *start), "e"),
                whole(&mut self.others.iter().map(|(_, end)| *end), "e"),
            );
        }
        let _ = writeln!(out, "      k[{place}] := o;");
        for (point, t) in rule.points.iter().enumerate() {
            let _ = writeln!(out, "      p{point} := p{point} * {};", part(*t));
        }
        let parts =
            rule.points.iter().enumerate().map(|(point, t)| format!("(p{point} / {})", part(*t)));
        let _ = writeln!(
            out,
            "    END LOOP;\n    FOR e IN a..b LOOP\n      z := {share};\n      o := k[{place}];\n      \
             n := {};\n      s[n] := s[n] + ((o - z) * ({}));\n    END LOOP;\n  END LOOP;",
            whole(&mut self.features.iter().copied(), "e"),
            parts.collect::<Vec<_>>().join(" + ")
        );
    }
}
