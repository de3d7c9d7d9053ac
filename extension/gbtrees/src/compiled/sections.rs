//! The header and sections of a compiled model, and its writer.
//!
//! A [`Section`] is a typed handle: [`Sections::get`] returns its records, [`Writer`] takes them by the
//! same handle. The bytes do not depend on addresses, time or hashing order. A new section is one line
//! in the table below, one in a collector of [`crate::lower`], and in [`crate::compiled::verify`] the
//! check of what evaluation relies on.

#![allow(unsafe_code, reason = "sections that were checked at opening are read without checks")]

use std::marker::PhantomData;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable, bytes_of, cast_slice};
use xxhash_rust::xxh3::Xxh3Default;

use crate::compiled::aligned::{ALIGNMENT, AlignedBytes, PIECE};
use crate::compiled::records::{
    CompactNode, CtrPart, CtrProjection, CutSpan, Dictionary, Group, GroupKind, LinearLeaf,
    LinearTerm, OutcomeNode, OutcomeTable, SetSpan, SplitRecord, TreeSummary, WideNode, leaf_slot,
};
use crate::compiled::tiles::{
    Chunk, CodeTable, Coding, CompoundRun, ConditionColumn, ConditionRun, NodeBlock, Segment,
    TileGroup, TopNode,
};
#[cfg(any(test, fuzzing))]
use crate::verified::sure;
use crate::{Cancel, Error, ErrorKind, Result};

/// Returns the error for a damaged compiled model.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::CompiledModel, format!("compiled model {what}"))
}

/// # Errors
/// [`ErrorKind::CompiledModel`] with `what`, unless `right`.
pub(crate) fn ensure(right: bool, what: &str) -> Result<()> {
    if right { Ok(()) } else { Err(damaged(what)) }
}

/// The first bytes of a compiled model.
pub(crate) const MAGIC: [u8; 8] = *b"pgbimage";
/// Reads differently in the other byte order.
pub(crate) const ENDIANNESS: u32 = 0x0102_0304;
/// Start of the checksummed part, after the checksum.
pub(crate) const CHECKSUMMED_FROM: usize = 32;

#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Span {
    /// Offset from the compiled model's start, a multiple of 64.
    pub(crate) offset: u64,
    /// Length in bytes, without padding.
    pub(crate) length: u64,
}

#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    pub(crate) endianness: u32,
    /// Length of the compiled model in bytes.
    pub(crate) length: u64,
    /// 64-bit XXH3 of everything after this field.
    pub(crate) checksum: u64,
    pub(crate) num_features: u32,
    pub(crate) num_outputs: u32,
    pub(crate) num_trees: u32,
    pub(crate) task: u32,
    pub(crate) transform: u32,
    /// A [`crate::ensemble::Precision`].
    pub(crate) sum_precision: u32,
    /// A [`crate::compiled::ScalingAt`].
    pub(crate) scaling: u32,
    /// A [`crate::ensemble::ClassBy`].
    pub(crate) class_by: u32,
    /// A [`crate::ensemble::RealInput`].
    pub(crate) real_input: u32,
    /// Zero.
    pub(crate) unused: u32,
    /// [`crate::ensemble::Objective::class_threshold`].
    pub(crate) class_threshold: f64,
    /// [`crate::ensemble::Objective::slope`].
    pub(crate) slope: f64,
    pub(crate) scale: f64,
    pub(crate) divisor: f64,
    pub(crate) total_depth: u64,
    pub(crate) sections: [Span; SECTIONS],
}

pub(crate) struct Section<T> {
    pub(crate) index: usize,
    records: PhantomData<fn() -> T>,
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Section<T> {}

/// Defines a constant per section, numbered in order.
macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident: $record:ty,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers the lines")]
        enum Index { $($name,)* }

