//! Compiled random models: their properties, and that damaged ones are refused or harmless.

mod broken;

use std::cell::Cell;

use bytemuck::Pod;

use crate::Cancel;
use crate::ErrorKind;
use crate::Limits;
use crate::compiled::CompiledModel;
use crate::compiled::aligned::AlignedBytes;
use crate::compiled::sections::{
    CHECKSUMMED_FROM, CHUNK_GROUPS, CHUNKS, COMPACT_IDS, COMPOUND_RUNS, COMPOUND_WORDS, Header,
    SECTIONS, SEGMENTS, Section, Span, TILE_EXITS, TILE_GROUPS, seal,
};
use crate::compiled::tiles::{CompoundRun, MAX_MASKS, TileGroup};
use crate::ensemble::{Ensemble, Task, Transform};
use crate::eval::{BatchScratch, Kernel, Scratch};
use crate::explain::ContributionScratch;
use crate::lower::compile;
use crate::random::{
    Random, Shape, leaf_wise, linear, model, narrowed, rows, symmetric, times, with_categories,
    with_linear_leaves,
};

const SMALL: Shape = Shape { categorical: 3, ..Shape::of(4, 2, 5, 3) };

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|class| format!("class {class}")).collect()
}

/// Returns a model with data in every section: compact and wide nodes, sets, names, dictionaries.
fn small_model() -> Ensemble {
    with_categories(model(5, SMALL))
}

fn small_image() -> AlignedBytes {
    compile(&small_model(), &labels(2), Cancel::never()).unwrap()
}

/// Changes a section's records and updates the checksum.
pub(crate) fn tampered<T: Pod>(
    compiled: AlignedBytes,
    section: Section<T>,
    change: impl FnOnce(&mut [T]),
) -> AlignedBytes {
    tampered_at(compiled, section.index, change)
}

/// Changes a section's words, for records in which not all bits are valid.
fn tampered_at<T: Pod>(
    mut compiled: AlignedBytes,
    section: usize,
    change: impl FnOnce(&mut [T]),
) -> AlignedBytes {
    let bytes = compiled.bytes_mut();
    let header: Header = *bytemuck::from_bytes(&bytes[..size_of::<Header>()]);
    let span = header.sections[section];
    let (start, length) = (span.offset as usize, span.length as usize);
    change(bytemuck::cast_slice_mut(&mut bytes[start..start + length]));
    seal(bytes);
    compiled
}

fn refused(bytes: &[u8]) -> bool {
    let compiled = AlignedBytes::copy_of(bytes).and_then(CompiledModel::open);
    compiled.is_err_and(|error| error.kind() == ErrorKind::CompiledModel)
}

#[test]
fn an_image_describes_its_model() {
    let model = small_model();
    let compiled =
        CompiledModel::open(compile(&model, &labels(2), Cancel::never()).unwrap()).unwrap();
    assert_eq!((compiled.num_features(), compiled.num_outputs(), compiled.num_values()), (4, 2, 2));
    assert_eq!((compiled.num_trees(), compiled.num_labels()), (5, 2));
    assert_eq!((compiled.task(), compiled.transform()), (Task::Multiclass, Transform::Softmax));
    let depth: u32 = model.trees().iter().map(|tree| tree.depth()).sum();
    assert_eq!(compiled.total_depth(), u64::from(depth));
    assert_eq!(compiled.feature_name(3), Some("feature é 3"));
    assert_eq!(
        (compiled.feature_name(4), compiled.label(1), compiled.label(2)),
        (None, Some("class 1"), None)
    );
    assert_eq!(compiled.bytes_len() % 64, 0);
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    assert_eq!(small_image()[..], small_image()[..]);
}

#[test]
fn compilation_polls_for_cancellation_at_every_tree() {
    let polls = Cell::new(0);
    compile(&small_model(), &[], Cancel::unwinding(&|| polls.set(polls.get() + 1))).unwrap();
    assert!(polls.get() >= 3 * SMALL.trees, "{}", polls.get());
}

#[test]
fn labels_must_fit_the_task() {
    let mut model = small_model();
    let refused = |model: &Ensemble, count| {
        compile(model, &labels(count), Cancel::never())
            .is_err_and(|error| error.kind() == ErrorKind::Names)
    };
    assert!(refused(&model, 3) && refused(&model, 1));
    model.parts.objective.task = Task::Binary;
    assert!(refused(&model, 3) && !refused(&model, 2) && !refused(&model, 0));
    model.parts.objective.task = Task::Regression;
    assert!(refused(&model, 2) && !refused(&model, 0));
}

