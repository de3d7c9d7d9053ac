//! A compiled model's header, the table of its sections: what each holds, and where it lies; and its writer.
//!
//! A [`Section`] is a typed handle: [`Sections::get`] returns its records, and [`Writer`]
//! takes them by the same handle. Nothing in the bytes depends on addresses, time or hashing order. A new
//! section is one line in the table below, one line in [`crate::lower`], and in [`crate::compiled::verify`]
//! the check of what evaluation relies on.

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

/// The error that a compiled model is not one, or not whole.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::CompiledModel, format!("compiled model {what}"))
}

/// # Errors
/// [`ErrorKind::CompiledModel`] with what is wrong, unless `right`.
pub(crate) fn ensure(right: bool, what: &str) -> Result<()> {
    if right { Ok(()) } else { Err(damaged(what)) }
}

/// The first bytes of a compiled model.
pub(crate) const MAGIC: [u8; 8] = *b"pgbimage";
/// Reads differently in the other byte order.
pub(crate) const ENDIANNESS: u32 = 0x0102_0304;
/// Where the checksummed part of a compiled model begins: after the checksum.
pub(crate) const CHECKSUMMED_FROM: usize = 32;

#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Span {
    /// From the compiled model's start, a multiple of 64.
    pub(crate) offset: u64,
    /// In bytes, without the zeros that fill its last cache line.
    pub(crate) length: u64,
}

#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    pub(crate) endianness: u32,
    /// Of the whole compiled model, in bytes.
    pub(crate) length: u64,
    /// XXH3, 64 bits, of everything after this field.
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

/// Defines a constant per section, numbered in the order of the lines.
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
            /// The sections of a compiled model that nobody has checked: each lies within the bytes, is
            /// aligned, and holds whole and valid records of its type.
            pub(crate) fn verify(bytes: &'a [u8], header: &'a Header) -> Result<Self> {
                $(verify_section($name, bytes, header)?;)*
                Ok(Sections { bytes, spans: &header.sections })
            }
        }
    };
}

// What the evaluation of one row reads comes first: the fewer pages it touches, the fewer addresses a
// processor shared by many backends has to look up.
sections! {
    /// One per tree: the output that it adds to.
    OUTPUTS: u32,
    /// One per output: what its sum begins with.
    BASE_MARGINS: f32,
    /// Of a linear model: by feature a coefficient per output, then each output's intercept.
    COEFFICIENTS: f32,
    CONDITION_COLUMNS: ConditionColumn,
    /// The thresholds of ranked columns, each column's as a search tree in the Eytzinger layout.
    SEARCH_TREES: f32,
    /// Successive groups of tiles, for the evaluation of one row.
    CHUNKS: Chunk,
    /// The groups of chunks: those of tiles, except for recoded trees, which have leaves in their
    /// own order here.
    CHUNK_GROUPS: TileGroup,
    /// The trees in the order of summation.
    TILE_GROUPS: TileGroup,
    /// The tops of the tiles of chunks, tree after tree.
    TOP_NODES: TopNode,
    /// The nodes below them.
    NODE_BLOCKS: NodeBlock,
    /// The leaves of tiles that hold all of their trees, if sums are of f32.
    TILE_LEAVES: f32,
    /// The same, if sums are of f64.
    TILE_LEAVES_DOUBLE: f64,
    /// Where trees go on below tiles that do not hold all of them.
    TILE_EXITS: u32,
    /// Successive groups of tiles that share conditions.
    SEGMENTS: Segment,
    /// The conditions of a segment, by column.
    CONDITION_RUNS: ConditionRun,
    /// What the ranks of ranked columns are compared with.
    RANKS: u8,
    /// What codes are looked up in.
    CODE_TABLES: CodeTable,
    /// The sets of codes that have no table: twice their index, plus 1 where missing goes right.
    LARGE_SETS: u32,
    /// The conditions of the nodes of tiles.
    TILE_NODES: u16,
    /// One per group of tiles, or none if no tree is recoded.
    CODINGS: Coding,
    COMPOUND_RUNS: CompoundRun,
    /// The operations and masks of compounds.
    COMPOUND_WORDS: u16,
    /// One per tree: the tree of the model that it comes from.
    SOURCES: u32,
    /// One per tree: index of its root in the nodes of its kind.
    ROOTS: u32,
    /// The trees in the order of summation.
    GROUPS: Group,
    COMPACT_NODES: CompactNode,
    /// One per compact node: its id in the file, counted as its library does.
    COMPACT_IDS: u32,
    /// One per feature with categorical splits, or none.
    OUTCOME_TABLES: OutcomeTable,
    /// The words of their lines.
    OUTCOMES: u32,
    /// One per wide node, or none.
    OUTCOME_NODES: OutcomeNode,
    WIDE_NODES: WideNode,
    /// One per wide node, as a compact node's.
    WIDE_IDS: u32,
    /// The values that the keys of leaves are indices of, if sums are of f64.
    LEAF_VALUES: f64,
    /// One per leaf value, or none.
    LINEAR_LEAVES: LinearLeaf,
    LINEAR_TERMS: LinearTerm,
    /// One per output: what finishes its sum. None if all are 0.
    BIASES: f64,
    /// One per feature: how a number of f64 becomes an f32. None if it is rounded.
    CUT_SPANS: CutSpan,
    CUTS: f64,
    SETS: SetSpan,
    SET_WORDS: u32,
    /// One per feature: 1 if it is categorical.
    CATEGORICAL: u8,
    /// One per feature: 1 if its zeros are missing. None if no feature's are.
    ZERO_MISSING: u8,
    /// Text: one name per feature, or nothing.
    NAMES: u8,
    /// Text: the class labels, or nothing.
    LABELS: u8,
    /// One per feature, or none.
    DICTIONARIES: Dictionary,
    /// The values of numeric dictionaries, as bits.
    NUMBERS: u64,
    /// Text: the values of text dictionaries.
    WORDS: u8,
    /// One per dictionary value: codes in the order of their values.
    SORTED: u32,
    /// By which splits test target statistics, in the order of their numbers.
    CTR_PROJECTIONS: CtrProjection,
    CTR_PARTS: CtrPart,
    /// Their tables, one after another.
    CTR_TABLES: u32,
    /// Features of whose categories rows have hashes, and splits test codes.
    CTR_CODES: u32,
    /// One per tree, or none if the model has no covers: only explanations read them and what follows.
    TREE_SUMMARIES: TreeSummary,
    /// The features of the splits of each tree; behind those of the model, projections of several categories.
    SPLIT_FEATURES: u32,
    /// The splits of each tree, those below a split behind it.
    SPLITS: SplitRecord,
}

