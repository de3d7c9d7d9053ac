//! One training: matrices of the rows, a booster, the rounds.

use pgboost_trainer::{Job, Set};
use xgboost_ffi::{Booster, Feature, Library, Matrix, MatrixOptions, Result};

use crate::spool::Spool;

pub struct Training {
    booster: Booster,
    train: Matrix,
    eval: Option<Matrix>,
    features: Vec<Feature>,
    rounds: u32,
}

impl Training {
    pub fn build(library: &'static Library, job: Job) -> Result<Training> {
        library.limit_threads(job.threads);
        let train = matrix(library, &job, &job.train, None)?;
        let eval = job.eval.as_ref().map(|eval| matrix(library, &job, eval, Some(&train)));
        let eval = eval.transpose()?;
        let matrices: Vec<&Matrix> = [Some(&train), eval.as_ref()].into_iter().flatten().collect();
        let booster = Booster::new(library, &matrices)?;
        for (name, value) in &job.parameters {
            booster.set(name, value)?;
        }
        Ok(Training { booster, train, eval, features: job.features, rounds: job.rounds })
    }

    /// Runs one round; returns libxgboost's line of metrics if asked to.
    pub fn round(&self, round: u32, evaluate: bool) -> Result<Option<String>> {
        self.booster.update(round, &self.train)?;
        let mut sets = vec![("train", &self.train)];
        sets.extend(self.eval.as_ref().map(|eval| ("eval", eval)));
        evaluate.then(|| self.booster.evaluate(round, &sets)).transpose()
    }

    /// The bytes of the model of the first rounds.
    pub fn save(&self, rounds: u32) -> Result<Vec<u8>> {
        let kept = (rounds < self.rounds).then(|| self.booster.first_rounds(rounds)).transpose()?;
        let kept = kept.as_ref().unwrap_or(&self.booster);
        kept.name_features(&self.features)?;
        kept.save()
    }
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
    let mut rows = Spool::open(&set.path, job.layout.record, &job.recode)?;
    let matrix = Matrix::of_rows(library, &mut rows, options, cuts_of)?;
    if !set.groups.is_empty() {
        let weights: Vec<f32> = set.weights.iter().map(|bits| f32::from_bits(*bits)).collect();
        matrix.set_groups(&set.groups, &weights)?;
    }
    Ok(matrix)
}
