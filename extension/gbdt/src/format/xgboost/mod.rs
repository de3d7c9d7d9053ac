//! XGBoost's models, of every release and in each of its formats.
//!
//! Keys come in any order, so everything is read into optional places first and what is required is
//! asked for at the end; a booster that is not scored is refused before anything is missed in it.
//! `learner`, `booster` and `tree` say what keys mean, `nodes` makes a tree's arrays nodes, `build`
//! hands all of it to the model's builder. What no other library's files have is checked here:
//! that a right child follows its left one, marks of parents and of deleted nodes, where trees'
//! outputs, rounds, weights and categories are listed, and how a base score becomes a margin.
//!
//! Files are written by `SaveModel` of src/learner.cc, src/gbm/gbtree.cc, src/gbm/gbtree_model.cc
//! and src/tree/tree_model.cc. They are scored as the newest release does, whichever wrote them.

mod base_score;
mod binary;
mod booster;
mod build;
mod categories;
mod learner;
mod nodes;
mod objective;
mod parameters;
mod rounds;
mod sets;
mod tree;

pub(super) use binary::read as read_binary;
pub(super) use build::build;
pub use objective::objectives;

use super::reader::{Reader, ValueKind, array, object};
use super::sniff::{shown, unsupported};
use crate::{Error, ErrorKind, Limits, Result};
use learner::Learner;

pub(super) struct File {
    version: [u32; 3],
    learner: Learner,
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<File> {
    let root = root(reader, limits, true)?;
    reader.finish()?;
    required(root, "learner")
}

/// Reads the outermost object, or the model inside a memory snapshot.
fn root<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
    outermost: bool,
) -> Result<Option<File>> {
    let mut version = [0; 3];
    let mut learner = None;
    let mut inner = None;
    object(reader, |reader, key| {
        match key {
            "version" => version = read_version(reader)?,
            "learner" => learner = Some(learner::read(reader, limits)?),
            "Model" if outermost => inner = root(reader, limits, false)?,
            "name" if reader.kind()? == ValueKind::String => {
                if reader.string()? == "tree" {
                    let hint = "Save the model with LightGBM's save_model(\"model.txt\") instead.";
                    return Err(unsupported("a JSON dump of a LightGBM model", hint));
                }
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(learner.map(|learner| File { version, learner }).or(inner))
}

fn read_version<'a, R: Reader<'a>>(reader: &mut R) -> Result<[u32; 3]> {
    let parts = array(reader, 3, "parts of a version", |reader| {
        let part = reader.integer()?;
        u32::try_from(part)
            .map_err(|_| reader.error(ErrorKind::Number, "a part of the version is no u32"))
    })?;
    <[u32; 3]>::try_from(parts)
        .map_err(|_| reader.error(ErrorKind::Length, "the version does not have three parts"))
}

/// What stands at a key that every model has.
fn required<T>(value: Option<T>, key: &str) -> Result<T> {
    value.ok_or_else(|| Error::new(ErrorKind::MissingKey, format!("model lacks the key \"{key}\"")))
}
