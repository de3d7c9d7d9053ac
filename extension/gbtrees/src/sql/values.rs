//! From margins to values and classes, in the order of operations of the model's library.
//!
//! `exp` and casts to real raise errors where C gives zero or infinity, so arguments are bounded first. C's
//! `expf` is the double precision `exp` rounded to real, within one unit in the last place.

use super::nested::sum_type;
use super::quote::{array, number};
use crate::ensemble::{ClassBy, Ensemble, Precision, Task, Transform};

/// Returns the body of the function from margins, one or an array, to values, or `None` for the margins
/// themselves.
pub(super) fn values(model: &Ensemble) -> Option<String> {
    let writer = MarginVariables::of(model);
    let transform = model.objective().transform();
    let scaled = writer.scaling(model, !model.parts.scaling.in_margin);
    if transform == Transform::Identity && scaled.is_empty() {
        return None;
    }
    let (declarations, statements, result) = writer.transform(model, transform);
    Some(format!(
        "DECLARE\n{}{declarations}BEGIN\n{scaled}{statements}  RETURN {result};\nEND",
        writer.declarations()
    ))
}

/// Returns the statements that scale sums into margins.
pub(super) fn margin_scaling(model: &Ensemble) -> String {
    MarginVariables::of(model).scaling(model, model.parts.scaling.in_margin)
}

/// Returns the expressions of margins, of those of sums, each of which is in its margin once.
pub(super) fn scaled(model: &Ensemble, sums: Vec<String>) -> Vec<String> {
    let (writer, scaling) = (MarginVariables::of(model), &model.parts.scaling);
    if !scaling.in_margin {
        return sums;
    }
    let scaled = sums.into_iter().enumerate().map(|(output, sum)| {
        let bias = scaling.bias.get(output).map(|bias| ("+", *bias));
        let factors = [("*", scaling.scale), ("/", scaling.divisor)];
        let steps = factors.into_iter().filter(|(_, factor)| *factor != 1.0).chain(bias);
        steps.fold(sum, |sum, (operator, number)| {
            format!("({sum} {operator} {})", writer.typed(number))
        })
    });
    scaled.collect()
}

/// Returns the expression of the only value of a margin where one is enough, which calls no function.
pub(super) fn short_value(model: &Ensemble, margin: &str) -> Option<String> {
    let writer = MarginVariables::of(model);
    let is_short = model.num_outputs() == 1
        && model.objective().transform() == Transform::Logistic
        && writer.scaling(model, !model.parts.scaling.in_margin).is_empty()
        && !writer.may_be_nan;
    is_short.then(|| writer.logistic(model.objective().slope(), margin))
}

/// Returns the result of sums: the only one, or an array.
pub(super) fn result(outputs: usize) -> String {
    match outputs {
        1 => "s0".to_owned(),
        _ => {
            let sums: Vec<String> = (0..outputs).map(|output| format!("s{output}")).collect();
            format!("ARRAY[{}]", sums.join(", "))
        }
    }
}

/// Whether a row has a single value.
pub(super) fn has_one_value(model: &Ensemble) -> bool {
    model.num_outputs() == 1 || model.objective().transform().gives_one_value()
}

/// Returns the body of the function from margins to the number of a class, if the model chooses one; `values`
/// is the expression of their values.
pub(super) fn class(model: &Ensemble, values: &str) -> Option<String> {
    let objective = model.objective();
    // The index of the largest margin says nothing more than the margins.
    let by_value =
        objective.class_by() == ClassBy::Value && objective.transform() != Transform::ArgMax;
    let decides = if by_value { values.to_owned() } else { "$1".to_owned() };
    match objective.task() {
        Task::Binary if has_one_value(model) => {
            let decides = match (by_value, model.num_outputs()) {
                (false, outputs) if outputs > 1 => "$1[1]".to_owned(),
                _ => decides,
            };
            let threshold = number(objective.class_threshold(), Precision::Double);
            Some(format!(
                "DECLARE\n  d float8 := {decides};\nBEGIN\n  RETURN CASE WHEN d > '{threshold}' \
                 AND d <> 'NaN' THEN 1 ELSE 0 END;\nEND"
            ))
        }
        Task::Multiclass => Some(format!(
            "DECLARE\n  m {}[] := {decides};\n  best int4 := 1;\nBEGIN\n  FOR i IN 2..{} LOOP\n    \
             IF m[i] > m[best] AND m[i] <> 'NaN' THEN best := i; END IF;\n  END LOOP;\n  RETURN \
             best - 1;\nEND",
            sum_type(model.sum_precision()),
            model.num_outputs()
        )),
        _ => None,
    }
}

