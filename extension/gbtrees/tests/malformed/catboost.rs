//! Damage to CatBoost's files: truncated, changed anywhere, or with one fault each.
//!
//! Byte by byte damage uses golden models; single faults use JSON small enough to read here.

use gbtrees::internals::CompiledModel;
use gbtrees::internals::{Ensemble, ImportanceKind, importance};
use gbtrees::{Cancel, ErrorKind, Limits};
use serde_json::json;

use crate::malformed::damage::{Random, change_every_byte, survives};
use crate::malformed::value::Document;
use crate::malformed::{JSON, edit, parse, run_as};

const SYMMETRIC: &str = "catboost/1.2.10/one_hot.cbm";
const OTHER: &str = "catboost/1.2.10/lossguide_multiclass.cbm";
const OLD: &str = "catboost/0.26.1/nan_max.cbm";
const STATISTICS: &str = "catboost/1.2.10/ctr_simple.cbm";

/// A symmetric tree with a border and a category, and a tree of one leaf.
fn symmetric() -> Document {
    Document(json!({
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
    }))
}

/// A tree of two splits and three leaves with two values each.
fn other() -> Document {
    let split = |border: f64| {
        json!({"split_type": "FloatFeature", "float_feature_index": 0, "border": border,
               "split_index": if border < 1.0 { 0 } else { 1 }})
    };
    let leaf = |first: f64| json!({"value": [first, -first], "weight": 1});
    let Document(mut model) = symmetric();
    model["trees"] = json!([{
        "split": split(0.5), "left": leaf(1.0),
        "right": {"split": split(1.5), "left": leaf(2.0), "right": leaf(3.0)}
    }]);
    model["model_info"]["params"]["loss_function"]["type"] = json!("MultiClass");
    model["scale_and_bias"] = json!([1, [0, 0]]);
    model.as_object_mut().unwrap().remove("oblivious_trees");
    Document(model)
}

/// The path of the table in [`statistics`].
pub(crate) const TABLE: &str = concat!(
    "ctr_data.{\"identifier\":[{\"cat_feature_index\":0,\"combination_element\":\"cat_feature_value\"},",
    "{\"border\":1,\"combination_element\":\"float_feature\",\"float_feature_index\":0}],",
    "\"type\":\"Borders\"}."
);

/// A stump on a statistic of a category and a condition. Category 7 had no row above the border in
/// training, and three of four others were of the second class.
fn statistics() -> Document {
    let Document(mut model) = symmetric();
    let elements = json!([
        {"combination_element": "cat_feature_value", "cat_feature_index": 0},
        {"combination_element": "float_feature", "float_feature_index": 0, "border": 1}
    ]);
    model["features_info"]["ctrs"] = json!([{
        "borders": [2.5, 7], "ctr_type": "Borders", "elements": elements, "prior_denomerator": 1,
        "prior_numerator": 0.5, "scale": 10, "shift": 0, "target_border_idx": 0
    }]);
    model["oblivious_trees"] = json!([{
        "leaf_values": [1, 2],
        "splits": [{"split_type": "OnlineCtr", "border": 2.5, "ctr_target_border_idx": 0, "split_index": 4}]
    }]);
    model["scale_and_bias"] = json!([1, [0]]);
    let factor = 0x4906_ba49_4954_cb65_u64;
    let combined =
        |key: u64, part: u64| factor.wrapping_mul(key.wrapping_add(factor.wrapping_mul(part)));
    let key = combined(combined(0, 7), 0);
    let table = json!({
        "counter_denominator": 0, "hash_stride": 3,
        "hash_map": [u64::MAX.to_string(), 9, 9, key.to_string(), 1, 3]
    });
    let name = TABLE.strip_prefix("ctr_data.").and_then(|path| path.strip_suffix('.')).unwrap();
    model["ctr_data"] = json!({ name: table });
    Document(model)
}

fn margins(model: &Ensemble, rows: &[[f32; 3]]) -> Vec<f64> {
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(model, &[], Cancel::never()).unwrap())
            .unwrap();
    let mut scratch = gbtrees::internals::Scratch::new(&compiled);
    let mut all = Vec::new();
    for row in rows {
        let mut margins = vec![0.0f64; compiled.num_outputs()];
        compiled.margins(&mut scratch, row, &mut margins).unwrap();
        all.extend(margins);
    }
    all
}

