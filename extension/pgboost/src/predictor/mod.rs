//! What predicts: for one row per call (`single`), or for the rows of a batch (`batch`), with the same
//! reading of features and the same making of results (`output`).

pub mod batch;
pub mod margins;
pub mod output;
pub mod single;
