//! The compiled model: one flat, relocatable run of bytes that kernels read in place.
//!
//! A header, then sections of plain records, each aligned to 64 bytes and found by its offset. It holds
//! no pointer, so it means the same wherever it is mapped, and the same model always gives the same
//! bytes. [`CompiledModel::open`] verifies everything once; its sections are then read through unchecked
//! casts, which is sound because [`StableBytes`] promises that the bytes stay as they were.
//! [`CompiledModel::open_checked`] is for a further reader of bytes that another one has verified. It is a
//! cache, never the truth: its format may change with every release, and [`COMPILED_MODEL_VERSION`] with it.
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
use crate::compiled::doubles::{CELLS, set_double};
use crate::compiled::records::CutKind;
use crate::compiled::sections::{
    BIASES, CATEGORICAL, CHUNKS, COEFFICIENTS, CUT_SPANS, CUTS, DICTIONARIES, Header, LABELS,
    LINEAR_LEAVES, NAMES, NUMBERS, ROOTS, SORTED, SOURCES, Section, Sections, TREE_SUMMARIES,
    WORDS, damaged,
};
use crate::ensemble::{ClassBy, Precision, RowNumber, Task, Transform};
use crate::{Cancel, Result};

/// The version of the compiled model's format, part of the name of a file that holds one.
///
/// It changes whenever the bytes of a compiled model or their meaning do.
pub const COMPILED_MODEL_VERSION: u32 = 15;

/// Where a sum becomes a margin or a value by a scale, a divisor and a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub(crate) enum ScalingAt {
    /// None: they change nothing.
    None = 0,
    Margins = 1,
    Values = 2,
}

/// How numbers become the f32 that [`CompiledModel::margins`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Narrowing {
    /// By rounding.
    Rounded,
    /// Those that are an f32 stay; of others [`CompiledModel::narrow`] makes one.
    Adjusted,
    /// By [`CompiledModel::narrow`], also those that are an f32. Where leaves have linear models, rows have
    /// the numbers too: see [`CompiledModel::row_length`].
    Binned,
}

impl Narrowing {
    fn of(kind: CutKind) -> Self {
        match kind {
            CutKind::Beside => Narrowing::Adjusted,
            CutKind::Ranks | CutKind::RanksWithoutZero | CutKind::Codes => Narrowing::Binned,
        }
    }
}

/// A compiled model that has been verified.
pub struct CompiledModel<B> {
    bytes: B,
    header: Header,
    task: Task,
    transform: Transform,
    sum_precision: Precision,
    scaling: ScalingAt,
    class_by: ClassBy,
    /// The most that any feature needs.
    narrowing: Narrowing,
    has_categories: bool,
    /// Number of target statistics.
    num_ctrs: usize,
    row_length: usize,
}

impl<B: StableBytes> CompiledModel<B> {
    /// Opens a compiled model, whoever made it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::CompiledModel`] if it is damaged, misaligned, or not of this version of the
    /// engine; it must then be made again from the model.
    pub fn open(bytes: B) -> Result<Self> {
        Self::open_checking(bytes, Cancel::never())
    }

    /// As [`CompiledModel::open`]. `cancel` is called every few milliseconds; it may unwind.
    ///
    /// # Errors
    /// As for [`CompiledModel::open`].
    pub fn open_checking(bytes: B, cancel: Cancel<'_>) -> Result<Self> {
        let header = verify::header(&bytes)?;
        verify::matches_checksum(&header, &bytes, cancel)?;
        verify::sections(&Sections::verify(&bytes, &header)?, &header, cancel)?;
        Self::with_header(bytes, header)
    }

    /// Opens a compiled model that was checked before, which takes no longer for a large one.
    ///
    /// # Safety
    /// [`CompiledModel::open`] has opened these very bytes, in this process or another.
    ///
    /// # Errors
    /// [`crate::ErrorKind::CompiledModel`] where the header alone shows that they are not.
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
        let mut compiled = CompiledModel {
            bytes,
            header,
            task,
            transform,
            sum_precision,
            scaling,
            class_by,
            narrowing: Narrowing::Rounded,
            has_categories: false,
            num_ctrs: 0,
            row_length: header.num_features as usize,
        };
        // Where many compiled models are called in turn, what the sections have is in no cache.
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

    /// Number of features of a row.
    pub fn num_features(&self) -> usize {
        self.header.num_features as usize
    }

    /// Number of cells of a row: one per feature, and where leaves have linear models two more of its double.
    #[inline(always)]
    pub fn row_length(&self) -> usize {
        self.row_length
    }

    /// Whether leaves have linear models.
    #[inline(always)]
    pub fn has_linear_leaves(&self) -> bool {
        self.row_length != self.num_features()
    }

    /// Number of what splits test: features, and target statistics behind them.
    #[inline(always)]
    pub(crate) fn num_split_features(&self) -> usize {
        self.num_features() + self.num_ctrs
    }

    /// Whether splits test target statistics of categories.
    #[inline(always)]
    pub fn has_ctrs(&self) -> bool {
        self.num_ctrs > 0
    }

    /// Whether the model is a linear one, without trees.
    pub fn is_linear(&self) -> bool {
        !self.sections().get(COEFFICIENTS).is_empty()
    }

    /// Number of margins of a row.
    pub fn num_outputs(&self) -> usize {
        self.header.num_outputs as usize
    }

