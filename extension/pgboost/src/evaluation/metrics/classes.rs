//! Metrics of classes: scikit-learn's `log_loss`, `zero_one_loss`, and `precision_score`,
//! `recall_score` and `f1_score`, of two classes for the second one, of more the mean over the classes
//! that a row has or was given, whatever its weight (`average="macro"`). A share of nothing is 0.

use super::{Metrics, Results, named};
use crate::error::Result;
use crate::evaluation::loss;
use crate::evaluation::rows::KnownRow;
use crate::predictor::source::Prediction;

/// Weights of the rows of a class, of those that were given it, and of those that were so rightly.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Whether a row has the class or was given it.
    met: bool,
    actual: f64,
    predicted: f64,
    right: f64,
}

impl Counts {
    /// Precision, recall and their harmonic mean.
    fn scores(self) -> [f64; 3] {
        let share = |of: f64| if of > 0.0 { self.right / of } else { 0.0 };
        [share(self.predicted), share(self.actual), share((self.predicted + self.actual) / 2.0)]
    }
}

struct Classes {
    weight: f64,
    log: f64,
    wrong: f64,
    counts: Vec<Counts>,
}

impl Classes {
    fn new(count: usize) -> Classes {
        Classes { weight: 0.0, log: 0.0, wrong: 0.0, counts: vec![Counts::default(); count] }
    }

    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>, log: f64) {
        let KnownRow { target, weight, .. } = *row;
        let (actual, predicted) = (target as usize, prediction.class as usize);
        self.weight += weight;
        self.log += weight * log;
        if let Some(counts) = self.counts.get_mut(actual) {
            counts.met = true;
            counts.actual += weight;
            counts.right += if actual == predicted { weight } else { 0.0 };
        }
        if let Some(counts) = self.counts.get_mut(predicted) {
            counts.met = true;
            counts.predicted += weight;
        }
        self.wrong += if actual == predicted { 0.0 } else { weight };
    }
}

/// The metrics by these names: the logarithmic loss if there is one, the error, and the other scores. All are
/// means over the weight, and not defined where there is none.
fn results(names: [&str; 2], log: Option<f64>, error: f64, scores: [f64; 3]) -> Results {
    let [log_name, error_name] = names;
    let log = log.map(|log| named(log_name, log));
    let scores = ["precision", "recall", "f1"].into_iter().zip(scores);
    let scores =
        scores.map(|(name, score)| named(name, if error.is_nan() { error } else { score }));
    log.into_iter().chain([named(error_name, error)]).chain(scores).collect()
}

pub struct Binary {
    probability: bool,
    log: f64,
    /// Weights of rows by their class, and by the one that they were given.
    cells: [[f64; 2]; 2],
    /// The product of probabilities whose logarithms are still to be added, and of how many.
    product: f64,
    factors: u32,
}

/// As many probabilities, of 1e-16 or more, are multiplied without becoming 0: a logarithm takes as long as
/// all else that is done with a row.
const MAX_FACTORS: u32 = 16;

impl Binary {
    pub fn new(probability: bool) -> Binary {
        Binary { probability, log: 0.0, cells: [[0.0; 2]; 2], product: 1.0, factors: 0 }
    }

    fn add_logarithm(&mut self) {
        self.log -= std::mem::replace(&mut self.product, 1.0).ln();
        self.factors = 0;
    }
}

impl Metrics for Binary {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        self.cells[usize::from(row.target == 1.0)][usize::from(prediction.class == 1)] +=
            row.weight;
        if !self.probability {
            return Ok(());
        }
        let right = loss::binary_probability(row.target, f64::from(prediction.value()));
        if row.weight == 1.0 {
            self.product *= right;
            self.factors += 1;
            if self.factors >= MAX_FACTORS {
                self.add_logarithm();
            }
        } else {
            self.log -= row.weight * right.ln();
        }
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        self.add_logarithm();
        let [[first, wrong_second], [wrong_first, second]] = self.cells;
        let wrong = wrong_first + wrong_second;
        let weight = first + second + wrong;
        let counts = Counts {
            met: true,
            actual: second + wrong_first,
            predicted: second + wrong_second,
            right: second,
        };
        let log = self.probability.then(|| self.log / weight);
        Ok(results(["logloss", "error"], log, wrong / weight, counts.scores()))
    }
}

pub struct Multiclass {
    probabilities: bool,
    classes: Classes,
}

impl Multiclass {
    pub fn new(count: usize, probabilities: bool) -> Multiclass {
        Multiclass { probabilities, classes: Classes::new(count) }
    }
}

impl Metrics for Multiclass {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        let log =
            if self.probabilities { loss::class_log(row.target, prediction.values) } else { 0.0 };
        self.classes.add(row, prediction, log);
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        let met = self.classes.counts.iter().filter(|class| class.met);
        let scores: Vec<[f64; 3]> = met.map(|class| class.scores()).collect();
        let mean = |which: fn(&[f64; 3]) -> f64| {
            scores.iter().map(which).sum::<f64>() / scores.len() as f64
        };
        let means = [mean(|[x, _, _]| *x), mean(|[_, x, _]| *x), mean(|[_, _, x]| *x)];
        let Classes { weight, log, wrong, .. } = self.classes;
        let log = self.probabilities.then(|| log / weight);
        Ok(results(["mlogloss", "merror"], log, wrong / weight, means))
    }
}
