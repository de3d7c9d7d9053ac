//! Writing an image.
//!
//! The sections are collected first, each as its own list, then laid one after another behind the
//! header. Nothing in an image depends on addresses, time or hashing order.

use bytemuck::{NoUninit, bytes_of, cast_slice};

use super::IMAGE_VERSION;
use super::aligned::{ALIGNMENT, AlignedBytes, PIECE};
use super::answers::Answers;
use super::canonical::Forest;
use super::categories::Dictionaries;
use super::compiled::FinishAt;
use super::cuts::Cuts;
use super::sections::*;
use super::splits::Splits;
use super::text::{self, to_u32};
use super::tiles::Tiles;
use super::trees::Trees;
use crate::Result;
use crate::model::{FeatureType, Model, check_class_labels};

/// Compiles a model to an image. `labels` are the names of its classes, or nothing.
///
/// `check_interrupts` is called every few milliseconds at most; it may unwind.
///
/// # Errors
/// [`crate::ErrorKind::Names`] if there are labels, but not two for a binary model, one per class for a
/// multiclass model, or none for another; [`crate::ErrorKind::OutOfMemory`] if there is no memory for it.
pub fn compile(
    model: &Model,
    labels: &[String],
    check_interrupts: &mut dyn FnMut(),
) -> Result<AlignedBytes> {
    let labels = if labels.is_empty() { model.class_labels() } else { labels };
    check_class_labels(labels, model.num_classes())?;
    let cuts = Cuts::of(model, check_interrupts)?;
    let forest = Forest::of(model, &cuts, check_interrupts)?;
    let trees = Trees::collect(&forest, check_interrupts)?;
    let total_depth = forest.trees().iter().map(|tree| u64::from(tree.depth())).sum();
    let answers = Answers::of(&trees, model.num_features(), total_depth, check_interrupts)?;
    let splits = Splits::collect(&forest, &trees, &answers, check_interrupts)?;
    let tiles = Tiles::collect(&forest, &trees, check_interrupts)?;
    let outputs: Vec<u32> = forest.trees().iter().map(|tree| tree.output).collect();
    let sources: Vec<u32> = forest.trees().iter().map(|tree| tree.source).collect();
    let dictionaries = Dictionaries::collect(model)?;
    let categorical: Vec<u8> = model
        .feature_types()
        .iter()
        .map(|kind| u8::from(*kind == FeatureType::Categorical))
        .collect();
    let zero_missing = forest.zero_missing();
    let names = text::write(model.feature_names().iter().map(String::as_str))?;
    let label_text = text::write(labels.iter().map(String::as_str))?;
    let words = text::write(dictionaries.words.iter().copied())?;
    let mut writer = Writer { sections: [&[]; SECTIONS] };
    writer.put(OUTPUTS, &outputs);
    writer.put(BASE_MARGINS, model.base_margin());
    writer.put(PREDICATE_COLUMNS, &tiles.columns);
    writer.put(SEARCH_TREES, &tiles.search_trees);
    writer.put(CHUNKS, &tiles.chunks.records);
    writer.put(CHUNK_GROUPS, &tiles.chunks.groups);
    writer.put(TOP_NODES, &tiles.chunks.top_nodes);
    writer.put(NODE_BLOCKS, &tiles.chunks.node_blocks);
    writer.put(TILE_GROUPS, &tiles.groups);
    writer.put(TILE_LEAVES, &tiles.leaves);
    writer.put(TILE_LEAVES_DOUBLE, &tiles.leaves_double);
    writer.put(TILE_EXITS, &tiles.exits);
    writer.put(SEGMENTS, &tiles.segments);
    writer.put(PREDICATE_RUNS, &tiles.runs);
    writer.put(RANKS, &tiles.ranks);
    writer.put(CODE_TABLES, &tiles.code_tables);
    writer.put(LARGE_SETS, &tiles.large_sets);
    writer.put(TILE_NODES, &tiles.nodes);
    writer.put(CODINGS, &tiles.codings);
    writer.put(COMPOUND_RUNS, &tiles.compound_runs);
    writer.put(COMPOUND_WORDS, &tiles.compound_words);
    writer.put(SOURCES, &sources);
    writer.put(ROOTS, &trees.roots);
    writer.put(GROUPS, &trees.groups);
    writer.put(COMPACT_NODES, &trees.compact_nodes);
    writer.put(COMPACT_IDS, &trees.compact_ids);
    writer.put(ANSWER_TABLES, &answers.tables);
    writer.put(ANSWERS, &answers.words);
    writer.put(ANSWER_NODES, &answers.nodes);
    writer.put(WIDE_NODES, &trees.wide_nodes);
    writer.put(WIDE_IDS, &trees.wide_ids);
    writer.put(LEAF_VALUES, &trees.leaf_values);
    writer.put(BIASES, &model.finish.bias);
    writer.put(CUT_SPANS, &cuts.spans);
    writer.put(CUTS, &cuts.numbers);
    writer.put(SETS, &trees.sets);
    writer.put(SET_WORDS, &trees.set_words);
    writer.put(CATEGORICAL, &categorical);
    writer.put(ZERO_MISSING, zero_missing);
    writer.put(NAMES, &names);
    writer.put(LABELS, &label_text);
    writer.put(DICTIONARIES, &dictionaries.records);
    writer.put(NUMBERS, &dictionaries.numbers);
    writer.put(WORDS, &words);
    writer.put(SORTED, &dictionaries.sorted);
    writer.put(TREE_SUMMARIES, &splits.summaries);
    writer.put(SPLIT_FEATURES, &splits.features);
    writer.put(SPLITS, &splits.splits);
    let header = Header {
        magic: MAGIC,
        version: IMAGE_VERSION,
        endianness: ENDIANNESS,
        length: 0,
        checksum: 0,
        num_features: to_u32(model.num_features())?,
        num_outputs: to_u32(model.num_outputs())?,
        num_trees: to_u32(forest.trees().len())?,
        task: model.objective().task() as u32,
        transform: model.objective().transform() as u32,
        sum_precision: model.sum_precision() as u32,
        finish: FinishAt::of(model) as u32,
        class_by: model.objective().class_by() as u32,
        class_threshold: model.objective().class_threshold(),
        slope: model.objective().slope(),
        scale: model.finish.scale,
        divisor: model.finish.divisor,
        total_depth,
        sections: [Span::default(); SECTIONS],
    };
    let image = writer.assemble(header, check_interrupts)?;
    // The system takes back the memory of the largest models at some 10 GB per second.
    drop(tiles);
    check_interrupts();
    drop(trees);
    check_interrupts();
    drop((answers, splits));
    check_interrupts();
    Ok(image)
}

