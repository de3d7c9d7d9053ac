//! The columns of a user's query as values of features, by their types, as the extension's `predict` takes them.
//!
//! The function that puts a query around the user's looks at the types first, by a query that reads no row and
//! in whose plan nothing is left of the user's. So each column has one expression, for its type alone. Expressions of
//! the user's are kept from being computed twice.
//!
//! A semicolon may end the user's query. Where the last one does is left to PostgreSQL's parser: what follows it
//! also follows the whole statement, so that anything but blanks and comments is an error.

use super::UnknownCategory;
use super::catalog::in_pg_catalog;
use super::inputs::{ArgumentType, ITSELF, Inputs, UNKNOWN};
use super::objects::double_of;
use super::quote::{array, body, identifier, literal};
use super::trees::Forest;

/// The rules by which a feature's column is read.
struct Column {
    /// Its name, quoted.
    name: String,
    feature: String,
    kind: &'static str,
    /// Whether NaN must be NULL.
    tells_nan: bool,
    /// The number that a real is: itself, its decimal, or what is in an array, and else its decimal.
    real: String,
    /// The array of the only reals that are not to be themselves, if it is known.
    reals_apart: Option<String>,
    /// The expression of a number that is no category; without one, its error.
    other: Option<String>,
}

/// The columns of all features.
pub(super) struct FeatureColumns {
    all: Vec<Column>,
    /// The function of an unknown category.
    unknown: String,
}

impl FeatureColumns {
    /// `tells_nan` is whether trees tell a feature's NaN from NULL; `qualified` qualifies the ending of a
    /// function's name.
    pub(super) fn of(
        inputs: &Inputs<'_>,
        forest: &Forest<'_>,
        unknown: UnknownCategory,
        qualified: impl Fn(&str) -> String,
        tells_nan: impl Fn(usize) -> bool,
    ) -> Self {
        let mut reals_apart = inputs.reals_apart(forest);
        reals_apart.resize(inputs.arguments.len(), None);
        let all = inputs.arguments.iter().enumerate().zip(reals_apart);
        let all = all.map(|((feature, argument), reals_apart)| Column {
            name: identifier(&argument.name),
            feature: argument.feature.clone(),
            kind: match argument.kind {
                ArgumentType::Number if inputs.is_rounded(feature) => "single",
                ArgumentType::Number => "double",
                ArgumentType::Integer => "integer",
                ArgumentType::Text => "text",
                ArgumentType::Hashed => "hashed",
            },
            tells_nan: argument.kind == ArgumentType::Number && tells_nan(feature),
            real: match reals_apart.as_deref() {
                Some("{}") => ITSELF.to_owned(),
                _ => inputs.real(feature),
            },
            reals_apart,
            other: inputs.no_category(feature).or_else(|| match unknown {
                UnknownCategory::Missing => Some("NULL".to_owned()),
                UnknownCategory::Error => None,
            }),
        });
        FeatureColumns { all: all.collect(), unknown: qualified(UNKNOWN) }
    }

    /// Returns the body of the function from the user's query, `$1`, to the query with `head` and `tail` around
    /// that of the values `x0`, `x1` and so on.
    pub(super) fn body(&self, head: &str, tail: &str) -> String {
        let texts = |of: &dyn Fn(&Column) -> Option<String>| {
            let texts = self.all.iter().map(|column| match of(column) {
                Some(text) => literal(&text),
                None => "NULL".to_owned(),
            });
            format!("ARRAY[{}]::text[]", texts.collect::<Vec<_>>().join(", "))
        };
        let types = self.all.iter().map(|own| format!("pg_catalog.pg_typeof(q.{})", own.name));
        let described = format!(
            "SELECT ARRAY[{}]::pg_catalog.oid[] FROM (SELECT) AS o LEFT JOIN (SELECT * FROM (",
            types.collect::<Vec<_>>().join(", ")
        );
        format!(
            "DECLARE\n  \
             described CONSTANT text := {};\n  \
             head CONSTANT text := {};\n  \
             tail CONSTANT text := {};\n  \
             unknown CONSTANT text := {};\n  \
             of_numeric CONSTANT text := {};\n  \
             names CONSTANT text[] := {};\n  \
             features CONSTANT text[] := {};\n  \
             kinds CONSTANT text[] := {};\n  \
             reals CONSTANT text[] := {};\n  \
             reals_apart CONSTANT text[] := {};\n  \
             others CONSTANT text[] := {};\n  \
             tell_nan CONSTANT bool[] := {};\n{READ}",
            body(&described),
            body(&in_pg_catalog(head)),
            body(&in_pg_catalog(tail)),
            literal(&self.unknown),
            literal(&in_pg_catalog(&double_of("{}"))),
            texts(&|column| Some(column.name.clone())),
            texts(&|column| Some(column.feature.clone())),
            array(self.all.iter().map(|column| column.kind)),
            texts(&|column| Some(column.real.clone())),
            texts(&|column| column.reals_apart.clone()),
            texts(&|column| column.other.clone()),
            array(self.all.iter().map(|column| column.tells_nan)),
        )
    }
}

