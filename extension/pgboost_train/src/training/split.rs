//! Which rows are trained on, and which are kept for evaluation.

use super::random::scattered;

/// Which rows are kept for evaluation: a share of them, chosen by the seed and their number, or of
/// groups by the group's number.
#[derive(Clone, Copy)]
pub struct Split {
    /// Numbers below this are kept; nothing if none are.
    below: Option<u64>,
    seed: u64,
}

impl Split {
    pub fn new(fraction: Option<f64>, seed: i32) -> Split {
        let below = fraction.map(|share| (share * u64::MAX as f64) as u64);
        Split { below, seed: u64::from(seed.cast_unsigned()) }
    }

    /// Whether any are kept.
    pub fn keeps_some(self) -> bool {
        self.below.is_some()
    }

    /// Whether the row or group of that number is kept.
    pub fn keeps(self, number: u64) -> bool {
        self.below.is_some_and(|below| scattered(self.seed, number) < below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_about_its_share_and_always_the_same() {
        let split = Split::new(Some(0.25), 7);
        let kept = (0..10_000).filter(|number| split.keeps(*number)).count();
        assert!((2_300..2_700).contains(&kept), "{kept}");
        assert_eq!((0..10_000).filter(|number| split.keeps(*number)).count(), kept);
        let other = Split::new(Some(0.25), 8);
        assert!((0..10_000).any(|number| split.keeps(number) != other.keeps(number)));
        assert!(!(0..100).any(|number| Split::new(None, 7).keeps(number)));
    }
}
