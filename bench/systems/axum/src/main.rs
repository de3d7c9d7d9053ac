//! The microservice without Python: `axum_service --bind ADDRESS --threads N --flights FILE MODEL...`.
//!
//! It answers the requests that `python_baseline/service.py` describes, with the engine that the extension has.
//! Models and features are read once and lie in its memory, so no request asks another process for anything. The
//! features are the CSV that `python -m data.flights` writes.

mod flights;
mod model;
mod service;

use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde_json::{Value, json};

use crate::model::{Failure, Refused};
use crate::service::Service;

const LARGEST_BODY: usize = 1 << 20;

/// What the command line says.
#[derive(Default)]
struct Arguments {
    bind: String,
    threads: usize,
    flights: String,
    models: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self, String> {
        let mut found = Arguments { threads: 1, ..Arguments::default() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--bind" => found.bind = value()?,
                "--flights" => found.flights = value()?,
                "--threads" => {
                    let given = value()?.parse().ok().filter(|threads| *threads > 0);
                    found.threads = given.ok_or("--threads must be at least 1")?;
                }
                _ => found.models.push(word),
            }
        }
        Ok(found)
    }
}

fn answer(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

type Answered = Result<Value, Refused>;

fn respond(answered: Answered) -> Response {
    match answered {
        Ok(value) => answer(StatusCode::OK, &value),
        Err(Refused::Bad(message)) => answer(StatusCode::BAD_REQUEST, &json!({ "error": message })),
        Err(Refused::Unknown(message)) => {
            answer(StatusCode::NOT_FOUND, &json!({ "error": message }))
        }
    }
}

/// A route that reads a body.
fn reads<S: Send + Sync + 'static>(ask: fn(&S, &[u8]) -> Answered) -> MethodRouter<Arc<S>> {
    post(move |State(asked): State<Arc<S>>, body: Bytes| async move { respond(ask(&asked, &body)) })
}

fn of_flights(service: Service) -> Router {
    let mut router = Router::new()
        .route("/ping", get(|| async { answer(StatusCode::OK, &json!("pong")) }))
        .route("/", reads(|service: &Service, body| service.one(0, body)))
        .route("/batch", reads(Service::batch))
        .route("/features", reads(Service::features))
        .route("/given", reads(Service::given))
        .route("/all", reads(Service::all));
    for model in 0..service.models() {
        let one = move |State(service): State<Arc<Service>>, body: Bytes| async move {
            respond(service.one(model, &body))
        };
        router = router.route(&format!("/{model}"), post(one));
    }
    router.with_state(Arc::new(service))
}

fn router(arguments: &Arguments) -> Result<Router, Failure> {
    let service = Service::open(&arguments.models, &arguments.flights)?;
    Ok(of_flights(service).layer(DefaultBodyLimit::max(LARGEST_BODY)))
}

fn serve() -> Result<(), Failure> {
    let arguments = Arguments::read()?;
    let router = router(&arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments.threads)
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(&arguments.bind).await?;
        axum::serve(listener, router).await?;
        Ok(())
    })
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
