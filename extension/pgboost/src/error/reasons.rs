//! The reasons why a type, a value or a model does not fit a call, with the details and hints of their errors.

/// The reason why a type cannot be used for a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeReason {
    Unusable,
    TextForNumber,
    /// The same in JSON, which writes dates as strings.
    StringForNumber,
    /// Text, but the model does not carry the names of the feature's categories.
    TextWithoutCategories,
    /// Text, but the feature's categories are numbers.
    TextForNumericCategories,
    /// A number, but the feature's categories are text.
    NumberForTextCategories,
    /// An enum in a pinned call: its values can be renamed.
    EnumForPinned,
}

impl TypeReason {
    /// Returns the detail and the hint.
    pub(super) fn texts(self) -> (Option<&'static str>, &'static str) {
        use TypeReason::*;
        match self {
            Unusable => (
                None,
                "Features are numbers, booleans, dates and timestamps, or text and enums for \
                 categorical features. Cast another type, such as citext or \"char\", to text.",
            ),
            TextForNumber => {
                (Some("The feature is a number."), "Cast the value to a numeric type.")
            }
            StringForNumber => (
                Some("The feature is a number."),
                "Pass a JSON number. A date or a timestamp is the seconds since 1970, \
                 extract(epoch FROM column).",
            ),
            TextWithoutCategories => (
                Some("The model file does not carry the names of the feature's categories."),
                "Pass the category's code, or load the model with the argument categories.",
            ),
            TextForNumericCategories => {
                (Some("The feature's categories are numbers."), "Cast the value to a numeric type.")
            }
            NumberForTextCategories => (
                Some("The feature's categories are text."),
                "Pass the category as text, or all features as an array with the category's code.",
            ),
            EnumForPinned => (
                Some(
                    "The values of an enum can be renamed, and predict_pinned must not notice it.",
                ),
                "Store the category as text.",
            ),
        }
    }
}

/// The reason why a value is none of a feature's categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CategoryReason {
    Unknown,
    /// A fraction: CatBoost's categories are texts and whole numbers.
    Fraction,
    /// A text with trailing blanks, as JSON has for type char(n).
    Blanks,
    /// An unknown category, where the model's owner has decided that it is an error.
    Policy,
    /// An unknown category in a pinned call, which depends on no setting.
    Pinned,
}

impl CategoryReason {
    pub(super) fn hint(self) -> &'static str {
        match self {
            CategoryReason::Unknown => {
                "Set pgboost.unknown_category to missing to score such rows as if it were null."
            }
            CategoryReason::Policy => {
                "The policy of the model refuses it; its owner can change that with set_unknown_category."
            }
            CategoryReason::Fraction => {
                "CatBoost's categories are text and whole numbers: pass the value as text."
            }
            CategoryReason::Blanks => {
                "The blanks at its end count, as to_jsonb writes a value of type char(n): cast the column to \
                 text."
            }
            CategoryReason::Pinned => {
                "Pass null for such values, as by CASE, or leave such rows out of the index: predict_pinned depends \
                 on no setting."
            }
        }
    }
}

/// The reason why a function cannot be used with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeReason {
    /// It produces several values per row; `classes` if each belongs to a class.
    SeveralValues { values: usize, classes: bool },
    /// It does not classify; `several` if it has several values, of targets or of labels.
    NoClasses { several: bool },
    /// Its values are not probabilities; `several` as above.
    NoProbabilities { several: bool },
}

impl ShapeReason {
    /// Returns the detail and the hint.
    pub(super) fn texts(self) -> (String, &'static str) {
        match self {
            ShapeReason::SeveralValues { values, classes } => (
                format!("The model produces {values} values per row."),
                if classes {
                    "Use predict_array for all values, or predict_class for a label."
                } else {
                    "Use predict_array for all values."
                },
            ),
            ShapeReason::NoClasses { several } => (
                "The model's objective does not choose one class per row.".to_owned(),
                if several {
                    "Use predict_array for all values."
                } else {
                    "Use predict or predict_array."
                },
            ),
            ShapeReason::NoProbabilities { several } => (
                "The model's objective does not give the probability of each class.".to_owned(),
                if several {
                    "Use predict_array for all values."
                } else {
                    "Use predict, predict_array or predict_class."
                },
            ),
        }
    }
}
