//! Which instructions evaluation uses, chosen once by what the processor has.

use std::sync::OnceLock;

/// A set of instructions that this processor has; kernels written for it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// The sets that kernels are written for. A [`Kernel`] of one can only be had where the processor
/// has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// AVX-512 F, BW, DQ, VL and VBMI, AVX2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What every processor of the architecture has.
    Portable,
}

impl Instructions {
    /// Best first.
    const ALL: &[Instructions] = &[
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512,
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2,
        #[cfg(target_arch = "aarch64")]
        Instructions::Neon,
        Instructions::Portable,
    ];

    fn present(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("popcnt")
                    && Instructions::Avx2.present()
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Instructions::Portable => true,
        }
    }
}

impl Default for Kernel {
    /// The best that this processor can run.
    fn default() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().next().unwrap_or(Kernel(Instructions::Portable)))
    }
}

impl Kernel {
    /// All that this processor can run, best first; the last is the portable one.
    pub fn available() -> impl Iterator<Item = Kernel> {
        Instructions::ALL.iter().copied().filter(|kind| kind.present()).map(Kernel)
    }

    /// The kernel of a name, if there is one and this processor can run it; `auto` is the best.
    pub fn from_name(name: &str) -> Option<Kernel> {
        if name == "auto" {
            return Some(Kernel::default());
        }
        Self::available().find(|kernel| kernel.name() == name)
    }

    /// `avx512`, `avx2`, `neon` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
            Instructions::Portable => "portable",
        }
    }

    pub(crate) fn instructions(self) -> Instructions {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        for kernel in Kernel::available() {
            assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::from_name("auto"), Kernel::available().next());
        assert_eq!(Kernel::from_name("portable"), Kernel::available().last());
        assert_eq!(Kernel::from_name("Portable"), None);
        assert_eq!(Kernel::from_name(""), None);
    }

    /// It is part of the architecture's base, so every test of available kernels there has it.
    #[test]
    #[cfg(target_arch = "aarch64")]
    fn neon_is_always_there_on_aarch64() {
        assert_eq!(Kernel::default().name(), "neon");
    }
}
