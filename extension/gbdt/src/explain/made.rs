//! When something is made of an image for many rows.

use super::ContributionKind;
use super::leaf_changes::LeafChanges;
use super::scratch::ContributionScratch;
use super::tables::{Of, Tables};
use crate::forest::{Image, StableBytes};

/// Rows after which tables pay.
const ROWS_BEFORE_TABLES: usize = 64;
const ROWS_BEFORE_PAIRS: usize = 256;

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
        // Of a wide model a row is its matrix: what it takes to fill that, tables do not save.
        if self.band_rows() < self.num_features() + 1 {
            return;
        }
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
