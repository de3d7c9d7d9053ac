//! The reasons why a type, a value or a model does not fit a call, with the details and hints of their errors.

/// Declares an enum of reasons, each with an optional detail and a hint.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $variant:ident => $detail:expr, $hint:expr;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            #[cfg(test)]
            pub(super) const ALL: &[$name] = &[$($name::$variant),*];

            /// Returns the detail and the hint.
            pub(super) fn texts(self) -> (Option<&'static str>, &'static str) {
                match self {
                    $($name::$variant => ($detail, $hint),)*
                }
            }
        }
    };
}

reasons! {
    /// The reason why a type cannot be used for a feature.
    TypeReason:
    Unusable => None, "Features are numbers, booleans, dates and timestamps, or text and enums for \
                       categorical features. Cast another type, such as citext or \"char\", to text.";
    TextForNumber => Some("The feature is a number."), "Cast the value to a numeric type.";
    /// The same in JSON, which writes dates as strings.
    StringForNumber => Some("The feature is a number."),
        "Pass a JSON number. A date or a timestamp is the seconds since 1970, extract(epoch FROM column).";
    TextWithoutCategories => Some("The model file does not carry the names of the feature's categories."),
        "Pass the category's code, or load the model with the argument categories.";
    TextForNumericCategories => Some("The feature's categories are numbers."), "Cast the value to a numeric type.";
    NumberForTextCategories => Some("The feature's categories are text."),
        "Pass the category as text, or all features as an array with the category's code.";
    /// In a model of CatBoost, where an unknown category is no error.
    TimeForCategories => Some("The feature's categories are text and whole numbers."),
        "Cast the value to text, as the training had it.";
    /// An enum in a pinned call.
    EnumForPinned => Some("The values of an enum can be renamed, and predict_pinned must not notice it."),
        "Store the category as text.";
}

reasons! {
    /// The reason why a value is none of a feature's categories.
    CategoryReason:
    Unknown => None, "Set pgboost.unknown_category to missing to score such rows as if it were null.";
    /// A fraction, in a model of CatBoost.
    Fraction => None, "CatBoost's categories are text and whole numbers: pass the value as text.";
    /// A text with trailing blanks, as JSON has for type char(n).
    Blanks => None, "The blanks at its end count, as to_jsonb writes a value of type char(n): cast the column to text.";
    /// An unknown category, where the model's owner has decided that it is an error.
    Policy => None, "The policy of the model refuses it; its owner can change that with set_unknown_category.";
    /// An unknown category in a pinned call.
    Pinned => None, "Pass null for such values, as by CASE, or leave such rows out of the index: predict_pinned depends \
                     on no setting.";
}

/// The reason why a function cannot be used with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeReason {
    /// It produces several values per row; `classes` if each belongs to a class.
    SeveralValues { values: usize, classes: bool },
    /// It does not classify; `several` if it has several values, of targets or of labels.
    NoClasses { several: bool },
    /// Its values are not probabilities; `several` as above, `classes` if it classifies.
    NoProbabilities { several: bool, classes: bool },
}

impl ShapeReason {
    /// Returns the detail and the hint.
    pub(super) fn texts(self) -> (String, &'static str) {
        match self {
            ShapeReason::SeveralValues { values, classes } => {
                (format!("The model produces {values} values per row."), instead(true, classes))
            }
            ShapeReason::NoClasses { several } => (
                "The model's objective does not choose one class per row.".to_owned(),
                instead(several, false),
            ),
            ShapeReason::NoProbabilities { several, classes } => (
                "The model's objective does not give the probability of each class.".to_owned(),
                instead(several, classes),
            ),
        }
    }
}

/// Returns the hint that names the functions which can be used.
fn instead(several: bool, classes: bool) -> &'static str {
    match (several, classes) {
        (false, false) => "Use predict.",
        (false, true) => "Use predict for the value, or predict_class for a label.",
        (true, false) => "Use predict_array for all values.",
        (true, true) => "Use predict_array for all values, or predict_class for a label.",
    }
}
