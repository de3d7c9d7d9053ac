//! LightGBM's text models that are wrong in one way each: refused for the right reason, at the right
//! line; and no damage to a valid one makes the reader panic.

use crate::damage::{Random, survives};
use crate::parse;
use gbdt::model::{CategorySet, Node};
use gbdt::{ErrorKind, Limits};

/// A tree with a numerical and a categorical split, whose set has the codes 1 and 33, and a tree of
/// one leaf. Lines are numbered from 1: the first tree has lines 11 to 28.
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

/// A file that LightGBM 4.7.0 wrote: categories of text, numbers and booleans.
const FRAME: &str = include_str!("../golden/lightgbm/4.7.0/frame.txt");

/// Does edits with semicolons between: `old -> new`, once, with `\n` for a new line.
fn edited(edits: &str) -> String {
    edits.split("; ").fold(VALID.to_owned(), |text, edit| {
        let (old, new) = edit.trim().split_once(" ->").unwrap();
        let [old, new] =
            [old, new.strip_prefix(' ').unwrap_or(new)].map(|part| part.replace("\\n", "\n"));
        assert!(text.contains(&old), "{edit}");
        text.replacen(&old, &new, 1)
    })
}

/// Runs cases: a name, edits of the valid model, the kind of the error, its place, and a word of its
/// message; lines that are indented further belong to the line before.
fn run(cases: &str) {
    for case in cases.replace("\n            ", " ").lines().filter(|line| !line.trim().is_empty())
    {
        let [name, edits, kind, place, word] =
            case.split(" | ").map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let Err(error) = parse(edited(edits).as_bytes()) else { panic!("{name} is accepted") };
        assert_eq!(format!("{:?}", error.kind()), kind, "{name}: {error}");
        assert_eq!(error.place().to_string(), place, "{name}: {error}");
        assert!(error.message().contains(word), "{name}: {error}");
    }
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
fn header() {
    run(r#"
        no version | version=v4\n -> | MissingKey | line 9 | "version"
        version to come | version=v4 -> version=v5 | Unsupported | line 2 | "v5"
        no classes | num_class=1\n -> | MissingKey | line 9 | "num_class"
        classes are text | num_class=1 -> num_class=one | Number | line 3 | "num_class"
        classes differ from trees | num_class=1 -> num_class=2 | Parameter | line 3 | "num_class"
        no output | num_class=1\nnum_tree_per_iteration=1 -> num_class=0 | Parameter | line 3 | "num_class"
        negative outputs | num_class=1 -> num_class=-1; num_tree_per_iteration=1 -> num_tree_per_iteration=-1
            | Parameter | line 4 | "num_tree_per_iteration"
        no features | max_feature_idx=2 -> max_feature_idx=-1 | Parameter | line 6 | "max_feature_idx"
        feature index too large | max_feature_idx=2 -> max_feature_idx=2147483647 | Limit | line 6 | features
        no feature index | max_feature_idx=2\n -> | MissingKey | line 9 | "max_feature_idx"
        no names | feature_names=a b c\n -> | MissingKey | line 9 | "feature_names"
        names too few | names=a b c -> names=a b | Length | line 8 | 2 values where 3 belong
        names too many | names=a b c -> names=a b c d | Length | line 8 | "feature_names"
        the same name twice | names=a b c -> names=a b a | Names | the model as a whole | "a"
        no infos | feature_infos=[-1:1.5] 1:33:0 none\n -> | MissingKey | line 9 | "feature_infos"
        infos too few | 1:33:0 none -> none | Length | line 9 | "feature_infos"
        infos are nonsense | 1:33:0 none -> 1:x none | Parameter | line 9 | "feature_infos"
        range without an end | [-1:1.5] -> [-1:1.5 | Parameter | line 9 | "feature_infos"
        a key twice | label_index=0 -> label_index=0\nnum_class=1 | DuplicateKey | line 6 | "num_class"
        unknown objective | binary sigmoid:1 -> survival_cox | Unsupported | line 7 | "survival_cox"
        objective with control characters | binary sigmoid:1 -> b"n | Unsupported | line 7 | (unprintable)
        no sigmoid | binary sigmoid:1 -> binary | Parameter | line 7 | sigmoid
        sigmoid is 0 | sigmoid:1 -> sigmoid:0 | Parameter | line 7 | sigmoid
        sigmoid is NaN | sigmoid:1 -> sigmoid:nan | Parameter | line 7 | sigmoid
        classes of one output | binary sigmoid:1 -> multiclass num_class:3 | Parameter | line 7 | "objective"
        one output of several | num_class=1 -> num_class=2;
            num_tree_per_iteration=1 -> num_tree_per_iteration=2 | Parameter | line 7 | "objective"
        sizes too few | none\n -> none\ntree_sizes=319\n | Length | the model as a whole | "tree_sizes"
        sizes are text | none\n -> none\ntree_sizes=1 x\n | Number | line 10 | "tree_sizes"
        mean of no trees | feature_infos -> average_output\nfeature_infos; Tree=0\n -> end of trees\nTree=0\n
            | Length | the model as a whole | no trees
    "#);
}

#[test]
fn trees() {
    run(r#"
        another tree | Tree=1 -> Tree=2 | Parameter | line 32 | tree 1
        something else | Tree=1 -> Wood=1 | Syntax | line 32 | "end of trees"
        no leaves | num_leaves=3 -> num_leaves=0 | Parameter | tree 0, line 12 | "num_leaves"
        negative leaves | num_leaves=3 -> num_leaves=-3 | Parameter | tree 0, line 12 | "num_leaves"
        leaves without end | num_leaves=3 -> num_leaves=2147483647 | Limit | tree 0, line 12 | nodes
        many leaves, few values | num_leaves=3 -> num_leaves=8000000 | Length | tree 0, line 20 | "leaf_value"
        leaves missing | num_leaves=3\n -> | MissingKey | tree 0, line 29 | "num_leaves"
        no number of sets | num_cat=1\n -> | MissingKey | tree 0, line 29 | "num_cat"
        sets negative | num_cat=1 -> num_cat=-1 | Parameter | tree 0, line 13 | "num_cat"
        sets without end | num_cat=1 -> num_cat=2147483647 | Length | tree 0, line 26 | "cat_boundaries"
        features too few | split_feature=0 1 -> split_feature=0 | Length | tree 0, line 14 | "split_feature"
        features too many | split_feature=0 1 -> split_feature=0 1 2 | Length | tree 0, line 14 | more values
        features missing | split_feature=0 1\n -> | MissingKey | tree 0, line 29 | "split_feature"
        feature beyond the end | split_feature=0 1 -> split_feature=0 3 | FeatureRange | tree 0, node 1 | 3
        feature negative | split_feature=0 1 -> split_feature=-1 1 | FeatureRange | tree 0, node 0 | below 0
        gains are text | split_gain=8 2 -> split_gain=8 a | Number | tree 0, line 15 | "split_gain"
        thresholds missing | threshold=0.5 0\n -> | MissingKey | tree 0, line 29 | "threshold"
        threshold is NaN | threshold=0.5 0 -> threshold=nan 0 | NotFinite | tree 0, node 0 | threshold
        decision types missing | decision_type=10 1\n -> | MissingKey | tree 0, line 29 | "decision_type"
        decision type too large | decision_type=10 1 -> decision_type=128 1
            | Number | tree 0, line 17 | "decision_type"
        unknown missing type | decision_type=10 1 -> decision_type=12 1 | Parameter | tree 0, node 0 | missing
        negative decision type | decision_type=10 1 -> decision_type=-2 1
            | Parameter | tree 0, node 0 | missing
        left children missing | left_child=1 -1\n -> | MissingKey | tree 0, line 29 | "left_child"
        split beyond the end | left_child=1 -1 -> left_child=2 -1 | TreeShape | tree 0, node 0 | child 2
        leaf beyond the end | right_child=-2 -3 -> right_child=-2 -4 | TreeShape | tree 0, node 1 | child -4
        the smallest i32 | right_child=-2 -3 -> right_child=-2 -2147483648
            | TreeShape | tree 0, node 1 | child
        leaf of two splits | right_child=-2 -3 -> right_child=-2 -2
            | TreeShape | tree 0, node 3 | more than one
        cycle | left_child=1 -1 -> left_child=1 0 | TreeShape | tree 0, node 0 | more than one
        leaf that nothing leads to | left_child=1 -1 -> left_child=-1 -1
            | TreeShape | tree 0, node 1 | no split
        values missing | leaf_value=0.25 -0.5 0.75\n -> | MissingKey | tree 0, line 29 | "leaf_value"
        value infinite | leaf_value=0.25 -> leaf_value=inf | NotFinite | tree 0, node 2 | leaf
        value NaN | leaf_value=0.125 -> leaf_value=nan | NotFinite | tree 1, node 0 | leaf
        values with commas | 0.25 -0.5 0.75 -> 0.25,-0.5,0.75 | Number | tree 0, line 20 | "leaf_value"
        counts too few | leaf_count=10 20 30 -> leaf_count=10 20 | Length | tree 0, line 22 | "leaf_count"
        linear leaves | is_linear=0 -> is_linear=1 | Unsupported | tree 0, line 28 | linear
        a key twice | shrinkage=1 -> shrinkage=1\nnum_cat=1 | DuplicateKey | tree 0, line 30 | "num_cat"
    "#);
}

#[test]
fn category_sets() {
    run(r#"
        boundaries missing | cat_boundaries=0 2\n -> | MissingKey | tree 0, line 29 | "cat_boundaries"
        words missing | cat_threshold=2 2\n -> | MissingKey | tree 0, line 29 | "cat_threshold"
        boundaries too few | cat_boundaries=0 2 -> cat_boundaries=0
            | Length | tree 0, line 26 | "cat_boundaries"
        boundaries descend | num_cat=1 -> num_cat=2; cat_boundaries=0 2 -> cat_boundaries=0 3 2
            | CategoryRange | tree 0, line 26 | ascend
        boundaries begin late | cat_boundaries=0 2 -> cat_boundaries=1 2
            | CategoryRange | tree 0, line 26 | ascend
        boundaries negative | cat_boundaries=0 2 -> cat_boundaries=0 -2
            | CategoryRange | tree 0, line 26 | ascend
        words too few | cat_boundaries=0 2 -> cat_boundaries=0 3 | Length | tree 0, line 27 | 2 values where 3
        words without end | cat_boundaries=0 2 -> cat_boundaries=0 2147483647
            | Length | tree 0, line 27 | 2 values
        word too large | cat_threshold=2 2 -> cat_threshold=2 4294967296
            | Number | tree 0, line 27 | "cat_threshold"
        set beyond the end | threshold=0.5 0 -> threshold=0.5 1
            | CategoryRange | tree 0, node 1 | no categories
        set between two | threshold=0.5 0 -> threshold=0.5 0.5
            | CategoryRange | tree 0, node 1 | no categories
        set negative | threshold=0.5 0 -> threshold=0.5 -1 | CategoryRange | tree 0, node 1 | no categories
        no sets at all | num_cat=1 -> num_cat=0 | CategoryRange | tree 0, node 1 | no categories
        two rules for zeros | split_feature=0 1 -> split_feature=0 0;
            decision_type=10 1 -> decision_type=10 6;
            threshold=0.5 0 -> threshold=0.5 0.1 | Unsupported | tree 0, node 1 | disagree
    "#);
    let words = 1 << 19;
    let large = edited(&format!(
        "cat_boundaries=0 2 -> cat_boundaries=0 {}; cat_threshold=2 2 -> cat_threshold={}",
        words + 1,
        "1 ".repeat(words + 1)
    ));
    assert_eq!(parse(large.as_bytes()).unwrap_err().kind(), ErrorKind::CategoryRange);
}

#[test]
fn tail() {
    run(r#"
        lines after the categories | null\n -> null\nmore\n | Syntax | line 64 | further
        categories are a number | null -> 1 | WrongType | line 63 | array
        categories of several types | null -> [["a", 1]] | WrongType | line 63 | several types
        category null | null -> [["a", null]] | WrongType | line 63 | several types
        the same category twice | null -> [["a", "a"]]; 1:33:0 -> 1:0 | Names | the model as a whole | twice
        lists for no feature | null -> [["a", "b"], ["c"], ["d"], ["e"]] | Unsupported | line 63 | pandas
        JSON with a tail | null -> null 1 | Syntax | line 63 | further
        parameters without end | end of parameters\n\npandas_categorical:null\n ->
            | Truncated | line 60 | parameters
    "#);
}

#[test]
fn what_lightgbm_writes_or_reads_besides_is_accepted() {
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
        gbdt::Image::open(gbdt::compile(&model, &[], &mut || ()).unwrap()).unwrap();
    }
    // A copy that went through another system's line ends; sizes are those of the original.
    for text in [VALID, FRAME] {
        let model = parse(text.replace('\n', "\r\n").as_bytes()).unwrap();
        assert_eq!(model, parse(text.as_bytes()).unwrap());
    }
}

#[test]
fn sizes_are_compared_with_the_trees() {
    let sizes = |bytes: &str| FRAME.replacen("tree_sizes=", &format!("tree_sizes={bytes}"), 1);
    parse(sizes("").as_bytes()).unwrap();
    let error = parse(sizes("1").as_bytes()).unwrap_err();
    assert_eq!(
        (error.kind(), error.place().to_string().contains("tree 0")),
        (ErrorKind::Length, true)
    );
}

/// Up to the end of the trees every truncation is refused. Behind it, where lines that not every file has
/// begin, the rest may be absent, and what is left gives the same trees.
#[test]
fn every_truncation_is_refused_or_leaves_all_trees() {
    for text in [VALID, FRAME] {
        let whole = parse(text.as_bytes()).unwrap();
        let trees_end = text.find("end of trees").unwrap() + "end of trees".len();
        // A long file is cut at every byte of its end, and at some before.
        let step = if text.len() < 2000 { 1 } else { 7 };
        let early = (0..trees_end).step_by(step);
        for length in early.chain(trees_end..text.len()) {
            match parse(&text.as_bytes()[..length]) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes: {error}")
                }
                Ok(model) => {
                    assert!(length >= trees_end, "{length} bytes are accepted");
                    assert_eq!(model.trees(), whole.trees());
                    let last = text[..length].trim_end_matches('\n').lines().last().unwrap();
                    assert!(
                        text.lines().any(|line| line == last),
                        "a line is cut at {length} bytes"
                    );
                }
            }
        }
    }
}

#[test]
fn damaged_bytes_are_refused_or_give_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut counts = [0, 0];
    let valid = VALID.as_bytes();
    for index in 0..valid.len() {
        let mut damaged = valid.to_vec();
        for value in [0, 0xff, b'\n', b'=', b' ', b'-', b'9', random.next() as u8] {
            damaged[index] = value;
            counts[usize::from(survives(&damaged))] += 1;
        }
    }
    for (bytes, times) in [(valid, 10_000), (FRAME.as_bytes(), 1000)] {
        for _ in 0..times {
            counts[usize::from(survives(&random.damaged(bytes)))] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
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
        gbdt::parse(VALID.as_bytes(), &limits, &mut || {}).unwrap();
        set(&mut limits, size - 1);
        let error = gbdt::parse(VALID.as_bytes(), &limits, &mut || {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
    }
    let outputs = edited(
        "num_class=1 -> num_class=2; num_tree_per_iteration=1 -> num_tree_per_iteration=2; \
        objective=binary sigmoid:1\\n ->",
    );
    let limits = |outputs| Limits { outputs, ..Limits::default() };
    gbdt::parse(outputs.as_bytes(), &limits(2), &mut || {}).unwrap();
    let error = gbdt::parse(outputs.as_bytes(), &limits(1), &mut || {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

/// However a megabyte is spent, a caller is asked whether to go on.
#[test]
fn a_cancel_is_looked_for_within_one_line() {
    let mebibytes = 4;
    let spaces = " ".repeat(mebibytes << 20);
    for text in [
        format!("tree\n{spaces}"),
        edited(&format!("leaf_value= -> leaf_value={spaces}x")),
        edited(&format!("feature_names= -> feature_names={spaces}x")),
        edited(&format!("binary -> {spaces}x")),
        edited(&format!("1:33:0 -> {}", "1:".repeat(mebibytes << 19))),
        edited(&format!("null -> [[{}", "1,".repeat(mebibytes << 19))),
    ] {
        let mut pauses = 0;
        let _ = gbdt::parse(text.as_bytes(), &Limits::default(), &mut || pauses += 1);
        assert!(pauses >= mebibytes, "{pauses} pauses in {} MiB", text.len() >> 20);
    }
}
