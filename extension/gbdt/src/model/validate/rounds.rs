//! Where each boosting round begins in the list of trees.

use super::RawModel;
use crate::{Error, ErrorKind, Result};

/// The starts of the rounds, and the number of trees at the end.
pub(super) fn starts(raw: &RawModel, tree_outputs: &[u32]) -> Result<Vec<u32>> {
    match &raw.iteration_indptr {
        Some(stated) => check(stated, raw.trees.len()),
        None => derive(raw.num_parallel_tree, tree_outputs),
    }
}

fn check(stated: &[i64], num_trees: usize) -> Result<Vec<u32>> {
    let starts: Option<Vec<u32>> = stated.iter().map(|start| u32::try_from(*start).ok()).collect();
    starts
        .filter(|starts| {
            starts.is_sorted()
                && starts.first() == Some(&0)
                && starts.last().is_some_and(|end| *end as usize == num_trees)
        })
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Parameter,
                "the rounds in \"iteration_indptr\" do not ascend from 0 to the number of trees",
            )
        })
}

/// Releases before 2.0 leave it to the reader: every round grows the same number of trees for every
/// output. XGBoost refuses a file whose trees do not come out even, and so does this.
fn derive(num_parallel_tree: i64, tree_outputs: &[u32]) -> Result<Vec<u32>> {
    let outputs = tree_outputs.iter().max().map_or(1, |last| *last as usize + 1);
    let step = usize::try_from(num_parallel_tree)
        .ok()
        .filter(|parallel| *parallel > 0)
        .and_then(|parallel| parallel.checked_mul(outputs))
        .filter(|step| tree_outputs.len().is_multiple_of(*step))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Parameter,
                format!(
                    "{} trees do not make whole rounds of {num_parallel_tree} trees for {outputs} outputs",
                    tree_outputs.len()
                ),
            )
        })?;
    Ok((0..=tree_outputs.len()).step_by(step).map(|start| start as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_derived_from_parallel_trees_and_outputs() {
        assert_eq!(derive(1, &[0, 0, 0]).unwrap(), [0, 1, 2, 3]);
        assert_eq!(derive(2, &[0, 0, 1, 1, 0, 0, 1, 1]).unwrap(), [0, 4, 8]);
        assert_eq!(derive(3, &[]).unwrap(), [0]);
        for (parallel, outputs) in
            [(2, [0, 0, 0]), (0, [0, 0, 0]), (-1, [0, 0, 0]), (i64::MAX, [0, 0, 1])]
        {
            assert_eq!(derive(parallel, &outputs).unwrap_err().kind(), ErrorKind::Parameter);
        }
    }

    #[test]
    fn stated_rounds_must_cover_the_trees() {
        assert_eq!(check(&[0, 2, 3], 3).unwrap(), [0, 2, 3]);
        assert_eq!(check(&[0], 0).unwrap(), [0]);
        for stated in [&[][..], &[0], &[1, 3], &[0, 2, 1, 3], &[0, 4], &[-1, 3], &[0, 1 << 40]] {
            assert_eq!(check(stated, 3).unwrap_err().kind(), ErrorKind::Parameter, "{stated:?}");
        }
    }
}