#[test]
fn the_models_to_damage_are_valid() {
    let model = parse(&symmetric().to_json()).unwrap();
    // Codes follow the hashes: only 4294967287 is tested by a split.
    let rows = [[1.5, 1.0, 0.0], [1.6, 1.0, 0.0], [f32::NAN, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let expected = [0.75, 1.25, 2.25, 1.75];
    assert_eq!(margins(&model, &rows), expected);
    // 10 (3 + 0.5) / (4 + 1) is 7; unknown keys give 10 (0 + 0.5) / 1, which is 5. Rows have hashes.
    let model = parse(&statistics().to_json()).unwrap();
    let hash = f32::from_bits;
    let mut highest = statistics();
    edit(&mut highest, "S.border = 7; S.split_index = 5");
    let highest = parse(&highest.to_json()).unwrap();
    let rows = [[1.0, hash(7), 0.0], [f32::NAN, hash(7), 0.0], [0.0, hash(8), 0.0]];
    assert_eq!(margins(&model, &rows), [2.0, 2.0, 2.0]);
    assert_eq!(margins(&highest, &rows), [1.0, 1.0, 1.0]);
    // A split on a statistic counts for each feature that it combines.
    assert_eq!(importance(&model, ImportanceKind::Weight), [1.0, 1.0, 0.0]);
    let model = parse(&other().to_json()).unwrap();
    assert_eq!(margins(&model, &[[0.5, 0.0, 0.0], [2.0, 0.0, 0.0]]), [1.0, -1.0, 3.0, -3.0]);
}

#[test]
fn malformed_symmetric_trees_are_refused_by_reason() {
    run_as(
        &[JSON],
        symmetric,
        r#"
        no trees | oblivious_trees - | MissingKey | model
        no features | features_info - | MissingKey | model
        no information | model_info - | MissingKey | model
        no objective | model_info.params - | MissingKey | model
        both kinds of trees | trees + [] | Parameter | model
        an objective of the user's | model_info.params.loss_function.type = "Mine" | Unsupported | model
        too few leaves | T.leaf_values = [1, 2, 3] | Length | tree 0
        no leaves | T.leaf_values = [] | Length | tree 0
        leaves of two values | T.leaf_values = [1, 2, 3, 4, 5, 6, 7, 8] | Length | tree 1
        no leaf values | T.leaf_values - | MissingKey | tree 0
        a leaf that is text | T.leaf_values.0 = "1" | WrongType | byte
        a split of a type to come | S.split_type = "Hyperplane" | Unsupported | tree 0
        a split of statistics | S.split_type = "OnlineCtr" | Parameter | tree 0
        a split of text | S.split_type = "EstimatedFeature" | Unsupported | tree 0
        a split without a type | S.split_type - | MissingKey | tree 0
        a split without a border | S.border - | MissingKey | tree 0
        another border than the bin's | S.border = 1.25 | Parameter | tree 0
        a feature that is not there | S.float_feature_index = 5 | FeatureRange | tree 0
        a bin that is not there | S.split_index = 4 | FeatureRange | tree 0
        a negative bin | S.split_index = -1 | FeatureRange | tree 0
        another category than the bin's | C.value = 7 | Parameter | tree 0
        a hash that is too large | C.value = 4000000000 | Number | byte
        a categorical feature that is not there | C.cat_feature_index = 1 | FeatureRange | tree 0
        two features in one column | F.flat_feature_index = 2 | Parameter | model
        a feature without a column | F.flat_feature_index - | FeatureRange | model
        a column beyond the limit | F.flat_feature_index = 65536 | Limit | model
        an unknown treatment of NaN | F.nan_value_treatment = "Drop" | Parameter | byte
        text | features_info.text_features + [{"feature_index": 0, "flat_feature_index": 3}]
            | Unsupported | model
        three parts of scale and bias | scale_and_bias = [1, [0], 2] | Limit | byte
        no bias | scale_and_bias = [1] | Length | byte
        a threshold that is none | model_info.binclass_probability_threshold + "1.5" | Parameter | model
    "#,
    );
}

#[test]
fn malformed_statistics_are_refused_by_reason() {
    run_as(
        &[JSON],
        statistics,
        r#"
        no tables | ctr_data - | MissingKey | model
        tables that are null | ctr_data = null | MissingKey | model
        a kind to come | K.ctr_type = "Median" | Unsupported | model
        no kind | K.ctr_type - | MissingKey | model
        another kind than the table's | K.ctr_type = "Counter" | MissingKey | model
        no elements | K.elements - | MissingKey | model
        a condition alone | K.elements = [
            {"combination_element": "float_feature", "float_feature_index": 0, "border": 1}
            ]; ctr_data = {"{\"identifier\":[{\"border\":1,\"combination_element\":\"float_feature\",
            \"float_feature_index\":0}],\"type\":\"Borders\"}": {"hash_stride": 3, "hash_map": []}}
            | FeatureRange | model
        an element of another kind | K.elements.0.combination_element = "text" | Unsupported | model
        an element without a feature | K.elements.0.cat_feature_index - | MissingKey | model
        an element without a border | K.elements.1.border - | MissingKey | model
        a border that is another | K.elements.1.border = 2 | MissingKey | model
        a border of the target that is not there | K.target_border_idx = 1 | Parameter | model
        a negative border of the target | K.target_border_idx = -1 | Parameter | model
        a border that a split does not name | K.borders = [3, 7] | Parameter | tree 0
        a bin behind all | S.split_index = 6 | FeatureRange | tree 0
        a bin of a number | S.split_index = 1 | Parameter | tree 0
        no bin | S.split_index - | MissingKey | tree 0
        no stride | D.hash_stride - | MissingKey | model
        a stride of nothing | D.hash_stride = 1 | Length | byte
        keys alone | D.hash_stride = 1; D.hash_map = ["5", "6"] | Length | byte
        a stride that is too long | D.hash_stride = 4 | Length | byte
        a stride that comes out even | D.hash_stride = 2 | Length | byte
        a key without counts | D.hash_map = ["1"] | Length | byte
        counts without a key | D.hash_map = [1, 2] | Length | byte
        a key that is no number | D.hash_map = ["x", 1, 2] | Number | byte
        a key that is too large | D.hash_map = ["18446744073709551616", 1, 2] | Number | byte
        a key twice | D.hash_map = ["5", 1, 2, "5", 1, 2] | DuplicateKey | model
        a count that is too large | D.hash_map = ["5", 1, 3000000000] | Number | byte
        a count that is not whole | D.hash_map = ["5", 1, 2.5] | Length | byte
        a denominator that is too large | D.counter_denominator = 3000000000 | Number | byte
        tables twice | ctr_data + {"x": {"hash_stride": 2, "hash_map": []}} | DuplicateKey | byte
    "#,
    );
}

#[test]
fn features_and_statistics_are_bounded() {
    for (file, limit, message) in [
        (SYMMETRIC, 2, "model has 3 features, more than the limit of 2"),
        (SYMMETRIC, 4, "model has 5 features, more than the limit of 4"),
        (STATISTICS, 5, "model has 6 target statistics, more than the limit of 5"),
        (STATISTICS, 6, "model has 11 features and target statistics, more than the limit of 6"),
    ] {
        let limits = Limits::default().with_features(limit);
        let bytes = golden_models::file(file);
        let error = gbtrees::internals::parse(bytes, &limits, Cancel::never()).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Limit, message), "{file}");
    }
}

