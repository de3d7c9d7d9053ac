//! Groups: the leaves below one node, with the path to it, as one table.
//!
//! The contributions of all these leaves together depend on a row by one *state* per feature: whether it
//! takes the path to the node, and how it answers the questions below. Repeated questions about a feature
//! have few patterns of answers: `m` thresholds have `m + 1`, and one where the value is missing. A code of
//! at most 8 bits, of the answers and of the path's conjunctions, is looked up for the product of states.

use super::literals::{Literal, Literals, Source, TRUE};
use super::trees::{Node, Question, Tree};
use crate::forest::key::default_slot;

/// Bits of a code, and so most features of a group.
pub(super) const BITS: usize = 8;

/// What the path from the root says of a feature.
#[derive(Clone, Debug)]
pub(super) struct PathFeature {
    pub(super) feature: u32,
    /// The product of its splits' shares.
    pub(super) share: f64,
    /// The least key that the row's is below, and the greatest that it is not below.
    upper: Option<u32>,
    lower: Option<u32>,
    takes_missing: bool,
    /// The conjunction of its sets.
    sets: Literal,
}

impl PathFeature {
    fn new(feature: u32) -> Self {
        let (upper, lower, takes_missing, sets) = (None, None, true, TRUE);
        PathFeature { feature, share: 1.0, upper, lower, takes_missing, sets }
    }

    fn add(&mut self, edge: Edge, literals: &mut Literals) {
        let Edge { question, yes, share } = edge;
        self.share *= share;
        match question {
            Question::Below { slot, key } => {
                let default_left = slot.is_multiple_of(2);
                self.takes_missing &= default_left == yes;
                if yes {
                    self.upper = Some(self.upper.map_or(key, |upper| upper.min(key)));
                } else {
                    self.lower = Some(self.lower.map_or(key, |lower| lower.max(key)));
                }
            }
            Question::NotIn { .. } => {
                let literal = literals.of(Source::Asked(question)) | u32::from(!yes);
                self.sets = literals.both(self.sets, literal);
            }
        }
    }

    /// Two literals that hold together where the row takes the path.
    fn conjunction(&self, literals: &mut Literals) -> [Literal; 2] {
        let slot = |default_left| default_slot(self.feature as usize, default_left) as u32;
        let upper = self.upper.map_or(TRUE, |key| {
            let slot = slot(self.takes_missing);
            literals.of(Source::Asked(Question::Below { slot, key }))
        });
        let lower = self.lower.map_or(TRUE, |key| {
            let slot = slot(!self.takes_missing);
            literals.of(Source::Asked(Question::Below { slot, key })) | 1
        });
        match (upper, lower) {
            (TRUE, other) | (other, TRUE) => [other, self.sets],
            _ if self.sets == TRUE => [upper, lower],
            _ => [literals.both(upper, lower), self.sets],
        }
    }
}

/// A side of a split.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) question: Question,
    pub(super) yes: bool,
    pub(super) share: f64,
}

/// The features of a path, in the order of their first splits.
#[derive(Clone, Default)]
pub(super) struct Path(pub(super) Vec<PathFeature>);

impl Path {
    /// The path to a child.
    pub(super) fn to(&self, edge: Edge, literals: &mut Literals) -> Path {
        let mut path = self.clone();
        let feature = edge.question.feature();
        let known = path.0.iter().position(|known| known.feature == feature);
        let at = known.unwrap_or_else(|| {
            path.0.push(PathFeature::new(feature));
            path.0.len() - 1
        });
        path.0[at].add(edge, literals);
        path
    }
}

/// A feature of a group.
pub(super) struct GroupFeature {
    pub(super) feature: u32,
    /// Its share on the path to the group; 1 if it is not on it.
    pub(super) share: f64,
    /// The bit of the path's conjunction, if it is on the path.
    path_bit: Option<usize>,
    /// The questions below, each with its bit.
    questions: Vec<(Question, usize)>,
    pub(super) states: Vec<State>,
}

/// What a row's answers about a feature come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does not take the path: whatever else it answers.
    Outside,
    /// The bits of its code that belong to questions.
    Answers(u8),
}

pub(super) struct Group {
    pub(super) bits: [[Literal; 2]; BITS],
    /// The feature with most states is last.
    pub(super) features: Vec<GroupFeature>,
    pub(super) entries: usize,
    pub(super) output: usize,
}

