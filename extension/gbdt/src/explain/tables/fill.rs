//! Fills the table of a group: for every combination of its features' states the contributions of all its
//! leaves, by the integral that `paths` computes.
//!
//! A group has at most 8 features, so four points are exact, and 8 lanes hold one number per feature. Lane
//! `i` of a product has `a_i - r_i` for its own feature and `g_j` for every other one `j`.

use super::group::{BITS, Group, State};
use super::trees::{Node, Tree};
use crate::explain::quadrature::Rule;

const POINTS: usize = 4;

/// One number per feature of a group.
pub(super) type Lanes = [f64; BITS];

/// The contributions of a group's features, in their order in the group, per entry.
pub(super) struct Filler {
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
    /// The bits of the questions on the way, and those whose answer must be yes.
    mask: u8,
    yes: u8,
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
    pub(super) fn new() -> Self {
        let rule = Rule::of(POINTS);
        let of =
            |numbers: &[f64]| std::array::from_fn(|at| numbers.get(at).copied().unwrap_or(0.0));
        Filler { points: of(&rule.points), weights: of(&rule.weights), entries: Vec::new() }
    }

    pub(super) fn fill(&mut self, tree: &Tree, node: u32, group: &Group) {
        self.entries.clear();
        self.entries.resize(group.entries, [0.0; BITS]);
        let mut below = [Below { share: 1.0, ..Below::default() }; BITS];
        self.leaves(tree, node, group, &mut below);
    }

    fn leaves(&mut self, tree: &Tree, node: u32, group: &Group, below: &mut [Below; BITS]) {
        match tree.nodes.get(node as usize) {
            None => {}
            Some(Node::Leaf(value)) => self.leaf(*value, group, below),
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
                        mask: before.mask | 1 << bit,
                        yes: before.yes | yes << bit,
                    };
                    self.leaves(tree, *child, group, below);
                }
                below[at] = before;
            }
        }
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
                let takes = |state: &State| match *state {
                    State::Outside => false,
                    State::Answers(answers) => !below.never && answers & below.mask == below.yes,
                };
                Factor { involved, lanes, taken: feature.states.iter().map(takes).collect() }
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
    std::array::from_fn(|q| std::array::from_fn(|lane| product[q][lane] * factor[q][lane]))
}

fn sum(product: &[Lanes; POINTS]) -> Lanes {
    std::array::from_fn(|lane| product.iter().map(|lanes| lanes[lane]).sum())
}

fn add(entry: &mut Lanes, more: &Lanes) {
    entry.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
