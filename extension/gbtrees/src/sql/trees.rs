//! A model's trees in the form that SQL tests: `x < cut` in double precision, or a code in a set.
//!
//! Each tree adds to one output, so that a leaf is one number; a leaf vector becomes a tree per output.
//! Missing values are NULL, with a side at each split. A variable is what splits test of a feature: its
//! number, the number with zeros missing, or a code.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::codes::Codes;
use super::cuts::{cut, ordered, reals_across};
use crate::ensemble::{
    Comparison, Ensemble, LinearLeaf, MissingRule, NODES_PER_CHECK, Node, Precision, Split,
    SplitCondition, Tree,
};
use crate::memory::push;
use crate::{Cancel, Result};

/// The property of a feature that splits test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Its number; for a feature with categories, the code as a number.
    Number,
    /// Its number, missing where it counts as zero.
    NonZero,
    /// The code in sets, by truncation or by rank.
    Code,
}

/// A variable of the model's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variable {
    pub(super) feature: usize,
    pub(super) kind: Kind,
}

/// The trees in order of summation.
pub(super) struct Forest<'m> {
    pub(super) trees: Vec<SqlTree<'m>>,
    pub(super) variables: Vec<Variable>,
}

/// A tree; its node ids are the model's.
pub(super) struct SqlTree<'m> {
    pub(super) output: usize,
    pub(super) depth: u32,
    pub(super) nodes: Vec<SqlNode<'m>>,
}

pub(super) enum SqlNode<'m> {
    Leaf(f64),
    /// A linear model, and the value where one of its features is missing.
    Linear(&'m LinearLeaf, f64),
    Split(SqlSplit<'m>),
    Unused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SqlSplit<'m> {
    pub(super) variable: usize,
    pub(super) test: Test<'m>,
    pub(super) missing_left: bool,
    pub(super) left: u32,
    pub(super) right: u32,
}

/// The test of a value that is not missing; it goes left if the test holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test<'m> {
    Below(f64),
    /// Holds for every value.
    Always,
    /// The code is in the set of these words.
    In(&'m [u32]),
}

impl<'m> Forest<'m> {
    pub(super) fn of(model: &'m Ensemble, codes: &'m Codes, cancel: Cancel<'_>) -> Result<Self> {
        let mut forest = Forest { trees: Vec::new(), variables: Vec::new() };
        let mut numbers = HashMap::new();
        for (number, tree) in model.trees().iter().enumerate() {
            for output in tree.output().range(model.num_outputs()) {
                let nodes = forest.nodes(model, codes, number, output, &mut numbers, cancel)?;
                push(&mut forest.trees, SqlTree { output, depth: tree.depth(), nodes })?;
            }
        }
        Ok(forest)
    }

    fn nodes(
        &mut self,
        model: &'m Ensemble,
        codes: &'m Codes,
        tree_number: usize,
        output: usize,
        numbers: &mut HashMap<Variable, usize>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<SqlNode<'m>>> {
        let tree = &model.trees()[tree_number];
        let mut nodes = Vec::new();
        nodes.try_reserve_exact(tree.nodes().len())?;
        for (id, node) in tree.nodes().iter().enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            nodes.push(match node {
                Node::Deleted => SqlNode::Unused,
                Node::Leaf { .. } | Node::LeafVector { .. } => leaf(model, tree, id, output)?,
                Node::Split(split) => {
                    let (kind, test, missing_left) = condition(model, split, |set| {
                        codes.words((tree_number, id), &tree.category_sets()[set as usize])
                    });
                    let [left, right] = sides(split);
                    let variable = Variable { feature: split.feature as usize, kind };
                    let next = self.variables.len();
                    let number = *numbers.entry(variable).or_insert(next);
                    if number == next {
                        push(&mut self.variables, variable)?;
                    }
                    SqlNode::Split(SqlSplit { variable: number, test, missing_left, left, right })
                }
            });
        }
        Ok(nodes)
    }

    /// Returns the features to which NaN, which is greater than all numbers, is not what NULL is in some test.
    pub(super) fn tells_nan(&self) -> HashSet<usize> {
        let nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        let telling = nodes.filter_map(|node| match node {
            SqlNode::Split(split) => {
                let tells = match split.test {
                    Test::Below(_) => split.missing_left,
                    Test::Always => !split.missing_left,
                    Test::In(_) => true,
                };
                self.variables.get(split.variable).filter(|_| tells)
            }
            _ => None,
        });
        telling.map(|variable| variable.feature).collect()
    }

    /// Returns by feature the reals that splits tell from their decimals, in order; `None` where they test codes, or if
    /// there are too many.
    pub(super) fn reals_apart(&self, features: usize) -> Vec<Option<Vec<f32>>> {
        let mut all: Vec<Option<BTreeMap<u64, f32>>> = vec![Some(BTreeMap::new()); features];
        let mut add = |feature: usize, cut: f64| {
            if let Some(Some(own)) = all.get_mut(feature) {
                own.extend(reals_across(cut).map(|real| (ordered(real.into()), real)));
            }
        };
        for variable in self.variables.iter().filter(|own| own.kind == Kind::NonZero) {
            let ends = non_zero_ends(Precision::Double);
            ends.into_iter().flatten().for_each(|end| add(variable.feature, end));
        }
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            if let SqlNode::Split(split) = node
                && let Test::Below(cut) = split.test
                && let Some(variable) = self.variables.get(split.variable)
            {
                add(variable.feature, cut);
            }
        }
        for variable in self.variables.iter().filter(|own| own.kind == Kind::Code) {
            all[variable.feature] = None;
        }
        let few = |own: Option<BTreeMap<u64, f32>>| own.filter(|own| own.len() <= MAX_REALS);
        all.into_iter().map(|own| few(own).map(|own| own.into_values().collect())).collect()
    }

    /// Returns the number of nodes that a row's walk may reach.
    pub(super) fn num_nodes(&self) -> usize {
        let used = |tree: &SqlTree<'_>| {
            tree.nodes.iter().filter(|node| !matches!(node, SqlNode::Unused)).count()
        };
        self.trees.iter().map(used).sum()
    }

    /// Returns the number of splits on a tree's longest path.
    pub(super) fn depth(&self) -> u32 {
        self.trees.iter().map(|tree| tree.depth).max().unwrap_or(0)
    }
}

