//! Models with one fault each are refused for the right reason and in the right place, in both
//! encodings; and no damage to a valid model causes a panic.

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

use gbtrees::internals::Ensemble;
use gbtrees::{Cancel, Error, ErrorKind, Limits, Place};
use value::{Document, value};

/// Abbreviations of paths. XGBoost: the booster's model, the learner's parameters, the booster, and the
/// first tree. CatBoost: the first symmetric tree and its two splits, the root of the first asymmetric
/// tree, the first numeric feature, and the first target statistic with its table.
const PREFIXES: [(&str, &str); 11] = [
    ("M.", "learner.gradient_booster.model."),
    ("P.", "learner.learner_model_param."),
    ("B.", "learner.gradient_booster."),
    ("$.", "learner.gradient_booster.model.trees.0."),
    ("T.", "oblivious_trees.0."),
    ("S.", "oblivious_trees.0.splits.0."),
    ("C.", "oblivious_trees.0.splits.1."),
    ("R.", "trees.0."),
    ("F.", "features_info.float_features.0."),
    ("K.", "features_info.ctrs.0."),
    ("D.", catboost::TABLE),
];

/// The name of an encoding, and its encoder.
type Encoding = (&'static str, fn(&Document) -> Vec<u8>);
const JSON: Encoding = ("json", Document::to_json);
const UBJSON: Encoding = ("ubjson", Document::to_ubjson);

fn parse(bytes: &[u8]) -> Result<Ensemble, Error> {
    gbtrees::internals::parse(bytes, &Limits::default(), Cancel::never())
}

/// Applies edits separated by semicolons.
fn edit(model: &mut Document, edits: &str) {
    edits.split(';').for_each(|edit| step(model, edit));
}

/// Applies one edit: `path = value` replaces, `path + value` adds a member, `path -` removes one.
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

/// Splits a text into cases, one per line, of parts separated by ` | `; further indented lines continue
/// the line before.
fn cases<const PARTS: usize>(text: &str) -> Vec<[String; PARTS]> {
    let text = text.replace("\n            ", " ");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let parts =
        |line: &str| line.split(" | ").map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    lines.map(|line| parts(line).try_into().unwrap()).collect()
}

/// Runs cases on both encodings of a valid XGBoost model.
fn run(valid: fn() -> Document, cases: &str) {
    run_as(&[JSON, UBJSON], valid, cases);
}

/// Runs cases on encodings of a valid model. A case has a name, edits, and the error's kind and place.
fn run_as(encodings: &[Encoding], valid: fn() -> Document, text: &str) {
    for (encoding, encode) in encodings {
        parse(&encode(&valid())).unwrap();
        for [name, edits, kind, place] in cases(text) {
            let mut model = valid();
            edit(&mut model, &edits);
            let Err(error) = parse(&encode(&model)) else {
                panic!("{name} is accepted as {encoding}")
            };
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