        $(
            $(#[$doc])*
            pub(crate) const $name: Section<$record> =
                Section { index: Index::$name as usize, records: PhantomData };
        )*

        pub(crate) const SECTIONS: usize = [$(Index::$name as usize,)*].len();

        impl<'a> Sections<'a> {
            /// Verifies that each section is within the bytes, aligned, and made of valid records of
            /// its type.
            pub(crate) fn verify(bytes: &'a [u8], header: &'a Header) -> Result<Self> {
                $(verify_section($name, bytes, header)?;)*
                Ok(Sections { bytes, spans: &header.sections })
            }
        }
    };
}

// Sections for single rows come first: touching fewer pages means fewer address look-ups on a processor
// shared by many backends.
sections! {
    /// Per tree, the output that it adds to.
    OUTPUTS: u32,
    /// Per output, its initial sum.
    BASE_MARGINS: f32,
    /// For a linear model: by feature a coefficient per output, then the intercepts.
    COEFFICIENTS: f32,
    CONDITION_COLUMNS: ConditionColumn,
    /// Thresholds of ranked columns, a search tree in Eytzinger layout per column.
    SEARCH_TREES: f32,
    /// Successive groups of tiles, for single rows.
    CHUNKS: Chunk,
    /// The groups of chunks: like those of tiles, but with leaves of recoded trees in tree order.
    CHUNK_GROUPS: TileGroup,
    /// The trees in order of summation.
    TILE_GROUPS: TileGroup,
    /// The tops of the chunks' tiles, tree by tree.
    TOP_NODES: TopNode,
    /// The nodes below them.
    NODE_BLOCKS: NodeBlock,
    /// Leaves of tiles that hold whole trees, for f32 sums.
    TILE_LEAVES: f32,
    /// Leaves of tiles that hold whole trees, for f64 sums.
    TILE_LEAVES_DOUBLE: f64,
    /// The exits of tiles that do not hold whole trees.
    TILE_EXITS: u32,
    /// Successive groups of tiles that share conditions.
    SEGMENTS: Segment,
    /// A segment's conditions by column.
    CONDITION_RUNS: ConditionRun,
    /// Operands of ranked columns.
    RANKS: u8,
    /// Bit tables of codes.
    CODE_TABLES: CodeTable,
    /// Sets of codes without a table: twice their index, plus 1 if missing values go right.
    LARGE_SETS: u32,
    /// The conditions of tiles' nodes.
    TILE_NODES: u16,
    /// One per group of tiles, or empty if no tree is recoded.
    CODINGS: Coding,
    COMPOUND_RUNS: CompoundRun,
    /// Operations and masks of compounds.
    COMPOUND_WORDS: u16,
    /// Per tree, the tree of the model that it comes from.
    SOURCES: u32,
    /// Per tree of the model, the index of its root among the nodes of its kind.
    ROOTS: u32,
    /// The trees of the model, in order of summation.
    GROUPS: Group,
    COMPACT_NODES: CompactNode,
    /// Per compact node, its id in the file, numbered by its library.
    COMPACT_IDS: u32,
    /// One per feature with categorical splits, or empty.
    OUTCOME_TABLES: OutcomeTable,
    /// The words of the tables' lines.
    OUTCOMES: u32,
    /// One per wide node, or empty.
    OUTCOME_NODES: OutcomeNode,
    WIDE_NODES: WideNode,
    /// Per wide node, its id in the file.
    WIDE_IDS: u32,
    /// Values indexed by the leaves' keys, for f64 sums. Of trees with several outputs a key is the index of
    /// the first of as many values.
    LEAF_VALUES: f64,
    /// The same for f32 sums, if there are trees with several outputs; else keys are values.
    LEAF_VALUES_SINGLE: f32,
    /// One per leaf value, or empty.
    LINEAR_LEAVES: LinearLeaf,
    LINEAR_TERMS: LinearTerm,
    /// Per output, its bias; empty if all are 0.
    BIASES: f64,
    /// Per feature, the conversion from f64 to f32; empty if values are rounded.
    CUT_SPANS: CutSpan,
    CUTS: f64,
    /// For each cut the smallest f32 that the model takes for a number not below it.
    CUT_ENDS: f32,
    SETS: SetSpan,
    SET_WORDS: u32,
    /// Per feature, 1 if it is categorical.
    CATEGORICAL: u8,
    /// Per feature, 1 if its zeros are missing; empty if no feature's are.
    ZERO_MISSING: u8,
    /// Text: one name per feature, or empty.
    NAMES: u8,
    /// Text: the class labels, or empty.
    LABELS: u8,
    /// One per feature, or empty.
    DICTIONARIES: Dictionary,
    /// Values of numeric dictionaries, as bits.
    NUMBERS: u64,
    /// Text: values of text dictionaries.
    WORDS: u8,
    /// Per dictionary value, codes in order of values.
    SORTED: u32,
    /// Projections of target statistics, in the order of their numbers.
    CTR_PROJECTIONS: CtrProjection,
    CTR_PARTS: CtrPart,
    /// The projections' tables.
    CTR_TABLES: u32,
    /// Features that are hashes in rows and codes in splits.
    CTR_CODES: u32,
    /// One per tree, or empty without covers; only explanations read this section and the following
    /// ones.
    TREE_SUMMARIES: TreeSummary,
    /// Features of each tree's splits; numbers after the model's features are projections of several
    /// categories.
    SPLIT_FEATURES: u32,
    /// Each tree's splits, parents first.
    SPLITS: SplitRecord,
}

