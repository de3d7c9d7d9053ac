//! Reading an image in place.
//!
//! [`Image::open`] checks everything once; what it has checked is then read through unchecked casts,
//! which is sound because [`StableBytes`] promises that the bytes stay as they were.
//! [`Image::open_checked`] is for a further reader of bytes that another one has checked.
#![allow(unsafe_code, reason = "sections that were checked at opening are read without checks")]

use bytemuck::Pod;

use super::aligned::StableBytes;
use super::categories::CategoryView;
use super::check::{self, damaged, ensure};
use super::records::{CompactNode, Dictionary, Group, Header, Section, SetSpan, Span, WideNode};
use super::text::TextList;
use super::tiles::{self, Tiled};
#[cfg(target_arch = "x86_64")]
use super::tiles::{Chunk, Column, NodeBlock, TileGroup, TopNode};
use crate::Result;
use crate::eval::LANES;
use crate::model::{Task, Transform};

/// An image that has been checked.
pub struct Image<B> {
    bytes: B,
    header: Header,
    task: Task,
    transform: Transform,
}

/// The sections that evaluation reads.
#[derive(Clone, Copy)]
pub(crate) struct Forest<'a> {
    pub(crate) roots: &'a [u32],
    pub(crate) outputs: &'a [u32],
    pub(crate) sources: &'a [u32],
    pub(crate) groups: &'a [Group],
    pub(crate) compact_nodes: &'a [CompactNode],
    pub(crate) compact_ids: &'a [u32],
    pub(crate) wide_nodes: &'a [WideNode],
    pub(crate) wide_ids: &'a [u32],
    pub(crate) base_margins: &'a [f32],
    pub(crate) sets: &'a [SetSpan],
    pub(crate) set_words: &'a [u32],
}

/// The sections that the evaluation of one row with vectors reads. They are few, since to find them
/// takes a part of its time.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Chunked<'a> {
    pub(crate) outputs: &'a [u32],
    pub(crate) columns: &'a [Column],
    pub(crate) search_trees: &'a [f32],
    pub(crate) chunks: &'a [Chunk],
    pub(crate) groups: &'a [TileGroup],
    pub(crate) top_nodes: &'a [TopNode],
    pub(crate) node_blocks: &'a [NodeBlock],
    pub(crate) leaves: &'a [f32],
}

impl<'a> Forest<'a> {
    /// The bits of a category set.
    #[inline(always)]
    pub(crate) fn words(&self, set: u32) -> &'a [u32] {
        let Some(span) = self.sets.get(set as usize) else { return &[] };
        let start = span.start as usize;
        self.set_words.get(start..start + span.count as usize).unwrap_or_default()
    }
}

impl<B: StableBytes> Image<B> {
    /// Opens an image, whoever made it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Image`] if it is damaged, misaligned, or not of this version of the
    /// engine; it must then be made anew from the model.
    pub fn open(bytes: B) -> Result<Self> {
        let header = check::header(&bytes)?;
        check::checksum(&header, &bytes)?;
        check_sections(&bytes, &header)?;
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
        let header = check::header(&bytes)?;
        Self::with_header(bytes, header)
    }

    fn with_header(bytes: B, header: Header) -> Result<Self> {
        let task = check::task(header.task)?;
        let transform = check::transform(header.transform)?;
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

    /// Number of trees of the model, a leaf of each of which a row falls into.
    pub fn num_trees(&self) -> usize {
        let sources: &[u32] = self.section(Section::Sources);
        sources.last().map_or(0, |last| *last as usize + 1)
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
        TextList::read(self.section(Section::Names)).get(feature)
    }

    /// The label of a class, if the classes have labels.
    pub fn label(&self, class: usize) -> Option<&str> {
        TextList::read(self.section(Section::Labels)).get(class)
    }

    /// Number of labels: none, or one a class.
    pub fn num_labels(&self) -> usize {
        TextList::read(self.section(Section::Labels)).len()
    }

    /// Whether a feature's values are category codes.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.section::<u8>(Section::Categorical).get(feature) == Some(&1)
    }

