//! Which image files have been checked already, so that one check serves every backend.
//!
//! A check reads the whole image: half a millisecond for a few megabytes, which a fresh connection
//! would pay with its first prediction. It is needed because a crash of the machine may tear a file
//! that was never synced, and because files can be damaged. So a check counts for as long as the
//! server runs, and only for the file as it was: whatever writes to it changes the time of change
//! that the kernel keeps, which nobody can set.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use gbtrees::internals::CompiledModel;
use pgrx::pg_sys;

use super::map::{ImageBytes, ModelImage};

/// Two changes may bear the same time if less than a tick of the kernel's clock lies between them.
/// Ticks are of at most ten milliseconds.
const TICK: Duration = Duration::from_secs(1);

/// A file as it is now, on this run of the server.
pub struct FileStamp {
    text: String,
    changed: SystemTime,
}

impl FileStamp {
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the postmaster sets it once, before any backend starts.
        let run = unsafe { pg_sys::PgStartTime };
        let found = file.metadata()?;
        let (seconds, nanoseconds) = (found.ctime(), found.ctime_nsec());
        let text = format!(
            "{run} {} {} {} {seconds}.{nanoseconds:09}\n",
            found.dev(),
            found.ino(),
            found.size()
        );
        let since_epoch = Duration::from_secs(seconds.max(0).cast_unsigned());
        let changed = SystemTime::UNIX_EPOCH + since_epoch;
        Ok(FileStamp { text, changed })
    }

    /// What is written down of a file that was checked after its stamp was taken; nothing where a
    /// change since might not have altered the stamp.
    pub fn record(&self) -> Option<&[u8]> {
        // The time of change counts as whole seconds here, and so as earlier than it is.
        let age = SystemTime::now().duration_since(self.changed).ok()?;
        (age > TICK + Duration::from_secs(1)).then_some(self.text.as_bytes())
    }
}

pub fn open(file: &File, stamp: &FileStamp, record: &[u8]) -> Option<ModelImage> {
    if record != stamp.text.as_bytes() {
        return None;
    }
    let bytes = ImageBytes::map(file).ok()?;
    // SAFETY: a backend of this server wrote the record after it had opened the image in this file
    // with a check, and the file has not changed since, or its stamp would be another. That nobody
    // forges records is taken for granted, as PostgreSQL takes it for its own files.
    unsafe { CompiledModel::open_checked(bytes) }.ok()
}
