//! What must hold of groups of recoded trees.

use crate::Result;
use crate::forest::sections::*;
use crate::forest::tiles::{
    Coding, CompoundRun, MAX_COMPOUNDS, MAX_LEAVES, MAX_MASKS, TileForm, TileGroup,
};

/// One coding per group if any group is recoded.
pub(super) fn verify(image: &Sections<'_>) -> Result<()> {
    let (groups, codings) = (image.get(TILE_GROUPS), image.get(CODINGS));
    let coded = |group: &TileGroup| group.form == TileForm::Coded;
    let count = if groups.iter().any(coded) { groups.len() } else { 0 };
    ensure(codings.len() == count, "does not have one coding per group")?;
    image.get(COMPOUND_RUNS).iter().try_for_each(|run| verify_run(run, image))?;
    codings.iter().try_for_each(|coding| verify_coding(coding, image))
}

fn verify_run(run: &CompoundRun, image: &Sections<'_>) -> Result<()> {
    let sizes = (1..=MAX_LEAVES as u32).contains(&run.length)
        && (1..=MAX_COMPOUNDS as u32).contains(&run.count);
    ensure(sizes, "has a run of compounds of a wrong size")?;
    let first = run.words as usize;
    let words = image.get(COMPOUND_WORDS).get(first..first + run.num_words());
    let words = words.ok_or_else(|| damaged("has a run of compounds without words"))?;
    let length = run.length as usize;
    let masks = words.iter().skip(CompoundRun::op_words(length));
    // Where the operations are apart, no index is joined by one.
    let op = if length > CompoundRun::ALIKE { CompoundRun::OR } else { 0 };
    let mut masks = masks.map(|mask| usize::from(mask & !op));
    ensure(masks.all(|mask| mask < MAX_MASKS), "has a compound of no mask")
}

fn verify_coding(coding: &Coding, image: &Sections<'_>) -> Result<()> {
    let first = coding.first_run as usize;
    let runs = image.get(COMPOUND_RUNS).get(first..first + coding.runs as usize);
    let runs = runs.ok_or_else(|| damaged("has a group without its compounds"))?;
    let compounds: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    ensure(compounds <= MAX_COMPOUNDS as u64, "has a group of too many compounds")
}
