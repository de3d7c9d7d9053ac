//! What the backend asks of the trainer, and what comes back.
//!
//! The backend sends a request and waits for the reply, as PostgreSQL waits, so that a cancel, a
//! timeout or a shutdown acts in the middle of a round: the error unwinds, and the trainer is
//! killed on the way.
//!
//! Nothing that the trainer sends is trusted. A message is bounded, and the model goes through the
//! engine's parser as any other does.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;

use pg_interface::backend::{self, Until};
use pg_interface::report;
use pgboost_trainer::{Job, Parameters, Reply, Request, VERSION, receive, receive_bytes, send};

use super::process::Process;
use super::start::Start;
use crate::error::{Error, Result};
use crate::installed;

/// Most bytes of a reply: that of the longest line of metrics.
const MAX_REPLY: u64 = 16 << 20;
/// Most bytes of a model: those of a bytea (`MaxAllocSize`, memutils.h).
const MAX_MODEL: u64 = (1 << 30) - 1024;

/// A trainer, which ends when this is dropped.
pub struct Trainer {
    process: Process,
    socket: Socket,
}

impl Trainer {
    /// Starts one; returns when it has loaded libxgboost.
    pub fn start() -> Result<Trainer> {
        let path = installed::trainer();
        let missing =
            |reason: String| Error::TrainerMissing { path: path.display().to_string(), reason };
        let (process, socket) =
            Process::start(&path).map_err(|error| missing(error.to_string()))?;
        let mut trainer = Trainer { process, socket: Socket(socket) };
        match trainer.reply()? {
            Reply::Ready(version) if version == VERSION => Ok(trainer),
            _ => Err(missing(format!("It is not of version {VERSION}, as the extension is"))),
        }
    }

    /// Has it build the matrices and the boosters, which go on from a model if there is one.
    pub fn build(&mut self, job: Job, start: Option<&Start>) -> Result<()> {
        let sent = send(&mut self.socket, &Request::Build(Box::new(job)));
        let sent = sent.and_then(|()| match start {
            Some(start) => self.socket.write_all(&start.bytes),
            None => Ok(()),
        });
        self.answer(sent).map(|_| ())
    }

    /// Has it forget what was learned, for other parameters.
    pub fn again(&mut self, parameters: Parameters) -> Result<()> {
        self.ask(&Request::Again(parameters)).map(|_| ())
    }

    /// Has it run a round, counted from 0; returns libxgboost's lines of metrics if asked to.
    pub fn round(&mut self, round: u32, evaluate: bool) -> Result<Vec<String>> {
        match self.ask(&Request::Round { round, evaluate })? {
            Reply::Done(metrics) => Ok(metrics),
            _ => Err(self.ended(ErrorKind::InvalidData.into())),
        }
    }

    /// The bytes of the model of the first rounds.
    pub fn save(mut self, rounds: u32) -> Result<Vec<u8>> {
        let len = match self.ask(&Request::Save(rounds))? {
            Reply::Model(bytes) if bytes > MAX_MODEL => return Err(Error::ModelSize { bytes }),
            Reply::Model(bytes) => bytes,
            _ => return Err(self.ended(ErrorKind::InvalidData.into())),
        };
        receive_bytes(&mut self.socket, len, MAX_MODEL).map_err(|error| self.ended(error))
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        let sent = send(&mut self.socket, request);
        self.answer(sent)
    }

    fn answer(&mut self, sent: io::Result<()>) -> Result<Reply> {
        // Where it could not be sent, the trainer has ended, and may have said why.
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
        let said = self.process.last_words();
        if xgboost_ffi::means_out_of_memory(&said) {
            return Error::OutOfMemory;
        }
        match status {
            Some(status) if status.signal() == Some(libc::SIGKILL) => Error::TrainerKilled,
            Some(status) => Error::TrainerEnded { how: status.to_string(), said },
            None => Error::TrainerEnded { how: error.to_string(), said },
        }
    }
}

/// A socket that is read and written while interrupts are served.
struct Socket(UnixStream);

impl Socket {
    fn serve<T>(
        &mut self,
        until: Until,
        mut step: impl FnMut(&mut UnixStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            report::check_for_interrupts();
            match step(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    backend::wait(self.0.as_fd(), until);
                }
                done => return done,
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.serve(Until::Readable, |socket| socket.read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.serve(Until::Writable, |socket| socket.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