/// Reals in a list, which PostgreSQL 13 searches from its start.
const MAX_REALS: usize = 256;

/// Returns the cuts around the numbers that count as zero.
pub(super) fn non_zero_ends(precision: Precision) -> [Option<f64>; 2] {
    let zero = f64::from(MissingRule::ZERO);
    [cut(precision, Comparison::Less, -zero), cut(precision, Comparison::LessOrEqual, zero)]
}

fn leaf<'m>(model: &Ensemble, tree: &'m Tree, id: usize, output: usize) -> Result<SqlNode<'m>> {
    let value = model.leaf_value(tree, id as u32, output)?;
    Ok(match tree.linear_leaf(id as u32) {
        Some(linear) if !linear.terms.is_empty() => SqlNode::Linear(linear, value),
        Some(linear) => SqlNode::Leaf(linear.constant),
        None => SqlNode::Leaf(value),
    })
}

fn condition<'m>(
    model: &Ensemble,
    split: &Split,
    words_of: impl Fn(u32) -> &'m [u32],
) -> (Kind, Test<'m>, bool) {
    match split.condition {
        SplitCondition::Compare { comparison, threshold, missing } => {
            let test = match cut(model.value_precision(), comparison, threshold) {
                Some(cut) => Test::Below(cut),
                None => Test::Always,
            };
            match missing {
                MissingRule::Nan => (Kind::Number, test, split.default_left),
                MissingRule::Zero => (Kind::NonZero, test, split.default_left),
                MissingRule::None => (Kind::Number, test, comparison.holds(0.0, threshold)),
            }
        }
        SplitCondition::InSet { set, members_left } => {
            (Kind::Code, Test::In(words_of(set)), split.default_left == members_left)
        }
    }
}

/// Returns the children, first the one where the test holds.
fn sides(split: &Split) -> [u32; 2] {
    match split.condition {
        SplitCondition::InSet { members_left: false, .. } => [split.right, split.left],
        _ => [split.left, split.right],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Shape, model};

    /// A number that is never above infinity goes left, and a missing value where the split says.
    #[test]
    fn a_test_that_always_holds_tells_nan_if_missing_values_go_right() {
        let found = [true, false].map(|default_left| {
            let mut model = model(1, Shape::of(1, 1, 1, 1));
            let (comparison, missing) = (Comparison::LessOrEqual, MissingRule::Nan);
            let condition =
                SplitCondition::Compare { comparison, threshold: f64::INFINITY, missing };
            let (gain, cover) = (1.0, 2.0);
            let split =
                Split { feature: 0, condition, default_left, left: 1, right: 2, gain, cover };
            let leaf = Node::Leaf { value: 0.5, cover: 1.0 };
            model.trees = vec![Tree::of(vec![Node::Split(split), leaf, leaf], 1)];
            let codes = Codes::of(&model, Cancel::never()).unwrap();
            let forest = Forest::of(&model, &codes, Cancel::never()).unwrap();
            forest.tells_nan().contains(&0)
        });
        assert_eq!(found, [false, true]);
    }
}
