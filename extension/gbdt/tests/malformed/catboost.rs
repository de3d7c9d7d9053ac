//! Damage to CatBoost's files: cut short, changed anywhere, or wrong in one way.
//!
//! The files that are damaged byte by byte are golden models; the JSON that is wrong in one way each is
//! small enough to read here.

use gbdt::model::{Model, Node, TreeOutput};
use gbdt::{ErrorKind, Image, Place};
use serde_json::{Value, json};

use crate::parse;

const SYMMETRIC: &[u8] = include_bytes!("../golden/catboost/1.2.10/one_hot.cbm");
const OTHER: &[u8] = include_bytes!("../golden/catboost/1.2.10/lossguide_multiclass.cbm");
const OLD: &[u8] = include_bytes!("../golden/catboost/0.26.1/nan_max.cbm");

/// A symmetric tree of a border and a category, and one of a leaf.
fn symmetric() -> Value {
    json!({
        "features_info": {
            "categorical_features": [
                {"feature_index": 0, "flat_feature_index": 1, "feature_id": "c", "values": [7, -9]}
            ],
            "float_features": [
                {"feature_index": 0, "flat_feature_index": 0, "borders": [0.5, 1.5], "has_nans": true,
                 "nan_value_treatment": "AsTrue", "feature_id": "a"},
                {"feature_index": 1, "flat_feature_index": 2, "borders": null, "has_nans": false,
                 "nan_value_treatment": "AsIs", "feature_id": ""}
            ]
        },
        "model_info": {"params": {"loss_function": {"type": "Logloss"}}},
        "oblivious_trees": [
            {"leaf_values": [1.0, 2.0, 3.0, 4.0], "leaf_weights": [1, 2, 3, 4], "splits": [
                {"split_type": "FloatFeature", "float_feature_index": 0, "border": 1.5, "split_index": 1},
                {"split_type": "OneHotFeature", "cat_feature_index": 0, "value": -9, "split_index": 3}
            ]},
            {"leaf_values": [0.25], "splits": null}
        ],
        "scale_and_bias": [0.5, [0.125]]
    })
}

/// A tree of two splits and three leaves of two values each.
fn other() -> Value {
    let split = |border: f64| {
        json!({"split_type": "FloatFeature", "float_feature_index": 0, "border": border,
               "split_index": if border < 1.0 { 0 } else { 1 }})
    };
    let leaf = |first: f64| json!({"value": [first, -first], "weight": 1});
    let mut model = symmetric();
    model["trees"] = json!([{
        "split": split(0.5), "left": leaf(1.0),
        "right": {"split": split(1.5), "left": leaf(2.0), "right": leaf(3.0)}
    }]);
    model["model_info"]["params"]["loss_function"]["type"] = json!("MultiClass");
    model["scale_and_bias"] = json!([1, [0, 0]]);
    model.as_object_mut().unwrap().remove("oblivious_trees");
    model
}

fn margins(model: &Model, rows: &[[f32; 3]]) -> Vec<f64> {
    let image = Image::open(gbdt::compile(model, &[], &mut || ()).unwrap()).unwrap();
    let mut scratch = gbdt::Scratch::new(&image);
    let mut all = Vec::new();
    for row in rows {
        let mut margins = vec![0.0f64; image.num_outputs()];
        image.margins(&mut scratch, row, &mut margins);
        all.extend(margins);
    }
    all
}

