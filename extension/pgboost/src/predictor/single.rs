//! What predicts for one row per call: kept by a statement from call to call, and left for the next.
//!
//! A query that predicts for one row spends more on finding out how to read its arguments than on
//! reading them. So when a statement ends, what it worked out stays with the cached image, for the next
//! that names the same model and passes the same types.

use gbdt::Scratch;
use pg_interface::call::Arguments;
use pg_interface::signature::{ArgSource, ArgumentType, Signature, TypedArguments};
use pg_interface::snapshot::{SnapshotMark, Validity};
use pg_interface::{Oid, catalog};

use crate::cache::{self, ModelImage, Resolved};
use crate::error::{Error, Result, ShapeReason, TypeReason};
use crate::features::{FeatureBinding, FeatureContext};
use crate::guc::{self, KernelChoice, UnknownCategory};
use crate::predictor::margins::Margins;
use crate::registry::pin;
use crate::statistics::Tally;

/// One model, as one expression uses it.
pub struct Predictor {
    resolved: Resolved,
    state: Box<PredictorState>,
    /// What an unknown category means; nothing: what the setting says.
    unknown_category: Option<UnknownCategory>,
}

/// What an expression has worked out for a model that it used before.
#[derive(Default)]
pub struct Spare(Option<Box<PredictorState>>);

/// What was worked out for a model's image and the types of the arguments, and the buffers.
struct PredictorState {
    model: String,
    signature: Signature,
    binding: FeatureBinding,
    kernel: KernelChoice,
    scratch: Scratch,
    features: Vec<f32>,
    margins: Margins,
    leaves: Vec<u32>,
    /// What is counted of the model.
    tally: Tally,
}

