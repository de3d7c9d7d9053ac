//! Codes of categories in sets, as splits test them: themselves, or the number of their run.
//!
//! Tables of sets have a line per code up to the largest. Where the sets of a feature have few of these, their
//! lines are those of runs of codes that are in the same sets, so that a script's size follows the file's.

use std::collections::{BTreeSet, HashMap};

use super::quote::array;
use crate::ensemble::{CategorySet, Ensemble, NODES_PER_CHECK, Node, SplitCondition};
use crate::memory::filled;
use crate::{Cancel, Result};

/// Codes per start of a run, beyond which runs take their place.
const SPARSE: usize = 8;
/// Bits that tables of sets may take.
pub(super) const MAX_BITS: usize = 1 << 28;

/// The runs of codes of a model's features.
#[derive(Default)]
pub(super) struct Codes {
    /// By feature where each run starts but the first, which is in no set.
    starts: HashMap<u32, Vec<u32>>,
    /// By tree and node the runs in its set.
    sets: HashMap<(usize, usize), Vec<u32>>,
}

impl Codes {
    pub(super) fn of(model: &Ensemble, cancel: Cancel<'_>) -> Result<Self> {
        let mut edges: HashMap<u32, (usize, BTreeSet<u32>)> = HashMap::new();
        for (place, feature, set) in splits(model) {
            if place.1.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let (splits, edges) = edges.entry(feature).or_default();
            *splits += 1;
            edges.extend(ends_of_runs(set));
        }
        edges.retain(|_, (_, edges)| {
            edges.last().is_some_and(|last| edges.len().saturating_mul(SPARSE) < *last as usize)
        });
        let mut bits = edges.values().map(|(splits, edges)| splits.saturating_mul(edges.len()));
        if bits.any(|bits| bits > MAX_BITS) {
            return Err(too_many());
        }
        let starts =
            edges.into_iter().map(|(feature, (_, own))| (feature, own.into_iter().collect()));
        let mut codes = Codes { starts: starts.collect(), sets: HashMap::new() };
        for (place, feature, set) in splits(model) {
            let Some(starts) = codes.starts.get(&feature) else { continue };
            cancel.check()?;
            let mut words = filled(starts.len() / 32 + 1, 0u32)?;
            for (run, _) in (1..).zip(starts).filter(|(_, start)| set.contains(**start)) {
                words[run / 32] |= 1 << (run % 32);
            }
            codes.sets.insert(place, words);
        }
        Ok(codes)
    }

    /// Returns the words of a node's set.
    pub(super) fn words<'m>(&'m self, place: (usize, usize), set: &'m CategorySet) -> &'m [u32] {
        self.sets.get(&place).map_or(set.words(), Vec::as_slice)
    }

    /// Returns the expression of what sets have of a code.
    pub(super) fn number_of(&self, feature: usize, code: String) -> String {
        match self.starts.get(&(feature as u32)) {
            Some(starts) => {
                let starts = array(starts);
                format!("width_bucket({code}, {starts}::int4[])")
            }
            None => code,
        }
    }
}

/// The error of a model whose tables of sets are too large.
pub(super) fn too_many() -> crate::Error {
    fault!(Unsupported, "cannot export a model with too many categories in its splits as SQL")
}

/// Returns each split by a set: its tree and node, its feature and the set.
fn splits(model: &Ensemble) -> impl Iterator<Item = ((usize, usize), u32, &CategorySet)> {
    let trees = model.trees().iter().enumerate();
    trees.flat_map(|(number, tree)| {
        tree.nodes().iter().enumerate().filter_map(move |(id, node)| match node {
            Node::Split(split) => match split.condition {
                SplitCondition::InSet { set, .. } => {
                    Some(((number, id), split.feature, &tree.category_sets()[set as usize]))
                }
                SplitCondition::Compare { .. } => None,
            },
            _ => None,
        })
    })
}

/// Returns the codes that are in a set unlike the one before, and the other way round.
fn ends_of_runs(set: &CategorySet) -> impl Iterator<Item = u32> {
    let words = (0u32..).zip(set.words()).filter(|(_, word)| **word != 0);
    let codes = words.flat_map(|(place, word)| {
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 32 * place + bit)
    });
    codes.flat_map(|code| {
        let before = code.checked_sub(1).is_some_and(|before| set.contains(before));
        let starts = (!before).then_some(code);
        starts.into_iter().chain((!set.contains(code + 1)).then_some(code + 1))
    })
}

#[cfg(test)]
mod tests {
    use crate::LoadOptions;
    use crate::sql::{Options, export};

    #[test]
    fn a_few_large_codes_make_no_large_script() {
        let codes: Vec<String> = (1..=20).map(|code| (100_000 * code).to_string()).collect();
        let file = format!(
            r#"{{"tree_ensemble": 1, "feature_names": ["k"], "trees": [{{"left": [1, -1, -1],
            "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0, 0, 0], "leaf_values":
            [0, 1], "category_set": [0, -1, -1], "category_sets": [[{}]]}}]}}"#,
            codes.join(", ")
        );
        let script = export(file.as_bytes(), &LoadOptions::new(), &Options::new("m")).unwrap();
        assert!(script.len() < 50_000, "{}", script.len());
    }
}
