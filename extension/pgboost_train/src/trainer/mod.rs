//! The trainer: its process, the requests of the backend, and the replies.
//!
//! The backend sends a request and waits on its latch for the reply, so that a cancel, a terminate and
//! the postmaster's end act at once. Only the trainer loads libxgboost: a crash of it is an error of the waiting
//! statement.

pub(crate) mod predictor;
mod process;

use std::io::{self, ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;

use pgboost_trainer::{
    Job, Parameters, Reply, Request, VERSION, bytes_of, receive, receive_bytes, send, words_of,
};
use row_source::SourceError;

use crate::error::{Error, Result};
use crate::training::start::Start;
use process::{Process, Socket};

impl From<pgboost_trainer::Error> for Error {
    fn from(error: pgboost_trainer::Error) -> Error {
        use pgboost_trainer::Error as Theirs;
        match error {
            Theirs::Missing { path, reason } => {
                Error::LibraryMissing { path: path.into(), reason: reason.into() }
            }
            Theirs::Old(version) => Error::LibraryOld { version },
            Theirs::OutOfMemory => Error::OutOfMemory,
            Theirs::Rows(reason) => {
                SourceError::TemporaryFile { reason: reason.into(), disk_full: false }.into()
            }
            Theirs::Refused(message) => Error::XGBoost { message: message.into() },
        }
    }
}

/// The most bytes of a reply, the longest of which has lines of metrics.
const MAX_REPLY: u64 = 16 << 20;
/// The most bytes of a model and of predictions: those of a bytea (`MaxAllocSize`, memutils.h).
const MAX_MODEL: u64 = (1 << 30) - 1024;

/// A running trainer, which ends when this is dropped.
pub(crate) struct Trainer {
    process: Process,
    socket: Socket,
    /// The release of libxgboost.
    pub(crate) libxgboost: String,
}

impl Trainer {
    /// Starts a trainer; returns when it has loaded libxgboost.
    pub(crate) fn start() -> Result<Trainer> {
        let path = process::trainer();
        let missing = |reason: String| Error::TrainerMissing {
            path: path.display().to_string().into(),
            reason: reason.into(),
        };
        let (process, socket) =
            Process::start(&path).map_err(|error| missing(error.to_string()))?;
        let libxgboost = String::new();
        let mut trainer = Trainer { process, socket: Socket(socket), libxgboost };
        match trainer.reply()? {
            Reply::Ready { trainer: version, libxgboost } if version == VERSION => {
                Ok(Trainer { libxgboost, ..trainer })
            }
            _ => Err(missing(format!("It is not of version {VERSION}, as the extension is"))),
        }
    }

    /// Builds the matrices and the boosters, from the model `start` if given.
    pub(crate) fn build(&mut self, job: Job, start: Option<&Start>) -> Result<()> {
        let bytes = start.map_or(&[] as &[u8], |start| start.bytes.as_slice());
        self.ask_with(&Request::Build(Box::new(job)), bytes).map(|_| ())
    }

    /// Loads a model for predictions from a file that the engine has written.
    pub(crate) fn load(&mut self, slot: usize, file: &[u8]) -> Result<()> {
        self.ask_with(&Request::Load { slot, bytes: file.len() as u64 }, file).map(|_| ())
    }

    /// Predicts rows of `record` words each by the model of a slot. Returns all outputs of each row.
    pub(crate) fn predict(
        &mut self,
        slot: usize,
        words: &[f32],
        record: usize,
        margins: bool,
    ) -> Result<Vec<f32>> {
        let request = Request::Predict { slot, words: words.len() as u64, record, margins };
        match self.ask_with(&request, &bytes_of(words))? {
            Reply::Predictions(count) => {
                let bytes = receive_bytes(&mut self.socket, count.saturating_mul(4), MAX_MODEL);
                bytes.map(|bytes| words_of(&bytes)).map_err(|error| self.ended(error))
            }
            _ => Err(self.ended(ErrorKind::InvalidData.into())),
        }
    }

    /// Resets the boosters, with other parameters.
    pub(crate) fn reset(&mut self, parameters: Parameters) -> Result<()> {
        self.ask(&Request::Reset(parameters)).map(|_| ())
    }

    /// Runs a round, counted from 0; returns libxgboost's lines of metrics if `evaluate` is true.
    pub(crate) fn round(&mut self, round: u32, evaluate: bool) -> Result<Vec<String>> {
        match self.ask(&Request::Round { round, evaluate })? {
            Reply::Done(metrics) => Ok(metrics),
            _ => Err(self.ended(ErrorKind::InvalidData.into())),
        }
    }

    /// Returns the bytes of the model of the first rounds.
    pub(crate) fn save(mut self, rounds: u32) -> Result<Vec<u8>> {
        let len = match self.ask(&Request::Save(rounds))? {
            Reply::Model(bytes) if bytes > MAX_MODEL => return Err(Error::ModelSize { bytes }),
            Reply::Model(bytes) => bytes,
            _ => return Err(self.ended(ErrorKind::InvalidData.into())),
        };
        receive_bytes(&mut self.socket, len, MAX_MODEL).map_err(|error| self.ended(error))
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.ask_with(request, &[])
    }

    /// Sends a request and the bytes that follow it; returns the reply.
    fn ask_with(&mut self, request: &Request, bytes: &[u8]) -> Result<Reply> {
        let sent = send(&mut self.socket, request);
        let sent = sent.and_then(|()| self.socket.write_all(bytes));
        self.answer(sent)
    }

    fn answer(&mut self, sent: io::Result<()>) -> Result<Reply> {
        // If sending failed, the trainer has ended, and may have sent its error before.
        match (self.reply(), sent) {
            (Ok(_), Err(error)) => Err(self.ended(error)),
            (reply, _) => reply,
        }
    }

    fn reply(&mut self) -> Result<Reply> {
        match receive(&mut self.socket, MAX_REPLY) {
            Ok(Reply::Failed(error)) => Err(error.into()),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.ended(error)),
        }
    }

    fn ended(&mut self, error: io::Error) -> Error {
        let closed = matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
        );
        let status = if closed { self.process.wait_for_end() } else { None };
        let said = self.process.stderr_line();
        if pgboost_trainer::means_out_of_memory(&said) {
            return Error::OutOfMemory;
        }
        match status {
            Some(status) if status.signal() == Some(libc::SIGKILL) => Error::TrainerKilled,
            Some(status) => {
                Error::TrainerEnded { how: status.to_string().into(), said: said.into() }
            }
            None => Error::TrainerEnded { how: error.to_string().into(), said: said.into() },
        }
    }
}
