//! Predictions of many rows, each of which names its model.
//!
//! Rows of one model are predicted together: they are grouped by the bytes of the name, without sorting, and
//! a group's model is bound while its rows are read and evaluated. What was worked out for a model stays
//! with its cached image, as for single rows, so that memory is bounded by the cache of images and
//! not by the number of models. A row that cannot be predicted is left without a result, as in `batch`.

use std::collections::HashMap;

use pg_interface::report::check_for_interrupts;
use pgrx::pg_sys::Datum;

use super::batch::{BatchFunction, BatchOutput};
use super::single::Predictor;
use crate::pg::arguments::Arguments;
use crate::pg::signature::ArgSource;

/// Groups of fewer rows are evaluated one by one: buffers for a block take longer to make.
const MIN_BATCH: usize = 16;
/// Groups of this many rows on the average gain nothing by more.
const ENOUGH_ROWS: usize = 64;

pub struct ManyModels {
    function: BatchFunction,
    groups: Groups,
    features: Vec<f32>,
    /// The rows of a group that were read.
    read: Vec<usize>,
    /// The model of the group that was read.
    bound: Option<Predictor>,
    /// Bytes of the features of the widest model so far.
    widest: usize,
}

/// The rows of a batch, by the model that they name.
#[derive(Default)]
struct Groups {
    names: Vec<String>,
    /// The rows of one group after another; `ends[g]` is where those of group `g` end.
    rows: Vec<u32>,
    ends: Vec<u32>,
    /// For each row its group; none if its name is NULL.
    group_of: Vec<Option<u32>>,
}

impl ManyModels {
    pub fn new(function: BatchFunction) -> ManyModels {
        ManyModels {
            function,
            groups: Groups::default(),
            features: Vec::new(),
            read: Vec::new(),
            bound: None,
            widest: 0,
        }
    }

    /// Bytes that a row takes here.
    pub fn row_bytes(&self) -> usize {
        let grouped = size_of::<Option<u32>>() + 2 * size_of::<u32>();
        grouped + size_of::<Option<Datum>>() + self.widest
    }

    /// Whether groups have so few rows that more of them at once would be predicted faster.
    pub fn wants_more_rows(&self) -> bool {
        self.groups.rows.len() < ENOUGH_ROWS * self.groups.names.len()
    }

    /// Groups the rows of a batch by the names of their models. Returns the number of groups.
    pub fn group<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) -> usize {
        self.groups.fill(rows, name);
        self.groups.names.len()
    }

    /// Reads the features of a group's rows, whose arguments the closure returns. None are read if the
    /// model cannot be used.
    pub fn read<G: ArgSource>(
        &mut self,
        group: usize,
        call: Arguments<'_>,
        mut source: impl FnMut(usize) -> G,
    ) {
        check_for_interrupts();
        self.read.clear();
        let Some((name, rows)) = self.groups.get(group) else { return };
        let Ok(mut predictor) = self.function.begin(call, name) else { return };
        predictor.start_clock();
        let width = predictor.image().num_features();
        self.widest = self.widest.max(width * size_of::<f32>());
        self.features.resize(rows.len() * width, 0.0);
        for row in rows {
            let first = self.read.len() * width;
            let Some(features) = self.features.get_mut(first..first + width) else { break };
            if predictor.read_into(source(*row as usize), features).is_ok() {
                self.read.push(*row as usize);
            }
        }
        self.features.truncate(self.read.len() * width);
        self.bound = Some(predictor);
    }

    /// Evaluates the rows read, and puts in each one's result. That of a row that could not be read, or
    /// has none, is left as it is.
    pub fn put_results(&mut self, results: &mut [Option<Datum>]) {
        if let Some(mut predictor) = self.bound.take() {
            self.evaluate(&mut predictor, results);
            predictor.count_batch(&self.features);
            predictor.end();
        }
    }

    fn evaluate(&self, predictor: &mut Predictor, results: &mut [Option<Datum>]) {
        let BatchOutput::Prediction(output) = self.function.output else {
            return self.evaluate_together(predictor, results);
        };
        if self.read.len() >= MIN_BATCH {
            return self.evaluate_together(predictor, results);
        }
        let width = predictor.image().num_features();
        for (row, features) in self.read.iter().zip(self.features.chunks(width.max(1))) {
            let mut margins = predictor.take_margins_of(features);
            if let Some(result) = results.get_mut(*row) {
                *result = output.of_row(predictor, &mut margins).ok();
            }
            predictor.put_back(margins);
        }
    }

    fn evaluate_together(&self, predictor: &Predictor, results: &mut [Option<Datum>]) {
        let mut evaluation = self.function.evaluation(predictor);
        evaluation.put_results(predictor, &self.features, &self.read, results);
    }
}

impl Groups {
    /// The name of a group's model, and its rows.
    fn get(&self, group: usize) -> Option<(&str, &[u32])> {
        let start = group.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let range = start.unwrap_or(0) as usize..*self.ends.get(group)? as usize;
        Some((self.names.get(group)?, self.rows.get(range)?))
    }

    fn fill<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) {
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut last: Option<(&[u8], u32)> = None;
        self.names.clear();
        self.ends.clear();
        self.group_of.clear();
        for row in 0..rows {
            let Some(name) = name(row) else {
                self.group_of.push(None);
                continue;
            };
            // Neighbours often have the same model.
            let group = match last {
                Some((last, group)) if last == name => group,
                _ => *known.entry(name).or_insert_with(|| {
                    self.names.push(String::from_utf8_lossy(name).into_owned());
                    self.ends.push(0);
                    self.ends.len() as u32 - 1
                }),
            };
            last = Some((name, group));
            self.group_of.push(Some(group));
            if let Some(count) = self.ends.get_mut(group as usize) {
                *count += 1;
            }
        }
        self.place_rows();
    }

    /// Turns the counts in `ends` into places, and puts each row into its own.
    fn place_rows(&mut self) {
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        self.rows.clear();
        self.rows.resize(before as usize, 0);
        for (row, group) in (0..).zip(&self.group_of) {
            let next = group.and_then(|group| self.ends.get_mut(group as usize));
            let Some(next) = next else { continue };
            if let Some(place) = self.rows.get_mut(*next as usize) {
                *place = row;
            }
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_grouped_in_their_order() {
        let names = [Some("b"), Some("a"), None, Some("a"), Some("b"), Some("c"), Some("a")];
        let mut groups = Groups::default();
        for _ in 0..2 {
            groups.fill(names.len(), |row| names.get(row).copied().flatten().map(str::as_bytes));
            assert_eq!(groups.names, ["b", "a", "c"]);
            assert_eq!(groups.rows, [0, 4, 1, 3, 6, 5]);
            assert_eq!(groups.ends, [2, 5, 6]);
        }
        groups.fill(0, |_| None);
        assert!(groups.names.is_empty() && groups.rows.is_empty());
    }
}
