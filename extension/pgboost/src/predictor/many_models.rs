//! Predictions for many rows, each of which names its model.
//!
//! Rows of one model are predicted together, and a group's model is bound while its rows are read and evaluated.
//! State that does not depend on the model is reused for the next one, so that little more than the image is
//! fetched into the processor's caches for each. Memory is bounded by the cache of images and not by the number of
//! models. A row that cannot be predicted is left without a result, as in `batch`.

use std::ops::Range;

use gbtrees::internals::Kernel;
use pg_interface::Datum;
use pg_interface::call::Arguments;
use pg_interface::report::check_for_interrupts;
use pg_interface::signature::ArgSource;

use super::batch::{BatchEvaluation, BatchFunction, BatchOutput};
use super::single_row::Predictor;
use super::statement_state::ReusableState;
use crate::cache::NameMap;
use crate::{cache, guc};

/// The fewest rows of a group that are evaluated together.
const MIN_BATCH: usize = 16;
/// The most rows of a group that are evaluated together, as in a query with one model.
const MAX_BATCH: usize = 512;
/// The most rows to prefetch.
const MAX_FETCHED: usize = 64;
/// The average size of groups above which larger batches gain no time.
const ENOUGH_ROWS: usize = 64;

pub(crate) struct ManyModels {
    function: BatchFunction,
    evaluation: Option<Box<dyn BatchEvaluation>>,
    groups: ModelGroups,
    kernel: Kernel,
    /// The group whose rows are read next, and the number of its rows that were read.
    next: (usize, usize),
    features: Vec<f32>,
    /// The rows that were read.
    read: Vec<usize>,
    /// The model of these rows.
    bound: Option<Predictor>,
    /// The state of the previous model.
    reusable: ReusableState,
}

impl ManyModels {
    pub(crate) fn new(function: BatchFunction) -> ManyModels {
        ManyModels {
            function,
            evaluation: None,
            groups: ModelGroups::default(),
            kernel: guc::kernel(),
            next: (0, 0),
            features: Vec::new(),
            read: Vec::new(),
            bound: None,
            reusable: ReusableState::default(),
        }
    }

    /// Returns the bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        ROW_BYTES + size_of::<Option<Datum>>()
    }

    /// Returns whether groups are so small that larger batches would be faster.
    pub(crate) fn wants_more_rows(&self) -> bool {
        self.groups.rows() < ENOUGH_ROWS * self.groups.len()
    }

    /// Groups the rows of a batch by the names of their models.
    pub(crate) fn group<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) {
        self.groups.fill(rows, name);
        self.kernel = guc::kernel();
        self.next = (0, 0);
    }

    /// Groups the rows by the numbers of their names; `names` has the names by number.
    pub(crate) fn group_by_numbers<'a>(
        &mut self,
        numbers: &[u32],
        names: impl Iterator<Item = &'a [u8]>,
    ) {
        self.groups.fill_by_numbers(numbers, names);
        self.kernel = guc::kernel();
        self.next = (0, 0);
    }

    /// Reads the features of the next rows that name one model, whose arguments `source` returns. None are read if
    /// the model cannot be used. Returns false if there are no more rows. Prefetches the first rows of the next
    /// model, which are scattered in the batch.
    pub(crate) fn read_next<G: ArgSource>(
        &mut self,
        call: Arguments<'_>,
        mut source: impl FnMut(usize) -> G,
        fetch_ahead: impl Fn(usize),
    ) -> bool {
        check_for_interrupts();
        self.read.clear();
        let (group, first) = self.next;
        let Some((name, rows)) = self.groups.get(group) else { return false };
        if let Some((next, rows)) = self.groups.get(group + 1)
            && first == 0
        {
            cache::fetch_ahead(next, self.kernel, rows.len());
            rows.iter().take(MAX_FETCHED).for_each(|row| fetch_ahead(*row as usize));
        }
        let after = rows.len().min(first + MAX_BATCH);
        self.next = if after < rows.len() { (group, after) } else { (group + 1, 0) };
        let rows = rows.get(first..after).unwrap_or_default();
        let Ok(mut predictor) = self.function.begin(call, name, &mut self.reusable) else {
            return true;
        };
        predictor.start_clock();
        let width = predictor.image().row_length();
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
        true
    }

    /// Evaluates the rows that were read, and stores their results. A row that could not be read, or has no
    /// result, keeps the previous value.
    pub(crate) fn put_results(&mut self, results: &mut [Option<Datum>]) {
        if let Some(mut predictor) = self.bound.take() {
            self.evaluate(&mut predictor, results);
            predictor.count_batch(&self.features);
            predictor.end_reusing(&mut self.reusable);
        }
    }

    fn evaluate(&mut self, predictor: &mut Predictor, results: &mut [Option<Datum>]) {
        let ManyModels { function, evaluation, features, read, .. } = self;
        match function.output {
            BatchOutput::Prediction(output) if read.len() < MIN_BATCH => {
                let width = predictor.image().row_length();
                for (row, features) in read.iter().zip(features.chunks(width.max(1))) {
                    let made = predictor.with_margins_of(features, |predictor, margins| {
                        output.of_row(predictor, margins)
                    });
                    let Ok(made) = made else { return };
                    if let Some(result) = results.get_mut(*row) {
                        *result = made.ok();
                    }
                }
            }
            _ => evaluation
                .get_or_insert_with(|| function.evaluation())
                .put_results(predictor, features, read, results),
        }
    }
}

