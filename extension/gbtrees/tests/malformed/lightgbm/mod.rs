//! LightGBM text models: a small one to damage, accepted variants, and limits.

mod damage;
mod wrong;

use std::sync::LazyLock;

use crate::malformed::parse;
use gbtrees::internals::{CategorySet, Node};
use gbtrees::{Cancel, ErrorKind, Limits, Place};

/// A tree with a numerical and a categorical split, whose set has codes 1 and 33, and a tree of one
/// leaf. Line numbers start at 1; the first tree has lines 11 to 28.
const VALID: &str = "\
tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:1
feature_names=a b c
feature_infos=[-1:1.5] 1:33:0 none

Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
split_gain=8 2
threshold=0.5 0
decision_type=10 1
left_child=1 -1
right_child=-2 -3
leaf_value=0.25 -0.5 0.75
leaf_weight=1 2 3
leaf_count=10 20 30
internal_value=0 0
internal_weight=0 0
internal_count=60 40
cat_boundaries=0 2
cat_threshold=2 2
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
split_gain=
threshold=
decision_type=
left_child=
right_child=
leaf_value=0.125
leaf_weight=
leaf_count=
internal_value=
internal_weight=
internal_count=
is_linear=0
shrinkage=1


end of trees

feature_importances:
a=1
b=1

parameters:
[boosting: gbdt]
[categorical_feature: 1]

end of parameters

pandas_categorical:null
";

/// A file of LightGBM 4.7.0 with categories of text, numbers and booleans.
static FRAME: LazyLock<&str> =
    LazyLock::new(|| std::str::from_utf8(golden_models::file("lightgbm/4.7.0/frame.txt")).unwrap());

/// Applies edits separated by semicolons: `old -> new`, once, with `\n` for a newline.
fn edited(edits: &str) -> String {
    edits.split("; ").fold(VALID.to_owned(), |text, edit| {
        let (old, new) = edit.trim().split_once(" ->").unwrap();
        let [old, new] =
            [old, new.strip_prefix(' ').unwrap_or(new)].map(|part| part.replace("\\n", "\n"));
        assert!(text.contains(&old), "{edit}");
        text.replacen(&old, &new, 1)
    })
}

/// An edit that gives the first tree linear leaves, one without features, in lines 29 to 32.
const LINEAR: &str = "is_linear=0 -> is_linear=1\\nleaf_const=1 2 3\\nnum_features=1 0 2\\n\
    leaf_features=2   0 1\\nleaf_coeff=0.5   1 -1e-3; ";

#[test]
fn linear_leaves_are_read() {
    let model = parse(edited(&format!("{LINEAR}version=v4 -> version=v3")).as_bytes()).unwrap();
    let output = |row: &[f64]| {
        let mut margin = [0.0f64];
        gbtrees::internals::oracle::margins(&model, row, &mut margin);
        // The other tree is a single leaf.
        margin[0] - 0.125
    };
    // The first split leads to the second leaf, which returns its constant.
    assert_eq!(output(&[0.75, f64::NAN, f64::NAN]), 2.0);
    // The set leads to the first leaf, NaN to the third; a missing feature gives the leaf's value.
    assert_eq!(output(&[0.25, 1.0, 4.0]), 3.0);
    assert_eq!(output(&[0.25, 1.0, f64::NAN]), 0.25);
    assert_eq!(output(&[0.25, 2.0, f64::NAN]), 3.0 + 0.25 - 2e-3);
    assert_eq!(output(&[0.25, f64::NAN, 1.0]), 0.75);
    // LightGBM takes this as 0.
    assert_eq!(output(&[1e-36, 2.0, 0.0]), 3.0 - 2e-3);
}

#[test]
fn the_model_to_damage_is_valid() {
    let model = parse(VALID.as_bytes()).unwrap();
    assert_eq!(model.format(), "lightgbm text");
    assert_eq!(model.feature_names(), ["a", "b", "c"]);
    assert_eq!((model.trees().len(), model.num_rounds(), model.trees()[0].depth()), (2, 2, 2));
    let set = &model.trees()[0].category_sets()[0];
    let members: Vec<u32> = (0..100).filter(|code| CategorySet::contains(set, *code)).collect();
    assert_eq!(members, [1, 33]);
    assert!(matches!(model.trees()[1].nodes(), [Node::Leaf { .. }]));
}

