//! Features in the model's order: as arguments, or as the elements of one array.
//!
//! An array has what the library takes in a matrix: of XGBoost and LightGBM the codes of categories, of all others
//! the categories themselves, where they are numbers. CatBoost has no codes, and texts have no other number.

use gbtrees::internals::Narrowing;
use pg_interface::array::ArrayValue;
use pg_interface::catalog::{JSONOID, TEXTOID, UNKNOWNOID};
use pg_interface::signature::{ArgSource, ArgumentType, REAL, Signature, TypedArguments};
use pg_interface::tuple::VirtualArray;
use pg_interface::{Oid, Value};

use super::FeatureContext;
use super::feature_reader::{FeatureNumber, FeatureReader};
use crate::cache::ModelImage;
use crate::error::{Error, Result};

const JSON_HINT: &str =
    "Cast a JSON object to jsonb, an array to real[], and NULL to the type of the feature.";

const ROW_HINT: &str = "A name that is both a table's and a column's means the column; \
     give the table another alias to pass its rows.";

pub(crate) struct ColumnBinding {
    readers: Vec<FeatureReader>,
    /// All are of type real, and numbers to the model.
    all_real: bool,
}

impl ColumnBinding {
    pub(crate) fn bind(signature: &Signature, context: FeatureContext<'_>) -> Result<Self> {
        let types = signature.types();
        if types.len() != context.image.num_features() {
            let hint = match types {
                [(only, _)] if is_text(*only) => Some(JSON_HINT),
                [_] if signature.starts_with_column() => Some(ROW_HINT),
                _ => None,
            };
            return Err(context.count(types.len(), hint));
        }
        let reader = |(index, (oid, argument_type)): (usize, &(Oid, ArgumentType))| {
            let scalar_type = match argument_type {
                ArgumentType::Scalar(scalar_type) => Some(*scalar_type),
                _ => None,
            };
            FeatureReader::of(context, index, *oid, scalar_type)
        };
        let readers: Vec<_> = types.iter().enumerate().map(reader).collect::<Result<_>>()?;
        let all_real = readers.iter().all(|reader| *reader == FeatureReader::Number)
            && types.iter().all(|(_, argument_type)| *argument_type == REAL);
        Ok(ColumnBinding { readers, all_real })
    }

    /// Returns whether all are numbers to the model, and rounded.
    pub(crate) fn is_plain(&self) -> bool {
        self.readers.iter().all(|reader| *reader == FeatureReader::Number)
    }

    pub(crate) fn takes_reals(&self) -> bool {
        self.all_real
    }

    #[inline]
    pub(crate) fn read<S: ArgSource, V: FeatureNumber>(
        &self,
        arguments: TypedArguments<'_, S>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if self.all_real
            && let Some(reals) = V::reals(features)
        {
            arguments.read_reals(reals);
            return Ok(());
        }
        for (index, (feature, reader)) in features.iter_mut().zip(&self.readers).enumerate() {
            *feature = match (arguments.scalar(index), reader) {
                (None, _) => context.missing(index)?.into(),
                (Some(value), reader) => reader.read(context, index, value)?,
            };
        }
        Ok(())
    }
}

/// Returns whether a single argument of this type may have been meant as a JSON object.
fn is_text(type_oid: Oid) -> bool {
    [JSONOID, TEXTOID, UNKNOWNOID].contains(&type_oid)
}

pub(crate) struct ArrayForm {
    /// True for each feature of whose categories an array has the values; empty if there is none.
    has_values: Vec<bool>,
}

impl ArrayForm {
    pub(crate) fn bind(context: FeatureContext<'_>) -> Self {
        let takes_value =
            |index| context.image.categories(index).is_some_and(|all| all.takes_value());
        let all: Vec<bool> = (0..context.image.num_features()).map(takes_value).collect();
        ArrayForm { has_values: if all.contains(&true) { all } else { Vec::new() } }
    }

    /// Returns whether elements of type real need no conversion for that model.
    pub(crate) fn takes_reals(&self, image: &ModelImage) -> bool {
        self.has_values.is_empty() && image.narrowing() != Narrowing::Binned
    }

    pub(crate) fn read<V: FeatureNumber>(
        &self,
        array: ArrayValue<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if self.has_values.is_empty()
            && let Some(reals) = array.plain_reals()
        {
            return read_reals(reals, context, features);
        }
        let (dimensions, elements) = array.elements();
        if dimensions > 1 {
            return Err(Error::Dimensions { what: "feature", given: dimensions });
        }
        self.read_values(elements, context, features)
    }

    /// Reads the elements of an array that was not formed.
    pub(crate) fn read_elements<V: FeatureNumber>(
        &self,
        elements: VirtualArray<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if self.takes_reals(context.image)
            && elements.len() == features.len()
            && let Some(reals) = elements.reals()
            && let Some(features) = V::reals(features)
        {
            reals.read_reals(0, features);
            return Ok(());
        }
        self.read_values(elements.values(), context, features)
    }

    fn read_values<'v, V: FeatureNumber>(
        &self,
        elements: impl ExactSizeIterator<Item = Option<Value<'v>>>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if elements.len() != features.len() {
            return Err(context.count(elements.len(), None));
        }
        for (index, (feature, element)) in features.iter_mut().zip(elements).enumerate() {
            *feature = match element {
                Some(Value::Number(number)) if self.has_values.get(index) == Some(&true) => {
                    context.number_code(index, number)?.into()
                }
                Some(Value::Number(number)) => context.narrowed(index, number),
                _ => context.missing(index)?.into(),
            };
        }
        Ok(())
    }
}

fn read_reals<V: FeatureNumber>(
    reals: &[f32],
    context: FeatureContext<'_>,
    features: &mut [V],
) -> Result<()> {
    if reals.len() != features.len() {
        return Err(context.count(reals.len(), None));
    }
    if context.image.narrowing() == Narrowing::Binned {
        for (index, (feature, real)) in features.iter_mut().zip(reals).enumerate() {
            *feature = V::of_real(context, index, *real);
        }
    } else if let Some(features) = V::reals(features) {
        features.copy_from_slice(reals);
    }
    Ok(())
}
