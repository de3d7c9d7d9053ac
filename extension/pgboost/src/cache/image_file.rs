//! Images as files: one copy of a compiled model for all backends, which map it read-only.
//!
//! A file's name is a digest of its inputs: the digest of the model's bytes, the rounds that are used, names,
//! labels, categories and the meaning of reals, and the engine's version of the layout. So a file never changes,
//! a wrong one is never found, and an upgrade makes new ones. A file is written under another name and renamed,
//! and carries a checksum. The folder of a database is below the data directory, which is the working directory
//! of every backend. If it is lost, the images are made again.
//!
//! A check reads the whole image: half a millisecond for a few megabytes. It is needed because a crash of the
//! machine may tear a file that was never synced, and because files can be damaged. The first backend that
//! opens a file checks it and writes a record, which spares others the check while the server runs and the
//! file is unchanged: every write updates the file's ctime, which no process can set.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gbtrees::internals::{
    AlignedBytes, ArrayCategories, COMPILED_MODEL_VERSION, CompiledModel, RealInput, StableBytes,
};
use memmap2::{Mmap, MmapOptions};
use pg_interface::report::check_for_interrupts;
use pg_interface::{Oid, catalog, fault, session};
use pgrx::pg_sys;
use sha2::{Digest, Sha256};

pub(super) const FOLDER: &str = "pgboost";
pub(super) const SUFFIX: &str = ".image";
pub(super) const RECORD: &str = ".checked";
pub(super) const UNFINISHED: &str = ".tmp";
/// The number of bytes written between two checks for interrupts.
const PIECE: usize = 8 << 20;

/// The digest of an image's inputs, as a short text, equal in every backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ImageKey(pub(super) String);

/// The inputs of an image, whose digest is its key.
pub(crate) struct KeyInputs<'a> {
    /// Of the model's file.
    pub(crate) digest: &'a [u8],
    pub(crate) rounds: usize,
    pub(crate) feature_names: &'a [String],
    pub(crate) labels: &'a [String],
    /// As JSON, if categories were passed with the file.
    pub(crate) categories: Option<&'a str>,
    pub(crate) real_input: RealInput,
    pub(crate) array_categories: ArrayCategories,
}

impl ImageKey {
    pub(crate) fn new(inputs: &KeyInputs<'_>) -> Self {
        let mut hash = Sha256::new();
        hash.update(inputs.digest);
        hash.update((inputs.rounds as u64).to_le_bytes());
        hash.update([inputs.real_input as u8, inputs.array_categories as u8]);
        let categories = inputs.categories.map(str::to_owned);
        for texts in [inputs.feature_names, inputs.labels, categories.as_slice()] {
            hash.update((texts.len() as u64).to_le_bytes());
            for text in texts {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
        }
        let hex: String =
            hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect();
        ImageKey(format!("{hex}-{COMPILED_MODEL_VERSION}"))
    }

    pub(crate) fn path(&self) -> PathBuf {
        folder().join(format!("{}{SUFFIX}", self.0))
    }

    /// Returns the path of the record of its check.
    fn record(&self) -> PathBuf {
        folder().join(format!("{}{RECORD}", self.0))
    }
}

/// Returns the folder of this database.
pub(crate) fn folder() -> PathBuf {
    folder_of(session::database())
}

pub(super) fn folder_of(database: u32) -> PathBuf {
    PathBuf::from(FOLDER).join(database.to_string())
}

/// Opens an image that some backend has written, if it exists and is undamaged.
pub(crate) fn open(key: &ImageKey) -> Option<ModelImage> {
    let file = File::open(key.path()).ok()?;
    let stamp = FileStamp::of(&file).ok()?;
    if let Ok(record) = fs::read(key.record())
        && let Some(image) = open_checked(&file, &stamp, &record)
    {
        return Some(image);
    }
    let record = begin_record(key, &stamp);
    let bytes = ImageBytes::map(&file).ok()?;
    let image =
        CompiledModel::open_checking(bytes, gbtrees::Cancel::unwinding(&check_for_interrupts))
            .ok()?;
    if let Some(record) = record {
        // Without a record the next backend checks the image again.
        let _ = record.rename(&key.record());
    }
    Some(image)
}

/// Writes an image so that other backends find it whole or not at all.
pub(crate) fn write(key: &ImageKey, image: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(session::directory_mode()).create(folder())?;
    replace(&key.path(), image)
}

/// A file that is removed on drop unless it was renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Unfinished {
    /// Creates the file that shall have that path.
    fn create(path: &Path) -> io::Result<(Unfinished, File)> {
        let mut unfinished = Unfinished(path.to_owned());
        unfinished.0.add_extension(format!("{}{UNFINISHED}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(session::file_mode());
        let file = options.open(&unfinished.0)?;
        Ok((unfinished, file))
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

/// Writes a file under another name and renames it. Checks for interrupts.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let (unfinished, mut file) = Unfinished::create(path)?;
    for piece in content.chunks(PIECE) {
        check_for_interrupts();
        file.write_all(piece)?;
    }
    fault::at("image: not renamed");
    unfinished.rename(path)
}

/// Writes the record of a check that is about to begin, under another name. `None` if the image was changed just
/// now, so that a change during the check might leave its stamp equal. The file system's time is that of the record.
fn begin_record(key: &ImageKey, stamp: &FileStamp) -> Option<Unfinished> {
    let (unfinished, mut file) = Unfinished::create(&key.record()).ok()?;
    file.write_all(stamp.text.as_bytes()).ok()?;
    let now = time_of_change(&file.metadata().ok()?);
    is_settled(stamp.changed, now).then_some(unfinished)
}

pub(crate) type ModelImage = CompiledModel<ImageBytes>;

pub(crate) enum ImageBytes {
    /// A file that all processes map.
    Mapped(Mmap),
    /// Memory of this backend, if the file cannot be written.
    Private(AlignedBytes),
}

impl ImageBytes {
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // One row's paths through all trees touch most pages: mapped at once they cost no faults.
        let mut options = MmapOptions::new();
        options.populate();
        // SAFETY: image files are written whole under another name, renamed, and never written or
        // truncated afterwards; removing one leaves its mappings valid. That nobody else who may
        // write to the data directory changes a file in place is taken for granted, as PostgreSQL
        // takes it for its own files.
        let map = unsafe { options.map(file)? };
        Ok(ImageBytes::Mapped(map))
    }
}

impl Deref for ImageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            ImageBytes::Mapped(map) => map,
            ImageBytes::Private(bytes) => bytes,
        }
    }
}

