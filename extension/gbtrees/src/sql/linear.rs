//! Linear models: a coefficient per feature and output, in steps of f32 as XGBoost takes them.
//!
//! Products and sums of two f32 are rounded once whether they are computed in f64 and rounded to f32 or in f32
//! itself. So steps are f64, rounded by a function that gives zero and infinity where a cast raises an error.

use std::fmt::Write as _;

use super::inputs::{Inputs, Place};
use super::quote::number;
use crate::ensemble::{Ensemble, Precision};

/// The body of the function that rounds a number to f32.
pub(super) const ROUND: &str = "BEGIN
  RETURN CASE WHEN $1 = 'NaN' THEN $1
    WHEN $1 >= '3.4028235677973366e38' THEN 'Infinity'
    WHEN $1 <= '-3.4028235677973366e38' THEN '-Infinity'
    WHEN abs($1) <= '7.006492321624085e-46' THEN $1 * '0'
    ELSE $1::float4 END;
END";

/// Returns declarations of sums with their initial values, and the statements that add features to them;
/// `round` names the function above.
pub(super) fn statements(model: &Ensemble, inputs: &Inputs<'_>, round: &str) -> (String, String) {
    let (mut declared, mut out) = (String::new(), String::new());
    let features = model.num_features();
    for (output, base) in model.base_margin().iter().enumerate() {
        let start = f64::from(base + model.coefficient(features, output));
        let start = number(start, Precision::Double);
        let _ = writeln!(declared, "  s{output} float8 := '{start}';");
    }
    for feature in 0..features {
        let value = inputs.value(feature, Place::Function);
        let _ = writeln!(out, "  IF {value} IS NOT NULL THEN");
        for output in 0..model.num_outputs() {
            let coefficient = f64::from(model.coefficient(feature, output));
            let coefficient = number(coefficient, Precision::Double);
            let _ = writeln!(
                out,
                "    s{output} := {round}(s{output} + {round}({round}({value}) * '{coefficient}'));"
            );
        }
        out.push_str("  END IF;\n");
    }
    (declared, out)
}
