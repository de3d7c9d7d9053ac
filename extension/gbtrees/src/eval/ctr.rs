//! From a row's features to what splits test: target statistics behind them.
//!
//! A key is made of a row's categories and conditions for each projection, and the line of a table that it
//! leads to is copied: see [`crate::ensemble::ctr`]. Everything after this takes statistics as it takes
//! numbers. Rows are taken through one projection after another, so that its table stays in the caches.

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::ctr::{CtrPart, CtrProjection, PartKind};
use crate::compiled::sections::{
    CTR_CODES, CTR_KEYS, CTR_LINES, CTR_PARTS, CTR_PROJECTIONS, CTR_STARTS, Sections,
};
use crate::ensemble::ctr::{combined, part_of_hash};

/// Rows that are taken through the projections together.
const TOGETHER: usize = 512;

/// Buffers for rows with statistics; nothing is allocated once they have grown.
#[derive(Clone, Debug, Default)]
pub(crate) struct CtrBuffers {
    rows: Vec<f32>,
    keys: Vec<u64>,
}

/// The table of a projection, in its sections.
struct Table<'a> {
    starts: &'a [u32],
    keys: &'a [u64],
    lines: &'a [f32],
    width: usize,
    /// How far a key is shifted to be a place among the starts.
    shift: u32,
}

impl<'a> Table<'a> {
    fn of(compiled: Sections<'a>, projection: &CtrProjection) -> Self {
        let (first, count) = (projection.first_key as usize, projection.keys as usize);
        let (start, width) = (projection.first_start as usize, projection.width as usize);
        let line = projection.first_number as usize;
        Table {
            starts: &compiled.get(CTR_STARTS)[start..=start + (1 << projection.bits)],
            keys: &compiled.get(CTR_KEYS)[first..first + count],
            lines: &compiled.get(CTR_LINES)[line..line + (count + 1) * width],
            width,
            shift: u64::BITS - projection.bits,
        }
    }

    /// Index of a key, or of the line of all others.
    #[inline(always)]
    fn find(&self, key: u64) -> usize {
        // Shifting by all bits is none.
        let place = key.checked_shr(self.shift).unwrap_or(0) as usize;
        let (start, end) = (self.starts[place] as usize, self.starts[place + 1] as usize);
        let found = self.keys[start..end].iter().position(|own| *own == key);
        found.map_or(self.keys.len(), |place| start + place)
    }
}

/// Adds a part to the keys of rows.
#[inline(always)]
fn add_part(keys: &mut [u64], rows: &[f32], width: usize, part: &CtrPart) {
    let values = rows.iter().skip(part.feature as usize).step_by(width);
    let pairs = keys.iter_mut().zip(values);
    let border = f32::from_bits(part.operand);
    match part.kind {
        PartKind::Category => {
            pairs.for_each(|(key, value)| *key = combined(*key, part_of_hash(value.to_bits())));
        }
        PartKind::Above => {
            pairs.for_each(|(key, value)| *key = combined(*key, (*value > border).into()));
        }
        PartKind::AboveOrMissing => pairs.for_each(|(key, value)| {
            *key = combined(*key, (*value > border || value.is_nan()).into());
        }),
        PartKind::HasBits => pairs.for_each(|(key, value)| {
            *key = combined(*key, (value.to_bits() == part.operand).into());
        }),
        PartKind::HasCode => {
            let code = part.operand as f32;
            pairs.for_each(|(key, value)| *key = combined(*key, (*value == code).into()));
        }
    }
}

impl<B: StableBytes> CompiledModel<B> {
    /// What splits test of rows: `num_split_features` numbers of each. Models without statistics test what
    /// they are given.
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
                copy_lines(&Table::of(compiled, projection), keys, &mut out[at..], width);
                at += projection.width as usize;
            }
        }
        out
    }

    /// Puts codes in the place of hashes, for splits that test them.
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

/// Copies to each row, `stride` numbers apart, the line that its key leads to.
#[inline(always)]
fn copy_lines(table: &Table<'_>, keys: &[u64], out: &mut [f32], stride: usize) {
    let width = table.width;
    if width == 1 {
        for (place, key) in out.iter_mut().step_by(stride).zip(keys) {
            *place = table.lines[table.find(*key)];
        }
        return;
    }
    for (out, key) in out.chunks_mut(stride).zip(keys) {
        let line = table.find(*key) * width;
        out[..width].copy_from_slice(&table.lines[line..line + width]);
    }
}
