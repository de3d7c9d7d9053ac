//! The engine's buffers for explanations, and its tables of contributions, kept from statement to statement.
//!
//! Whoever works with an image's takes them out meanwhile, so an error, which unwinds, leaves none behind
//! that are half filled. Those that were used last stay, within `pgboost.explain_memory` for all tables
//! together. Each kind of contributions has its own, as tables of two kinds would share the room, and what
//! the second one gets, and so a result's last digits, would depend on which came first.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::{Rc, Weak};

use gbdt::{ContributionKind, ContributionScratch};

use super::CachedImage;
use crate::error::Result;
use crate::guc::{self, KernelChoice};

/// The largest image whose interactions have tables. These take four times as much as those of
/// contributions, and as long as a thousand rows take along their paths; whoever asks for one row waits for
/// them, here for less than a tenth of a second.
const MAX_IMAGE_FOR_PAIRS: usize = 128 << 10;

/// Each call looks through them all.
const MAX_KEPT: usize = 16;

struct Kept {
    image: Weak<CachedImage>,
    /// Nothing for interactions.
    kind: Option<ContributionKind>,
    /// The settings when it was made.
    kernel: KernelChoice,
    table_bytes: usize,
    scratch: ContributionScratch,
}

thread_local! {
    // The one used last is last. Never dropped, as the images are not.
    static KEPT: RefCell<ManuallyDrop<Vec<Kept>>> = RefCell::default();
}

/// Works with the image's buffers for that kind of contributions, or for interactions, which are kept
/// afterwards. The closure is told whether they are new, and so have no tables yet.
///
/// # Errors
/// The closure's; and the engine's if the model cannot be explained.
pub fn with_scratch<T>(
    image: &Rc<CachedImage>,
    kind: Option<ContributionKind>,
    work: impl FnOnce(&mut ContributionScratch, bool) -> gbdt::Result<T>,
) -> Result<T> {
    let found = taken(image, kind);
    let is_new = found.is_none();
    let mut kept = match found {
        Some(kept) => kept,
        None => Kept::new(image, kind)?,
    };
    let result = work(&mut kept.scratch, is_new)?;
    put_back(kept);
    Ok(result)
}

impl Kept {
    fn new(image: &Rc<CachedImage>, kind: Option<ContributionKind>) -> Result<Kept> {
        let table_bytes = guc::explain_bytes();
        let has_tables = kind.is_some() || image.model().bytes_len() <= MAX_IMAGE_FOR_PAIRS;
        let most = if has_tables { table_bytes } else { 0 };
        Ok(Kept {
            image: Rc::downgrade(image),
            kind,
            kernel: guc::kernel_choice(),
            table_bytes,
            scratch: ContributionScratch::with_tables(image.model(), guc::kernel(), most)?,
        })
    }
}

/// The buffers, if they were made under the settings of now.
fn taken(image: &Rc<CachedImage>, kind: Option<ContributionKind>) -> Option<Kept> {
    KEPT.with_borrow_mut(|kept| {
        let wanted =
            |one: &Kept| std::ptr::eq(one.image.as_ptr(), Rc::as_ptr(image)) && one.kind == kind;
        let found = kept.iter().rposition(wanted)?;
        let found = kept.remove(found);
        let settings = (guc::kernel_choice(), guc::explain_bytes());
        ((found.kernel, found.table_bytes) == settings).then_some(found)
    })
}

fn put_back(used: Kept) {
    KEPT.with_borrow_mut(|kept| {
        kept.retain(|one| one.image.strong_count() > 0);
        kept.push(used);
        let bytes = |one: &Kept| one.scratch.table_bytes();
        let mut all: usize = kept.iter().map(bytes).sum();
        // Even the last one, if its matrices of interactions are larger than that.
        while kept.len() > MAX_KEPT || all > guc::explain_bytes() {
            all -= bytes(&kept.remove(0));
        }
    });
}
