//! PostgreSQL's own operators, functions and types, by qualified names.

/// The types of values in the script.
const TYPES: [&str; 12] = [
    "bool", "bytea", "float4", "float8", "int4", "int8", "jsonb", "numeric", "oid", "record",
    "text", "varbit",
];

/// Qualifies the operators, functions and types of code, so that objects of their names planted elsewhere are
/// never found. Operators lose their order of precedence by that. Quoted texts and names stay as they are.
pub(super) fn in_pg_catalog(code: &str) -> String {
    let mut out = String::with_capacity(2 * code.len());
    let (mut rest, mut before) = (code, "");
    while !rest.is_empty() {
        let (token, after) = rest.split_at(token_bytes(rest));
        let is_function = token.starts_with(|c: char| c.is_ascii_lowercase())
            && after.starts_with('(')
            && ![".", "AS"].contains(&before);
        if token.starts_with(is_operator) {
            out.push_str("OPERATOR(pg_catalog.");
            out.push_str(token);
            out.push(')');
        } else {
            if is_function || TYPES.contains(&token) && before != "." {
                out.push_str("pg_catalog.");
            }
            out.push_str(token);
        }
        if !token.starts_with(char::is_whitespace) {
            before = token;
        }
        rest = after;
    }
    out
}

/// Returns the length of the first token: a quoted text or name, an operator, a word, a run of dots, or `:=`.
fn token_bytes(code: &str) -> usize {
    let run = |is: fn(char) -> bool| code.find(|c| !is(c)).unwrap_or(code.len());
    let quoted = |quote: &str| {
        let text = code.get(quote.len()..).unwrap_or_default();
        text.find(quote).map_or(code.len(), |end| end + 2 * quote.len())
    };
    let mut all = code.chars();
    match (all.next().unwrap_or_default(), all.next().unwrap_or_default()) {
        ('\'', _) => quoted("'"),
        ('"', _) => quoted("\""),
        ('$', second) if !second.is_ascii_digit() => {
            let end = code.get(1..).and_then(|code| code.find('$')).map_or(0, |end| end + 2);
            quoted(code.get(..end).unwrap_or_default())
        }
        (':', '=') => 2,
        ('.', _) => run(|c| c == '.'),
        (first, _) if is_operator(first) => run(is_operator),
        (first, _) if is_word(first) => run(is_word),
        (first, _) => first.len_utf8(),
    }
}

fn is_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&|`?".contains(c)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::in_pg_catalog;

    #[test]
    fn code_is_qualified_and_texts_are_not() {
        for (code, qualified) in [
            ("a <= - b", "a OPERATOR(pg_catalog.<=) OPERATOR(pg_catalog.-) b"),
            ("n int4[] := $1::text", "n pg_catalog.int4[] := $1::pg_catalog.text"),
            ("1..abs(q.text)", "1..pg_catalog.abs(q.text)"),
            ("unnest(v) AS q(x)", "pg_catalog.unnest(v) AS q(x)"),
            ("\"a+b\".\"f\"(x)", "\"a+b\".\"f\"(x)"),
            ("E'it''s a+f(x) \\\\'", "E'it''s a+f(x) \\\\'"),
            ("$b1$a + f(x)$$$b1$ + 'é'", "$b1$a + f(x)$$$b1$ OPERATOR(pg_catalog.+) 'é'"),
        ] {
            assert_eq!(in_pg_catalog(code), qualified);
        }
    }
}
