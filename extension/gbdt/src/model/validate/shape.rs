//! The links between the nodes of a tree: that they make it one, and how deep it is.
//!
//! The walk starts at the root and follows links that are in range to nodes that no link has led to
//! before, so it ends after as many steps as there are nodes, whatever the file says. Nodes that it
//! does not reach must be marked as deleted: pruning leaves such nodes behind.

use super::{Checked, Fault, RawTree};
use crate::ErrorKind;

/// In `parents` that of the root, in `split_indices` the mark of a deleted node.
pub(super) const NONE: i32 = i32::MAX;

/// Links of a leaf.
pub(super) const NO_CHILD: i32 = -1;

/// What a walk over a tree finds.
#[derive(Debug)]
pub(super) struct Shape {
    /// Whether the node is in use; one entry a node.
    pub reached: Vec<bool>,
    /// Splits on the longest way from root to leaf.
    pub depth: u32,
}

/// Checks the links of a tree whose arrays have an entry a node.
pub(super) fn walk(raw: &RawTree, depth_limit: usize) -> Checked<Shape> {
    check_parent(raw, 0, NONE)?;
    let mut reached = vec![false; raw.left_children.len()];
    if let Some(root) = reached.first_mut() {
        *root = true;
    }
    let mut depth = 0;
    let mut level = vec![0];
    while !level.is_empty() {
        let mut below = Vec::new();
        for node in level {
            let Some(children) = children(raw, node)? else { continue };
            if depth == depth_limit {
                return Err(Fault::node(
                    ErrorKind::Limit,
                    node,
                    format!("a tree is deeper than the limit of {depth_limit}"),
                ));
            }
            for child in children {
                enter(raw, &mut reached, node, child)?;
                below.push(child);
            }
        }
        depth += usize::from(!below.is_empty());
        level = below;
    }
    check_deleted(raw, &reached)?;
    let depth =
        u32::try_from(depth).map_err(|_| Fault::tree(ErrorKind::Limit, "a tree is too deep"))?;
    Ok(Shape { reached, depth })
}

/// The children of a node, or nothing for a leaf.
///
/// XGBoost finds the right child as the node after the left one and does not look at the link, so
/// where the link says otherwise the file means two different trees.
fn children(raw: &RawTree, node: usize) -> Checked<Option<[usize; 2]>> {
    let nodes = raw.left_children.len();
    let left = raw.left_children.get(node).copied().unwrap_or(NO_CHILD);
    let right = raw.right_children.get(node).copied().unwrap_or(NO_CHILD);
    if left == NO_CHILD && right == NO_CHILD {
        return Ok(None);
    }
    let in_range = |child| usize::try_from(child).ok().filter(|child| (1..nodes).contains(child));
    let (Some(left), Some(right)) = (in_range(left), in_range(right)) else {
        return Err(Fault::node(
            ErrorKind::TreeShape,
            node,
            format!("a split of a tree of {nodes} nodes has the children {left} and {right}"),
        ));
    };
    if right != left + 1 {
        return Err(Fault::node(
            ErrorKind::TreeShape,
            node,
            format!(
                "the right child of a split is {right}, not the node after its left child {left}"
            ),
        ));
    }
    Ok(Some([left, right]))
}

/// Notes that a link leads to a node, which must be the only one.
fn enter(raw: &RawTree, reached: &mut [bool], parent: usize, child: usize) -> Checked<()> {
    match reached.get_mut(child) {
        Some(reached) if !*reached => *reached = true,
        _ => {
            return Err(Fault::node(
                ErrorKind::TreeShape,
                child,
                "more than one split leads to a node",
            ));
        }
    }
    if raw.split_indices.get(child) == Some(&NONE) {
        return Err(Fault::node(ErrorKind::TreeShape, child, "a split leads to a deleted node"));
    }
    // A tree with more nodes than i32 counts has been refused.
    check_parent(raw, child, parent as i32)
}

/// Where the file says which node leads to this one, it must say what the links say.
fn check_parent(raw: &RawTree, node: usize, parent: i32) -> Checked<()> {
    let stated = raw.parents.as_ref().and_then(|parents| parents.get(node));
    if stated.is_some_and(|stated| *stated != parent) {
        return Err(Fault::node(
            ErrorKind::TreeShape,
            node,
            "the parent of a node is not the split that leads to it",
        ));
    }
    Ok(())
}

/// What is not reached is marked as deleted, and there are as many such nodes as the tree says.
fn check_deleted(raw: &RawTree, reached: &[bool]) -> Checked<()> {
    let mut deleted = 0i64;
    for (node, (reached, index)) in reached.iter().zip(&raw.split_indices).enumerate() {
        if !reached {
            deleted += 1;
            if *index != NONE {
                return Err(Fault::node(ErrorKind::TreeShape, node, "no split leads to a node"));
            }
        }
    }
    if raw.num_deleted.is_some_and(|stated| stated != deleted) {
        return Err(Fault::tree(
            ErrorKind::TreeShape,
            format!("a tree has {deleted} deleted nodes, not as many as it says"),
        ));
    }
    Ok(())
}
