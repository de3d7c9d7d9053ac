//! The buffers of explanations, with what is made of an image for many rows.

use super::leaf_changes::{LeafBuffers, LeafChanges};
use super::paths::{Level, OnPath};
use super::tables::{Blocks, RowBuffers, TableKernel, Tables};
use crate::eval::Kernel;
use crate::eval::row_keys::RowKeys;
use crate::forest::sections::GROUPS;
use crate::forest::{Image, StableBytes};
use crate::{Error, ErrorKind, Limits, Result};

/// Something that may be there.
pub(super) struct Made<T> {
    pub(super) it: Option<Box<T>>,
    /// Whether it would take more memory than the caller allows.
    has_no_room: bool,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Made { it: None, has_no_room: false }
    }
}

impl<T> Made<T> {
    pub(super) fn make(&mut self, max_bytes: usize, build: impl FnOnce() -> Option<T>) {
        if max_bytes > 0 && self.it.is_none() && !self.has_no_room {
            self.it = build().map(Box::new);
            self.has_no_room = self.it.is_none();
        }
    }
}

/// Buffers for explanations of one image; nothing is allocated per row once they have grown.
pub struct ContributionScratch {
    /// The checksum of the image.
    image: u64,
    pub(super) keys: RowKeys,
    pub(super) present: Vec<f32>,
    /// One per feature.
    pub(super) on_path: Vec<OnPath>,
    pub(super) order: Vec<u32>,
    /// Of one row: per output one per feature, and the bias.
    pub(super) contributions: Vec<f64>,
    /// Of one output of a row, or of some rows of its matrix.
    pub(super) interactions: Vec<f64>,
    /// Contributions of a batch whose interactions are computed.
    pub(super) own: Vec<f32>,
    /// Of at most so many bytes together as the caller allows.
    pub(super) tables: Made<Tables>,
    pub(super) pair_tables: Made<Tables>,
    pub(super) leaf_changes: Made<LeafChanges>,
    /// Rows that have been explained without tables.
    pub(super) rows_walked: usize,
    /// For the tables of features, and for those of pairs.
    pub(super) blocks: [Blocks; 2],
    pub(super) leaves: LeafBuffers,
    pub(super) max_table_bytes: usize,
    pub(super) evaluation: Kernel,
    pub(super) kernel: &'static TableKernel,
    pub(super) level: Level,
    pub(super) row_buffers: RowBuffers,
    pub(super) work: usize,
    /// Whether a walk has begun and not ended.
    pub(super) walking: bool,
}

impl ContributionScratch {
    /// What tables take at most unless the caller says otherwise.
    pub const TABLE_BYTES: usize = 128 << 20;

    /// Buffers for explanations of this image, with tables of at most [`Self::TABLE_BYTES`].
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the model has no covers, or trees deeper than `Limits::default()`
    /// allows; [`ErrorKind::OutOfMemory`].
    pub fn new<B: StableBytes>(image: &Image<B>) -> Result<Self> {
        Self::with_tables(image, Kernel::default(), Self::TABLE_BYTES)
    }

    /// Buffers that make tables of contributions, of at most so many bytes, once enough rows have been
    /// explained that they pay; the table of a model of 500 trees of depth 8 takes some 50 MB. What
    /// they do not hold is computed row by row.
    ///
    /// # Errors
    /// As for [`ContributionScratch::new`].
    pub fn with_tables<B: StableBytes>(
        image: &Image<B>,
        kernel: Kernel,
        max_table_bytes: usize,
    ) -> Result<Self> {
        if !image.has_covers() {
            let message = "the model file does not say how many rows reached each node";
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(COVERS));
        }
        let depth = image.sections().get(GROUPS).iter().map(|group| group.depth).max();
        let (depth, limit) = (depth.unwrap_or(0), Limits::default().depth);
        if depth as usize > limit {
            let message = format!("trees of depth {depth} cannot be explained, only up to {limit}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(ContributionScratch {
            image: image.checksum(),
            keys: RowKeys::new(image.num_features()),
            present: Vec::new(),
            on_path: filled(image.num_features(), OnPath::NOT)?,
            order: Vec::new(),
            contributions: filled(image.num_outputs() * (image.num_features() + 1), 0.0)?,
            interactions: Vec::new(),
            own: Vec::new(),
            tables: Made::default(),
            pair_tables: Made::default(),
            leaf_changes: Made::default(),
            rows_walked: 0,
            blocks: Default::default(),
            leaves: LeafBuffers::default(),
            evaluation: kernel,
            max_table_bytes,
            kernel: TableKernel::of(kernel),
            level: Level::of(kernel),
            row_buffers: RowBuffers::default(),
            work: 0,
            walking: false,
        })
    }

    /// # Errors
    /// [`ErrorKind::RowLength`] if they were made for another image.
    pub(super) fn is_of<B: StableBytes>(&self, image: &Image<B>) -> Result<()> {
        if self.image == image.checksum() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::RowLength, "buffers of explanations are of another model"))
    }

    /// What the tables take that have been made, and matrices of interactions: a caller that keeps buffers
    /// bounds them by it.
    pub fn table_bytes(&self) -> usize {
        let tables = [&self.tables, &self.pair_tables].map(|tables| &tables.it);
        tables.into_iter().flatten().map(|tables| tables.bytes()).sum::<usize>()
            + self.leaf_changes.it.as_ref().map_or(0, |changes| changes.bytes())
            + size_of_val(&self.interactions[..])
            + size_of_val(&self.own[..])
    }

    /// What is left for others.
    pub(super) fn room(&self) -> usize {
        self.max_table_bytes.saturating_sub(self.table_bytes())
    }

    /// Makes ready for a walk.
    pub(super) fn reset(&mut self) {
        self.contributions.fill(0.0);
        if std::mem::replace(&mut self.walking, true) {
            // A cancel has unwound half way down a path.
            self.order.clear();
            self.on_path.fill(OnPath::NOT);
        }
    }
}

const COVERS: &str = "Explanations need the covers (XGBoost), counts (LightGBM) or leaf weights (CatBoost) of the training; ONNX files never have them.";

/// So many values, or an error where there is no memory.
pub(super) fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("out of memory for {count} contributions"))
    })?;
    values.resize(count, value);
    Ok(values)
}
