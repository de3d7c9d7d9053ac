//! The compiled model: flat, relocatable bytes that kernels read in place.
//!
//! A header is followed by sections of plain records, aligned to 64 bytes and located by offset. There
//! are no pointers, so it can be mapped anywhere, and the same model always gives the same bytes.
//! [`CompiledModel::open`] verifies everything once; sections are then read by unchecked casts, which
//! is sound because [`StableBytes`] promises constant bytes. [`CompiledModel::open_checked`] is for
//! bytes that another reader has verified. It is a cache, never the truth: the format may change with
//! every release, and [`COMPILED_MODEL_VERSION`] with it.
#![allow(unsafe_code, reason = "sections that were verified at opening are read without checks")]

pub(crate) mod aligned;
pub(crate) mod categories;
pub(crate) mod doubles;
pub(crate) mod records;
pub(crate) mod sections;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tiles;
mod verify;

use bytemuck::CheckedBitPattern;
use bytemuck::checked::try_cast;

use crate::compiled::aligned::StableBytes;
use crate::compiled::categories::{CategoryView, TAKES_HASH, TextList};
use crate::compiled::doubles::{CELLS, first_cell, set_double};
use crate::compiled::records::CutKind;
use crate::compiled::sections::{
    BIASES, CATEGORICAL, CHUNKS, COEFFICIENTS, CUT_ENDS, CUT_SPANS, CUTS, DICTIONARIES, Header,
    LABELS, LINEAR_LEAVES, NAMES, NUMBERS, OUTPUTS, SORTED, SOURCES, Section, Sections,
    TREE_SUMMARIES, WORDS, damaged,
};
use crate::decimal::shortest_decimal;
use crate::ensemble::{ClassBy, Precision, RealInput, RowNumber, Task, Transform};
use crate::{Cancel, Result};

/// Version of the format, part of the names of files with compiled models.
///
/// It changes whenever the bytes of a compiled model or their meaning do.
pub const COMPILED_MODEL_VERSION: u32 = 17;

/// Where scale, divisor and bias are applied to sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub(crate) enum ScalingAt {
    /// Nowhere: they have no effect.
    None = 0,
    Margins = 1,
    Values = 2,
}

/// The conversion of numbers to the f32 of [`CompiledModel::margins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Narrowing {
    /// Rounding.
    Rounded,
    /// f32 values are unchanged; others are converted by [`CompiledModel::narrow`].
    Adjusted,
    /// By [`CompiledModel::narrow`], and of an f32 by [`CompiledModel::narrow_real`]. Where leaves have linear models, rows have
    /// the numbers too: see [`CompiledModel::row_length`].
    Binned,
}

impl Narrowing {
    fn of(kind: CutKind) -> Self {
        match kind {
            CutKind::Beside | CutKind::BesideDecimal => Narrowing::Adjusted,
            CutKind::Ranks | CutKind::RanksWithoutZero | CutKind::Codes => Narrowing::Binned,
        }
    }
}

/// A verified compiled model.
pub struct CompiledModel<B> {
    bytes: B,
    header: Header,
    task: Task,
    transform: Transform,
    sum_precision: Precision,
    scaling: ScalingAt,
    class_by: ClassBy,
    real_input: RealInput,
    /// The largest conversion of any feature.
    narrowing: Narrowing,
    has_categories: bool,
    /// Number of target statistics.
    num_ctrs: usize,
    row_length: usize,
}

impl<B: StableBytes> CompiledModel<B> {
    /// Opens an untrusted compiled model.
    ///
    /// # Errors
    /// [`crate::ErrorKind::CompiledModel`] if it is damaged, misaligned, or of another version of the
    /// engine; the model must then be compiled again.
    pub fn open(bytes: B) -> Result<Self> {
        Self::open_checking(bytes, Cancel::never())
    }

    /// Like [`CompiledModel::open`]; `cancel` is called every few milliseconds and may unwind.
    ///
    /// # Errors
    /// As for [`CompiledModel::open`].
    pub fn open_checking(bytes: B, cancel: Cancel<'_>) -> Result<Self> {
        let header = verify::header(&bytes)?;
        verify::matches_checksum(&header, &bytes, cancel)?;
        verify::sections(&Sections::verify(&bytes, &header)?, &header, cancel)?;
        Self::with_header(bytes, header)
    }

    /// Opens a compiled model that was verified before, in constant time.
    ///
    /// # Safety
    /// [`CompiledModel::open`] has accepted the same bytes, in this process or another.
    ///
    /// # Errors
    /// [`crate::ErrorKind::CompiledModel`] if the header shows otherwise.
    pub unsafe fn open_checked(bytes: B) -> Result<Self> {
        let header = verify::header(&bytes)?;
        Self::with_header(bytes, header)
    }

