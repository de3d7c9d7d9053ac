//! The flights in memory: of several with one key the first, as in the other systems.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// How many features a flight has: all columns but the first.
pub const FEATURES: usize = 10;
/// What a flight is looked up by.
pub const KEY: [&str; 4] = ["originairportid", "year", "month", "dayofmonth"];

/// The parts of a key, in that order.
pub type Key = [u32; KEY.len()];
/// A flight's features, in the order of the columns; NaN is a missing one.
pub type Features = [f32; FEATURES];

/// The features by their keys.
pub struct Flights(HashMap<Key, Features>);

impl Flights {
    /// Reads CSV with a header.
    pub fn read(path: &str) -> io::Result<Self> {
        let damaged = || io::Error::other(format!("{path}: it is no CSV of flights"));
        let mut lines = BufReader::new(File::open(path)?).lines();
        let header = lines.next().ok_or_else(damaged)??;
        let columns: Vec<&str> = header.split(',').skip(1).collect();
        let place = |name: &&str| columns.iter().position(|column| column == name);
        let places: Option<Vec<usize>> = KEY.iter().map(place).collect();
        let places = places.ok_or_else(damaged)?;
        let mut found = HashMap::new();
        for line in lines {
            let line = line?;
            let mut features = [f32::NAN; FEATURES];
            let mut fields = line.split(',').skip(1);
            for feature in &mut features {
                let field = fields.next().ok_or_else(damaged)?;
                if !field.is_empty() {
                    *feature = field.parse().map_err(|_| damaged())?;
                }
            }
            // Whole numbers far below 2^24.
            let mut key = [0; KEY.len()];
            for (part, place) in key.iter_mut().zip(&places) {
                *part = features[*place] as u32;
            }
            if let Entry::Vacant(place) = found.entry(key) {
                place.insert(features);
            }
        }
        Ok(Flights(found))
    }

    /// The flight of a key.
    pub fn find(&self, key: &Key) -> Option<&Features> {
        self.0.get(key)
    }
}
