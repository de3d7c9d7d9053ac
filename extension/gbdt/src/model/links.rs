//! That the links between nodes make a tree of them.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{NODES_PER_CHECK, Node, node_of};
use crate::{Error, ErrorKind, Result};

/// Checks the links of a tree; returns the number of splits on the longest path from root to leaf.
///
/// The walk follows links that are in range to nodes that no link has led to before, so it ends
/// after as many steps as there are nodes, whatever the links say. Deleted nodes, and no others,
/// are those that it does not reach.
pub(super) fn depth(
    nodes: &[Node],
    limit: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<u32> {
    let fault = |kind, node, message: String| Err(Error::new(kind, message).at(node_of(node)));
    let mut reached = vec![false; nodes.len()];
    let mut enter = |node: usize| match (reached.get_mut(node), nodes.get(node)) {
        (Some(true), _) => Err("more than one split leads to a node".to_owned()),
        (_, Some(Node::Deleted)) => Err("a split leads to a deleted node".to_owned()),
        (Some(reached), _) => {
            *reached = true;
            Ok(())
        }
        (None, _) => {
            Err(format!("a split of a tree of {} nodes has node {node} below it", nodes.len()))
        }
    };
    if enter(0).is_err() {
        return Err(Error::new(ErrorKind::TreeShape, "a tree has no nodes"));
    }
    let (mut depth, mut level) = (0u32, vec![0u32]);
    loop {
        let mut below = Vec::new();
        for (index, node) in level.into_iter().enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) {
                check_interrupts();
            }
            let node = node as usize;
            let Some(children) = nodes.get(node).and_then(Node::children) else { continue };
            if depth as usize >= limit {
                let message = format!("a tree is deeper than the limit of {limit}");
                return fault(ErrorKind::Limit, node, message);
            }
            for child in children {
                if let Err(message) = enter(child as usize) {
                    let place = Some(child as usize).filter(|child| *child < nodes.len());
                    return fault(ErrorKind::TreeShape, place.unwrap_or(node), message);
                }
                below.push(child);
            }
        }
        if below.is_empty() {
            break;
        }
        depth += 1;
        level = below;
    }
    for (id, (node, reached)) in nodes.iter().zip(reached).enumerate() {
        if id.is_multiple_of(NODES_PER_CHECK) {
            check_interrupts();
        }
        if !reached && *node != Node::Deleted {
            return fault(ErrorKind::TreeShape, id, "no split leads to a node".to_owned());
        }
    }
    Ok(depth)
}
