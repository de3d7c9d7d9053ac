//! The trainer: its process, the requests of the backend, and the replies.
//!
//! The backend sends a request and waits for the reply as PostgreSQL waits, so that a cancel, a terminate and
//! the postmaster's end act at once. Dropping the process kills it, so an error that unwinds does. Where the
//! backend ends without unwinding, a callback at its exit does.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio, id};
use std::time::Duration;
use std::{env, thread};

use pg_interface::report;
use pg_interface::session::{self, Until};
use pgboost_trainer::{Job, Parameters, Reply, Request, VERSION, receive, receive_bytes, send};

use super::start::Start;
use crate::error::{Error, Result};
use crate::libxgboost;

/// Most bytes of a reply: that of the longest line of metrics.
const MAX_REPLY: u64 = 16 << 20;
/// Most bytes of a model: those of a bytea (`MaxAllocSize`, memutils.h).
const MAX_MODEL: u64 = (1 << 30) - 1024;

/// A trainer, which ends when this is dropped.
pub(crate) struct Trainer {
    process: Process,
    socket: Socket,
}

impl Trainer {
    /// Starts one; returns when it has loaded libxgboost.
    pub(crate) fn start() -> Result<Trainer> {
        let path = libxgboost::trainer_path();
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
    pub(crate) fn build(&mut self, job: Job, start: Option<&Start>) -> Result<()> {
        let sent = send(&mut self.socket, &Request::Build(Box::new(job)));
        let sent = sent.and_then(|()| match start {
            Some(start) => self.socket.write_all(&start.bytes),
            None => Ok(()),
        });
        self.answer(sent).map(|_| ())
    }

    /// Resets the booster, for other parameters.
    pub(crate) fn reset(&mut self, parameters: Parameters) -> Result<()> {
        self.ask(&Request::Reset(parameters)).map(|_| ())
    }

    /// Has it run a round, counted from 0; returns libxgboost's lines of metrics if asked to.
    pub(crate) fn round(&mut self, round: u32, evaluate: bool) -> Result<Vec<String>> {
        match self.ask(&Request::Round { round, evaluate })? {
            Reply::Done(metrics) => Ok(metrics),
            _ => Err(self.ended(ErrorKind::InvalidData.into())),
        }
    }

    /// The bytes of the model of the first rounds.
    pub(crate) fn save(mut self, rounds: u32) -> Result<Vec<u8>> {
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
        let said = self.process.stderr_line();
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
                    session::wait(self.0.as_fd(), until);
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

/// Most characters of the trainer's standard error in a message.
const MAX_STDERR_CHARS: usize = 200;

/// OpenMP's word for what a thread with nothing to do does. By default it spins for some
/// milliseconds, which takes a busy server's cores from others.
const WAIT_POLICY: (&str, &str) = ("OMP_WAIT_POLICY", "passive");

thread_local! {
    /// This backend's trainers: a source may call a function that trains.
    static RUNNING: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// The process, which is killed when this is dropped.
pub(crate) struct Process {
    pid: u32,
    errors: UnixStream,
}

impl Process {
    /// Starts the program; also returns this side of the socket that is its standard input.
    pub(crate) fn start(path: &Path) -> io::Result<(Process, UnixStream)> {
        session::at_exit(kill_all);
        let (ours, theirs) = UnixStream::pair()?;
        let (errors, said) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // Nobody reads what it says until it ends; what there is no room for is lost.
        errors.set_nonblocking(true)?;
        said.set_nonblocking(true)?;
        let policy = env::var_os(WAIT_POLICY.0).unwrap_or_else(|| WAIT_POLICY.1.into());
        let child = Command::new(path)
            .arg(libxgboost::library_path())
            .arg(id().to_string())
            .env_clear()
            .env(WAIT_POLICY.0, policy)
            // PostgreSQL signals a backend's group.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(OwnedFd::from(said))
            .spawn()?;
        let process = Process { pid: child.id(), errors };
        RUNNING.with_borrow_mut(|running| running.push(child));
        Ok((process, ours))
    }

    /// How it ended, once it has closed its socket, which is the last but one thing that a process
    /// does; one that then goes on for a second is killed.
    pub(crate) fn wait_for_end(&self) -> Option<ExitStatus> {
        for _ in 0..100 {
            let ended = RUNNING.with_borrow_mut(|running| {
                let child = running.iter_mut().find(|child| child.id() == self.pid);
                child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
            });
            if ended {
                break;
            }
            report::check_for_interrupts();
            thread::sleep(Duration::from_millis(10));
        }
        self.kill()
    }

    /// The first line that it has written to its standard error.
    pub(crate) fn stderr_line(&mut self) -> String {
        let mut said = vec![0; 4096];
        let len = self.errors.read(&mut said).unwrap_or(0);
        said.truncate(len);
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(MAX_STDERR_CHARS).collect()
    }

    /// Ends it, if it has not ended.
    fn kill(&self) -> Option<ExitStatus> {
        let child = RUNNING.with_borrow_mut(|running| {
            let position = running.iter().position(|child| child.id() == self.pid)?;
            Some(running.swap_remove(position))
        });
        kill(child?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn kill_all() {
    RUNNING.take().into_iter().for_each(|child| _ = kill(child));
}

fn kill(mut child: Child) -> Option<ExitStatus> {
    let _ = child.kill();
    child.wait().ok()
}
