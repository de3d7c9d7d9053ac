//! Fills the table of a group: for every combination of its features' states the contributions of all its
//! leaves, by the integral that `paths` computes; or, after Saabas, the changes of the mean on the way to
//! the one leaf that the row reaches, if it is among them.
//!
//! A group has at most 8 features, so four points are exact, and 8 lanes hold one number per feature. Lane
//! `i` of a product has `a_i - r_i` for its own feature and `g_j` for every other one `j`.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]

use super::group::{BITS, Group, State};
use super::trees::{Node, Tree};
use crate::explain::ContributionKind;
use crate::explain::quadrature::Rule;

const POINTS: usize = 4;

/// One number per feature of a group.
pub(super) type Lanes = [f64; BITS];

/// The contributions of a group's features, in their order in the group, per entry.
pub(super) struct Filler {
    kind: ContributionKind,
    points: [f64; POINTS],
    weights: [f64; POINTS],
    pub(super) entries: Vec<Lanes>,
}

/// What the path from the group's node to a leaf says of a feature.
#[derive(Clone, Copy, Default)]
struct Below {
    asked: bool,
    /// Whether the way answers one question in both ways, so that no row takes it.
    never: bool,
    share: f64,
    change: f64,
    /// The bits of the questions on the way, and those whose answer must be yes.
    mask: u8,
    yes: u8,
}

impl Below {
    /// By state, whether a row takes the way.
    fn taken(&self, states: &[State]) -> Vec<bool> {
        let takes = |state: &State| match *state {
            State::Outside => false,
            State::Answers(answers) => !self.never && answers & self.mask == self.yes,
        };
        states.iter().map(takes).collect()
    }
}

/// What a leaf says of a feature, by whether the row takes its path.
struct Factor {
    /// Whether the feature is on the path of the leaf at all.
    involved: bool,
    lanes: [[Lanes; POINTS]; 2],
    /// By state.
    taken: Vec<bool>,
}

impl Filler {
    pub(super) fn new(kind: ContributionKind) -> Self {
        let rule = Rule::of(POINTS);
        let of =
            |numbers: &[f64]| std::array::from_fn(|at| numbers.get(at).copied().unwrap_or(0.0));
        Filler { kind, points: of(&rule.points), weights: of(&rule.weights), entries: Vec::new() }
    }

    pub(super) fn fill(&mut self, tree: &Tree, node: u32, group: &Group) {
        self.entries.clear();
        self.entries.resize(group.entries, [0.0; BITS]);
        let mut below = [Below { share: 1.0, ..Below::default() }; BITS];
        self.leaves(tree, node, group, &mut below);
    }

    fn leaves(&mut self, tree: &Tree, node: u32, group: &Group, below: &mut [Below; BITS]) {
        match tree.nodes.get(node as usize) {
            None | Some(Node::Covered) => {}
            Some(Node::Leaf(value)) => match self.kind {
                ContributionKind::Exact => self.leaf(*value, group, below),
                ContributionKind::Approximate => self.changes(group, below),
            },
            Some(Node::Split { question, children, shares }) => {
                let own = group.features.iter().enumerate();
                let found = own.clone().find_map(|(at, own)| Some((at, own.bit_of(*question)?)));
                let Some((at, bit)) = found else { return };
                let before = below[at];
                for (yes, (child, share)) in [1, 0].into_iter().zip(children.iter().zip(shares)) {
                    let asked_before = before.mask >> bit & 1 == 1;
                    below[at] = Below {
                        asked: true,
                        never: before.never || asked_before && before.yes >> bit & 1 != yes,
                        share: before.share * share,
                        change: before.change + tree.change(node, *child),
                        mask: before.mask | 1 << bit,
                        yes: before.yes | yes << bit,
                    };
                    self.leaves(tree, *child, group, below);
                }
                below[at] = before;
            }
        }
    }

