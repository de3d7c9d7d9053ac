//! The images that this backend has open.
//!
//! They are reference-counted: a statement keeps the image that it uses even if it is evicted here. Two bounds
//! hold: one on the bytes of all images, which counts an image's full size although a mapped one costs this
//! backend only page tables, and one on their number. No step takes time that grows with the number of open
//! images, because every change of a model leads the next statement here.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::ops::Bound::{Excluded, Unbounded};
use std::rc::Rc;

use gbtrees::internals::{AlignedBytes, CompiledModel};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{fault, report, session, transaction};

use super::image_file::{self, ImageBytes, ImageKey, KeyInputs, ModelImage};
use crate::error::Result;
use crate::guc;
use crate::registry::Registry;
use crate::registry::lookup::{self, Stored};
use crate::registry::model::{Model, ModelId};

/// The most open images. Each is a mapping, of which Linux allows a process 65,530 (vm.max_map_count).
const MAX_IMAGES: usize = 16_384;
/// The most images whose files one read of the registry looks for.
const MAX_CHECKED: usize = 8;

const MAX_IDLE: usize = 4;

/// An open image, and the states that statements have left for the next ones.
pub(crate) struct CachedImage {
    model: ModelImage,
    idle: RefCell<Vec<Box<dyn Any>>>,
    pub(super) key: ImageKey,
    last_used: Cell<u64>,
    /// Its key in `Images::by_use`.
    queued: Cell<u64>,
}

impl CachedImage {
    #[inline]
    pub(crate) fn model(&self) -> &ModelImage {
        &self.model
    }

    /// Takes the most recent idle state of this type that fits.
    #[inline]
    pub(crate) fn take_idle<T: 'static>(&self, fits: impl Fn(&T) -> bool) -> Option<Box<T>> {
        let mut idle = self.idle.borrow_mut();
        let found = idle.iter().rposition(|state| state.downcast_ref().is_some_and(&fits))?;
        idle.remove(found).downcast().ok()
    }

    /// Leaves a state for a later statement; if there are too many, the oldest is dropped.
    pub(crate) fn put_idle(&self, state: Box<dyn Any>) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(state);
    }
}

#[derive(Default)]
struct Images {
    by_key: BTreeMap<ImageKey, Rc<CachedImage>>,
    /// By the clock at a use; for the first entries it is the last use.
    by_use: BTreeMap<u64, Rc<CachedImage>>,
    bytes: usize,
    clock: u64,
    /// The generation for which files are looked for, the image that was looked for last, and
    /// the number of those that remain.
    generation: u64,
    checked: Option<ImageKey>,
    unchecked: usize,
}

thread_local! {
    // Never dropped: an idle state refers to PostgreSQL's memory, which must not be freed so late in a
    // backend's exit.
    static IMAGES: RefCell<ManuallyDrop<Images>> = RefCell::default();
}

/// Returns the image of a stored version: an open one, one from its file, or a newly compiled one.
pub(crate) fn image_of(stored: &Stored<'_>) -> Result<Rc<CachedImage>> {
    let key = key_of(stored)?;
    if let Some(image) = find(&key) {
        return Ok(image);
    }
    let image = match image_file::open(&key) {
        Some(image) => image,
        None => {
            let labels = stored.labels();
            let cancel = gbtrees::Cancel::unwinding(&report::check_for_interrupts);
            let lowered = gbtrees::internals::compile(&stored.model()?, &labels, cancel)?;
            let image = share(&key, lowered, || stored.reference())?;
            sweep_if_due(stored.registry);
            image
        }
    };
    fault::at("image: opened");
    Ok(insert(image, key))
}

pub(crate) fn key_of(stored: &Stored<'_>) -> Result<ImageKey> {
    let (feature_names, labels) = (stored.feature_names(), stored.labels());
    let categories = stored.categories();
    let inputs = KeyInputs {
        digest: stored.digest()?,
        rounds: stored.used_rounds()?,
        feature_names: &feature_names,
        labels: &labels,
        categories: categories.as_deref(),
        real_input: stored.real_input()?,
        array_categories: stored.array_categories()?,
    };
    Ok(ImageKey::new(&inputs))
}

/// Writes an image for all backends and opens it. If that fails, it is private to this backend.
fn share(
    key: &ImageKey,
    lowered: AlignedBytes,
    reference: impl Fn() -> String,
) -> Result<ModelImage> {
    match image_file::write(key, &lowered) {
        Ok(()) => {
            if let Some(image) = image_file::open(key) {
                return Ok(image);
            }
        }
        Err(error) => {
            report::log(&format!(
                "could not write the image of model \"{}\", so each connection makes its own: {error}",
                reference()
            ));
        }
    }
    let bytes = ImageBytes::Private(lowered);
    Ok(CompiledModel::open_checking(
        bytes,
        gbtrees::Cancel::unwinding(&report::check_for_interrupts),
    )?)
}

/// Makes the image of a version that this transaction has just stored, unless it exists. A rollback removes the
/// file; if another version needs it, it is made again.
pub(crate) fn share_new(model: Model<'_>, version: i32, lowered: AlignedBytes) -> Result<()> {
    let key = lookup::with_version(model, version, ReadSnapshot::Latest, key_of)?;
    let share = |lowered| share(&key, lowered, || format!("{}@{version}", model.name));
    if key.path().exists() {
        if find(&key).is_none() {
            let image = image_file::open(&key).map_or_else(|| share(lowered), Ok)?;
            insert(image, key);
        }
        return Ok(());
    }
    transaction::remove_at_rollback(key.path());
    let image = share(lowered)?;
    insert(image, key);
    sweep_if_due(&model.registry);
    Ok(())
}

