//! The process of a trainer, where its program is, and the socket to it.
//!
//! Dropping the process kills it, also when an error unwinds. A callback at the backend's exit kills it when
//! nothing unwinds.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_void};
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio, id};
use std::time::Duration;
use std::{env, thread};

use pg_interface::report;
use pg_interface::session::{self, Until};

/// A socket whose reads and writes handle interrupts.
pub(super) struct Socket(pub(super) UnixStream);

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

/// The most characters of the trainer's standard error in a message.
const MAX_STDERR_CHARS: usize = 200;

/// OpenMP's wait policy. By default an idle thread spins for some milliseconds, which takes cores from others on
/// a busy server.
const WAIT_POLICY: (&str, &str) = ("OMP_WAIT_POLICY", "passive");

thread_local! {
    /// This backend's trainers: several, if a source calls a function that trains.
    static RUNNING: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
}

/// A process that is killed when this is dropped.
pub(super) struct Process {
    pid: u32,
    errors: UnixStream,
}

impl Process {
    /// Starts the program; also returns the backend's end of the socket that is its standard input.
    pub(super) fn start(path: &Path) -> io::Result<(Process, UnixStream)> {
        session::at_exit(kill_all);
        let (ours, theirs) = UnixStream::pair()?;
        let (errors, said) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // Its standard error is read after its end; what does not fit into the socket's buffer is lost.
        errors.set_nonblocking(true)?;
        said.set_nonblocking(true)?;
        let policy = env::var_os(WAIT_POLICY.0).unwrap_or_else(|| WAIT_POLICY.1.into());
        let child = Command::new(path)
            .arg(library())
            .arg(id().to_string())
            .env_clear()
            .env(WAIT_POLICY.0, policy)
            // PostgreSQL signals a backend's process group.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(OwnedFd::from(said))
            .spawn()?;
        let process = Process { pid: child.id(), errors };
        RUNNING.with_borrow_mut(|running| running.push(child));
        Ok((process, ours))
    }

    /// Waits for the end of a process that has closed its socket, and returns its status. Kills it after a second:
    /// closing descriptors is almost the last step of a process.
    pub(super) fn wait_for_end(&self) -> Option<ExitStatus> {
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

    /// Returns the first line of its standard error.
    pub(super) fn stderr_line(&mut self) -> String {
        let mut said = vec![0; 4096];
        let len = self.errors.read(&mut said).unwrap_or(0);
        said.truncate(len);
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(MAX_STDERR_CHARS).collect()
    }

    /// Kills it if it runs.
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

/// Returns the path of libxgboost, which is in the unpacked wheel of XGBoost.
fn library() -> PathBuf {
    in_library_folder("pgboost_train/xgboost/lib/libxgboost.so")
}

/// Returns the path of the trainer.
pub(super) fn trainer() -> PathBuf {
    in_library_folder("pgboost_train/pgboost_trainer")
}

fn in_library_folder(path: &str) -> PathBuf {
    library_folder().map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

/// Returns the folder of this extension's library, next to which is the folder `pgboost_train` of both.
#[allow(unsafe_code, reason = "it asks the loader")]
fn library_folder() -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let address: *const c_void = (library_folder as fn() -> Option<PathBuf>) as *const c_void;
    // SAFETY: the address lies in this library; the record is filled if the call succeeds, and its
    // name is null or a string that lives as long as the library.
    let path = unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_fname;
        if name.is_null() {
            return None;
        }
        Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes())).to_owned()
    };
    path.parent().map(Path::to_owned)
}
