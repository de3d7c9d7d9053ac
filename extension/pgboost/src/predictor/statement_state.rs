//! Single-row predictor state, kept across calls of a statement, and left for the next statement.
//!
//! A query for one row spends more time on binding its arguments than on reading them. So when a statement ends,
//! its state stays with the cached image, for the next statement with the same model and types. An expression
//! predicts with one model, unless the model's name is a column; then the states of the last models are
//! kept.

use std::rc::Rc;

use gbtrees::internals::{Precision, Scratch};
use pg_interface::call::Arguments;
use pg_interface::invalidation::{SnapshotMark, Validity};
use pg_interface::signature::{ArgSource, ArgumentType, Signature, TypedArguments};
use pg_interface::{Oid, catalog};

use crate::cache::{self, CachedImage, Identity, ModelImage, Resolved};
use crate::error::{Error, Result, ShapeReason, TypeReason};
use crate::features::{FeatureBinding, FeatureContext, read_doubles};
use crate::guc::{self, KernelChoice, UnknownRule};
use crate::registry::pin;
use crate::statistics::PendingCounters;

/// One model, as one expression uses it.
pub(crate) struct Predictor {
    image: Rc<CachedImage>,
    validity: Validity,
    state: Box<PredictorState>,
    unknown_category: UnknownRule,
}

/// The state of an expression for a model that it used before, for reuse.
#[derive(Default)]
pub(crate) struct ReusableState(Option<Box<PredictorState>>);

/// The binding of a model's image to the types of the arguments, and the buffers.
struct PredictorState {
    model: String,
    identity: Identity,
    signature: Signature,
    binding: FeatureBinding,
    kernel: KernelChoice,
    scratch: Scratch,
    features: Vec<f32>,
    /// The row's numbers, for a model with linear leaves.
    doubles: Vec<f64>,
    margins: Margins,
    leaves: Vec<u32>,
    /// Counts for the model's statistics.
    pending: PendingCounters,
}

impl PredictorState {
    #[cold]
    #[inline(never)]
    fn new(signature: Signature, model: &str, resolved: &Resolved) -> Result<Self> {
        let image = resolved.image.model();
        let unknown_category = resolved.identity.unknown_category;
        let context = FeatureContext { model, image, unknown_category };
        Ok(PredictorState {
            model: model.to_owned(),
            identity: resolved.identity,
            binding: FeatureBinding::bind(&signature, context)?,
            signature,
            kernel: guc::kernel_choice(),
            scratch: Scratch::with_kernel(image, guc::kernel()),
            features: vec![0.0; image.row_length()],
            doubles: Vec::new(),
            margins: Margins::of(image, 1),
            leaves: Vec::new(),
            pending: PendingCounters::default(),
        })
    }

    /// Returns whether it serves that image too: only the model's name in it depends on the model.
    fn is_compatible(&self, image: &ModelImage) -> bool {
        self.kernel == guc::kernel_choice()
            && self.features.len() == image.row_length()
            && self.binding.is_plain()
            && FeatureBinding::is_plain_for(image)
    }

    /// Turns it into the state of another, compatible model.
    fn rebind(&mut self, model: &str, image: &ModelImage) {
        self.model.clear();
        self.model.push_str(model);
        self.margins.fit(image, 1);
        self.pending.forget();
    }

    /// Begins a statement with the version that was looked up for it.
    #[inline]
    fn begin(mut self: Box<Self>, resolved: Resolved, function: Oid) -> Predictor {
        let Resolved { image, identity, validity } = resolved;
        let Identity { model, version, unknown_category, .. } = identity;
        self.identity = identity;
        let generation = validity.generation;
        self.pending.begin(model, version, image.model(), generation, function);
        Predictor { image, validity, state: self, unknown_category }
    }

