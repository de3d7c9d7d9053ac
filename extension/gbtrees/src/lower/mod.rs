//! Lowering: from a checked ensemble to a compiled model.
//!
//! `cuts` finds the f32 that kernels compare, `canonical` turns every rule that a library has into one form
//! of split, `trees` lays nodes out for interleaved traversal, in the `order` in which walks meet them,
//! `outcomes` looks categorical splits up beforehand, `tiles` lays trees out for kernels that decide many
//! nodes at once, `points` and `splits` are for explanations. [`compile`] collects the sections of all of
//! these and hands them to the writer of compiled models. Nothing depends on addresses, time or hashing
//! order.

pub(crate) mod canonical;
mod ctr;
pub(crate) mod cuts;
pub(crate) mod order;
pub(crate) mod outcomes;
pub(crate) mod points;
pub(crate) mod splits;
pub(crate) mod tiles;
pub(crate) mod trees;

use std::cmp::Ordering;

use crate::compiled::aligned::AlignedBytes;
use crate::compiled::categories::{CategoryKind, TAKES_HASH, UNKNOWN_CODE, text_section};
use crate::compiled::records::Dictionary;
use crate::compiled::sections::Writer;
use crate::compiled::sections::*;
use crate::compiled::{COMPILED_MODEL_VERSION, ScalingAt};
use crate::ensemble::{Categories, Ensemble, FeatureType, check_class_labels};
use crate::limits::to_u32;
use crate::lower::canonical::Forest;
use crate::lower::ctr::CtrSections;
use crate::lower::cuts::Cuts;
use crate::lower::outcomes::Outcomes;
use crate::lower::splits::Splits;
use crate::lower::tiles::Tiles;
use crate::lower::trees::Trees;
use crate::memory::collect;
use crate::{Cancel, Result};

/// Compiles a model to a compiled model. `labels` are the names of its classes, or nothing.
///
/// `cancel` is called every few milliseconds at most; it may unwind.
///
/// # Errors
/// [`crate::ErrorKind::Names`] if there are labels, but not two for a binary model, one per class for a
/// multiclass model, or none for another; [`crate::ErrorKind::OutOfMemory`] if there is no memory for it.
pub fn compile(model: &Ensemble, labels: &[String], cancel: Cancel<'_>) -> Result<AlignedBytes> {
    let labels = if labels.is_empty() { model.class_labels() } else { labels };
    check_class_labels(labels, model.num_classes())?;
    let cuts = Cuts::of(model, cancel)?;
    let forest = Forest::of(model, &cuts, cancel)?;
    let trees = Trees::collect(&forest, cancel)?;
    let total_depth = forest.trees().iter().map(|tree| u64::from(tree.depth())).sum();
    let outcomes = Outcomes::of(&trees, model.num_split_features(), total_depth, cancel)?;
    let players = model.ctrs.players(model.num_features());
    let splits = Splits::collect(&forest, &trees, &outcomes, &players, cancel)?;
    let ctrs = CtrSections::of(&model.ctrs, cancel)?;
    let coded: Vec<u32> = (0..model.num_features())
        .filter(|feature| model.ctrs.takes_hash(*feature))
        .filter(|feature| model.categories()[*feature].as_ref().is_some_and(|all| !all.is_empty()))
        .map(|feature| feature as u32)
        .collect();
    // The leaves of tiles are values, which are the same for all rows.
    let tiles = match forest.has_linear_leaves() {
        true => Tiles::default(),
        false => Tiles::collect(&forest, &trees, cancel)?,
    };
    let outputs = collect(forest.trees().iter().map(|tree| tree.output))?;
    let sources = collect(forest.trees().iter().map(|tree| tree.source))?;
    let dictionaries = Dictionaries::collect(model)?;
    let is_categorical = |kind: &FeatureType| u8::from(*kind == FeatureType::Categorical);
    let categorical = collect(model.feature_types().iter().map(is_categorical))?;
    let zero_missing = forest.zero_missing();
    let names = text_section(model.feature_names().iter().map(String::as_str))?;
    let label_text = text_section(labels.iter().map(String::as_str))?;
    let words = text_section(dictionaries.words.iter().copied())?;
    let mut writer = Writer::new();
    writer.put(OUTPUTS, &outputs);
    writer.put(BASE_MARGINS, model.base_margin());
    writer.put(COEFFICIENTS, &model.coefficients);
    writer.put(CONDITION_COLUMNS, &tiles.columns);
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
    writer.put(CONDITION_RUNS, &tiles.runs);
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
    writer.put(OUTCOME_TABLES, &outcomes.tables);
    writer.put(OUTCOMES, &outcomes.words);
    writer.put(OUTCOME_NODES, &outcomes.nodes);
    writer.put(WIDE_NODES, &trees.wide_nodes);
    writer.put(WIDE_IDS, &trees.wide_ids);
    writer.put(LEAF_VALUES, &trees.leaf_values);
    writer.put(LINEAR_LEAVES, &trees.linear_leaves);
    writer.put(LINEAR_TERMS, &trees.linear_terms);
    writer.put(BIASES, &model.scaling.bias);
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
    writer.put(CTR_PROJECTIONS, &ctrs.projections);
    writer.put(CTR_PARTS, &ctrs.parts);
    writer.put(CTR_TABLES, &ctrs.tables);
    writer.put(CTR_CODES, &coded);
    writer.put(TREE_SUMMARIES, &splits.summaries);
    writer.put(SPLIT_FEATURES, &splits.features);
    writer.put(SPLITS, &splits.splits);
    let header = Header {
        magic: MAGIC,
        version: COMPILED_MODEL_VERSION,
        endianness: ENDIANNESS,
        length: 0,
        checksum: 0,
        num_features: to_u32(model.num_features())?,
        num_outputs: to_u32(model.num_outputs())?,
        num_trees: to_u32(forest.trees().len())?,
        task: model.objective().task() as u32,
        transform: model.objective().transform() as u32,
        sum_precision: model.sum_precision() as u32,
        scaling: scaling_at(model) as u32,
        class_by: model.objective().class_by() as u32,
        class_threshold: model.objective().class_threshold(),
        slope: model.objective().slope(),
        scale: model.scaling.scale,
        divisor: model.scaling.divisor,
        total_depth,
        sections: [Span::default(); SECTIONS],
    };
    let compiled = writer.assemble(header, cancel)?;
    // The system takes back the memory of the largest models at some 10 GB per second.
    drop(tiles);
    cancel.check()?;
    drop(trees);
    cancel.check()?;
    drop((outcomes, splits));
    cancel.check()?;
    Ok(compiled)
}

