//! How a backend and its trainer talk: requests one way, replies the other, over one socket.
//!
//! The trainer is a separate process that runs libxgboost for one training, or for the predictions of a
//! backend. It starts, says that it is [`Reply::Ready`], and then answers each [`Request`] with one [`Reply`].
//! A message is JSON with its length before it; bytes of models, of rows to predict and of predictions follow
//! their message as they are. The rows of a training stay in the backend's temporary files, which the
//! trainer reads by their paths.
//!
//! Neither side allocates what the other announces: a message grows as its bytes arrive.

use std::io::{self, ErrorKind, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
pub use xgboost_ffi::{Error, Feature, Layout, means_out_of_memory};

/// What a backend asks for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Make the matrices and a booster for each fold. The bytes of [`Job::start`], if it has such,
    /// follow. The answer is [`Reply::Done`] without a line.
    Build(Box<Job>),
    /// Make new boosters for the same matrices, with these parameters. The answer is as for `Build`.
    Reset(Parameters),
    /// Run the round of this number, from 0, of each fold. The answer is [`Reply::Done`].
    Round {
        /// The number.
        round: u32,
        /// Whether the answer has the metrics after the round.
        evaluate: bool,
    },
    /// Send the model of this many rounds, that of the first fold. The answer is [`Reply::Model`];
    /// the trainer then ends.
    Save(u32),
    /// Keep the model of this many bytes, which follow, for predictions, in place of what this slot had. The
    /// answer is [`Reply::Done`] without a line.
    Load {
        /// The slot, below [`SLOTS`].
        slot: usize,
        /// How many bytes it has.
        bytes: u64,
    },
    /// Predict rows by the model of a slot. Their words follow, four bytes each, least significant byte
    /// first. The answer is [`Reply::Predictions`].
    Predict {
        /// The slot.
        slot: usize,
        /// How many words follow.
        words: u64,
        /// How many of them a row has.
        record: usize,
        /// Whether the answer has margins.
        margins: bool,
    },
}

/// How many models a trainer keeps for predictions.
pub const SLOTS: usize = 4;

/// The parameters as libxgboost takes them, in the order in which to set them.
pub type Parameters = Vec<(String, String)>;

/// Everything that a training needs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What is trained side by side: the folds of a cross-validation, or one.
    pub folds: Vec<Fold>,
    /// The model that the training goes on from; only a training of one fold does.
    pub start: Option<Start>,
    /// Words of a record in the files.
    pub record: usize,
    /// Which of them are left out, in ascending order.
    pub left_out: Vec<usize>,
    /// Where the words of a record belong, without those that are left out.
    pub layout: Layout,
    /// The features: `features.len() == layout.features`.
    pub features: Vec<Feature>,
    /// Words of a record in the files that hold codes of texts, with the number to put for each code.
    pub recode: Vec<(usize, Vec<u32>)>,
    /// The parameters.
    pub parameters: Parameters,
    /// Most bins per feature.
    pub max_bin: u32,
    /// Most threads.
    pub threads: usize,
    /// Number of rounds to run, of which the model may keep fewer.
    pub rounds: u32,
}

/// A training among others.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// The rows to train on.
    pub train: Set,
    /// The rows for evaluation.
    pub eval: Option<Set>,
}

/// A model to go on from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// How many bytes it has.
    pub bytes: u64,
    /// How many rounds it has.
    pub rounds: u32,
}

/// Which records of a file are meant: those of a fold, or of all the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The word of a record that has the number of its fold.
    pub word: usize,
    /// The fold.
    pub fold: u32,
    /// Whether the records of the fold are meant.
    pub inside: bool,
}

/// Rows for one purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// The file of records, below the data directory.
    pub path: String,
    /// Which of them, if not all.
    pub part: Option<Part>,
    /// Sizes of groups, if there are such.
    pub groups: Vec<u32>,
    /// The bits of the groups' weights, if they have such.
    pub weights: Vec<u32>,
}

/// What a trainer answers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// libxgboost is loaded.
    Ready {
        /// The trainer's [`VERSION`].
        trainer: String,
        /// The release of libxgboost.
        libxgboost: String,
    },
    /// The request is done; where metrics were asked for, libxgboost's line of them for each fold.
    Done(Vec<String>),
    /// The model is of this many bytes, which follow.
    Model(u64),
    /// This many numbers of f32 follow, least significant byte first: all outputs of each row.
    Predictions(u64),
    /// The request failed, and the trainer ends.
    Failed(Error),
}

/// The version that both sides must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The numbers as bytes, least significant byte first.
pub fn bytes_of(words: &[f32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The numbers that bytes are, as many as are whole.
pub fn words_of(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Sends a message.
///
/// # Errors
/// Those of the other end.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)
}

/// Receives a message of at most `max` bytes.
///
/// # Errors
/// Those of the other end, and what is no such message.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read, max: u64) -> io::Result<T> {
    let mut len = [0; 8];
    from.read_exact(&mut len)?;
    let text = receive_bytes(from, u64::from_le_bytes(len), max)?;
    // Not serde_json's own conversion, in which half a message is the end of the connection.
    serde_json::from_slice(&text).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Receives as many bytes, if they are no more than `max`.
///
/// # Errors
/// Those of the other end; `InvalidData` where there are more.
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