#[test]
fn a_model_without_names_has_none() {
    let mut model = small_model();
    model.parts.feature_names.clear();
    let compiled = CompiledModel::open(compile(&model, &[], Cancel::never()).unwrap()).unwrap();
    assert_eq!(
        (compiled.feature_name(0), compiled.label(0), compiled.num_labels()),
        (None, None, 0)
    );
}

#[test]
fn every_flipped_bit_is_detected() {
    let whole = small_image().to_vec();
    assert!(!refused(&whole));
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(refused(&damaged), "byte {at}");
    }
}

#[test]
fn every_truncation_and_extension_is_detected() {
    let whole = small_image().to_vec();
    for end in (0..whole.len()).step_by(64) {
        assert!(refused(&whole[..end]), "{end} bytes");
    }
    let mut longer = whole;
    longer.extend([0; 64]);
    assert!(refused(&longer));
}

#[test]
fn misaligned_bytes_are_refused() {
    struct Shifted(AlignedBytes);
    impl std::ops::Deref for Shifted {
        type Target = [u8];
        fn deref(&self) -> &[u8] {
            &self.0[16..]
        }
    }
    #[allow(unsafe_code, reason = "the test needs bytes at an odd place")]
    // SAFETY: the bytes belong to an AlignedBytes that nothing else uses.
    unsafe impl crate::compiled::aligned::StableBytes for Shifted {}

    let compiled = small_image();
    let mut shifted = AlignedBytes::zeroed(compiled.len() + 64, Cancel::never()).unwrap();
    shifted.bytes_mut()[16..16 + compiled.len()].copy_from_slice(&compiled);
    let error = CompiledModel::open(Shifted(shifted)).err().unwrap();
    assert_eq!(error.message(), "compiled model is not aligned to 64 bytes");
}

#[test]
#[allow(unsafe_code, reason = "the test opens what was checked just before")]
fn a_checked_image_reopens_unchanged() {
    let checked = CompiledModel::open(small_image()).unwrap();
    // SAFETY: the same bytes have just been verified.
    let again = unsafe { CompiledModel::open_checked(small_image()) }.unwrap();
    let mut margins = [[0.0f32; 2]; 2];
    for row in narrowed(&checked, &rows(6, &small_model(), 100)) {
        for (compiled, margins) in [&checked, &again].into_iter().zip(&mut margins) {
            compiled.margins(&mut Scratch::new(compiled), &row, margins).unwrap();
        }
        assert_eq!(margins[0].map(f32::to_bits), margins[1].map(f32::to_bits));
    }
    assert_eq!(again.label(1), checked.label(1));
}

#[test]
#[allow(unsafe_code, reason = "the header alone shows that the bytes are no compiled model")]
fn an_impossible_header_is_refused_even_if_checked_before() {
    for place in [0, 8, 16] {
        let mut compiled = small_image();
        compiled.bytes_mut()[place] ^= 0xff;
        // SAFETY: a refused model is not read.
        let opened = unsafe { CompiledModel::open_checked(compiled) };
        assert!(
            opened.is_err_and(|error| error.kind() == ErrorKind::CompiledModel),
            "byte {place}"
        );
    }
}