/// Returns the body of the function from values to an object with a probability per label.
pub(super) fn probabilities(model: &Ensemble, labels: &str) -> String {
    let object = match model.objective().task() {
        Task::Binary => {
            let one = sum_type(model.sum_precision());
            format!("jsonb_build_object(({labels})[1], '1'::{one} - $1, ({labels})[2], $1)")
        }
        _ => format!(
            "(SELECT jsonb_object_agg(q.k, q.v) FROM ROWS FROM (unnest({labels}), unnest($1)) AS \
             q(k, v))"
        ),
    };
    format!("BEGIN\n  RETURN {object};\nEND")
}

/// Returns whether values are class probabilities.
pub(super) fn are_probabilities(model: &Ensemble) -> bool {
    let objective = model.objective();
    let class_rule = (objective.class_by(), objective.class_threshold());
    objective.task().has_probabilities(objective.transform(), has_one_value(model), class_rule)
}

/// Margins as variables `s0`, `s1` and so on.
struct MarginVariables {
    outputs: usize,
    precision: Precision,
    letter: char,
    /// Whether margins may be NaN: only products of features can.
    may_be_nan: bool,
}

/// The factors of glibc's log1pf, but for the last one.
const LOG1P: [&str; 6] =
    ["0.6666667", "0.4", "0.2857143", "0.22222199", "0.18183573", "0.15313838"];

/// `exp(x)` of an f32 as C has it, and the cast to f32 around.
fn exp_single(x: &str) -> String {
    format!(
        "(CASE WHEN {x} = 'NaN' THEN 'NaN' WHEN {x} >= '88.72284'::float4 THEN 'Infinity' WHEN {x} \
         <= '-103.97'::float4 THEN '0' ELSE exp(({x})::float8)::float4 END)"
    )
}

/// `exp(x)` of an f64.
fn exp_double(x: &str) -> String {
    format!(
        "(CASE WHEN {x} = 'NaN' THEN 'NaN' WHEN {x} > '709.782712893384'::float8 THEN 'Infinity' \
         WHEN {x} < '-745.13'::float8 THEN '0' ELSE exp({x}) END)"
    )
}

/// A quotient of numbers from 0 to 1, which may be too small for a type.
fn share(part: &str, sum: &str, precision: Precision) -> String {
    match precision {
        // A quotient of two f32 is the same rounded from f64, and needs no other bound there.
        Precision::Single => {
            let share = format!("({part}::float8 / {sum}::float8)");
            format!(
                "(CASE WHEN {share} <= '7.006492321624085e-46' THEN '0' ELSE {share}::float4 END)"
            )
        }
        Precision::Double => {
            format!("(CASE WHEN {part} < '1e-318'::float8 THEN '0' ELSE ({part} / {sum}) END)")
        }
    }
}

impl MarginVariables {
    fn of(model: &Ensemble) -> Self {
        let (outputs, precision) = (model.num_outputs(), model.sum_precision());
        let may_be_nan = model.is_linear() || model.has_linear_leaves();
        MarginVariables { outputs, precision, letter: 's', may_be_nan }
    }

    fn sum(&self, output: usize) -> String {
        format!("{}{output}", self.letter)
    }

    fn sums(&self) -> Vec<String> {
        (0..self.outputs).map(|output| self.sum(output)).collect()
    }

