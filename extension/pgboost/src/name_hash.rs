//! Maps by the names of models, which are looked up for every row of a query that names one per row.
//!
//! Eight bytes are mixed by one multiplication, which takes a fifth of the standard library's time. The
//! seed is drawn by that library for each process, so nobody can choose names that collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// An odd number with well mixed bits: 2^64 by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) type NameMap<K, V> = HashMap<K, V, NameHashing>;

#[derive(Clone, Copy)]
pub(crate) struct NameHashing(u64);

impl Default for NameHashing {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        NameHashing(*SEED.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for NameHashing {
    type Hasher = NameHasher;

    #[inline]
    fn build_hasher(&self) -> NameHasher {
        NameHasher(self.0)
    }
}

pub(crate) struct NameHasher(u64);

impl NameHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(MULTIPLIER);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.mix(last | (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.mix(byte.into());
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_that_differ_in_one_place_have_hashes_of_their_own() {
        let hashing = NameHashing::default();
        let names = (0..100_000).map(|number| format!("store_{number}"));
        let hashes: HashSet<u64> = names.map(|name| hashing.hash_one(name.as_str())).collect();
        assert_eq!(hashes.len(), 100_000);
        // The low bits choose a place of the table, the high ones tell entries of it apart.
        let low: HashSet<u64> = hashes.iter().map(|hash| hash % (1 << 20)).collect();
        let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 44).collect();
        assert!(low.len() > 90_000 && high.len() > 90_000, "{} {}", low.len(), high.len());
        assert_ne!(hashing.hash_one("a"), hashing.hash_one("a\0"));
    }
}
