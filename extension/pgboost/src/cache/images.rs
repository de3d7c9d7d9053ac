//! The images that this backend has open.
//!
//! They are shared by reference count: a statement that uses an image keeps it even when it is let
//! go here meanwhile. The bound counts an image's full size, although a mapped one costs this
//! backend only page tables.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use gbdt::Image;
use gbdt::forest::AlignedBytes;
use pg_interface::report;

use super::file::{self, ImageKey};
use crate::error::Result;
use crate::pg::invalidation;
use crate::pg::map::ImageBytes;
use crate::pg::snapshot::Seen;
use crate::registry::Registry;
use crate::registry::lookup::{self, Stored};
use crate::settings;

/// An open image.
pub struct Loaded {
    /// The image.
    pub image: Image<ImageBytes>,
    pub(super) key: ImageKey,
}

struct Cached {
    loaded: Rc<Loaded>,
    last_used: u64,
}

#[derive(Default)]
struct Images {
    cached: Vec<Cached>,
    clock: u64,
    /// The counts of changes at which files were last looked for and last swept.
    looked_for_removed: u64,
    swept: u64,
}

thread_local! {
    static IMAGES: RefCell<Images> = RefCell::default();
}

/// The image of a stored version: from this backend, from its file, or made anew.
///
/// # Errors
/// What the engine says of the stored bytes.
pub fn image_of(registry: &Registry, stored: &Stored<'_>) -> Result<Rc<Loaded>> {
    let key = key_of(stored)?;
    if let Some(loaded) = find(&key) {
        return Ok(loaded);
    }
    let image = match file::open(&key) {
        Some(image) => image,
        None => {
            let image = share(&key, gbdt::compile(&stored.model()?, &stored.labels())?)?;
            sweep_once(registry);
            image
        }
    };
    Ok(insert(Loaded { image, key }))
}

/// The key of a stored version's image.
pub fn key_of(stored: &Stored<'_>) -> Result<ImageKey> {
    Ok(ImageKey::new(stored.digest()?, &stored.feature_names(), &stored.labels()))
}

/// Writes an image for all backends and opens it; where that fails, it stays this backend's own.
fn share(key: &ImageKey, lowered: AlignedBytes) -> Result<Image<ImageBytes>> {
    match file::write(key, &lowered) {
        Ok(()) => {
            if let Some(image) = file::open(key) {
                return Ok(image);
            }
        }
        Err(error) => {
            report::log(&format!(
                "could not write the image of a model, so each connection makes its own: {error}"
            ));
        }
    }
    Ok(Image::open(ImageBytes::Private(lowered))?)
}

/// Writes the image of a version that this transaction has just stored. If it rolls back, the next
/// sweep removes the file.
pub fn share_new(
    registry: &Registry,
    name: &str,
    version: i32,
    lowered: AlignedBytes,
) -> Result<()> {
    let key = lookup::with_version(registry, name, version, Seen::Latest, key_of)?;
    if find(&key).is_none() {
        insert(Loaded { image: share(&key, lowered)?, key });
        file::sweep(&in_use(registry));
    }
    Ok(())
}

/// Removes the files of images that no version uses, once for each count of changes heard of: many
/// images that are made again one after another need but one sweep.
fn sweep_once(registry: &Registry) {
    let generation = invalidation::generation();
    let swept = IMAGES.with_borrow_mut(|images| std::mem::replace(&mut images.swept, generation));
    if swept != generation {
        file::sweep(&in_use(registry));
    }
}

/// The images that some version uses: committed by now, or written by this transaction.
pub fn in_use(registry: &Registry) -> HashSet<ImageKey> {
    let mut keys = HashSet::new();
    lookup::each_version(registry, |stored| keys.extend(key_of(stored).ok()));
    keys
}

fn find(key: &ImageKey) -> Option<Rc<Loaded>> {
    mark_used(|loaded| loaded.key == *key)
}

/// Marks an image as used now, so that others are let go before it.
pub fn touch(loaded: &Rc<Loaded>) {
    mark_used(|other| Rc::ptr_eq(other, loaded));
}

fn mark_used(is_it: impl Fn(&Rc<Loaded>) -> bool) -> Option<Rc<Loaded>> {
    IMAGES.with_borrow_mut(|images| {
        images.clock += 1;
        let clock = images.clock;
        let cached = images.cached.iter_mut().find(|cached| is_it(&cached.loaded))?;
        cached.last_used = clock;
        Some(Rc::clone(&cached.loaded))
    })
}

/// Keeps an image, and lets others go until all fit; one that alone is too large is kept alone.
fn insert(loaded: Loaded) -> Rc<Loaded> {
    let loaded = Rc::new(loaded);
    let bound = settings::cache_bytes();
    let dropped = IMAGES.with_borrow_mut(|images| {
        images.clock += 1;
        let last_used = images.clock;
        let mut dropped = Vec::new();
        while !images.cached.is_empty() && images.bytes() + loaded.image.bytes_len() > bound {
            dropped.extend(images.remove_oldest());
        }
        images.cached.push(Cached { loaded: Rc::clone(&loaded), last_used });
        dropped
    });
    super::resolve::forget(&dropped);
    loaded
}

/// Lets go of images whose files were removed, lest their space stay taken as long as the
/// connection lives. Looks once for each count of changes heard of.
pub fn let_go_of_removed(generation: u64) {
    let dropped = IMAGES.with_borrow_mut(|images| {
        if std::mem::replace(&mut images.looked_for_removed, generation) == generation {
            return Vec::new();
        }
        let gone = |cached: &mut Cached| {
            matches!(cached.loaded.image.storage(), ImageBytes::Mapped(_))
                && !cached.loaded.key.path().exists()
        };
        images.cached.extract_if(.., gone).map(|cached| cached.loaded).collect::<Vec<_>>()
    });
    super::resolve::forget(&dropped);
}

impl Images {
    fn bytes(&self) -> usize {
        self.cached.iter().map(|cached| cached.loaded.image.bytes_len()).sum()
    }

    fn remove_oldest(&mut self) -> Option<Rc<Loaded>> {
        let by_use = |(_, cached): &(usize, &Cached)| cached.last_used;
        let (oldest, _) = self.cached.iter().enumerate().min_by_key(by_use)?;
        Some(self.cached.swap_remove(oldest).loaded)
    }
}
