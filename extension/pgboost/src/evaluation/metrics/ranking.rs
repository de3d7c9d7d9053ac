//! The normalised discounted cumulative gain of groups of rows: the mean of scikit-learn's `ndcg_score`
//! over the groups, of all rows and of the best ten.
//!
//! The gain is the target itself, and rows of the same score share their places
//! (sklearn/metrics/_ranking.py, `_tie_averaged_dcg`). XGBoost's own metric has exponential gains and
//! takes such rows as they come. The weight of a group is that of its first row. A group of one row is an error,
//! as it is in scikit-learn: any order of it is the best.

use row_source::SourceError;
use row_source::sorter::work_mem;

use super::{Metrics, Results, named};
use crate::error::{Error, Result};
use crate::evaluation::rows::KnownRow;
use crate::predictor::source::Prediction;

/// How many of the best rows count, and what the metric is called.
const CUTS: [(usize, &str); 2] = [(usize::MAX, "ndcg"), (10, "ndcg@10")];

pub struct Ranking {
    target: String,
    /// Scores and targets of the group that is not yet complete.
    group: Vec<(f32, f64)>,
    group_number: u64,
    group_weight: f64,
    weight: f64,
    sums: [f64; CUTS.len()],
}

impl Ranking {
    /// Of groups of rows; `target` is the column of their relevance.
    pub fn of(target: &str) -> Ranking {
        let target = target.to_owned();
        Ranking {
            target,
            group: Vec::new(),
            group_number: 0,
            group_weight: 0.0,
            weight: 0.0,
            sums: [0.0; CUTS.len()],
        }
    }

    fn end_group(&mut self) -> Result<()> {
        match self.group.len() {
            0 => return Ok(()),
            1 => return Err(Error::GroupOfOneRow { number: self.group_number }),
            _ => {}
        }
        self.weight += self.group_weight;
        self.group.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        let best = CUTS.map(|(cut, _)| gain(&self.group, cut, |_, _| false));
        self.group.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let found = CUTS.map(|(cut, _)| gain(&self.group, cut, |a, b| a == b));
        for ((sum, found), best) in self.sums.iter_mut().zip(found).zip(best) {
            *sum += self.group_weight * if best > 0.0 { found / best } else { 0.0 };
        }
        self.group.clear();
        Ok(())
    }
}

/// The discounted gain of rows in this order, those whose scores are tied sharing their places.
fn gain(rows: &[(f32, f64)], cut: usize, tied: impl Fn(f32, f32) -> bool) -> f64 {
    let mut place = 0;
    let blocks = rows.chunk_by(|a, b| tied(a.0, b.0));
    blocks
        .map(|block| {
            let places = place..place + block.len();
            place = places.end;
            let discounts: f64 = places
                .take_while(|place| *place < cut)
                .map(|place| 1.0 / (place as f64 + 2.0).log2())
                .sum();
            let mean = block.iter().map(|row| row.1).sum::<f64>() / block.len() as f64;
            discounts * mean
        })
        .sum()
}

impl Metrics for Ranking {
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        if row.target < 0.0 {
            let (column, what) = (self.target.clone(), "is negative, so it cannot be a relevance");
            return Err(SourceError::ValueRefused { column, what }.into());
        }
        if row.group != self.group_number {
            self.end_group()?;
            self.group_number = row.group;
            self.group_weight = row.weight;
        }
        if size_of_val(self.group.as_slice()) > work_mem() {
            return Err(Error::GroupTooLarge { rows: self.group.len() });
        }
        self.group.push((prediction.value(), row.target));
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        self.end_group()?;
        let means = CUTS.iter().zip(self.sums);
        Ok(means.map(|((_, name), sum)| named(name, sum / self.weight)).collect())
    }
}
