//! The protocol between a backend and its trainer: requests one way, replies the other, over one socket.
//!
//! The trainer is a separate process that runs libxgboost for one training, or for the predictions of a
//! backend. It starts, sends [`Reply::Ready`], and then answers each [`Request`] with one [`Reply`].
//! A message is JSON preceded by its length; the bytes of models, of rows to predict and of predictions follow
//! their message unencoded. The rows of a training stay in the backend's temporary files, which the
//! trainer reads by their paths.
//!
//! Neither side allocates by an announced length: a message grows as its bytes arrive.

use std::io::{self, ErrorKind, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
pub use xgboost_ffi::{Error, Feature, Layout, means_out_of_memory};

/// A request of a backend.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Build the matrices and a booster for each fold. The bytes of [`Job::start`] follow, if there is one.
    /// The reply is [`Reply::Done`] without a line.
    Build(Box<Job>),
    /// Create new boosters for the same matrices, with these parameters. The reply is as for `Build`.
    Reset(Parameters),
    /// Run a round of each fold. The reply is [`Reply::Done`].
    Round {
        /// The number of the round, from 0.
        round: u32,
        /// The reply shall have the metrics after the round.
        evaluate: bool,
    },
    /// Send the model of the first fold, cut to this number of rounds. The reply is [`Reply::Model`]; then the
    /// trainer ends.
    Save(u32),
    /// Load a model for predictions, whose bytes follow, in place of the slot's previous one. The reply is
    /// [`Reply::Done`] without a line.
    Load {
        /// The slot, below [`SLOTS`].
        slot: usize,
        /// The number of its bytes.
        bytes: u64,
    },
    /// Predict rows by the model of a slot. Their words follow, four bytes each, least significant byte
    /// first. The reply is [`Reply::Predictions`].
    Predict {
        /// The slot.
        slot: usize,
        /// The number of words that follow.
        words: u64,
        /// The number of words of a row.
        record: usize,
        /// The reply shall have margins.
        margins: bool,
    },
}

/// The number of models that a trainer keeps for predictions.
pub const SLOTS: usize = 4;

/// The parameters as libxgboost takes them, in the order in which to set them.
pub type Parameters = Vec<(String, String)>;

/// The input of a training.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The models to train in parallel: the folds of a cross-validation, or one.
    pub folds: Vec<Fold>,
    /// The model to continue, only with a single fold.
    pub start: Option<Start>,
    /// The number of words of a record in the files.
    pub record: usize,
    /// The words to leave out, in ascending order.
    pub left_out: Vec<usize>,
    /// The layout of a record, without the words that are left out.
    pub layout: Layout,
    /// The features: `features.len() == layout.features`.
    pub features: Vec<Feature>,
    /// The words of a record in the files that hold codes of texts, with the new code for each.
    pub recode: Vec<(usize, Vec<u32>)>,
    /// The parameters.
    pub parameters: Parameters,
    /// The most bins of a feature.
    pub max_bin: u32,
    /// The most threads.
    pub threads: usize,
    /// The number of rounds to run, of which the model may keep fewer.
    pub rounds: u32,
}

/// The rows of one model.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// The rows to train on.
    pub train: Set,
    /// The rows for evaluation.
    pub eval: Option<Set>,
}

/// A model to continue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The number of its bytes.
    pub bytes: u64,
    /// The number of its rounds.
    pub rounds: u32,
}

/// A part of a file's records: those of a fold, or of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The word of a record that has the number of its fold.
    pub word: usize,
    /// The fold.
    pub fold: u32,
    /// True for the records of the fold, false for all others.
    pub inside: bool,
}

/// Rows for one purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// The file of records, relative to the data directory.
    pub path: String,
    /// The part of the records to use, if not all.
    pub part: Option<Part>,
    /// The sizes of groups, if there are any.
    pub groups: Vec<u32>,
    /// The bits of the groups' weights, if they have any.
    pub weights: Vec<u32>,
}

/// A reply of the trainer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// libxgboost is loaded.
    Ready {
        /// The trainer's [`VERSION`].
        trainer: String,
        /// The release of libxgboost.
        libxgboost: String,
    },
    /// The request is done. Has libxgboost's line of metrics for each fold, if they were requested.
    Done(Vec<String>),
    /// The bytes of the model follow, of this number.
    Model(u64),
    /// All outputs of each row follow, this number of f32, least significant byte first.
    Predictions(u64),
    /// The request failed, and the trainer ends.
    Failed(Error),
}

/// The version that both sides must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Converts numbers to bytes, least significant byte first.
pub fn bytes_of(words: &[f32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Converts bytes to numbers; an incomplete last one is dropped.
pub fn words_of(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Sends a message.
///
/// # Errors
/// I/O errors.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)
}

/// Receives a message of at most `max` bytes.
///
/// # Errors
/// I/O errors, and `InvalidData` for bytes that are not such a message.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read, max: u64) -> io::Result<T> {
    let mut len = [0; 8];
    from.read_exact(&mut len)?;
    let text = receive_bytes(from, u64::from_le_bytes(len), max)?;
    // serde_json's own conversion would report half a message as the end of the connection.
    serde_json::from_slice(&text).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Receives `len` bytes, at most `max`.
///
/// # Errors
/// I/O errors, and `InvalidData` for a `len` above `max`.
pub fn receive_bytes(from: &mut impl Read, len: u64, max: u64) -> io::Result<Vec<u8>> {
    if len > max {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    if from.take(len).read_to_end(&mut bytes)? as u64 == len {
        Ok(bytes)
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]
mod tests {
    use super::*;

    #[test]
    fn message_arrives_as_it_was() {
        let request = Request::Round { round: 7, evaluate: true };
        let mut sent = Vec::new();
        send(&mut sent, &request).unwrap();
        assert_eq!(receive::<Request>(&mut sent.as_slice(), 1000).unwrap(), request);
    }

    #[test]
    fn numbers_keep_their_bits() {
        let words = [0.1, -0.0, f32::NAN, f32::INFINITY];
        let again = words_of(&bytes_of(&words));
        assert!(again.iter().map(|word| word.to_bits()).eq(words.map(f32::to_bits)));
    }

    #[test]
    fn length_is_no_reason_to_allocate() {
        let announced = (u64::MAX / 2).to_le_bytes();
        let kind = |max| receive::<Reply>(&mut announced.as_slice(), max).unwrap_err().kind();
        assert_eq!(kind(1 << 20), ErrorKind::InvalidData);
        assert_eq!(kind(u64::MAX), ErrorKind::UnexpectedEof);
    }
}
