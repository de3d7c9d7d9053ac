//! The state of a model in one expression: its binding to the arguments' types, and the buffers of a row.
//!
//! A query for one row spends more time on binding its arguments than on reading them. So when a statement ends,
//! its state stays with the cached image, for the next statement with the same model and types; only the
//! image, which a deployment may replace, is looked up again.

use gbtrees::internals::{Precision, Scratch};
use pg_interface::Oid;
use pg_interface::call::Arguments;
use pg_interface::signature::{ArgSource, ArgumentType, Signature, TypedArguments};

use crate::cache::{Identity, ModelImage, Resolved};
use crate::error::Result;
use crate::features::{FeatureBinding, FeatureContext, read_doubles};
use crate::guc::{self, KernelChoice, UnknownRule};
use crate::statistics::PendingCounters;

/// The state of an expression for a model that it used before, for reuse.
#[derive(Default)]
pub(crate) struct ReusableState(Option<Box<PredictorState>>);

impl ReusableState {
    /// Keeps the state if it can serve another model, or returns it.
    pub(super) fn keep(&mut self, state: Box<PredictorState>) -> Option<Box<PredictorState>> {
        if !state.binding.is_plain() {
            return Some(state);
        }
        self.0 = Some(state);
        None
    }

    /// Turns the kept state into that of a model, if it is compatible.
    #[inline]
    pub(super) fn take(&mut self, model: &str, image: &ModelImage) -> Option<Box<PredictorState>> {
        let mut state = self.0.take_if(|state| state.is_compatible(image))?;
        state.rebind(model, image);
        Some(state)
    }
}

/// The binding of a model's image to the types of the arguments, and the buffers.
pub(super) struct PredictorState {
    pub(super) model: String,
    pub(super) identity: Identity,
    pub(super) signature: Signature,
    pub(super) binding: FeatureBinding,
    kernel: KernelChoice,
    pub(super) scratch: Scratch,
    pub(super) features: Vec<f32>,
    /// The row's numbers, for a model with linear leaves.
    doubles: Vec<f64>,
    pub(super) margins: Margins,
    pub(super) leaves: Vec<u32>,
    /// Counts for the model's statistics.
    pub(super) pending: PendingCounters,
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

    /// Returns a state that an earlier statement has left for these arguments, or a new one.
    #[inline]
    pub(super) fn for_arguments(
        arguments: Arguments<'_>,
        model: &str,
        resolved: &Resolved,
    ) -> Result<Box<Self>> {
        let fits = |state: &PredictorState| state.is_for(model) && state.signature.fits(arguments);
        match resolved.image.take_idle(fits) {
            Some(state) => Ok(state),
            None => PredictorState::new(Signature::of(arguments), model, resolved).map(Box::new),
        }
    }

    /// As [`PredictorState::for_arguments`], for rows of a type that no call passes.
    pub(super) fn for_rows(row_type: Oid, model: &str, resolved: &Resolved) -> Result<Box<Self>> {
        let is_row = |state: &PredictorState| {
            state.is_for(model) && state.signature.types() == [(row_type, ArgumentType::Row)]
        };
        match resolved.image.take_idle(is_row) {
            Some(state) => Ok(state),
            None => PredictorState::new(Signature::of_row(row_type), model, resolved).map(Box::new),
        }
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

    /// Returns whether it was made for that model's name and the chosen kernel.
    #[inline]
    pub(super) fn is_for(&self, model: &str) -> bool {
        self.model == model && self.kernel == guc::kernel_choice()
    }

    /// Lends the reader of a row, and the features that it fills for one row.
    #[inline]
    pub(super) fn reader<'a>(
        &'a mut self,
        image: &'a ModelImage,
        unknown_category: UnknownRule,
    ) -> (RowReader<'a>, &'a mut [f32]) {
        let PredictorState { model, signature, binding, features, doubles, .. } = self;
        let context = FeatureContext { model, image, unknown_category };
        (RowReader { signature, binding, context, doubles }, features)
    }
}

/// A binding, and what it needs to read a row.
pub(super) struct RowReader<'a> {
    signature: &'a Signature,
    binding: &'a mut FeatureBinding,
    context: FeatureContext<'a>,
    doubles: &'a mut Vec<f64>,
}

impl RowReader<'_> {
    /// Reads the features of a row whose arguments are of the signature's types.
    #[inline]
    pub(super) fn read(self, source: impl ArgSource, features: &mut [f32]) -> Result<()> {
        let RowReader { signature, binding, context, doubles } = self;
        let arguments = typed(signature, source);
        if context.image.has_linear_leaves() {
            let read = |doubles: &mut [f64]| binding.read(arguments, context, doubles);
            return read_doubles(context.image, doubles, features, read);
        }
        binding.read(arguments, context, features)
    }

    /// Returns the values of the features as text, `None` for NULL.
    pub(super) fn texts(self, arguments: Arguments<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        self.binding.texts(typed(self.signature, arguments), self.context)
    }

    /// Returns the column with the first feature, if the argument is a row of `columns` in which all features
    /// are consecutive, of type real, and numbers to the model.
    pub(super) fn first_real(self, columns: usize) -> Option<usize> {
        let &[(type_oid, ArgumentType::Row)] = self.signature.types() else { return None };
        self.binding.first_real(type_oid, columns, self.context)
    }
}

/// Returns the arguments of a row as values of the signature's types.
#[inline]
#[allow(unsafe_code, reason = "says that arguments are of the types that were worked out for them")]
fn typed<S: ArgSource>(signature: &Signature, source: S) -> TypedArguments<'_, S> {
    // SAFETY: a predictor's signature is that of its expression, or was found to fit it; the types of
    // an expression's arguments stay, and the rows of a batch hold the same arguments.
    unsafe { signature.typed(source) }
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