/// The types' numbers are those of `pg_type`: text, varchar, char and name; smallint, integer and bigint; boolean;
/// real and double precision; numeric; date; timestamps. A numeric is a whole number to a category as far as the
/// extension takes it for one: as `bigint`, by its digits if they are hashed, or as its double up to 2^53. Infinity
/// has no scale.
const READ: &str = "  t oid[];
  b oid;
  d oid;
  k pg_catalog.\"char\";
  x text;
  v text;
  w text;
  y text;
  given text := '';
  asked text;
  ending CONSTANT text := E'\\n) AS q WHERE false) AS q ON true';
  is_twice bool := false;
BEGIN
  IF $1 IS NULL THEN RAISE EXCEPTION 'query cannot be null' USING ERRCODE := '22004'; END IF;
  asked := $1;
  LOOP
    BEGIN
      FOR t IN EXECUTE concat(described, asked, ending, substr($1, length(asked) + 1)) LOOP END LOOP;
      EXIT;
    EXCEPTION WHEN syntax_error OR invalid_cursor_definition THEN
      asked := substring(asked, '^(.*);');
      IF asked IS NULL THEN EXECUTE concat(described, $1, ending); END IF;
    END;
  END LOOP;
  FOR i IN 1..cardinality(names) LOOP
    b := t[i];
    LOOP
      SELECT p.typtype, p.typbasetype INTO k, d FROM pg_catalog.pg_type AS p WHERE p.oid = b;
      EXIT WHEN NOT FOUND OR k <> 'd';
      b := d;
    END LOOP;
    x := concat('q.', names[i]);
    v := NULL;
    IF k = 'e' OR b = ANY ('{25,1043,1042,19}'::oid[]) THEN
      IF kinds[i] = ANY ('{text,hashed}'::text[]) THEN
        v := concat(x, '::pg_catalog.text');
      END IF;
    ELSIF kinds[i] <> 'text' THEN
      v := CASE
        WHEN kinds[i] = 'hashed' AND b = ANY ('{1082,1114,1184}'::oid[]) THEN NULL
        WHEN b = ANY ('{21,23,20,1700,701}'::oid[]) THEN x
        WHEN b = 16 THEN concat(x, '::pg_catalog.int4')
        WHEN b = 700 THEN CASE
          WHEN reals[i] = 'itself' THEN concat(x, '::pg_catalog.float8')
          WHEN reals[i] = 'decimal' THEN
            concat('CASE WHEN ' || x || ' OPERATOR(pg_catalog.=) ANY (''' || reals_apart[i] || '''::pg_catalog.float4[]) THEN ', x, '::pg_catalog.text::pg_catalog.float8',
              CASE WHEN reals_apart[i] IS NOT NULL THEN concat(' ELSE ', x, '::pg_catalog.float8 END') END)
          ELSE concat('CASE WHEN ', x, '::pg_catalog.float8 OPERATOR(pg_catalog.=) ANY (''', reals[i],
            '''::pg_catalog.float8[]) THEN ', x, '::pg_catalog.float8 ELSE ', x,
            '::pg_catalog.text::pg_catalog.float8 END') END
        WHEN b = 1082 THEN concat('CASE WHEN pg_catalog.isfinite(', x, ') THEN (', x,
          ' OPERATOR(pg_catalog.-) ''1970-01-01''::pg_catalog.date)::pg_catalog.float8 OPERATOR(pg_catalog.*) ''86400'' ',
          'WHEN ', x, ' OPERATOR(pg_catalog.>) ''1970-01-01'' THEN ''Infinity'' ELSE ''-Infinity'' END')
        WHEN b = ANY ('{1114,1184}'::oid[]) THEN
          concat('EXTRACT(EPOCH FROM ', x, ')::pg_catalog.float8') END;
      IF kinds[i] = ANY ('{single,double}'::text[]) THEN
        v := CASE
          WHEN b = 20 AND kinds[i] = 'single' THEN
            concat(x, '::pg_catalog.float4::pg_catalog.float8')
          WHEN b = 1700 THEN concat('CASE WHEN pg_catalog.abs(', x, ') OPERATOR(pg_catalog.<) ''1e300'' AND pg_catalog.scale(', x,
            ') OPERATOR(pg_catalog.<) 300 THEN ', x, '::pg_catalog.float8 ',
            replace(of_numeric, '{}', x), ' END')
          WHEN v IS NOT NULL THEN concat('(', v, ')::pg_catalog.float8') END;
        IF tell_nan[i] AND b = ANY ('{700,701,1700}'::oid[]) THEN
          v := concat('CASE WHEN ', x, ' OPERATOR(pg_catalog.<) ''NaN'' THEN ', v, ' END');
        END IF;
      ELSIF v IS NOT NULL THEN
        w := CASE WHEN kinds[i] = 'integer' THEN '::pg_catalog.int8'
          ELSE '::pg_catalog.int8::pg_catalog.text' END;
        y := CASE WHEN b = 1700 THEN concat('CASE ', replace(of_numeric, '{}', x), ' END') END;
        IF b = ANY ('{21,23,20,16}'::oid[]) THEN
          v := concat(v, w);
        ELSE
          v := concat('CASE WHEN (', v, ') OPERATOR(pg_catalog.<>) ''NaN'' THEN CASE WHEN (', v,
            ') OPERATOR(pg_catalog.=) pg_catalog.trunc(', v, ') AND ',
            CASE WHEN b = 1700 AND kinds[i] = 'hashed' THEN
              concat('pg_catalog.scale(', v, ') IS NOT NULL THEN pg_catalog.trunc(', v, ')::pg_catalog.text')
            ELSE concat('(', v, ') OPERATOR(pg_catalog.>=) ''',
              CASE WHEN b = 1700 THEN '-9223372036854775808' ELSE '-9007199254740992' END,
              ''' AND (', v, ') OPERATOR(pg_catalog.<=) ''',
              CASE WHEN b = 1700 THEN '9223372036854775807' ELSE '9007199254740992' END,
              ''' THEN (', v, ')', w) END,
            ' WHEN (' || y || ') OPERATOR(pg_catalog.=) pg_catalog.trunc('
              || y || ') AND pg_catalog.abs('
              || y || ') OPERATOR(pg_catalog.<=) 9007199254740992 THEN ('
              || y || ')' || w, ' ELSE ',
            COALESCE(others[i], concat(unknown, '((', v, ')::pg_catalog.text, ',
              quote_literal(features[i]), ')')), replace(w, '::pg_catalog.int8::', '::'),
            ' END END');
        END IF;
      END IF;
    END IF;
    IF v IS NULL THEN
      RAISE EXCEPTION 'feature \"%\" cannot be of type %', features[i], format_type(t[i], NULL)
        USING ERRCODE := '42804', HINT := 'Features are numbers, booleans, dates and timestamps, or text and enums for '
          'categorical features.';
    END IF;
    given := concat(given, ', ', v, ' AS x', i - 1);
    is_twice := is_twice OR strpos(substr(v, strpos(v, x) + 1), x) > 0;
  END LOOP;
  RETURN concat(head, 'SELECT q.id::pg_catalog.text AS id', given, ' FROM (',
    CASE WHEN is_twice THEN 'SELECT * FROM (' END, asked, E'\\n) AS q',
    CASE WHEN is_twice THEN ' OFFSET 0) AS q' END, ' OFFSET 0', tail);
END";