impl PredictorState {
    #[cold]
    #[inline(never)]
    fn new(arguments: Arguments<'_>, model: &str, image: &ModelImage) -> Result<Self> {
        let signature = Signature::of(arguments);
        let context = FeatureContext { model, image, unknown_category: None };
        Ok(PredictorState {
            model: model.to_owned(),
            binding: FeatureBinding::bind(&signature, context)?,
            signature,
            kernel: guc::kernel_choice(),
            scratch: Scratch::with_kernel(image, guc::kernel()),
            features: vec![0.0; image.num_features()],
            margins: Margins::of(image, 1),
            leaves: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// Whether nothing in it depends on the model but its name, and that image needs nothing more.
    fn suits(&self, image: &ModelImage) -> bool {
        self.kernel == guc::kernel_choice()
            && self.features.len() == image.num_features()
            && self.binding.is_plain()
            && FeatureBinding::is_plain_for(image)
    }

    /// Makes it that of another model, which it suits.
    fn turn_to(&mut self, model: &str, image: &ModelImage) {
        self.model.clear();
        self.model.push_str(model);
        self.margins.fit(image, 1);
        self.tally.forget();
    }

    #[inline]
    fn begin_to_count(&mut self, resolved: &Resolved, function: Oid) {
        let Resolved { image, version, validity, .. } = resolved;
        self.tally.begin(&self.model, *version, validity.changes, |name| {
            image.ranges(name, *version, validity.changes, function)
        });
    }

    /// Whether it was made for that model's name, and for the kernel that is chosen now.
    #[inline]
    fn serves(&self, model: &str) -> bool {
        self.model == model && self.kernel == guc::kernel_choice()
    }
}

impl Predictor {
    /// The model that the name means to this statement, ready to read its arguments.
    #[inline]
    pub fn begin(arguments: Arguments<'_>, model: &str) -> Result<Self> {
        Predictor::begin_with(arguments, model, &mut Spare::default())
    }

    /// The same, with what an expression of the same arguments has worked out for another model, if it
    /// serves this one too.
    #[inline]
    pub fn begin_with(arguments: Arguments<'_>, model: &str, spare: &mut Spare) -> Result<Self> {
        let resolved = cache::resolve(model, arguments.function())?;
        let image = resolved.image.model();
        let spare = spare.0.take_if(|state| state.suits(image));
        if let Some(mut state) = spare {
            state.turn_to(model, image);
            state.begin_to_count(&resolved, arguments.function());
            return Ok(Predictor { resolved, state, unknown_category: None });
        }
        let fits = |state: &PredictorState| state.serves(model) && state.signature.fits(arguments);
        let mut state = match resolved.image.take_idle(fits) {
            Some(state) => state,
            None => Box::new(PredictorState::new(arguments, model, resolved.image.model())?),
        };
        state.begin_to_count(&resolved, arguments.function());
        Ok(Predictor { resolved, state, unknown_category: None })
    }

    /// Sees to it that results depend on nothing but the arguments, from now on and for ever: on no
    /// version that can go, no setting, and no type whose values can be renamed.
    pub fn require_immutable(&mut self, function: Oid) -> Result<()> {
        if self.unknown_category.is_some() {
            return Ok(());
        }
        if !self.resolved.pinned {
            return Err(Error::NotPinned { model: self.model().to_owned() });
        }
        pin::keep_used(function, self.model())?;
        let types = self.state.signature.types();
        if let Some(index) =
            types.iter().position(|(oid, _)| catalog::is_enum(catalog::base_type(*oid)))
        {
            let type_oid = types.get(index).map_or(Oid::INVALID, |(oid, _)| *oid);
            let context = self.context();
            return Err(context.unusable(index, type_oid, TypeReason::EnumForPinned));
        }
        self.unknown_category = Some(UnknownCategory::Error);
        Ok(())
    }

    fn context(&self) -> FeatureContext<'_> {
        FeatureContext {
            model: self.model(),
            image: self.image(),
            unknown_category: self.unknown_category,
        }
    }

    /// Leaves what was worked out for later statements.
    pub fn end(mut self) {
        self.state.tally.end();
        self.resolved.image.put_idle(self.state);
    }

    /// Leaves what was worked out for the next model, or for later statements if it serves no other.
    pub fn end_to(mut self, spare: &mut Spare) {
        if self.state.binding.is_plain() {
            self.state.tally.end();
            spare.0 = Some(self.state);
        } else {
            self.end();
        }
    }

    #[inline]
    pub fn holds(&self, model: &str) -> bool {
        self.state.serves(model)
            && SnapshotMark::active().map(Validity::now) == Some(self.resolved.validity)
    }

    /// The model as the statement names it.
    pub fn model(&self) -> &str {
        &self.state.model
    }

    #[inline]
    pub fn image(&self) -> &ModelImage {
        self.resolved.image.model()
    }

    /// The features of the row that was read.
    pub fn features(&self) -> &[f32] {
        &self.state.features
    }

    #[inline]
    pub fn read_features(&mut self, arguments: Arguments<'_>) -> Result<()> {
        self.start_clock();
        let PredictorState { model, signature, binding, features, .. } = &mut *self.state;
        let (image, unknown_category) = (self.resolved.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        read(signature, binding, arguments, context, features)
    }

    /// Begins to take the time of a row or a batch, if it is counted.
    #[inline]
    pub fn start_clock(&mut self) {
        self.state.tally.start();
    }

    /// Counts the row that was read and evaluated.
    #[inline]
    pub fn count_call(&mut self) {
        let PredictorState { tally, features, .. } = &mut *self.state;
        tally.count_call(features);
    }

    /// Counts the rows of a batch with these features.
    pub fn count_batch(&mut self, features: &[f32]) {
        let width = self.resolved.image.model().num_features();
        self.state.tally.count_batch(features, width);
    }

    /// Reads the features of a row of this expression to where the caller wants them.
    #[inline]
    pub fn read_into(&mut self, source: impl ArgSource, features: &mut [f32]) -> Result<()> {
        let PredictorState { model, signature, binding, .. } = &mut *self.state;
        let (image, unknown_category) = (self.resolved.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        read(signature, binding, source, context, features)
    }

    /// Whether arguments of type real, or the elements of a real[], are the features as they are.
    pub fn takes_reals(&self) -> bool {
        self.state.binding.takes_reals(self.image())
    }

    /// The column with the first feature, if the argument is a row of so many columns in which all features
    /// follow one another, are of type real, and numbers to the model.
    pub fn first_real(&mut self, columns: usize) -> Option<usize> {
        let PredictorState { model, signature, binding, .. } = &mut *self.state;
        let (image, unknown_category) = (self.resolved.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        let &[(type_oid, ArgumentType::Row)] = signature.types() else { return None };
        binding.first_real(type_oid, columns, context)
    }

    /// The values of the features as the caller would see them, nothing for NULL.
    pub fn texts(&mut self, arguments: Arguments<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        let PredictorState { model, signature, binding, .. } = &mut *self.state;
        let (image, unknown_category) = (self.resolved.image.model(), self.unknown_category);
        let context = FeatureContext { model, image, unknown_category };
        binding.texts(typed(signature, arguments), context)
    }

    /// The margins of the row that was read, which the caller hands back for the next row.
    ///
    /// # Errors
    /// The engine's, which are bugs.
    #[inline]
    pub fn take_margins(&mut self) -> Result<Margins> {
        let PredictorState { scratch, features, margins, .. } = &mut *self.state;
        let image = self.resolved.image.model();
        match margins {
            Margins::Single(margins) => image.margins(scratch, features, margins)?,
            Margins::Double(margins) => image.margins(scratch, features, margins)?,
        }
        Ok(std::mem::take(margins))
    }

    /// The margins of a row with these features, which the caller hands back for the next row.
    ///
    /// # Errors
    /// As for [`Predictor::take_margins`].
    pub fn take_margins_of(&mut self, row: &[f32]) -> Result<Margins> {
        self.state.features.copy_from_slice(row);
        self.take_margins()
    }

    /// The margins of the row that was read, from these on; `start.len() == num_outputs`.
    ///
    /// # Errors
    /// As for [`Predictor::take_margins`].
    pub fn take_margins_from(&mut self, start: f64) -> Result<Margins> {
        let PredictorState { scratch, features, margins, .. } = &mut *self.state;
        let image = self.resolved.image.model();
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
        Ok(std::mem::take(margins))
    }

    #[inline]
    pub fn put_back(&mut self, margins: Margins) {
        self.state.margins = margins;
    }

    /// For each tree the leaf that the row falls into.
    ///
    /// # Errors
    /// As for [`Predictor::take_margins`].
    pub fn leaves(&mut self) -> Result<&[u32]> {
        let image = self.resolved.image.model();
        let PredictorState { scratch, features, leaves, .. } = &mut *self.state;
        leaves.resize(image.num_trees(), 0);
        image.leaves(scratch, features, leaves)?;
        Ok(leaves)
    }

    pub fn shape(&self, function: &'static str, reason: ShapeReason) -> Error {
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
    features: &mut [f32],
) -> Result<()> {
    binding.read(typed(signature, source), context, features)
}

/// The arguments of a row as values of the signature's types.
#[inline]
#[allow(unsafe_code, reason = "says that arguments are of the types that were worked out for them")]
fn typed<S: ArgSource>(signature: &Signature, source: S) -> TypedArguments<'_, S> {
    // SAFETY: a predictor's signature is that of its expression, or was found to fit it; the types of
    // an expression's arguments stay, and the rows of a batch hold the same arguments.
    unsafe { signature.typed(source) }
}