/// Removes the files of images that no version uses, if enough were made since the last sweep.
fn sweep_if_due(registry: &Registry) {
    image_file::record_table(registry.version.relation);
    if image_file::is_sweep_due() {
        image_file::sweep(|| in_use(registry));
    }
}

/// Evicts images whose files were removed, after the registry may have changed since this connection last read
/// it, if ever. A standby, on which nobody calls `drop_model`, also sweeps the files that no version uses.
pub(crate) fn registry_read(registry: &Registry, generation: u64) {
    let before =
        IMAGES.with_borrow_mut(|images| std::mem::replace(&mut images.generation, generation));
    if before != generation {
        if session::in_recovery() && (before != 0 || image_file::is_long_unswept()) {
            sweep_if_due(registry);
        }
        IMAGES.with_borrow_mut(|images| images.unchecked = images.by_key.len());
    }
    evict_deleted();
}

/// Returns the images of all versions that are committed or written by this transaction.
fn in_use(registry: &Registry) -> HashSet<ImageKey> {
    let mut keys = HashSet::new();
    lookup::each_version(registry, None, |stored| keys.extend(key_of(stored).ok()));
    keys
}

/// Returns the images of a model's versions, each with the digest of the file that it was made from.
pub(crate) fn of_model(registry: &Registry, model: ModelId) -> HashMap<ImageKey, Vec<u8>> {
    let mut images = HashMap::new();
    lookup::each_version(registry, Some(model), |stored| {
        if let (Ok(key), Ok(digest)) = (key_of(stored), stored.digest()) {
            images.insert(key, digest.to_owned());
        }
    });
    images
}

/// Retains the images that no version uses. Only versions with one of these digests are considered, since the
/// key of a version's image takes longer to compute than its row to read.
pub(crate) fn retain_unused(registry: &Registry, images: &mut HashMap<ImageKey, Vec<u8>>) {
    let digests: HashSet<Vec<u8>> = images.values().cloned().collect();
    lookup::each_version(registry, None, |stored| {
        if stored.digest().is_ok_and(|digest| digests.contains(digest))
            && let Ok(key) = key_of(stored)
        {
            images.remove(&key);
        }
    });
}

fn find(key: &ImageKey) -> Option<Rc<CachedImage>> {
    let image = IMAGES.with_borrow(|images| images.by_key.get(key).cloned())?;
    mark_used(&image);
    Some(image)
}

/// Marks an image as the most recently used.
#[inline]
pub(crate) fn mark_used(image: &CachedImage) {
    image.last_used.set(IMAGES.with_borrow_mut(|images| images.tick()));
}

/// Adds an image, and evicts others until all fit; an image larger than the bound is kept alone.
fn insert(model: ModelImage, key: ImageKey) -> Rc<CachedImage> {
    let bound = guc::cache_bytes();
    IMAGES.with_borrow_mut(|images| {
        let bytes = model.bytes_len();
        while (images.bytes + bytes > bound || images.by_key.len() >= MAX_IMAGES)
            && images.remove_oldest()
        {}
        let now = images.tick();
        let (last_used, queued) = (Cell::new(now), Cell::new(now));
        let idle = RefCell::default();
        let image = Rc::new(CachedImage { model, idle, key: key.clone(), last_used, queued });
        images.remove(&key);
        images.bytes += bytes;
        images.by_use.insert(now, Rc::clone(&image));
        images.by_key.insert(key, Rc::clone(&image));
        image
    })
}

/// Evicts images whose files were removed, so that their space is freed before the connection ends. Looks for a
/// few files at a time, and for each once per generation.
fn evict_deleted() {
    IMAGES.with_borrow_mut(|images| {
        for _ in 0..images.unchecked.min(MAX_CHECKED) {
            images.unchecked -= 1;
            let Some(image) = images.next_to_check() else { return };
            images.checked = Some(image.key.clone());
            let is_mapped = matches!(image.model.storage(), ImageBytes::Mapped(_));
            if is_mapped && !image.key.path().exists() {
                images.remove(&image.key);
            }
        }
    });
}

impl Images {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Returns the image after the one that was checked last, the first after the last.
    fn next_to_check(&self) -> Option<Rc<CachedImage>> {
        let later = self
            .checked
            .as_ref()
            .and_then(|checked| self.by_key.range((Excluded(checked), Unbounded)).next());
        later.or_else(|| self.by_key.first_key_value()).map(|(_, image)| Rc::clone(image))
    }

    fn remove(&mut self, key: &ImageKey) {
        if let Some(image) = self.by_key.remove(key) {
            self.by_use.remove(&image.queued.get());
            self.bytes -= image.model.bytes_len();
        }
    }

    fn remove_oldest(&mut self) -> bool {
        while let Some((queued, image)) = self.by_use.pop_first() {
            let last_used = image.last_used.get();
            if last_used == queued {
                self.remove(&image.key);
                return true;
            }
            // It was used since it was queued: now it gets the place of its last use.
            image.queued.set(last_used);
            self.by_use.insert(last_used, image);
        }
        false
    }
}