    fn with_header(bytes: B, header: Header) -> Result<Self> {
        let task = try_cast(header.task).map_err(|_| damaged("has an unknown task"))?;
        let transform =
            try_cast(header.transform).map_err(|_| damaged("has an unknown transform"))?;
        let sum_precision =
            try_cast(header.sum_precision).map_err(|_| damaged("has sums of no known width"))?;
        let scaling = try_cast(header.scaling).map_err(|_| damaged("has an unknown scaling"))?;
        let class_by =
            try_cast(header.class_by).map_err(|_| damaged("has an unknown choice of classes"))?;
        let real_input =
            try_cast(header.real_input).map_err(|_| damaged("has an unknown meaning of f32"))?;
        let mut compiled = CompiledModel {
            bytes,
            header,
            task,
            transform,
            sum_precision,
            scaling,
            class_by,
            real_input,
            narrowing: Narrowing::Rounded,
            has_categories: false,
            num_ctrs: 0,
            row_length: header.num_features as usize,
        };
        // Cached here, since sections are cold when many compiled models are called in turn.
        compiled.has_categories = compiled.sections().get(CATEGORICAL).contains(&1);
        compiled.num_ctrs = compiled.sections().num_ctrs();
        if !compiled.sections().get(LINEAR_LEAVES).is_empty() {
            compiled.row_length *= CELLS;
        }
        let features = 0..compiled.sections().get(CUT_SPANS).len().max(1);
        let most = features.map(|feature| compiled.narrowing_of(feature)).max();
        compiled.narrowing = most.unwrap_or(Narrowing::Rounded);
        Ok(compiled)
    }

    /// Returns the number of features of a row.
    pub fn num_features(&self) -> usize {
        self.header.num_features as usize
    }

    /// Returns the cells of a row: one per feature, and with linear leaves two more for its double.
    #[inline(always)]
    pub fn row_length(&self) -> usize {
        self.row_length
    }

    /// Returns whether leaves have linear models.
    #[inline(always)]
    pub fn has_linear_leaves(&self) -> bool {
        self.row_length != self.num_features()
    }

    /// Returns the number of split features: features plus target statistics.
    #[inline(always)]
    pub(crate) fn num_split_features(&self) -> usize {
        self.num_features() + self.num_ctrs
    }

    /// Returns whether splits test target statistics of categories.
    #[inline(always)]
    pub fn has_ctrs(&self) -> bool {
        self.num_ctrs > 0
    }

    /// Returns whether the model is linear, without trees.
    pub fn is_linear(&self) -> bool {
        !self.sections().get(COEFFICIENTS).is_empty()
    }

    /// Returns the number of margins of a row.
    pub fn num_outputs(&self) -> usize {
        self.header.num_outputs as usize
    }

    /// Returns the number of values of a row: 1 for a class index or a mean, otherwise as many as
    /// margins.
    pub fn num_values(&self) -> usize {
        if self.transform.gives_one_value() { 1 } else { self.num_outputs() }
    }

    /// Returns the number of the model's trees, each of which has one leaf per row.
    pub fn num_trees(&self) -> usize {
        match self.sections().get(SOURCES) {
            [] => 0,
            [.., last] => *last as usize + 1,
        }
    }

    /// Returns whether the file has the covers that explanations need.
    pub fn has_covers(&self) -> bool {
        let sections = self.sections();
        sections.get(TREE_SUMMARIES).len() == sections.get(OUTPUTS).len()
    }

    /// Returns the kind of prediction.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Returns the transform of margins.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// Returns the factor of margins in [`Transform::Logistic`].
    pub fn slope(&self) -> f64 {
        self.header.slope
    }

    /// Returns the precision of sums and transforms.
    pub fn sum_precision(&self) -> Precision {
        self.sum_precision
    }

    /// Returns the value above which the second of two classes is chosen, unless it follows from none.
    pub fn class_threshold(&self) -> Option<f64> {
        let (class_by, threshold) = self.class_rule();
        match (self.task, class_by, self.transform) {
            (Task::Binary, ClassBy::Value, _) | (Task::Binary, _, Transform::Identity) => {
                Some(threshold)
            }
            (Task::Binary, ClassBy::Margin, Transform::Logistic) => {
                Some(1.0 / (1.0 + (-self.slope() * threshold).exp()))
            }
            _ => None,
        }
    }

    /// Returns the numbers that choose the class, and the threshold for the second of two.
    pub(crate) fn class_rule(&self) -> (ClassBy, f64) {
        (self.class_by, self.header.class_threshold)
    }

    /// Returns where sums are scaled.
    #[inline(always)]
    pub(crate) fn scaling_at(&self) -> ScalingAt {
        self.scaling
    }

    /// Returns the scale and divisor of sums, and the biases: empty, or one per output.
    pub(crate) fn scaling_by(&self) -> (f64, f64, &[f64]) {
        (self.header.scale, self.header.divisor, self.sections().get(BIASES))
    }

    /// Returns the conversion of a feature's numbers to f32.
    pub fn narrowing_of(&self, feature: usize) -> Narrowing {
        match self.sections().get(CUT_SPANS) {
            _ if self.has_linear_leaves() => Narrowing::Binned,
            [] => Narrowing::Rounded,
            spans => Narrowing::of(spans[feature].kind),
        }
    }

