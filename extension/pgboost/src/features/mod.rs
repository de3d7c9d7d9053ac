//! From the arguments of a call to a row of f32: the four forms that features come in.
//!
//! What an argument list means is worked out once a statement, by `FeatureBinding::bind`; `FeatureBinding::read` then
//! only follows it. Whatever the form, NULL is a missing value, which the engine takes as NaN.

mod array;
mod columns;
mod object;
mod reader;
mod row;

use pg_interface::types;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::cache::ModelImage;
use crate::error::{Error, Result, TypeReason};
use crate::pg::arguments::Arguments;

/// The position of the first feature among the arguments; the model's name comes before it.
const FIRST: usize = 1;

/// What features are read for.
#[derive(Clone, Copy)]
pub struct FeatureContext<'a> {
    /// The model as the statement names it, for messages.
    pub model: &'a str,
    /// The model's image.
    pub image: &'a ModelImage,
}

impl FeatureContext<'_> {
    /// What messages call a feature: its name in quotes, or its position counted from 1.
    fn feature(&self, index: usize) -> String {
        self.image
            .feature_name(index)
            .map_or_else(|| (index + 1).to_string(), |name| format!("\"{name}\""))
    }

    fn unusable(&self, index: usize, type_oid: Oid, reason: TypeReason) -> Error {
        let type_name = types::type_name(type_oid);
        Error::FeatureType { feature: self.feature(index), type_name, reason }
    }

    fn count(&self, given: usize) -> Error {
        self.count_with_hint(given, None)
    }

    fn count_with_hint(&self, given: usize, hint: Option<&'static str>) -> Error {
        Error::FeatureCount {
            model: self.model.to_owned(),
            expected: self.image.num_features(),
            given,
            hint,
        }
    }
}

/// Where the values of one row's arguments come from: a call, or a row that was read ahead of one.
pub trait ArgSource: Copy {
    /// An argument, or nothing if it is NULL. The model's name is the first.
    fn get(self, index: usize) -> Option<Datum>;

    /// All arguments but the first, and which of them are NULL, if they lie one after another.
    #[inline]
    fn run(&self) -> Option<(&[Datum], &[bool])> {
        None
    }
}

impl ArgSource for Arguments<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        Arguments::get(self, index)
    }
}

/// How the features of a statement are passed, and in which types.
pub struct FeatureBinding {
    kind: Form,
    types: Box<[Oid]>,
}

enum Form {
    /// An argument each.
    Columns(columns::Columns),
    /// One array.
    Array(array::Array),
    /// One row, matched by name.
    Row(row::RowForm),
    /// One jsonb object, matched by name.
    Object(object::ObjectForm),
}

impl FeatureBinding {
    /// Works out what the arguments of a statement mean for this model.
    ///
    /// # Errors
    /// [`Error::FeatureCount`], [`Error::FeatureType`], [`Error::NoFeatureNames`].
    pub fn bind(arguments: Arguments<'_>, context: FeatureContext<'_>) -> Result<FeatureBinding> {
        let types = arguments.types_from(FIRST).collect();
        Ok(FeatureBinding { kind: Form::bind(arguments, context)?, types })
    }

    /// Whether the arguments of another statement are of the same types.
    #[inline]
    pub fn fits(&self, arguments: Arguments) -> bool {
        self.types.iter().copied().eq(arguments.types_from(FIRST))
    }

    /// Reads the features of one row; `features` has a place for each.
    ///
    /// # Errors
    /// [`Error::FeatureCount`], [`Error::UnknownCategory`], [`Error::NoSuchFeature`] and others that
    /// depend on the values.
    #[inline]
    pub fn read(
        &mut self,
        source: impl ArgSource,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if let Form::Columns(form) = &self.kind {
            return form.read(source, context, features);
        }
        // In an array, a row or an object that is NULL as a whole, everything is missing.
        let Some(whole) = source.get(FIRST) else {
            features.fill(f32::NAN);
            return Ok(());
        };
        match &mut self.kind {
            Form::Columns(form) => form.read(source, context, features),
            Form::Array(form) => form.read(whole, context, features),
            Form::Row(form) => form.read(whole, context, features),
            Form::Object(form) => form.read(whole, context, features),
        }
    }
}

impl Form {
    fn bind(arguments: Arguments<'_>, context: FeatureContext<'_>) -> Result<Form> {
        let given = arguments.len().saturating_sub(FIRST);
        if given == 1 {
            let type_oid = types::base_type(arguments.type_of(FIRST));
            if let Some(element) = types::element_type(type_oid) {
                return Ok(Form::Array(array::Array::bind(type_oid, element)?));
            }
            if type_oid == pg_sys::JSONBOID {
                return Ok(Form::Object(object::ObjectForm::bind(context)?));
            }
            if types::is_row_type(type_oid) {
                return Ok(Form::Row(row::RowForm::bind(context)?));
            }
        }
        Ok(Form::Columns(columns::Columns::bind(arguments, context)?))
    }
}
