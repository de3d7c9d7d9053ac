//! Features as arguments of their own, in the model's order.

use pg_interface::Oid;
use pg_interface::catalog::{JSONOID, TEXTOID, UNKNOWNOID};
use pg_interface::signature::{ArgSource, ArgumentType, REAL, Signature, TypedArguments};

use super::FeatureContext;
use super::reader::FeatureReader;
use crate::error::Result;

const JSON_HINT: &str =
    "Cast a JSON object to jsonb, an array to real[], and NULL to what it stands for.";

const ROW_HINT: &str = "A name that is both a table's and a column's means the column; \
     give the table another alias to pass its rows.";

pub struct Columns {
    readers: Vec<FeatureReader>,
    /// Whether all are of type real, and numbers to the model.
    all_real: bool,
}

impl Columns {
    pub fn bind(signature: &Signature, context: FeatureContext<'_>) -> Result<Self> {
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
        Ok(Columns { readers, all_real })
    }

    /// Whether all are numbers to the model, and rounded.
    pub fn is_plain(&self) -> bool {
        self.readers.iter().all(|reader| *reader == FeatureReader::Number)
    }

    pub fn takes_reals(&self) -> bool {
        self.all_real
    }

    #[inline]
    pub fn read<S: ArgSource>(
        &self,
        arguments: TypedArguments<'_, S>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if self.all_real {
            arguments.read_reals(features);
            return Ok(());
        }
        for (index, (feature, reader)) in features.iter_mut().zip(&self.readers).enumerate() {
            *feature = match (arguments.scalar(index), reader) {
                (None, _) => f32::NAN,
                (Some(value), reader) => reader.read(context, index, value)?,
            };
        }
        Ok(())
    }
}

/// Whether a lone argument of this type may have been meant as a JSON object.
fn is_text(type_oid: Oid) -> bool {
    [JSONOID, TEXTOID, UNKNOWNOID].contains(&type_oid)
}
