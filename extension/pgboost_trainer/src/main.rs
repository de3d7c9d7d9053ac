//! `pgboost_trainer LIBRARY PARENT`: trains or predicts for the backend that started it, and ends with it.
//!
//! Requests and replies go through the socket that is its standard input, by the protocol of this package's
//! library. LIBRARY is the path of libxgboost, PARENT the backend's process id.
//!
//! In a separate process, a round can be killed at any time, a crash in C++ or a lack of memory ends no
//! backend, and PostgreSQL's signals reach no thread of libxgboost.

mod predicting;
mod training;

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::ExitCode;

use pgboost_trainer::{
    Job, Reply, Request, VERSION, bytes_of, receive, receive_bytes, send, words_of,
};
use xgboost_ffi::{Error, Library};

use predicting::Models;
use training::Training;

/// The highest value of `/proc/PID/oom_score_adj`: if the system's memory runs out, a training, which can be
/// repeated, is killed before the server.
const OOM_SCORE: &str = "1000";

/// The first descriptor after the standard ones.
const FIRST: libc::c_int = 3;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(library), Some(parent)) = (arguments.next(), arguments.next()) else {
        eprintln!("pgboost_train starts this program; it is not to be run by hand");
        return ExitCode::from(2);
    };
    if !parent.to_str().and_then(|pid| pid.parse().ok()).is_some_and(attach_to) {
        return ExitCode::FAILURE;
    }
    end_at_crashes();
    match serve(Path::new(&library)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers requests until the model is sent, or one fails.
fn serve(library: &Path) -> io::Result<()> {
    let mut backend = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let library = match Library::open(library) {
        Ok(library) => library,
        Err(error) => return send(&mut backend, &Reply::Failed(error)),
    };
    let (trainer, libxgboost) = (VERSION.to_owned(), library.version().to_owned());
    send(&mut backend, &Reply::Ready { trainer, libxgboost })?;
    let mut training = None;
    let mut models = Models::new(library);
    loop {
        let answer = match (receive(&mut backend, u64::MAX)?, &mut training) {
            (Request::Load { slot, bytes }, _) => {
                let model = receive_bytes(&mut backend, bytes, u64::MAX)?;
                models.load(slot, &model).map(|()| Vec::new())
            }
            (Request::Predict { slot, words, record, margins }, _) => {
                let words = receive_bytes(&mut backend, words.saturating_mul(4), u64::MAX)?;
                match models.predict(slot, &words_of(&words), record, margins) {
                    Ok(predictions) => {
                        send(&mut backend, &Reply::Predictions(predictions.len() as u64))?;
                        backend.write_all(&bytes_of(&predictions))?;
                        continue;
                    }
                    Err(error) => Err(error),
                }
            }
            (Request::Build(job), _) => {
                let start = start_model(&mut backend, &job)?;
                // Frees the old matrices before new ones are built.
                training = None;
                Training::build(library, *job, start.as_deref()).map(|built| {
                    training = Some(built);
                    Vec::new()
                })
            }
            (Request::Reset(parameters), Some(training)) => {
                training.reset(&parameters).map(|()| Vec::new())
            }
            (Request::Round { round, evaluate }, Some(training)) => training.round(round, evaluate),
            (Request::Save(rounds), Some(training)) => match training.save(rounds) {
                Ok(model) => return send_model(&mut backend, &model),
                Err(error) => Err(error),
            },
            (_, None) => Err(Error::Rows("no rows were given".to_owned())),
        };
        match answer {
            Ok(metrics) => send(&mut backend, &Reply::Done(metrics))?,
            Err(error) => return send(&mut backend, &Reply::Failed(error)),
        }
    }
}

/// Receives the model that the training continues.
fn start_model(backend: &mut UnixStream, job: &Job) -> io::Result<Option<Vec<u8>>> {
    job.start.map(|start| receive_bytes(backend, start.bytes, u64::MAX)).transpose()
}

fn send_model(backend: &mut UnixStream, model: &[u8]) -> io::Result<()> {
    send(backend, &Reply::Model(model.len() as u64))?;
    backend.write_all(model)
}

/// Lets a crash of libxgboost end this process, whoever sends its signal: the handlers of Rust's runtime look
/// for a stack overflow, and return from a signal that another process has sent.
#[allow(unsafe_code, reason = "it calls the C library")]
fn end_at_crashes() {
    for number in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: restores the system's default; no other thread runs yet.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// Closes the descriptors that the backend had open, and ties this process's life to the backend's.
/// Returns whether the backend, the process `parent`, still runs.
#[allow(unsafe_code, reason = "it calls the C library")]
fn attach_to(parent: u32) -> bool {
    for descriptor in open_descriptors() {
        // SAFETY: nothing of this process has opened a file yet, so nothing here owns it.
        unsafe { libc::close(descriptor) };
    }
    // If it cannot be raised, the system treats the trainer as a backend.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    // The backend waits for the end of a crash, and a core file would have gigabytes of rows.
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the record is valid.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
    // SAFETY: takes a number, and no pointer.
    let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
    // A backend that ended before has sent no signal.
    set && parent_id() == parent
}

fn open_descriptors() -> Vec<libc::c_int> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(|entry| number(entry.ok()?)).filter(|number| *number >= FIRST).collect()
}
