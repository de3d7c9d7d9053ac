//! Text with one fault each: refused for the right reason, at the right line.

use super::{FRAME, LINEAR, edited};
use crate::malformed::{cases, parse};
use gbtrees::ErrorKind;

/// Runs cases: a name, edits of the valid model, the error's kind and place, and a word of its message.
fn run(text: &str) {
    run_after("", text);
}

/// Runs cases after edits that keep the model valid.
fn run_after(first: &str, text: &str) {
    for [name, edits, kind, place, word] in cases(text) {
        let edits = format!("{first}{edits}");
        let Err(error) = parse(edited(&edits).as_bytes()) else { panic!("{name} is accepted") };
        assert_eq!(format!("{:?}", error.kind()), kind, "{name}: {error}");
        assert_eq!(error.place().to_string(), place, "{name}: {error}");
        assert!(error.message().contains(&word), "{name}: {error}");
    }
}

#[test]
fn header() {
    run(r#"
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
        a key twice | shrinkage=1 -> shrinkage=1\nnum_cat=1 | DuplicateKey | tree 0, line 30 | "num_cat"
    "#);
}

#[test]
fn linear_leaves() {
    run_after(
        LINEAR,
        r#"
        is it linear | is_linear=1 -> is_linear=yes | Number | tree 0, line 28 | "is_linear"
        no constants | leaf_const=1 2 3\n -> | MissingKey | tree 0, line 33 | "leaf_const"
        constants too few | leaf_const=1 2 3 -> leaf_const=1 2 | Length | tree 0, line 29 | 2 values where 3
        constant NaN | leaf_const=1 2 3 -> leaf_const=1 nan 3 | NotFinite | tree 0, node 3 | constant
        no counts | num_features=1 0 2\n -> | MissingKey | tree 0, line 33 | "num_features"
        count negative | num_features=1 0 2 -> num_features=1 -1 2
            | Number | tree 0, line 30 | "num_features"
        counts too many | num_features=1 0 2 -> num_features=1 0 2 0 | Length | tree 0, line 30 | more values
        a term too few | num_features=1 0 2 -> num_features=1 1 2
            | Length | tree 0, line 31 | 3 values where 4 belong
        a term too many | num_features=1 0 2 -> num_features=1 0 1 | Length | tree 0, line 31 | more values
        terms without end | num_features=1 0 2 -> num_features=4294967295 0 4294967295
            | Length | tree 0, line 31 | 3 values where 8589934590 belong
        no features | leaf_features=2   0 1\n -> | MissingKey | tree 0, line 33 | "leaf_features"
        feature negative | leaf_features=2 -> leaf_features=-2 | Number | tree 0, line 31 | "leaf_features"
        feature beyond the end | leaf_features=2 -> leaf_features=3
            | FeatureRange | tree 0, node 2 | feature 3 of a model of 3
        no coefficients | leaf_coeff=0.5   1 -1e-3\n -> | MissingKey | tree 0, line 33 | "leaf_coeff"
        coefficients too few | leaf_coeff=0.5   1 -1e-3 -> leaf_coeff=0.5 1
            | Length | tree 0, line 32 | 2 values where 3
        coefficient NaN | leaf_coeff=0.5   1 -1e-3 -> leaf_coeff=0.5   1 nan
            | NotFinite | tree 0, node 4 | coefficient
        coefficient infinite | leaf_coeff=0.5 -> leaf_coeff=inf | NotFinite | tree 0, node 2 | coefficient
    "#,
    );
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
fn sizes_are_compared_with_the_trees() {
    let sizes = |bytes: &str| FRAME.replacen("tree_sizes=", &format!("tree_sizes={bytes}"), 1);
    parse(sizes("").as_bytes()).unwrap();
    let error = parse(sizes("1").as_bytes()).unwrap_err();
    assert_eq!(
        (error.kind(), error.place().to_string().contains("tree 0")),
        (ErrorKind::Length, true)
    );
}

/// LightGBM does not use the last size.
#[test]
fn the_last_size_may_be_wrong() {
    let header = FRAME.lines().find(|line| line.starts_with("tree_sizes=")).unwrap();
    let other = FRAME.replacen(header, &format!("{header}7"), 1);
    assert_eq!(parse(other.as_bytes()).unwrap(), parse(FRAME.as_bytes()).unwrap());
}

/// Releases before 2.1 write no version.
#[test]
fn a_file_without_a_version_is_of_v2() {
    let trees = |text: &str| parse(text.as_bytes()).unwrap().trees().to_vec();
    let of_v2 = FRAME.replacen("version=v4", "version=v2", 1);
    assert_eq!(trees(&FRAME.replacen("version=v4\n", "", 1)), trees(&of_v2));
}