impl Group {
    /// The group of the leaves below a node, if it fits.
    pub(super) fn of(
        tree: &Tree,
        node: u32,
        path: &Path,
        literals: &mut Literals,
    ) -> Option<Group> {
        if path.0.len() > BITS {
            return None;
        }
        let mut questions = Vec::new();
        gather(tree, node, BITS - path.0.len(), &mut questions)?;
        let mut features: Vec<GroupFeature> = Vec::new();
        for known in &path.0 {
            features.push(GroupFeature::new(known.feature, known.share));
        }
        for question in &questions {
            let feature = question.feature();
            if !features.iter().any(|known| known.feature == feature) {
                features.push(GroupFeature::new(feature, 1.0));
            }
        }
        let mut bit = 0;
        for (index, feature) in features.iter_mut().enumerate() {
            feature.path_bit = (index < path.0.len()).then(|| {
                bit += 1;
                bit - 1
            });
            for question in questions.iter().filter(|asked| asked.feature() == feature.feature) {
                feature.questions.push((*question, bit));
                bit += 1;
            }
            feature.set_states();
        }
        let entries = features.iter().map(|feature| feature.states.len()).product::<usize>();
        if entries > 1 << BITS {
            return None;
        }
        let mut bits = [[TRUE; 2]; BITS];
        for (feature, on_path) in features.iter().zip(&path.0) {
            bits[feature.path_bit?] = on_path.conjunction(literals);
        }
        for (question, bit) in features.iter().flat_map(|feature| &feature.questions) {
            bits[*bit] = [literals.of(Source::Asked(*question)), TRUE];
        }
        features.sort_by_key(|feature| feature.states.len());
        Some(Group { bits, features, entries, output: tree.output })
    }

    /// The entry of every code. Codes that no row has are entry 0.
    pub(super) fn look_up(&self) -> [u8; 1 << BITS] {
        std::array::from_fn(|code| {
            let of = |entry: usize, feature: &GroupFeature| {
                entry * feature.states.len() + feature.state_of(code as u8)
            };
            self.features.iter().fold(0, of) as u8
        })
    }
}

/// Adds the questions below a node; fails if there are more than so many.
fn gather(tree: &Tree, node: u32, most: usize, questions: &mut Vec<Question>) -> Option<()> {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let Node::Split { question, children, .. } = &tree.nodes[node as usize] else {
            continue;
        };
        if !questions.contains(question) {
            if questions.len() == most {
                return None;
            }
            questions.push(*question);
        }
        open.extend(children);
    }
    Some(())
}

impl GroupFeature {
    fn new(feature: u32, share: f64) -> Self {
        let (path_bit, questions, states) = (None, Vec::new(), Vec::new());
        GroupFeature { feature, share, path_bit, questions, states }
    }

    fn set_states(&mut self) {
        if self.path_bit.is_some() {
            self.states.push(State::Outside);
        }
        for answers in patterns(&self.questions) {
            let state = State::Answers(answers);
            if !self.states.contains(&state) {
                self.states.push(state);
            }
        }
    }

    fn state_of(&self, code: u8) -> usize {
        let mask = self.questions.iter().fold(0, |mask, (_, bit)| mask | 1 << bit);
        let state = match self.path_bit {
            Some(bit) if code >> bit & 1 == 0 => State::Outside,
            _ => State::Answers(code & mask),
        };
        self.states.iter().position(|known| *known == state).unwrap_or(0)
    }

    /// The bit of a question of the group about this feature.
    pub(super) fn bit_of(&self, question: Question) -> Option<usize> {
        self.questions.iter().find(|(asked, _)| *asked == question).map(|(_, bit)| *bit)
    }
}

/// All answers to the questions about one feature that a value can give, as bits.
fn patterns(questions: &[(Question, usize)]) -> Vec<u8> {
    let keys: Option<Vec<(u32, u32, usize)>> = questions
        .iter()
        .map(|(question, bit)| match *question {
            Question::Below { slot, key } => Some((key, slot, *bit)),
            Question::NotIn { .. } => None,
        })
        .collect();
    let Some(keys) = keys else {
        // Of sets, any.
        let all = 0..1usize << questions.len();
        let spread = |answers: usize| {
            let set = questions.iter().enumerate().filter(|(at, _)| answers >> at & 1 == 1);
            set.fold(0u8, |bits, (_, (_, bit))| bits | 1 << bit)
        };
        return all.map(spread).collect();
    };
    let bits_where = |holds: &dyn Fn(u32, u32) -> bool| {
        let set = keys.iter().filter(|(key, slot, _)| holds(*key, *slot));
        set.fold(0u8, |bits, (_, _, bit)| bits | 1 << bit)
    };
    // Below all keys, and from each key on.
    let mut patterns = vec![bits_where(&|_, _| true)];
    patterns.extend(keys.iter().map(|(least, _, _)| bits_where(&|key, _| *least < key)));
    patterns.push(bits_where(&|_, slot| slot.is_multiple_of(2)));
    patterns
}
