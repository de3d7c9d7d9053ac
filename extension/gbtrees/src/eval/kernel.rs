//! Kernels, chosen once by the processor's instructions.
//!
//! `KERNELS` is the table of all. A new kernel is one row of it, one file, and a name in
//! [`Kernel::NAMES`].

#[cfg(target_arch = "x86_64")]
use crate::eval::block::avx2;
#[cfg(target_arch = "x86_64")]
use crate::eval::block::avx512;
#[cfg(target_arch = "x86_64")]
use crate::eval::block::avx512bw;
#[cfg(target_arch = "aarch64")]
use crate::eval::block::neon;
use std::ffi::CStr;
use std::sync::OnceLock;

use crate::compiled::sections::Sections;
use crate::eval::block::{BlockKernel, portable};
#[cfg(target_arch = "x86_64")]
use crate::eval::row_avx512;
use crate::eval::sum::Sum;

/// A kernel that this processor can run.
#[derive(Clone, Copy)]
pub struct Kernel(&'static Entry);

/// Adds the leaves of all trees to one row's sums, if that is faster than interleaved traversal;
/// returns whether it did. Requires a processor with the instructions, all features of the compiled
/// model and a sum per output.
pub(super) type RowKernel<S> = unsafe fn(Sections<'_>, features: &[f32], sums: &mut [S]) -> bool;

struct Entry {
    name: &'static str,
    present: fn() -> bool,
    block: &'static BlockKernel,
    row: Option<RowKernel<f32>>,
    row_double: Option<RowKernel<f64>>,
    explanations: Vectors,
}

/// The vector instructions of a kernel's explanations.
#[derive(Clone, Copy)]
pub(crate) enum Vectors {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($feature:tt),*) => { || $(is_x86_feature_detected!($feature))&&* };
}

/// The kernels of this architecture, best first.
static KERNELS: &[Entry] = &[
    #[cfg(target_arch = "x86_64")]
    Entry {
        name: "avx512",
        present: has!(
            "avx512f",
            "avx512bw",
            "avx512dq",
            "avx512vl",
            "avx512vbmi",
            "avx2",
            "popcnt"
        ),
        block: &avx512::KERNEL,
        row: Some(row_avx512::add::<f32>),
        row_double: Some(row_avx512::add::<f64>),
        explanations: Vectors::Avx512,
    },
    #[cfg(target_arch = "x86_64")]
    Entry {
        name: "avx512bw",
        present: has!("avx512f", "avx512bw", "avx512dq", "avx512vl"),
        block: &avx512bw::KERNEL,
        explanations: Vectors::Avx512,
        ..PORTABLE
    },
    #[cfg(target_arch = "x86_64")]
    Entry {
        name: "avx2",
        present: has!("avx2"),
        block: &avx2::KERNEL,
        explanations: Vectors::Avx2,
        ..PORTABLE
    },
    // Every aarch64 has NEON.
    #[cfg(target_arch = "aarch64")]
    Entry { name: "neon", present: || true, block: &neon::KERNEL, ..PORTABLE },
    PORTABLE,
];

const PORTABLE: Entry = Entry {
    name: "portable",
    present: || true,
    block: &portable::KERNEL,
    row: None,
    row_double: None,
    explanations: Vectors::Portable,
};

impl Default for Kernel {
    /// Returns the best kernel of this processor.
    fn default() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        // The portable kernel has no requirements.
        *BEST.get_or_init(|| Self::available().next().unwrap_or(Kernel(const { &PORTABLE })))
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Kernel {}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Kernel {
    /// Names of all kernels, including other architectures', as a C library's settings take them.
    pub const NAMES: [&CStr; 5] = [c"avx512", c"avx512bw", c"avx2", c"neon", c"portable"];

    /// Returns all kernels that this processor can run, best first; the last is the portable one.
    pub fn available() -> impl Iterator<Item = Kernel> {
        KERNELS.iter().filter(|kernel| (kernel.present)()).map(Kernel)
    }

    /// Returns the kernel of a name, if this processor can run it; `auto` is the best.
    pub fn from_name(name: &str) -> Option<Kernel> {
        if name == "auto" {
            return Some(Kernel::default());
        }
        Self::available().find(|kernel| kernel.name() == name)
    }

    /// Returns the name, one of [`Kernel::NAMES`].
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the instructions for explanations, which the processor has.
    pub(crate) fn explanations(self) -> Vectors {
        self.0.explanations
    }

    pub(super) fn block(self) -> &'static BlockKernel {
        self.0.block
    }
}

/// Sums of a width with a kernel for single rows.
pub(super) trait RowSum: Sum {
    fn row_kernel(kernel: Kernel) -> Option<RowKernel<Self>>;
}

impl RowSum for f32 {
    #[inline(always)]
    fn row_kernel(kernel: Kernel) -> Option<RowKernel<Self>> {
        kernel.0.row
    }
}

impl RowSum for f64 {
    #[inline(always)]
    fn row_kernel(kernel: Kernel) -> Option<RowKernel<Self>> {
        kernel.0.row_double
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        for kernel in Kernel::available() {
            assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
            assert_eq!(Kernel::available().filter(|one| *one == kernel).count(), 1);
            assert!(Kernel::NAMES.iter().any(|name| name.to_str() == Ok(kernel.name())));
        }
        assert_eq!(Kernel::from_name("auto"), Kernel::available().next());
        assert_eq!(Kernel::from_name("portable"), Kernel::available().last());
        assert_eq!(Kernel::from_name("Portable"), None);
        assert_eq!(Kernel::from_name(""), None);
    }

    /// NEON is part of the architecture's base, so every test of available kernels runs it there.
    #[test]
    #[cfg(target_arch = "aarch64")]
    fn neon_is_always_there_on_aarch64() {
        assert_eq!(Kernel::default().name(), "neon");
    }
}
