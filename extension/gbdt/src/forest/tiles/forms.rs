//! Which trees are recoded, by what a block of rows costs with each form of a tile.
//!
//! The only place where forms are chosen. Kernels differ in their costs, and an image is for all of them:
//! these are rough, in picoseconds per tree and block, as AVX2 and AVX-512 measured them.

use super::TILE_LEVELS;
use super::codes::{Boundaries, Code, Coder};
use super::predicates::Sets;
use super::symmetric;
use crate::forest::canonical::{Forest, Tree};

/// Of a node of a tile, and of an operation of a compound.
const NODE: u64 = 600;
/// Of a predicate that only codes need.
const PREDICATE: u64 = 1500;
/// Of what goes on below a tile: rows times what a step takes.
const STEP_BELOW: u64 = 512 * 400;

/// How a tile comes from a tree.
pub(super) enum Form {
    Plain,
    Symmetric,
    Coded(Code),
}

impl Form {
    pub(super) fn code(&self) -> Option<&Code> {
        match self {
            Form::Coded(code) => Some(code),
            Form::Plain | Form::Symmetric => None,
        }
    }
}

/// The form of each tree.
pub(super) fn forms(
    forest: &Forest<'_>,
    sets: &Sets<'_>,
    check_interrupts: &mut dyn FnMut(),
) -> Vec<Form> {
    let trees = forest.trees();
    if symmetric::all_are(forest, sets, check_interrupts) {
        return trees.iter().map(|_| Form::Symmetric).collect();
    }
    // Where all trees fit tiles, a row may be evaluated through them too.
    if trees.iter().all(|tree| tree.depth() <= TILE_LEVELS) {
        return trees.iter().map(|_| Form::Plain).collect();
    }
    let mut coder = Coder::default();
    let form = |tree| {
        let code = code(tree, &mut coder, check_interrupts);
        check_interrupts();
        code.map_or(Form::Plain, Form::Coded)
    };
    trees.iter().map(form).collect()
}

/// The code of a tree, if it costs less than the tree's own form.
fn code(tree: &Tree<'_>, coder: &mut Coder, check_interrupts: &mut dyn FnMut()) -> Option<Code> {
    let boundaries = Boundaries::of(tree)?;
    let code = coder.code(&boundaries, check_interrupts);
    let below = u64::from(tree.depth().saturating_sub(TILE_LEVELS));
    let plain = NODE * (1 << tree.depth().min(TILE_LEVELS)) + STEP_BELOW * below;
    let more = if below > 0 { boundaries.leaves.len() as u64 } else { 0 };
    let coded = NODE * ((1 << code.levels) + u64::from(code.ops)) + PREDICATE * more;
    (coded < plain).then_some(code)
}
