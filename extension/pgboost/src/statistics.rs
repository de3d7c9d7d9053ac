//! Usage counters of each version of a model, for `pg_stat_pgboost`.
//!
//! A statement counts in its own state (`PendingCounters`), and adds that to the shared counters when it ends.
//! If `pgboost.track_predictions` is off, it neither counts nor reads the features'
//! baseline.
//!
//! The shared counters are a file of fixed size next to the images, which all backends map, so that no library
//! needs to be preloaded, and standbys have separate counts. Each version that was used has a slot, whose fields
//! are atomic, so that backends need no lock. The table has open addressing, by a hash of the model's id and the
//! version. A slot stays taken until `reset` empties all of them, or until another version finds no free one and
//! this is the least recently used. Counts of a statement whose slot was reassigned meanwhile are lost.
//!
//! The file is written whole under another name first: a hole in a mapped file would crash the server if the
//! disk is full. If the file cannot be made, predictions are not counted.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};
use std::time::Instant;

use memmap2::MmapOptions;
use pg_interface::{Oid, report, session, unguarded};
use row_source::distribution::Ranges;

use crate::cache::ModelImage;
use crate::cache::image_file::folder;
use crate::features::UNKNOWN;
use crate::guc;
use crate::registry::model::ModelId;
use crate::registry::{Registry, baseline};

/// A statement's counts of one version, and the slot to which it adds them. It stays with the state for
/// the next statement, which then need not find the slot.
#[derive(Default)]
pub(crate) struct PendingCounters {
    /// The statement counts.
    on: bool,
    slot: Option<SlotOf>,
    /// The ranges of the features in training, if known, and the generation under which they were
    /// read.
    ranges: Option<Rc<Ranges>>,
    unknown: UnknownCells,
    generation: u64,
    counted: Counters,
    began: Option<Instant>,
}

impl PendingCounters {
    /// Begins to count for a version of a model under that generation of the registry, if predictions are
    /// counted and there is a slot.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        model: ModelId,
        version: i32,
        image: &ModelImage,
        generation: u64,
        function: Oid,
    ) {
        self.on = guc::track();
        if self.on {
            let key = SlotKey::new(model, version);
            let is_same = self.slot.as_ref().is_some_and(|slot| slot.key == key && slot.is_valid());
            if !is_same || self.generation != generation {
                self.slot = SlotOf::new(key);
                self.ranges = training_ranges(model, version, generation, function);
                self.unknown = UnknownCells::of(image);
                self.generation = generation;
            }
            self.on = self.slot.is_some();
        }
    }

    /// Detaches from the model.
    pub(crate) fn forget(&mut self) {
        self.slot = None;
    }

    /// Ends a statement: adds its counts to the slot.
    #[inline]
    pub(crate) fn end(&mut self) {
        if self.on {
            self.add();
        }
    }

    #[inline(never)]
    fn add(&mut self) {
        let mut counted = std::mem::take(&mut self.counted);
        if let Some(slot) = self.slot.as_ref().filter(|_| counted.rows > 0) {
            counted.last_used = unguarded::GetCurrentStatementStartTimestamp();
            slot.add(&counted);
        }
    }

    /// Starts the clock for a row or a batch.
    #[inline]
    pub(crate) fn start(&mut self) {
        if self.on {
            self.began = Some(Instant::now());
        }
    }

    /// Counts a call of the function for a row with these features.
    #[inline]
    pub(crate) fn count_call(&mut self, features: &[f32]) {
        if !self.on {
            return;
        }
        self.counted.calls += 1;
        self.counted.rows += 1;
        self.counted.missing += u64::from(has_missing(features));
        self.counted.unknown += u64::from(self.unknown.are_in(features));
        if let Some(ranges) = &self.ranges {
            self.counted.outside += u64::from(ranges.exclude(features));
        }
        self.stop();
    }

    /// Counts the rows of a batch, of `row_length` cells each, the first of which are features.
    pub(crate) fn count_batch(&mut self, rows: &[f32], row_length: usize, num_features: usize) {
        if !self.on {
            return;
        }
        let rows = rows.chunks_exact(row_length.max(1));
        let rows = rows.map(|row| row.get(..num_features).unwrap_or_default());
        self.counted.batches += 1;
        self.counted.rows += rows.len() as u64;
        self.counted.missing += rows.clone().filter(|row| has_missing(row)).count() as u64;
        if self.unknown.categories {
            self.counted.unknown +=
                rows.clone().filter(|row| self.unknown.are_in(row)).count() as u64;
        }
        if let Some(ranges) = &self.ranges {
            self.counted.outside += rows.filter(|row| ranges.exclude(row)).count() as u64;
        }
        self.stop();
    }

    #[inline]
    fn stop(&mut self) {
        let passed = self.began.take().map_or(0, |began| began.elapsed().as_nanos());
        self.counted.nanoseconds += u64::try_from(passed).unwrap_or(u64::MAX);
    }
}

