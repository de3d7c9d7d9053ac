//! The trainer: a process of its own that runs libxgboost for this backend.
//!
//! The backend sends a request and waits for the reply, as PostgreSQL waits, so that a cancel, a
//! timeout or a shutdown acts in the middle of a round: the error unwinds, and the trainer is killed
//! on the way. Where the backend ends without unwinding, PostgreSQL's list of things to do at exit
//! has it; after a crash the system kills it (`PR_SET_PDEATHSIG`). It is always waited for: where
//! the postmaster is a container's first process, an orphan's death by a signal would look to it
//! like a backend's crash.
//!
//! Nothing that the trainer sends is trusted. A message is bounded, and the model goes through the
//! engine's parser as any other does.

use std::cell::RefCell;
use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio, id};
use std::thread;
use std::time::Duration;

use pg_interface::report;
use pgboost_trainer::{Job, Reply, Request, VERSION, receive, receive_bytes, send};

use crate::error::{Error, Result};
use crate::installed;
use crate::pg::wait::{self, Until};

/// Most bytes of a reply: that of the longest line of metrics.
const MAX_REPLY: u64 = 16 << 20;
/// Most bytes of a model: those of a bytea (`MaxAllocSize`, memutils.h).
const MAX_MODEL: u64 = (1 << 30) - 1024;
/// Most bytes of the trainer's last words.
const MAX_SAID: usize = 200;

/// OpenMP's word for what a thread with nothing to do does. By default it spins for some
/// milliseconds, which takes a busy server's cores from others.
const WAIT_POLICY: (&str, &str) = ("OMP_WAIT_POLICY", "passive");

thread_local! {
    /// This backend's trainers: a source may call a function that trains.
    static RUNNING: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// A trainer, which ends when this is dropped.
pub struct Trainer {
    pid: u32,
    socket: Socket,
    errors: UnixStream,
}

impl Trainer {
    /// Starts one; returns when it has loaded libxgboost.
    ///
    /// # Errors
    /// [`Error::TrainerMissing`], and those of libxgboost.
    pub fn start() -> Result<Trainer> {
        let path = installed::trainer();
        let missing =
            |reason: String| Error::TrainerMissing { path: path.display().to_string(), reason };
        wait::at_exit(kill_all);
        let mut trainer = spawn(&path).map_err(|error| missing(error.to_string()))?;
        match trainer.reply()? {
            Reply::Ready(version) if version == VERSION => Ok(trainer),
            _ => Err(missing(format!("It is not of version {VERSION}, as the extension is"))),
        }
    }

    /// Has it build the matrices and a booster.
    ///
    /// # Errors
    /// What libxgboost refuses.
    pub fn build(&mut self, job: Job) -> Result<()> {
        self.ask(&Request::Build(Box::new(job))).map(|_| ())
    }

    /// Has it run a round, counted from 0; returns libxgboost's line of metrics if asked to.
    ///
    /// # Errors
    /// What libxgboost refuses.
    pub fn round(&mut self, round: u32, evaluate: bool) -> Result<Option<String>> {
        match self.ask(&Request::Round { round, evaluate })? {
            Reply::Done(metrics) => Ok(metrics),
            _ => Err(self.ended(ErrorKind::InvalidData.into())),
        }
    }

    /// The bytes of the model of the first rounds.
    ///
    /// # Errors
    /// What libxgboost refuses.
    pub fn save(mut self, rounds: u32) -> Result<Vec<u8>> {
        let len = match self.ask(&Request::Save(rounds))? {
            Reply::Model(bytes) if bytes > MAX_MODEL => return Err(Error::ModelSize { bytes }),
            Reply::Model(bytes) => bytes,
            _ => return Err(self.ended(ErrorKind::InvalidData.into())),
        };
        receive_bytes(&mut self.socket, len, MAX_MODEL).map_err(|error| self.ended(error))
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        // Where it cannot be sent, the trainer has ended, and may have said why.
        let sent = send(&mut self.socket, request);
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

    /// Why it does not answer.
    fn ended(&mut self, error: io::Error) -> Error {
        let closed = matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
        );
        let status = if closed { wait_for_end(self.pid) } else { None };
        let said = last_words(&mut self.errors);
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

impl Drop for Trainer {
    fn drop(&mut self) {
        running(self.pid).and_then(kill);
    }
}

fn spawn(path: &Path) -> io::Result<Trainer> {
    let (ours, theirs) = UnixStream::pair()?;
    let (errors, said) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    // Nobody reads what it says until it ends; what there is no room for is lost.
    errors.set_nonblocking(true)?;
    said.set_nonblocking(true)?;
    let policy = env::var_os(WAIT_POLICY.0).unwrap_or_else(|| WAIT_POLICY.1.into());
    let child = Command::new(path)
        .arg(installed::library())
        .arg(id().to_string())
        .env_clear()
        .env(WAIT_POLICY.0, policy)
        // PostgreSQL signals a backend's group.
        .process_group(0)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(OwnedFd::from(said))
        .spawn()?;
    let trainer = Trainer { pid: child.id(), socket: Socket(ours), errors };
    RUNNING.with_borrow_mut(|running| running.push(child));
    Ok(trainer)
}

/// Takes a trainer out of those that are running.
fn running(pid: u32) -> Option<Child> {
    RUNNING.with_borrow_mut(|running| {
        let position = running.iter().position(|child| child.id() == pid)?;
        Some(running.swap_remove(position))
    })
}

/// Waits for a trainer that has closed its socket, which is the last but one thing that a process
/// does; one that then goes on is killed.
fn wait_for_end(pid: u32) -> Option<ExitStatus> {
    for _ in 0..100 {
        let ended = RUNNING.with_borrow_mut(|running| {
            let child = running.iter_mut().find(|child| child.id() == pid);
            child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
        });
        if ended {
            break;
        }
        report::check_for_interrupts();
        thread::sleep(Duration::from_millis(10));
    }
    running(pid).and_then(kill)
}

fn kill_all() {
    RUNNING.take().into_iter().for_each(|child| _ = kill(child));
}

fn kill(mut child: Child) -> Option<ExitStatus> {
    let _ = child.kill();
    child.wait().ok()
}

/// The first line that it has written to its standard error.
fn last_words(errors: &mut UnixStream) -> String {
    let mut said = vec![0; 4096];
    let len = errors.read(&mut said).unwrap_or(0);
    said.truncate(len);
    let text = String::from_utf8_lossy(&said);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MAX_SAID).collect()
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
                    wait::wait(self.0.as_fd(), until);
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