/// The rows, group by group.
#[derive(Default)]
pub(crate) struct ModelGroups {
    /// The concatenated names of the groups, and their ends.
    names: String,
    name_ends: Vec<usize>,
    rows: Vec<u32>,
    /// The end of each group's rows.
    ends: Vec<usize>,
    /// The group of each row; `NO_GROUP` if its name is NULL.
    group_of: Vec<u32>,
}

const NO_GROUP: u32 = u32::MAX;

/// The bytes of a row, in `group_of` and in `rows`.
pub(crate) const ROW_BYTES: usize = 2 * size_of::<u32>();

impl ModelGroups {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of rows that name a model.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the name of a group's model, and its rows.
    pub(crate) fn get(&self, group: usize) -> Option<(&str, &[u32])> {
        let name = self.names.get(range(&self.name_ends, group)?)?;
        Some((name, self.rows.get(range(&self.ends, group)?)?))
    }

    pub(crate) fn fill<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) {
        let mut known: NameMap<&[u8], u32> = NameMap::default();
        let mut last: Option<(&[u8], u32)> = None;
        self.names.clear();
        self.name_ends.clear();
        self.ends.clear();
        self.group_of.clear();
        for row in 0..rows {
            let Some(name) = name(row) else {
                self.group_of.push(NO_GROUP);
                continue;
            };
            // Consecutive rows often have the same model.
            let group = match last {
                Some((last, group)) if last == name => group,
                _ => *known.entry(name).or_insert_with(|| {
                    self.names.push_str(&String::from_utf8_lossy(name));
                    self.name_ends.push(self.names.len());
                    self.ends.push(0);
                    self.ends.len() as u32 - 1
                }),
            };
            last = Some((name, group));
            self.group_of.push(group);
        }
        let group_of = std::mem::take(&mut self.group_of);
        self.place_rows(&group_of);
        self.group_of = group_of;
    }

    /// Groups the rows by the numbers of their names; a number that is out of range stands for NULL.
    pub(crate) fn fill_by_numbers<'a>(
        &mut self,
        numbers: &[u32],
        names: impl Iterator<Item = &'a [u8]>,
    ) {
        self.names.clear();
        self.name_ends.clear();
        self.ends.clear();
        for name in names {
            self.names.push_str(&String::from_utf8_lossy(name));
            self.name_ends.push(self.names.len());
            self.ends.push(0);
        }
        self.place_rows(numbers);
    }

    /// Puts each row into its place in its group.
    fn place_rows(&mut self, group_of: &[u32]) {
        for group in group_of {
            if let Some(count) = self.ends.get_mut(*group as usize) {
                *count += 1;
            }
        }
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        self.rows.clear();
        self.rows.resize(before, 0);
        for (row, group) in (0..).zip(group_of) {
            let Some(next) = self.ends.get_mut(*group as usize) else { continue };
            if let Some(place) = self.rows.get_mut(*next) {
                *place = row;
            }
            *next += 1;
        }
    }
}

fn range(ends: &[usize], index: usize) -> Option<Range<usize>> {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    Some(start..*ends.get(index)?)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn rows_are_grouped_in_their_order() {
        let names = [Some("b"), Some("a"), None, Some("a"), Some("b"), Some("c"), Some("a")];
        let mut groups = ModelGroups::default();
        for _ in 0..2 {
            groups.fill(names.len(), |row| names.get(row).copied().flatten().map(str::as_bytes));
            let all: Vec<_> = (0..groups.len()).filter_map(|group| groups.get(group)).collect();
            assert_eq!(all, [("b", &[0, 4][..]), ("a", &[1, 3, 6]), ("c", &[5])]);
            assert_eq!(groups.rows(), 6);
        }
        let by_numbers: [&[u8]; 2] = [b"b", b"a"];
        groups.fill_by_numbers(&[0, 1, NO_GROUP, 0], by_numbers.into_iter());
        assert_eq!(
            (groups.get(0), groups.get(1)),
            (Some(("b", &[0, 3][..])), Some(("a", &[1][..])))
        );
        groups.fill(0, |_| None);
        assert!(groups.len() == 0 && groups.rows() == 0);
    }
}