/// The cells of unknown categories in a row.
#[derive(Default)]
struct UnknownCells {
    /// The model has categories.
    categories: bool,
    /// The features of which unknown categories have a code, with that.
    codes: Vec<(usize, f32)>,
}

impl UnknownCells {
    fn of(image: &ModelImage) -> UnknownCells {
        let code = |index| {
            let categories = image.categories(index)?;
            Some((index, categories.row_value(categories.unknown_code()?)))
        };
        let categories = image.has_categories();
        let features = if categories { 0..image.num_features() } else { 0..0 };
        UnknownCells { categories, codes: features.filter_map(code).collect() }
    }

    #[inline]
    fn are_in(&self, features: &[f32]) -> bool {
        let is_code = |(index, code): &(usize, f32)| features.get(*index) == Some(code);
        self.categories
            && (features.iter().any(|feature| feature.to_bits() == UNKNOWN.to_bits())
                || self.codes.iter().any(is_code))
    }
}

/// The ranges of the features in training, by model and version, under one generation of the registry.
#[derive(Default)]
struct KnownRanges {
    generation: u64,
    by_version: HashMap<(ModelId, i32), Option<Rc<Ranges>>>,
}

/// The most versions whose ranges are kept.
const MAX_KNOWN: usize = 1000;

thread_local! {
    static KNOWN: RefCell<KnownRanges> = RefCell::default();
}

/// Returns the ranges of the features in the training of a version; the registry is found by `function`.
#[cold]
fn training_ranges(
    model: ModelId,
    version: i32,
    generation: u64,
    function: Oid,
) -> Option<Rc<Ranges>> {
    let key = (model, version);
    let known = KNOWN.with_borrow_mut(|known| {
        if known.generation != generation || known.by_version.len() >= MAX_KNOWN {
            *known = KnownRanges { generation, ..KnownRanges::default() };
        }
        known.by_version.get(&key).cloned()
    });
    if let Some(ranges) = known {
        return ranges;
    }
    let registry = Registry::of_function(function).ok()?;
    let ranges = baseline::ranges(&registry, model, version).map(Rc::new);
    KNOWN.with_borrow_mut(|known| known.by_version.insert(key, ranges.clone()));
    ranges
}

impl Drop for PendingCounters {
    fn drop(&mut self) {
        self.end();
    }
}

#[inline]
fn has_missing(features: &[f32]) -> bool {
    features.iter().any(|feature| feature.is_nan())
}

/// The most versions that can be counted.
const SLOTS: usize = 1 << 14;
/// The most slots that are probed for one version.
const MAX_PROBES: usize = 64;
/// The most reads of a slot that another backend is just taking.
const MAX_SPINS: usize = 1000;
/// An odd number with well mixed bits: 2^64 by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// The name of the file, with the number of its layout.
const NAME: &str = "statistics-3";

const EMPTY: u32 = 0;
const CLAIMED: u32 = 1;
const TAKEN: u32 = 2;

/// A slot; all zeros is an empty one.
#[repr(C)]
struct Slot {
    state: AtomicU32,
    version: AtomicU32,
    model: [AtomicU64; 2],
    calls: AtomicU64,
    rows: AtomicU64,
    batches: AtomicU64,
    nanoseconds: AtomicU64,
    missing: AtomicU64,
    last_used: AtomicI64,
    outside: AtomicU64,
    unknown: AtomicU64,
}

