//! Converts a value to a number of a row, for a feature that is a number or a category.
//!
//! Text and enums are categories, and become the code in the model file. Numbers are codes already if the file
//! has no values for them, or in an array for XGBoost and LightGBM. CatBoost has no codes: its categories are
//! text or whole numbers in every form, and an unknown value is not an error. Where the model has statistics of
//! categories, a row has their hashes, and NULL is an error, as in CatBoost.

use gbtrees::internals::{CategoryKind, CategoryView, Narrowing, RealInput, shortest_decimal};
use pg_interface::array::ElementType;
use pg_interface::catalog::{TEXTOID, UNKNOWNOID};
use pg_interface::report::counted;
use pg_interface::{Exact, Number, NumberType, Oid, ScalarType, Value, float_text, varlena};

use super::FeatureContext;
use crate::error::{CategoryReason, Error, Result, TypeReason};
use crate::guc::{UnknownCategory, UnknownRule};

/// A number of a row that is read: the f32 for which splits decide the same, or, for a model with linear leaves,
/// the f64, which the engine converts.
pub(crate) trait FeatureNumber: Copy + From<f32> {
    /// Converts a number that is not simply rounded.
    fn of(context: FeatureContext<'_>, index: usize, number: f64) -> Self;

    /// Converts a real, which the model may read as its shortest decimal.
    fn of_real(context: FeatureContext<'_>, index: usize, number: f32) -> Self;

    /// Converts any number. Out of line, since XGBoost's models, which round their values, do not call
    /// it.
    #[inline(never)]
    fn of_number(context: FeatureContext<'_>, index: usize, number: Number<'_>) -> Self {
        match number.number_type() {
            NumberType::Float4 => Self::of_real(context, index, number.single()),
            _ => Self::of(context, index, number.double()),
        }
    }

    /// Converts a number in a jsonb object, where a real is its shortest decimal.
    #[inline(never)]
    fn of_json(context: FeatureContext<'_>, index: usize, number: Number<'_>) -> Self {
        match number.number_type() {
            NumberType::Float4 if context.image.real_input() == RealInput::Binary => {
                Self::of(context, index, shortest_decimal(number.single()))
            }
            _ => Self::of_number(context, index, number),
        }
    }

    /// Returns the numbers as f32, if values of type real need no conversion.
    fn reals(numbers: &mut [Self]) -> Option<&mut [f32]>;
}

impl FeatureNumber for f32 {
    fn of(context: FeatureContext<'_>, index: usize, number: f64) -> Self {
        context.image.narrow(index, number)
    }

    fn of_real(context: FeatureContext<'_>, index: usize, number: f32) -> Self {
        context.image.narrow_real(index, number)
    }

    #[inline(always)]
    fn reals(numbers: &mut [Self]) -> Option<&mut [f32]> {
        Some(numbers)
    }
}

impl FeatureNumber for f64 {
    fn of(_: FeatureContext<'_>, _: usize, number: f64) -> Self {
        number
    }

    fn of_real(context: FeatureContext<'_>, _: usize, number: f32) -> Self {
        context.image.double_of_real(number)
    }

    fn reals(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureReader {
    Number,
    /// A number that does not fit into a real, or that the model compares as f64.
    Narrowed,
    /// Text or a number, looked up among the feature's categories.
    Category,
    /// An untyped literal, which may only be NULL, and the reason to refuse others.
    OnlyNull(TypeReason),
}

impl FeatureReader {
    /// Chooses the reader for values of a type, in a form that matches columns to features.
    pub(crate) fn of(
        context: FeatureContext<'_>,
        index: usize,
        type_oid: Oid,
        scalar_type: Option<ScalarType>,
    ) -> Result<FeatureReader> {
        let Some(scalar_type) = scalar_type else {
            return Err(context.unusable(index, type_oid, TypeReason::Unusable));
        };
        let kind = context.image.categories(index).map(|categories| categories.kind());
        let is_time = matches!(scalar_type, ScalarType::Number(number) if number.is_time());
        if is_time && kind == Some(CategoryKind::Hashed) {
            return Err(context.unusable(index, type_oid, TypeReason::TimeForCategories));
        }
        let Some(reason) = context.mismatch(index, scalar_type.is_text()) else {
            if context.image.categories(index).is_some() {
                return Ok(FeatureReader::Category);
            }
            return Ok(match (context.image.narrowing_of(index), scalar_type) {
                (Narrowing::Rounded, _) => FeatureReader::Number,
                (Narrowing::Adjusted, ScalarType::Number(number)) if number.is_single() => {
                    FeatureReader::Number
                }
                (Narrowing::Adjusted | Narrowing::Binned, _) => FeatureReader::Narrowed,
            });
        };
        // Users write an untyped NULL for a missing value.
        if type_oid == UNKNOWNOID {
            return Ok(FeatureReader::OnlyNull(reason));
        }
        Err(context.unusable(index, type_oid, reason))
    }

    /// Converts a value that is not NULL.
    #[inline]
    pub(crate) fn read<V: FeatureNumber>(
        self,
        context: FeatureContext<'_>,
        index: usize,
        value: Value<'_>,
    ) -> Result<V> {
        match (self, value) {
            (FeatureReader::Number, Value::Number(number)) => Ok(number.single().into()),
            (FeatureReader::Narrowed, Value::Number(number)) => {
                Ok(V::of_number(context, index, number))
            }
            (FeatureReader::Category, value) => context.code(index, value).map(V::from),
            (FeatureReader::Number | FeatureReader::Narrowed, Value::Text(_)) => {
                Err(context.unusable(index, TEXTOID, TypeReason::TextForNumber))
            }
            (FeatureReader::OnlyNull(reason), _) => {
                Err(context.unusable(index, UNKNOWNOID, reason))
            }
        }
    }
}

impl FeatureContext<'_> {
    /// Converts a number that is not a category.
    #[inline]
    pub(crate) fn narrowed<V: FeatureNumber>(self, index: usize, number: Number<'_>) -> V {
        match self.image.narrowing() {
            Narrowing::Rounded => number.single().into(),
            Narrowing::Adjusted | Narrowing::Binned => V::of_number(self, index, number),
        }
    }

    /// Converts a number in a jsonb object that is not a category.
    #[inline]
    pub(crate) fn narrowed_json<V: FeatureNumber>(self, index: usize, number: Number<'_>) -> V {
        match self.image.narrowing() {
            Narrowing::Rounded => number.single_of_json().into(),
            Narrowing::Adjusted | Narrowing::Binned => V::of_json(self, index, number),
        }
    }

    /// Returns the reason why text, or else a number, cannot be a feature, matched by name or by position.
    pub(crate) fn mismatch(self, index: usize, is_text: bool) -> Option<TypeReason> {
        let categories = self.image.categories(index).map(|categories| categories.kind());
        match (is_text, categories) {
            (true, Some(CategoryKind::Text)) | (false, None) | (_, Some(CategoryKind::Hashed)) => {
                None
            }
            (false, Some(CategoryKind::Integer | CategoryKind::Float)) => None,
            (false, Some(CategoryKind::Text)) => Some(TypeReason::NumberForTextCategories),
            (true, Some(_)) => Some(TypeReason::TextForNumericCategories),
            (true, None) if self.image.is_categorical(index) => {
                Some(TypeReason::TextWithoutCategories)
            }
            (true, None) => Some(TypeReason::TextForNumber),
        }
    }

    #[inline(never)]
    fn code(self, index: usize, value: Value<'_>) -> Result<f32> {
        match value {
            Value::Text(text) => {
                let known = |text: &str| self.row_value(index, |all| all.code_of_text(text));
                let value = text.text();
                // Drivers and COPY pass on the blanks of char(n), which a training may have learned.
                let code = known(&value).or_else(|| known(&text.padded()?));
                self.code_or_unknown(index, code, || value.to_string())
            }
            Value::Number(number) => self.number_code(index, number),
        }
    }

    pub(crate) fn text_code(self, index: usize, value: &str) -> Result<f32> {
        let code = self.row_value(index, |all| all.code_of_text(value));
        self.code_or_unknown(index, code, || value.to_owned())
    }

    /// Returns the code of a category given as a number; a NaN is a missing value. A real is looked up by its
    /// shortest decimal, then by its value.
    pub(crate) fn number_code(self, index: usize, number: Number<'_>) -> Result<f32> {
        match number.exact() {
            Exact::Float(value) if number.number_type() == NumberType::Float4 => {
                self.real_code(index, value)
            }
            Exact::Integer(value) => self.integer_code(index, value),
            Exact::Float(value) => match self.hashed_digits(index, number) {
                Some(digits) => self.text_code(index, &digits),
                None => self.float_code(index, value),
            },
        }
    }

    /// Returns the digits of a whole numeric that no bigint can be, where categories are hashes of digits.
    fn hashed_digits(self, index: usize, number: Number<'_>) -> Option<String> {
        let is_hashed = self.image.categories(index)?.kind() == CategoryKind::Hashed;
        let mut text = (is_hashed && number.number_type() == NumberType::Numeric)
            .then(|| number.numeric_text())?;
        let end = text.find('.').unwrap_or(text.len());
        let is_whole = text.bytes().skip(end + 1).all(|byte| byte == b'0')
            && text.bytes().take(end).all(|byte| byte.is_ascii_digit() || byte == b'-');
        text.truncate(end);
        is_whole.then_some(text)
    }

    pub(crate) fn integer_code(self, index: usize, value: i64) -> Result<f32> {
        let code = self.row_value(index, |all| all.code_of_integer(value));
        self.code_or_unknown(index, code, || value.to_string())
    }

    /// Returns the code of a category given as a floating-point number; a NaN is a missing value.
    pub(crate) fn float_code(self, index: usize, value: f64) -> Result<f32> {
        if value.is_nan() {
            return self.missing(index);
        }
        let code = self.row_value(index, |all| all.code_of_float(value));
        self.code_or_unknown(index, code, || float_text(value))
    }

    /// Returns the code of a number in a jsonb object, where a real is its shortest decimal.
    pub(crate) fn json_number_code(self, index: usize, number: Number<'_>) -> Result<f32> {
        match number.number_type() {
            NumberType::Float4 => self.float_code(index, shortest_decimal(number.single())),
            _ => self.number_code(index, number),
        }
    }

    /// Returns the code of a category given as a real. A model trained on float32 data has these values in its
    /// file.
    fn real_code(self, index: usize, value: f64) -> Result<f32> {
        let is_itself = self.image.real_input() == RealInput::Binary
            || self.image.categories(index).is_some_and(|all| all.has_float(value));
        let value = if is_itself { value } else { shortest_decimal(value as f32) };
        self.float_code(index, value)
    }

    /// Converts a code of a feature's categories, or an unknown one, to a number of a row.
    fn row_value(
        self,
        index: usize,
        code: impl Fn(CategoryView<'_>) -> Option<u32>,
    ) -> Option<f32> {
        let categories = self.image.categories(index)?;
        code(categories).map(|code| categories.row_value(code))
    }

    fn code_or_unknown(
        self,
        index: usize,
        code: Option<f32>,
        value: impl Fn() -> String,
    ) -> Result<f32> {
        match code {
            Some(code) => Ok(code),
            None => {
                if self.unknown_category.handling() == UnknownCategory::Missing {
                    return self.unknown(index);
                }
                let value = varlena::require_representable(value(), "category")?;
                let hashed = self.image.categories(index).map(|all| all.kind());
                let reason = match hashed {
                    _ if self.unknown_category == UnknownRule::Pinned => CategoryReason::Pinned,
                    Some(CategoryKind::Hashed) => CategoryReason::Fraction,
                    Some(CategoryKind::Text) if value.ends_with(' ') => CategoryReason::Blanks,
                    _ if self.unknown_category != UnknownRule::Setting => CategoryReason::Policy,
                    _ => CategoryReason::Unknown,
                };
                Err(Error::UnknownCategory { feature: self.feature(index), value, reason })
            }
        }
    }
}

/// Consecutive features that are the elements of a column.
pub(crate) struct ElementFeatures {
    column: String,
    /// The first of them.
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl ElementFeatures {
    /// Creates the features. Fails unless all are numbers to the model.
    pub(crate) fn of(
        column: &str,
        array_type: Oid,
        element: ElementType,
        first: usize,
        count: usize,
        context: FeatureContext<'_>,
    ) -> Result<ElementFeatures> {
        for index in first..first + count {
            let scalar_type = Some(element.scalar_type());
            let reader = FeatureReader::of(context, index, element.oid(), scalar_type)?;
            if !matches!(reader, FeatureReader::Number | FeatureReader::Narrowed) {
                return Err(context.unusable(index, array_type, TypeReason::Unusable));
            }
        }
        Ok(ElementFeatures { column: column.to_owned(), first, count })
    }

    /// Reads the elements of an array, `None` for a NULL, into features that are set to missing values.
    #[inline(never)]
    pub(crate) fn read<'a, V: FeatureNumber>(
        &self,
        elements: impl Iterator<Item = Option<Number<'a>>>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        let mut places = features.iter_mut().enumerate().skip(self.first).take(self.count);
        let mut given = 0;
        for element in elements {
            given += 1;
            if let (Some((index, place)), Some(number)) = (places.next(), element) {
                *place = context.narrowed(index, number);
            }
        }
        if given == self.count {
            return Ok(());
        }
        let expected = counted(self.count, "element");
        Err(Error::ArrayLength { column: self.column.clone(), expected, given })
    }
}
