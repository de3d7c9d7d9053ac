//! Features as columns of a source, matched by name, as those of a row are.

use pg_interface::ScalarType;
use pg_interface::source::{PlacedColumn, Row};

use super::FeatureContext;
use super::reader::FeatureReader;
use crate::cache::ModelImage;
use crate::error::Result;

pub struct NamedColumns {
    /// For each feature the place of its column, and how it is read.
    columns: Vec<(usize, FeatureReader)>,
}

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
            let scalar_type = ScalarType::of(column.type_oid);
            let reader = FeatureReader::of(context, index, column.type_oid, scalar_type)?;
            Ok((column.position, reader))
        };
        let columns = columns.iter().enumerate().map(reader).collect::<Result<_>>()?;
        Ok(NamedColumns { columns })
    }

    /// `features.len() == num_features`.
    #[inline]
    pub fn read(
        &self,
        row: Row<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        for (index, (feature, (position, reader))) in
            features.iter_mut().zip(&self.columns).enumerate()
        {
            *feature = match row.get(*position).and_then(|field| field.value()) {
                None => f32::NAN,
                Some(value) => reader.read(context, index, value)?,
            };
        }
        Ok(())
    }
}