const SIZE: usize = SLOTS * size_of::<Slot>();

/// The counters of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Rows of single calls.
    pub(crate) calls: u64,
    /// Rows of calls and of batches.
    pub(crate) rows: u64,
    pub(crate) batches: u64,
    pub(crate) nanoseconds: u64,
    /// Rows with a missing feature.
    pub(crate) missing: u64,
    /// Rows with a feature outside its range in training.
    pub(crate) outside: u64,
    /// Rows with an unknown category.
    pub(crate) unknown: u64,
    /// The start of the last statement that used it, in PostgreSQL's microseconds; 0 for never.
    pub(crate) last_used: i64,
}

impl Slot {
    fn add(&self, counted: &Counters) {
        self.calls.fetch_add(counted.calls, Relaxed);
        self.rows.fetch_add(counted.rows, Relaxed);
        self.batches.fetch_add(counted.batches, Relaxed);
        self.nanoseconds.fetch_add(counted.nanoseconds, Relaxed);
        self.missing.fetch_add(counted.missing, Relaxed);
        self.outside.fetch_add(counted.outside, Relaxed);
        self.unknown.fetch_add(counted.unknown, Relaxed);
        self.last_used.fetch_max(counted.last_used, Relaxed);
    }

    fn counters(&self) -> Counters {
        Counters {
            calls: self.calls.load(Relaxed),
            rows: self.rows.load(Relaxed),
            batches: self.batches.load(Relaxed),
            nanoseconds: self.nanoseconds.load(Relaxed),
            missing: self.missing.load(Relaxed),
            outside: self.outside.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            last_used: self.last_used.load(Relaxed),
        }
    }

    fn is_of(&self, key: &SlotKey) -> bool {
        self.version.load(Relaxed) == key.version
            && self.model.iter().zip(key.model).all(|(own, other)| own.load(Relaxed) == other)
    }

    /// Returns the state, after waiting for a backend that is changing it.
    fn settled(&self) -> u32 {
        for _ in 0..MAX_SPINS {
            let state = self.state.load(Acquire);
            if state != CLAIMED {
                return state;
            }
            std::hint::spin_loop();
        }
        CLAIMED
    }

    /// Takes a slot in that state; returns false if another backend was faster.
    fn take(&self, state: u32, key: &SlotKey) -> bool {
        if self.state.compare_exchange(state, CLAIMED, AcqRel, Acquire).is_err() {
            return false;
        }
        self.set_to_zero();
        self.version.store(key.version, Relaxed);
        self.model.iter().zip(key.model).for_each(|(own, word)| own.store(word, Relaxed));
        self.state.store(TAKEN, Release);
        true
    }

    fn set_to_zero(&self) {
        let counters = [&self.calls, &self.rows, &self.batches, &self.nanoseconds];
        let of_rows = [&self.missing, &self.outside, &self.unknown];
        counters.iter().chain(&of_rows).for_each(|counter| counter.store(0, Relaxed));
        self.last_used.store(0, Relaxed);
    }

    fn clear(&self) {
        self.set_to_zero();
        self.state.store(EMPTY, Release);
    }
}

/// A version of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotKey {
    model: [u64; 2],
    version: u32,
}

impl SlotKey {
    #[inline]
    fn new(model: ModelId, version: i32) -> Self {
        let id = u128::from_le_bytes(model.bytes());
        SlotKey { model: [id as u64, (id >> 64) as u64], version: version.cast_unsigned() }
    }

    /// Returns the slots to probe. A word of the id, which is random, serves as the hash.
    fn probed(&self) -> impl Iterator<Item = &'static Slot> {
        let first = (self.model[0] ^ u64::from(self.version).wrapping_mul(MULTIPLIER)) as usize;
        let slots = slots().unwrap_or_default();
        (0..MAX_PROBES).filter_map(move |next| slots.get(first.wrapping_add(next) % SLOTS))
    }
}

