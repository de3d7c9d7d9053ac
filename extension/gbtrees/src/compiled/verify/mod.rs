//! Verification of compiled models before evaluation.
//!
//! The checksum detects damage, not intent: a compiled model with a valid checksum may be crafted. So
//! every number that evaluation uses as an index is verified here, and evaluation indexes without
//! checks. A wrong compiled model can give wrong values, but never a read out of bounds, and a
//! traversal of a given number of steps always ends at a leaf.

mod tiles;
mod trees;

use bytemuck::checked::try_cast;

use crate::compiled::COMPILED_MODEL_VERSION;
use crate::compiled::aligned::ALIGNMENT;
use crate::compiled::categories::{CategoryView, TextList};
use crate::compiled::records::{
    CATEGORICAL as CATEGORICAL_SPLIT, CtrProjection, EMPTY, InterleavedNode, LANES, LinearLeaf,
    SetSpan, WideNode, key_of, leaf_slot,
};
use crate::compiled::sections::*;
use crate::ensemble::{NODES_PER_CHECK, Task};
use crate::{Cancel, Result};

/// Returns the header, if the length is as stated and the version is this one.
pub(crate) fn header(bytes: &[u8]) -> Result<Header> {
    ensure(bytes.as_ptr().addr().is_multiple_of(ALIGNMENT), "is not aligned to 64 bytes")?;
    let head =
        bytes.get(..size_of::<Header>()).ok_or_else(|| damaged("is shorter than its header"))?;
    let header: Header = *bytemuck::from_bytes(head);
    ensure(header.magic == MAGIC, "does not begin as one")?;
    ensure(header.version == COMPILED_MODEL_VERSION, "was made by another version of the engine")?;
    ensure(header.endianness == ENDIANNESS, "was made by a machine of another byte order")?;
    ensure(header.length == bytes.len() as u64, "has not the length that it says")?;
    Ok(header)
}

/// Checks the bytes against the checksum.
pub(crate) fn matches_checksum(header: &Header, bytes: &[u8], cancel: Cancel<'_>) -> Result<()> {
    let found = checksum(bytes, cancel)?;
    ensure(header.checksum == found, "has not the checksum that it says")
}

pub(crate) fn sections(compiled: &Sections<'_>, header: &Header, cancel: Cancel<'_>) -> Result<()> {
    let num_features = header.num_features as usize;
    ctrs(compiled, num_features, cancel)?;
    let num_split_features = num_features + compiled.num_ctrs();
    let num_outputs = header.num_outputs as usize;
    let num_trees = header.num_trees as usize;
    let outputs = compiled.get(OUTPUTS);
    ensure(num_features > 0 && num_outputs > 0, "has no features or no outputs")?;
    ensure(outputs.len() == num_trees, "does not have one output per tree")?;
    let in_range = outputs.iter().all(|output| *output < header.num_outputs);
    ensure(in_range, "has an output out of range")?;
    sources(compiled)?;
    let margins = compiled.get(BASE_MARGINS).len();
    ensure(margins == num_outputs, "does not have one base margin per output")?;

    let coefficients = compiled.get(COEFFICIENTS).len();
    let linear = coefficients == (num_features + 1) * num_outputs && num_trees == 0;
    ensure(coefficients == 0 || linear, "does not have one coefficient per feature and output")?;

    linear_leaves(compiled, num_features)?;
    let (compact, wide) = (compiled.get(COMPACT_NODES), compiled.get(WIDE_NODES));
    let ids = compiled.get(COMPACT_IDS).len() == compact.len()
        && compiled.get(WIDE_IDS).len() == wide.len();
    ensure(ids, "does not have one id per node")?;
    nodes(compact, num_split_features, leaf_slot(num_split_features), cancel)?;
    nodes(wide, num_split_features, leaf_slot(num_split_features), cancel)?;
    outcomes(compiled, num_split_features, cancel)?;
    sets(compiled)?;
    cancel.check()?;
    categorical_splits(wide, compiled.get(SETS), num_split_features, cancel)?;
    groups(compiled)?;
    let sums = try_cast(header.sum_precision);
    let sums = sums.map_err(|_| damaged("has sums of no known width"))?;
    tiles::verify(compiled, num_split_features, sums)?;
    cancel.check()?;
    trees::verify(compiled, sums, cancel)?;
    trees::verify_splits(compiled, num_split_features, cancel)?;
    let biases = compiled.get(BIASES).len();
    ensure([0, num_outputs].contains(&biases), "does not have one bias per output")?;
    let cuts = compiled.get(CUT_SPANS).len();
    ensure([0, num_features].contains(&cuts), "does not have the cuts of every feature")?;
    let numbers = compiled.get(CUTS).len();
    let within = compiled.get(CUT_SPANS).iter().all(|span| span.is_within(numbers));
    ensure(within, "has a feature with cuts out of range")?;
    ensure(compiled.get(CUT_ENDS).len() == numbers, "does not have one end per cut")?;
    let types = compiled.get(CATEGORICAL).len();
    ensure(types == num_features, "does not have one type per feature")?;
    let rules = compiled.get(ZERO_MISSING).len();
    ensure([0, num_split_features].contains(&rules), "does not have one rule per feature")?;
    text(compiled, header)?;
    dictionaries(compiled, num_features)
}