/// The sections of a verified compiled model.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    bytes: &'a [u8],
    spans: &'a [Span; SECTIONS],
}

impl<'a> Sections<'a> {
    /// Returns the sections of a compiled model that was verified before.
    ///
    /// # Safety
    /// [`Sections::verify`] has accepted these bytes and this header.
    #[inline(always)]
    pub(crate) unsafe fn of_verified(bytes: &'a [u8], header: &'a Header) -> Self {
        Sections { bytes, spans: &header.sections }
    }

    /// Returns the records of a section. Costs a few instructions: hoist it out of loops.
    #[inline(always)]
    pub(crate) fn get<T: CheckedBitPattern>(self, section: Section<T>) -> &'a [T] {
        let span = self.spans[section.index];
        let count = span.length as usize / size_of::<T>();
        // SAFETY: `verify_section` has checked that this section is within the bytes, aligned for T and
        // made of valid records; the borrowed bytes have not changed since.
        unsafe {
            let start = self.bytes.as_ptr().add(span.offset as usize);
            std::slice::from_raw_parts(start.cast::<T>(), count)
        }
    }

    /// Returns whether a tree of the model has several outputs, so that leaves' keys are indices.
    #[inline(always)]
    pub(crate) fn has_vectors(self) -> bool {
        self.get(ROOTS).len() != self.get(OUTPUTS).len()
    }

    /// Returns the outputs of the trees that come from each tree of the model.
    pub(crate) fn outputs_by_source(self) -> impl Iterator<Item = &'a [u32]> {
        let mut outputs = self.get(OUTPUTS);
        self.get(SOURCES).chunk_by(|a, b| a == b).map(move |trees| {
            let (own, others) = outputs.split_at(trees.len());
            outputs = others;
            own
        })
    }

    /// Returns the depth of each tree, according to its group.
    pub(crate) fn depths(self) -> impl Iterator<Item = u32> {
        let mut groups = self.get(GROUPS).iter().peekable();
        self.get(SOURCES).iter().map(move |source| {
            while groups.next_if(|group| group.first + group.count <= *source).is_some() {}
            groups.peek().map_or(0, |group| group.depth)
        })
    }

    /// Returns the number of target statistics.
    pub(crate) fn num_ctrs(self) -> usize {
        self.get(CTR_PROJECTIONS).iter().map(|projection| projection.width as usize).sum()
    }

    /// Returns the slots of a row with outcomes, if there are outcomes.
    #[inline(always)]
    pub(crate) fn outcome_slots(self) -> Option<usize> {
        self.get(OUTCOME_TABLES).last().map(|last| last.slot as usize + last.width as usize)
    }

    /// Returns the slots of a row: two per feature, the leaves', and those of outcomes.
    #[inline(always)]
    pub(crate) fn num_slots(self, num_features: usize) -> usize {
        self.outcome_slots().unwrap_or(leaf_slot(num_features) + 1)
    }

    /// Returns the number of nodes of a group's kind.
    pub(crate) fn num_nodes(self, kind: GroupKind) -> usize {
        match kind {
            GroupKind::Compact => self.get(COMPACT_NODES).len(),
            GroupKind::Wide | GroupKind::Categorical => self.get(WIDE_NODES).len(),
        }
    }
}

