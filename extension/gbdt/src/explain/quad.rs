//! Four numbers of f32 that are computed with together, as arrays or by the instructions that every x86-64 has.

#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(target_arch = "x86_64")]
pub(super) use x86::Quad;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::Quad;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(in crate::explain) struct Quad(__m128);

    // SAFETY of all functions: SSE2 is part of the architecture.
    impl Quad {
        pub(in crate::explain) const ZERO: Quad =
            // SAFETY: both are sixteen bytes, of which any are right.
            unsafe { std::mem::transmute::<[f32; 4], Quad>([0.0; 4]) };

        #[inline(always)]
        pub(in crate::explain) fn of([a, b, c, d]: [f32; 4]) -> Quad {
            // SAFETY: SSE2 is part of the architecture.
            Quad(unsafe { _mm_setr_ps(a, b, c, d) })
        }

        #[inline(always)]
        pub(in crate::explain) fn splat(number: f32) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_set1_ps(number) })
        }

        #[inline(always)]
        pub(in crate::explain) fn plus(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_add_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn minus(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_sub_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn times(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_mul_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn over(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_div_ps(self.0, other.0) })
        }

        /// The sum of all, in the order of a walk's.
        #[inline(always)]
        pub(in crate::explain) fn total<const QUADS: usize>(quads: [Quad; QUADS]) -> f32 {
            let four = quads.into_iter().reduce(Quad::plus).unwrap_or(Quad::ZERO).0;
            // SAFETY: as above.
            unsafe {
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    #[derive(Clone, Copy)]
    pub(in crate::explain) struct Quad([f32; 4]);

    impl Quad {
        pub(in crate::explain) const ZERO: Quad = Quad([0.0; 4]);

        pub(in crate::explain) fn of(numbers: [f32; 4]) -> Quad {
            Quad(numbers)
        }

        #[inline(always)]
        pub(in crate::explain) fn splat(number: f32) -> Quad {
            Quad([number; 4])
        }

        #[inline(always)]
        fn each(self, other: Quad, of: impl Fn(f32, f32) -> f32) -> Quad {
            Quad(std::array::from_fn(|lane| of(self.0[lane], other.0[lane])))
        }

        #[inline(always)]
        pub(in crate::explain) fn plus(self, other: Quad) -> Quad {
            self.each(other, |a, b| a + b)
        }

        #[inline(always)]
        pub(in crate::explain) fn minus(self, other: Quad) -> Quad {
            self.each(other, |a, b| a - b)
        }

        #[inline(always)]
        pub(in crate::explain) fn times(self, other: Quad) -> Quad {
            self.each(other, |a, b| a * b)
        }

        #[inline(always)]
        pub(in crate::explain) fn over(self, other: Quad) -> Quad {
            self.each(other, |a, b| a / b)
        }

        /// The sum of all, in the order of a walk's.
        #[inline(always)]
        pub(in crate::explain) fn total<const QUADS: usize>(quads: [Quad; QUADS]) -> f32 {
            let [a, b, c, d] = quads.into_iter().reduce(Quad::plus).unwrap_or(Quad::ZERO).0;
            (a + c) + (b + d)
        }
    }
}