/// Verifies that there are no linear models, or one for every leaf's key with valid terms and features.
fn linear_leaves(compiled: &Sections<'_>, num_features: usize) -> Result<()> {
    let (leaves, terms) = (compiled.get(LINEAR_LEAVES), compiled.get(LINEAR_TERMS));
    if leaves.is_empty() {
        return Ok(());
    }
    let values = compiled.get(LEAF_VALUES).len();
    ensure(leaves.len() == values, "does not have one linear model per leaf")?;
    let within =
        |leaf: &LinearLeaf| u64::from(leaf.first) + u64::from(leaf.terms) <= terms.len() as u64;
    ensure(leaves.iter().all(within), "has a linear model with terms out of range")?;
    let right = terms.iter().all(|term| (term.feature as usize) < num_features);
    ensure(right, "has a linear model of no feature")?;
    ensure(compiled.num_ctrs() == 0, "has linear models of target statistics")
}

/// Verifies that trees come from successive trees of the model, which have a root each.
fn sources(compiled: &Sections<'_>) -> Result<()> {
    let sources = compiled.get(SOURCES);
    let follows = |pair: &[u32]| matches!(pair, [a, b] if *b == *a || *b == *a + 1);
    let right = sources.len() == compiled.get(OUTPUTS).len()
        && sources.first().is_none_or(|first| *first == 0)
        && sources.windows(2).all(follows);
    ensure(right, "does not have one tree of the model per tree")?;
    let roots = sources.last().map_or(0, |last| *last as usize + 1);
    ensure(compiled.get(ROOTS).len() == roots, "does not have one root per tree of the model")
}

/// Verifies nodes for interleaved traversal without bounds checks: a split's children are nodes, its
/// slot is a feature's or an outcome's, and a leaf reads the slot that makes a traversal stay.
fn nodes<N: InterleavedNode>(
    nodes: &[N],
    num_features: usize,
    last_slot: usize,
    cancel: Cancel<'_>,
) -> Result<()> {
    let leaf_slot = leaf_slot(num_features);
    let mut count = nodes.len() as u64;
    // Branchless, to run at memory speed.
    let mut right = true;
    for part in nodes.chunks(NODES_PER_CHECK) {
        cancel.check()?;
        for (index, node) in part.iter().enumerate() {
            let offset = node.right_offset();
            let leaf = (offset == 0) & (node.slot() == leaf_slot) & !node.is_left(u32::MAX);
            let split = (offset != 0)
                & (node.slot() <= last_slot)
                & (node.slot() != leaf_slot)
                & (index as u64 + u64::from(offset) + 1 < count);
            right &= leaf | split;
        }
        count -= part.len() as u64;
    }
    ensure(right, "has a node with a wrong link or slot")
}

/// Verifies that tables' words and slots are consecutive, with a node per wide node if there are
/// tables.
fn outcomes(compiled: &Sections<'_>, num_features: usize, cancel: Cancel<'_>) -> Result<()> {
    let (tables, outcome_nodes) = (compiled.get(OUTCOME_TABLES), compiled.get(OUTCOME_NODES));
    let (mut word, mut slot) = (0u64, leaf_slot(num_features) as u64 + 1);
    for table in tables {
        let right = u64::from(table.first) == word && u64::from(table.slot) == slot;
        ensure(right, "has a table of outcomes in a wrong place")?;
        ensure((table.feature as usize) < num_features, "has outcomes of no feature")?;
        let words = (u64::from(table.codes) + 2).checked_mul(table.width.into());
        let words = words.and_then(|words| word.checked_add(words));
        word = words.ok_or_else(|| damaged("has a table of too many outcomes"))?;
        slot += u64::from(table.width);
    }
    ensure(word == compiled.get(OUTCOMES).len() as u64, "has outcomes in no table")?;
    let wide = if tables.is_empty() { 0 } else { compiled.get(WIDE_NODES).len() };
    ensure(outcome_nodes.len() == wide, "does not have one outcome node per wide node")?;
    nodes(outcome_nodes, num_features, compiled.num_slots(num_features) - 1, cancel)
}