    /// Returns whether it was made for that model's name and the chosen kernel.
    #[inline]
    fn is_for(&self, model: &str) -> bool {
        self.model == model && self.kernel == guc::kernel_choice()
    }
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
        let image = resolved.image.model();
        let reusable = reusable.0.take_if(|state| state.is_compatible(image));
        if let Some(mut state) = reusable {
            state.rebind(model, image);
            return Ok(state.begin(resolved, arguments.function()));
        }
        let fits = |state: &PredictorState| state.is_for(model) && state.signature.fits(arguments);
        let state = match resolved.image.take_idle(fits) {
            Some(state) => state,
            None => Box::new(PredictorState::new(Signature::of(arguments), model, &resolved)?),
        };
        Ok(state.begin(resolved, arguments.function()))
    }

    /// Resolves a model for rows of a type that no call passes. `function` is one of the extension's.
    pub(crate) fn begin_rows(row_type: Oid, model: &str, function: Oid) -> Result<Self> {
        let resolved = cache::resolve(model, function)?;
        let is_row = |state: &PredictorState| {
            state.is_for(model) && state.signature.types() == [(row_type, ArgumentType::Row)]
        };
        let state = match resolved.image.take_idle(is_row) {
            Some(state) => state,
            None => {
                let signature = Signature::of_row(row_type);
                Box::new(PredictorState::new(signature, model, &resolved)?)
            }
        };
        Ok(state.begin(resolved, function))
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
        if self.state.binding.is_plain() {
            self.state.pending.end();
            reusable.0 = Some(self.state);
        } else {
            self.end();
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
        let PredictorState { model, signature, binding, features, doubles, .. } = &mut *self.state;
        let (image, unknown_category) = (self.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        read(signature, binding, arguments, context, doubles, features)
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
        let PredictorState { model, signature, binding, doubles, .. } = &mut *self.state;
        let (image, unknown_category) = (self.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        read(signature, binding, source, context, doubles, features)
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
        let PredictorState { model, signature, binding, .. } = &mut *self.state;
        let (image, unknown_category) = (self.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        let &[(type_oid, ArgumentType::Row)] = signature.types() else { return None };
        binding.first_real(type_oid, columns, context)
    }

    /// Returns the values of the features as text, `None` for NULL.
    pub(crate) fn texts(&mut self, arguments: Arguments<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        let PredictorState { model, signature, binding, .. } = &mut *self.state;
        let (image, unknown_category) = (self.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        binding.texts(typed(signature, arguments), context)
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

/// Reads the features of a row whose arguments are of the signature's types.
#[inline]
fn read(
    signature: &Signature,
    binding: &mut FeatureBinding,
    source: impl ArgSource,
    context: FeatureContext<'_>,
    doubles: &mut Vec<f64>,
    features: &mut [f32],
) -> Result<()> {
    let arguments = typed(signature, source);
    if context.image.has_linear_leaves() {
        let read = |doubles: &mut [f64]| binding.read(arguments, context, doubles);
        return read_doubles(context.image, doubles, features, read);
    }
    binding.read(arguments, context, features)
}

/// Returns the arguments of a row as values of the signature's types.
#[inline]
#[allow(unsafe_code, reason = "says that arguments are of the types that were worked out for them")]
fn typed<S: ArgSource>(signature: &Signature, source: S) -> TypedArguments<'_, S> {
    // SAFETY: a predictor's signature is that of its expression, or was found to fit it; the types of
    // an expression's arguments stay, and the rows of a batch hold the same arguments.
    unsafe { signature.typed(source) }
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

/// Margins of rows, in the precision of the model's sums.
pub(crate) enum Margins {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Default for Margins {
    fn default() -> Self {
        Margins::Single(Vec::new())
    }
}

impl Margins {
    /// Creates room for the margins of `rows`.
    pub(crate) fn of(image: &ModelImage, rows: usize) -> Margins {
        let count = rows * image.num_outputs();
        match image.sum_precision() {
            Precision::Single => Margins::Single(vec![0.0; count]),
            Precision::Double => Margins::Double(vec![0.0; count]),
        }
    }

    /// Resizes to the margins of `rows` of that image.
    #[inline]
    pub(crate) fn fit(&mut self, image: &ModelImage, rows: usize) {
        let count = rows * image.num_outputs();
        match (&mut *self, image.sum_precision()) {
            (Margins::Single(margins), Precision::Single) => margins.resize(count, 0.0),
            (Margins::Double(margins), Precision::Double) => margins.resize(count, 0.0),
            (margins, _) => *margins = Margins::of(image, rows),
        }
    }
}
