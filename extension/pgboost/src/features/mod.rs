//! Reads the arguments of a call as a row of numbers, in the four forms of features.
//!
//! `FeatureBinding::bind` interprets the types of arguments once per statement, and `FeatureBinding::read` reads
//! each row by the result. In every form NULL is a missing value, NaN to the engine.

pub(crate) mod by_name;
mod by_position;
mod feature_reader;

use gbtrees::internals::Narrowing;
use pg_interface::report::{Phrase, counted, named_features, shown};
use pg_interface::signature::{ArgSource, ArgumentType, Composite, Signature, TypedArguments};
use pg_interface::{Oid, catalog};

use self::feature_reader::FeatureNumber;
use crate::cache::ModelImage;
use crate::error::{Error, Result, TypeReason};
use crate::guc::UnknownRule;

/// The most features whose names a message lists.
const MAX_NAMES_SHOWN: usize = 20;

/// The NaN of an unknown category, which is any other to the engine. Statistics count the rows that have it.
pub(crate) const UNKNOWN: f32 = f32::from_bits(0x7fc0_756b);

#[derive(Clone, Copy)]
pub(crate) struct FeatureContext<'a> {
    /// The model's name as in the statement, for messages.
    pub(crate) model: &'a str,
    pub(crate) image: &'a ModelImage,
    pub(crate) unknown_category: UnknownRule,
}

impl FeatureContext<'_> {
    /// Returns a feature's name in quotes, or its position counted from 1, for messages.
    fn feature(&self, index: usize) -> Phrase {
        let name = self.image.feature_name(index).map(shown);
        name.map_or_else(|| (index + 1).to_string(), |name| format!("\"{name}\"")).into()
    }

    /// Returns the number for NULL in a row.
    ///
    /// # Errors
    /// If the feature is a category that the model maps to statistics.
    #[inline]
    pub(crate) fn missing(&self, index: usize) -> Result<f32> {
        if self.image.takes_hash(index) { Err(self.null_category(index)) } else { Ok(f32::NAN) }
    }

    /// Returns the number for an unknown category that is handled as missing.
    fn unknown(&self, index: usize) -> Result<f32> {
        self.missing(index).map(|_| UNKNOWN)
    }

    #[cold]
    fn null_category(&self, index: usize) -> Error {
        Error::NullCategory { feature: self.feature(index) }
    }

    #[cold]
    pub(crate) fn unusable(&self, index: usize, type_oid: Oid, reason: TypeReason) -> Error {
        let type_name = catalog::type_name(type_oid);
        Error::FeatureType { feature: self.feature(index), type_name, reason }
    }

    pub(crate) fn count(&self, given: usize, hint: Option<&'static str>) -> Error {
        Error::FeatureCount {
            model: self.model.to_owned(),
            expected: counted(self.image.num_features(), "feature"),
            given,
            names: self.names(),
            hint,
        }
    }

    /// Returns a sentence with the features' names, if they have names and are few.
    fn names(&self) -> Option<Phrase> {
        let features = self.image.num_features();
        let name = |index| self.image.feature_name(index).map(shown);
        let names: Option<Vec<_>> = (0..features).map(name).collect();
        let names = names.filter(|_| features <= MAX_NAMES_SHOWN)?.join(", ");
        Some(named_features(features, &names).into())
    }
}

/// Fills the row of a model with linear leaves from the numbers that the closure reads.
#[inline(never)]
pub(crate) fn read_doubles(
    image: &ModelImage,
    doubles: &mut Vec<f64>,
    row: &mut [f32],
    read: impl FnOnce(&mut [f64]) -> Result<()>,
) -> Result<()> {
    doubles.resize(image.num_features(), 0.0);
    read(doubles)?;
    image.narrow_row(doubles, row);
    Ok(())
}

pub(crate) enum FeatureBinding {
    Columns(by_position::ColumnBinding),
    Array(by_position::ArrayForm),
    /// One row, matched by name.
    Row(by_name::RowForm),
    /// One jsonb object, matched by name.
    Object(by_name::ObjectForm),
}

