//! Models that are wrong in one way each: every one is refused, for the right reason and in the
//! right place, in both encodings; and no damage to a valid model makes the parser panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

mod binary;
mod catboost;
mod damage;
mod learner;
mod lightgbm;
mod limits;
mod models;
mod onnx;
mod syntax;
mod trees;
mod unsupported;
mod value;

use gbdt::model::Model;
use gbdt::{Error, ErrorKind, Limits, Place};
use value::{Document, value};

/// Where the edits of [`run`] lead: the model of the booster, the learner's parameters, the booster
/// itself, and the first tree.
const PREFIXES: [(&str, &str); 4] = [
    ("M.", "learner.gradient_booster.model."),
    ("P.", "learner.learner_model_param."),
    ("B.", "learner.gradient_booster."),
    ("$.", "learner.gradient_booster.model.trees.0."),
];

fn parse(bytes: &[u8]) -> Result<Model, Error> {
    gbdt::parse(bytes, &Limits::default(), &mut || {})
}

/// Does edits with semicolons between them.
fn edit(model: &mut Document, edits: &str) {
    edits.split(';').for_each(|edit| step(model, edit));
}

/// Does one edit: `path = value` replaces, `path + value` adds a member, `path -` removes one.
fn step(model: &mut Document, edit: &str) {
    let (path, change) = edit.trim().split_once(' ').unwrap();
    let prefix = PREFIXES.iter().find(|(short, _)| path.starts_with(short));
    let path = prefix.map_or(path.to_owned(), |(short, long)| path.replacen(short, long, 1));
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", &path));
    match change.split_at(1) {
        ("=", text) => model.set(&path, value(text)),
        ("+", text) => model.add(parent, key, value(text)),
        _ => model.remove(parent, key),
    }
}

/// Runs cases on both encodings of a model that is valid before. A case has a name, what is done to
/// the model, the kind of the error and its place; lines that are indented further belong to the
/// line before.
fn run(valid: fn() -> Document, cases: &str) {
    parse(&valid().to_json()).unwrap();
    parse(&valid().to_ubjson()).unwrap();
    for case in cases.replace("\n            ", " ").lines().filter(|line| !line.trim().is_empty())
    {
        let [name, edits, kind, place] =
            case.split(" | ").map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let mut model = valid();
        edit(&mut model, edits);
        for (encoding, bytes) in [("json", model.to_json()), ("ubjson", model.to_ubjson())] {
            let Err(error) = parse(&bytes) else { panic!("{name} is accepted as {encoding}") };
            assert_eq!(format!("{:?}", error.kind()), kind, "{name} as {encoding}: {error}");
            let found = match error.place() {
                Place::Byte(_) => "byte".to_owned(),
                Place::Model => "model".to_owned(),
                place => place.to_string(),
            };
            assert_eq!(found, place, "{name} as {encoding}: {error}");
        }
    }
}

#[test]
fn the_models_to_damage_are_valid_and_alike_in_both_encodings() {
    for valid in [models::binary, models::categorical] {
        let json = parse(&valid().to_json()).unwrap();
        let ubjson = parse(&valid().to_ubjson()).unwrap();
        assert_eq!(json.trees(), ubjson.trees());
        assert_eq!(json.base_margin(), ubjson.base_margin());
        assert_eq!(json.categories(), ubjson.categories());
        assert_eq!(json.version(), [3, 4, 1]);
    }
    let model = parse(&models::categorical().to_json()).unwrap();
    let set = &model.trees()[0].category_sets()[0];
    let members: Vec<u32> = (0..100).filter(|code| set.contains(*code)).collect();
    assert_eq!(members, [1, 40]);
}
