//! The flights in memory or in Redis; of several with one key the first is used, as in the other systems.
//!
//! In Redis a row is the 32-bit floats of its features, little-endian, at the key's JSON text. All threads share
//! one connection, which is reopened when lost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use crate::model::{FEATURES, Failure, Refused};

/// The columns of a key.
pub const KEY: [&str; 4] = ["originairportid", "year", "month", "dayofmonth"];

/// The number of retries to connect before a request fails.
const RETRIES: usize = 1;
/// The timeout of Redis, as long as the load generators'.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The parts of a key, in that order.
pub type Key = [u32; KEY.len()];
/// A flight's features, in the order of the columns; NaN is a missing one.
pub type Features = [f32; FEATURES];

/// The store of features.
pub enum Flights {
    Memory(HashMap<Key, Features>),
    Redis(ConnectionManager),
}

impl Flights {
    /// Connects to Redis if the place is a URL, else reads a CSV file of that name with a header.
    pub async fn open(place: &str) -> Result<Self, Failure> {
        if !place.starts_with("redis://") {
            return Ok(Self::Memory(read(&format!("{place}.csv"))?));
        }
        Ok(Self::Redis(connect(place).await?))
    }

    /// Returns the flights of some keys.
    pub async fn find(&self, keys: &[Key]) -> Result<Vec<Features>, Refused> {
        let found: Vec<Option<Features>> = match self {
            Self::Memory(flights) => keys.iter().map(|key| flights.get(key).copied()).collect(),
            Self::Redis(connection) => fetch(connection.clone(), keys).await?,
        };
        let unknown = |key| Refused::Unknown(format!("no flight has the key {key:?}"));
        let pairs = found.into_iter().zip(keys);
        pairs.map(|(row, key)| row.ok_or_else(|| unknown(key))).collect()
    }
}

/// Connects to Redis.
pub async fn connect(url: &str) -> Result<ConnectionManager, Failure> {
    let client = redis::Client::open(url)?;
    // Without Redis each request soon fails; the default waits for it for ten seconds.
    // A busy Redis may take longer than the default of half a second for 1,000 clients.
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(RETRIES)
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    Ok(ConnectionManager::new_with_config(client, config).await?)
}

/// Fetches the rows of some keys by one command.
async fn fetch(
    mut connection: ConnectionManager,
    keys: &[Key],
) -> Result<Vec<Option<Features>>, Refused> {
    let gone = |_| Refused::Gone("redis cannot be reached".into());
    let texts: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
    let mut asked = redis::cmd("MGET");
    let rows: Vec<Option<Vec<u8>>> =
        asked.arg(&texts).query_async(&mut connection).await.map_err(gone)?;
    Ok(rows.iter().map(|row| row.as_deref().map(features)).collect())
}

/// Decodes a row's bytes.
fn features(row: &[u8]) -> Features {
    let (numbers, _) = row.as_chunks();
    let mut numbers = numbers.iter().copied().map(f32::from_le_bytes);
    std::array::from_fn(|_| numbers.next().unwrap_or(f32::NAN))
}

/// Reads the flights of a file.
fn read(path: &str) -> io::Result<HashMap<Key, Features>> {
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
    Ok(found)
}