/// Verifies the kinds of wide nodes, and the sets and features of categorical splits.
fn categorical_splits(
    nodes: &[WideNode],
    sets: &[SetSpan],
    num_features: usize,
    cancel: Cancel<'_>,
) -> Result<()> {
    let is_right = |node: &WideNode| match node.kind {
        0 => true,
        CATEGORICAL_SPLIT => {
            node.right_offset != 0
                && (node.key as usize) < sets.len()
                && (node.slot as usize) < leaf_slot(num_features)
        }
        _ => false,
    };
    let right = cancel.all(nodes.chunks(NODES_PER_CHECK), |part| part.iter().all(is_right))?;
    ensure(right, "has a categorical split without a set")
}

fn sets(compiled: &Sections<'_>) -> Result<()> {
    let words = compiled.get(SET_WORDS).len() as u64;
    let within = |set: &SetSpan| u64::from(set.start) + u64::from(set.count) <= words;
    ensure(compiled.get(SETS).iter().all(within), "has a category set out of range")
}

/// Verifies that groups hold every tree once, in order, with roots among the nodes of their kind, and a
/// depth that no traversal exceeds.
fn groups(compiled: &Sections<'_>) -> Result<()> {
    let roots = compiled.get(ROOTS);
    let mut next = 0usize;
    for group in compiled.get(GROUPS) {
        let nodes = compiled.num_nodes(group.kind);
        let count = group.count as usize;
        ensure(group.first as usize == next, "has a tree in no group or in two")?;
        ensure((1..=LANES).contains(&count), "has a group of a wrong size")?;
        ensure((group.depth as usize) < nodes, "has a tree deeper than it has nodes")?;
        let members =
            roots.get(next..next + count).ok_or_else(|| damaged("has a group without trees"))?;
        ensure(members.iter().all(|root| (*root as usize) < nodes), "has a root out of range")?;
        next += count;
    }
    ensure(next == roots.len(), "has a tree in no group")
}

/// Verifies names and labels: none, or the right number, in UTF-8.
fn text(compiled: &Sections<'_>, header: &Header) -> Result<()> {
    let binary = header.task == Task::Binary as u32;
    let labels = if binary { 2 } else { header.num_outputs as usize };
    let right = |text: &[u8], count| TextList::check(text, 0) || TextList::check(text, count);
    let names = right(compiled.get(NAMES), header.num_features as usize);
    ensure(names && right(compiled.get(LABELS), labels), "has damaged names")
}

/// Verifies that every code of a dictionary has a value.
fn dictionaries(compiled: &Sections<'_>, num_features: usize) -> Result<()> {
    let words = TextList::read(compiled.get(WORDS));
    ensure(TextList::check(compiled.get(WORDS), words.len()), "has damaged categories")?;
    let records = compiled.get(DICTIONARIES);
    let per_feature = [0, num_features].contains(&records.len());
    ensure(per_feature, "does not have one dictionary per feature")?;
    let (sorted, numbers) = (compiled.get(SORTED), compiled.get(NUMBERS));
    let right = records.iter().all(|record| {
        record.kind == 0
            || CategoryView::new(*record, sorted, numbers, words)
                .is_some_and(|view| view.is_sound())
    });
    ensure(right, "has a damaged category dictionary")
}

/// Verifies that projections' parts and tables are consecutive, so that every look-up ends at a line.
fn ctrs(compiled: &Sections<'_>, num_features: usize, cancel: Cancel<'_>) -> Result<()> {
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

/// Returns whether a table exists and has an empty slot, at which a look-up ends.
fn has_empty_slot(compiled: &Sections<'_>, projection: &CtrProjection) -> bool {
    let first = projection.first_word as usize;
    let words = usize::try_from(projection.words()).ok().and_then(|words| first.checked_add(words));
    let table = words.and_then(|end| compiled.get(CTR_TABLES).get(first..end));
    table.is_some_and(|table| {
        let slots = table.chunks_exact(projection.slot_words()).take(1 << projection.bits);
        slots.map(key_of).any(|key| key == EMPTY)
    })
}
