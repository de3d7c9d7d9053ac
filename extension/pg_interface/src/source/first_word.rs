//! Tells a query from a name by its first word.

/// The words that a query may begin with.
const FIRST_WORDS: [&str; 4] = ["select", "with", "values", "table"];

/// Whether the first word, behind blanks, comments and parentheses, is one that a query begins with.
pub fn begins_like_a_query(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            break;
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    // A table may be called "values", but nothing follows its name.
    !after.trim().is_empty() && FIRST_WORDS.iter().any(|first| word.eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::begins_like_a_query;

    #[test]
    fn queries_are_told_from_names() {
        for query in
            ["select 1", " (SELECT 1)", "-- a\nWITH x AS (SELECT 1) TABLE x", "/* b */ values(1)"]
        {
            assert!(begins_like_a_query(query), "{query}");
        }
        for name in ["flights", "\"select\"", "public.flights", "selected", "select", "values "] {
            assert!(!begins_like_a_query(name), "{name}");
        }
    }
}