/// Opens a tampered compiled model and calls all its methods; returns whether it opened.
fn survives(bytes: &[u8], rows: &[Vec<f64>]) -> bool {
    let Ok(compiled) = AlignedBytes::copy_of(bytes).and_then(CompiledModel::open) else {
        return false;
    };
    // Larger models would be refused by a caller for their memory.
    if compiled.num_features() > 1000 || compiled.num_outputs() > 1000 {
        return true;
    }
    let mut scratch = Scratch::new(&compiled);
    let mut margins = vec![0.0f64; compiled.num_outputs()];
    let mut leaves = vec![0; compiled.num_trees()];
    for row in narrowed(&compiled, rows) {
        let mut row = row;
        row.resize(compiled.row_length(), f32::NAN);
        compiled.margins(&mut scratch, &row, &mut margins).unwrap();
        let found = compiled.leaves(&mut scratch, &row, &mut leaves);
        assert_eq!(found.is_err(), compiled.is_linear());
    }
    let mut row = narrowed(&compiled, rows).concat();
    row.resize(64 * compiled.row_length(), 0.5);
    for kernel in Kernel::available() {
        let mut margins = vec![0.0f64; 64 * compiled.num_outputs()];
        let mut scratch = BatchScratch::with_kernel(&compiled, kernel);
        compiled.margins_batch(&mut scratch, &row, &mut margins).unwrap();
        compiled.class(&mut margins);
    }
    let width = compiled.num_features() + 1;
    let mut scratch = ContributionScratch::default();
    // Rows are explained together and alone. The model may claim to have no covers, or too deep trees.
    let mut is_explained = false;
    for count in [20, 5, 1] {
        let mut out = vec![0.0; count * compiled.num_outputs() * width];
        let rows = &row[..count * compiled.row_length()];
        is_explained =
            compiled.contributions(&mut scratch, rows, &mut out, Cancel::never()).is_ok();
    }
    let mut out = vec![0.0; compiled.num_outputs() * width * width];
    let row = &row[..compiled.row_length()];
    if is_explained && !compiled.has_ctrs() && width * compiled.num_trees() < 100 {
        compiled.interactions(&mut scratch, row, &mut out, Cancel::never()).unwrap();
    }
    for feature in 0..=compiled.num_features() {
        compiled.feature_name(feature);
        if let Some(categories) = compiled.categories(feature) {
            categories.code_of_text("Aachen");
            categories.code_of_integer(3);
            categories.code_of_float(1.5);
        }
    }
    assert!((0..compiled.num_labels()).all(|class| compiled.label(class).is_some()));
    true
}

/// Returns the offset of a section's span in the header.
fn span_of(section: usize) -> usize {
    size_of::<Header>() - size_of::<Span>() * (SECTIONS - section)
}

#[test]
fn chunks_without_tiles_are_refused() {
    let model = model(9, Shape::of(3, 2, 70, 8));
    let mut compiled = compile(&model, &[], Cancel::never()).unwrap().to_vec();
    let mut without = |sections: [usize; 2]| {
        for span in sections.map(span_of) {
            compiled[span..span + size_of::<Span>()].fill(0);
        }
        seal(&mut compiled);
        refused(&compiled)
    };
    assert!(without([TILE_GROUPS.index, SEGMENTS.index]));
    assert!(!without([CHUNKS.index, CHUNK_GROUPS.index]));
}

/// Leaves of a chunk are read unchecked, so its tiles must have leaves and no exits.
#[test]
fn a_chunk_of_tiles_with_exits_is_refused() {
    let model = model(9, Shape::of(3, 2, 70, 8));
    let mut compiled = compile(&model, &[], Cancel::never()).unwrap().to_vec();
    let word = |at: usize| u64::from_ne_bytes(compiled[at..at + 8].try_into().unwrap()) as usize;
    assert!(word(span_of(CHUNKS.index) + 8) > 0, "the model has chunks");
    let below = word(span_of(CHUNK_GROUPS.index)) + std::mem::offset_of!(TileGroup, below);
    // Ids are below the number of nodes, so as exits they pass all other checks.
    let (ids, exits) = (span_of(COMPACT_IDS.index), span_of(TILE_EXITS.index));
    compiled.copy_within(ids..ids + size_of::<Span>(), exits);
    compiled[below..below + 4].copy_from_slice(&1u32.to_ne_bytes());
    seal(&mut compiled);
    assert!(refused(&compiled));
}

#[test]
fn a_compound_of_a_missing_mask_is_refused() {
    let any_library = Shape { any_library: true, ..Shape::of(6, 2, 30, 5) };
    let coded = leaf_wise(20, model(20, any_library), 25);
    let bytes = compile(&coded, &[], Cancel::never()).unwrap();
    let compiled = || AlignedBytes::copy_of(&bytes).unwrap();
    assert!(!refused(&compiled()));
    let opened = CompiledModel::open(compiled()).unwrap();
    let runs = opened.sections().get(COMPOUND_RUNS);
    // Tests each word of a run with separate operations, and of one with common operations.
    for apart in [true, false] {
        let is_apart = |run: &&CompoundRun| (run.length as usize > CompoundRun::ALIKE) == apart;
        let run = runs.iter().find(is_apart).unwrap();
        let first = run.words as usize + CompoundRun::op_words(run.length as usize);
        for word in first..=first + run.length as usize {
            let other = |words: &mut [u16]| words[word] = MAX_MASKS as u16;
            assert!(refused(&tampered(compiled(), COMPOUND_WORDS, other)), "{word}: no mask");
            // A kernel would add the operation's bit to the index of the first mask.
            let joined = |words: &mut [u16]| words[word] ^= CompoundRun::OR;
            let right = apart && word > first;
            assert_eq!(refused(&tampered(compiled(), COMPOUND_WORDS, joined)), !right, "{word}");
        }
    }
}

