//! Target statistics as sections of a compiled model.

use crate::compiled::ctr::{CtrPart, CtrProjection, PartKind};
use crate::ensemble::ctr::{Ctrs, KeyPart, Projection};
use crate::limits::{reserve, to_u32};
use crate::{Cancel, Result};

/// Keys that the lists of starts and lines are made of between two looks for a cancel.
const KEYS_PER_CHECK: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct CtrSections {
    pub(crate) projections: Vec<CtrProjection>,
    pub(crate) parts: Vec<CtrPart>,
    pub(crate) starts: Vec<u32>,
    pub(crate) keys: Vec<u64>,
    pub(crate) lines: Vec<f32>,
}

impl CtrSections {
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
        // About a key per start.
        let bits = keys.len().max(1).next_power_of_two().ilog2();
        self.projections.push(CtrProjection {
            first_part: to_u32(self.parts.len())?,
            parts: to_u32(parts.len())?,
            first_start: to_u32(self.starts.len())?,
            bits,
            first_key: to_u32(self.keys.len())?,
            keys: to_u32(keys.len())?,
            first_number: to_u32(self.lines.len())?,
            width: to_u32(*width)?,
        });
        self.parts.extend(parts.iter().copied().map(part));
        reserve(&mut self.starts, (1 << bits) + 1)?;
        reserve(&mut self.keys, keys.len())?;
        reserve(&mut self.lines, lines.len())?;
        let mut passed = 0usize;
        self.starts.push(0);
        for first_bits in 0..1u64 << bits {
            let own = |key: &&u64| key.checked_shr(u64::BITS - bits).unwrap_or(0) == first_bits;
            passed += keys[passed..].iter().take_while(own).count();
            self.starts.push(to_u32(passed)?);
            if (first_bits as usize).is_multiple_of(KEYS_PER_CHECK) {
                cancel.check()?;
            }
        }
        for keys in keys.chunks(KEYS_PER_CHECK) {
            self.keys.extend(keys);
            cancel.check()?;
        }
        for lines in lines.chunks(KEYS_PER_CHECK) {
            self.lines.extend(lines);
            cancel.check()?;
        }
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