    /// Adds the changes of the mean on the path to a leaf to the entries of rows that take it.
    fn changes(&mut self, group: &Group, below: &[Below; BITS]) {
        let mut lanes = [0.0; BITS];
        let own = group.features.iter().zip(below);
        for (lane, (feature, below)) in lanes.iter_mut().zip(own.clone()) {
            *lane = feature.change + below.change;
        }
        let taken: Vec<Vec<bool>> =
            own.map(|(feature, below)| below.taken(&feature.states)).collect();
        add_where_taken(&taken, &lanes, 0, &mut self.entries);
    }

    /// Adds a leaf to all entries.
    fn leaf(&mut self, value: f64, group: &Group, below: &[Below; BITS]) {
        let factors: Vec<Factor> = group
            .features
            .iter()
            .zip(below)
            .enumerate()
            .map(|(lane, (feature, below))| {
                let involved = below.asked || feature.states.first() == Some(&State::Outside);
                let share = feature.share * below.share;
                let lanes = [0.0, 1.0].map(|taken| {
                    self.points.map(|q| {
                        let factor = if taken == 1.0 {
                            share + q * (1.0 - share)
                        } else {
                            share * (1.0 - q)
                        };
                        let mut lanes = [factor; BITS];
                        lanes[lane] = taken - share;
                        lanes
                    })
                });
                Factor { involved, lanes, taken: below.taken(&feature.states) }
            })
            .collect();
        let mut start = [[0.0; BITS]; POINTS];
        for (point, weight) in start.iter_mut().zip(self.weights) {
            for (lane, factor) in point.iter_mut().zip(&factors) {
                *lane = if factor.involved { value * weight } else { 0.0 };
            }
        }
        multiply(&factors, &start, 0, &mut self.entries);
    }
}

/// Adds to the entries, from `entry` on, that take the path by every feature.
fn add_where_taken(taken: &[Vec<bool>], lanes: &Lanes, entry: usize, entries: &mut [Lanes]) {
    let Some((states, rest)) = taken.split_first() else {
        if let Some(entry) = entries.get_mut(entry) {
            add(entry, lanes);
        }
        return;
    };
    for state in (0..states.len()).filter(|state| states[*state]) {
        add_where_taken(rest, lanes, entry * states.len() + state, entries);
    }
}

/// Adds the products of all factors from here on, by the states of their features, to the entries from
/// `entry` on.
fn multiply(factors: &[Factor], product: &[Lanes; POINTS], entry: usize, entries: &mut [Lanes]) {
    let Some((factor, rest)) = factors.split_first() else {
        if let Some(entry) = entries.get_mut(entry) {
            add(entry, &sum(product));
        }
        return;
    };
    let states = factor.taken.len();
    let both = [0, 1]
        .map(|taken| if factor.involved { times(product, &factor.lanes[taken]) } else { *product });
    if rest.is_empty() {
        let sums = both.map(|product| sum(&product));
        let entries = entries.get_mut(entry * states..(entry + 1) * states);
        for (entry, taken) in entries.into_iter().flatten().zip(&factor.taken) {
            add(entry, &sums[usize::from(*taken)]);
        }
        return;
    }
    for (state, taken) in factor.taken.iter().enumerate() {
        multiply(rest, &both[usize::from(*taken)], entry * states + state, entries);
    }
}

fn times(product: &[Lanes; POINTS], factor: &[Lanes; POINTS]) -> [Lanes; POINTS] {
    let mut times = *product;
    for q in 0..POINTS {
        for lane in 0..BITS {
            times[q][lane] *= factor[q][lane];
        }
    }
    times
}

fn sum(product: &[Lanes; POINTS]) -> Lanes {
    let mut sum = product[0];
    for lanes in &product[1..] {
        for lane in 0..BITS {
            sum[lane] += lanes[lane];
        }
    }
    sum
}

fn add(entry: &mut Lanes, more: &Lanes) {
    for lane in 0..BITS {
        entry[lane] += more[lane];
    }
}
