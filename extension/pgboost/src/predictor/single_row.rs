//! The predictor of one row per call, kept across calls of a statement.
//!
//! It holds the version that was looked up and the state of its expression (`statement_state`), which it leaves
//! for the next statement. An expression predicts with one model, unless the model's name is a column; then the
//! predictors of the last models are kept.

use std::rc::Rc;

use pg_interface::call::Arguments;
use pg_interface::invalidation::{SnapshotMark, Validity};
use pg_interface::signature::{ArgSource, ArgumentType};
use pg_interface::{Oid, catalog};

use super::statement_state::{Margins, PredictorState, ReusableState, RowReader};
use crate::cache::{self, CachedImage, Identity, ModelImage, Resolved};
use crate::error::{Error, Result, ShapeReason, TypeReason};
use crate::features::FeatureContext;
use crate::guc::UnknownRule;
use crate::registry::pin;

/// One model, as one expression uses it.
pub(crate) struct Predictor {
    image: Rc<CachedImage>,
    validity: Validity,
    state: Box<PredictorState>,
    unknown_category: UnknownRule,
}

impl Predictor {
    /// Resolves a model for this statement, and binds its arguments.
    #[inline]
    pub(crate) fn begin(arguments: Arguments<'_>, model: &str) -> Result<Self> {
        Predictor::begin_with(arguments, model, &mut ReusableState::default())
    }

    /// As `begin`, reusing the state of the same arguments for another model if it is
    /// compatible.
    #[inline]
    pub(crate) fn begin_with(
        arguments: Arguments<'_>,
        model: &str,
        reusable: &mut ReusableState,
    ) -> Result<Self> {
        let resolved = cache::resolve(model, arguments.function())?;
        let state = match reusable.take(model, resolved.image.model()) {
            Some(state) => state,
            None => PredictorState::for_arguments(arguments, model, &resolved)?,
        };
        Ok(Predictor::with_state(state, resolved, arguments.function()))
    }

    /// Resolves a model for rows of a type that no call passes. `function` is one of the extension's.
    pub(crate) fn begin_rows(row_type: Oid, model: &str, function: Oid) -> Result<Self> {
        let resolved = cache::resolve(model, function)?;
        let state = PredictorState::for_rows(row_type, model, &resolved)?;
        Ok(Predictor::with_state(state, resolved, function))
    }

    /// Begins a statement with the version that was looked up for it.
    #[inline]
    fn with_state(mut state: Box<PredictorState>, resolved: Resolved, function: Oid) -> Self {
        let Resolved { image, identity, validity } = resolved;
        let Identity { model, version, unknown_category, .. } = identity;
        state.identity = identity;
        let generation = validity.generation;
        state.pending.begin(model, version, image.model(), generation, function);
        Predictor { image, validity, state, unknown_category }
    }

    /// Returns the version that predicts.
    pub(crate) fn version(&self) -> i32 {
        self.state.identity.version
    }

    /// Makes the results depend on the arguments alone, for ever: fails for a version that can be dropped and for a
    /// type whose values or columns can be renamed, and fixes the settings.
    pub(crate) fn require_immutable(&mut self, function: Oid) -> Result<()> {
        if self.unknown_category == UnknownRule::Pinned {
            return Ok(());
        }
        if !self.state.identity.pinned {
            return Err(Error::NotPinned { model: self.model().to_owned() });
        }
        pin::keep_used(function, self.model(), self.state.identity.model)?;
        let types = self.state.signature.types();
        if let Some((row_type, _)) = types.iter().find(|(_, kind)| *kind == ArgumentType::Row) {
            return Err(Error::PinnedRow { type_name: catalog::type_name(*row_type) });
        }
        if let Some(index) =
            types.iter().position(|(oid, _)| catalog::is_enum(catalog::base_type(*oid)))
        {
            let type_oid = types.get(index).map_or(Oid::INVALID, |(oid, _)| *oid);
            let context = self.context();
            return Err(context.unusable(index, type_oid, TypeReason::EnumForPinned));
        }
        self.unknown_category = UnknownRule::Pinned;
        Ok(())
    }

