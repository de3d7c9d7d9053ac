//! The tiles of a group of recoded trees.

use super::Writer;
use crate::Result;
use crate::forest::text::to_u32;
use crate::forest::tiles::codes::Boundaries;
use crate::forest::tiles::compounds::{self, Asked};
use crate::forest::tiles::fill::leaf_values;
use crate::forest::tiles::predicates::Predicate;
use crate::forest::tiles::{Coding, TileGroup, node_index, tile_leaves, tile_nodes};
use crate::verified::known;

impl Writer<'_> {
    /// Writes the nodes and leaves of a group, and what its coding says.
    pub(super) fn coded_group(
        &mut self,
        group: &TileGroup,
        index_of: impl Fn(Predicate) -> u16,
    ) -> Result<()> {
        let first_run = to_u32(self.tiles.compound_runs.len())?;
        let (count, levels) = (group.count as usize, group.levels);
        let mut nodes = vec![0u16; count * tile_nodes(levels)];
        let mut asked = Vec::new();
        for tree in 0..count {
            let index = group.first as usize + tree;
            let (of, form) = (&self.forest.trees()[index], &self.forms[index]);
            let code = known(form.code(), "a coded group is of recoded trees")?;
            let boundaries = known(Boundaries::of(of), "a recoded tree has boundaries")?;
            code.nodes(of, &self.sets, &boundaries, |node| {
                let place = tree * tile_nodes(levels) + node_index(levels, node.level, node.path);
                if node.chain.links.is_empty() {
                    nodes[place] = index_of(node.chain.first);
                } else {
                    asked.push(Asked { chain: node.chain, by: place });
                }
            });
            let numbers = code.leaves(&boundaries, levels);
            let ids = numbers.iter().map(|number| boundaries.leaves[usize::from(*number)]);
            self.leaves(&leaf_values(of, ids, tile_leaves(levels))?)?;
            (self.check_interrupts)();
        }
        let (runs, words) = (&mut self.tiles.compound_runs, &mut self.tiles.compound_words);
        compounds::collect(asked, index_of, runs, words, |place, mask| nodes[place] = mask)?;
        self.tiles.nodes.extend(nodes);
        let runs = to_u32(self.tiles.compound_runs.len() - first_run as usize)?;
        self.tiles.codings.push(Coding { first_run, runs });
        Ok(())
    }
}
