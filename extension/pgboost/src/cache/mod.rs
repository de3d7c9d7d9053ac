//! A backend's cache between statements: the images, and the meanings of names.
//!
//! `resolve` answers from memory while nothing has changed on which an answer depends, and reads the registry
//! otherwise. `images` holds the opened images, and evicts the least recently used ones beyond
//! `pgboost.cache_size`. `image_file` shares each image between all backends as one file, and removes unused
//! files.

#[allow(unsafe_code, reason = "opens what a record says was checked; see the file's header")]
pub(crate) mod image_file;
pub(crate) mod images;
pub(crate) mod resolve;

pub(crate) use image_file::ModelImage;
pub(crate) use images::CachedImage;
pub(crate) use resolve::{Identity, NameMap, Resolved, fetch_ahead, resolve, resolve_anew};
