//! Trips and offers in memory or in Redis, as data/ranking.py describes and writes them.
//!
//! In Redis a trip is at `trip:ID`, an offer at `offer:ID`, and the packed offers of a category at
//! `category:SIZE:NUMBER`.

use std::collections::HashMap;
use std::fs;
use std::sync::RwLock;

use redis::aio::ConnectionManager;

use crate::flights::{Features, connect};
use crate::model::{FEATURES, Failure, Refused};

/// The sizes of categories.
pub const SIZES: [usize; 3] = [10, 100, 1_000];
const TRIP: usize = 5;
const OFFER: usize = FEATURES - TRIP;
/// The places of a trip's features, and of an offer's, in a flight's.
const TRIP_AT: [usize; TRIP] = [0, 1, 2, 4, 5];
const OFFER_AT: [usize; OFFER] = [3, 6, 7, 8, 9];
/// The bytes of an offer: its id and its features.
const RECORD: usize = 4 * (1 + OFFER);

/// A trip's features.
pub type Trip = [f32; TRIP];

/// A trip that a request names, or whose features it brings along to be written.
pub enum Wanted {
    Trip(usize),
    Written(usize, Trip),
}

/// An offer.
#[derive(Clone, Copy)]
pub struct Offer {
    pub id: i32,
    features: [f32; OFFER],
}

impl Offer {
    /// Returns the features of the flight of a trip and this offer.
    pub fn row(&self, trip: &Trip) -> Features {
        let mut row = [0.0; FEATURES];
        TRIP_AT.iter().zip(trip).for_each(|(at, value)| row[*at] = *value);
        OFFER_AT.iter().zip(&self.features).for_each(|(at, value)| row[*at] = *value);
        row
    }
}

/// The store of trips and offers.
pub enum Offers {
    Memory { trips: RwLock<Vec<Trip>>, offers: Vec<Offer>, packed: HashMap<usize, Vec<Offer>> },
    Redis(ConnectionManager),
}

fn unknown() -> Refused {
    Refused::Unknown("there is no such trip, offer or category".into())
}

fn gone(_: redis::RedisError) -> Refused {
    Refused::Gone("redis cannot be reached".into())
}

fn floats<const N: usize>(bytes: &[u8]) -> [f32; N] {
    let (numbers, _) = bytes.as_chunks();
    let mut numbers = numbers.iter().copied().map(f32::from_le_bytes);
    std::array::from_fn(|_| numbers.next().unwrap_or(f32::NAN))
}

fn unpacked(bytes: &[u8]) -> Vec<Offer> {
    let (records, _) = bytes.as_chunks::<RECORD>();
    let offer = |record: &[u8; RECORD]| {
        let (id, features) = record.split_at(4);
        let id = i32::from_le_bytes(id.try_into().expect("four bytes"));
        Offer { id, features: floats(features) }
    };
    records.iter().map(offer).collect()
}

impl Offers {
    /// Connects to Redis if the place is a URL, else reads the files of a directory of that name.
    pub async fn open(place: &str) -> Result<Self, Failure> {
        if place.starts_with("redis://") {
            return Ok(Self::Redis(connect(place).await?));
        }
        let read = |name: &str| fs::read(format!("{place}/{name}.bin"));
        let trips = read("trips")?.chunks_exact(4 * TRIP).map(floats).collect();
        let mut packed = HashMap::new();
        for size in SIZES {
            packed.insert(size, unpacked(&read(&size.to_string())?));
        }
        let offers = unpacked(&read("offers")?);
        Ok(Self::Memory { trips: RwLock::new(trips), offers, packed })
    }

    /// Returns a trip, written before if it is new, and the offers of a category of a size.
    pub async fn of_category(
        &self,
        trip: Wanted,
        size: usize,
        category: usize,
    ) -> Result<(Trip, Vec<Offer>), Refused> {
        let connection = match self {
            Self::Memory { trips, packed, .. } => {
                let offers = packed[&size].chunks(size).nth(category).ok_or_else(unknown)?;
                let trip = match trip {
                    Wanted::Trip(trip) => trips.read().expect("whole").get(trip).copied(),
                    Wanted::Written(trip, new) => {
                        trips.write().expect("whole").get_mut(trip).map(|known| {
                            *known = new;
                            new
                        })
                    }
                };
                return Ok((trip.ok_or_else(unknown)?, offers.to_vec()));
            }
            Self::Redis(connection) => connection,
        };
        let category = format!("category:{size}:{category}");
        let mut asked = redis::pipe();
        let new = match trip {
            Wanted::Trip(trip) => {
                asked.get(format!("trip:{trip}"));
                None
            }
            Wanted::Written(trip, new) => {
                let bytes: Vec<u8> = new.iter().flat_map(|one| one.to_le_bytes()).collect();
                asked.set(format!("trip:{trip}"), bytes).ignore();
                Some(new)
            }
        };
        let found: Vec<Option<Vec<u8>>> =
            asked.get(category).query_async(&mut connection.clone()).await.map_err(gone)?;
        let values = found.into_iter().collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
        let offers = unpacked(values.last().ok_or_else(unknown)?);
        Ok((new.unwrap_or_else(|| floats(&values[0])), offers))
    }

    /// Returns a trip and the offers of some ids.
    pub async fn of_ids(&self, trip: usize, ids: &[usize]) -> Result<(Trip, Vec<Offer>), Refused> {
        let connection = match self {
            Self::Memory { trips, offers, .. } => {
                let trip = trips.read().expect("whole").get(trip).copied().ok_or_else(unknown)?;
                let found = ids.iter().map(|id| offers.get(*id).copied());
                return Ok((trip, found.collect::<Option<_>>().ok_or_else(unknown)?));
            }
            Self::Redis(connection) => connection,
        };
        let mut asked = redis::cmd("MGET");
        asked.arg(format!("trip:{trip}"));
        ids.iter().for_each(|id| {
            asked.arg(format!("offer:{id}"));
        });
        let found: Vec<Option<Vec<u8>>> =
            asked.query_async(&mut connection.clone()).await.map_err(gone)?;
        let values = found.into_iter().collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
        let offer =
            |(id, value): (&usize, &Vec<u8>)| Offer { id: *id as i32, features: floats(value) };
        Ok((floats(&values[0]), ids.iter().zip(&values[1..]).map(offer).collect()))
    }
}
