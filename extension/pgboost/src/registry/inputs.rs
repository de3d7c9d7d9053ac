//! The values that the features of a version take in calls, compared with those of the version before.
//!
//! Columns, rows and objects have a category itself, so a caller of these goes on after a training that found
//! other categories. An array may have codes, whose meaning such a training shifts without an error.

use std::collections::HashMap;

use gbtrees::internals::{CategoryKind, Narrowing, RealInput};

use crate::cache::ModelImage;

/// A feature as calls give it.
#[derive(Debug, PartialEq)]
enum Input {
    Number,
    /// The code of a category that the file does not have.
    Code,
    /// A text or a whole number, as CatBoost has them.
    Either,
    Category(Categories),
}

#[derive(Debug, PartialEq)]
struct Categories {
    are_texts: bool,
    /// An array has the categories, not their codes.
    takes_value: bool,
    /// In the order of their codes.
    all: Vec<String>,
}

impl Categories {
    /// Returns whether each category is its own code.
    fn are_codes(&self) -> bool {
        !self.are_texts && self.all.iter().enumerate().all(|(code, one)| *one == code.to_string())
    }
}

impl Input {
    fn of(image: &ModelImage, feature: usize) -> Input {
        match image.categories(feature) {
            None if image.is_categorical(feature) => Input::Code,
            None => Input::Number,
            Some(found) if found.kind() == CategoryKind::Hashed => Input::Either,
            Some(found) => Input::Category(Categories {
                are_texts: found.kind() == CategoryKind::Text,
                takes_value: found.takes_value(),
                all: found.texts().collect(),
            }),
        }
    }

    /// Returns what a column, a row and an object have, unless they may have either.
    fn shown(&self) -> Option<&'static str> {
        match self {
            Input::Number | Input::Code => Some("numbers"),
            Input::Category(found) => Some(if found.are_texts { "texts" } else { "numbers" }),
            Input::Either => None,
        }
    }

    /// Returns the categories that an array has codes of, unless these are the values.
    fn coded(&self) -> Option<&[String]> {
        match self {
            Input::Category(found) if !found.takes_value && !found.are_codes() => Some(&found.all),
            _ => None,
        }
    }
}

/// The features of a version by position.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    features: Vec<Input>,
    /// The meaning of reals, if the model compares doubles.
    real_input: Option<RealInput>,
}

/// A feature in two versions: its name or position, and what it is in both.
type Pair<'a> = (String, &'a Input, &'a Input);

impl Inputs {
    pub(super) fn of(image: &ModelImage) -> Inputs {
        let features = (0..image.num_features()).map(|feature| Input::of(image, feature)).collect();
        let rounds = image.narrowing() == Narrowing::Rounded;
        Inputs { features, real_input: (!rounds).then(|| image.real_input()) }
    }

    /// Pairs the features of one name, or of one position where there are no names.
    fn paired<'a>(
        &'a self,
        names: &[String],
        after: &'a Inputs,
        new_names: &[String],
    ) -> Vec<Pair<'a>> {
        let pair = |name: String, old: usize, new: usize| {
            Some((name, self.features.get(old)?, after.features.get(new)?))
        };
        if names.is_empty() || new_names.is_empty() {
            let count = self.features.len();
            let all = (0..count).filter(|_| count == after.features.len());
            return all.filter_map(|index| pair((index + 1).to_string(), index, index)).collect();
        }
        let places: HashMap<&String, usize> =
            names.iter().enumerate().map(|(index, name)| (name, index)).collect();
        let known = |(index, name)| pair(format!("\"{name}\""), *places.get(name)?, index);
        new_names.iter().enumerate().filter_map(known).collect()
    }
}

/// The changes from the inputs of one version to those of a later one.
pub(super) struct InputChanges<'a> {
    pairs: Vec<Pair<'a>>,
    real_inputs: [Option<RealInput>; 2],
}

