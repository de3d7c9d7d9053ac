//! What the caller asks for.

use super::folds::FoldChoice;
use crate::params::Parameters;
use crate::source::columns::Roles;

pub(crate) struct Request {
    pub(crate) source: String,
    pub(crate) roles: Roles,
    pub(crate) parameters: Parameters,
    pub(crate) rounds: u32,
    /// What is evaluated besides the rows that are trained on.
    pub(crate) evaluation: Option<Evaluation>,
    /// Rounds without a better evaluation after which the training ends.
    pub(crate) early_stopping_rounds: Option<u32>,
    pub(crate) seed: i32,
    /// Rounds between two notices.
    pub(crate) verbose_eval: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Evaluation {
    /// A share of the rows, which is not trained on.
    Fraction(f64),
    /// The rows of another source.
    Source(String),
    /// Each row, by a model that was trained on the other folds.
    Folds(FoldChoice),
}

impl Request {
    pub(crate) fn eval_fraction(&self) -> Option<f64> {
        match self.evaluation {
            Some(Evaluation::Fraction(fraction)) => Some(fraction),
            _ => None,
        }
    }

    pub(crate) fn eval_source(&self) -> Option<&str> {
        match &self.evaluation {
            Some(Evaluation::Source(source)) => Some(source),
            _ => None,
        }
    }

    pub(crate) fn folds(&self) -> Option<FoldChoice> {
        match self.evaluation {
            Some(Evaluation::Folds(choice)) => Some(choice),
            _ => None,
        }
    }
}