#[test]
fn tampered_images_are_refused_or_evaluate_within_bounds() {
    let model = small_model();
    let rows = rows(6, &model, 4);
    let whole = small_image().to_vec();
    let (mut opened, mut refused) = (0, 0);
    for at in CHECKSUMMED_FROM..whole.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff] {
            let mut tampered = whole.clone();
            tampered[at] = value;
            seal(&mut tampered);
            *(if survives(&tampered, &rows) { &mut opened } else { &mut refused }) += 1;
        }
    }
    assert!(opened > 1000 && refused > 1000, "{opened} opened, {refused} refused");
}

/// Tampers with one to three words, choosing each section equally often.
fn tamper(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut tampered = whole.to_vec();
    let word = |at: usize| u64::from_ne_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    for _ in 0..1 + random.below(3) {
        let span = size_of::<Header>() - size_of::<Span>() * (1 + random.below(SECTIONS));
        let (start, length) = match random.below(8) {
            0 => (CHECKSUMMED_FROM, size_of::<Header>() - CHECKSUMMED_FROM),
            _ => (word(span), word(span + 8)),
        };
        if length < 4 {
            continue;
        }
        // Whole words, since links, slots and counts are words.
        let at = start + 4 * random.below(length / 4);
        let word = match random.below(4) {
            0 => random.below(40) as u32,
            1 => u32::MAX - random.below(3) as u32,
            2 => 1 << random.below(32),
            _ => random.next() as u32,
        };
        tampered[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    seal(&mut tampered);
    tampered
}

#[test]
fn thoroughly_tampered_images_are_refused_or_evaluate_within_bounds() {
    // Shallow trees with sets of all sizes; deep trees, whose tiles have exits; large tiles of
    // numerical splits only, which have chunks.
    let shapes = [
        SMALL,
        Shape { categorical: 2, ..Shape::of(2, 1, 6, 11) },
        Shape::of(3, 2, 70, 8),
        Shape::of(3, 1, 20, 10),
    ];
    let plain = (7..).zip(shapes).map(|(seed, shape)| (seed, model(seed, shape)));
    // f64 sums and cuts, with some symmetric trees.
    let any_library = Shape { any_library: true, categorical: 4, ..Shape::of(6, 2, 30, 5) };
    let others = (20..23).map(|seed| (seed, model(seed, any_library)));
    let even = others.clone().map(|(seed, model)| (seed, symmetric(seed, model)));
    // Codes, compounds and leaf numbers, with covers of leaves.
    let coded = others.clone().map(|(seed, model)| (seed, leaf_wise(seed, model, 25)));
    let linear_leaves = with_linear_leaves(31, model(31, Shape::of(3, 2, 20, 4)));
    let linear = [(30, linear(30, 3, 2)), (31, linear_leaves)];
    let random = plain.chain(others).chain(even).chain(coded).chain(linear);
    let random = random.map(|(seed, model)| (seed, with_categories(model)));
    let statistics = golden_models::file("catboost/1.2.10/ctr_one_hot.cbm");
    let statistics = crate::format::parse(statistics, &Limits::default(), Cancel::never()).unwrap();
    let models: Vec<_> = random.chain([(40, statistics)]).collect();
    std::thread::scope(|scope| {
        for first in 0..2 {
            let models = models.iter();
            scope.spawn(move || models.skip(first).step_by(2).for_each(survives_tampering));
        }
    });
}

fn survives_tampering((seed, model): &(u64, Ensemble)) {
    let rows = rows(*seed, model, 4);
    let whole = compile(model, &[], Cancel::never()).unwrap().to_vec();
    let mut random = Random(*seed);
    let times = (50_000_000 / whole.len()).clamp(1000, 5000) * times();
    let opened = (0..times).filter(|_| survives(&tamper(&whole, &mut random), &rows)).count();
    assert!((times / 20..times).contains(&opened), "{opened} of {times} opened");
}