    /// Returns the largest conversion of any feature.
    #[inline]
    pub fn narrowing(&self) -> Narrowing {
        self.narrowing
    }

    /// Narrows an f64 to an f32 that a feature's splits decide alike.
    pub fn narrow(&self, feature: usize, value: f64) -> f32 {
        let sections = self.sections();
        match sections.get(CUT_SPANS) {
            [] if self.takes_hash(feature) => f32::of_hash(value.hash()),
            [] => value as f32,
            spans => spans[feature].narrow(sections.get(CUTS), sections.get(CUT_ENDS), value),
        }
    }

    /// The f32 that splits decide as the model decides a number of f32, which it reads by
    /// [`CompiledModel::double_of_real`].
    pub fn narrow_real(&self, feature: usize, value: f32) -> f32 {
        let sections = self.sections();
        match sections.get(CUT_SPANS) {
            [] => self.narrow(feature, value.into()),
            spans => spans[feature].narrow_real(sections.get(CUT_ENDS), value),
        }
    }

    /// Returns how the model reads an f32.
    pub fn real_input(&self) -> RealInput {
        self.real_input
    }

    /// The number that the model takes a number of f32 for.
    pub fn double_of_real(&self, value: f32) -> f64 {
        match self.real_input {
            RealInput::Decimal => shortest_decimal(value),
            RealInput::Binary => value.into(),
        }
    }

    /// Converts a row for [`CompiledModel::margins`] by [`CompiledModel::narrow`]; with linear leaves
    /// it also holds the original numbers. `values.len() == num_features`, `row.len() == row_length`.
    pub fn narrow_row(&self, values: &[f64], row: &mut [f32]) {
        for (feature, (narrowed, value)) in row.iter_mut().zip(values).enumerate() {
            *narrowed = self.narrow(feature, *value);
        }
        if self.has_linear_leaves() {
            for (feature, value) in values.iter().enumerate() {
                set_double(row, self.num_features(), feature, *value);
            }
        }
    }

    /// Returns the places in a row of a feature's cells: the number, and with linear leaves the double's
    /// halves.
    pub fn cells_of(&self, feature: usize) -> impl Iterator<Item = usize> + Clone + use<B> {
        let double = first_cell(self.num_features(), feature);
        let halves = if self.has_linear_leaves() { double..double + 2 } else { 0..0 };
        std::iter::once(feature).chain(halves)
    }

    /// Returns the sum of the depths of the model's trees, the cost of an evaluation.
    pub fn total_depth(&self) -> u64 {
        self.header.total_depth
    }

    /// Returns the bytes from one section up to another one after it.
    pub(crate) fn between<F, E>(&self, first: Section<F>, end: Section<E>) -> &[u8] {
        let offset = |index: usize| self.header.sections[index].offset as usize;
        // A damaged compiled model may have sections in another order.
        self.bytes.get(offset(first.index)..offset(end.index)).unwrap_or_default()
    }

    /// Returns whether a row can be evaluated 64 trees at a time.
    pub(crate) fn has_chunks(&self) -> bool {
        self.header.sections[CHUNKS.index].length > 0
    }

    /// Returns the storage.
    pub fn storage(&self) -> &B {
        &self.bytes
    }

    /// Returns the size in bytes.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns a feature's name, if features have names.
    pub fn feature_name(&self, feature: usize) -> Option<&str> {
        TextList::read(self.sections().get(NAMES)).get(feature)
    }

    /// Returns a class's label, if classes have labels.
    pub fn label(&self, class: usize) -> Option<&str> {
        TextList::read(self.sections().get(LABELS)).get(class)
    }

    /// Returns the number of labels: none, or one per class.
    pub fn num_labels(&self) -> usize {
        TextList::read(self.sections().get(LABELS)).len()
    }

    /// Returns whether a feature holds category codes.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.sections().get(CATEGORICAL).get(feature) == Some(&1)
    }

    /// Returns whether any feature is categorical.
    pub fn has_categories(&self) -> bool {
        self.has_categories
    }

    /// Returns whether rows hold the bits of a category's hash instead of its code; no hash is a
    /// missing value.
    pub fn takes_hash(&self, feature: usize) -> bool {
        let record = || self.sections().get(DICTIONARIES).get(feature);
        self.has_ctrs() && record().is_some_and(|record| record.kind & TAKES_HASH != 0)
    }

    /// Returns a feature's category values, if the model has them.
    pub fn categories(&self, feature: usize) -> Option<CategoryView<'_>> {
        let record = *self.sections().get(DICTIONARIES).get(feature)?;
        let words = TextList::read(self.sections().get(WORDS));
        CategoryView::new(record, self.sections().get(SORTED), self.sections().get(NUMBERS), words)
    }

    #[inline(always)]
    pub(crate) fn sections(&self) -> Sections<'_> {
        // SAFETY: `CompiledModel::open` has verified the sections, here or before `open_checked`, and
        // StableBytes promises that the bytes have not changed.
        unsafe { Sections::of_verified(&self.bytes, &self.header) }
    }
}
