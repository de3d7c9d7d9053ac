//! Reads the rows of a source, once, into temporary files: one to train on, one for evaluation.

use super::progress::Progress;
use super::split::Split;
use crate::error::{Error, Result};
use crate::pg::query::{self, Row};
use crate::source::columns::Columns;
use crate::source::dictionary::Sorted;
use crate::source::records::{self, Dictionaries, Groups, Records};
use crate::source::spool::Spool;
use crate::xgboost::Library;
use crate::xgboost::matrix::{Making, Matrix};

/// Rows for one purpose.
pub struct Set {
    spool: Spool,
    /// Sizes of groups, if there are such, and their weights.
    groups: Vec<u32>,
    weights: Vec<f32>,
}

impl Set {
    fn new(columns: &Columns) -> Set {
        let spool = Spool::new(records::layout(columns).record);
        Set { spool, groups: Vec::new(), weights: Vec::new() }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.spool.rows()
    }

    /// Makes a matrix of the rows.
    pub fn matrix(
        &mut self,
        library: &'static Library,
        making: Making<'_>,
        cuts_of: Option<&Matrix>,
    ) -> Result<Matrix> {
        let matrix = Matrix::of_rows(library, &mut self.spool, making, cuts_of);
        // Reading stops where the statement is to end; this is where it ends.
        pg_interface::report::check_for_interrupts();
        let matrix = matrix?;
        if !self.groups.is_empty() {
            let weights = (!self.weights.is_empty()).then_some(self.weights.as_slice());
            matrix.set_groups(&self.groups, weights)?;
        }
        Ok(matrix)
    }
}

/// All rows.
pub struct Rows {
    /// Those that are trained on.
    pub train: Set,
    /// Those for evaluation.
    pub eval: Option<Set>,
    skipped: u64,
}

impl Rows {
    /// Says what to put for the codes in a word of each record.
    pub fn recode(&mut self, at: usize, sorted: &Sorted) {
        self.train.spool.recode(at, sorted);
        if let Some(eval) = &mut self.eval {
            eval.spool.recode(at, sorted);
        }
    }

    /// Rows trained on, kept for evaluation, and skipped.
    pub fn counts(&self) -> [u64; 3] {
        [self.train.rows(), self.eval.as_ref().map_or(0, Set::rows), self.skipped]
    }
}

/// Reads rows.
pub struct Reader<'a> {
    columns: &'a Columns,
    records: Records<'a>,
    groups: Groups,
    split: Split,
    train: Set,
    eval: Option<Set>,
    /// Rows that were read, and of those the ones without a target.
    read: u64,
    skipped: u64,
    /// The number of the current group, and whether it is kept for evaluation.
    group: u64,
    group_kept: bool,
}

impl<'a> Reader<'a> {
    /// For rows with these columns.
    pub fn new(columns: &'a Columns, texts: &'a mut Dictionaries, split: Split) -> Reader<'a> {
        Reader {
            columns,
            records: Records::new(columns, texts),
            groups: Groups::default(),
            split,
            train: Set::new(columns),
            eval: split.keeps_some().then(|| Set::new(columns)),
            read: 0,
            skipped: 0,
            group: 0,
            group_kept: false,
        }
    }

    /// Runs the query and takes its rows.
    pub fn read(
        &mut self,
        query: &str,
        argument: &'static str,
        progress: &mut Progress,
    ) -> Result<()> {
        query::run(query, argument, &mut |row| {
            self.read += 1;
            progress.rows(self.read);
            self.take(row)
        })
    }

    fn take(&mut self, row: Row<'_>) -> Result<()> {
        let Some(record) = self.records.read(row)? else {
            self.skipped += 1;
            return Ok(());
        };
        let grouped = self.columns.group.is_some();
        let begins = grouped && self.groups.begins(self.columns, row)?;
        if begins {
            self.group += 1;
            self.group_kept = self.split.keeps(self.group);
        }
        let kept = if grouped { self.group_kept } else { self.split.keeps(self.read) };
        let set = match &mut self.eval {
            Some(eval) if kept => eval,
            _ => &mut self.train,
        };
        if begins {
            set.groups.push(0);
            if self.columns.weight.is_some() {
                set.weights.push(records::weight(self.columns, row)?);
            }
        }
        if let Some(size) = set.groups.last_mut() {
            *size += 1;
        }
        set.spool.push(record);
        Ok(())
    }

    /// The rows.
    ///
    /// # Errors
    /// [`Error::NoRows`] if there are none for one of the purposes.
    pub fn finish(mut self, argument: &'static str) -> Result<Rows> {
        let skipped = self.skipped;
        if self.train.rows() == 0 {
            return Err(Error::NoRows { argument, skipped });
        }
        self.train.spool.finish();
        if let Some(eval) = &mut self.eval {
            if eval.rows() == 0 {
                return Err(Error::NoRows { argument: "eval_fraction", skipped: 0 });
            }
            eval.spool.finish();
        }
        Ok(Rows { train: self.train, eval: self.eval, skipped })
    }
}