fn scaling_at(model: &Ensemble) -> ScalingAt {
    let scaling = &model.scaling;
    if *scaling == crate::ensemble::Scaling::default() {
        ScalingAt::None
    } else if scaling.in_margin {
        ScalingAt::Margins
    } else {
        ScalingAt::Values
    }
}

/// The sections of all dictionaries, as they are collected.
#[derive(Default)]
pub(crate) struct Dictionaries<'a> {
    pub(crate) records: Vec<Dictionary>,
    pub(crate) numbers: Vec<u64>,
    pub(crate) words: Vec<&'a str>,
    pub(crate) sorted: Vec<u32>,
}

impl<'a> Dictionaries<'a> {
    /// The dictionaries of a model's features; no record at all if no feature has one.
    pub(crate) fn collect(model: &'a Ensemble) -> Result<Self> {
        let mut all = Dictionaries::default();
        if model.categories().iter().any(Option::is_some) {
            for (feature, categories) in model.categories().iter().enumerate() {
                let unknown = if model.has_unknown_code(feature) { UNKNOWN_CODE } else { 0 };
                let hash = if model.ctrs.takes_hash(feature) { TAKES_HASH } else { 0 };
                all.add(categories.as_ref(), unknown | hash)?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, categories: Option<&'a Categories>, flags: u32) -> Result<()> {
        let sorted = to_u32(self.sorted.len())?;
        let Some(categories) = categories else {
            self.records.push(Dictionary { kind: 0, count: 0, start: 0, sorted });
            return Ok(());
        };
        let count = to_u32(categories.len())?;
        let (kind, start) = match categories {
            Categories::Text(values) => {
                self.sort(count, |a, b| values[a].cmp(&values[b]));
                let start = self.words.len();
                self.words.extend(values.iter().map(String::as_str));
                (CategoryKind::Text, start)
            }
            Categories::Integer(values) => {
                self.sort(count, |a, b| values[a].cmp(&values[b]));
                (CategoryKind::Integer, self.push(values.iter().map(|value| value.cast_unsigned())))
            }
            Categories::Float(values) => {
                // Adding zero makes -0.0 and 0.0 the one number that they are.
                let value = |index: usize| values[index] + 0.0;
                self.sort(count, |a, b| value(a).total_cmp(&value(b)));
                (CategoryKind::Float, self.push(values.iter().map(|value| (value + 0.0).to_bits())))
            }
            Categories::Hashed(hashes) => {
                self.sort(count, |a, b| hashes[a].cmp(&hashes[b]));
                (CategoryKind::Hashed, self.push(hashes.iter().map(|hash| (*hash).into())))
            }
        };
        let kind = kind as u32 | flags;
        self.records.push(Dictionary { kind, count, start: to_u32(start)?, sorted });
        Ok(())
    }

    /// Appends numbers; gives the index of the first.
    fn push(&mut self, numbers: impl Iterator<Item = u64>) -> usize {
        let start = self.numbers.len();
        self.numbers.extend(numbers);
        start
    }

    /// Appends the codes below `count` in the order of their values.
    fn sort(&mut self, count: u32, compare: impl Fn(usize, usize) -> Ordering) {
        let start = self.sorted.len();
        self.sorted.extend(0..count);
        self.sorted[start..].sort_by(|a, b| compare(*a as usize, *b as usize));
    }
}
