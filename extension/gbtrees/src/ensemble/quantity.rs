//! Quantities that objectives estimate, whichever library names them.

/// Objectives of one quantity, and losses of scikit-learn. One that stands nowhere is not compared; nor are
/// those of classes and rankings, whose task and link say what their numbers are.
#[rustfmt::skip]
const QUANTITIES: &[&[&str]] = &[
    // Means.
    &[
        "reg:squarederror", "reg:pseudohubererror", "reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson",
        "regression", "squared_error", "friedman_mse", "huber", "fair", "poisson", "gamma", "tweedie", "cross_entropy", "cross_entropy_lambda",
        "RMSE", "Huber", "LogCosh", "Lq", "Poisson", "Tweedie", "RMSEWithUncertainty", "MultiRMSE",
        "MultiRMSEWithMissingValues", "MultiLogloss", "MultiCrossEntropy",
    ],
    // Means of logarithms.
    &["reg:squaredlogerror"],
    // Medians.
    &["reg:absoluteerror", "regression_l1", "MAE", "absolute_error"],
    // Medians weighted by the inverse of the value.
    &["mape", "MAPE"],
    &["reg:quantileerror", "quantile", "Quantile", "GroupQuantile", "MultiQuantile"],
    &["LogLinQuantile"],
    &["reg:expectileerror", "Expectile"],
    // Hazard ratios.
    &["survival:cox", "Cox"],
    // Times.
    &["survival:aft", "SurvivalAft"],
    // Raw scores of a loss that the file does not name.
    &["custom", "PythonUserDefinedPerObject", "PythonUserDefinedMultiTarget"],
];

/// Returns whether two objectives, each by its library's name, are known to estimate different quantities.
pub fn estimates_another(before: &str, after: &str) -> bool {
    match (quantity(before), quantity(after)) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    }
}

/// Returns whether two links make other values of a row's margins; one margin is in ascending order.
pub fn is_another_link(before: &str, after: &str, has_one_margin: bool) -> bool {
    let of_values = |link| if has_one_margin && link == "ascending" { "identity" } else { link };
    of_values(before) != of_values(after)
}

/// Returns whether an objective estimates quantiles or expectiles, of which a file has the levels.
pub fn has_levels(objective: &str) -> bool {
    objective.ends_with("Quantile")
        || matches!(
            objective,
            "reg:quantileerror" | "quantile" | "reg:expectileerror" | "Expectile"
        )
}

fn quantity(objective: &str) -> Option<usize> {
    QUANTITIES.iter().position(|names| names.contains(&objective))
}

#[cfg(test)]
pub(crate) fn is_known(objective: &str) -> bool {
    quantity(objective).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_across_libraries() {
        for (before, after, another) in [
            ("reg:squarederror", "RMSE", false),
            ("reg:squarederror", "reg:absoluteerror", true),
            ("regression_l1", "MAE", false),
            ("quantile", "reg:expectileerror", true),
            ("survival:cox", "reg:gamma", true),
            ("survival:cox", "survival:aft", true),
            ("custom", "regression", true),
            ("RandomForestRegressor", "MAE", false),
            ("binary:logistic", "binary", false),
        ] {
            assert_eq!(estimates_another(before, after), another, "{before} {after}");
            assert_eq!(estimates_another(after, before), another, "{after} {before}");
        }
    }

    #[test]
    fn an_objective_has_one_quantity() {
        let names: Vec<_> = QUANTITIES.concat();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
