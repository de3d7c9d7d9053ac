//! The codes of a block's rows in one feature: a mask of rows for each, so that a set is asked code by code.
//!
//! Many sets of a model are of the same features, and a block's rows have few codes; a set's mask is the union
//! of the masks of its codes.

use super::kernel::{BLOCK, Mask, WORDS};
use crate::eval::code_of;

/// Places to look for a code, more than rows.
const PLACES: usize = 2 * BLOCK;

pub(super) struct Codes {
    codes: Vec<u32>,
    /// The rows that have each.
    masks: Vec<Mask>,
    missing: Mask,
}

impl Codes {
    /// Those of a feature's values; what is no code is in no set.
    pub(super) fn of(values: impl Iterator<Item = f32>) -> Self {
        let (mut codes, mut masks, mut missing) = (Vec::new(), Vec::new(), Mask([0; WORDS]));
        // One more than the number of the code there.
        let mut places = [0u16; PLACES];
        for (row, value) in values.take(BLOCK).enumerate() {
            let (word, bit) = (row / 64, 1 << (row % 64));
            if value.is_nan() {
                missing.0[word] |= bit;
                continue;
            }
            let Some(code) = code_of(value) else { continue };
            let mut place = code.wrapping_mul(0x9e37_79b1) as usize >> 16;
            let number = loop {
                place %= PLACES;
                match places[place] {
                    0 => {
                        codes.push(code);
                        masks.push(Mask([0; WORDS]));
                        places[place] = codes.len() as u16;
                        break codes.len() - 1;
                    }
                    known if codes[usize::from(known) - 1] == code => break usize::from(known) - 1,
                    _ => place += 1,
                }
            };
            masks[number].0[word] |= bit;
        }
        Codes { codes, masks, missing }
    }

    /// The rows whose code is not in a set.
    pub(super) fn not_in(&self, words: &[u32], with_missing: bool) -> Mask {
        let mut found = if with_missing { Mask([0; WORDS]) } else { self.missing };
        // Those in the set first, without a guess for each; there are no more codes than rows.
        let (mut members, mut count) = ([0u16; BLOCK], 0);
        for (number, code) in (0..).zip(&self.codes) {
            members[count % BLOCK] = number;
            // Codes beyond its last word are not in a set.
            let word = words.get((code / 32) as usize).copied().unwrap_or(0);
            count += (word >> (code % 32) & 1) as usize;
        }
        for number in members.iter().take(count) {
            let mask = &self.masks[usize::from(*number)];
            for word in 0..WORDS {
                found.0[word] |= mask.0[word];
            }
        }
        found.0 = found.0.map(|word| !word);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::is_in_set;

    /// Codes that share places, one of which is beyond the set's words, and what is no code.
    #[test]
    fn a_set_is_asked_as_row_by_row() {
        let words: Vec<u32> = (0..40).map(|word| 0x9e37_79b1u32.rotate_left(word)).collect();
        let of_row = |row: usize| match row % 7 {
            0 => f32::NAN,
            1 => -0.5,
            2 => 3e9,
            3 => row as f32 + 0.75,
            4 => 16_777_215.0 - row as f32,
            _ => (row % 40) as f32,
        };
        let codes = Codes::of((0..BLOCK).map(of_row));
        for with_missing in [true, false] {
            let mask = codes.not_in(&words, with_missing);
            for row in 0..BLOCK {
                let value = of_row(row);
                let expected =
                    if value.is_nan() { with_missing } else { !is_in_set(&words, value) };
                assert_eq!(mask.0[row / 64] >> (row % 64) & 1 == 1, expected, "{value}");
            }
        }
    }
}
