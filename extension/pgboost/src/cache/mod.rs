//! What a backend keeps between statements: which image a name means, and the images themselves.
//!
//! `resolve` answers from here while nothing it depends on has changed, and reads the registry
//! otherwise. `images` holds the opened images, the least recently used of which are let go when
//! they exceed `pgboost.cache_size`. `file` shares each image between all backends as one file.

pub mod file;
pub mod images;
pub mod resolve;

pub use images::Loaded;
pub use resolve::{Resolved, resolve};