#[test]
fn the_models_to_damage_are_valid() {
    let model = parse(symmetric().to_string().as_bytes()).unwrap();
    // Codes follow the hashes: 4294967287 is the only one that a split tests.
    let rows = [[1.5, 1.0, 0.0], [1.6, 1.0, 0.0], [f32::NAN, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let expected = [0.75, 1.25, 2.25, 1.75];
    assert_eq!(margins(&model, &rows), expected);
    let model = parse(other().to_string().as_bytes()).unwrap();
    assert_eq!(margins(&model, &[[0.5, 0.0, 0.0], [2.0, 0.0, 0.0]]), [1.0, -1.0, 3.0, -3.0]);
}

/// Each has a name, a model, a path, what is put there (nothing: the key is removed), and the kind and
/// place of the error.
#[test]
fn what_is_wrong_is_refused_for_its_reason() {
    type Case = (&'static str, fn() -> Value, &'static str, Option<Value>, ErrorKind, &'static str);
    let tree = "/oblivious_trees/0";
    let at = |path: &str| -> &'static str { Box::leak(format!("{tree}{path}").into_boxed_str()) };
    let node = "/trees/0";
    let below =
        |path: &str| -> &'static str { Box::leak(format!("{node}{path}").into_boxed_str()) };
    let feature = "/features_info/float_features/0";
    let of =
        |path: &str| -> &'static str { Box::leak(format!("{feature}{path}").into_boxed_str()) };
    let split = |key: &str| at(&format!("/splits/0/{key}"));
    let one_hot = |key: &str| at(&format!("/splits/1/{key}"));
    use ErrorKind::{
        FeatureRange, Length, MissingKey, Number, Parameter, TreeShape, Unsupported, WrongType,
    };
    let cases: Vec<Case> = vec![
        ("no trees", symmetric, "/oblivious_trees", None, MissingKey, "model"),
        ("no features", symmetric, "/features_info", None, MissingKey, "model"),
        ("no information", symmetric, "/model_info", None, MissingKey, "model"),
        ("no objective", symmetric, "/model_info/params", None, MissingKey, "model"),
        ("both kinds of trees", symmetric, "/trees", Some(json!([])), Parameter, "model"),
        (
            "an objective of the user's",
            symmetric,
            "/model_info/params/loss_function/type",
            Some(json!("Mine")),
            Unsupported,
            "model",
        ),
        (
            "an objective of one value",
            other,
            "/model_info/params/loss_function/type",
            Some(json!("RMSE")),
            Parameter,
            "model",
        ),
        ("too few leaves", symmetric, at("/leaf_values"), Some(json!([1, 2, 3])), Length, "tree 0"),
        ("no leaves", symmetric, at("/leaf_values"), Some(json!([])), Length, "tree 0"),
        (
            "leaves of two values",
            symmetric,
            at("/leaf_values"),
            Some(json!([1, 2, 3, 4, 5, 6, 7, 8])),
            Length,
            "tree 1",
        ),
        ("no leaf values", symmetric, at("/leaf_values"), None, MissingKey, "tree 0"),
        (
            "a leaf that is text",
            symmetric,
            at("/leaf_values/0"),
            Some(json!("1")),
            WrongType,
            "byte",
        ),
        (
            "a split of a type to come",
            symmetric,
            split("split_type"),
            Some(json!("Hyperplane")),
            Unsupported,
            "tree 0",
        ),
        (
            "a split of statistics",
            symmetric,
            split("split_type"),
            Some(json!("OnlineCtr")),
            Unsupported,
            "tree 0",
        ),
        ("a split without a type", symmetric, split("split_type"), None, MissingKey, "tree 0"),
        ("a split without a border", symmetric, split("border"), None, MissingKey, "tree 0"),
        (
            "another border than the bin's",
            symmetric,
            split("border"),
            Some(json!(1.25)),
            Parameter,
            "tree 0",
        ),
        (
            "a feature that is not there",
            symmetric,
            split("float_feature_index"),
            Some(json!(5)),
            FeatureRange,
            "tree 0",
        ),
        (
            "a bin that is not there",
            symmetric,
            split("split_index"),
            Some(json!(4)),
            FeatureRange,
            "tree 0",
        ),
        (
            "a negative bin",
            symmetric,
            split("split_index"),
            Some(json!(-1)),
            FeatureRange,
            "tree 0",
        ),
        (
            "another category than the bin's",
            symmetric,
            one_hot("value"),
            Some(json!(7)),
            Parameter,
            "tree 0",
        ),
        (
            "a hash that is too large",
            symmetric,
            one_hot("value"),
            Some(json!(4_000_000_000u32)),
            Number,
            "byte",
        ),
        (
            "a categorical feature that is not there",
            symmetric,
            one_hot("cat_feature_index"),
            Some(json!(1)),
            FeatureRange,
            "tree 0",
        ),
        (
            "two features in one column",
            symmetric,
            of("/flat_feature_index"),
            Some(json!(2)),
            Parameter,
            "model",
        ),
        (
            "a feature without a column",
            symmetric,
            of("/flat_feature_index"),
            None,
            FeatureRange,
            "model",
        ),
        (
            "a column beyond the limit",
            symmetric,
            of("/flat_feature_index"),
            Some(json!(65536)),
            ErrorKind::Limit,
            "model",
        ),
        (
            "an unknown treatment of NaN",
            symmetric,
            of("/nan_value_treatment"),
            Some(json!("Drop")),
            Parameter,
            "byte",
        ),
        (
            "statistics",
            symmetric,
            "/features_info/ctrs",
            Some(json!([{"elements": [{"cat_feature_index": 0}]}])),
            Unsupported,
            "model",
        ),
        (
            "text",
            symmetric,
            "/features_info/text_features",
            Some(json!([{"feature_index": 0, "flat_feature_index": 3}])),
            Unsupported,
            "model",
        ),
        (
            "three parts of scale and bias",
            symmetric,
            "/scale_and_bias",
            Some(json!([1, [0], 2])),
            ErrorKind::Limit,
            "byte",
        ),
        ("no bias", symmetric, "/scale_and_bias", Some(json!([1])), Length, "byte"),
        (
            "biases for other outputs",
            other,
            "/scale_and_bias",
            Some(json!([1, [1, 2, 3]])),
            Length,
            "model",
        ),
        ("a node without a side", other, below("/left"), None, TreeShape, "tree 0"),
        ("a node that is both", other, below("/value"), Some(json!([1, 2])), TreeShape, "tree 0"),
        ("a node that is neither", other, below("/left/value"), None, TreeShape, "tree 0"),
        (
            "leaves of other lengths",
            other,
            below("/left/value"),
            Some(json!([1])),
            TreeShape,
            "tree 0",
        ),
        (
            "a class that is named twice",
            other,
            "/model_info/class_params",
            Some(json!({"class_names": ["a", "a"], "class_to_label": [0, 1]})),
            ErrorKind::Names,
            "model",
        ),
        (
            "a threshold that is none",
            symmetric,
            "/model_info/binclass_probability_threshold",
            Some(json!("1.5")),
            Parameter,
            "model",
        ),
    ];
    for (name, valid, path, value, kind, place) in cases {
        let mut model = valid();
        let (parent, key) = path.rsplit_once('/').unwrap();
        match (model.pointer_mut(parent).unwrap(), value) {
            (Value::Object(members), Some(value)) => drop(members.insert(key.to_owned(), value)),
            (Value::Object(members), None) => assert!(members.remove(key).is_some(), "{name}"),
            (Value::Array(elements), Some(value)) => {
                elements[key.parse::<usize>().unwrap()] = value
            }
            _ => panic!("{name}: nothing to change"),
        }
        let outcome = parse(model.to_string().as_bytes());
        let Err(error) = outcome else { panic!("{name} is accepted") };
        assert_eq!(error.kind(), kind, "{name}: {error}");
        let found = match error.place() {
            Place::Byte(_) => "byte".to_owned(),
            Place::Model => "model".to_owned(),
            place => place.to_string(),
        };
        assert_eq!(found, place, "{name}: {error}");
    }
}

#[test]
fn every_truncation_is_refused() {
    for bytes in [SYMMETRIC, OTHER, OLD] {
        parse(bytes).unwrap();
        for length in 4..bytes.len() {
            let error = parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}");
        }
        let longer = [bytes, b"x"].concat();
        assert_eq!(parse(&longer).unwrap_err().kind(), ErrorKind::Syntax);
    }
    for model in [symmetric(), other()] {
        let bytes = model.to_string().into_bytes();
        for length in 0..bytes.len() {
            let error = parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}");
        }
    }
}

/// The length and what follows it are made to fit, so that the FlatBuffer itself is cut.
#[test]
fn a_flatbuffer_that_is_cut_is_refused() {
    for bytes in [SYMMETRIC, OTHER] {
        for length in 8..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            cut[4..8].copy_from_slice(&u32::try_from(length - 8).unwrap().to_le_bytes());
            survives(&cut);
        }
    }
}

