//! `pgboost_trainer LIBRARY PARENT`: trains for the backend that started it, and ends with it.
//!
//! Requests come and replies go through the socket that is its standard input; see the library part
//! of this package. libxgboost is at the path LIBRARY; PARENT is the backend's process.
//!
//! In a separate process, a round can be ended at any time, memory that runs out or a crash in
//! C++ ends no backend, and no thread of libxgboost's is near PostgreSQL's signals.

#[allow(unsafe_code, reason = "it calls the C library")]
mod child_process;
mod training;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use pgboost_trainer::{Job, Reply, Request, VERSION, receive, receive_bytes, send};
use xgboost_ffi::{Error, Library};

use training::Training;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(library), Some(parent)) = (arguments.next(), arguments.next()) else {
        eprintln!("pgboost_train starts this program; it takes no commands of a person's");
        return ExitCode::from(2);
    };
    if !parent.to_str().and_then(|pid| pid.parse().ok()).is_some_and(child_process::enter) {
        return ExitCode::FAILURE;
    }
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
    send(&mut backend, &Reply::Ready(VERSION.to_owned()))?;
    let mut training = None;
    loop {
        let answer = match (receive(&mut backend, u64::MAX)?, &mut training) {
            (Request::Build(job), _) => {
                let start = start_model(&mut backend, &job)?;
                // What was built before is freed first.
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

/// The bytes of the model that the training goes on from.
fn start_model(backend: &mut UnixStream, job: &Job) -> io::Result<Option<Vec<u8>>> {
    job.start.map(|start| receive_bytes(backend, start.bytes, u64::MAX)).transpose()
}

fn send_model(backend: &mut UnixStream, model: &[u8]) -> io::Result<()> {
    send(backend, &Reply::Model(model.len() as u64))?;
    backend.write_all(model)
}
