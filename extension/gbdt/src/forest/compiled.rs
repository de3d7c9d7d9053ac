//! Reading an image in place.
//!
//! [`Image::open`] verifies everything once; its sections are then read through unchecked casts,
//! which is sound because [`StableBytes`] promises that the bytes stay as they were.
//! [`Image::open_checked`] is for a further reader of bytes that another one has verified.
#![allow(unsafe_code, reason = "sections that were verified at opening are read without checks")]

use bytemuck::checked::try_cast;

use super::aligned::StableBytes;
use super::categories::CategoryView;
use super::sections::damaged;
use super::sections::{
    BASE_MARGINS, CATEGORICAL, DICTIONARIES, Header, LABELS, NAMES, NUMBERS, SORTED, SOURCES,
    Sections, WORDS,
};
use super::text::TextList;
use super::verify;
use crate::Result;
use crate::model::{Task, Transform};

/// An image that has been verified.
pub struct Image<B> {
    bytes: B,
    header: Header,
    task: Task,
    transform: Transform,
}

impl<B: StableBytes> Image<B> {
    /// Opens an image, whoever made it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Image`] if it is damaged, misaligned, or not of this version of the
    /// engine; it must then be made anew from the model.
    pub fn open(bytes: B) -> Result<Self> {
        Self::open_checking(bytes, &mut || ())
    }

    /// As [`Image::open`]. `check_interrupts` is called every few milliseconds; it may unwind.
    ///
    /// # Errors
    /// As for [`Image::open`].
    pub fn open_checking(bytes: B, check_interrupts: &mut dyn FnMut()) -> Result<Self> {
        let header = verify::header(&bytes)?;
        verify::matches_checksum(&header, &bytes, check_interrupts)?;
        verify::sections(&Sections::verify(&bytes, &header)?, &header, check_interrupts)?;
        Self::with_header(bytes, header)
    }

    /// Opens an image that was checked before, which takes no longer for a large one.
    ///
    /// # Safety
    /// [`Image::open`] has opened these very bytes, in this process or another.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Image`] where the header alone shows that they are not.
    pub unsafe fn open_checked(bytes: B) -> Result<Self> {
        let header = verify::header(&bytes)?;
        Self::with_header(bytes, header)
    }

    fn with_header(bytes: B, header: Header) -> Result<Self> {
        let task = try_cast(header.task).map_err(|_| damaged("has an unknown task"))?;
        let transform =
            try_cast(header.transform).map_err(|_| damaged("has an unknown transform"))?;
        Ok(Image { bytes, header, task, transform })
    }

    /// Number of features of a row.
    pub fn num_features(&self) -> usize {
        self.header.num_features as usize
    }

    /// Number of margins of a row.
    pub fn num_outputs(&self) -> usize {
        self.header.num_outputs as usize
    }

    /// Number of values of a row: 1 if they are the index of a class, else as many as margins.
    pub fn num_values(&self) -> usize {
        if self.transform == Transform::ArgMax { 1 } else { self.num_outputs() }
    }

    /// Number of trees of the model, of each of which a row reaches one leaf.
    pub fn num_trees(&self) -> usize {
        self.sections().get(SOURCES).last().map_or(0, |last| *last as usize + 1)
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
    pub fn slope(&self) -> f32 {
        self.header.slope
    }

    /// The sum of all trees' depths, which is what one evaluation costs.
    pub fn total_depth(&self) -> u64 {
        self.header.total_depth
    }

    /// What holds the image.
    pub fn storage(&self) -> &B {
        &self.bytes
    }

    /// The size of the image.
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

    /// Number of labels: none, or one a class.
    pub fn num_labels(&self) -> usize {
        TextList::read(self.sections().get(LABELS)).len()
    }

    /// Whether a feature's values are category codes.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.sections().get(CATEGORICAL).get(feature) == Some(&1)
    }

    /// The values that a feature's codes stand for, if the model has them.
    pub fn categories(&self, feature: usize) -> Option<CategoryView<'_>> {
        let record = *self.sections().get(DICTIONARIES).get(feature)?;
        let words = TextList::read(self.sections().get(WORDS));
        CategoryView::new(record, self.sections().get(SORTED), self.sections().get(NUMBERS), words)
    }

    /// What the sum of each output begins with: `num_outputs` values.
    #[inline]
    pub(crate) fn base_margins(&self) -> &[f32] {
        self.sections().get(BASE_MARGINS)
    }

    #[inline(always)]
    pub(crate) fn sections(&self) -> Sections<'_> {
        // SAFETY: `Image::open` has verified the sections, here or before the `open_checked` of which
        // its caller promises that, and StableBytes promises that the bytes have not changed.
        unsafe { Sections::of_verified(&self.bytes, &self.header) }
    }
}
