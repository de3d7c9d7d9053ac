//! Features as arguments of their own, in the model's order.

use pg_interface::NumberType;
use pgrx::pg_sys::{self, Datum, Oid};

use super::reader::FeatureReader;
use super::{ArgSource, FIRST, FeatureContext};
use crate::error::Result;
use crate::pg::arguments::Arguments;
use crate::pg::values;

const JSON_HINT: &str =
    "Cast a JSON object to jsonb, an array to real[], and NULL to what it stands for.";

/// How to read each argument.
pub struct Columns {
    readers: Vec<FeatureReader>,
    /// Whether all are of type real, and numbers to the model.
    all_real: bool,
}

impl Columns {
    /// Works out how to read each argument.
    pub fn bind(arguments: Arguments<'_>, context: FeatureContext<'_>) -> Result<Self> {
        let given = arguments.len().saturating_sub(FIRST);
        if given != context.image.num_features() {
            let text = given == 1 && is_text(arguments.type_of(FIRST));
            return Err(context.count_with_hint(given, text.then_some(JSON_HINT)));
        }
        let readers: Vec<FeatureReader> = (0..given)
            .map(|index| FeatureReader::of(context, index, arguments.type_of(FIRST + index)))
            .collect::<Result<_>>()?;
        let all_real =
            readers.iter().all(|reader| *reader == FeatureReader::Number(NumberType::Float4));
        Ok(Columns { readers, all_real })
    }

    /// Reads the features of one row.
    #[inline]
    pub fn read(
        &self,
        source: impl ArgSource,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if self.all_real
            && let Some((values, nulls)) = source.run()
        {
            for ((feature, value), null) in features.iter_mut().zip(values).zip(nulls) {
                *feature = if *null { f32::NAN } else { real(*value) };
            }
            return Ok(());
        }
        for (index, (feature, reader)) in features.iter_mut().zip(&self.readers).enumerate() {
            *feature = match (source.get(FIRST + index), reader) {
                (None, _) => f32::NAN,
                // The usual case, before the call that the others need.
                (Some(datum), FeatureReader::Number(NumberType::Float4)) => real(datum),
                (Some(datum), reader) => reader.read(context, index, datum)?,
            };
        }
        Ok(())
    }
}

#[inline]
fn real(datum: Datum) -> f32 {
    values::number(datum, NumberType::Float4).single()
}

/// Whether a lone argument of this type may have been meant as a JSON object.
fn is_text(type_oid: Oid) -> bool {
    [pg_sys::JSONOID, pg_sys::TEXTOID, pg_sys::UNKNOWNOID].contains(&type_oid)
}
