//! The engine's buffers for explanations, kept from statement to statement.
//!
//! Whoever works with an image's takes them out meanwhile, so an error, which unwinds, leaves none behind
//! that are half filled. Those of the images that were explained last stay.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::{Rc, Weak};

use gbdt::ContributionScratch;

use super::CachedImage;
use crate::error::Result;

/// Each call looks through them all.
const MAX_KEPT: usize = 16;

struct Kept {
    image: Weak<CachedImage>,
    scratch: ContributionScratch,
}

thread_local! {
    // The one used last is last. Never dropped, as the images are not.
    static KEPT: RefCell<ManuallyDrop<Vec<Kept>>> = RefCell::default();
}

/// Works with the image's buffers, which are kept afterwards.
///
/// # Errors
/// The closure's; and the engine's if the model cannot be explained.
pub fn with_scratch<T>(
    image: &Rc<CachedImage>,
    work: impl FnOnce(&mut ContributionScratch) -> gbdt::Result<T>,
) -> Result<T> {
    let mut kept = match taken(image) {
        Some(kept) => kept,
        None => {
            let scratch = ContributionScratch::new(image.model())?;
            Kept { image: Rc::downgrade(image), scratch }
        }
    };
    let result = work(&mut kept.scratch)?;
    put_back(kept);
    Ok(result)
}

fn taken(image: &Rc<CachedImage>) -> Option<Kept> {
    KEPT.with_borrow_mut(|kept| {
        let is_of_image = |one: &Kept| std::ptr::eq(one.image.as_ptr(), Rc::as_ptr(image));
        let found = kept.iter().rposition(is_of_image)?;
        Some(kept.remove(found))
    })
}

fn put_back(used: Kept) {
    KEPT.with_borrow_mut(|kept| {
        kept.retain(|one| one.image.strong_count() > 0);
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push(used);
    });
}
