//! Stores and reads a model's file: parts, one per row, and the digest in the version's row.
//!
//! PostgreSQL copies a row about five times when it stores it, and a copy cannot be cancelled. So a row
//! has at most [`PART`] bytes of a file. The digest is that of the whole file, and every read compares it, so
//! that changes of the tables by hand are noticed.

use std::ops::ControlFlow;

use pg_interface::fault;
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::report::check_for_interrupts;
use pg_interface::scan::{Key, rows};
use pg_interface::varlena::{NewBytea, PIECE};
use sha2::{Digest, Sha256};

use super::model::Model;
use crate::error::Result;

/// The most bytes of a part; files in parts of other sizes are read as well.
const PART: usize = PIECE;

/// Returns the SHA-256 of a file.
pub(crate) fn digest(file: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for piece in file.chunks(PIECE) {
        check_for_interrupts();
        hash.update(piece);
    }
    hash.finalize().to_vec()
}

/// Stores a file's parts.
pub(crate) fn insert(model: Model<'_>, version: i32, file: &[u8]) -> Result<()> {
    for (start, part) in (0i32..).step_by(PART).zip(file.chunks(PART)) {
        check_for_interrupts();
        model.execute("INSERT INTO pgboost_catalog.file_part (model, version, start, bytes) VALUES ($1, $2, $3, $4)", [version.into(), start.into(), part.into()])?;
        fault::at("load: part stored");
    }
    Ok(())
}

/// Reads a version's file. Returns `None` unless it is complete and has its
/// digest.
pub(crate) fn read(
    model: Model<'_>,
    version: i32,
    snapshot: ReadSnapshot,
    size: usize,
    stored_digest: &[u8],
) -> Option<NewBytea> {
    let mut file = NewBytea::zeroed(size)?;
    let mut fits = true;
    let keys = [model.id.key(), Key::Integer(version)];
    rows(model.registry.part, &keys, snapshot, |row| {
        check_for_interrupts();
        let start = row.integer(c"start").and_then(|start| usize::try_from(start).ok());
        fits &= start.is_some_and(|start| {
            row.with_bytes(c"bytes", |part| file.put(start, part)) == Some(true)
        });
        if fits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    (fits && digest(file.as_slice()) == stored_digest).then_some(file)
}
