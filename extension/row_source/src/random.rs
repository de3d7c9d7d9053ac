//! SplitMix64, a pseudorandom sequence for each seed, by which rows are drawn and shuffled.

/// A pseudorandom sequence.
#[derive(Clone)]
pub struct Random {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Creates the sequence of a seed and a stream number.
    pub fn of(seed: u64, number: u64) -> Random {
        Random { state: scattered(seed, number) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        finished(self.state)
    }

    /// Draws a number below a bound; 0 for the bound 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of the product is as uniform as 64 bits allow.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a number from 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Hashes a seed and a number.
pub fn scattered(seed: u64, number: u64) -> u64 {
    let mixed = (seed << 32).wrapping_add(number).wrapping_add(1);
    finished(mixed.wrapping_mul(STEP))
}

fn finished(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Values that are shuffled between two calls of `pause`.
const BETWEEN_PAUSES: usize = 1 << 16;

/// Shuffles values: each order has the same probability.
pub fn shuffle<T>(values: &mut [T], random: &mut Random, pause: impl Fn()) {
    for last in (1..values.len()).rev() {
        if last.is_multiple_of(BETWEEN_PAUSES) {
            pause();
        }
        values.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_even_and_repeatable() {
        let draw = |seed| {
            let mut random = Random::of(seed, 3);
            (0..10_000).map(|_| random.below(5)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for wanted in 0..5 {
            let count = draw(1).iter().filter(|drawn| **drawn == wanted).count();
            assert!((1_800..2_200).contains(&count), "{count}");
        }
        let mut random = Random::of(7, 0);
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn every_order_is_drawn_as_often() {
        let mut counts = std::collections::BTreeMap::new();
        let mut random = Random::of(1, 0);
        for _ in 0..6_000 {
            let mut values = [1, 2, 3];
            shuffle(&mut values, &mut random, || ());
            *counts.entry(values).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_long_shuffle_can_be_interrupted() {
        let pauses = std::cell::Cell::new(0);
        shuffle(&mut [0; 1 << 18], &mut Random::of(1, 0), || pauses.set(pauses.get() + 1));
        assert_eq!(pauses.get(), 3);
    }
}
