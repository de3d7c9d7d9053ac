//! Every setting, with its default and bounds.
//!
//! Settings that raise memory are for superusers; settings that change results affect the session that sets
//! them. Sizes are in kilobytes, so that PostgreSQL's `SET` accepts units.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use gbtrees::internals::Kernel;
use pg_interface::session;
use pgrx::guc::GucEnum;
use pgrx::pg_sys::config_enum_entry;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum, pg_guard, pg_sys};

use crate::error::Error;

const DEFAULT_CACHE_KB: i32 = 256 << 10;
const DEFAULT_MAX_MODEL_KB: i32 = 256 << 10;

/// The handling of a category that the model was not trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub(crate) enum UnknownCategory {
    #[name = c"error"]
    Error,
    /// Predict as if the value were missing.
    #[name = c"missing"]
    Missing,
}

/// The place that decides the handling of an unknown category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownRule {
    /// `pgboost.unknown_category`, for a model without a policy.
    Setting,
    /// The model's policy, which its owner has set.
    Policy(UnknownCategory),
    /// `predict_pinned`, where it is an error for ever.
    Pinned,
}

impl UnknownRule {
    #[inline]
    pub(crate) fn handling(self) -> UnknownCategory {
        match self {
            UnknownRule::Setting => UNKNOWN_CATEGORY.get(),
            UnknownRule::Policy(handling) => handling,
            UnknownRule::Pinned => UnknownCategory::Error,
        }
    }
}

/// A value of `pgboost.kernel`: 0 is `auto`, `n` is `Kernel::NAMES[n - 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelChoice(i32);

impl KernelChoice {
    const AUTO: KernelChoice = KernelChoice(0);

    /// The values for PostgreSQL. The name of the last entry is null.
    const ENTRIES: &'static [config_enum_entry] = &{
        const COUNT: usize = Kernel::NAMES.len();
        let end = config_enum_entry { name: std::ptr::null(), val: 0, hidden: false };
        let mut entries = [end; COUNT + 2];
        entries[0].name = c"auto".as_ptr();
        let mut position = 0;
        while position < COUNT {
            entries[position + 1].name = Kernel::NAMES[position].as_ptr();
            entries[position + 1].val = position as i32 + 1;
            position += 1;
        }
        entries
    };

    fn name(self) -> &'static str {
        let position = usize::try_from(self.0 - 1).ok();
        let name = position.and_then(|position| Kernel::NAMES.get(position));
        name.map_or("auto", |name| name.to_str().unwrap_or_default())
    }
}

// SAFETY: the entries live for ever, and their values are those that the conversions know.
unsafe impl GucEnum for KernelChoice {
    fn from_ordinal(ordinal: i32) -> Self {
        KernelChoice(ordinal)
    }

    fn to_ordinal(&self) -> i32 {
        self.0
    }

    const CONFIG_ENUM_ENTRY: *const config_enum_entry = Self::ENTRIES.as_ptr();
}

static BATCH: GucSetting<bool> = GucSetting::<bool>::new(true);
static CACHE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_CACHE_KB);
static KERNEL: GucSetting<KernelChoice> = GucSetting::<KernelChoice>::new(KernelChoice::AUTO);
/// The value of the setting above. Every prediction reads it, and it costs less than a `GucSetting`.
static CHOSEN_KERNEL: AtomicI32 = AtomicI32::new(0);
static MAX_MODEL_SIZE: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_MAX_MODEL_KB);
static TRACK: GucSetting<bool> = GucSetting::<bool>::new(false);
static UNKNOWN_CATEGORY: GucSetting<UnknownCategory> =
    GucSetting::<UnknownCategory>::new(UnknownCategory::Error);

/// The flags of PostgreSQL's own settings for developers.
const DEVELOPER: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_NOT_IN_SAMPLE.cast_signed());

/// Returns whether queries may predict in batches.
pub(crate) fn batch() -> bool {
    BATCH.get()
}

pub(crate) fn cache_bytes() -> usize {
    kilobytes(CACHE_SIZE.get())
}

/// Returns the chosen kernel. State for another kernel is made again.
#[inline]
pub(crate) fn kernel_choice() -> KernelChoice {
    KernelChoice::from_ordinal(CHOSEN_KERNEL.load(Relaxed))
}

pub(crate) fn kernel() -> Kernel {
    Kernel::from_name(kernel_choice().name()).unwrap_or_default()
}

pub(crate) fn max_model_bytes() -> usize {
    kilobytes(MAX_MODEL_SIZE.get())
}

/// Returns whether predictions are counted.
#[inline]
pub(crate) fn track() -> bool {
    TRACK.get()
}

fn kilobytes(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0) << 10
}

pub(crate) fn define() {
    GucRegistry::define_bool_guc(
        c"pgboost.enable_batch",
        c"Enables the planner's use of batches of predictions.",
        c"Without batches each row is predicted by a call of the function; the results are the same.",
        &BATCH,
        GucContext::Userset,
        GucFlags::EXPLAIN | DEVELOPER,
    );
    GucRegistry::define_int_guc(
        c"pgboost.cache_size",
        c"Sets the maximum memory for the models that a session keeps open.",
        c"A model that other sessions share counts in full. The least recently used models are closed first.",
        &CACHE_SIZE,
        1 << 10,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    define_kernel();
    GucRegistry::define_int_guc(
        c"pgboost.max_model_size",
        c"Sets the maximum size of a model file.",
        c"",
        &MAX_MODEL_SIZE,
        1,
        (1 << 20) - 1,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_bool_guc(
        c"pgboost.track_predictions",
        c"Collects statistics of predictions for the view pg_stat_pgboost.",
        c"",
        &TRACK,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"pgboost.unknown_category",
        c"Sets the treatment of a category that the model was not trained on.",
        c"Value \"error\" raises an error; with \"missing\" the value counts as null. The policy of a model comes first.",
        &UNKNOWN_CATEGORY,
        GucContext::Userset,
        GucFlags::default(),
    );
    session::reserve_prefix(c"pgboost");
}

/// Defines the setting that chooses the kernel. Its check hook refuses a kernel that the processor
/// cannot run. PostgreSQL raises an error for SET, and a warning for a value from a configuration file, a role
/// or a database, so that no connection fails. The assign hook receives every value, also those that a rollback
/// restores.
fn define_kernel() {
    // SAFETY: the hooks are functions of this library, which is never unloaded; the one that could
    // raise an error is guarded.
    unsafe {
        GucRegistry::define_enum_guc_with_hooks(
            c"pgboost.kernel",
            c"Selects the instructions that predictions are computed with.",
            c"The results are the same with each. Value \"auto\" selects the fastest that the processor can run.",
            &KERNEL,
            GucContext::Userset,
            DEVELOPER,
            Some(check),
            Some(assign),
            None,
        );
    }
}

/// # Safety
/// PostgreSQL calls it with a valid place of a value.
#[pg_guard]
unsafe extern "C-unwind" fn check(
    value: *mut i32,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes one of the values that were defined.
    let choice = KernelChoice::from_ordinal(unsafe { *value });
    if Kernel::from_name(choice.name()).is_some() {
        return true;
    }
    let present = Kernel::available().map(Kernel::name).collect();
    session::refuse_value(Error::KernelMissing { name: choice.name(), present }.report());
    false
}

/// # Safety
/// PostgreSQL calls it.
unsafe extern "C-unwind" fn assign(value: i32, _extra: *mut c_void) {
    CHOSEN_KERNEL.store(value, Relaxed);
}
