//! Reads the records that the backend has written, as often as libxgboost asks for them.

use std::fs::File;
use std::io::{self, Read, Seek};

use pgboost_trainer::Part;
use xgboost_ffi::{Batch, Error, Result, Rows};

/// About as many words are in memory at once.
const BUFFER_WORDS: usize = 1 << 18;

pub(crate) struct Spool<'a> {
    file: File,
    /// Words per record.
    record: usize,
    /// What to put for the codes in some words.
    recode: &'a [(usize, Vec<u32>)],
    /// Which records are meant, if not all.
    part: Option<Part>,
    words: Vec<f32>,
}

impl Spool<'_> {
    /// Opens a file of records of this many words.
    pub(crate) fn open<'a>(
        path: &str,
        record: usize,
        recode: &'a [(usize, Vec<u32>)],
        part: Option<Part>,
    ) -> Result<Spool<'a>> {
        let file = File::open(path).map_err(failed)?;
        let rows = (BUFFER_WORDS / record.max(1)).max(1);
        Ok(Spool { file, record, recode, part, words: vec![0.0; rows * record] })
    }

    /// Fills the words as far as the file goes; returns how many it filled.
    fn fill(&mut self) -> io::Result<usize> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read(rest)? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled / size_of::<f32>())
    }
}

impl Spool<'_> {
    /// Moves the records of a part to the front; returns how many words they have.
    fn keep(&mut self, part: Part, filled: usize) -> usize {
        let mut kept = 0;
        for start in (0..filled).step_by(self.record) {
            let fold = self.words.get(start + part.word).copied().unwrap_or(f32::NAN);
            if (fold == part.fold as f32) == part.inside {
                self.words.copy_within(start..start + self.record, kept);
                kept += self.record;
            }
        }
        kept
    }
}

impl Rows for Spool<'_> {
    fn rewind(&mut self) -> Result<()> {
        self.file.rewind().map_err(failed)
    }

    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let filled = loop {
            let filled = self.fill().map_err(failed)?;
            match self.part {
                // A run of records may have none of those that are meant.
                Some(part) if filled > 0 => match self.keep(part, filled) {
                    0 => {}
                    kept => break kept,
                },
                _ => break filled,
            }
        };
        let words = self.words.get_mut(..filled).unwrap_or_default();
        for (position, codes) in self.recode {
            for record in words.chunks_exact_mut(self.record) {
                if let Some(word) = record.get_mut(*position) {
                    *word = recoded(*word, codes);
                }
            }
        }
        Ok((!words.is_empty()).then_some(Batch { words, record: self.record }))
    }
}

/// A missing value is no code, and stays.
fn recoded(word: f32, codes: &[u32]) -> f32 {
    if word.is_nan() {
        return word;
    }
    codes.get(word as usize).map_or(f32::NAN, |code| *code as f32)
}

fn failed(error: io::Error) -> Error {
    Error::Rows(error.to_string())
}
