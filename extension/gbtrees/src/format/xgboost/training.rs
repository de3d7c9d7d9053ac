//! Parameters of a training that a file carries: no prediction needs them, and a training that goes on does.
//!
//! They are read into the types that they have, and what is none of these is left out, so that libxgboost
//! takes its default: the objects are `SaveConfig` of the classes in src/objective.

use std::fmt::Write;

use crate::format::reader::{Reader, ValueKind, object};
use crate::format::xgboost::parameters;
use crate::{Limits, Result};

/// The training parameters of a file, which the checked model does not have.
#[derive(Default)]
pub(super) struct Training {
    /// The objective's parameters: the object of each, its name, and its value as libxgboost writes it.
    pub objective: Vec<(&'static str, &'static str, String)>,
    /// Whether a model without trees has a base score that was not given by a user.
    pub boost_from_average: Option<bool>,
    /// How many rounds a linear booster had.
    pub boosted_rounds: Option<i64>,
}

enum Rule {
    /// A number of f32 between two bounds, both allowed.
    Number(f32, f32),
    /// A whole number between two bounds, both allowed.
    Whole(i64, i64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Numbers above 0 and below 1, of which there are as many as outputs.
    Fractions,
}

const SWITCH: Rule = Rule::Whole(0, 1);

/// The object in the objective's, the parameter, and what it is.
const TABLE: [(&str, &str, Rule); 15] = [
    ("aft_loss_param", "aft_loss_distribution", Rule::Word(&["normal", "logistic", "extreme"])),
    ("aft_loss_param", "aft_loss_distribution_scale", Rule::Number(0.0, f32::MAX)),
    ("expectile_loss_param", "expectile_alpha", Rule::Fractions),
    ("lambdarank_param", "lambdarank_bias_norm", Rule::Number(0.0, f32::MAX)),
    ("lambdarank_param", "lambdarank_normalization", SWITCH),
    ("lambdarank_param", "lambdarank_num_pair_per_sample", Rule::Whole(1, u32::MAX as i64)),
    ("lambdarank_param", "lambdarank_pair_method", Rule::Word(&["mean", "topk"])),
    ("lambdarank_param", "lambdarank_score_normalization", SWITCH),
    ("lambdarank_param", UNBIASED, SWITCH),
    ("lambdarank_param", "ndcg_exp_gain", SWITCH),
    ("poisson_regression_param", "max_delta_step", Rule::Number(0.0, f32::MAX)),
    ("pseudo_huber_param", "huber_slope", Rule::Number(f32::MIN, f32::MAX)),
    ("quantile_loss_param", "quantile_alpha", Rule::Fractions),
    ("reg_loss_param", "scale_pos_weight", Rule::Number(0.0, f32::MAX)),
    ("tweedie_regression_param", "tweedie_variance_power", Rule::Number(1.0, 2.0)),
];

/// With it libxgboost reads two more vectors, which a training that goes on starts afresh.
pub(super) const UNBIASED: &str = "lambdarank_unbiased";

impl Training {
    /// Whether the objective's object of this key is read by [`Training::read_object`].
    pub(super) fn has_object(key: &str) -> bool {
        TABLE.iter().any(|(name, ..)| *name == key)
    }

    /// Reads an object of the objective's parameters. Returns the numbers of a list, one for each output.
    pub(super) fn read_object<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        name: &str,
        limits: &Limits,
    ) -> Result<Vec<f32>> {
        let mut list = Vec::new();
        object(reader, |reader, key| {
            let Some((name, key, rule)) =
                TABLE.iter().find(|(object, parameter, _)| *object == name && *parameter == key)
            else {
                return reader.skip();
            };
            let value = if let Rule::Fractions = rule {
                list = parameters::floats(reader, key, limits.outputs)?;
                Some(spelled(&list))
            } else if matches!(reader.kind()?, ValueKind::String | ValueKind::Number) {
                rule.spelling(&parameters::word(reader)?)
            } else {
                reader.skip()?;
                None
            };
            self.objective.extend(value.map(|value| (*name, *key, value)));
            Ok(())
        })?;
        Ok(list)
    }
}

impl Rule {
    /// The value as libxgboost writes it, if it is one.
    fn spelling(&self, text: &str) -> Option<String> {
        match self {
            Rule::Number(min, max) => {
                let number: f32 = text.parse().ok()?;
                (*min..=*max).contains(&number).then(|| format!("{number:E}"))
            }
            Rule::Whole(min, max) => {
                let number: i64 = text.parse().ok()?;
                (*min..=*max).contains(&number).then(|| number.to_string())
            }
            Rule::Word(words) => {
                words.iter().find(|word| **word == text).map(|word| (*word).to_owned())
            }
            Rule::Fractions => None,
        }
    }
}

/// Numbers as libxgboost writes a parameter that is a list: `[5E-1,2.5E-1]`.
pub(super) fn spelled(numbers: &[f32]) -> String {
    let mut text = String::from("[");
    for (index, number) in numbers.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{number:E}");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bits_and_others_are_left_out() {
        for (rule, text, expected) in [
            (Rule::Number(0.0, 2.0), "1.5", Some("1.5E0")),
            (Rule::Number(0.0, 2.0), "2.5e-3", Some("2.5E-3")),
            (Rule::Number(0.0, 2.0), "2.1", None),
            (Rule::Number(0.0, 2.0), "nan", None),
            (Rule::Whole(1, 9), "9", Some("9")),
            (Rule::Whole(1, 9), "-1", None),
            (Rule::Whole(1, 9), "1;", None),
            (Rule::Word(&["mean"]), "mean", Some("mean")),
            (Rule::Word(&["mean"]), "means", None),
        ] {
            assert_eq!(rule.spelling(text).as_deref(), expected, "{text}");
        }
        let numbers = [0.1, 1e-7, 16_777_217.0, -0.0];
        let text = spelled(&numbers);
        let parsed =
            text.trim_matches(['[', ']']).split(',').map(|one| one.parse::<f32>().unwrap());
        assert!(parsed.zip(numbers).all(|(one, other)| one.to_bits() == other.to_bits()), "{text}");
    }
}
