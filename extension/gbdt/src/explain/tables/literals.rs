//! Literals: what is asked of rows, each question once for a whole model.

use std::collections::HashMap;

use super::trees::Question;

/// A literal or its opposite: twice its index, and 1 if it is inverted.
pub(super) type Literal = u32;

/// The literal that is always true.
pub(super) const TRUE: Literal = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    True,
    Asked(Question),
    /// Two others, which come before it.
    Both(Literal, Literal),
}

pub(super) struct Literals {
    /// Once all are there: the one that is true, runs, sets, and pairs.
    pub(super) sources: Vec<Source>,
    pub(super) runs: Vec<Run>,
    /// The keys of all runs, whose first literal is number 1.
    pub(super) keys: Vec<u32>,
    known: HashMap<Source, Literal>,
}

/// Literals of one slot.
pub(super) struct Run {
    pub(super) slot: u32,
    /// Among the keys.
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Literals {
    pub(super) fn new() -> Self {
        let known = HashMap::from([(Source::True, TRUE)]);
        Literals { sources: vec![Source::True], runs: Vec::new(), keys: Vec::new(), known }
    }

    pub(super) fn of(&mut self, source: Source) -> Literal {
        *self.known.entry(source).or_insert_with(|| {
            self.sources.push(source);
            2 * (self.sources.len() as Literal - 1)
        })
    }

    /// The literal that holds where both do.
    pub(super) fn both(&mut self, one: Literal, other: Literal) -> Literal {
        match (one, other) {
            (TRUE, literal) | (literal, TRUE) => literal,
            _ => self.of(Source::Both(one, other)),
        }
    }

    /// Puts them in order, and frees what only making them needs; returns their new indices.
    pub(super) fn finish(&mut self, check_interrupts: &mut dyn FnMut()) -> Numbers {
        self.known = HashMap::new();
        let mut order: Vec<(Source, usize)> = self.sources.drain(..).zip(0..).collect();
        let place = |(source, old): &(Source, usize)| match *source {
            Source::True => (0, 0, 0, *old),
            Source::Asked(Question::Below { slot, key }) => (1, slot, key, *old),
            // Those of a feature together.
            Source::Asked(Question::NotIn { slot, .. }) => (2, slot, 0, *old),
            Source::Both(..) => (3, 0, 0, *old),
        };
        let mut compared = 0usize;
        order.sort_by(|a, b| {
            compared += 1;
            if compared.is_multiple_of(COMPARISONS_PER_CHECK) {
                check_interrupts();
            }
            place(a).cmp(&place(b))
        });
        let mut numbers = Numbers(vec![TRUE; order.len()]);
        for (new, (_, old)) in order.iter().enumerate() {
            numbers.0[*old] = new as u32;
        }
        for (source, _) in order {
            self.sources.push(match source {
                Source::Both(one, other) => Source::Both(numbers.of(one), numbers.of(other)),
                other => other,
            });
            let Source::Asked(Question::Below { slot, key }) = source else { continue };
            match self.runs.last_mut() {
                Some(run) if run.slot == slot => run.count += 1,
                _ => self.runs.push(Run { slot, first: self.keys.len(), count: 1 }),
            }
            self.keys.push(key);
        }
        numbers
    }
}

/// They take some ten milliseconds.
const COMPARISONS_PER_CHECK: usize = 1 << 20;

/// The new indices of literals.
pub(super) struct Numbers(Vec<u32>);

impl Numbers {
    pub(super) fn of(&self, literal: Literal) -> Literal {
        (2 * self.0[literal as usize / 2]) | literal & 1
    }
}