// SAFETY: neither a mapping nor the aligned allocation moves or changes while it is owned; image
// files are never modified in place.
unsafe impl StableBytes for ImageBytes {}

/// Two changes within one tick of the kernel's clock, at most ten milliseconds, may have the same time.
const TICK: Duration = Duration::from_millis(20);
/// The same where a file system rounds times down to whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(1);

/// Returns whether a change from now on gets another time than the last one.
fn is_settled(changed: Duration, now: Duration) -> bool {
    let tick = if changed.subsec_nanos() == 0 { COARSE_TICK } else { TICK };
    now.checked_sub(changed).is_some_and(|age| age > tick)
}

fn time_of_change(found: &fs::Metadata) -> Duration {
    let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or(0);
    Duration::new(found.ctime().max(0).cast_unsigned(), nanoseconds)
}

/// The identity and the time of change of a file, in this run of the server.
pub(crate) struct FileStamp {
    text: String,
    /// Since the epoch.
    changed: Duration,
}

impl FileStamp {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the postmaster sets it once, before any backend starts.
        let run = unsafe { pg_sys::PgStartTime };
        let found = file.metadata()?;
        let changed = time_of_change(&found);
        let text = format!(
            "{run} {} {} {} {}.{:09}\n",
            found.dev(),
            found.ino(),
            found.size(),
            changed.as_secs(),
            changed.subsec_nanos()
        );
        Ok(FileStamp { text, changed })
    }
}

pub(crate) fn open_checked(file: &File, stamp: &FileStamp, record: &[u8]) -> Option<ModelImage> {
    if record != stamp.text.as_bytes() {
        return None;
    }
    let bytes = ImageBytes::map(file).ok()?;
    // SAFETY: a backend of this server wrote the record after it had opened the image in this file
    // with a check, and the file has not changed since, or its stamp would be another. That nobody
    // forges records is taken for granted, as PostgreSQL takes it for its own files.
    unsafe { CompiledModel::open_checked(bytes) }.ok()
}

/// The name of the file that counts the images made since the last sweep.
const MADE: &str = "made";
/// Separates the number of versions that the last sweep read from the images made since.
const END: &str = "\n";
/// The name of the file that has the path of the registry's table of versions.
const TABLE: &str = "table";
/// The most versions that a sweep reads per image made since the last one.
const MAX_SWEPT_PER_IMAGE: usize = 16;
/// The least age of images to remove: younger ones may belong to a version that another session has not
/// committed yet. A standby only has images of committed versions.
const SWEEP_GRACE: Duration = Duration::from_secs(60);
/// The age from which an unfinished file counts as left behind by a backend that died.
const STALE_TMP_AGE: Duration = Duration::from_secs(3600);

