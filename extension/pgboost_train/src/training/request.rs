//! What the caller asks for.

use super::folds::FoldChoice;
use crate::params::Parameters;
use crate::source::columns::Roles;

pub struct Request {
    pub source: String,
    pub roles: Roles,
    pub parameters: Parameters,
    pub rounds: u32,
    /// What is evaluated beside the rows that are trained on.
    pub evaluation: Option<Evaluation>,
    /// Rounds without a better evaluation after which the training ends.
    pub early_stopping_rounds: Option<u32>,
    pub seed: i32,
    /// Rounds between two notices.
    pub verbose_eval: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Evaluation {
    /// A share of the rows, which is not trained on.
    Fraction(f64),
    /// The rows of another source.
    Source(String),
    /// Each row, by a model that was trained on the other folds.
    Folds(FoldChoice),
}

impl Request {
    pub fn eval_fraction(&self) -> Option<f64> {
        match self.evaluation {
            Some(Evaluation::Fraction(fraction)) => Some(fraction),
            _ => None,
        }
    }

    pub fn eval_source(&self) -> Option<&str> {
        match &self.evaluation {
            Some(Evaluation::Source(source)) => Some(source),
            _ => None,
        }
    }

    pub fn folds(&self) -> Option<FoldChoice> {
        match self.evaluation {
            Some(Evaluation::Folds(choice)) => Some(choice),
            _ => None,
        }
    }
}
