//! Images as files: one copy of a lowered model for all backends.
//!
//! A file's name says what it was made from: the digest of the model's bytes, the rounds that are used,
//! names, labels and categories, and the engine's version of the layout. So a file never changes, a wrong one is never found, and an
//! upgrade makes new ones. A file is written under another name and renamed, and carries a checksum.
//! Who opens it first checks all of it and writes a record of that beside it, which spares others
//! the check for as long as the server runs and the file stays as it is (`checked`); a file
//! that does not pass is written again. Losing the folder costs
//! nothing but the time to make the images again. The folder is below the data directory, which is
//! the current directory of every backend; each database has its own.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gbdt::Image;
use gbdt::forest::IMAGE_VERSION;
use pg_interface::report::check_for_interrupts;
use pg_interface::{backend, fault};
use sha2::{Digest, Sha256};

use super::checked::{self, FileStamp};
use super::map::{ImageBytes, ModelImage};

pub(super) const FOLDER: &str = "pgboost";
pub(super) const SUFFIX: &str = ".image";
pub(super) const RECORD: &str = ".checked";
pub(super) const UNFINISHED: &str = ".tmp";
/// Bytes written between two looks at whether the statement was cancelled.
const PIECE: usize = 8 << 20;

/// What an image is made from, as a short text that is the same in every backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageKey(pub(super) String);

/// All that an image is made of.
pub struct MadeOf<'a> {
    /// Of the model's file.
    pub digest: &'a [u8],
    pub rounds: usize,
    pub feature_names: &'a [String],
    pub labels: &'a [String],
    /// As JSON, if categories were given beside the file.
    pub categories: Option<&'a str>,
}

impl ImageKey {
    pub fn new(made_of: &MadeOf<'_>) -> Self {
        let mut hash = Sha256::new();
        hash.update(made_of.digest);
        hash.update((made_of.rounds as u64).to_le_bytes());
        let categories = made_of.categories.map(str::to_owned);
        for texts in [made_of.feature_names, made_of.labels, categories.as_slice()] {
            hash.update((texts.len() as u64).to_le_bytes());
            for text in texts {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
        }
        let hex: String =
            hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect();
        ImageKey(format!("{hex}-{IMAGE_VERSION}"))
    }

    pub fn path(&self) -> PathBuf {
        folder().join(format!("{}{SUFFIX}", self.0))
    }

    /// Where the record of its check is.
    fn record(&self) -> PathBuf {
        folder().join(format!("{}{RECORD}", self.0))
    }
}

/// The folder of this database.
pub fn folder() -> PathBuf {
    folder_of(backend::database())
}

pub(super) fn folder_of(database: u32) -> PathBuf {
    PathBuf::from(FOLDER).join(database.to_string())
}

/// Opens an image that some backend has written, if it is there and undamaged.
pub fn open(key: &ImageKey) -> Option<ModelImage> {
    let file = File::open(key.path()).ok()?;
    let stamp = FileStamp::of(&file).ok()?;
    if let Ok(record) = fs::read(key.record())
        && let Some(image) = checked::open(&file, &stamp, &record)
    {
        return Some(image);
    }
    let bytes = ImageBytes::map(&file).ok()?;
    let image = Image::open_checking(bytes, &mut check_for_interrupts).ok()?;
    if let Some(record) = stamp.record() {
        // Without it the next backend checks the image again.
        let _ = replace(&key.record(), record);
    }
    Some(image)
}

/// Writes an image so that other backends find it whole or not at all.
pub fn write(key: &ImageKey, image: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(backend::directory_mode()).create(folder())?;
    replace(&key.path(), image)
}

/// A file that is removed unless it bears another name by then.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a file whole under another name and renames it. The statement may be cancelled meanwhile.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut unfinished = Unfinished(path.to_owned());
    unfinished.0.add_extension(format!("{}{UNFINISHED}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(backend::file_mode())
        .open(&unfinished.0)?;
    for piece in content.chunks(PIECE) {
        check_for_interrupts();
        file.write_all(piece)?;
    }
    fault::at("image: not renamed");
    fs::rename(&unfinished.0, path)
}