/// The slot of a version of a model.
struct SlotOf {
    slot: &'static Slot,
    key: SlotKey,
}

impl SlotOf {
    /// Finds or takes the slot of a version. Returns `None` if there is no room.
    fn new(key: SlotKey) -> Option<SlotOf> {
        Some(SlotOf { slot: find_or_take(&key)?, key })
    }

    /// Returns whether it still belongs to the version.
    #[inline]
    fn is_valid(&self) -> bool {
        self.slot.state.load(Acquire) == TAKEN && self.slot.is_of(&self.key)
    }

    fn add(&self, counted: &Counters) {
        if self.is_valid() {
            self.slot.add(counted);
        }
    }
}

/// Returns the counters of a version.
pub(crate) fn counters(model: ModelId, version: i32) -> Counters {
    find(&SlotKey::new(model, version)).map(Slot::counters).unwrap_or_default()
}

/// Clears the counters of a version. Does not make the file.
pub(crate) fn forget(model: ModelId, version: i32) {
    if folder().join(NAME).exists() {
        find(&SlotKey::new(model, version)).into_iter().for_each(Slot::set_to_zero);
    }
}

/// Clears all counters.
pub(crate) fn reset() {
    slots().unwrap_or_default().iter().for_each(Slot::clear);
}

/// Finds the slot of a version. An empty slot ends the search.
fn find(key: &SlotKey) -> Option<&'static Slot> {
    let mut states = key.probed().map(|slot| (slot.settled(), slot));
    let found =
        states.find(|(state, slot)| *state == EMPTY || (*state == TAKEN && slot.is_of(key)));
    found.filter(|(state, _)| *state == TAKEN).map(|(_, slot)| slot)
}

fn find_or_take(key: &SlotKey) -> Option<&'static Slot> {
    for slot in key.probed() {
        if slot.settled() == EMPTY && slot.take(EMPTY, key) {
            return Some(slot);
        }
        if slot.settled() == TAKEN && slot.is_of(key) {
            return Some(slot);
        }
    }
    let oldest = key.probed().min_by_key(|slot| slot.last_used.load(Relaxed))?;
    oldest.take(TAKEN, key).then_some(oldest)
}

/// Returns the slots, mapped at the first call and until the backend ends.
fn slots() -> Option<&'static [Slot]> {
    static SLOTS_OF_BACKEND: OnceLock<Option<&'static [Slot]>> = OnceLock::new();
    *SLOTS_OF_BACKEND.get_or_init(|| match open().and_then(|file| map(&file)) {
        Ok(slots) => Some(slots),
        Err(error) => {
            report::log(&format!("could not map the file of statistics: {error}"));
            None
        }
    })
}

/// Opens the file, and makes it if it does not exist.
fn open() -> io::Result<File> {
    let path = folder().join(NAME);
    let open = || OpenOptions::new().read(true).write(true).open(&path);
    if let Ok(file) = open() {
        return Ok(file);
    }
    DirBuilder::new().recursive(true).mode(session::directory_mode()).create(folder())?;
    let mut unfinished = path.clone();
    unfinished.add_extension(format!("{}.tmp", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(session::file_mode())
        .open(&unfinished)?;
    let made = file.write_all(&vec![0u8; SIZE]).and_then(|()| fs::hard_link(&unfinished, &path));
    fs::remove_file(&unfinished)?;
    match made {
        // Another backend was faster.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open(),
    }
}

fn map(file: &File) -> io::Result<&'static [Slot]> {
    if file.metadata()?.len() != SIZE as u64 {
        return Err(io::Error::other("it has another size"));
    }
    // SAFETY: the file has no holes and keeps its size, as image files do; other processes change it
    // by atomic operations alone. A page is aligned for slots, any bytes of which are good, and the
    // mapping is never undone.
    unsafe {
        let map = Box::leak(Box::new(MmapOptions::new().len(SIZE).map_mut(file)?));
        Ok(std::slice::from_raw_parts(map.as_mut_ptr().cast_const().cast(), SLOTS))
    }
}
