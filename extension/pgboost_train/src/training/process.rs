//! The trainer's process: how it starts, and that it never outlives what it is for.
//!
//! Dropping it kills it, so an error that unwinds does. Where the backend ends without unwinding,
//! PostgreSQL's list of things to do at exit has it; after a crash the system kills it
//! (`PR_SET_PDEATHSIG`). It is always waited for: where the postmaster is a container's first
//! process, an orphan's death by a signal would look to it like a backend's crash.

use std::cell::RefCell;
use std::env;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio, id};
use std::thread;
use std::time::Duration;

use pg_interface::{backend, report};

use crate::installed;

/// Most characters of the trainer's last words.
const MAX_SAID: usize = 200;

/// OpenMP's word for what a thread with nothing to do does. By default it spins for some
/// milliseconds, which takes a busy server's cores from others.
const WAIT_POLICY: (&str, &str) = ("OMP_WAIT_POLICY", "passive");

thread_local! {
    /// This backend's trainers: a source may call a function that trains.
    static RUNNING: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// The process, which is killed when this is dropped.
pub struct Process {
    pid: u32,
    errors: UnixStream,
}

impl Process {
    /// Starts the program; also returns this side of the socket that is its standard input.
    pub fn start(path: &Path) -> io::Result<(Process, UnixStream)> {
        backend::at_exit(kill_all);
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
        let process = Process { pid: child.id(), errors };
        RUNNING.with_borrow_mut(|running| running.push(child));
        Ok((process, ours))
    }

    /// How it ended, once it has closed its socket, which is the last but one thing that a process
    /// does; one that then goes on for a second is killed.
    pub fn wait_for_end(&self) -> Option<ExitStatus> {
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
    pub fn last_words(&mut self) -> String {
        let mut said = vec![0; 4096];
        let len = self.errors.read(&mut said).unwrap_or(0);
        said.truncate(len);
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(MAX_SAID).collect()
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