    /// Number of values of a row: 1 if they are the index of a class or a mean, else as many as margins.
    pub fn num_values(&self) -> usize {
        if self.transform.gives_one_value() { 1 } else { self.num_outputs() }
    }

    /// Number of trees of the model, of each of which a row reaches one leaf.
    pub fn num_trees(&self) -> usize {
        match self.sections().get(SOURCES) {
            [] => 0,
            [.., last] => *last as usize + 1,
        }
    }

    /// Whether the file has the covers that explanations need.
    pub fn has_covers(&self) -> bool {
        let sections = self.sections();
        sections.get(TREE_SUMMARIES).len() == sections.get(ROOTS).len()
    }

    /// What the values are good for.
    pub fn task(&self) -> Task {
        self.task
    }

    /// How margins become values.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// The factor of a margin in [`Transform::Logistic`].
    pub fn slope(&self) -> f64 {
        self.header.slope
    }

    /// In what precision leaves are added and margins transformed.
    pub fn sum_precision(&self) -> Precision {
        self.sum_precision
    }

    /// By what a class is chosen, and above what the second of two is.
    pub(crate) fn class_rule(&self) -> (ClassBy, f64) {
        (self.class_by, self.header.class_threshold)
    }

    /// Where sums are scaled.
    #[inline(always)]
    pub(crate) fn scaling_at(&self) -> ScalingAt {
        self.scaling
    }

    /// The scale and the divisor of sums, and what is added to each output's: nothing, or one per
    /// output.
    pub(crate) fn scaling_by(&self) -> (f64, f64, &[f64]) {
        (self.header.scale, self.header.divisor, self.sections().get(BIASES))
    }

    /// How numbers of a feature become f32.
    pub fn narrowing_of(&self, feature: usize) -> Narrowing {
        match self.sections().get(CUT_SPANS) {
            _ if self.has_linear_leaves() => Narrowing::Binned,
            [] => Narrowing::Rounded,
            spans => Narrowing::of(spans[feature].kind),
        }
    }

    /// How numbers become f32, of the features for which that takes most.
    #[inline]
    pub fn narrowing(&self) -> Narrowing {
        self.narrowing
    }

    /// The f32 that splits decide as the model decides a number of f64.
    pub fn narrow(&self, feature: usize, value: f64) -> f32 {
        let sections = self.sections();
        match sections.get(CUT_SPANS) {
            [] if self.takes_hash(feature) => f32::of_hash(value.hash()),
            [] => value as f32,
            spans => spans[feature].narrow(sections.get(CUTS), value),
        }
    }

    /// A row as [`CompiledModel::margins`] takes it: [`CompiledModel::narrow`] of each feature, and where
    /// leaves have linear models the numbers themselves. `values.len() == num_features`,
    /// `row.len() == row_length`.
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

    /// The sum of all trees' depths, which is what one evaluation costs.
    pub fn total_depth(&self) -> u64 {
        self.header.total_depth
    }

    /// The sections from one up to another, which lie one behind the other.
    pub(crate) fn between<F, E>(&self, first: Section<F>, end: Section<E>) -> &[u8] {
        let offset = |index: usize| self.header.sections[index].offset as usize;
        // What is not there need not be asked for: sections of a damaged compiled model may lie in another
        // order.
        self.bytes.get(offset(first.index)..offset(end.index)).unwrap_or_default()
    }

    /// Whether one row can be evaluated 64 trees at a time.
    pub(crate) fn has_chunks(&self) -> bool {
        self.header.sections[CHUNKS.index].length > 0
    }

    /// What holds the compiled model.
    pub fn storage(&self) -> &B {
        &self.bytes
    }

    /// The size of the compiled model.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// The name of a feature, if the features have names.
    pub fn feature_name(&self, feature: usize) -> Option<&str> {
        TextList::read(self.sections().get(NAMES)).get(feature)
    }

    /// The label of a class, if the classes have labels.
    pub fn label(&self, class: usize) -> Option<&str> {
        TextList::read(self.sections().get(LABELS)).get(class)
    }

    /// Number of labels: none, or one per class.
    pub fn num_labels(&self) -> usize {
        TextList::read(self.sections().get(LABELS)).len()
    }

    /// Whether a feature's values are category codes.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.sections().get(CATEGORICAL).get(feature) == Some(&1)
    }

    /// Whether any feature is categorical.
    pub fn has_categories(&self) -> bool {
        self.has_categories
    }

    /// Whether rows have the bits of a category's hash for a feature, and not its code. No hash is a missing
    /// value.
    pub fn takes_hash(&self, feature: usize) -> bool {
        let record = || self.sections().get(DICTIONARIES).get(feature);
        self.has_ctrs() && record().is_some_and(|record| record.kind & TAKES_HASH != 0)
    }

    /// The values that a feature's codes stand for, if the model has them.
    pub fn categories(&self, feature: usize) -> Option<CategoryView<'_>> {
        let record = *self.sections().get(DICTIONARIES).get(feature)?;
        let words = TextList::read(self.sections().get(WORDS));
        CategoryView::new(record, self.sections().get(SORTED), self.sections().get(NUMBERS), words)
    }

    #[inline(always)]
    pub(crate) fn sections(&self) -> Sections<'_> {
        // SAFETY: `CompiledModel::open` has verified the sections, here or before the `open_checked` of which
        // its caller promises that, and StableBytes promises that the bytes have not changed.
        unsafe { Sections::of_verified(&self.bytes, &self.header) }
    }
}
