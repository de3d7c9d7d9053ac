//! The category sets of a tree.
//!
//! The file lists the codes of all sets in one array, and for each categorical node where its codes
//! begin and how many they are (src/tree/tree_model.cc, `LoadCategoricalSplit`).

use super::tree::Arrays;
use crate::model::{CategorySet, NODES_PER_CHECK, node_of};
use crate::{Error, ErrorKind, Result};

/// The sets of a tree whose nodes come in ascending order.
pub(super) struct Sets<'a> {
    codes: &'a [i32],
    /// Node, first code and number of codes of those that are still to come, the next one last.
    listed: Vec<(usize, i64, i64)>,
    /// Those of the splits so far.
    pub done: Vec<CategorySet>,
}

impl<'a> Sets<'a> {
    /// Checks what is listed: nodes that are categorical, in ascending order.
    pub(super) fn of(
        arrays: &'a Arrays,
        categorical: Option<&[bool]>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self> {
        let nodes = &arrays.categories_nodes;
        let (starts, sizes) = (&arrays.categories_segments, &arrays.categories_sizes);
        if starts.len() != nodes.len() || sizes.len() != nodes.len() {
            let keys = r#""categories_nodes", "categories_segments" and "categories_sizes""#;
            return Err(Error::new(ErrorKind::Length, format!("{keys} differ in length")));
        }
        let fault = |message: String| Err(Error::new(ErrorKind::CategoryRange, message));
        if !nodes.is_sorted_by(|a, b| a < b) {
            return fault("the nodes in \"categories_nodes\" do not ascend".to_owned());
        }
        let mut listed = Vec::with_capacity(nodes.len());
        for ((node, start), size) in nodes.iter().zip(starts).zip(sizes).rev() {
            if listed.len().is_multiple_of(NODES_PER_CHECK) {
                check_interrupts();
            }
            let is_categorical =
                |id: &usize| categorical.and_then(|all| all.get(*id)) == Some(&true);
            match usize::try_from(*node).ok().filter(is_categorical) {
                Some(id) => listed.push((id, *start, *size)),
                None => {
                    return fault(format!(
                        "node {node} has categories and is no categorical split"
                    ));
                }
            }
        }
        Ok(Sets { codes: &arrays.categories, listed, done: Vec::new() })
    }

    /// Passes a node that is no split; pruning leaves the categories of a former split behind.
    pub(super) fn skip(&mut self, id: usize) {
        self.listed.pop_if(|(node, ..)| *node == id);
    }

    /// The index of a categorical split's set, whose words are taken off `words_left`.
    pub(super) fn take(&mut self, id: usize, words_left: &mut usize) -> Result<u32> {
        let fault = |message| Error::new(ErrorKind::CategoryRange, message).at(node_of(id));
        let Some((_, start, size)) = self.listed.pop_if(|(node, ..)| *node == id) else {
            return Err(fault("a categorical split has no categories"));
        };
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        let codes = range
            .and_then(|(start, size)| self.codes.get(start..start.checked_add(size)?))
            .filter(|codes| !codes.is_empty())
            .ok_or_else(|| fault("the categories of a split are not in the list of categories"))?;
        let set = CategorySet::new(codes, words_left).map_err(|error| error.at(node_of(id)))?;
        self.done.push(set);
        // There are no more sets than nodes, and no more nodes than i32 counts.
        Ok(self.done.len() as u32 - 1)
    }
}
