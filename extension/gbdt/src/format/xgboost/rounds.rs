//! Where each boosting round begins in the list of trees.

use crate::{Error, ErrorKind, Result};

/// The starts of the rounds, then the number of trees, for a file that does not list them.
///
/// Releases before 2.0 leave it to the reader: every round grows the same number of trees for every
/// output (src/gbm/gbtree_model.cc, `MakeIndptr`). XGBoost refuses a file whose trees do not come
/// out even, and so does this.
pub(super) fn derive(num_parallel_tree: i64, tree_info: &[i64]) -> Result<Vec<u32>> {
    let last = tree_info.iter().max().and_then(|last| usize::try_from(*last).ok());
    let outputs = last.map_or(1, |last| last.saturating_add(1));
    let trees = tree_info.len();
    let step = usize::try_from(num_parallel_tree)
        .ok()
        .filter(|parallel| *parallel > 0)
        .and_then(|parallel| parallel.checked_mul(outputs))
        .filter(|step| trees.is_multiple_of(*step))
        .ok_or_else(|| {
            let round = format!("{num_parallel_tree} trees for {outputs} outputs");
            let message = format!("{trees} trees do not make whole rounds of {round}");
            Error::new(ErrorKind::Parameter, message)
        })?;
    Ok((0..=trees).step_by(step).map(|start| start as u32).collect())
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
}
