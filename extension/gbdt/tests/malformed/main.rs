//! Models that are wrong in one way each: every one is refused, for the right reason and in the
//! right place, in both encodings; and no damage to a valid model makes the parser panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

mod damage;
mod learner;
mod limits;
mod models;
mod syntax;
mod trees;
mod unsupported;
mod value;

use gbdt::model::Model;
use gbdt::{Error, ErrorKind, Limits, Place};
use value::Value;

/// Where an error must be reported.
#[derive(Clone, Copy, Debug)]
enum Where {
    Model,
    /// At some byte; which one depends on the encoding.
    Byte,
    Tree(usize),
    Node(usize, usize),
}

impl Where {
    fn is(self, place: Place) -> bool {
        match (self, place) {
            (Where::Byte, Place::Byte(_)) | (Where::Model, Place::Model) => true,
            (Where::Tree(wanted), Place::Tree(tree)) => wanted == tree,
            (Where::Node(tree, node), place) => place == Place::Node { tree, node },
            _ => false,
        }
    }
}

/// One way to be wrong: what is done to a valid model, and how it must be refused.
type Case = (&'static str, fn(&mut Value), ErrorKind, Where);

fn parse(bytes: &[u8]) -> Result<Model, Error> {
    gbdt::parse(bytes, &Limits::default(), &mut || {})
}

/// Runs cases on both encodings of a model that is valid before.
fn run(valid: fn() -> Value, cases: &[Case]) {
    parse(&valid().to_json()).unwrap();
    parse(&valid().to_ubjson()).unwrap();
    for (name, edit, kind, place) in cases {
        let mut model = valid();
        edit(&mut model);
        for (encoding, bytes) in [("json", model.to_json()), ("ubjson", model.to_ubjson())] {
            let Err(error) = parse(&bytes) else { panic!("{name} is accepted as {encoding}") };
            assert_eq!(error.kind(), *kind, "{name} as {encoding}: {error}");
            assert!(place.is(error.place()), "{name} as {encoding}: {error}, not {place:?}");
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
