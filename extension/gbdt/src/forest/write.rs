//! Writing an image.
//!
//! The sections are collected first, each as its own list, then laid one after another behind the
//! header. Nothing in an image depends on addresses, time or hashing order.

use bytemuck::{bytes_of, cast_slice};
use xxhash_rust::xxh3::xxh3_64;

use super::IMAGE_VERSION;
use super::aligned::{ALIGNMENT, AlignedBytes};
use super::canonical::Forest;
use super::categories::Dictionaries;
use super::records::{CHECKSUMMED_FROM, ENDIANNESS, Header, MAGIC, SECTIONS, Span};
use super::text::{self, to_u32};
use super::tiles::Tiles;
use super::trees::Trees;
use crate::model::{FeatureType, MissingRule, Model, Task};
use crate::{Error, ErrorKind, Result};

/// Lowers a model to an image. `labels` are the names of its classes, or nothing.
///
/// `check_interrupts` is called once per tree and step; it may unwind.
///
/// # Errors
/// [`ErrorKind::Names`] if there are labels, but not two for a binary model, one a class for a
/// multiclass model, or none for another; [`ErrorKind::OutOfMemory`] if there is no memory for the image.
pub fn compile(
    model: &Model,
    labels: &[String],
    check_interrupts: &mut dyn FnMut(),
) -> Result<AlignedBytes> {
    check_labels(model, labels)?;
    let forest = Forest::of(model, check_interrupts)?;
    let trees = Trees::collect(&forest, check_interrupts)?;
    let tiles = Tiles::collect(&forest, &trees, check_interrupts)?;
    let outputs: Vec<u32> = forest.trees().iter().map(|tree| tree.output).collect();
    let sources: Vec<u32> = forest.trees().iter().map(|tree| tree.source).collect();
    let dictionaries = Dictionaries::collect(model.categories())?;
    let categorical: Vec<u8> = model
        .feature_types()
        .iter()
        .map(|kind| u8::from(*kind == FeatureType::Categorical))
        .collect();
    let zero_missing = zero_missing(model);
    let names = text::write(model.feature_names().iter().map(String::as_str))?;
    let label_text = text::write(labels.iter().map(String::as_str))?;
    let words = text::write(dictionaries.words.iter().copied())?;
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
        slope: model.objective().slope(),
        total_depth: forest.trees().iter().map(|tree| u64::from(tree.depth())).sum(),
        sections: [Span::default(); SECTIONS],
    };
    // In the order of `Section`.
    assemble(
        header,
        [
            cast_slice(&outputs),
            cast_slice(model.base_margin()),
            cast_slice(&tiles.columns),
            cast_slice(&tiles.search_trees),
            cast_slice(&tiles.chunks),
            cast_slice(&tiles.groups),
            cast_slice(&tiles.top_nodes),
            cast_slice(&tiles.node_blocks),
            cast_slice(&tiles.leaves),
            cast_slice(&tiles.exits),
            cast_slice(&tiles.segments),
            cast_slice(&tiles.runs),
            &tiles.ranks,
            cast_slice(&tiles.code_tables),
            cast_slice(&tiles.large_sets),
            cast_slice(&tiles.nodes),
            cast_slice(&sources),
            cast_slice(&trees.roots),
            cast_slice(&trees.groups),
            cast_slice(&trees.compact_nodes),
            cast_slice(&trees.compact_ids),
            cast_slice(&trees.wide_nodes),
            cast_slice(&trees.wide_ids),
            cast_slice(&trees.sets),
            cast_slice(&trees.set_words),
            &categorical,
            &zero_missing,
            &names,
            &label_text,
            cast_slice(&dictionaries.records),
            cast_slice(&dictionaries.numbers),
            &words,
            cast_slice(&dictionaries.sorted),
        ],
    )
}

/// For each feature whether its zeros are missing; nothing if no feature's are.
fn zero_missing(model: &Model) -> Vec<u8> {
    let rules = model.missing_rules();
    if !rules.contains(&MissingRule::Zero) {
        return Vec::new();
    }
    rules.iter().map(|rule| u8::from(*rule == MissingRule::Zero)).collect()
}

fn check_labels(model: &Model, labels: &[String]) -> Result<()> {
    let expected = match model.objective().task() {
        Task::Binary => 2,
        Task::Multiclass => model.num_outputs(),
        Task::Regression | Task::Ranking => 0,
    };
    if let Some(label) = repeated(labels) {
        let message = format!("label \"{label}\" is given more than once");
        return Err(Error::new(ErrorKind::Names, message));
    }
    if labels.is_empty() || labels.len() == expected {
        return Ok(());
    }
    let message = if expected == 0 {
        "model has no classes that could have labels".to_owned()
    } else {
        format!("model expects {expected} labels, not {}", labels.len())
    };
    Err(Error::new(ErrorKind::Names, message))
}

fn repeated(labels: &[String]) -> Option<&String> {
    let mut seen = std::collections::HashSet::with_capacity(labels.len());
    labels.iter().find(|label| !seen.insert(label.as_str()))
}

/// The header and the sections behind it as one image.
fn assemble(mut header: Header, sections: [&[u8]; SECTIONS]) -> Result<AlignedBytes> {
    let mut end = size_of::<Header>();
    for (span, section) in header.sections.iter_mut().zip(sections) {
        let offset = end.next_multiple_of(ALIGNMENT);
        *span = Span { offset: offset as u64, length: section.len() as u64 };
        end = offset + section.len();
    }
    let mut image = AlignedBytes::zeroed(end)?;
    header.length = image.len() as u64;
    let bytes = image.bytes_mut();
    copy_to(bytes, 0, bytes_of(&header));
    for (span, section) in header.sections.iter().zip(sections) {
        copy_to(bytes, span.offset as usize, section);
    }
    header.checksum = xxh3_64(bytes.get(CHECKSUMMED_FROM..).unwrap_or_default());
    copy_to(bytes, 0, bytes_of(&header));
    Ok(image)
}

/// Copies a part to its place, for which the caller has made room.
fn copy_to(bytes: &mut [u8], offset: usize, part: &[u8]) {
    if let Some(place) = bytes.get_mut(offset..offset + part.len()) {
        place.copy_from_slice(part);
    }
}
