//! The parameters that a training takes, with their types and ranges.
//!
//! The names are XGBoost's own, aliases included. What is not in the table does not reach
//! libxgboost: of the rest, some would read or write files of the server, some choose devices or
//! other ways of updating trees, and some belong to boosters that pgboost does not evaluate.

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// A number between two bounds, both allowed.
    Number(f64, f64),
    /// A whole number between two bounds, both allowed.
    Whole(i64, i64),
    /// true or false, or 1 or 0.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number, or several, each above 0 and below 1.
    Fractions,
}

/// A parameter: its name, its other name, and what it takes.
#[derive(Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// Another name of XGBoost's for the same.
    pub alias: Option<&'static str>,
    /// The values.
    pub takes: Takes,
}

const ANY: f64 = f32::MAX as f64;

const fn parameter(name: &'static str, takes: Takes) -> Parameter {
    Parameter { name, alias: None, takes }
}

const fn aliased(name: &'static str, alias: &'static str, takes: Takes) -> Parameter {
    Parameter { name, alias: Some(alias), takes }
}

/// A fraction that is not zero.
const SHARE: Takes = Takes::Number(1e-6, 1.0);

/// The parameters. `objective`, `eval_metric` and the constraints are read by rules of their own.
pub const TABLE: &[Parameter] = &[
    parameter("booster", Takes::Word(&["gbtree"])),
    parameter("tree_method", Takes::Word(&["hist", "auto"])),
    aliased("eta", "learning_rate", Takes::Number(0.0, ANY)),
    aliased("gamma", "min_split_loss", Takes::Number(0.0, ANY)),
    parameter("max_depth", Takes::Whole(0, 64)),
    parameter("max_leaves", Takes::Whole(0, 1 << 20)),
    parameter("min_child_weight", Takes::Number(0.0, ANY)),
    parameter("max_delta_step", Takes::Number(0.0, ANY)),
    parameter("subsample", SHARE),
    parameter("colsample_bytree", SHARE),
    parameter("colsample_bylevel", SHARE),
    parameter("colsample_bynode", SHARE),
    aliased("lambda", "reg_lambda", Takes::Number(0.0, ANY)),
    aliased("alpha", "reg_alpha", Takes::Number(0.0, ANY)),
    parameter("scale_pos_weight", Takes::Number(0.0, ANY)),
    parameter("grow_policy", Takes::Word(&["depthwise", "lossguide"])),
    parameter("max_bin", Takes::Whole(2, 65_536)),
    parameter("num_parallel_tree", Takes::Whole(1, 10_000)),
    parameter("max_cached_hist_node", Takes::Whole(1, 1 << 20)),
    parameter("max_cat_to_onehot", Takes::Whole(1, 1 << 24)),
    parameter("max_cat_threshold", Takes::Whole(1, 1 << 24)),
    parameter("base_score", Takes::Number(-ANY, ANY)),
    parameter("num_class", Takes::Whole(2, 4_096)),
    aliased("nthread", "n_jobs", Takes::Whole(1, 1_024)),
    parameter("seed_per_iteration", Takes::Switch),
    parameter("tweedie_variance_power", Takes::Number(1.0, 2.0)),
    parameter("huber_slope", Takes::Number(1e-6, ANY)),
    parameter("quantile_alpha", Takes::Fractions),
    parameter("expectile_alpha", Takes::Fractions),
    parameter("aft_loss_distribution", Takes::Word(&["normal", "logistic", "extreme"])),
    parameter("aft_loss_distribution_scale", Takes::Number(1e-6, ANY)),
    parameter("lambdarank_pair_method", Takes::Word(&["mean", "topk"])),
    parameter("lambdarank_num_pair_per_sample", Takes::Whole(1, 10_000)),
    parameter("lambdarank_normalization", Takes::Switch),
    parameter("lambdarank_score_normalization", Takes::Switch),
    parameter("lambdarank_unbiased", Takes::Switch),
    parameter("lambdarank_bias_norm", Takes::Number(0.0, ANY)),
    parameter("ndcg_exp_gain", Takes::Switch),
];

/// The names that have rules of their own.
pub const OTHERS: [&str; 4] =
    ["objective", "eval_metric", "monotone_constraints", "interaction_constraints"];

/// Parameters that XGBoost has and that cannot be used here, each with what to do instead.
pub const REFUSED: &[(&str, &str)] = &[
    ("n_estimators", "Use the rounds argument."),
    ("num_boost_round", "Use the rounds argument."),
    ("num_round", "Use the rounds argument."),
    ("early_stopping_rounds", "Use the argument of train_model with that name."),
    ("seed", "Use the seed argument."),
    ("random_state", "Use the seed argument."),
    ("device", "Training runs on the processors of the server."),
    ("gpu_id", "Training runs on the processors of the server."),
    ("updater", "The histogram method is the one that is there."),
    ("process_type", "A training starts from nothing."),
    ("refresh_leaf", "A training starts from nothing."),
    ("multi_strategy", "Train a model for each target."),
    ("sampling_method", "Rows are sampled uniformly."),
    ("verbosity", "Use the notice_every argument."),
    ("disable_default_eval_metric", "Choose metrics with eval_metric."),
    ("missing", "Null is missing."),
    ("enable_categorical", "Text and enums are categorical."),
    ("validate_parameters", "Parameters are always checked."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let table = TABLE.iter().flat_map(|entry| [Some(entry.name), entry.alias]).flatten();
        let names: Vec<_> =
            table.chain(OTHERS).chain(REFUSED.iter().map(|(name, _)| *name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
