//! Where the values of some keys are in jsonb objects that mostly have the same keys.
//!
//! An object is stored as one word per key, one per value, the texts of the keys and then the values; the
//! format is that of the files on disk (src/include/utils/jsonb.h). Rows of one source have the same keys,
//! so the first object's are kept: where the next one's are equal to the byte, which two comparisons tell,
//! its values are at the same places, and none is looked for.

use pgrx::pg_sys::{JENTRY_HAS_OFF, JENTRY_OFFLENMASK};

use super::jsonb::{Item, Object};

#[derive(Default)]
pub struct KeyPlaces {
    /// The words of the object's keys, and their texts.
    entries: Vec<u32>,
    texts: Vec<u8>,
    /// For each key wanted its place among them, if it is there.
    places: Vec<Option<usize>>,
    /// Where each value of the last object begins, and where the last one ends.
    offsets: Vec<u32>,
}

/// The values of an object's keys.
pub struct Values<'p, 'a> {
    keys: &'p KeyPlaces,
    object: &'p Object<'a>,
}

impl KeyPlaces {
    /// Finds the values of these keys, always the same ones.
    #[inline]
    pub fn find<'p, 'a>(&'p mut self, object: &'p Object<'a>, keys: &[Box<str>]) -> Values<'p, 'a> {
        if self.places.is_empty() || !self.fit(object) {
            self.look_for(object, keys);
        }
        let mut end = self.texts.len() as u32;
        self.offsets.clear();
        self.offsets.push(end);
        for entry in object.value_entries() {
            end = end_of(*entry, end);
            self.offsets.push(end);
        }
        Values { keys: self, object }
    }

    fn fit(&self, object: &Object<'_>) -> bool {
        // SAFETY: keys with the same words take as many bytes.
        object.key_entries() == self.entries
            && unsafe { object.data(0, self.texts.len()) } == self.texts
    }

    #[cold]
    fn look_for(&mut self, object: &Object<'_>, keys: &[Box<str>]) {
        let mut starts = Vec::new();
        let mut end = 0;
        for entry in object.key_entries() {
            let start = end;
            end = end_of(*entry, start);
            starts.push((start as usize, end as usize));
        }
        let place = |key: &str| {
            let is_key = |(start, end): &(usize, usize)| {
                // SAFETY: the words say so.
                let text = unsafe { object.data(*start, end.saturating_sub(*start)) };
                text == key.as_bytes()
            };
            starts.iter().position(is_key)
        };
        self.places = keys.iter().map(|key| place(key)).collect();
        self.entries = object.key_entries().to_vec();
        // SAFETY: as above.
        self.texts = unsafe { object.data(0, end as usize) }.to_vec();
    }
}

impl<'a> Values<'_, 'a> {
    /// The value of a key by its number among those wanted, nothing if the object has no such key.
    #[inline]
    pub fn get(&self, key: usize) -> Option<Item<'a>> {
        let KeyPlaces { places, offsets, .. } = self.keys;
        let place = (*places.get(key)?)?;
        let entry = *self.object.value_entries().get(place)?;
        let (start, end) = (*offsets.get(place)?, *offsets.get(place + 1)?);
        // SAFETY: the words say so.
        unsafe { self.object.item(entry, start, end) }
    }
}

/// Where an entry's bytes end, of which those before end there.
#[inline]
fn end_of(entry: u32, before: u32) -> u32 {
    let number = entry & JENTRY_OFFLENMASK;
    if entry & JENTRY_HAS_OFF != 0 { number } else { before + number }
}
