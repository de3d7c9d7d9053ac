//! Removes what nobody needs any more from the folders of images, now and then.
//!
//! A load that rolls back removes the image that it wrote; what is left to a sweep are images of backends that
//! died and of transactions that were prepared, and what belongs to a database that was dropped, or to an
//! extension that was: nothing of ours runs when that happens, so it is the next sweep in any database.
//!
//! A sweep reads all versions, so it waits until enough images were made since the last one, by any backend:
//! a file next to the images has how many versions that one read and, behind that, a byte for each image made
//! since. What another backend does at the same time can make a sweep come late or twice, and no more.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pg_interface::{Oid, backend, catalog};

use super::image_file::{self, FOLDER, ImageKey, RECORD, SUFFIX, UNFINISHED};

/// The file's name.
const MADE: &str = "made";
/// What stands between the two numbers in it.
const END: &str = "\n";
/// The name of the file with the path of the registry's table of versions.
const TABLE: &str = "table";
/// A sweep reads this many versions, at most, per image that was made since the last one.
const MAX_SWEPT_PER_IMAGE: usize = 16;
/// Younger images may belong to a version that another session has not committed yet, which would then be made
/// again.
const SWEEP_GRACE: Duration = Duration::from_secs(60);
/// A file of an unfinished write this old was left behind by a backend that died.
const STALE_TMP_AGE: Duration = Duration::from_secs(3600);

/// Counts an image that was made; returns whether the folder is to be swept.
pub(crate) fn is_sweep_due() -> bool {
    count().map_or(true, |(swept, made)| made * MAX_SWEPT_PER_IMAGE >= swept)
}

/// Counts an image; returns how many versions the last sweep read, and how many images were made since.
fn count() -> io::Result<(usize, usize)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(backend::file_mode());
    let mut file = options.open(image_file::folder().join(MADE))?;
    file.write_all(b".")?;
    file.rewind()?;
    let mut content = String::new();
    file.read_to_string(&mut content)?;
    let (swept, made) = content.split_once(END).unwrap_or_default();
    Ok((swept.parse().unwrap_or(0), made.len()))
}

/// Removes the images that are not among those in use, what dead backends left behind, and the
/// folders of databases that are gone.
///
/// A backend that still maps a removed image keeps it until it lets go; one that is wanted again is
/// made again. So nothing here can do harm, and errors are left for the next sweep.
pub(crate) fn sweep(in_use: &HashSet<ImageKey>) {
    let swept = format!("{}{END}", in_use.len());
    let _ = image_file::replace(&image_file::folder().join(MADE), swept.as_bytes());
    for entry in entries(&image_file::folder()) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let key = [SUFFIX, RECORD].iter().find_map(|suffix| name.strip_suffix(suffix));
        let unused = match key {
            Some(key) => {
                !in_use.contains(&ImageKey(key.to_owned())) && is_older_than(&entry, SWEEP_GRACE)
            }
            None => name.ends_with(UNFINISHED) && is_older_than(&entry, STALE_TMP_AGE),
        };
        if unused {
            let _ = fs::remove_file(entry.path());
        }
    }
    entries(Path::new(FOLDER)).for_each(|entry| sweep_other(&entry));
}

/// Removes the folder of a database that is gone, and the images in that of one whose extension is.
fn sweep_other(folder: &fs::DirEntry) {
    let name = folder.file_name();
    let Some(database) = name.to_str().and_then(|name| name.parse().ok()) else { return };
    if !catalog::database_exists(database) {
        let _ = fs::remove_dir_all(image_file::folder_of(database));
    } else if database != backend::database() && is_abandoned(&folder.path()) {
        for entry in entries(&folder.path()) {
            let name = entry.file_name();
            let is = |suffix: &&str| name.to_string_lossy().ends_with(*suffix);
            if [SUFFIX, RECORD, UNFINISHED].iter().any(is) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Writes down where the table of versions is, for those who sweep in other databases.
pub(crate) fn record_table(table: Oid) {
    let recorded = image_file::folder().join(TABLE);
    if let Some(path) = catalog::file_of(table)
        && fs::read(&recorded).ok().as_deref() != Some(path.as_bytes())
    {
        let _ = image_file::replace(&recorded, path.as_bytes());
    }
}

/// Whether the table is not where it was when an image was last made: dropped, or rewritten, after which
/// images are made again. PostgreSQL empties the file of a dropped table at once, and removes it later.
fn is_abandoned(folder: &Path) -> bool {
    fs::read_to_string(folder.join(TABLE))
        .is_ok_and(|path| fs::metadata(path).map_or(true, |found| found.len() == 0))
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_older_than(entry: &fs::DirEntry, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| {
        SystemTime::now().duration_since(modified).is_ok_and(|passed| passed > age)
    })
}
