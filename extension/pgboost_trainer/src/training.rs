//! Parallel trainings: the matrices, built from the backend's records as often as libxgboost iterates over them,
//! the boosters and the rounds.
//!
//! The folds of a cross-validation take each round in turn, as in `xgboost.cv`: all boosters draw random numbers
//! from one sequence, so that another order would give other trees.

use std::fs::File;
use std::io::{self, Read, Seek};

use pgboost_trainer::{Fold, Job, Part, Set};
use xgboost_ffi::{Batch, Booster, Error, Feature, Library, Matrix, MatrixOptions, Result, Rows};

pub(crate) struct Training {
    library: &'static Library,
    folds: Vec<Built>,
    features: Vec<Feature>,
    /// The number of rounds if none ends early.
    rounds: u32,
}

struct Built {
    booster: Booster,
    train: Matrix,
    eval: Option<Matrix>,
}

impl Training {
    /// Builds the matrices and boosters. `start` has the bytes of the model to continue.
    pub(crate) fn build(
        library: &'static Library,
        job: Job,
        start: Option<&[u8]>,
    ) -> Result<Training> {
        library.limit_threads(job.threads);
        let folds = job.folds.iter().map(|fold| Built::of(library, &job, fold));
        let training = Training {
            library,
            folds: folds.collect::<Result<_>>()?,
            rounds: job.rounds + job.start.map_or(0, |start| start.rounds),
            features: job.features,
        };
        if let (Some(bytes), Some(fold)) = (start, training.folds.first()) {
            fold.booster.load(bytes)?;
        }
        training.set(&job.parameters)?;
        Ok(training)
    }

    /// Creates new boosters for the same matrices.
    pub(crate) fn reset(&mut self, parameters: &[(String, String)]) -> Result<()> {
        for fold in &mut self.folds {
            fold.booster = booster(self.library, &fold.train, fold.eval.as_ref())?;
        }
        self.set(parameters)
    }

    fn set(&self, parameters: &[(String, String)]) -> Result<()> {
        for fold in &self.folds {
            for (name, value) in parameters {
                fold.booster.set(name, value)?;
            }
        }
        Ok(())
    }

    /// Runs one round; returns libxgboost's lines of metrics if `evaluate` is true.
    pub(crate) fn round(&self, round: u32, evaluate: bool) -> Result<Vec<String>> {
        for fold in &self.folds {
            fold.booster.update(round, &fold.train)?;
        }
        let evaluated = self.folds.iter().filter(|_| evaluate);
        evaluated.map(|fold| fold.evaluate(round)).collect()
    }

    /// Returns the bytes of the model of the first rounds.
    pub(crate) fn save(&self, rounds: u32) -> Result<Vec<u8>> {
        let Some(Built { booster, .. }) = self.folds.first() else { return Ok(Vec::new()) };
        let kept = (rounds < self.rounds).then(|| booster.first_rounds(rounds)).transpose()?;
        let kept = kept.as_ref().unwrap_or(booster);
        kept.name_features(&self.features)?;
        kept.save()
    }
}

impl Built {
    fn of(library: &'static Library, job: &Job, fold: &Fold) -> Result<Built> {
        let train = matrix(library, job, &fold.train, None)?;
        let eval = fold.eval.as_ref().map(|eval| matrix(library, job, eval, Some(&train)));
        let eval = eval.transpose()?;
        Ok(Built { booster: booster(library, &train, eval.as_ref())?, train, eval })
    }

    fn evaluate(&self, round: u32) -> Result<String> {
        let mut sets = vec![("train", &self.train)];
        sets.extend(self.eval.as_ref().map(|eval| ("eval", eval)));
        self.booster.evaluate(round, &sets)
    }
}

fn booster(library: &'static Library, train: &Matrix, eval: Option<&Matrix>) -> Result<Booster> {
    let matrices: Vec<&Matrix> = [Some(train), eval].into_iter().flatten().collect();
    Booster::new(library, &matrices)
}

fn matrix(
    library: &'static Library,
    job: &Job,
    set: &Set,
    cuts_of: Option<&Matrix>,
) -> Result<Matrix> {
    let options = MatrixOptions {
        layout: job.layout,
        features: &job.features,
        max_bin: job.max_bin,
        threads: job.threads,
    };
    let mut rows = Spool::open(job, set)?;
    let matrix = Matrix::of_rows(library, &mut rows, options, cuts_of)?;
    if !set.groups.is_empty() {
        let weights: Vec<f32> = set.weights.iter().map(|bits| f32::from_bits(*bits)).collect();
        matrix.set_groups(&set.groups, &weights)?;
    }
    Ok(matrix)
}

/// The most words in memory, approximately.
const BUFFER_WORDS: usize = 1 << 18;

pub(crate) struct Spool<'a> {
    file: File,
    /// The number of words of a record.
    record: usize,
    /// The new codes for words with codes of texts.
    recode: &'a [(usize, Vec<u32>)],
    /// Words to leave out.
    left_out: &'a [usize],
    /// The part of the records to use, if not all.
    part: Option<Part>,
    words: Vec<f32>,
}

impl Spool<'_> {
    /// Opens the file of a set.
    pub(crate) fn open<'a>(job: &'a Job, set: &Set) -> Result<Spool<'a>> {
        let file = File::open(&set.path).map_err(failed)?;
        let rows = (BUFFER_WORDS / job.record.max(1)).max(1);
        Ok(Spool {
            file,
            record: job.record,
            recode: &job.recode,
            left_out: &job.left_out,
            part: set.part,
            words: vec![0.0; rows * job.record],
        })
    }

    /// Fills the words up to the end of the file; returns the number of filled ones.
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
    /// Moves the records of a part to the front; returns the number of their words.
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
                // A run of records may have none of the part.
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
        let (kept, record) = without(words, self.record, self.left_out);
        let words = self.words.get(..kept).unwrap_or_default();
        Ok((!words.is_empty()).then_some(Batch { words, record }))
    }
}

/// Moves the words to keep of each record to the front. Returns their number, and the new number of words of a
/// record.
fn without(words: &mut [f32], record: usize, left_out: &[usize]) -> (usize, usize) {
    if left_out.is_empty() {
        return (words.len(), record);
    }
    let mut kept = 0;
    for place in 0..words.len() {
        if !left_out.contains(&(place % record)) {
            words.copy_within(place..=place, kept);
            kept += 1;
        }
    }
    (kept, record.saturating_sub(left_out.len()))
}

/// Replaces a code by the new one; a missing value stays.
fn recoded(word: f32, codes: &[u32]) -> f32 {
    if word.is_nan() {
        return word;
    }
    codes.get(word as usize).map_or(f32::NAN, |code| *code as f32)
}

fn failed(error: io::Error) -> Error {
    Error::Rows(error.to_string())
}
