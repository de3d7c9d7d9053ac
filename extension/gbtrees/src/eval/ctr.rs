//! Extends a row's features to its split values: target statistics after them.
//!
//! For each projection a key is computed from a row's categories and conditions, and the table line
//! that it leads to is copied: see [`crate::ensemble::ctr`]. After that, statistics are treated as
//! numbers. Rows go through one projection after another, so that its table stays in cache.

use bytemuck::cast_slice;

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::aligned::prefetch;
use crate::compiled::records::{CtrPart, CtrProjection, EMPTY, PartKind, key_of};
use crate::compiled::sections::{CTR_CODES, CTR_PARTS, CTR_PROJECTIONS, CTR_TABLES, Sections};
use crate::ensemble::ctr::{combined, part_of_hash};
use crate::memory::allocated;

/// Rows processed together.
const TOGETHER: usize = 512;

/// Look-ups that are prefetched together, in tables larger than `CACHED` bytes: processors cannot
/// predict a key's slot, and would wait for each in turn.
const AHEAD: usize = 32;
const CACHED: usize = 16 << 10;

/// Reusable buffers for rows with statistics; nothing is allocated once they have grown.
#[derive(Clone, Debug, Default)]
pub(crate) struct CtrBuffers {
    rows: Vec<f32>,
    keys: Vec<u64>,
}

impl CtrBuffers {
    pub(crate) fn bytes(&self) -> usize {
        allocated(&self.rows) + allocated(&self.keys)
    }
}

/// The table of a projection, in its section.
struct ProjectionTable<'a> {
    projection: &'a CtrProjection,
    words: &'a [u32],
}

impl<'a> ProjectionTable<'a> {
    fn of(compiled: Sections<'a>, projection: &'a CtrProjection) -> Self {
        let first = projection.first_word as usize;
        let words = &compiled.get(CTR_TABLES)[first..first + projection.words() as usize];
        ProjectionTable { projection, words }
    }

    /// Prefetches a key's first slot.
    #[inline(always)]
    fn fetch(&self, key: u64) {
        prefetch(self.words, self.projection.first_slot(key) * self.projection.slot_words());
    }

    /// Returns the line of a key, or of unknown keys.
    #[inline(always)]
    fn line(&self, key: u64) -> &'a [f32] {
        let (slot_words, bits) = (self.projection.slot_words(), self.projection.bits);
        let width = slot_words - 2;
        let mut place = self.projection.first_slot(key);
        loop {
            let slot = &self.words[place * slot_words..][..slot_words];
            match key_of(slot) {
                // CatBoost does not find the key of empty slots either.
                EMPTY => {
                    let first = slot_words << bits;
                    return cast_slice(&self.words[first..first + width]);
                }
                own if own == key => return cast_slice(&slot[2..]),
                _ => place = (place + 1) & ((1 << bits) - 1),
            }
        }
    }
}

/// Adds a part to the keys of rows.
#[inline(always)]
fn add_part(keys: &mut [u64], rows: &[f32], width: usize, part: &CtrPart) {
    let feature = part.feature as usize;
    let pairs = keys.iter_mut().zip(rows.chunks_exact(width).map(|row| row[feature]));
    let border = f32::from_bits(part.operand);
    match part.kind {
        PartKind::Category => {
            pairs.for_each(|(key, value)| *key = combined(*key, part_of_hash(value.to_bits())));
        }
        PartKind::Above => {
            pairs.for_each(|(key, value)| *key = combined(*key, (value > border).into()));
        }
        PartKind::AboveOrMissing => pairs.for_each(|(key, value)| {
            *key = combined(*key, (value > border || value.is_nan()).into());
        }),
        PartKind::HasBits => pairs.for_each(|(key, value)| {
            *key = combined(*key, (value.to_bits() == part.operand).into());
        }),
        PartKind::HasCode => {
            let code = part.operand as f32;
            pairs.for_each(|(key, value)| *key = combined(*key, (value == code).into()));
        }
    }
}

impl<B: StableBytes> CompiledModel<B> {
    /// Returns the split values of rows, `num_split_features` numbers each; without statistics, the
    /// rows themselves.
    #[inline(always)]
    pub(crate) fn split_values<'a>(
        &self,
        rows: &'a [f32],
        buffers: &'a mut CtrBuffers,
    ) -> &'a [f32] {
        if !self.has_ctrs() {
            return rows;
        }
        self.with_ctrs(rows, buffers)
    }

    #[inline(never)]
    fn with_ctrs<'a>(&self, rows: &[f32], buffers: &'a mut CtrBuffers) -> &'a [f32] {
        let (features, width) = (self.num_features(), self.num_split_features());
        let compiled = self.sections();
        let count = rows.len() / features;
        let CtrBuffers { rows: out, keys } = buffers;
        out.resize(count * width, 0.0);
        let blocks = rows.chunks(TOGETHER * features).zip(out.chunks_mut(TOGETHER * width));
        for (rows, out) in blocks {
            let lines = rows.chunks_exact(features).zip(out.chunks_exact_mut(width));
            lines.for_each(|(row, out)| out[..features].copy_from_slice(row));
            self.set_codes(rows, out);
            let mut at = features;
            for projection in compiled.get(CTR_PROJECTIONS) {
                keys.clear();
                keys.resize(rows.len() / features, 0);
                let first = projection.first_part as usize;
                let parts = &compiled.get(CTR_PARTS)[first..first + projection.parts as usize];
                parts.iter().for_each(|part| add_part(keys, rows, features, part));
                copy_lines(&ProjectionTable::of(compiled, projection), keys, &mut out[at..], width);
                at += projection.width as usize;
            }
        }
        out
    }

    /// Replaces hashes with codes, for splits that test them.
    fn set_codes(&self, rows: &[f32], out: &mut [f32]) {
        let (features, width) = (self.num_features(), self.num_split_features());
        for feature in self.sections().get(CTR_CODES) {
            let feature = *feature as usize;
            let Some(categories) = self.categories(feature) else { continue };
            let values = rows.iter().skip(feature).step_by(features);
            let places = out.iter_mut().skip(feature).step_by(width);
            for (place, value) in places.zip(values) {
                *place = categories.code_of_hash(value.to_bits()) as f32;
            }
        }
    }
}

/// Copies to each row, `stride` numbers apart, the line of its key.
#[inline(always)]
fn copy_lines(table: &ProjectionTable<'_>, keys: &[u64], out: &mut [f32], stride: usize) {
    let is_large = size_of_val(table.words) > CACHED;
    for (keys, out) in keys.chunks(AHEAD).zip(out.chunks_mut(AHEAD * stride)) {
        if is_large {
            keys.iter().for_each(|key| table.fetch(*key));
        }
        for (out, key) in out.chunks_mut(stride).zip(keys) {
            match table.line(*key) {
                // The common case: no call.
                [only] => out[0] = *only,
                line => out[..line.len()].copy_from_slice(line),
            }
        }
    }
}
