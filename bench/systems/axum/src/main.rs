//! The microservice without Python: `axum_service --bind ADDRESS --threads N --flights PLACE MODEL...`.
//!
//! It answers the requests that `python_baseline/service.py` describes, with the extension's engine. Models are
//! read once, and so are features from a CSV file of `python -m data.flights`. If PLACE is a URL of Redis, each
//! request reads its features there.

mod flights;
mod model;
mod offers;
mod service;

use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::model::{Failure, Refused};
use crate::service::Service;

const LARGEST_BODY: usize = 1 << 20;

/// The command line's arguments.
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
        Err(Refused::Gone(message)) => {
            answer(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": message }))
        }
    }
}

/// A route that reads a body.
macro_rules! reads {
    ($service:ident, $body:ident => $answered:expr) => {
        post(move |State($service): State<Arc<Service>>, $body: Bytes| async move {
            respond($answered.await)
        })
    };
}

fn router(service: Service) -> Router {
    let mut router = Router::new()
        .route("/ping", get(|| async { answer(StatusCode::OK, &json!("pong")) }))
        .route("/", reads!(service, body => service.one(0, &body)))
        .route("/batch", reads!(service, body => service.batch(&body)))
        .route("/features", reads!(service, body => service.features(&body)))
        .route("/given", reads!(service, body => service.given(&body)))
        .route("/rank_ids", reads!(service, body => service.rank_ids(&body)))
        .route("/fresh", reads!(service, body => service.fresh(&body)));
    for size in offers::SIZES {
        let rank = reads!(service, body => service.rank(size, &body));
        router = router.route(&format!("/rank/{size}"), rank);
    }
    for model in 0..service.models() {
        let one = reads!(service, body => service.one(model, &body));
        router = router.route(&format!("/{model}"), one);
    }
    router.layer(DefaultBodyLimit::max(LARGEST_BODY)).with_state(Arc::new(service))
}

fn serve() -> Result<(), Failure> {
    let arguments = Arguments::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments.threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let service = Service::open(&arguments.models, &arguments.flights).await?;
        let listener = tokio::net::TcpListener::bind(&arguments.bind).await?;
        axum::serve(listener, router(service)).await?;
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
