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
    let mut types = vec!["pg_catalog.jsonb", "pg_catalog.text"];
    types.extend((kind == ArgumentType::Integer).then_some("pg_catalog.int8"));
    types
}

/// Returns the branches of a CASE for the double of a numeric, which is infinite or zero beyond the range of double
/// precision, where the cast is an error.
pub(super) fn double_of(numeric: &str) -> String {
    format!(
        "WHEN pg_catalog.abs({numeric}) OPERATOR(pg_catalog.<=) '2.4703282292062327208e-324' THEN '0' \
         WHEN {numeric} OPERATOR(pg_catalog.=) 'NaN' THEN 'NaN' \
         WHEN {numeric} OPERATOR(pg_catalog.>=) '1.797693134862315807937e308' THEN 'Infinity' \
         WHEN {numeric} OPERATOR(pg_catalog.<=) '-1.797693134862315807937e308' THEN '-Infinity' \
         ELSE {numeric}::pg_catalog.float8"
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
            let whole = if precision == Precision::Single { WHOLE } else { "" };
            let double = double_of("n");
            (OF_NUMBER, format!("{NUMBER}{whole}    RETURN CASE {double} END;\n{NUMBER_END}"))
        }
        ArgumentType::Integer => {
            let given = raised_unless_given(raised);
            (OF_CATEGORY, format!("{INTEGER}{}{INTEGER_OTHER}{given}{INTEGER_END}", whole("")))
        }
        ArgumentType::Text => ("", TEXT.to_owned()),
        ArgumentType::Hashed => {
            let whole = whole("::pg_catalog.text");
            (OF_CATEGORY, format!("{HASHED}{whole}{raised}{HASHED_END}"))
        }
    };
    format!("{START}{declared}{ABSENT}{read}{END}")
}

/// Returns the statements for a number that is a category if it is whole: as `bigint`, or else as the nearest
/// double, which is sure to be one number up to 2^53.
fn whole(cast: &str) -> String {
    let double = double_of("n");
    format!(
        "    n := v::pg_catalog.numeric;
    IF n OPERATOR(pg_catalog.=) pg_catalog.trunc(n) AND n OPERATOR(pg_catalog.>=) '-9223372036854775808'
      AND n OPERATOR(pg_catalog.<=) '9223372036854775807'
    THEN RETURN n::pg_catalog.int8{cast}; END IF;
    d := CASE {double} END;
    IF d OPERATOR(pg_catalog.=) pg_catalog.trunc(d) AND pg_catalog.abs(d) OPERATOR(pg_catalog.<=) 9007199254740992
    THEN RETURN d::pg_catalog.int8{cast}; END IF;
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
  v pg_catalog.jsonb := $1 OPERATOR(pg_catalog.->) $2;
  k pg_catalog.text := pg_catalog.jsonb_typeof(v);
";

const ABSENT: &str = "BEGIN
  IF v IS NULL THEN
    RAISE EXCEPTION 'feature \"%\" is not in the jsonb object', $2 USING ERRCODE = '42703';
  END IF;
  IF k OPERATOR(pg_catalog.=) 'null' THEN RETURN NULL; END IF;
";

const NUMBER: &str = "  IF k OPERATOR(pg_catalog.=) 'number' THEN
    n := v::pg_catalog.numeric;
    IF pg_catalog.abs(n) OPERATOR(pg_catalog.<) 9007199254740992 AND pg_catalog.scale(n) OPERATOR(pg_catalog.<) 300
    THEN RETURN n; END IF;
";

/// A whole number is rounded once, unless it is what a double is written as: then Python reads that.
const WHOLE: &str = "    IF pg_catalog.scale(n) OPERATOR(pg_catalog.=) 0
      AND pg_catalog.abs(n) OPERATOR(pg_catalog.<) 9223372036854775808
      AND n OPERATOR(pg_catalog.<>) n::pg_catalog.float8::pg_catalog.text::pg_catalog.numeric
    THEN RETURN n::pg_catalog.int8::pg_catalog.float4; END IF;
";

const NUMBER_END: &str = "  END IF;
  IF k OPERATOR(pg_catalog.=) 'boolean' THEN
    RETURN CASE WHEN v::pg_catalog.bool THEN 1 ELSE 0 END;
  END IF;
  k := $1 OPERATOR(pg_catalog.->>) $2;
  IF k OPERATOR(pg_catalog.=) 'NaN' THEN RETURN NULL; END IF;
  IF k OPERATOR(pg_catalog.=) ANY ('{Infinity,-Infinity}'::pg_catalog.text[]) THEN RETURN k; END IF;
";

const OF_NUMBER: &str = "  n pg_catalog.numeric;\n";

const OF_CATEGORY: &str = "  n pg_catalog.numeric;\n  d pg_catalog.float8;\n";

const RAISE: &str = "    RAISE EXCEPTION 'unknown category \"%\" for feature \"%\"', \
     $1 OPERATOR(pg_catalog.->>) $2, $2 USING ERRCODE = '22P02';
";

const INTEGER: &str = "  IF k OPERATOR(pg_catalog.=) 'boolean' THEN
    RETURN CASE WHEN v::pg_catalog.bool THEN 1 ELSE 0 END;
  END IF;
  IF $1 OPERATOR(pg_catalog.->>) $2 OPERATOR(pg_catalog.=) 'NaN' THEN RETURN NULL; END IF;
  IF k OPERATOR(pg_catalog.=) 'number' THEN
";

const INTEGER_OTHER: &str = "  END IF;
  IF k OPERATOR(pg_catalog.=) 'number' OR ($1 OPERATOR(pg_catalog.->>) $2)
    OPERATOR(pg_catalog.=) ANY ('{Infinity,-Infinity}'::pg_catalog.text[]) THEN
";

const INTEGER_END: &str = "    RETURN $3;
  END IF;
";

const TEXT: &str = "  IF k OPERATOR(pg_catalog.=) 'string' THEN
    RETURN $1 OPERATOR(pg_catalog.->>) $2;
  END IF;
";

const HASHED: &str = "  IF k OPERATOR(pg_catalog.=) 'string' THEN
    RETURN $1 OPERATOR(pg_catalog.->>) $2;
  END IF;
  IF k OPERATOR(pg_catalog.=) 'boolean' THEN
    RETURN CASE WHEN v::pg_catalog.bool THEN '1' ELSE '0' END;
  END IF;
  IF k OPERATOR(pg_catalog.=) 'number' THEN
";

const HASHED_END: &str = "    RETURN NULL;
  END IF;
";

const END: &str =
    "  RAISE EXCEPTION 'feature \"%\" cannot be a jsonb %', $2, pg_catalog.jsonb_typeof(v)
    USING ERRCODE = '42804';
END";
