//! Which trees are recoded, by what a block of rows costs with each form of a tile.
//!
//! The only place where forms are chosen. Kernels differ in their costs, and a compiled model is for all of
//! them: these are rough, in picoseconds per tree and block, as AVX2 and AVX-512 measured them.

use std::collections::HashSet;

use crate::compiled::tiles::{MAX_CONDITIONS, TILE_LEVELS};
use crate::lower::canonical::{Forest, Tree};
use crate::lower::tiles::codes::{Boundaries, Code, Coder, levels_of};
use crate::lower::tiles::conditions::{Sets, condition_of};
use crate::lower::tiles::fill::all_symmetric;
use crate::{Cancel, Result};

/// Of a node of a tile, and of an operation of a compound.
const NODE: u64 = 600;
/// Of a condition.
const CONDITION: u64 = 1500;
/// Of what goes on below a tile, and of each step there: rows times their time.
const BELOW: u64 = 512 * 2500;
const STEP_BELOW: u64 = 512 * 500;
/// Of adding leaves of tiles of more than [`TILE_LEVELS`] levels, more than of others.
const WIDE: u64 = 512 * 500;

/// How a tile comes from a tree.
pub(crate) enum Form {
    Plain,
    Symmetric,
    Coded(Code),
}

impl Form {
    pub(crate) fn code(&self) -> Option<&Code> {
        match self {
            Form::Coded(code) => Some(code),
            Form::Plain | Form::Symmetric => None,
        }
    }
}

/// The form of each tree.
pub(crate) fn forms(forest: &Forest<'_>, sets: &Sets<'_>, cancel: Cancel<'_>) -> Result<Vec<Form>> {
    let trees = forest.trees();
    if all_symmetric(forest, sets, cancel)? {
        return Ok(trees.iter().map(|_| Form::Symmetric).collect());
    }
    let deep = trees.iter().any(|tree| tree.depth() > TILE_LEVELS);
    let conditions = if deep { conditions_per_tree(forest, sets, cancel)? } else { 0 };
    let mut coder = Coder::default();
    let form = |tree| {
        let code = code(tree, conditions, &mut coder, cancel)?;
        cancel.check()?;
        Ok(code.map_or(Form::Plain, Form::Coded))
    };
    trees.iter().map(form).collect()
}

/// How many conditions a block would evaluate for each tree if all were recoded: what trees share in a
/// segment counts once.
fn conditions_per_tree(forest: &Forest<'_>, sets: &Sets<'_>, cancel: Cancel<'_>) -> Result<u64> {
    let (mut segment, mut evaluated) = (HashSet::new(), 0u64);
    for tree in forest.trees() {
        if segment.len() > MAX_CONDITIONS {
            segment.clear();
        }
        for id in 0..tree.nodes().len() as u32 {
            if let Some(condition) = condition_of(tree, id, sets) {
                evaluated += u64::from(segment.insert(condition));
            }
        }
        cancel.check()?;
    }
    Ok(evaluated / (forest.trees().len() as u64).max(1))
}

/// The code of a tree, if it costs less than the tree's own form.
fn code(
    tree: &Tree<'_>,
    conditions: u64,
    coder: &mut Coder,
    cancel: Cancel<'_>,
) -> Result<Option<Code>> {
    let Some(boundaries) = Boundaries::of(tree) else { return Ok(None) };
    let below = u64::from(tree.depth().saturating_sub(TILE_LEVELS));
    let mut plain = NODE * (1 << tree.depth().min(TILE_LEVELS));
    if below > 0 {
        plain += BELOW + STEP_BELOW * below;
    }
    let levels = levels_of(boundaries.leaves.len());
    let mut coded = NODE * (1 << levels);
    // A tree of few levels has the same conditions in either form.
    if below > 0 {
        coded += CONDITION * conditions;
    }
    if levels > TILE_LEVELS {
        coded += WIDE;
    }
    if coded >= plain {
        return Ok(None);
    }
    let code = coder.code(&boundaries, cancel)?;
    let coded = coded + NODE * u64::from(code.ops);
    // A code takes room in the compiled model, for which it has to gain something.
    Ok((coded + coded / 4 < plain).then_some(code))
}
