//! The models that one expression predicts with, row by row: one, unless the model's name is a column too.

use pg_interface::call::Arguments;

use super::single::Predictor;
use crate::error::{Error, Result};

#[derive(Default)]
pub struct Predictors {
    current: Option<Predictor>,
    others: Vec<Predictor>,
}

/// A statement that uses more models than this in turn starts some of them anew.
const MAX_RECENT: usize = 16;

impl Predictors {
    #[inline]
    pub fn of(&mut self, arguments: Arguments<'_>, model: &str) -> Result<&mut Predictor> {
        if !self.current.as_ref().is_some_and(|predictor| predictor.holds(model)) {
            self.current = Some(self.change(arguments, model)?);
        }
        self.current.as_mut().ok_or_else(|| Error::NoSuchModel { name: model.to_owned() })
    }

    /// The state for that model: the statement's first, or another than that of its last call.
    #[inline(never)]
    fn change(&mut self, arguments: Arguments<'_>, model: &str) -> Result<Predictor> {
        match self.current.take() {
            None if self.others.is_empty() => Predictor::begin(arguments, model),
            last => self.change_to(arguments, model, last),
        }
    }

    /// The state for that model, from among those used before or anew.
    #[cold]
    #[inline(never)]
    fn change_to(
        &mut self,
        arguments: Arguments<'_>,
        model: &str,
        last: Option<Predictor>,
    ) -> Result<Predictor> {
        self.others.extend(last);
        if let Some(ready) = self.others.iter().position(|predictor| predictor.holds(model)) {
            return Ok(self.others.remove(ready));
        }
        let predictor = Predictor::begin(arguments, model)?;
        self.others.retain(|stale| stale.model() != model);
        if self.others.len() >= MAX_RECENT {
            self.others.remove(0);
        }
        Ok(predictor)
    }
}

impl Drop for Predictors {
    fn drop(&mut self) {
        std::mem::take(&mut self.others).into_iter().for_each(Predictor::end);
        self.current.take().into_iter().for_each(Predictor::end);
    }
}