impl FeatureBinding {
    /// Interprets arguments of these types for this model.
    pub(crate) fn bind(
        signature: &Signature,
        context: FeatureContext<'_>,
    ) -> Result<FeatureBinding> {
        Ok(match *signature.types() {
            [(_, ArgumentType::Array(element))] if element.is_number() => {
                FeatureBinding::Array(by_position::ArrayForm::bind(context))
            }
            [(oid, ArgumentType::Array(_) | ArgumentType::OtherArray)] => {
                let type_name = catalog::type_name(catalog::base_type(oid));
                return Err(Error::ArrayType { type_name });
            }
            [(_, ArgumentType::Jsonb)] => {
                FeatureBinding::Object(by_name::ObjectForm::bind(context)?)
            }
            [(_, ArgumentType::Row)] => FeatureBinding::Row(by_name::RowForm::bind(context)?),
            _ => FeatureBinding::Columns(by_position::ColumnBinding::bind(signature, context)?),
        })
    }

    /// Returns whether it serves every model with as many features for which [`FeatureBinding::is_plain_for`] holds.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            FeatureBinding::Columns(form) => form.is_plain(),
            FeatureBinding::Array(_) | FeatureBinding::Row(_) | FeatureBinding::Object(_) => false,
        }
    }

    /// Returns whether arguments of type real, or elements of a real[], need no conversion for that model.
    pub(crate) fn takes_reals(&self, image: &ModelImage) -> bool {
        match self {
            FeatureBinding::Columns(form) => form.takes_reals(),
            FeatureBinding::Array(form) => form.takes_reals(image),
            FeatureBinding::Row(_) | FeatureBinding::Object(_) => false,
        }
    }

    /// Returns the column with the first feature in rows of a type with `columns`, or `None` if the features are not
    /// consecutive, or not all of type real and numbers to the model.
    pub(crate) fn first_real(
        &mut self,
        row_type: Oid,
        columns: usize,
        context: FeatureContext<'_>,
    ) -> Option<usize> {
        match self {
            FeatureBinding::Row(form) => form.first_real(row_type, columns, context),
            _ => None,
        }
    }

    /// Returns whether a model takes every feature as a number, and rounds it as XGBoost does.
    pub(crate) fn is_plain_for(image: &ModelImage) -> bool {
        image.narrowing() == Narrowing::Rounded && !image.has_categories()
    }

    /// Reads the features of one row, whose arguments are of the types that were bound.
    /// `features.len() == num_features`.
    #[inline]
    pub(crate) fn read<S: ArgSource, V: FeatureNumber>(
        &mut self,
        arguments: TypedArguments<'_, S>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if let FeatureBinding::Columns(form) = self {
            return form.read(arguments, context, features);
        }
        match (self, arguments.composite(0)) {
            (FeatureBinding::Array(form), Some(Composite::Array(array))) => {
                form.read(array, context, features)
            }
            (FeatureBinding::Array(form), Some(Composite::VirtualArray(elements))) => {
                form.read_elements(elements, context, features)
            }
            (FeatureBinding::Row(form), Some(Composite::Row(row))) => {
                form.read(row, context, features)
            }
            (FeatureBinding::Row(form), Some(Composite::VirtualRow(columns))) => {
                form.read_virtual(columns, context, features)
            }
            (FeatureBinding::Object(form), Some(Composite::Jsonb(object))) => {
                form.read(object, context, features)
            }
            (FeatureBinding::Object(form), Some(Composite::VirtualObject(object))) => {
                form.read_virtual(object, context, features)
            }
            // All features of an array, a row or an object that is NULL are missing.
            _ => {
                for (index, feature) in features.iter_mut().enumerate() {
                    *feature = context.missing(index)?.into();
                }
                Ok(())
            }
        }
    }

    /// Returns the values that [`FeatureBinding::read`] reads, as text in the database's encoding, `None` for
    /// NULL.
    pub(crate) fn texts<S: ArgSource>(
        &mut self,
        arguments: TypedArguments<'_, S>,
        context: FeatureContext<'_>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let features = 0..context.image.num_features();
        if let FeatureBinding::Columns(_) = self {
            return Ok(features.map(|index| arguments.text(index)).collect());
        }
        Ok(match (self, arguments.composite(0)) {
            (FeatureBinding::Array(_), Some(Composite::Array(array))) => array.texts(),
            (FeatureBinding::Row(form), Some(Composite::Row(row))) => form.texts(row, context)?,
            (FeatureBinding::Object(form), Some(Composite::Jsonb(object))) => form.texts(object),
            _ => features.map(|_| None).collect(),
        })
    }
}
