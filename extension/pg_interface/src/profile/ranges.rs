//! The numbers that each feature had in training: from the least to the greatest of its profile.

/// The ranges of all features, in the model's order.
pub struct Ranges {
    least: Box<[f32]>,
    greatest: Box<[f32]>,
}

impl Ranges {
    /// Of features whose least and greatest number are these; nothing of one without a profile of numbers,
    /// which is never outside. Nothing if that goes for all.
    pub fn of(ranges: impl IntoIterator<Item = Option<(f64, f64)>>) -> Option<Ranges> {
        let mut known = false;
        let (least, greatest): (Vec<f32>, Vec<f32>) = ranges
            .into_iter()
            .inspect(|range| known |= range.is_some())
            .map(|range| range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY)))
            .map(|(least, greatest)| (least as f32, greatest as f32))
            .unzip();
        let ranges = Ranges { least: least.into(), greatest: greatest.into() };
        known.then_some(ranges)
    }

    /// Whether any feature of a row is outside. A missing one is not.
    #[inline]
    pub fn exclude(&self, features: &[f32]) -> bool {
        // Without a jump per feature: several are compared at once.
        features.iter().zip(&self.least).zip(&self.greatest).fold(
            false,
            |outside, ((feature, least), greatest)| {
                outside | (feature < least) | (feature > greatest)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

    use super::Ranges;

    #[test]
    fn a_number_beyond_either_end_is_outside() {
        let ranges = Ranges::of([Some((-1.0, 2.5)), None, Some((7.0, 7.0))]).unwrap();
        for inside in [[-1.0, 1e30, 7.0], [2.5, f32::NEG_INFINITY, f32::NAN]] {
            assert!(!ranges.exclude(&inside), "{inside:?}");
        }
        for outside in [[-1.1, 0.0, 7.0], [2.6, 0.0, 7.0], [0.0, 0.0, 6.9], [0.0, 0.0, 7.1]] {
            assert!(ranges.exclude(&outside), "{outside:?}");
        }
        assert!(Ranges::of([None, None]).is_none());
    }
}
