//! Models as SQL: the script of any checked model has the statements of a script and no others, and its
//! functions' bodies end their quotes, whatever the names, labels and categories in the file.
//!
//! The first byte chooses the names of the functions and the meaning of unknown categories.
#![no_main]

mod mutation;

use gbtrees::internals::parse;
use gbtrees::{Cancel, ErrorKind, Limits, sql};
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

const NAMES: [&str; 4] = ["m", "a\"; DROP TABLE t; --", "$body$", "é'\\\n"];
const STATEMENTS: [&str; 6] =
    ["BEGIN", "SET LOCAL ", "DO", "CREATE OR REPLACE FUNCTION ", "COMMENT ON FUNCTION ", "COMMIT"];

fuzz_mutator!(|data: &mut [u8], size: usize, longest: usize, seed: u32| {
    mutation::mutate(data, size, longest, seed, |bytes, random| {
        let (first, file) = bytes.split_first()?;
        let edited =
            mutation::json::edit(file, random).or_else(|| mutation::words::edit(file, random))?;
        Some([&[*first], &edited[..]].concat())
    })
});

fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
    let [Some((head, first)), Some((_, second))] = [first.split_first(), second.split_first()]
    else {
        return 0;
    };
    mutation::join([first, second], out, seed, |first, second, random| {
        Some([&[*head], &mutation::json::cross(first, second, random)?[..]].concat())
    })
});

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, file)) = bytes.split_first() else { return };
    let limits = Limits::default()
        .with_bytes(1 << 20)
        .with_trees(64)
        .with_nodes(4096)
        .with_depth(64)
        .with_features(64)
        .with_outputs(16);
    let Ok(model) = parse(file, &limits, Cancel::never()) else { return };
    let name = |choice: u8| NAMES[usize::from(choice) % NAMES.len()];
    let mut options = sql::Options::new(name(*choice)).schema(name(choice >> 2));
    options.version = (choice & 16 != 0).then_some(7);
    if choice & 32 != 0 {
        options = options.unknown_category(sql::UnknownCategory::Missing);
    }
    match sql::export_ensemble(&model, &[], &options, Cancel::never()) {
        Ok(script) => check(&script),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    }
});

fn check(script: &str) {
    let (statements, bodies) = split(script);
    assert_eq!(statements.first(), Some(&"BEGIN"));
    assert_eq!(statements.last(), Some(&"COMMIT"));
    let of = |words: &str| statements.iter().filter(|one| one.starts_with(words)).count();
    assert_eq!([of("BEGIN"), of("COMMIT"), of("DO")], [1, 1, 1]);
    assert_eq!(of("CREATE OR REPLACE FUNCTION "), of("COMMENT ON FUNCTION "));
    for statement in &statements {
        assert!(STATEMENTS.iter().any(|words| statement.starts_with(words)), "{statement}");
    }
    for body in bodies {
        split(body);
    }
}

/// Splits at semicolons that stand alone; returns also what dollars quote. Panics if a quote does not end.
fn split(script: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut statements, mut bodies, mut start, mut rest) = (Vec::new(), Vec::new(), 0, script);
    let is_mark = |byte| matches!(byte, b'-' | b'\'' | b'"' | b'$' | b';');
    while let Some(next) = rest.bytes().position(is_mark) {
        let before = &script[..script.len() - rest.len() + next];
        rest = &rest[next..];
        let statement = &before[start..];
        match rest.as_bytes()[0] {
            b';' => {
                rest = &rest[1..];
                statements.push(statement.trim());
                start = before.len() + 1;
            }
            b'-' if rest.starts_with("--") => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
                if statement.trim().is_empty() {
                    start = script.len() - rest.len();
                }
            }
            quote @ (b'\'' | b'"') => {
                let word = before.strip_suffix('E').filter(|_| quote == b'\'');
                let escapes = word.is_some_and(|word| !word.ends_with(char::is_alphanumeric));
                rest = after_quote(&rest[1..], quote, escapes);
            }
            _ => {
                let Some(tag) = dollar_tag(rest, before) else {
                    rest = &rest[1..];
                    continue;
                };
                let (body, after) = rest[tag.len()..].split_once(tag).expect("a body that ends");
                bodies.push(body);
                rest = after;
            }
        }
    }
    (statements, bodies)
}

/// Returns what is behind the end of a quote, in which it stands twice for itself.
fn after_quote(mut text: &str, quote: u8, escapes: bool) -> &str {
    while let Some(at) = text.bytes().position(|byte| byte == quote || escapes && byte == b'\\') {
        let is_quote = text.as_bytes()[at] == quote;
        text = &text[at + 1..];
        // The same byte again, or the one behind a backslash.
        if is_quote && !text.starts_with(char::from(quote)) {
            return text;
        }
        text = text.get(1..).expect("an escaped character of ASCII");
    }
    panic!("a quote does not end");
}

/// Returns the tag of a dollar quote, which is no argument `$1` nor part of a name.
fn dollar_tag<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let name = text.strip_prefix('$')?;
    let in_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
    let length = name.find('$')?;
    let is_name = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    (!in_name && is_name(&name[..length])).then(|| &text[..length + 2])
}
