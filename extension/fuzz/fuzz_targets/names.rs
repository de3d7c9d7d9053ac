//! Texts that name something: a model by `name@version`, a source by its name or a query. Whatever the text,
//! it is refused for a reason, or means what its parts mean, and what is printed of it means the same.
#![no_main]

#[allow(dead_code, reason = "most errors come from elsewhere")]
#[path = "../../pgboost/src/error/mod.rs"]
mod error;
#[path = "../../pgboost/src/registry/reference.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;
use reference::{Reference, Wanted, check_alias, check_name};
use row_source::names::nearest;
use row_source::source::begins_like_a_query;

const NAMES: [&str; 4] = ["churn", "churn_v2", "Größe", "a"];

fuzz_target!(|text: &str| {
    match Reference::parse(text) {
        Ok(reference) => check(text, &reference),
        Err(error) => assert!(!error.report().message.is_empty()),
    }
    if let Some(found) = nearest(text, NAMES.into_iter()) {
        assert!(NAMES.contains(&found));
    }
    // Space, comments and parentheses in front of a query make no difference.
    let query = begins_like_a_query(text);
    for before in [" ", "(", "-- select\n", "/* x */", "\t/**/\n"] {
        assert_eq!(begins_like_a_query(&format!("{before}{text}")), query, "{before}{text}");
    }
    assert!(!begins_like_a_query(&format!("\"{text}\"")));
});

fn check(text: &str, reference: &Reference<'_>) {
    let name = reference.name;
    check_name(name).expect("a name that was taken");
    let printed = match reference.wanted {
        Wanted::Deployed => name.to_owned(),
        Wanted::Version(version) => {
            assert!(version > 0);
            format!("{name}@{version}")
        }
        Wanted::Alias(alias) => {
            check_alias(alias).expect("an alias that was taken");
            format!("{name}@{alias}")
        }
    };
    // Except for zeros before a number it is the text.
    assert!(text == printed || matches!(reference.wanted, Wanted::Version(_)));
    assert_eq!(Reference::parse(&printed).as_ref(), Ok(reference));
}