fn verify_section<T: CheckedBitPattern>(
    section: Section<T>,
    bytes: &[u8],
    header: &Header,
) -> Result<()> {
    let span = header.sections[section.index];
    let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.length).ok());
    range
        .and_then(|(offset, length)| bytes.get(offset..offset.checked_add(length)?))
        .and_then(|section| bytemuck::checked::try_cast_slice::<u8, T>(section).ok())
        .map(|_| ())
        .ok_or_else(|| damaged("has a section out of range or with an unknown kind"))
}

/// Returns the checksum of a compiled model: XXH3 of everything after its field in the header.
///
/// # Errors
/// [`ErrorKind::Cancelled`].
pub(crate) fn checksum(bytes: &[u8], cancel: Cancel<'_>) -> Result<u64> {
    let mut sum = Xxh3Default::new();
    for piece in bytes[CHECKSUMMED_FROM..].chunks(PIECE) {
        sum.update(piece);
        cancel.check()?;
    }
    Ok(sum.digest())
}

/// Updates the checksum of tampered bytes, for tests of what it cannot detect.
///
/// # Panics
/// Panics unless there is room for a header.
#[cfg(any(test, fuzzing))]
pub fn seal(bytes: &mut [u8]) {
    let sum = sure(checksum(bytes, Cancel::never()).ok(), "nobody cancels");
    bytes[CHECKSUMMED_FROM - size_of::<u64>()..CHECKSUMMED_FROM]
        .copy_from_slice(&sum.to_ne_bytes());
}

/// The bytes of each section, to be concatenated.
pub(crate) struct Writer<'a> {
    sections: [&'a [u8]; SECTIONS],
}

impl<'a> Writer<'a> {
    /// Creates a writer of empty sections.
    pub(crate) fn new() -> Self {
        Writer { sections: [&[]; SECTIONS] }
    }

    pub(crate) fn put<T: NoUninit>(&mut self, section: Section<T>, records: &'a [T]) {
        self.sections[section.index] = cast_slice(records);
    }

    /// Assembles header and sections.
    pub(crate) fn assemble(self, mut header: Header, cancel: Cancel<'_>) -> Result<AlignedBytes> {
        let mut end = size_of::<Header>();
        for (span, section) in header.sections.iter_mut().zip(self.sections) {
            let offset = end.next_multiple_of(ALIGNMENT);
            *span = Span { offset: offset as u64, length: section.len() as u64 };
            end = offset + section.len();
        }
        let mut compiled = AlignedBytes::zeroed(end, cancel)?;
        header.length = compiled.len() as u64;
        let bytes = compiled.bytes_mut();
        copy_to(bytes, 0, bytes_of(&header));
        for (span, section) in header.sections.iter().zip(self.sections) {
            for (offset, piece) in
                (span.offset as usize..).step_by(PIECE).zip(section.chunks(PIECE))
            {
                copy_to(bytes, offset, piece);
                cancel.check()?;
            }
        }
        header.checksum = checksum(bytes, cancel)?;
        copy_to(bytes, 0, bytes_of(&header));
        Ok(compiled)
    }
}

/// Copies a part to its offset, for which the caller has made room.
fn copy_to(bytes: &mut [u8], offset: usize, part: &[u8]) {
    bytes[offset..offset + part.len()].copy_from_slice(part);
}