impl<'a> InputChanges<'a> {
    /// Compares features by their names.
    pub(super) fn between(
        before: (&'a Inputs, &[String]),
        after: (&'a Inputs, &[String]),
    ) -> InputChanges<'a> {
        InputChanges {
            pairs: before.0.paired(before.1, after.0, after.1),
            real_inputs: [before.0.real_input, after.0.real_input],
        }
    }

    /// Returns the inputs of a feature in both versions, if calls of every form have to give others.
    pub(super) fn incompatible(&self) -> Option<[String; 2]> {
        self.pairs.iter().find_map(|(name, old, new)| {
            let kinds = match (old, new) {
                (Input::Code, Input::Category(found)) | (Input::Category(found), Input::Code)
                    if !found.are_texts && !found.are_codes() =>
                {
                    [old, new].map(|one| if **one == Input::Code { "codes" } else { "categories" })
                }
                _ => [old.shown()?, new.shown()?],
            };
            (kinds[0] != kinds[1]).then(|| kinds.map(|kind| format!("{kind} as feature {name}")))
        })
    }

    /// Returns a sentence on a category for which an array has another number, if there is one.
    pub(super) fn recoded(&self, before: i32, after: i32) -> Option<String> {
        // A code is one in all forms.
        let coded = |(_, old, new): &&Pair<'_>| **old != Input::Code && **new != Input::Code;
        self.pairs.iter().filter(coded).find_map(|(name, old, new)| match (old.coded(), new.coded()) {
            (None, None) => None,
            (Some(_), None) => Some(format!(
                "In an array, feature {name} is a code in version {before} and the value in version {after}."
            )),
            (None, Some(_)) => Some(format!(
                "In an array, feature {name} is the value in version {before} and a code in version {after}."
            )),
            (Some(old), Some(new)) => {
                let code = (0..old.len()).find(|code| old.get(*code) != new.get(*code))?;
                let shown = |all: &[String]| {
                    all.get(code).map_or_else(|| "nothing".to_owned(), |one| format!("\"{one}\""))
                };
                Some(format!(
                    "In an array, code {code} of feature {name} is {} in version {before} and {} in version \
                     {after}.",
                    shown(old),
                    shown(new)
                ))
            }
        })
    }

    /// Returns the earlier meaning of reals, if both models compare doubles and the later one has another.
    pub(super) fn other_reals(&self) -> Option<&'static str> {
        let [Some(before), Some(after)] = self.real_inputs else { return None };
        let named = RealInput::NAMES.into_iter().find(|(_, input)| *input == before);
        named.filter(|_| before != after).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(are_texts: bool, takes_value: bool, all: &[&str]) -> Input {
        let all = all.iter().map(|&one| one.to_owned()).collect();
        Input::Category(Categories { are_texts, takes_value, all })
    }

    #[test]
    fn every_pair_of_inputs_is_refused_noticed_or_the_same() {
        let texts = |all| category(true, false, all);
        let numbers = |takes_value, all| category(false, takes_value, all);
        let (ab, tens) = (["a", "b"], ["10", "20"]);
        // Whether it is refused, and whether a call with an array means something else.
        for (before, after, refused, recoded) in [
            (Input::Number, Input::Number, false, false),
            (Input::Number, Input::Code, false, false),
            (Input::Number, texts(&ab), true, true),
            (Input::Number, Input::Either, false, false),
            (Input::Number, numbers(true, &tens), false, false),
            (Input::Number, numbers(false, &tens), false, true),
            (Input::Code, numbers(false, &tens), true, false),
            (Input::Code, numbers(true, &tens), true, false),
            (Input::Code, numbers(false, &["0", "1"]), false, false),
            (Input::Code, texts(&ab), true, false),
            (Input::Either, texts(&ab), false, true),
            (numbers(false, &tens), numbers(true, &tens), false, true),
            (numbers(true, &tens), numbers(true, &["20", "10"]), false, false),
            (numbers(false, &tens), numbers(false, &["20", "10"]), false, true),
            (texts(&ab), texts(&ab), false, false),
            (texts(&ab), texts(&["b", "a"]), false, true),
            (texts(&ab), texts(&["a"]), false, true),
            (texts(&tens), numbers(false, &tens), true, false),
        ] {
            let is_symmetric =
                !matches!((&before, &after), (Input::Category(_), Input::Category(_)));
            let inputs = |input| Inputs { features: vec![input], real_input: None };
            let (before, after) = (inputs(before), inputs(after));
            let found = |before, after| {
                let changes = InputChanges::between((before, &[]), (after, &[]));
                (changes.incompatible().is_some(), changes.recoded(1, 2).is_some())
            };
            assert_eq!(found(&before, &after), (refused, recoded), "{before:?} {after:?}");
            if is_symmetric {
                assert_eq!(found(&after, &before), (refused, recoded), "{after:?} {before:?}");
            }
        }
        // A category more behind the others changes nothing.
        let (fewer, more) = (texts(&["a"]), texts(&ab));
        let [fewer, more] =
            [fewer, more].map(|one| Inputs { features: vec![one], real_input: None });
        let names = ["f".to_owned()];
        let changes = InputChanges::between((&fewer, &names), (&more, &names));
        assert_eq!(changes.recoded(1, 2), None);
        let others = ["g".to_owned()];
        assert!(InputChanges::between((&fewer, &names), (&more, &others)).pairs.is_empty());
    }
}
