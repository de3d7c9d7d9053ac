//! Projections whose parts and tables follow one another, so that every look-up ends at a line.

use crate::compiled::ctr::{CtrProjection, EMPTY, key_of};
use crate::compiled::sections::*;
use crate::{Cancel, Result};

pub(crate) fn verify(
    compiled: &Sections<'_>,
    num_features: usize,
    cancel: Cancel<'_>,
) -> Result<()> {
    let parts = compiled.get(CTR_PARTS);
    let right = parts.iter().all(|part| (part.feature as usize) < num_features);
    ensure(right, "has a statistic of no feature")?;
    let dictionaries = compiled.get(DICTIONARIES);
    let has_categories =
        |feature: &u32| dictionaries.get(*feature as usize).is_some_and(|record| record.kind != 0);
    let coded = compiled.get(CTR_CODES).iter().all(has_categories);
    ensure(coded, "has codes of a feature without categories")?;
    let (mut taken_parts, mut taken_words) = (0u64, 0u64);
    for projection in compiled.get(CTR_PROJECTIONS) {
        let follows = u64::from(projection.first_part) == taken_parts
            && u64::from(projection.first_word) == taken_words
            && projection.bits < u32::BITS
            && projection.width > 0;
        ensure(follows, "has a statistic in a wrong place")?;
        taken_parts += u64::from(projection.parts);
        taken_words = taken_words.saturating_add(projection.words());
        ensure(has_empty_slot(compiled, projection), "has a statistic without a table")?;
        cancel.check()?;
    }
    let all =
        taken_parts == parts.len() as u64 && taken_words == compiled.get(CTR_TABLES).len() as u64;
    ensure(all, "has tables of no statistic")
}

/// Whether a table is there, and has an empty slot, at which a look-up ends.
fn has_empty_slot(compiled: &Sections<'_>, projection: &CtrProjection) -> bool {
    let first = projection.first_word as usize;
    let words = usize::try_from(projection.words()).ok().and_then(|words| first.checked_add(words));
    let table = words.and_then(|end| compiled.get(CTR_TABLES).get(first..end));
    table.is_some_and(|table| {
        let slots = table.chunks_exact(projection.slot_words()).take(1 << projection.bits);
        slots.map(key_of).any(|key| key == EMPTY)
    })
}