/// Counts an image that was made; returns whether a sweep of the folder is due.
pub(crate) fn is_sweep_due() -> bool {
    count().map_or(true, |(swept, made)| made * MAX_SWEPT_PER_IMAGE >= swept)
}

/// Returns whether the folder has neither been swept nor got an image for `SWEEP_GRACE`.
pub(crate) fn is_long_unswept() -> bool {
    let modified = fs::metadata(folder().join(MADE)).and_then(|found| found.modified());
    modified.is_ok_and(|modified| is_past(modified, SWEEP_GRACE))
}

/// Counts an image; returns the numbers of versions that the last sweep read and of images made since.
fn count() -> io::Result<(usize, usize)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(session::file_mode());
    let mut file = options.open(folder().join(MADE))?;
    file.write_all(b".")?;
    file.rewind()?;
    let mut content = String::new();
    file.read_to_string(&mut content)?;
    let (swept, made) = content.split_once(END).unwrap_or_default();
    Ok((swept.parse().unwrap_or(0), made.len()))
}

/// Removes images that no version uses, files left behind by backends that died, and the folders of dropped
/// databases.
///
/// A backend that maps a removed image keeps its mapping, and an image that is needed again is made again. So a
/// wrong removal does no harm, and errors are left for the next sweep.
pub(crate) fn sweep(in_use: impl FnOnce() -> HashSet<ImageKey>) {
    let grace = if session::in_recovery() { Duration::ZERO } else { SWEEP_GRACE };
    // Images written later than this may be of a version that `in_use` does not see.
    let found: Vec<fs::DirEntry> = entries(&folder()).collect();
    let in_use = in_use();
    let swept = format!("{}{END}", in_use.len());
    let _ = replace(&folder().join(MADE), swept.as_bytes());
    for entry in found {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let key = [SUFFIX, RECORD].iter().find_map(|suffix| name.strip_suffix(suffix));
        let unused = match key {
            Some(key) => {
                !in_use.contains(&ImageKey(key.to_owned())) && is_older_than(&entry, grace)
            }
            None => name.ends_with(UNFINISHED) && is_older_than(&entry, STALE_TMP_AGE),
        };
        if unused {
            let _ = fs::remove_file(entry.path());
        }
    }
    entries(Path::new(FOLDER)).for_each(|entry| sweep_other(&entry));
}

/// Removes the folder of a dropped database, or the images of a database without the extension.
fn sweep_other(folder: &fs::DirEntry) {
    let name = folder.file_name();
    let Some(database) = name.to_str().and_then(|name| name.parse().ok()) else { return };
    if !catalog::database_exists(database) {
        let _ = fs::remove_dir_all(folder_of(database));
    } else if database != session::database() && is_abandoned(&folder.path()) {
        for entry in entries(&folder.path()) {
            let name = entry.file_name();
            let is = |suffix: &&str| name.to_string_lossy().ends_with(*suffix);
            if [SUFFIX, RECORD, UNFINISHED].iter().any(is) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Records the path of the table of versions, for sweeps in other databases.
pub(crate) fn record_table(table: Oid) {
    let recorded = folder().join(TABLE);
    if let Some(path) = catalog::file_of(table)
        && fs::read(&recorded).ok().as_deref() != Some(path.as_bytes())
    {
        let _ = replace(&recorded, path.as_bytes());
    }
}

/// Returns whether the table of versions was dropped, or rewritten, since an image was last made; in the latter
/// case images are made again. PostgreSQL empties the file of a dropped table at once, and removes it later.
fn is_abandoned(folder: &Path) -> bool {
    fs::read_to_string(folder.join(TABLE))
        .is_ok_and(|path| fs::metadata(path).map_or(true, |found| found.len() == 0))
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_older_than(entry: &fs::DirEntry, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| is_past(modified, age))
}

fn is_past(time: SystemTime, age: Duration) -> bool {
    SystemTime::now().duration_since(time).is_ok_and(|passed| passed > age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_settled_when_the_next_one_gets_another_time() {
        let changed = Duration::new(7, 990_000_000);
        let settled =
            |milliseconds| is_settled(changed, changed + Duration::from_millis(milliseconds));
        assert_eq!([0, 10, 20, 21, 5_000].map(settled), [false, false, false, true, true]);
        assert!(!is_settled(changed, Duration::from_secs(7)), "clocks can be set back");
        let rounded =
            |seconds: u64| is_settled(Duration::from_secs(7), Duration::from_secs(7 + seconds));
        assert_eq!([0, 1, 2].map(rounded), [false, false, true]);
    }
}
