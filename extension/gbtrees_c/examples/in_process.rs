//! Calls the engine in process from a timed loop.
//!
//! It takes the flags of the comparison's load generator and writes the same log of 64-bit numbers: the
//! clock's start in nanoseconds since 1970, then for each block of calls the times it was due, started
//! and finished. With `-check` it compares the values of all rows with XGBoost's, to the bit.

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gbtrees::{Model, Output, Predictor, Rows};

type Failure = Box<dyn Error>;

/// Parses flags and their arguments; `-check` has none.
fn flags() -> HashMap<String, String> {
    let mut given = std::env::args().skip(1);
    let mut found = HashMap::new();
    while let Some(flag) = given.next() {
        let value = if flag == "-check" { None } else { given.next() };
        found.insert(flag, value.unwrap_or_default());
    }
    found
}

fn numbers(path: &Path) -> Result<Vec<f32>, Failure> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect())
}

struct Rung {
    model: Model,
    features: Vec<f32>,
    answers: Vec<f32>,
}

impl Rung {
    /// Opens the model, and features.f32 and answers.f32 next to it.
    fn open(model: &str, rows: &str) -> Result<Self, Failure> {
        let model = Model::load(&std::fs::read(model)?)?;
        let place = Path::new(rows).parent().ok_or("the rows lie nowhere")?;
        let features = numbers(&place.join("features.f32"))?;
        let answers = numbers(&place.join("answers.f32"))?;
        if answers.is_empty() || features.len() != answers.len() * model.num_features() {
            return Err("features and answers differ in number".into());
        }
        Ok(Rung { model, features, answers })
    }

    fn predict(&self, predictor: &mut Predictor<'_>, row: usize) -> gbtrees::Result<f32> {
        let width = self.model.num_features();
        let mut value = [0.0f32];
        let features = &self.features[row * width..(row + 1) * width];
        let row = Rows::dense(features, [1, width])?;
        predictor.predict_into(&row, Output::Value, &mut value)?;
        Ok(value[0])
    }

    fn check(&self) -> Result<(), Failure> {
        let mut predictor = self.model.predictor();
        for (row, answer) in self.answers.iter().enumerate() {
            let value = self.predict(&mut predictor, row)?;
            if value.to_bits() != answer.to_bits() {
                println!("{{\"different\":\"row {row}: {value}, not {answer}\"}}");
                return Ok(());
            }
        }
        println!("{{\"compared\":{}}}", self.answers.len());
        Ok(())
    }

    fn run(&self, block: usize, lasts: Duration, log: &str) -> Result<(), Failure> {
        let mut predictor = self.model.predictor();
        let mut entries = vec![SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as i64];
        let (begin, mut row) = (Instant::now(), 0);
        while begin.elapsed() < lasts {
            let due = begin.elapsed().as_nanos() as i64;
            for _ in 0..block {
                black_box(self.predict(&mut predictor, row)?);
                row = if row + 1 == self.answers.len() { 0 } else { row + 1 };
            }
            entries.extend([due, due, begin.elapsed().as_nanos() as i64]);
        }
        let mut file = std::io::BufWriter::new(std::fs::File::create(log)?);
        for entry in &entries {
            file.write_all(&entry.to_le_bytes())?;
        }
        file.flush()?;
        println!("{{\"requests\":{},\"rows\":{block}}}", entries.len() / 3);
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    let flags = flags();
    let flag = |name: &str| flags.get(name).map(String::as_str).ok_or(format!("no {name}"));
    if flag("-verb")? != "features" {
        return Err("it is asked for features alone".into());
    }
    let rung = Rung::open(flag("-model")?, flag("-rows")?)?;
    if flags.contains_key("-check") {
        return rung.check();
    }
    let seconds = |name| Ok::<f64, Failure>(flag(name)?.trim_end_matches('s').parse()?);
    let lasts = Duration::from_secs_f64(seconds("-warm-up")? + seconds("-lasts")?);
    rung.run(flag("-block")?.parse()?, lasts, flag("-log")?)
}
