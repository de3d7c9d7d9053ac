//! Projections whose parts, starts, keys and lines follow one another, so that every key leads to a line.

use crate::compiled::categories::{CategoryView, TextList};
use crate::compiled::ctr::CtrProjection;
use crate::compiled::sections::*;
use crate::{Cancel, Result};

/// How much of the sections the projections so far take up.
#[derive(Default, PartialEq)]
struct Taken {
    parts: u64,
    starts: u64,
    keys: u64,
    numbers: u64,
}

pub(crate) fn verify(
    compiled: &Sections<'_>,
    num_features: usize,
    cancel: Cancel<'_>,
) -> Result<()> {
    let parts = compiled.get(CTR_PARTS);
    let right = parts.iter().all(|part| (part.feature as usize) < num_features);
    ensure(right, "has a statistic of no feature")?;
    let coded = compiled.get(CTR_CODES).iter().all(|feature| {
        let record = compiled.get(DICTIONARIES).get(*feature as usize);
        let words = TextList::read(&[]);
        record.is_some_and(|record| {
            CategoryView::new(*record, compiled.get(SORTED), compiled.get(NUMBERS), words).is_some()
        })
    });
    ensure(coded, "has codes of a feature without categories")?;
    let mut taken = Taken::default();
    for projection in compiled.get(CTR_PROJECTIONS) {
        let right = taken.add(projection) && starts(compiled, projection);
        ensure(right, "has a statistic without a table")?;
        cancel.check()?;
    }
    let all = Taken {
        parts: parts.len() as u64,
        starts: compiled.get(CTR_STARTS).len() as u64,
        keys: compiled.get(CTR_KEYS).len() as u64,
        numbers: compiled.get(CTR_LINES).len() as u64,
    };
    ensure(taken == all, "has tables of no statistic")
}

impl Taken {
    /// Takes what the next projection has, if that follows.
    fn add(&mut self, projection: &CtrProjection) -> bool {
        let CtrProjection { bits, parts, keys, width, .. } = *projection;
        let follows = u64::from(projection.first_part) == self.parts
            && u64::from(projection.first_start) == self.starts
            && u64::from(projection.first_key) == self.keys
            && u64::from(projection.first_number) == self.numbers;
        if !follows || bits >= u32::BITS || width == 0 {
            return false;
        }
        let numbers = (u64::from(keys) + 1).saturating_mul(width.into());
        self.parts += u64::from(parts);
        self.starts += (1 << bits) + 1;
        self.keys += u64::from(keys);
        self.numbers = self.numbers.saturating_add(numbers);
        true
    }
}

/// Whether the starts of a projection ascend among its keys.
fn starts(compiled: &Sections<'_>, projection: &CtrProjection) -> bool {
    let first = projection.first_start as usize;
    let starts = compiled.get(CTR_STARTS).get(first..=first + (1 << projection.bits));
    starts.is_some_and(|starts| {
        starts.is_sorted() && starts.last().is_some_and(|last| *last <= projection.keys)
    })
}
