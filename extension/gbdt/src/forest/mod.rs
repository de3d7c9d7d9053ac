//! Lowering: one flat, relocatable image of a checked model, for evaluation.
//!
//! An image is what every backend maps: a header, then sections of plain records, each section
//! aligned to 64 bytes and found by its offset. It holds no pointer, so it means the same wherever
//! it is mapped, and the same model always gives the same bytes. [`compile`] writes one;
//! [`Image::open`] checks one, whoever wrote it, so thoroughly that evaluation needs no check of its
//! own. An image is a cache, never the truth: its format may change with every release, and
//! [`IMAGE_VERSION`] with it.

mod aligned;
mod answers;
mod canonical;
mod categories;
mod compiled;
pub(crate) mod cuts;
pub(crate) mod key;
mod kinds;
mod order;
pub(crate) mod points;
pub(crate) mod records;
mod reserve;
pub(crate) mod sections;
mod shares;
mod splits;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod tiles;
mod trees;
mod verify;
mod write;

pub use aligned::{AlignedBytes, StableBytes};
pub use categories::{CategoryKind, CategoryView};
pub(crate) use compiled::FinishAt;
pub use compiled::{Image, Narrowing};
#[cfg(any(test, fuzzing))]
pub use sections::seal;
pub(crate) use shares::share;
pub use write::compile;

/// The version of the image's format, part of the name of a file that holds one.
///
/// It changes whenever the bytes of an image or their meaning do.
pub const IMAGE_VERSION: u32 = 10;
