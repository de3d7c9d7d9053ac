//! Reads the rows of a source, once, into temporary files: one to train on, one for evaluation.

use super::profile::Profile;
use super::progress::Progress;
use super::split::Split;
use crate::error::Result;
use crate::source::columns::Columns;
use crate::source::records::{self, Dictionaries, Records};
use crate::source::spool::Spool;
use pg_interface::source::{Groups, Row, SourceError, query};

/// Rows for one purpose.
pub struct Set {
    spool: Spool,
    /// What the trainer is told of them, but for the path.
    told: pgboost_trainer::Set,
}

impl Set {
    fn new() -> Set {
        Set { spool: Spool::new(), told: pgboost_trainer::Set::default() }
    }

    pub fn rows(&self) -> u64 {
        self.spool.rows()
    }

    pub fn for_trainer(&self) -> pgboost_trainer::Set {
        pgboost_trainer::Set { path: self.spool.path(), ..self.told.clone() }
    }
}

pub struct Rows {
    pub train: Set,
    pub eval: Option<Set>,
    /// What the features are in the rows to train on, if that is asked for.
    pub profile: Option<Profile>,
    skipped: u64,
}

impl Rows {
    /// Rows trained on, kept for evaluation, and skipped.
    pub fn counts(&self) -> [u64; 3] {
        [self.train.rows(), self.eval.as_ref().map_or(0, Set::rows), self.skipped]
    }
}

pub struct Reader<'a> {
    columns: &'a Columns,
    records: Records<'a>,
    groups: Groups,
    split: Split,
    rows: Rows,
    /// Rows that were read, also those without a target.
    read: u64,
    /// The number of the current group, and whether it is kept for evaluation.
    group: u64,
    group_kept: bool,
}

impl<'a> Reader<'a> {
    pub fn new(columns: &'a Columns, texts: &'a mut Dictionaries, split: Split) -> Reader<'a> {
        Reader {
            columns,
            records: Records::new(columns, texts),
            groups: Groups::default(),
            split,
            rows: Rows {
                train: Set::new(),
                eval: split.keeps_some().then(Set::new),
                profile: None,
                skipped: 0,
            },
            read: 0,
            group: 0,
            group_kept: false,
        }
    }

    /// Profiles the features of the rows to train on as well.
    pub fn with_profile(mut self) -> Self {
        self.rows.profile = Some(Profile::of(self.columns));
        self
    }

    pub fn read(
        &mut self,
        query: &str,
        argument: &'static str,
        progress: &mut Progress,
    ) -> Result<()> {
        query::run(query, argument, |row| {
            self.read += 1;
            progress.rows(self.read);
            self.take(row)
        })
    }

    fn take(&mut self, row: Row<'_>) -> Result<()> {
        let Some(record) = self.records.read(row)? else {
            self.rows.skipped += 1;
            return Ok(());
        };
        let grouped = self.columns.group.is_some();
        let begins = match &self.columns.group {
            Some(group) => self.groups.begins(&group.name, row.get(group.position))?,
            None => false,
        };
        if begins {
            self.group += 1;
            self.group_kept = self.split.keeps(self.group);
        }
        let kept = if grouped { self.group_kept } else { self.split.keeps(self.read) };
        let set = match &mut self.rows.eval {
            Some(eval) if kept => eval,
            _ => {
                if let Some(profile) = &mut self.rows.profile {
                    profile.add(record)?;
                }
                &mut self.rows.train
            }
        };
        if begins {
            set.told.groups.push(0);
            if self.columns.weight.is_some() {
                set.told.weights.push(records::weight(self.columns, row)?.to_bits());
            }
        }
        if let Some(size) = set.told.groups.last_mut() {
            *size += 1;
        }
        set.spool.push(record)
    }

    /// The rows.
    pub fn finish(mut self, argument: &'static str) -> Result<Rows> {
        let Rows { train, eval, skipped, .. } = &mut self.rows;
        if train.rows() == 0 {
            return Err(SourceError::NoRows { argument, skipped: *skipped }.into());
        }
        train.spool.finish()?;
        if let Some(eval) = eval {
            if eval.rows() == 0 {
                return Err(SourceError::NoRows { argument: "eval_fraction", skipped: 0 }.into());
            }
            eval.spool.finish()?;
        }
        Ok(self.rows)
    }
}
