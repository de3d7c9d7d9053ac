//! The bytes of an image: a file that is mapped read-only, or memory of this backend alone.

use std::fs::File;
use std::io;
use std::ops::Deref;

use gbtrees::internals::{AlignedBytes, CompiledModel, StableBytes};
use memmap2::{Mmap, MmapOptions};

pub type ModelImage = CompiledModel<ImageBytes>;

pub enum ImageBytes {
    /// A file, one copy of which serves every process that maps it.
    Mapped(Mmap),
    /// Memory of this backend, for when the file cannot be written.
    Private(AlignedBytes),
}

impl ImageBytes {
    pub fn map(file: &File) -> io::Result<Self> {
        // One row's way through all trees comes by most pages: taken at once they cost no faults.
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
