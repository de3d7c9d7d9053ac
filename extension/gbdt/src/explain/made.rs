//! What is made of an image for many rows, and when.

use super::ContributionKind;
use super::contributions::ContributionScratch;
use super::leaf_changes::LeafChanges;
use super::tables::{Of, Tables};
use crate::forest::{Image, StableBytes};

/// Something that may be there.
pub(super) struct Made<T> {
    pub(super) it: Option<Box<T>>,
    /// Whether it would take more memory than the caller allows.
    has_no_room: bool,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Made { it: None, has_no_room: false }
    }
}

impl<T> Made<T> {
    fn make(&mut self, max_bytes: usize, build: impl FnOnce() -> Option<T>) {
        if max_bytes > 0 && self.it.is_none() && !self.has_no_room {
            self.it = build().map(Box::new);
            self.has_no_room = self.it.is_none();
        }
    }
}

/// Rows after which tables pay.
const ROWS_BEFORE_TABLES: usize = 64;
const ROWS_BEFORE_PAIRS: usize = 256;

impl ContributionScratch {
    /// What the tables take that have been made, and matrices of interactions: a caller that keeps buffers
    /// bounds them by it.
    pub fn table_bytes(&self) -> usize {
        let tables = [&self.tables, &self.pair_tables].map(|tables| &tables.it);
        tables.into_iter().flatten().map(|tables| tables.bytes()).sum::<usize>()
            + self.leaf_changes.it.as_ref().map_or(0, |changes| changes.bytes())
            + size_of_val(&self.interactions[..])
            + size_of_val(&self.own[..])
    }

    /// What is left for others.
    fn room(&self) -> usize {
        self.max_table_bytes.saturating_sub(self.table_bytes())
    }
}

impl<B: StableBytes> Image<B> {
    /// Makes the tables of that kind, if they are not there and have room. [`Image::contributions`] does so
    /// by itself once enough rows have been explained. The last digits of what tables give are others than
    /// without, so a caller makes them first if its results must not depend on how many rows came before.
    pub fn make_tables(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        check_interrupts: &mut dyn FnMut(),
    ) {
        let (image, room) = (self.sections(), scratch.room());
        let size = [self.num_features(), self.num_outputs()];
        match kind {
            ContributionKind::Exact => scratch
                .tables
                .make(room, || Tables::build(image, Of::Features, size, room, check_interrupts)),
            ContributionKind::Approximate => scratch
                .leaf_changes
                .make(room, || LeafChanges::build(image, size, room, check_interrupts)),
        }
    }

    /// The same for [`Image::interactions`], which need the tables of exact contributions, too.
    pub fn make_interaction_tables(
        &self,
        scratch: &mut ContributionScratch,
        check_interrupts: &mut dyn FnMut(),
    ) {
        self.make_tables(scratch, ContributionKind::Exact, check_interrupts);
        if scratch.tables.it.is_none() {
            return;
        }
        let (image, room) = (self.sections(), scratch.room());
        let size = [self.num_features(), self.num_outputs()];
        let pairs = &mut scratch.pair_tables;
        pairs.make(room, || Tables::build(image, Of::Pairs, size, room, check_interrupts));
    }

    /// Whether there are tables; makes them where so many numbers of rows more are worth it.
    pub(super) fn has_tables(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        numbers: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> bool {
        if kind == ContributionKind::Approximate {
            // A walk of all nodes costs as much.
            self.make_tables(scratch, kind, check_interrupts);
            return scratch.leaf_changes.it.is_some();
        }
        if scratch.tables.it.is_none() {
            scratch.rows_walked += numbers / self.num_features();
            if scratch.rows_walked >= ROWS_BEFORE_TABLES {
                self.make_tables(scratch, kind, check_interrupts);
            }
        }
        scratch.tables.it.is_some()
    }

    pub(super) fn has_interaction_tables(
        &self,
        scratch: &mut ContributionScratch,
        numbers: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> bool {
        if scratch.pair_tables.it.is_none() {
            scratch.rows_walked += numbers / self.num_features();
            if scratch.rows_walked >= ROWS_BEFORE_PAIRS {
                self.make_interaction_tables(scratch, check_interrupts);
            }
        }
        scratch.pair_tables.it.is_some() && scratch.tables.it.is_some()
    }
}
