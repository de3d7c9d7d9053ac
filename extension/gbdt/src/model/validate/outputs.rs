//! How many outputs a model has, and which of them each tree adds to.

use super::{RawModel, check_limit};
use crate::model::Task;
use crate::{Error, ErrorKind, Limits, Place, Result};

/// The number of classes or of targets, whichever there are several of.
pub(super) fn count(raw: &RawModel, limits: &Limits) -> Result<usize> {
    let classes = size(raw.num_class, 0, "classes")?;
    let targets = size(raw.num_target, 1, "targets")?;
    check_limit(classes, limits.outputs, "classes")?;
    check_limit(targets, limits.outputs, "targets")?;
    if classes > 1 && targets > 1 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("a model of {classes} classes and {targets} targets is not supported"),
        ));
    }
    if raw.objective.task == Task::Multiclass && classes == 0 {
        return Err(Error::new(
            ErrorKind::Parameter,
            format!("a model with objective \"{}\" has no classes", raw.objective.name),
        ));
    }
    Ok(classes.max(targets))
}

fn size(value: i64, least: usize, what: &str) -> Result<usize> {
    usize::try_from(value).ok().filter(|size| *size >= least).ok_or_else(|| {
        Error::new(ErrorKind::Parameter, format!("a model cannot have {value} {what}"))
    })
}

/// Every tree adds to an output that exists.
pub(super) fn of_trees(tree_info: &[i64], num_outputs: usize) -> Result<Vec<u32>> {
    let mut outputs = Vec::new();
    outputs.try_reserve(tree_info.len()).map_err(|_| super::out_of_memory())?;
    for (tree, info) in tree_info.iter().enumerate() {
        let output = u32::try_from(*info).ok().filter(|output| (*output as usize) < num_outputs);
        outputs.push(output.ok_or_else(|| {
            Error::new(
                ErrorKind::OutputRange,
                format!("a tree adds to output {info} of a model of {num_outputs}"),
            )
            .at(Place::Tree(tree))
        })?);
    }
    Ok(outputs)
}
