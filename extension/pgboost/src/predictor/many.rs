//! Predictions of many rows, each of which names its model.
//!
//! Rows of one model are predicted together, and a group's model is bound while its rows are read and
//! evaluated. What was worked out for one model serves the next where nothing in it depends on the model, so
//! that of each little more than the image is fetched into the processor's caches. Memory is bounded by the
//! cache of images and not by the number of models. A row that cannot be predicted is left without a
//! result, as in `batch`.

use gbdt::Kernel;
use pg_interface::Datum;
use pg_interface::call::Arguments;
use pg_interface::report::check_for_interrupts;
use pg_interface::signature::ArgSource;

use super::batch::{BatchFunction, BatchOutput};
use super::evaluation::Evaluation;
use super::groups::{self, Groups};
use super::single::{Predictor, Spare};
use crate::cache;
use crate::guc;

/// Fewer rows are evaluated one by one.
const MIN_BATCH: usize = 16;
/// Most rows of a group that are evaluated together, as of a query with one model.
const MAX_BATCH: usize = 512;
/// Most rows that are asked for ahead.
const MAX_FETCHED: usize = 64;
/// Groups of this many rows on the average gain nothing by more.
const ENOUGH_ROWS: usize = 64;

pub struct ManyModels {
    function: BatchFunction,
    evaluation: Option<Box<dyn Evaluation>>,
    groups: Groups,
    kernel: Kernel,
    /// The group whose rows are read next, and how many of them were.
    next: (usize, usize),
    features: Vec<f32>,
    /// The rows that were read.
    read: Vec<usize>,
    /// Their model.
    bound: Option<Predictor>,
    /// What was worked out for the model before.
    spare: Spare,
}

impl ManyModels {
    pub fn new(function: BatchFunction) -> ManyModels {
        ManyModels {
            function,
            evaluation: None,
            groups: Groups::default(),
            kernel: guc::kernel(),
            next: (0, 0),
            features: Vec::new(),
            read: Vec::new(),
            bound: None,
            spare: Spare::default(),
        }
    }

    /// Bytes that a row takes here.
    pub fn row_bytes(&self) -> usize {
        groups::ROW_BYTES + size_of::<Option<Datum>>()
    }

    /// Whether groups have so few rows that more of them at once would be predicted faster.
    pub fn wants_more_rows(&self) -> bool {
        self.groups.rows() < ENOUGH_ROWS * self.groups.len()
    }

    /// Groups the rows of a batch by the names of their models.
    pub fn group<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) {
        self.groups.fill(rows, name);
        self.kernel = guc::kernel();
        self.next = (0, 0);
    }

    /// The same with the names by their numbers, and of each row the number of its name.
    pub fn group_by_numbers<'a>(&mut self, numbers: &[u32], names: impl Iterator<Item = &'a [u8]>) {
        self.groups.fill_by_numbers(numbers, names);
        self.kernel = guc::kernel();
        self.next = (0, 0);
    }

    /// Reads the features of the next rows that name one model, whose arguments `source` returns. None
    /// are read if the model cannot be used. Returns false if there are no more rows. The rows of the model
    /// behind it are asked for, the first of them: each lies elsewhere.
    pub fn read_next<G: ArgSource>(
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
        let Ok(mut predictor) = self.function.begin(call, name, &mut self.spare) else {
            return true;
        };
        predictor.start_clock();
        let width = predictor.image().num_features();
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

    /// Evaluates the rows read, and puts in each one's result. That of a row that could not be read, or
    /// has none, is left as it is.
    pub fn put_results(&mut self, results: &mut [Option<Datum>]) {
        if let Some(mut predictor) = self.bound.take() {
            self.evaluate(&mut predictor, results);
            predictor.count_batch(&self.features);
            predictor.end_to(&mut self.spare);
        }
    }

    fn evaluate(&mut self, predictor: &mut Predictor, results: &mut [Option<Datum>]) {
        let ManyModels { function, evaluation, features, read, .. } = self;
        match function.output {
            BatchOutput::Prediction(output) if read.len() < MIN_BATCH => {
                let width = predictor.image().num_features();
                for (row, features) in read.iter().zip(features.chunks(width.max(1))) {
                    let Ok(mut margins) = predictor.take_margins_of(features) else { return };
                    if let Some(result) = results.get_mut(*row) {
                        *result = output.of_row(predictor, &mut margins).ok();
                    }
                    predictor.put_back(margins);
                }
            }
            _ => evaluation
                .get_or_insert_with(|| function.evaluation())
                .put_results(predictor, features, read, results),
        }
    }
}