/// The sections of a compiled model, verified.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    bytes: &'a [u8],
    spans: &'a [Span; SECTIONS],
}

impl<'a> Sections<'a> {
    /// The sections of a compiled model that was verified before.
    ///
    /// # Safety
    /// [`Sections::verify`] has accepted these bytes and this header.
    #[inline(always)]
    pub(crate) unsafe fn of_verified(bytes: &'a [u8], header: &'a Header) -> Self {
        Sections { bytes, spans: &header.sections }
    }

    /// The records of a section. Costs a few instructions: hoist it out of loops.
    #[inline(always)]
    pub(crate) fn get<T: CheckedBitPattern>(self, section: Section<T>) -> &'a [T] {
        let span = self.spans[section.index];
        let count = span.length as usize / size_of::<T>();
        // SAFETY: `verify_section` has found this very section, whose type the handle says, to lie
        // inside the bytes, to be aligned for T and to hold valid records of it, and the bytes are
        // still the same, since they are borrowed.
        unsafe {
            let start = self.bytes.as_ptr().add(span.offset as usize);
            std::slice::from_raw_parts(start.cast::<T>(), count)
        }
    }

    /// Number of target statistics.
    pub(crate) fn num_ctrs(self) -> usize {
        self.get(CTR_PROJECTIONS).iter().map(|projection| projection.width as usize).sum()
    }

    /// Slots of a row with outcomes, if the compiled model has any.
    #[inline(always)]
    pub(crate) fn outcome_slots(self) -> Option<usize> {
        self.get(OUTCOME_TABLES).last().map(|last| last.slot as usize + last.width as usize)
    }

    /// Slots of a row of so many features: two each, that of leaves, and those of outcomes.
    #[inline(always)]
    pub(crate) fn num_slots(self, num_features: usize) -> usize {
        self.outcome_slots().unwrap_or(leaf_slot(num_features) + 1)
    }

    /// Number of nodes of the kind that such a group's trees have.
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

/// The checksum of a compiled model: XXH3 of all that is behind the header's field for it.
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

/// Puts the checksum right after bytes were tampered with, for tests of what the checksum cannot see.
///
/// # Panics
/// Panics unless there is room for a header.
#[cfg(any(test, fuzzing))]
pub fn seal(bytes: &mut [u8]) {
    let sum = sure(checksum(bytes, Cancel::never()).ok(), "nobody cancels");
    bytes[CHECKSUMMED_FROM - size_of::<u64>()..CHECKSUMMED_FROM]
        .copy_from_slice(&sum.to_ne_bytes());
}

/// The bytes of each section, to be laid one after another.
pub(crate) struct Writer<'a> {
    sections: [&'a [u8]; SECTIONS],
}

impl<'a> Writer<'a> {
    /// Of sections without records.
    pub(crate) fn new() -> Self {
        Writer { sections: [&[]; SECTIONS] }
    }

    pub(crate) fn put<T: NoUninit>(&mut self, section: Section<T>, records: &'a [T]) {
        self.sections[section.index] = cast_slice(records);
    }

    /// The header and the sections behind it as one compiled model.
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
