//! Functions that read features of a jsonb object, by the rules of the extension's `predict`: null is a
//! missing value, an absent key an error, and NaN and the infinities may be strings.

use super::UnknownCategory;
use super::inputs::ArgumentType;
use crate::ensemble::Precision;

/// Returns the ending of the name of the function that reads an argument.
pub(super) fn reader(kind: ArgumentType) -> &'static str {
    match kind {
        ArgumentType::Number => "_number",
        ArgumentType::Integer => "_integer",
        ArgumentType::Text => "_text",
        ArgumentType::Hashed => "_hashed",
    }
}

/// Returns the types of its arguments: an object, a key, and the number for another than the categories.
pub(super) fn types(kind: ArgumentType) -> Vec<&'static str> {
    let mut types = vec!["jsonb", "text"];
    types.extend((kind == ArgumentType::Integer).then_some("int8"));
    types
}

/// Returns the branches of a CASE for the double of a numeric, which is infinite or zero beyond the range of double
/// precision, where the cast is an error.
pub(super) fn double_of(numeric: &str) -> String {
    format!(
        "WHEN abs({numeric}) <= '2.4703282292062327208e-324' THEN '0' WHEN {numeric} = 'NaN' THEN \
         'NaN' WHEN {numeric} >= '1.797693134862315807937e308' THEN 'Infinity' WHEN {numeric} <= \
         '-1.797693134862315807937e308' THEN '-Infinity' ELSE {numeric}::float8"
    )
}

/// Returns its body.
pub(super) fn body(kind: ArgumentType, unknown: UnknownCategory, precision: Precision) -> String {
    let raised = match unknown {
        UnknownCategory::Error => RAISE,
        UnknownCategory::Missing => "",
    };
    let (declared, read) = match kind {
        ArgumentType::Number => {
            let (declared, whole) = match precision {
                Precision::Single => (OF_WHOLE, WHOLE),
                Precision::Double => (OF_NUMBER, ""),
            };
            let double = double_of("n");
            (declared, format!("{NUMBER}{whole}    RETURN CASE {double} END;\n{NUMBER_END}"))
        }
        ArgumentType::Integer => {
            let given = raised_unless_given(raised);
            (OF_CATEGORY, format!("{INTEGER}{}{INTEGER_OTHER}{given}{INTEGER_END}", whole(false)))
        }
        ArgumentType::Text => ("", TEXT.to_owned()),
        ArgumentType::Hashed => {
            let whole = whole(true);
            (OF_CATEGORY, format!("{HASHED}{whole}{raised}{HASHED_END}"))
        }
    };
    format!("{START}{declared}{ABSENT}{read}{END}")
}

/// Returns the statements for a number that is a category if it is whole: itself, as `bigint` or as its digits, or
/// else as the nearest double, which is sure to be one number up to 2^53.
fn whole(as_digits: bool) -> String {
    let double = double_of("n");
    let (bounds, itself, nearest) = if as_digits {
        ("", "trunc(n)::text", "d::int8::text")
    } else {
        (
            " AND n >= '-9223372036854775808'\n      AND n <= '9223372036854775807'",
            "n::int8",
            "d::int8",
        )
    };
    format!(
        "    n := v::numeric;
    IF n = trunc(n){bounds}
    THEN RETURN {itself}; END IF;
    d := CASE {double} END;
    IF d = trunc(d) AND abs(d) <= 9007199254740992
    THEN RETURN {nearest}; END IF;
"
    )
}

fn raised_unless_given(raised: &str) -> String {
    if raised.is_empty() {
        return String::new();
    }
    format!("    IF $3 IS NULL THEN\n  {raised}    END IF;\n")
}

const START: &str = "DECLARE
  v jsonb := $1 -> $2;
  k text := jsonb_typeof(v);
";

const ABSENT: &str = "BEGIN
  IF v IS NULL THEN
    RAISE EXCEPTION 'feature \"%\" is not in the jsonb object', $2 USING ERRCODE := '42703';
  END IF;
  IF k = 'null' THEN RETURN NULL; END IF;
";

const NUMBER: &str = "  IF k = 'number' THEN
    n := v::numeric;
    IF abs(n) < 9007199254740992 AND scale(n) < 300
    THEN RETURN n; END IF;
";

/// A whole number is rounded once, unless it is what a double is written as: then Python reads that. It is if no other
/// of as few digits is nearer to the double, `w`, and one of fewer digits, `q`, is another double's, or as near to
/// that, which PostgreSQL does not write. No text of a double is compared: a setting has its digits.
const WHOLE: &str = "    IF scale(n) = 0
      AND abs(n) < 9223372036854774784
    THEN
      w := n::float8::int8;
      z := length(n::text) - length(rtrim(n::text, '0'));
      q := round(w, - z - 1);
      IF 2 * abs(n - w) > power('10'::numeric, z)
        OR (q + ((q - w) / 1000))::float8 = n::float8
      THEN RETURN n::int8::float4; END IF;
    END IF;
";

const NUMBER_END: &str = "  END IF;
  IF k = 'boolean' THEN
    RETURN CASE WHEN v::bool THEN 1 ELSE 0 END;
  END IF;
  k := $1 ->> $2;
  IF k = 'NaN' THEN RETURN NULL; END IF;
  IF k = ANY ('{Infinity,-Infinity}'::text[]) THEN RETURN k; END IF;
";

const OF_NUMBER: &str = "  n numeric;\n";

const OF_WHOLE: &str = "  n numeric;\n  w numeric;\n  z int4;\n  q numeric;\n";

const OF_CATEGORY: &str = "  n numeric;\n  d float8;\n";

const RAISE: &str =
    "    RAISE EXCEPTION 'unknown category \"%\" for feature \"%\"', $1 ->> $2, $2 \
     USING ERRCODE := '22P02';
";

const INTEGER: &str = "  IF k = 'boolean' THEN
    RETURN CASE WHEN v::bool THEN 1 ELSE 0 END;
  END IF;
  IF $1 ->> $2 = 'NaN' THEN RETURN NULL; END IF;
  IF k = 'number' THEN
";

const INTEGER_OTHER: &str = "  END IF;
  IF k = 'number' OR ($1 ->> $2)
    = ANY ('{Infinity,-Infinity}'::text[]) THEN
";

const INTEGER_END: &str = "    RETURN $3;
  END IF;
";

const TEXT: &str = "  IF k = 'string' THEN
    RETURN $1 ->> $2;
  END IF;
";

const HASHED: &str = "  IF k = 'string' THEN
    RETURN $1 ->> $2;
  END IF;
  IF k = 'boolean' THEN
    RETURN CASE WHEN v::bool THEN '1' ELSE '0' END;
  END IF;
  IF k = 'number' THEN
";

const HASHED_END: &str = "    RETURN NULL;
  END IF;
";

const END: &str = "  RAISE EXCEPTION 'feature \"%\" cannot be a jsonb %', $2, jsonb_typeof(v)
    USING ERRCODE := '42804';
END";