/// Parses damaged bytes and tells whether they still are a model, which must then be a sound one.
fn survives(bytes: &[u8]) -> bool {
    let model = match parse(bytes) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.message().is_empty());
            return false;
        }
    };
    assert!(model.num_outputs() > 0 && model.num_features() > 0);
    assert_eq!(model.categories().len(), model.num_features());
    for tree in model.trees() {
        let mut way = vec![0usize];
        let mut steps = 0;
        while let Some(id) = way.pop() {
            steps += 1;
            assert!(steps <= tree.nodes().len());
            match &tree.nodes()[id] {
                Node::Leaf { value, .. } => {
                    assert!(value.is_finite() && tree.output() == TreeOutput::One(0));
                }
                Node::LeafVector { vector, .. } => {
                    assert!(
                        (*vector as usize + 1) * model.num_outputs() <= tree.leaf_vectors().len()
                    );
                }
                Node::Numerical { feature, left, right, .. }
                | Node::Categorical { feature, left, right, .. } => {
                    assert!((*feature as usize) < model.num_features());
                    way.extend([*left as usize, *right as usize]);
                }
                Node::Deleted => panic!("a link leads to a deleted node"),
            }
        }
    }
    true
}

/// A generator of Marsaglia's xorshift kind, so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn models() -> Vec<Vec<u8>> {
    let json = [symmetric(), other()].map(|model| model.to_string().into_bytes());
    [SYMMETRIC.to_vec(), OTHER.to_vec()].into_iter().chain(json).collect()
}

#[test]
fn every_changed_byte_is_refused_or_gives_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for bytes in models() {
        let mut damaged = bytes.clone();
        for index in 0..bytes.len() {
            let byte = bytes[index];
            for value in [0, 0xff, byte ^ 1, byte ^ 0x80, random.next() as u8] {
                damaged[index] = value;
                if survives(&damaged) { accepted += 1 } else { refused += 1 }
            }
            damaged[index] = byte;
        }
    }
    assert!(accepted > 1000 && refused > 4000, "{accepted} accepted, {refused} refused");
}

#[test]
fn numbers_anywhere_are_refused_or_give_a_model() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut refused = 0;
    for bytes in models() {
        for _ in 0..3000 {
            let mut damaged = bytes.clone();
            for _ in 0..=random.below(3) {
                let start = random.below(damaged.len() / 4) * 4;
                let number = match random.below(5) {
                    0 => random.next() as u32,
                    1 => random.below(256) as u32,
                    2 => random.below(damaged.len()) as u32,
                    3 => u32::MAX - random.below(64) as u32,
                    _ => i32::MAX as u32,
                };
                if let Some(place) = damaged.get_mut(start..start + 4) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            refused += usize::from(!survives(&damaged));
        }
    }
    assert!(refused > 4000, "{refused} refused");
}