    fn type_name(&self) -> &'static str {
        sum_type(self.precision)
    }

    fn declarations(&self) -> String {
        let of = |output: usize| match self.outputs {
            1 => "$1".to_owned(),
            _ => format!("$1[{}]", output + 1),
        };
        let each = (0..self.outputs).map(|output| {
            format!("  {} {} := {};\n", self.sum(output), self.type_name(), of(output))
        });
        each.collect()
    }

    /// Assigns to each sum.
    fn each(&self, value: impl Fn(&str) -> String) -> String {
        let assigned = |sum: &String| match self.may_be_nan {
            true => {
                format!("  {sum} := CASE WHEN {sum} = 'NaN' THEN {sum} ELSE {} END;\n", value(sum))
            }
            false => format!("  {sum} := {};\n", value(sum)),
        };
        self.sums().iter().map(assigned).collect()
    }

    fn typed(&self, value: f64) -> String {
        format!("'{}'::{}", number(value, self.precision), self.type_name())
    }

    /// Multiplies, divides and adds, each step rounded; steps without effect are left out.
    fn scaling(&self, model: &Ensemble, applies: bool) -> String {
        let scaling = &model.parts.scaling;
        let mut out = String::new();
        if !applies {
            return out;
        }
        if scaling.scale != 1.0 {
            let scale = self.typed(scaling.scale);
            out += &self.each(|s| format!("{s} * {scale}"));
        }
        if scaling.divisor != 1.0 {
            let divisor = self.typed(scaling.divisor);
            out += &self.each(|s| format!("{s} / {divisor}"));
        }
        if !scaling.bias.is_empty() {
            for (s, bias) in self.sums().iter().zip(&scaling.bias) {
                out += &format!("  {s} := {s} + {};\n", self.typed(*bias));
            }
        }
        out
    }

    /// Returns declarations, statements and the result of a transform.
    fn transform(&self, model: &Ensemble, transform: Transform) -> (String, String, String) {
        let slope = model.objective().slope();
        let all = result(self.outputs);
        let steps = |statements: String| (String::new(), statements, all.clone());
        let single = self.precision == Precision::Single;
        match transform {
            Transform::Identity => steps(String::new()),
            Transform::Logistic => steps(self.each(|s| self.logistic(slope, s))),
            Transform::Softmax => self.softmax("float8", single),
            Transform::SoftmaxSingle if single => self.softmax("float4", true),
            Transform::LogisticMirrored if single => steps(self.each(mirrored)),
            Transform::SoftmaxSingle | Transform::LogisticMirrored => self.in_single(transform),
            Transform::ArgMax => self.arg_max(),
            Transform::Exponential if single => steps(self.each(exp_single)),
            Transform::Exponential => steps(self.each(exp_double)),
            Transform::Hinge => {
                steps(self.each(|s| format!("CASE WHEN {s} > '0' THEN '1' ELSE '0' END")))
            }
            Transform::Ascending => {
                let sorted = format!(
                    "ARRAY(SELECT q.x FROM unnest({}) AS q(x) ORDER BY q.x)",
                    match self.outputs {
                        1 => format!("ARRAY[{all}]"),
                        _ => all.clone(),
                    }
                );
                match self.outputs {
                    1 => steps(String::new()),
                    _ => (String::new(), String::new(), sorted),
                }
            }
            Transform::Expectile => self.expectiles(),
            Transform::SignedSquare => steps(self.each(|s| {
                format!(
                    "CASE WHEN {s} > '0' THEN {s} * {s} WHEN {s} < '0' THEN - ({s} * {s}) ELSE {s} \
                     END"
                )
            })),
            Transform::LogOnePlusExp => steps(self.log1p_exp()),
            Transform::MeanVariance => {
                let second = exp_double("(s1 + s1)");
                steps(format!("  s1 := {second};\n"))
            }
            Transform::Isolation => steps(self.each(|s| {
                let (slope, t) = (self.typed(slope), self.type_name());
                format!("{slope} - power('2'::float8, - LEAST({s}::float8, '140'))::{t}")
            })),
            Transform::MeanLogistic => {
                let each = self.sums();
                let sum: Vec<String> =
                    each.iter().map(|s| format!("({})", self.logistic(slope, s))).collect();
                let sum = sum.join(" + ");
                let count = self.typed(self.outputs as f64);
                (String::new(), String::new(), format!("({sum}) / {count}"))
            }
            Transform::WeightedMedian => (String::new(), String::new(), self.weighted_median()),
            Transform::ExponentialMinusOne => {
                let declared = format!("  e {};\n", self.type_name());
                let sums = self.sums();
                let statements = sums.iter().map(|s| {
                    let exp = exp_double(s);
                    format!(
                        "  e := {exp};\n  {s} := CASE WHEN e = '1' THEN {s} WHEN e = 'Infinity' \
                         THEN e WHEN e < '1e-17' THEN '-1' ELSE (e - '1') * {s} / ln(e) END;\n"
                    )
                });
                (declared, statements.collect(), all)
            }
        }
    }

    fn weighted_median(&self) -> String {
        let sums = self.sums();
        let (numbers, weights) = sums.split_at(self.outputs / 2);
        let (numbers, weights) = (numbers.join(", "), weights.join(", "));
        let sum = |end: &str| {
            format!("sum(p.w) OVER (ORDER BY p.x ROWS BETWEEN UNBOUNDED PRECEDING AND {end})")
        };
        let (until, all) = (sum("CURRENT ROW"), sum("UNBOUNDED FOLLOWING"));
        format!(
            "(SELECT q.x FROM (SELECT p.x, {until} AS s, {all} AS t FROM ROWS FROM \
             (unnest(ARRAY[{numbers}]), unnest(ARRAY[{weights}])) AS p(x, w)) AS q WHERE q.s >= \
             ('0.5'::float8 * q.t) ORDER BY q.x LIMIT 1)"
        )
    }

    fn logistic(&self, slope: f64, sum: &str) -> String {
        let s = match slope == 1.0 {
            true => sum.to_owned(),
            false => format!("({sum} * {})", self.typed(slope)),
        };
        match self.precision {
            Precision::Single => format!(
                "'1'::float4 / (exp(GREATEST(LEAST(- {s}, '88.7'::float4), '-80'::float4)::float8)::float4 \
                 + '1'::float4)"
            ),
            Precision::Double => format!(
                "CASE WHEN {s} < '-709.782712893384' THEN '0' ELSE '1'::float8 / ('1'::float8 + \
                 exp(GREATEST(- {s}, '-700'::float8))) END"
            ),
        }
    }

    /// Exponentials shifted by the largest margin, divided by their sum of a type.
    fn softmax(&self, sum_type: &str, single: bool) -> (String, String, String) {
        let (t, sums) = (self.type_name(), self.sums());
        let declared = format!("  m {t};\n  e {sum_type} := '0';\n");
        let mut statements = format!("  m := GREATEST({});\n", sums.join(", "));
        statements += &self.each(|s| {
            let shifted = format!("({s} - m)");
            if single { exp_single(&shifted) } else { exp_double(&shifted) }
        });
        for s in &sums {
            statements += &format!("  e := e + {s}::{sum_type};\n");
        }
        statements += &format!("  m := e::{t};\n");
        statements += &self.each(|s| share(s, "m", self.precision));
        (declared, statements, result(self.outputs))
    }

    /// Rounds the margins to f32, and transforms these.
    fn in_single(&self, transform: Transform) -> (String, String, String) {
        let narrow = MarginVariables { precision: Precision::Single, letter: 'r', ..*self };
        let (mut declared, mut statements) = (String::new(), String::new());
        for (r, s) in narrow.sums().iter().zip(self.sums()) {
            declared += &format!("  {r} float4;\n");
            statements += &format!(
                "  {r} := CASE WHEN {s} <= '7e-46' AND {s} >= '-7e-46' THEN '0' ELSE {s}::float4 \
                 END;\n"
            );
        }
        match transform {
            Transform::SoftmaxSingle => {
                let (more, softmax, _) = narrow.softmax("float4", true);
                declared += &more;
                statements += &softmax;
            }
            _ => statements += &narrow.each(mirrored),
        }
        for (r, s) in narrow.sums().iter().zip(self.sums()) {
            statements += &format!("  {s} := {r};\n");
        }
        (declared, statements, result(self.outputs))
    }

    fn arg_max(&self) -> (String, String, String) {
        let t = self.type_name();
        let declared = format!("  best {t};\n  class {t} := '0';\n");
        let tests = (1..self.outputs).map(|output| {
            format!("  IF s{output} > best THEN best := s{output}; class := '{output}'; END IF;\n")
        });
        (declared, "  best := s0;\n".to_owned() + &tests.collect::<String>(), "class".to_owned())
    }

    /// Adds the softplus of the next margin to each expectile. As that may cancel, it has the bits of glibc: of its expf,
    /// and of its log1pf up to version 2.40 (sysdeps/ieee754/flt-32), step by step.
    fn expectiles(&self) -> (String, String, String) {
        let polynomial = LOG1P.iter().rfold("'0.14798199'".to_owned(), |rest, factor| {
            format!("'{factor}' + (q * ({rest}))")
        });
        let powers: Vec<f64> = (0..32).map(|part| f64::from(part) / 32.0).map(f64::exp2).collect();
        let powers = array(powers);
        let declared = "  z float8;\n  k int4;\n  e float4;\n  u float4;\n  f float4;\n  h float4;\n  t float4;\n  q \
                        float4;\n";
        let steps = (1..self.outputs).map(|output| {
            let (s, before) = (format!("s{output}"), output - 1);
            format!(
                "  z := GREATEST(- abs({s}), '-104')::float8 * '46.16624130844683';\n  \
                 k := round(z)::int4;\n  \
                 z := z - k;\n  \
                 z := ('1.6938359250920212e-06' * z + '0.00023459809789509004') * (z * z) + ('0.021660849396613134' * z + \
                 '1');\n  \
                 z := z * ({powers}::float8[])[(k & 31) + 1] * power('2'::float8, (k >> 5)::float8);\n  \
                 e := CASE WHEN abs({s}) >= '103.97' THEN '0' ELSE z::float4 END;\n  \
                 u := '1' + e;\n  \
                 f := CASE WHEN e < '1.8626451e-09' THEN '0' WHEN e < '0.41421387' THEN e WHEN u < '1.414214' THEN u - '1' \
                 ELSE u * '0.5' - '1' END;\n  \
                 h := '0.5' * f * f;\n  \
                 t := f / ('2' + f);\n  \
                 q := t * t;\n  \
                 t := t * (h + (q * ({polynomial})));\n  \
                 q := (CASE WHEN u < '2' THEN e - (u - '1') ELSE '1' - (u - e) END) / u;\n  \
                 e := CASE WHEN e < '1.8626451e-09' THEN e WHEN u < '1.414214' THEN f - (h - t) ELSE '0.6931381' - (h - (t + \
                 ('9.058001e-06' + q)) - f) END;\n  \
                 {s} := s{before} + ('1e-6'::float4 + (GREATEST({s}, '0'::float4) + e));\n"
            )
        });
        (declared.to_owned(), steps.collect(), result(self.outputs))
    }

    fn log1p_exp(&self) -> String {
        let each = (0..self.outputs).map(|output| {
            let s = format!("s{output}");
            let e = exp_double(&s);
            // The logarithm of 1 + e, corrected for what the sum rounds off.
            format!(
                "  {s} := {e};\n  {s} := CASE WHEN {s} = 'Infinity' THEN {s} WHEN '1'::float8 + \
                 {s} = '1' THEN {s} ELSE ln('1'::float8 + {s}) * ({s} / ('1'::float8 + {s} - \
                 '1'::float8)) END;\n"
            )
        });
        each.collect()
    }
}

/// ONNX Runtime's logistic function.
fn mirrored(s: &str) -> String {
    let value = format!(
        "'1'::float4 / ('1'::float4 + exp(GREATEST(- abs({s}), '-80'::float4)::float8)::float4)"
    );
    format!("CASE WHEN {s} < '0' THEN '1'::float4 - ({value}) ELSE {value} END")
}
