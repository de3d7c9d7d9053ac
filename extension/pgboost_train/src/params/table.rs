//! The parameters that a training takes, with their types and ranges.
//!
//! The names are XGBoost's own and those of its scikit-learn interface (python-package's
//! sklearn.py, `XGBModel`), so that what was written for Python can be pasted. What is not in the table does not reach
//! libxgboost: of the rest, some would read or write files of the server, some choose devices or
//! other ways of updating trees, and some belong to boosters that pgboost does not evaluate.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRule {
    /// A number between two bounds, both allowed.
    Number(f64, f64),
    /// A whole number between two bounds, both allowed.
    Whole(i64, i64),
    /// true or false, or 1 or 0.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number, or at most this many, each above 0 and below 1.
    Fractions(usize),
}

#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    /// Other names for the same: XGBoost's own, or those of its scikit-learn interface.
    pub aliases: &'static [&'static str],
    pub rule: ValueRule,
}

impl Parameter {
    /// The main name first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

use ValueRule::{Bool, Fractions, Number, Whole, Word};

/// A bound that no number passes.
pub const ANY: f64 = f32::MAX as f64;

const fn parameter(name: &'static str, rule: ValueRule) -> Parameter {
    Parameter { name, aliases: &[], rule }
}

const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    rule: ValueRule,
) -> Parameter {
    Parameter { name, aliases, rule }
}

pub const MAX_ROUNDS: i32 = 1_000_000;

/// A fraction that is not zero.
const SHARE: ValueRule = Number(1e-6, 1.0);

/// The parameters. `objective`, `eval_metric` and the constraints are read by rules of their own.
pub const TABLE: &[Parameter] = &[
    aliased(
        "rounds",
        &["n_estimators", "num_boost_round", "num_round"],
        Whole(1, MAX_ROUNDS as i64),
    ),
    aliased("seed", &["random_state"], Whole(i32::MIN as i64, i32::MAX as i64)),
    parameter("early_stopping_rounds", Whole(1, MAX_ROUNDS as i64)),
    parameter("booster", Word(&["gbtree", "dart"])),
    parameter("tree_method", Word(&["hist", "auto"])),
    aliased("eta", &["learning_rate"], Number(0.0, ANY)),
    aliased("gamma", &["min_split_loss"], Number(0.0, ANY)),
    parameter("max_depth", Whole(0, 64)),
    parameter("max_leaves", Whole(0, 1 << 20)),
    parameter("min_child_weight", Number(0.0, ANY)),
    parameter("max_delta_step", Number(0.0, ANY)),
    parameter("subsample", SHARE),
    parameter("colsample_bytree", SHARE),
    parameter("colsample_bylevel", SHARE),
    parameter("colsample_bynode", SHARE),
    aliased("lambda", &["reg_lambda"], Number(0.0, ANY)),
    aliased("alpha", &["reg_alpha"], Number(0.0, ANY)),
    parameter("scale_pos_weight", Number(0.0, ANY)),
    parameter("rate_drop", Number(0.0, 1.0)),
    parameter("one_drop", Bool),
    parameter("skip_drop", Number(0.0, 1.0)),
    parameter("sample_type", Word(&["uniform", "weighted"])),
    parameter("normalize_type", Word(&["tree", "forest"])),
    parameter("grow_policy", Word(&["depthwise", "lossguide"])),
    parameter("max_bin", Whole(2, 65_536)),
    parameter("num_parallel_tree", Whole(1, 10_000)),
    parameter("max_cached_hist_node", Whole(1, 1 << 20)),
    parameter("max_cat_to_onehot", Whole(1, 1 << 24)),
    parameter("max_cat_threshold", Whole(1, 1 << 24)),
    parameter("base_score", Number(-ANY, ANY)),
    parameter("num_class", Whole(2, 4_096)),
    aliased("nthread", &["n_jobs"], Whole(1, 1_024)),
    parameter("seed_per_iteration", Bool),
    parameter("tweedie_variance_power", Number(1.0, 2.0)),
    parameter("huber_slope", Number(1e-6, ANY)),
    parameter("quantile_alpha", Fractions(4_096)),
    // XGBoost compares each of them with each other, for each row.
    parameter("expectile_alpha", Fractions(64)),
    parameter("aft_loss_distribution", Word(&["normal", "logistic", "extreme"])),
    parameter("aft_loss_distribution_scale", Number(1e-6, ANY)),
    parameter("lambdarank_pair_method", Word(&["mean", "topk"])),
    parameter("lambdarank_num_pair_per_sample", Whole(1, 10_000)),
    parameter("lambdarank_normalization", Bool),
    parameter("lambdarank_score_normalization", Bool),
    parameter("lambdarank_unbiased", Bool),
    parameter("lambdarank_bias_norm", Number(0.0, ANY)),
    parameter("ndcg_exp_gain", Bool),
];

/// The parameters that are arguments of `train_model` too.
pub const ARGUMENTS: [&str; 3] = ["rounds", "seed", "early_stopping_rounds"];

/// The names that have rules of their own.
pub const SPECIAL: [&str; 4] =
    ["objective", "eval_metric", "monotone_constraints", "interaction_constraints"];

/// Parameters that XGBoost has and that cannot be used here, each with what to do instead.
pub const REFUSED: &[(&str, &str)] = &[
    ("device", "Training runs on the processors of the server."),
    ("gpu_id", "Training runs on the processors of the server."),
    ("updater", "The histogram method is the one that is there."),
    ("process_type", "A training adds trees; those that are there stay as they are."),
    ("refresh_leaf", "A training adds trees; those that are there stay as they are."),
    ("multi_strategy", "Train a model for each target."),
    ("sampling_method", "Rows are sampled uniformly."),
    ("verbosity", "Use the verbose_eval argument."),
    ("disable_default_eval_metric", "Choose metrics with eval_metric."),
    ("missing", "Null is missing."),
    ("feature_types", "The types of the columns decide."),
    ("feature_weights", "Every feature has the same chance to be sampled."),
    ("importance_type", "Use the argument kind of feature_importance."),
    ("enable_categorical", "Text and enums are categorical."),
    ("validate_parameters", "Parameters are always checked."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let table = TABLE.iter().flat_map(Parameter::names);
        let names: Vec<_> =
            table.chain(SPECIAL).chain(REFUSED.iter().map(|(name, _)| *name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