#[test]
fn malformed_asymmetric_trees_are_refused_by_reason() {
    run_as(
        &[JSON],
        other,
        r#"
        an objective of one value | model_info.params.loss_function.type = "RMSE" | Parameter | model
        biases for other outputs | scale_and_bias = [1, [1, 2, 3]] | Length | model
        a node without a side | R.left - | TreeShape | tree 0
        a node that is both | R.value + [1, 2] | TreeShape | tree 0
        a node that is neither | R.left.value - | TreeShape | tree 0
        leaves of other lengths | R.left.value = [1] | TreeShape | tree 0
        a class that is named twice | model_info.class_params + {"class_names": ["a", "a"], "class_to_label": [0, 1]}
            | Names | model
    "#,
    );
}

#[test]
fn every_truncation_is_refused() {
    for bytes in [SYMMETRIC, OTHER, OLD, STATISTICS].map(golden_models::file) {
        parse(bytes).unwrap();
        for length in 4..bytes.len() {
            let error = parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}");
        }
        let longer = [bytes, b"x"].concat();
        assert_eq!(parse(&longer).unwrap_err().kind(), ErrorKind::Syntax);
    }
    for model in [symmetric(), other(), statistics()] {
        let bytes = model.to_json();
        for length in 0..bytes.len() {
            let error = parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}");
        }
    }
}

/// The length and the rest are corrected, so that the FlatBuffer itself is truncated.
#[test]
fn a_truncated_flatbuffer_is_refused() {
    for bytes in [SYMMETRIC, OTHER].map(golden_models::file) {
        for length in 8..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            cut[4..8].copy_from_slice(&u32::try_from(length - 8).unwrap().to_le_bytes());
            survives(&cut);
        }
    }
}

fn models() -> Vec<Vec<u8>> {
    let json = [symmetric(), other(), statistics()].map(|model| model.to_json());
    let golden = [SYMMETRIC, OTHER, STATISTICS].map(|file| golden_models::file(file).to_vec());
    golden.into_iter().chain(json).collect()
}

#[test]
fn every_changed_byte_gives_an_error_or_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for bytes in models() {
        let counts = change_every_byte(&bytes, &[], &mut random);
        (refused, accepted) = (refused + counts[0], accepted + counts[1]);
    }
    assert!(accepted > 1000 && refused > 4000, "{accepted} accepted, {refused} refused");
}

#[test]
fn numbers_anywhere_give_an_error_or_a_model() {
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
