//! Probabilities of rows of one part, and their classes, in 32 bits a row, and sorted by their digits.
//!
//! Most evaluations need no more: a million rows take 4 MB, and are in order in the time that their
//! comparisons would take in a tenth of them. What does not fit goes to a sorter, see [`super::curve`].

/// Most bits of the digits that one pass sorts by; three of them hold a score. More places at once than the
/// processor's first cache has lines take longer than another pass.
const MAX_DIGIT_BITS: u32 = 10;
const DIGITS: usize = 1 << MAX_DIGIT_BITS;
const MAX_PASSES: usize = 3;

/// The greatest probability, whose bits are those of no greater number.
const ONE: u32 = 1.0f32.to_bits();

pub(crate) struct Scores {
    /// How far a score is from 1 in the order of numbers, and its class in the last bit.
    rows: Vec<u32>,
    room: usize,
}

impl Scores {
    /// No rows, with so many bytes to hold them in, and as many again to sort them.
    pub(crate) fn new(bytes: usize) -> Scores {
        Scores { rows: Vec::new(), room: bytes / size_of::<u32>() }
    }

    /// Takes a row in, unless there is no room, or its score is no probability.
    #[inline]
    pub(crate) fn add(&mut self, score: f32, positive: bool) -> bool {
        let Some(distance) = ONE.checked_sub(score.to_bits()) else { return false };
        if self.rows.len() >= self.room {
            return false;
        }
        self.rows.push(distance << 1 | u32::from(positive));
        true
    }

    /// The rows in the order in which they came: score, and whether it is of the class.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = (f32, bool)> {
        self.rows.into_iter().map(|row| (f32::from_bits(ONE - (row >> 1)), row & 1 == 1))
    }

    /// The rows, best first, as numbers that are equal but for the last bit where the scores are.
    pub(crate) fn sorted(self, check_interrupts: impl Fn()) -> Vec<u32> {
        let least = self.rows.iter().min().map_or(0, |row| row >> 1);
        let span = self.rows.iter().max().map_or(0, |row| row >> 1) - least;
        let bits = u32::BITS - span.leading_zeros();
        let passes = bits.div_ceil(MAX_DIGIT_BITS);
        let digit_bits = bits.div_ceil(passes.max(1));
        let digit = |row: u32, pass: usize| {
            (((row >> 1) - least) >> (digit_bits * pass as u32)) as usize & ((1 << digit_bits) - 1)
        };
        let mut counts = [[0u32; DIGITS]; MAX_PASSES];
        let mut rows = self.rows;
        for row in &rows {
            for (pass, counts) in counts.iter_mut().enumerate() {
                counts[digit(*row, pass) % DIGITS] += 1;
            }
        }
        let mut sorted = vec![0; rows.len()];
        for (pass, places) in counts.iter_mut().take(passes as usize).enumerate() {
            check_interrupts();
            let mut next = 0;
            for place in places.iter_mut() {
                next += std::mem::replace(place, next);
            }
            for row in &rows {
                let place = &mut places[digit(*row, pass) % DIGITS];
                if let Some(sorted) = sorted.get_mut(*place as usize) {
                    *sorted = *row;
                }
                *place += 1;
            }
            std::mem::swap(&mut rows, &mut sorted);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::Scores;

    #[test]
    fn the_best_come_first_and_other_numbers_are_refused() {
        let mut scores = Scores::new(1000);
        let given = [0.25, 1.0, 0.0, 0.75, 0.25, 1e-40, 0.999_999_94];
        for (number, score) in given.into_iter().enumerate() {
            assert!(scores.add(score, number % 2 == 0), "{score}");
        }
        for score in [-0.0, -0.5, 1.000_000_1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!scores.add(score, true), "{score}");
        }
        let rows = Scores { rows: scores.rows.clone(), room: 0 }.into_rows();
        assert!(rows.eq(given.into_iter().enumerate().map(|(at, score)| (score, at % 2 == 0))));
        let sorted = Scores { rows: scores.sorted(|| ()), room: 0 }.into_rows().map(|row| row.0);
        assert!(sorted.eq([1.0, 0.999_999_94, 0.75, 0.25, 0.25, 1e-40, 0.0]));
        assert!(!Scores::new(0).add(0.5, true));
    }
}
