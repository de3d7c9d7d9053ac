//! Predictions by libxgboost itself with registered models.
//!
//! One trainer predicts for all statements of a backend: the first of them starts it, and it ends with the
//! backend or with the first error of a prediction, which may be a cancel. It keeps the models that were used
//! last.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use gbtrees::internals::Ensemble;
use pg_interface::fault;
use pgboost_trainer::SLOTS;

use super::Trainer;
use crate::error::Result;
use crate::registry::{Registry, Version, resolve};

/// A registered model for predictions by libxgboost.
pub(crate) struct ReferenceModel {
    pub(crate) version: Rc<Version>,
    /// The engine's model, cut to the rounds that predictions use.
    pub(crate) model: Ensemble,
    /// The file that the engine wrote of it.
    file: Vec<u8>,
}

/// A trainer, and the models in its slots.
struct Predictor {
    trainer: Trainer,
    slots: Vec<Rc<ReferenceModel>>,
    /// The slot to overwrite next once all are used.
    next: usize,
}

thread_local! {
    static KEPT: RefCell<Vec<Rc<ReferenceModel>>> = const { RefCell::new(Vec::new()) };
    /// `None` while it is in use, so that an error that unwinds drops it, which kills the process. At the end of the
    /// backend a callback drops it, before other thread-local values go that its drop needs.
    static PREDICTOR: ManuallyDrop<RefCell<Option<Predictor>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

impl ReferenceModel {
    /// Finds the model that a reference means now. Raises pgboost's errors for one that does not exist or is not
    /// visible.
    pub(crate) fn find(reference: &str) -> Result<Rc<ReferenceModel>> {
        let version = resolve(reference)?;
        let kept =
            KEPT.with_borrow(|kept| kept.iter().find(|one| one.version == version).map(Rc::clone));
        if let Some(kept) = kept {
            return Ok(kept);
        }
        // pgboost raises an error for a user who does not own the model, before it is kept.
        let (model, file) = Registry::find()?.model(&version, reference)?;
        let found = Rc::new(ReferenceModel { version, model, file });
        KEPT.with_borrow_mut(|kept| {
            if kept.len() >= SLOTS {
                kept.remove(0);
            }
            kept.push(Rc::clone(&found));
        });
        Ok(found)
    }

    /// Predicts rows of features, NaN for missing ones. Returns the outputs of each row.
    pub(crate) fn predict(self: &Rc<Self>, features: &[f32], margins: bool) -> Result<Vec<f32>> {
        let kept = PREDICTOR.with(|kept| kept.borrow_mut().take());
        let mut predictor = kept.map_or_else(Predictor::start, Ok)?;
        let predicted = predictor.predict(self, features, margins)?;
        fault::at("xgboost: predicted");
        PREDICTOR.with(|kept| *kept.borrow_mut() = Some(predictor));
        Ok(predicted)
    }
}

impl Predictor {
    fn start() -> Result<Predictor> {
        Ok(Predictor { trainer: Trainer::start()?, slots: Vec::new(), next: 0 })
    }

    fn predict(
        &mut self,
        model: &Rc<ReferenceModel>,
        features: &[f32],
        margins: bool,
    ) -> Result<Vec<f32>> {
        let held = self.slots.iter().position(|held| Rc::ptr_eq(held, model));
        let slot = held.map_or_else(|| self.load(model), Ok)?;
        self.trainer.predict(slot, features, model.model.num_features(), margins)
    }

    fn load(&mut self, model: &Rc<ReferenceModel>) -> Result<usize> {
        let slot = self.next % SLOTS;
        self.trainer.load(slot, &model.file)?;
        match self.slots.get_mut(slot) {
            Some(place) => *place = Rc::clone(model),
            None => self.slots.push(Rc::clone(model)),
        }
        self.next = slot + 1;
        Ok(slot)
    }
}

/// Returns the release of libxgboost.
pub(crate) fn xgboost_version() -> Result<String> {
    fault::at("xgboost: asked");
    let version = |predictor: &Predictor| predictor.trainer.libxgboost.clone();
    let kept = PREDICTOR.with(|kept| kept.borrow().as_ref().map(version));
    match kept {
        Some(version) => Ok(version),
        None => Trainer::start().map(|trainer| trainer.libxgboost.clone()),
    }
}