    /// The values that a feature's codes stand for, if the model has them.
    pub fn categories(&self, feature: usize) -> Option<CategoryView<'_>> {
        let record = *self.section::<Dictionary>(Section::Dictionaries).get(feature)?;
        let words = TextList::read(self.section(Section::Words));
        CategoryView::new(
            record,
            self.section(Section::Sorted),
            self.section(Section::Numbers),
            words,
        )
    }

    /// Of each feature whether its zeros are missing; empty if no feature's are.
    #[inline]
    pub(crate) fn zero_missing(&self) -> &[u8] {
        self.section(Section::ZeroMissing)
    }

    /// What each output begins with.
    #[inline]
    pub(crate) fn base_margins(&self) -> &[f32] {
        self.section(Section::BaseMargins)
    }

    /// The sections that the evaluation of one row with vectors reads, if the model has chunks.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn chunked(&self) -> Option<Chunked<'_>> {
        let chunks: &[Chunk] = self.section(Section::Chunks);
        if chunks.is_empty() {
            return None;
        }
        Some(Chunked {
            outputs: self.section(Section::Outputs),
            columns: self.section(Section::Columns),
            search_trees: self.section(Section::SearchTrees),
            chunks,
            groups: self.section(Section::TileGroups),
            top_nodes: self.section(Section::TopNodes),
            node_blocks: self.section(Section::NodeBlocks),
            leaves: self.section(Section::TileLeaves),
        })
    }

    /// The sections that evaluation reads.
    #[inline]
    pub(crate) fn forest(&self) -> Forest<'_> {
        Forest {
            roots: self.section(Section::Roots),
            outputs: self.section(Section::Outputs),
            sources: self.section(Section::Sources),
            groups: self.section(Section::Groups),
            compact_nodes: self.section(Section::CompactNodes),
            compact_ids: self.section(Section::CompactIds),
            wide_nodes: self.section(Section::WideNodes),
            wide_ids: self.section(Section::WideIds),
            base_margins: self.base_margins(),
            sets: self.section(Section::Sets),
            set_words: self.section(Section::SetWords),
        }
    }

    /// The sections that kernels over tiles read.
    #[inline]
    pub(crate) fn tiles(&self) -> Tiled<'_> {
        Tiled {
            columns: self.section(Section::Columns),
            search_trees: self.section(Section::SearchTrees),
            segments: self.section(Section::Segments),
            runs: self.section(Section::Runs),
            ranks: self.section(Section::Ranks),
            code_tables: self.section(Section::CodeTables),
            large_sets: self.section(Section::LargeSets),
            groups: self.section(Section::TileGroups),
            nodes: self.section(Section::TileNodes),
            leaves: self.section(Section::TileLeaves),
            exits: self.section(Section::TileExits),
            chunks: self.section(Section::Chunks),
            top_nodes: self.section(Section::TopNodes),
            node_blocks: self.section(Section::NodeBlocks),
        }
    }

    /// The records of a section, of the type that `check_sections` found it to hold.
    #[inline]
    fn section<T: Pod>(&self, section: Section) -> &[T] {
        let span = self.header.sections[section as usize];
        let count = span.length as usize / size_of::<T>();
        // SAFETY: `check_sections`, here or in the `open` that `open_checked` asks for, has read this
        // section as records of type T from the same bytes, so the range lies inside them and is
        // aligned for T, any bits are a T since T is Pod, and `StableBytes` promises that neither
        // the address nor the bytes have changed since.
        unsafe {
            let start = self.bytes.as_ptr().add(span.offset as usize);
            std::slice::from_raw_parts(start.cast::<T>(), count)
        }
    }
}

/// The records of a section that has not been checked.
fn read<T: Pod>(bytes: &[u8], span: Span) -> Result<&[T]> {
    let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.length).ok());
    range
        .and_then(|(offset, length)| bytes.get(offset..offset.checked_add(length)?))
        .and_then(|section| bytemuck::try_cast_slice(section).ok())
        .ok_or_else(|| damaged("has a section out of range"))
}