/// The bytes of each section, to be laid one after another.
struct Writer<'a> {
    sections: [&'a [u8]; SECTIONS],
}

impl<'a> Writer<'a> {
    fn put<T: NoUninit>(&mut self, section: Section<T>, records: &'a [T]) {
        self.sections[section.index] = cast_slice(records);
    }

    /// The header and the sections behind it as one image.
    fn assemble(
        self,
        mut header: Header,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<AlignedBytes> {
        let mut end = size_of::<Header>();
        for (span, section) in header.sections.iter_mut().zip(self.sections) {
            let offset = end.next_multiple_of(ALIGNMENT);
            *span = Span { offset: offset as u64, length: section.len() as u64 };
            end = offset + section.len();
        }
        let mut image = AlignedBytes::zeroed(end, check_interrupts)?;
        header.length = image.len() as u64;
        let bytes = image.bytes_mut();
        copy_to(bytes, 0, bytes_of(&header));
        for (span, section) in header.sections.iter().zip(self.sections) {
            for (offset, piece) in
                (span.offset as usize..).step_by(PIECE).zip(section.chunks(PIECE))
            {
                copy_to(bytes, offset, piece);
                check_interrupts();
            }
        }
        header.checksum = checksum(bytes, check_interrupts);
        copy_to(bytes, 0, bytes_of(&header));
        Ok(image)
    }
}

/// Copies a part to its offset, for which the caller has made room.
fn copy_to(bytes: &mut [u8], offset: usize, part: &[u8]) {
    bytes[offset..offset + part.len()].copy_from_slice(part);
}
