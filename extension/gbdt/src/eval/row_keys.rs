//! The keys of a row, by slot: see [`crate::forest::key`].

use crate::forest::key::{leaf_slot, monotone_key};

/// Sets the two slots of each feature. Features that are absent are missing.
#[inline(always)]
pub(super) fn set_keys(slots: &mut [u32], features: &[f32]) {
    let (pairs, _) = slots.as_chunks_mut::<2>();
    for (pair, feature) in pairs.iter_mut().zip(features) {
        let key = monotone_key(*feature);
        // All ones if it is NaN. A choice would become a branch that missing values mispredict.
        let missing = u32::from(feature.is_nan()).wrapping_neg();
        *pair = [key & !missing, key | missing];
    }
    pairs.iter_mut().skip(features.len()).for_each(|pair| *pair = [0, u32::MAX]);
}

#[derive(Clone, Debug)]
pub(crate) struct RowKeys {
    /// Two a feature, then the one that leaves read.
    keys: Vec<u32>,
}

impl RowKeys {
    pub(crate) fn new(num_features: usize) -> Self {
        RowKeys { keys: vec![u32::MAX; leaf_slot(num_features) + 1] }
    }

    /// Takes a row. Features that it lacks are missing, those that it has too many are ignored.
    #[inline]
    pub(crate) fn set(&mut self, num_features: usize, features: &[f32]) {
        let leaf_slot = leaf_slot(num_features);
        if self.keys.len() != leaf_slot + 1 {
            // Made for another image.
            *self = RowKeys::new(num_features);
        }
        let Some((slots, _)) = self.keys.split_at_mut_checked(leaf_slot) else { return };
        set_keys(slots, features);
    }

    /// The keys; as many as `leaf_slot` of the image that they were last set for, and one more.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_another_length_fills_the_slots_with_missing_values() {
        let mut keys = RowKeys::new(2);
        keys.set(2, &[1.0]);
        assert_eq!(keys.as_slice(), [monotone_key(1.0), monotone_key(1.0), 0, u32::MAX, u32::MAX]);
        keys.set(1, &[f32::NAN, 7.0]);
        assert_eq!(keys.as_slice(), [0, u32::MAX, u32::MAX]);
    }
}
