//! Functions that read features of a jsonb object, by the rules of the extension's `predict`: null is a
//! missing value, an absent key an error, and NaN and the infinities may be strings.

use super::inputs::ArgumentType;

/// Returns the ending of the name of the function that reads an argument.
pub(super) fn reader(kind: ArgumentType) -> &'static str {
    match kind {
        ArgumentType::Number => "_number",
        ArgumentType::Integer => "_integer",
        ArgumentType::Text => "_text",
    }
}

/// Returns the body of that function, of an object and a key.
pub(super) fn body(kind: ArgumentType) -> String {
    let (declared, read) = match kind {
        ArgumentType::Number => ("", NUMBER),
        ArgumentType::Integer => ("  n pg_catalog.numeric;\n", INTEGER),
        ArgumentType::Text => ("", TEXT),
    };
    format!("{START}{declared}{ABSENT}{read}{END}")
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

const NUMBER: &str =
    "  IF k OPERATOR(pg_catalog.=) 'number' THEN RETURN v::pg_catalog.float8; END IF;
  IF k OPERATOR(pg_catalog.=) 'boolean' THEN
    RETURN CASE WHEN v::pg_catalog.bool THEN 1 ELSE 0 END;
  END IF;
  k := $1 OPERATOR(pg_catalog.->>) $2;
  IF k OPERATOR(pg_catalog.=) 'NaN' THEN RETURN NULL; END IF;
  IF k OPERATOR(pg_catalog.=) ANY ('{Infinity,-Infinity}'::pg_catalog.text[]) THEN RETURN k; END IF;
";

const INTEGER: &str = "  IF k OPERATOR(pg_catalog.=) 'number' THEN
    n := v::pg_catalog.numeric;
    IF n OPERATOR(pg_catalog.=) pg_catalog.trunc(n) THEN RETURN n; END IF;
    RAISE EXCEPTION 'unknown category \"%\" for feature \"%\"', n, $2 USING ERRCODE = '22P02';
  END IF;
";

const TEXT: &str = "  IF k OPERATOR(pg_catalog.=) ANY ('{string,number}'::pg_catalog.text[]) THEN
    RETURN $1 OPERATOR(pg_catalog.->>) $2;
  END IF;
";

const END: &str =
    "  RAISE EXCEPTION 'feature \"%\" cannot be a jsonb %', $2, pg_catalog.jsonb_typeof(v)
    USING ERRCODE = '42804';
END";
