//! Identifiers and literals that end where they should, whatever the text.
//!
//! Bodies of functions are read again at each call, with the session's `standard_conforming_strings`, so a
//! literal with a backslash says `E''`, which means the same either way.

use crate::ensemble::Precision;

/// Quotes an identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text.
pub(super) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// Quotes the body of a function by a tag that it does not contain.
pub(super) fn body(text: &str) -> String {
    let mut tag = "$body$".to_owned();
    let mut number = 0;
    while text.contains(&tag) {
        number += 1;
        tag = format!("$body{number}$");
    }
    format!("{tag}{text}{tag}")
}

/// Makes a text harmless in a comment that ends with the line.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Writes a number with the fewest digits that are read back as the same; without quotes.
pub(super) fn number(value: f64, precision: Precision) -> String {
    let text = match precision {
        Precision::Single => format!("{:?}", value as f32),
        Precision::Double => format!("{value:?}"),
    };
    match text.as_str() {
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        _ => text.strip_suffix(".0").unwrap_or(&text).to_owned(),
    }
}

/// Writes the literal of an array.
pub(super) fn array<T: ToString>(elements: impl IntoIterator<Item = T>) -> String {
    format!("'{}'", array_text(elements))
}

/// Writes the text of an array of numbers or plain words.
pub(super) fn array_text<T: ToString>(elements: impl IntoIterator<Item = T>) -> String {
    let elements: Vec<String> = elements.into_iter().map(|element| element.to_string()).collect();
    format!("{{{}}}", elements.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_stay_inside_their_quotes() {
        assert_eq!(identifier("a\"; DROP"), "\"a\"\"; DROP\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), "E'a\\\\''b'");
        assert_eq!(body("x $body$ y"), "$body1$x $body$ y$body1$");
        assert_eq!(comment("a\nDROP"), "a DROP");
    }

    #[test]
    fn numbers_are_read_back() {
        assert_eq!(number(f64::from(0.1f32), Precision::Single), "0.1");
        assert_eq!(number(0.1, Precision::Double), "0.1");
        assert_eq!(number(-0.0, Precision::Double), "-0");
        assert_eq!(number(f64::INFINITY, Precision::Double), "Infinity");
        assert_eq!(number(5e-324, Precision::Double), "5e-324");
    }
}
