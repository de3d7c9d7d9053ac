//! Compiles target statistics into sections.

use crate::compiled::aligned::PIECE;
use crate::compiled::records::{CtrPart, CtrProjection, EMPTY, PartKind, key_of};
use crate::compiled::sections::{CTR_PARTS, CTR_PROJECTIONS, CTR_TABLES, Writer};
use crate::ensemble::NODES_PER_CHECK;
use crate::ensemble::ctr::{Ctrs, KeyPart, Projection};
use crate::limits::to_u32;
use crate::{Cancel, Result};

#[derive(Default)]
pub(crate) struct CtrSections {
    pub(crate) projections: Vec<CtrProjection>,
    pub(crate) parts: Vec<CtrPart>,
    pub(crate) tables: Vec<u32>,
}

impl CtrSections {
    /// Passes the sections to the writer.
    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(CTR_PROJECTIONS, &self.projections);
        writer.put(CTR_PARTS, &self.parts);
        writer.put(CTR_TABLES, &self.tables);
    }

    pub(crate) fn of(ctrs: &Ctrs, cancel: Cancel<'_>) -> Result<Self> {
        let mut sections = CtrSections::default();
        for projection in &ctrs.projections {
            sections.add(projection, cancel)?;
            cancel.check()?;
        }
        Ok(sections)
    }

    fn add(&mut self, projection: &Projection, cancel: Cancel<'_>) -> Result<()> {
        let Projection { parts, keys, width, lines } = projection;
        // At most half of the slots are used.
        let bits = (2 * keys.len()).max(1).next_power_of_two().ilog2();
        let record = CtrProjection {
            first_part: to_u32(self.parts.len())?,
            parts: to_u32(parts.len())?,
            first_word: to_u32(self.tables.len())?,
            bits,
            width: to_u32(*width)?,
        };
        self.projections.push(record);
        self.parts.extend(parts.iter().copied().map(part));
        let (first, words) = (self.tables.len(), record.words() as usize);
        self.tables.try_reserve(words)?;
        while self.tables.len() < first + words {
            let rest = first + words - self.tables.len();
            self.tables.resize(self.tables.len() + rest.min(PIECE), u32::MAX);
            cancel.check()?;
        }
        let slots = &mut self.tables[first..];
        let (slot_words, last) = (record.slot_words(), (1 << bits) - 1);
        let mut lines = lines.chunks_exact(*width);
        for (index, (key, line)) in keys.iter().zip(&mut lines).enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let mut place = record.first_slot(*key);
            while key_of(&slots[place * slot_words..]) != EMPTY {
                place = (place + 1) & last;
            }
            let slot = &mut slots[place * slot_words..][..slot_words];
            slot[..2].copy_from_slice(&[*key as u32, (*key >> u32::BITS) as u32]);
            slot[2..].copy_from_slice(bytemuck::cast_slice(line));
        }
        let others = &mut slots[slot_words << bits..];
        others.copy_from_slice(bytemuck::cast_slice(lines.next().unwrap_or_default()));
        Ok(())
    }
}

fn part(part: KeyPart) -> CtrPart {
    let (kind, feature, operand) = match part {
        KeyPart::Category { feature } => (PartKind::Category, feature, 0),
        KeyPart::Above { feature, border, missing_too } => {
            let kind = if missing_too { PartKind::AboveOrMissing } else { PartKind::Above };
            (kind, feature, border.to_bits())
        }
        KeyPart::HasHash { feature, hash } => (PartKind::HasBits, feature, hash),
        KeyPart::HasCode { feature, code } => (PartKind::HasCode, feature, code),
    };
    CtrPart { kind, feature, operand }
}
