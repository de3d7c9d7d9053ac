//! What must hold of an image before it is evaluated.
//!
//! The checksum tells damage, not intent: an image with the right checksum may still have been made
//! to mislead. So every number that evaluation uses as an index is checked here, and evaluation may
//! then index without checks. A wrong image can give wrong values, never a read out of bounds, and
//! a walk of a given number of steps always ends.

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

use super::aligned::ALIGNMENT;
use super::categories::CategoryView;
use super::records::{
    CHECKSUMMED_FROM, Dictionary, ENDIANNESS, Group, GroupKind, Header, LockStepNode, MAGIC,
    SetSpan, WideNode,
};
use super::text::TextList;
use super::{CATEGORICAL, IMAGE_VERSION};
use crate::eval::leaf_slot;
use crate::model::{Task, Transform};
use crate::{Error, ErrorKind, Result};

pub(super) fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Image, format!("image {what}"))
}

/// Fails with what is wrong, unless it is right.
pub(super) fn ensure(right: bool, what: &str) -> Result<()> {
    if right { Ok(()) } else { Err(damaged(what)) }
}

/// The header of bytes that are as long as an image of this version says that it is.
pub(super) fn header(bytes: &[u8]) -> Result<Header> {
    ensure(bytes.as_ptr().addr().is_multiple_of(ALIGNMENT), "is not aligned to 64 bytes")?;
    let head =
        bytes.get(..size_of::<Header>()).ok_or_else(|| damaged("is shorter than its header"))?;
    let header: Header = *bytemuck::from_bytes(head);
    ensure(header.magic == MAGIC, "does not begin as one")?;
    ensure(header.version == IMAGE_VERSION, "was made by another version of the engine")?;
    ensure(header.endianness == ENDIANNESS, "was made by a machine of another byte order")?;
    ensure(header.length == bytes.len() as u64, "has not the length that it says")?;
    Ok(header)
}

/// Fails unless the bytes are those that the checksum was made of.
pub(super) fn checksum(header: &Header, bytes: &[u8]) -> Result<()> {
    let summed = bytes.get(CHECKSUMMED_FROM..).unwrap_or_default();
    ensure(header.checksum == xxh3_64(summed), "has not the checksum that it says")
}

/// The task with this number.
pub(super) fn task(number: u32) -> Result<Task> {
    let all = [Task::Regression, Task::Binary, Task::Multiclass, Task::Ranking];
    all.into_iter()
        .find(|task| *task as u32 == number)
        .ok_or_else(|| damaged("has an unknown task"))
}

/// The transform with this number.
pub(super) fn transform(number: u32) -> Result<Transform> {
    let all = [
        Transform::Identity,
        Transform::Logistic,
        Transform::Softmax,
        Transform::ArgMax,
        Transform::Exponential,
        Transform::Hinge,
        Transform::Ascending,
        Transform::Expectile,
    ];
    all.into_iter()
        .find(|transform| *transform as u32 == number)
        .ok_or_else(|| damaged("has an unknown transform"))
}

/// Nodes that lock step may walk from any of them with unchecked indexing: a split's children are
/// nodes, and a leaf reads the slot that makes a walk stay.
pub(super) fn nodes<N: LockStepNode + Pod>(nodes: &[N], num_features: usize) -> Result<()> {
    let leaf_slot = leaf_slot(num_features);
    let count = nodes.len() as u64;
    // Without branches, so that it runs at the speed of memory.
    let mut right = true;
    for (index, node) in nodes.iter().enumerate() {
        let leaf = (node.skip() == 0) & (node.slot() == leaf_slot);
        let split = (node.skip() != 0)
            & (node.slot() <= leaf_slot)
            & (index as u64 + u64::from(node.skip()) + 1 < count);
        right &= leaf | split;
    }
    ensure(right, "has a node with a wrong link or slot")
}

/// Wide nodes' kinds, and the sets and features of categorical splits.
pub(super) fn categorical_nodes(
    nodes: &[WideNode],
    sets: &[SetSpan],
    num_features: usize,
) -> Result<()> {
    let right = nodes.iter().all(|node| match node.kind {
        0 => true,
        CATEGORICAL => {
            node.skip != 0
                && (node.key as usize) < sets.len()
                && (node.slot as usize) < leaf_slot(num_features)
        }
        _ => false,
    });
    ensure(right, "has a categorical split without a set")
}

/// Sets whose words are all there.
pub(super) fn sets(sets: &[SetSpan], words: usize) -> Result<()> {
    let right = sets.iter().all(|set| u64::from(set.start) + u64::from(set.count) <= words as u64);
    ensure(right, "has a category set out of range")
}

/// What the groups of trees refer to.
pub(super) struct GroupBounds {
    /// Number of compact nodes.
    pub(super) compact: usize,
    /// Number of wide nodes.
    pub(super) wide: usize,
    /// Most trees that a group may have.
    pub(super) lanes: usize,
}

/// Groups that hold every tree once, in order, with roots among the nodes of their kind and a
/// depth that no walk over those nodes exceeds.
pub(super) fn groups(groups: &[Group], roots: &[u32], bounds: &GroupBounds) -> Result<()> {
    let mut next = 0usize;
    for group in groups {
        let kind =
            GroupKind::from_number(group.kind).ok_or_else(|| damaged("has an unknown group"))?;
        let nodes = if kind == GroupKind::Compact { bounds.compact } else { bounds.wide };
        let count = group.count as usize;
        ensure(group.first as usize == next, "has a tree in no group or in two")?;
        ensure((1..=bounds.lanes).contains(&count), "has a group of a wrong size")?;
        ensure((group.depth as usize) < nodes, "has a tree deeper than it has nodes")?;
        let members =
            roots.get(next..next + count).ok_or_else(|| damaged("has a group without trees"))?;
        ensure(members.iter().all(|root| (*root as usize) < nodes), "has a root out of range")?;
        next += count;
    }
    ensure(next == roots.len(), "has a tree in no group")
}

/// Dictionaries whose every code has a value.
pub(super) fn dictionaries(
    records: &[Dictionary],
    sorted: &[u32],
    numbers: &[u64],
    words: TextList<'_>,
) -> Result<()> {
    let right = records.iter().all(|record| {
        record.kind == 0
            || CategoryView::new(*record, sorted, numbers, words)
                .is_some_and(|view| view.is_sound())
    });
    ensure(right, "has a damaged category dictionary")
}
