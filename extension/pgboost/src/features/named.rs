//! Features as columns of a source, matched by name, as those of a row are.

use pg_interface::ScalarType;
use pg_interface::catalog::FLOAT4OID;
use row_source::{PlacedColumn, Row};

use super::FeatureContext;
use super::elements::ElementFeatures;
use super::reader::FeatureReader;
use crate::cache::ModelImage;
use crate::error::Result;

pub struct NamedColumns {
    /// For each feature the place of its column, and how it is read.
    columns: Vec<(usize, FeatureReader)>,
    /// The places of arrays, and which features their elements are.
    arrays: Vec<(usize, ElementFeatures)>,
    /// Place of the first column, if all follow one another, are of type real, and numbers to the model.
    reals: Option<usize>,
}

/// A place that no column has.
const NOWHERE: usize = usize::MAX;

/// What a feature is called: its name, or XGBoost's own for one without.
pub fn feature_name(name: Option<&str>, index: usize) -> String {
    name.map_or_else(|| format!("f{index}"), str::to_owned)
}

/// The names of the columns that a source must have.
pub fn column_names(image: &ModelImage) -> Vec<String> {
    (0..image.num_features()).map(|index| feature_name(image.feature_name(index), index)).collect()
}

impl NamedColumns {
    /// The columns, one for each feature in its order.
    pub fn bind(columns: &[PlacedColumn], context: FeatureContext<'_>) -> Result<Self> {
        let reader = |(index, column): (usize, &PlacedColumn)| {
            if column.element.is_some() {
                return Ok((NOWHERE, FeatureReader::Number));
            }
            let scalar_type = ScalarType::of(column.type_oid);
            let reader = FeatureReader::of(context, index, column.type_oid, scalar_type)?;
            Ok((column.position, reader))
        };
        let readers: Vec<_> = columns.iter().enumerate().map(reader).collect::<Result<_>>()?;
        let real = |column: &PlacedColumn| column.type_oid == FLOAT4OID;
        let number = |(_, reader): &(usize, FeatureReader)| *reader == FeatureReader::Number;
        let first = columns.first().map(|column| column.position);
        let follow = |first: usize| {
            columns.iter().zip(first..).all(|(column, place)| column.position == place)
        };
        let reals = columns.iter().all(real) && readers.iter().all(number);
        let mut arrays = Vec::new();
        for (first, column) in columns.iter().enumerate() {
            if let (Some((0, count)), Some(element)) = (column.element, column.element_type()) {
                let (name, array_type) = (column.array_name(), column.type_oid);
                let of = ElementFeatures::of(name, array_type, element, first, count, context)?;
                arrays.push((column.position, of));
            }
        }
        Ok(NamedColumns {
            arrays,
            columns: readers,
            reals: first.filter(|first| reals && follow(*first)),
        })
    }

    /// `features.len() == num_features`.
    #[inline]
    pub fn read(
        &self,
        row: Row<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if let Some(first) = self.reals {
            row.read_reals(first, features);
            return Ok(());
        }
        for (index, (feature, (position, reader))) in
            features.iter_mut().zip(&self.columns).enumerate()
        {
            *feature = match row.get(*position).and_then(|field| field.value()) {
                None => f32::NAN,
                Some(value) => reader.read(context, index, value)?,
            };
        }
        for (position, array) in &self.arrays {
            // In an array that is NULL as a whole, everything is missing.
            let field = row.get(*position);
            if let Some(elements) = field.and_then(|field| field.elements()) {
                array.read(elements, context, features)?;
            }
        }
        Ok(())
    }
}