/// Reads every section as what it must hold, and checks all that evaluation relies on.
fn check_sections(bytes: &[u8], header: &Header) -> Result<()> {
    let span = |section: Section| header.sections[section as usize];
    let num_features = header.num_features as usize;
    let num_outputs = header.num_outputs as usize;
    let num_trees = header.num_trees as usize;

    let roots: &[u32] = read(bytes, span(Section::Roots))?;
    let outputs: &[u32] = read(bytes, span(Section::Outputs))?;
    let base_margins: &[f32] = read(bytes, span(Section::BaseMargins))?;
    ensure(num_features > 0 && num_outputs > 0, "has no features or no outputs")?;
    ensure(roots.len() == num_trees && outputs.len() == num_trees, "has not a root a tree")?;
    ensure(
        outputs.iter().all(|output| *output < header.num_outputs),
        "has an output out of range",
    )?;
    let sources: &[u32] = read(bytes, span(Section::Sources))?;
    let follow = |pair: &[u32]| matches!(pair, [a, b] if *b == *a || *b == *a + 1);
    ensure(
        sources.len() == num_trees
            && sources.first().is_none_or(|first| *first == 0)
            && sources.windows(2).all(follow),
        "has not a tree of the model a tree",
    )?;
    ensure(base_margins.len() == num_outputs, "has not a base margin an output")?;

    let compact: &[CompactNode] = read(bytes, span(Section::CompactNodes))?;
    let wide: &[WideNode] = read(bytes, span(Section::WideNodes))?;
    let compact_ids: &[u32] = read(bytes, span(Section::CompactIds))?;
    let wide_ids: &[u32] = read(bytes, span(Section::WideIds))?;
    let sets: &[SetSpan] = read(bytes, span(Section::Sets))?;
    let set_words: &[u32] = read(bytes, span(Section::SetWords))?;
    ensure(compact_ids.len() == compact.len(), "has not an id a node")?;
    ensure(wide_ids.len() == wide.len(), "has not an id a node")?;
    check::nodes(compact, num_features)?;
    check::nodes(wide, num_features)?;
    check::sets(sets, set_words.len())?;
    check::categorical_nodes(wide, sets, num_features)?;
    let bounds = check::GroupBounds { compact: compact.len(), wide: wide.len(), lanes: LANES };
    check::groups(read(bytes, span(Section::Groups))?, roots, &bounds)?;

    let tile_bounds = tiles::Bounds {
        features: num_features,
        trees: num_trees,
        sets: sets.len(),
        compact: compact.len(),
        wide: wide.len(),
    };
    tiles::check(&read_tiles(bytes, header)?, &tile_bounds)?;

    let categorical: &[u8] = read(bytes, span(Section::Categorical))?;
    ensure(categorical.len() == num_features, "has not a type a feature")?;
    let zero_missing: &[u8] = read(bytes, span(Section::ZeroMissing))?;
    ensure([0, num_features].contains(&zero_missing.len()), "has not a rule a feature")?;
    check_text(bytes, header)
}

/// The sections of tiles, not yet checked but for their types.
fn read_tiles<'a>(bytes: &'a [u8], header: &Header) -> Result<Tiled<'a>> {
    let span = |section: Section| header.sections[section as usize];
    Ok(Tiled {
        columns: read(bytes, span(Section::Columns))?,
        search_trees: read(bytes, span(Section::SearchTrees))?,
        segments: read(bytes, span(Section::Segments))?,
        runs: read(bytes, span(Section::Runs))?,
        ranks: read(bytes, span(Section::Ranks))?,
        code_tables: read(bytes, span(Section::CodeTables))?,
        large_sets: read(bytes, span(Section::LargeSets))?,
        groups: read(bytes, span(Section::TileGroups))?,
        nodes: read(bytes, span(Section::TileNodes))?,
        leaves: read(bytes, span(Section::TileLeaves))?,
        exits: read(bytes, span(Section::TileExits))?,
        chunks: read(bytes, span(Section::Chunks))?,
        top_nodes: read(bytes, span(Section::TopNodes))?,
        node_blocks: read(bytes, span(Section::NodeBlocks))?,
    })
}

/// Checks names, labels and dictionaries.
fn check_text(bytes: &[u8], header: &Header) -> Result<()> {
    let span = |section: Section| header.sections[section as usize];
    for (section, allowed) in [
        (Section::Names, [0, header.num_features as usize]),
        (Section::Labels, [0, label_count(header)]),
    ] {
        let text: &[u8] = read(bytes, span(section))?;
        ensure(allowed.into_iter().any(|count| TextList::check(text, count)), "has damaged names")?;
    }
    let text: &[u8] = read(bytes, span(Section::Words))?;
    let words = TextList::read(text);
    ensure(TextList::check(text, words.len()), "has damaged categories")?;
    let records: &[Dictionary] = read(bytes, span(Section::Dictionaries))?;
    ensure(
        [0, header.num_features as usize].contains(&records.len()),
        "has not a dictionary a feature",
    )?;
    let sorted = read(bytes, span(Section::Sorted))?;
    check::dictionaries(records, sorted, read(bytes, span(Section::Numbers))?, words)
}

/// How many labels a model has that has any.
fn label_count(header: &Header) -> usize {
    let binary = header.task == Task::Binary as u32;
    if binary { 2 } else { header.num_outputs as usize }
}
