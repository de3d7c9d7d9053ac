//! The category sets of a tree's categorical splits.
//!
//! The file lists the codes of all sets in one array, and for each categorical node where its codes
//! begin and how many they are. Here a set is bits up to its largest code, as XGBoost holds it.

use super::shape::NO_CHILD;
use super::{Checked, Fault, RawTree};
use crate::ErrorKind;
use crate::model::{Categories, CategorySet};

/// The sets, and the set of each categorical node: pairs in ascending order of nodes.
pub(super) struct Sets {
    pub sets: Vec<CategorySet>,
    pub of_node: Vec<(usize, u32)>,
}

/// Builds the sets of all nodes in use, which may take `words_left` words.
pub(super) fn check(raw: &RawTree, reached: &[bool], words_left: &mut usize) -> Checked<Sets> {
    let nodes = &raw.categories_nodes;
    let starts = &raw.categories_segments;
    let sizes = &raw.categories_sizes;
    if starts.len() != nodes.len() || sizes.len() != nodes.len() {
        return Err(Fault::tree(
            ErrorKind::Length,
            "\"categories_nodes\", \"categories_segments\" and \"categories_sizes\" differ in length",
        ));
    }
    let mut result = Sets { sets: Vec::new(), of_node: Vec::new() };
    let mut before = -1;
    for ((node, start), size) in nodes.iter().zip(starts).zip(sizes) {
        if *node <= before {
            return Err(Fault::tree(
                ErrorKind::CategoryRange,
                "the nodes in \"categories_nodes\" do not ascend",
            ));
        }
        before = *node;
        let node = usize::try_from(*node)
            .ok()
            .filter(|node| is_categorical(raw, *node))
            .ok_or_else(|| {
                Fault::tree(
                    ErrorKind::CategoryRange,
                    format!("node {node} has categories and is no categorical split"),
                )
            })?;
        // Pruning turns splits into leaves and leaves their categories behind.
        if !is_split_in_use(raw, reached, node) {
            continue;
        }
        let codes = slice(&raw.categories, *start, *size).ok_or_else(|| {
            Fault::node(
                ErrorKind::CategoryRange,
                node,
                "the categories of a split are not in the list of categories",
            )
        })?;
        let set = build(codes, node, words_left)?;
        // There are no more sets than nodes, and no more nodes than i32 counts.
        result.of_node.push((node, result.sets.len() as u32));
        result.sets.push(set);
    }
    Ok(result)
}

fn is_categorical(raw: &RawTree, node: usize) -> bool {
    raw.split_type.as_ref().and_then(|types| types.get(node)).is_some_and(|kind| *kind)
}

fn is_split_in_use(raw: &RawTree, reached: &[bool], node: usize) -> bool {
    reached.get(node) == Some(&true) && raw.left_children.get(node) != Some(&NO_CHILD)
}

fn slice(codes: &[i32], start: i64, size: i64) -> Option<&[i32]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    codes.get(start..end).filter(|codes| !codes.is_empty())
}

fn build(codes: &[i32], node: usize, words_left: &mut usize) -> Checked<CategorySet> {
    let mut largest = 0;
    for code in codes {
        let code = usize::try_from(*code).ok().filter(|code| *code < Categories::MOST);
        let code = code.ok_or_else(|| {
            Fault::node(ErrorKind::CategoryRange, node, "a split names a category that cannot be")
        })?;
        largest = largest.max(code);
    }
    let count = largest / 32 + 1;
    *words_left = words_left.checked_sub(count).ok_or_else(|| {
        Fault::node(ErrorKind::Limit, node, "the category sets of the model are too large")
    })?;
    let mut words = vec![0u32; count];
    for code in codes {
        if let Some(word) = words.get_mut((*code / 32) as usize) {
            *word |= 1 << (*code % 32);
        }
    }
    Ok(CategorySet { words })
}
