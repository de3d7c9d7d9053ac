//! Lowering: from a checked ensemble to a compiled model.
//!
//! `cuts` narrows thresholds to f32, `canonical` converts every library's rules into one form of split,
//! `trees` lays nodes out for interleaved traversal in the `order` of walks, `outcomes` precomputes
//! categorical splits, `tiles` is for kernels that decide many nodes at once, `points` and `splits` are
//! for explanations. [`compile`] collects the sections of all of these and passes them to the writer of
//! compiled models. The result does not depend on addresses, time or hashing order.

pub(crate) mod canonical;
mod ctr;
pub(crate) mod cuts;
mod dictionaries;
pub(crate) mod order;
pub(crate) mod outcomes;
pub(crate) mod points;
pub(crate) mod splits;
pub(crate) mod tiles;
pub(crate) mod trees;

use crate::compiled::aligned::AlignedBytes;
use crate::compiled::categories::text_section;
use crate::compiled::sections::Writer;
use crate::compiled::sections::*;
use crate::compiled::{COMPILED_MODEL_VERSION, ScalingAt};
use crate::ensemble::{Ensemble, FeatureType, check_class_labels};
use crate::limits::to_u32;
use crate::lower::canonical::Forest;
use crate::lower::ctr::CtrSections;
use crate::lower::cuts::Cuts;
use crate::lower::dictionaries::Dictionaries;
use crate::lower::outcomes::Outcomes;
use crate::lower::splits::Splits;
use crate::lower::tiles::Tiles;
use crate::lower::trees::Trees;
use crate::memory::collect;
use crate::{Cancel, Result};

/// Compiles a model. `labels` are the names of its classes; empty for the file's.
///
/// `cancel` is called every few milliseconds and may unwind.
///
/// # Errors
/// [`crate::ErrorKind::Names`] unless there are two labels for a binary model, one per class for a
/// multiclass model, or none; [`crate::ErrorKind::OutOfMemory`].
pub fn compile(model: &Ensemble, labels: &[String], cancel: Cancel<'_>) -> Result<AlignedBytes> {
    let labels = if labels.is_empty() { model.class_labels() } else { labels };
    check_class_labels(labels, model.num_classes())?;
    let cuts = Cuts::of(model, cancel)?;
    let forest = Forest::of(model, &cuts, cancel)?;
    let trees = Trees::collect(&forest, cancel)?;
    let total_depth = forest.total_depth();
    let outcomes = Outcomes::of(&trees, model.num_split_features(), total_depth, cancel)?;
    let players = model.ctrs.players(model.num_features());
    let splits = Splits::collect(&forest, &trees, &outcomes, &players, cancel)?;
    let ctrs = CtrSections::of(&model.ctrs, cancel)?;
    let coded: Vec<u32> = (0..model.num_features())
        .filter(|feature| model.ctrs.takes_hash(*feature))
        .filter(|feature| model.categories()[*feature].as_ref().is_some_and(|all| !all.is_empty()))
        .map(|feature| feature as u32)
        .collect();
    // Tiles have the same leaf values for all rows.
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
    let mut writer = Writer::new();
    writer.put(OUTPUTS, &outputs);
    writer.put(BASE_MARGINS, model.base_margin());
    writer.put(COEFFICIENTS, &model.coefficients);
    trees.put(&mut writer);
    tiles.put(&mut writer);
    outcomes.put(&mut writer);
    ctrs.put(&mut writer);
    splits.put(&mut writer);
    dictionaries.put(&mut writer);
    writer.put(SOURCES, &sources);
    writer.put(BIASES, &model.parts.scaling.bias);
    writer.put(CUT_SPANS, &cuts.spans);
    writer.put(CUTS, &cuts.numbers);
    writer.put(CUT_ENDS, &cuts.ends);
    writer.put(SETS, &trees.sets);
    writer.put(SET_WORDS, &trees.set_words);
    writer.put(CATEGORICAL, &categorical);
    writer.put(ZERO_MISSING, zero_missing);
    writer.put(NAMES, &names);
    writer.put(LABELS, &label_text);
    writer.put(CTR_CODES, &coded);
    let header = header(model, forest.trees().len(), total_depth)?;
    let compiled = writer.assemble(header, cancel)?;
    // Freeing the largest models' memory takes long, at some 10 GB per second.
    drop(tiles);
    cancel.check()?;
    drop(trees);
    cancel.check()?;
    drop((outcomes, splits));
    cancel.check()?;
    Ok(compiled)
}

/// Returns the header, but for the fields that the writer sets.
fn header(model: &Ensemble, num_trees: usize, total_depth: u64) -> Result<Header> {
    Ok(Header {
        magic: MAGIC,
        version: COMPILED_MODEL_VERSION,
        endianness: ENDIANNESS,
        length: 0,
        checksum: 0,
        num_features: to_u32(model.num_features())?,
        num_outputs: to_u32(model.num_outputs())?,
        num_trees: to_u32(num_trees)?,
        task: model.objective().task() as u32,
        transform: model.objective().transform() as u32,
        sum_precision: model.sum_precision() as u32,
        scaling: scaling_at(model) as u32,
        class_by: model.objective().class_by() as u32,
        real_input: model.real_input() as u32,
        unused: 0,
        class_threshold: model.objective().class_threshold(),
        slope: model.objective().slope(),
        scale: model.parts.scaling.scale,
        divisor: model.parts.scaling.divisor,
        total_depth,
        sections: [Span::default(); SECTIONS],
    })
}

fn scaling_at(model: &Ensemble) -> ScalingAt {
    let scaling = &model.parts.scaling;
    if *scaling == crate::ensemble::Scaling::default() {
        ScalingAt::None
    } else if scaling.in_margin {
        ScalingAt::Margins
    } else {
        ScalingAt::Values
    }
}
