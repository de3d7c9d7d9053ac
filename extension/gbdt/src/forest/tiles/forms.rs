//! Which trees are recoded, by what a block of rows costs with each form of a tile.
//!
//! The only place where forms are chosen. Kernels differ in their costs, and an image is for all of them:
//! these are rough, in picoseconds per tree and block, as AVX2 and AVX-512 measured them.

use super::TILE_LEVELS;
use super::codes::{Boundaries, Code, Coder};
use crate::forest::canonical::{Forest, Tree};

/// Of a node of a tile, and of an operation of a compound.
const NODE: u64 = 600;
/// Of a predicate that only codes need.
const PREDICATE: u64 = 1500;
/// Of what goes on below a tile: rows times what a step takes.
const STEP_BELOW: u64 = 512 * 400;

/// By tree its code, if it takes one.
pub(super) fn codes(forest: &Forest<'_>, check_interrupts: &mut dyn FnMut()) -> Vec<Option<Code>> {
    let trees = forest.trees();
    // Where all trees fit tiles, a row may be evaluated through them too.
    if trees.iter().all(|tree| tree.depth() <= TILE_LEVELS) {
        return vec![None; trees.len()];
    }
    let mut coder = Coder::default();
    let code = |tree| {
        let code = code(tree, &mut coder, check_interrupts);
        check_interrupts();
        code
    };
    trees.iter().map(code).collect()
}

fn code(tree: &Tree<'_>, coder: &mut Coder, check_interrupts: &mut dyn FnMut()) -> Option<Code> {
    let boundaries = Boundaries::of(tree)?;
    let code = coder.code(&boundaries, check_interrupts);
    let below = u64::from(tree.depth().saturating_sub(TILE_LEVELS));
    let plain = NODE * (1 << tree.depth().min(TILE_LEVELS)) + STEP_BELOW * below;
    let more = if below > 0 { boundaries.leaves.len() as u64 } else { 0 };
    let coded = NODE * ((1 << code.levels) + u64::from(code.ops)) + PREDICATE * more;
    (coded < plain).then_some(code)
}
