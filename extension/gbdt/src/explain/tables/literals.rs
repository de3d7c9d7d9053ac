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
    pub(super) sources: Vec<Source>,
    known: HashMap<Source, Literal>,
}

impl Literals {
    pub(super) fn new() -> Self {
        Literals { sources: vec![Source::True], known: HashMap::from([(Source::True, TRUE)]) }
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

    /// Frees what only making them needs.
    pub(super) fn finish(&mut self) {
        self.known = HashMap::new();
    }
}