#[test]
fn lightgbms_other_spellings_are_accepted() {
    for (name, edits) in [
        ("no number of trees per iteration", "num_tree_per_iteration=1\n ->"),
        ("no objective", "objective=binary sigmoid:1\n ->"),
        ("custom objective", "binary sigmoid:1 -> custom"),
        ("an old name", "binary sigmoid:1 -> mean_absolute_error"),
        (
            "no gains and counts",
            "split_gain=8 2\n ->; leaf_count=10 20 30\n ->; internal_count=60 40\n ->",
        ),
        (
            "unknown keys",
            "label_index=0 -> label_index=0\nweather=fine; num_leaves=3 -> num_leaves=3\nweather=fine",
        ),
        (
            "no parameters",
            "\nparameters:\n[boosting: gbdt]\n[categorical_feature: 1]\n\nend of parameters\n ->",
        ),
        ("no categories", "\npandas_categorical:null\n ->"),
        ("no newline at the end", "null\n -> null"),
        (
            "v2, which has no end of trees",
            "version=v4 -> version=v2; end of trees\n\n ->; feature_importances -> feature importances",
        ),
        ("infinite threshold", "threshold=0.5 0 -> threshold=inf 0"),
        ("large threshold", "threshold=0.5 0 -> threshold=1.0000000000000001e+300 0"),
        ("categories of text", "null -> [[\"a\", \"b\"]]; 1:33:0 -> 1:0"),
        ("no categories at all", "null -> []"),
        ("a column of no categories", "null -> [[]]; 1:33:0 -> -1:0"),
        ("whole numbers among others", "null -> [[1, 0.5, 2]]; 1:33:0 -> 1:0"),
    ] {
        let model =
            parse(edited(edits).as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        gbtrees::internals::CompiledModel::open(
            gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap(),
        )
        .unwrap();
    }
    // A copy that a program has marked as UTF-8, or put lines behind.
    for copy in [format!("\u{feff}{VALID}"), format!("{VALID}\n  \n\t"), format!("{VALID} ")] {
        assert_eq!(parse(copy.as_bytes()).unwrap(), parse(VALID.as_bytes()).unwrap());
    }
    // A copy with CRLF line endings; sizes are the original's.
    for text in [VALID, *FRAME] {
        let model = parse(text.replace('\n', "\r\n").as_bytes()).unwrap();
        assert_eq!(model, parse(text.as_bytes()).unwrap());
    }
}

#[test]
fn a_model_at_a_limit_is_accepted_and_one_above_is_not() {
    type Bound = (&'static str, usize, fn(&mut Limits, usize));
    let cases: [Bound; 5] = [
        ("trees", 2, |limits, size| limits.trees = size),
        ("nodes", 6, |limits, size| limits.nodes = size),
        ("depth", 2, |limits, size| limits.depth = size),
        ("features", 3, |limits, size| limits.features = size),
        ("bytes", VALID.len(), |limits, size| limits.bytes = size),
    ];
    for (name, size, set) in cases {
        let mut limits = Limits::default();
        set(&mut limits, size);
        gbtrees::internals::parse(VALID.as_bytes(), &limits, Cancel::never()).unwrap();
        set(&mut limits, size - 1);
        let error =
            gbtrees::internals::parse(VALID.as_bytes(), &limits, Cancel::never()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
        // Refused before the tree is read.
        assert!(name != "trees" || matches!(error.place(), Place::Line { tree: None, .. }));
    }
    let outputs = edited(
        "num_class=1 -> num_class=2; num_tree_per_iteration=1 -> num_tree_per_iteration=2; \
        objective=binary sigmoid:1\\n ->",
    );
    let limits = |outputs| Limits::default().with_outputs(outputs);
    gbtrees::internals::parse(outputs.as_bytes(), &limits(2), Cancel::never()).unwrap();
    let error =
        gbtrees::internals::parse(outputs.as_bytes(), &limits(1), Cancel::never()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}
