//! The progress of trainings, for `pg_stat_progress_train_model`.
//!
//! PostgreSQL has no progress slot for extensions, and shared memory only for preloaded libraries. So a training
//! writes a small file, named after its process, into PostgreSQL's folder of temporary statistics, which base
//! backups leave out. The file is written whole and renamed, at most a few times per second, and removed at the
//! end. A terminated backend may leave its file behind, or an unfinished one: readers compare the start of the
//! backend, and remove the file of a process that has ended.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pg_interface::session;
use serde::{Deserialize, Serialize};

/// Relative to the data directory, a backend's working directory.
const FOLDER: &str = "pg_stat_tmp";
const PREFIX: &str = "pgboost_train.";
/// The ending of the name of an unfinished file.
const UNFINISHED: &str = ".new";

const BETWEEN_WRITES: Duration = Duration::from_millis(200);
/// The number of rows between two readings of the clock.
const ROWS_BETWEEN_LOOKS: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Reading,
    Building,
    Training,
    Storing,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Reading => "reading rows",
            Phase::Building => "building matrix",
            Phase::Training => "training",
            Phase::Storing => "storing model",
        }
    }
}

/// A backend's record, for the rows of the view.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) backend_start: i64,
    /// The session's user.
    pub(crate) user: u32,
    /// `None` if no model will be stored.
    pub(crate) model: Option<String>,
    pub(crate) phase: String,
    pub(crate) rows_read: u64,
    pub(crate) round: u32,
    pub(crate) rounds: u32,
    pub(crate) metric: String,
}

/// The progress of this backend's training.
pub(crate) struct Progress {
    path: PathBuf,
    record: Record,
    written: Instant,
}

impl Progress {
    pub(crate) fn begin(model: Option<&str>, rounds: u32) -> Progress {
        let progress = Progress {
            path: Path::new(FOLDER).join(format!("{PREFIX}{}", session::pid())),
            record: Record {
                backend_start: session::started(),
                user: session::session_user().to_u32(),
                model: model.map(str::to_owned),
                phase: Phase::Reading.name().to_owned(),
                rows_read: 0,
                round: 0,
                rounds,
                metric: String::new(),
            },
            written: Instant::now(),
        };
        progress.write();
        progress
    }

    pub(crate) fn phase(&mut self, phase: Phase) {
        phase.name().clone_into(&mut self.record.phase);
        self.write();
    }

    /// Begins a trial of a search.
    pub(crate) fn trial(&mut self, number: usize, of: usize, rounds: u32) {
        (self.record.round, self.record.rounds) = (0, rounds);
        self.record.phase = format!("trial {number} of {of}");
        self.write();
    }

    /// Reports the number of rows that are read.
    #[inline]
    pub(crate) fn rows(&mut self, rows: u64) {
        self.record.rows_read = rows;
        if rows.is_multiple_of(ROWS_BETWEEN_LOOKS) {
            self.write_if_due();
        }
    }

    pub(crate) fn round(&mut self, round: u32, metric: &str) {
        self.record.round = round;
        metric.clone_into(&mut self.record.metric);
        self.write_if_due();
    }

    fn write_if_due(&mut self) {
        if self.written.elapsed() >= BETWEEN_WRITES {
            self.write();
            self.written = Instant::now();
        }
    }

    /// Writes the record. A failure is ignored, since a training does not depend on it.
    fn write(&self) {
        let record = serde_json::to_vec(&self.record).unwrap_or_default();
        let unfinished = self.path.with_extension(format!("{}{UNFINISHED}", session::pid()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(pg_interface::session::file_mode())
            .open(&unfinished)
            .and_then(|mut file| file.write_all(&record))
            .and_then(|()| fs::rename(&unfinished, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the records of running backends, by their process ids, and removes those of ended ones.
pub(crate) fn records() -> Vec<(i32, Record)> {
    let Ok(folder) = fs::read_dir(FOLDER) else { return Vec::new() };
    let paths = folder.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter_map(|path| record(&path)).collect()
}

fn record(path: &Path) -> Option<(i32, Record)> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let pid: i32 = name.strip_suffix(UNFINISHED).unwrap_or(name).parse().ok()?;
    if !Path::new("/proc").join(pid.to_string()).exists() {
        let _ = fs::remove_file(path);
        return None;
    }
    if name.ends_with(UNFINISHED) {
        return None;
    }
    Some((pid, serde_json::from_slice(&fs::read(path).ok()?).ok()?))
}