    fn context(&self) -> FeatureContext<'_> {
        FeatureContext {
            model: self.model(),
            image: self.image(),
            unknown_category: self.unknown_category,
        }
    }

    /// Leaves the state for later statements.
    pub(crate) fn end(mut self) {
        self.state.pending.end();
        self.image.put_idle(self.state);
    }

    /// Leaves the state for the next model, or for later statements if it serves no other model.
    pub(crate) fn end_reusing(mut self, reusable: &mut ReusableState) {
        self.state.pending.end();
        if let Some(state) = reusable.keep(self.state) {
            self.image.put_idle(state);
        }
    }

    #[inline]
    pub(crate) fn holds(&self, model: &str) -> bool {
        self.state.is_for(model) && SnapshotMark::active().map(Validity::now) == Some(self.validity)
    }

    /// Returns the model's name as in the statement.
    pub(crate) fn model(&self) -> &str {
        &self.state.model
    }

    #[inline]
    pub(crate) fn image(&self) -> &ModelImage {
        self.image.model()
    }

    /// Returns the features of the row that was read.
    pub(crate) fn features(&self) -> &[f32] {
        &self.state.features
    }

    #[inline]
    pub(crate) fn read_features(&mut self, arguments: Arguments<'_>) -> Result<()> {
        self.start_clock();
        let (reader, features) = self.reader();
        reader.read(arguments, features)
    }

    #[inline]
    fn reader(&mut self) -> (RowReader<'_>, &mut [f32]) {
        self.state.reader(self.image.model(), self.unknown_category)
    }

    /// Starts the clock for a row or a batch, if predictions are counted.
    #[inline]
    pub(crate) fn start_clock(&mut self) {
        self.state.pending.start();
    }

    /// Counts the row that was read and evaluated.
    #[inline]
    pub(crate) fn count_call(&mut self) {
        let num_features = self.image().num_features();
        let PredictorState { pending, features, .. } = &mut *self.state;
        pending.count_call(features.get(..num_features).unwrap_or_default());
    }

    /// Counts the rows of a batch with these features.
    pub(crate) fn count_batch(&mut self, features: &[f32]) {
        let image = self.image.model();
        self.state.pending.count_batch(features, image.row_length(), image.num_features());
    }

    /// Reads the features of a row of this expression to where the caller wants them.
    #[inline]
    pub(crate) fn read_into(&mut self, source: impl ArgSource, features: &mut [f32]) -> Result<()> {
        self.reader().0.read(source, features)
    }

    /// # Errors
    /// [`Error::FeatureCount`], if the model has another number of features.
    pub(crate) fn require_count(&self, given: usize) -> Result<()> {
        if given == self.image().num_features() {
            return Ok(());
        }
        Err(self.context().count(given, None))
    }

    /// Returns whether arguments of type real, or elements of a real[], need no conversion.
    pub(crate) fn takes_reals(&self) -> bool {
        self.state.binding.takes_reals(self.image())
    }

    /// Returns the column with the first feature, if the argument is a row of `columns` in which all features
    /// are consecutive, of type real, and numbers to the model.
    pub(crate) fn first_real(&mut self, columns: usize) -> Option<usize> {
        self.reader().0.first_real(columns)
    }

    /// Returns the values of the features as text, `None` for NULL.
    pub(crate) fn texts(&mut self, arguments: Arguments<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        self.reader().0.texts(arguments)
    }

    /// Computes the margins of the row that was read, and returns what is made of them.
    #[inline]
    pub(crate) fn with_margins<T>(
        &mut self,
        make: impl FnOnce(&Predictor, &mut Margins) -> T,
    ) -> Result<T> {
        let PredictorState { scratch, features, margins, .. } = &mut *self.state;
        let image = self.image.model();
        match margins {
            Margins::Single(margins) => image.margins(scratch, features, margins)?,
            Margins::Double(margins) => image.margins(scratch, features, margins)?,
        }
        Ok(self.made_of_margins(make))
    }

    /// As [`Predictor::with_margins`], of a row with these features.
    pub(crate) fn with_margins_of<T>(
        &mut self,
        row: &[f32],
        make: impl FnOnce(&Predictor, &mut Margins) -> T,
    ) -> Result<T> {
        self.state.features.copy_from_slice(row);
        self.with_margins(make)
    }

    /// As [`Predictor::with_margins`], with sums that begin with `start`.
    pub(crate) fn with_margins_from<T>(
        &mut self,
        start: f64,
        make: impl FnOnce(&Predictor, &mut Margins) -> T,
    ) -> Result<T> {
        let PredictorState { scratch, features, margins, .. } = &mut *self.state;
        let image = self.image.model();
        match margins {
            Margins::Single(margins) => {
                margins.fill(start as f32);
                image.margins_from(scratch, features, margins)?;
            }
            Margins::Double(margins) => {
                margins.fill(start);
                image.margins_from(scratch, features, margins)?;
            }
        }
        Ok(self.made_of_margins(make))
    }

    /// Lends the margins, whose buffer the next row uses again.
    #[inline]
    fn made_of_margins<T>(&mut self, make: impl FnOnce(&Predictor, &mut Margins) -> T) -> T {
        let mut margins = std::mem::take(&mut self.state.margins);
        let made = make(self, &mut margins);
        self.state.margins = margins;
        made
    }

    /// Returns the row's leaf in each tree.
    pub(crate) fn leaves(&mut self) -> Result<&[u32]> {
        let image = self.image.model();
        let PredictorState { scratch, features, leaves, .. } = &mut *self.state;
        leaves.resize(image.num_trees(), 0);
        image.leaves(scratch, features, leaves)?;
        Ok(leaves)
    }

    pub(crate) fn shape(&self, function: &'static str, reason: ShapeReason) -> Error {
        Error::Shape { model: self.state.model.clone(), function, reason }
    }
}

#[derive(Default)]
pub(crate) struct RecentPredictors {
    current: Option<Predictor>,
    others: Vec<Predictor>,
}

/// The most models whose states a statement keeps; beyond it the least recent ones are rebuilt.
const MAX_RECENT: usize = 16;

impl RecentPredictors {
    #[inline]
    pub(crate) fn of(&mut self, arguments: Arguments<'_>, model: &str) -> Result<&mut Predictor> {
        if !self.current.as_ref().is_some_and(|predictor| predictor.holds(model)) {
            self.current = Some(self.change(arguments, model)?);
        }
        self.current
            .as_mut()
            .ok_or_else(|| Error::NoSuchModel { name: model.to_owned(), nearest: None })
    }

    /// Returns the state for a model that is not the last call's, or for the first call.
    #[inline(never)]
    fn change(&mut self, arguments: Arguments<'_>, model: &str) -> Result<Predictor> {
        match self.current.take() {
            None if self.others.is_empty() => Predictor::begin(arguments, model),
            last => self.change_to(arguments, model, last),
        }
    }

    /// Returns the state for a model, a kept one or a new one.
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

impl Drop for RecentPredictors {
    fn drop(&mut self) {
        std::mem::take(&mut self.others).into_iter().for_each(Predictor::end);
        self.current.take().into_iter().for_each(Predictor::end);
    }
}
