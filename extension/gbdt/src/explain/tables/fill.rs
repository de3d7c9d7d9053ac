//! Fills the table of a group: for every combination of its features' states the contributions of all its
//! leaves, or their interactions, by the integral that `paths` computes.
//!
//! A group has at most 8 features, so four points are exact, and 8 lanes hold one number per feature, or 28
//! one per pair. A lane of a product has `a_i - r_i` for its own features and `g_j` for every other one `j`.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]

use super::group::{BITS, Group, State};
use super::layout::pair_lane;
use super::trees::{Node, Tree};
use crate::explain::quadrature::{POINTS, Rule};
use crate::verified::sure;

/// The numbers of a group's features, in their order in the group, or of its pairs, per entry.
pub(super) struct Filler<const LANES: usize> {
    /// By lane its own features; none where there are not so many.
    own: [[usize; 2]; LANES],
    /// What a leaf's value is multiplied by.
    factor: f64,
    points: [f64; POINTS],
    weights: [f64; POINTS],
    pub(super) entries: Vec<[f64; LANES]>,
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
struct Factor<const LANES: usize> {
    /// Whether the feature is on the path of the leaf at all.
    involved: bool,
    lanes: [[[f64; LANES]; POINTS]; 2],
    /// By state.
    taken: Vec<bool>,
}

impl Filler<BITS> {
    pub(super) fn features() -> Self {
        Filler::new(std::array::from_fn(|lane| [lane; 2]), 1.0)
    }
}

impl Filler<32> {
    pub(super) fn pairs() -> Self {
        let mut own = [[BITS; 2]; 32];
        for high in 0..BITS {
            for low in 0..high {
                own[pair_lane(low, high)] = [low, high];
            }
        }
        // A pair shares what it has between its two sides.
        Filler::new(own, 0.5)
    }
}

impl<const LANES: usize> Filler<LANES> {
    fn new(own: [[usize; 2]; LANES], factor: f64) -> Self {
        let rule = Rule::of(POINTS);
        let of = |numbers: &[f64]| std::array::from_fn(|at| numbers[at]);
        let (points, weights) = (of(&rule.points), of(&rule.weights));
        Filler { own, factor, points, weights, entries: Vec::new() }
    }

    pub(super) fn fill(&mut self, tree: &Tree, node: u32, group: &Group) {
        self.entries.clear();
        self.entries.resize(group.entries, [0.0; LANES]);
        let mut below = [Below { share: 1.0, ..Below::default() }; BITS];
        self.leaves(tree, node, group, &mut below);
    }

    fn leaves(&mut self, tree: &Tree, node: u32, group: &Group, below: &mut [Below; BITS]) {
        match &tree.nodes[node as usize] {
            Node::Covered => {}
            Node::Leaf(value) => self.leaf(*value, group, below),
            Node::Split { question, children, shares } => {
                let mut own = group.features.iter().enumerate();
                let found = own.find_map(|(at, own)| Some((at, own.bit_of(*question)?)));
                let (at, bit) = sure(found, "a group has the questions below its node");
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
        let factors: Vec<Factor<LANES>> = group
            .features
            .iter()
            .zip(below)
            .enumerate()
            .map(|(at, (feature, below))| {
                let involved = below.asked || feature.states.first() == Some(&State::Outside);
                let share = feature.share * below.share;
                let lanes = [0.0, 1.0].map(|taken| {
                    self.points.map(|q| {
                        let factor = if taken == 1.0 {
                            share + q * (1.0 - share)
                        } else {
                            share * (1.0 - q)
                        };
                        let own = |own: [usize; 2]| own.contains(&at);
                        self.own.map(|lane| if own(lane) { taken - share } else { factor })
                    })
                });
                Factor { involved, lanes, taken: below.taken(&feature.states) }
            })
            .collect();
        let mut start = [[0.0; LANES]; POINTS];
        // A lane may be of a pair of which the group has not both features.
        let involved = |at: &usize| factors.get(*at).is_some_and(|factor| factor.involved);
        for (point, weight) in start.iter_mut().zip(self.weights) {
            for (lane, own) in point.iter_mut().zip(&self.own) {
                if own.iter().all(involved) {
                    *lane = value * weight * self.factor;
                }
            }
        }
        multiply(&factors, &start, 0, &mut self.entries);
    }
}

/// Adds the products of all factors from here on, by the states of their features, to the entries from
/// `entry` on.
fn multiply<const LANES: usize>(
    factors: &[Factor<LANES>],
    product: &[[f64; LANES]; POINTS],
    entry: usize,
    entries: &mut [[f64; LANES]],
) {
    let Some((factor, rest)) = factors.split_first() else {
        add(&mut entries[entry], &sum(product));
        return;
    };
    let states = factor.taken.len();
    let both = [0, 1]
        .map(|taken| if factor.involved { times(product, &factor.lanes[taken]) } else { *product });
    if rest.is_empty() {
        let sums = both.map(|product| sum(&product));
        let entries = &mut entries[entry * states..(entry + 1) * states];
        for (entry, taken) in entries.iter_mut().zip(&factor.taken) {
            add(entry, &sums[usize::from(*taken)]);
        }
        return;
    }
    for (state, taken) in factor.taken.iter().enumerate() {
        multiply(rest, &both[usize::from(*taken)], entry * states + state, entries);
    }
}

fn times<const LANES: usize>(
    product: &[[f64; LANES]; POINTS],
    factor: &[[f64; LANES]; POINTS],
) -> [[f64; LANES]; POINTS] {
    let mut times = *product;
    for q in 0..POINTS {
        for lane in 0..LANES {
            times[q][lane] *= factor[q][lane];
        }
    }
    times
}

fn sum<const LANES: usize>(product: &[[f64; LANES]; POINTS]) -> [f64; LANES] {
    let mut sum = product[0];
    for lanes in &product[1..] {
        for lane in 0..LANES {
            sum[lane] += lanes[lane];
        }
    }
    sum
}

fn add<const LANES: usize>(entry: &mut [f64; LANES], more: &[f64; LANES]) {
    for lane in 0..LANES {
        entry[lane] += more[lane];
    }
}
