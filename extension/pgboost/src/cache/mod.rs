//! What a backend keeps between statements: which image a name means, and the images themselves.
//!
//! `resolve` answers from here while nothing it depends on has changed, and reads the registry
//! otherwise. `images` holds the opened images, the least recently used of which are let go when
//! they exceed `pgboost.cache_size`. `file` shares each image between all backends as one file, which
//! `map` maps and `checked` spares a second check; `sweep` removes the files that nobody needs.

#[allow(unsafe_code, reason = "opens what a record says was checked; see the file's header")]
pub(crate) mod image_file;
pub(crate) mod images;
pub(crate) mod resolve;

pub(crate) use image_file::ModelImage;
pub(crate) use images::CachedImage;
pub(crate) use resolve::{Resolved, fetch_ahead, resolve};
