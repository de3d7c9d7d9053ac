//! Features as one row, matched to the model's feature names.
//!
//! Columns that the model does not know are ignored, so a table may have more than the model was
//! trained on. The matching is done again when a call brings a row of another type, as an expression
//! that gives different anonymous rows does, and when a type may have been altered meanwhile.

use super::FeatureContext;
use super::reader::FeatureReader;
use crate::error::{Error, Result};
use crate::pg::rows::{RowType, RowValue};

const FORM: &str = "row";

/// The matching waits for the first row, which names its type.
#[derive(Default)]
pub struct RowForm(Option<Matched>);

struct Matched {
    row_type: RowType,
    /// For each feature, the column's position and how to read it.
    columns: Vec<(usize, FeatureReader)>,
}

impl RowForm {
    /// Checks that rows can be matched.
    pub fn bind(context: FeatureContext<'_>) -> Result<Self> {
        require_names(context, FORM).map(|()| RowForm::default())
    }

    pub fn read(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        loop {
            if let Some(matched) = &mut self.0
                && matched.read(row, context, features)?
            {
                return Ok(());
            }
            self.0 = Some(Matched::new(row, context)?);
        }
    }

    /// The features' values as text, nothing for NULL.
    pub fn texts(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        loop {
            if let Some(Matched { row_type, columns }) = &mut self.0
                && let Some(texts) = row_type.texts(row, columns.iter().map(|column| column.0))
            {
                return Ok(texts);
            }
            self.0 = Some(Matched::new(row, context)?);
        }
    }
}

impl Matched {
    fn new(row: RowValue<'_>, context: FeatureContext<'_>) -> Result<Self> {
        let row_type = RowType::of(row);
        let columns = row_type.columns();
        // ROW(a, b) calls its columns f1, f2 and so on.
        let unnamed = columns
            .iter()
            .enumerate()
            .all(|(position, column)| column.name == format!("f{}", position + 1));
        let columns = (0..context.image.num_features())
            .map(|index| {
                let name = context.image.feature_name(index).unwrap_or_default();
                let mut named = columns.iter().filter(|column| column.name == name);
                let column = named.next().ok_or_else(|| Error::NoSuchFeature {
                    model: context.model.to_owned(),
                    feature: name.to_owned(),
                    form: FORM,
                    unnamed,
                })?;
                if named.next().is_some() {
                    return Err(Error::AmbiguousColumn { column: name.to_owned() });
                }
                Ok((
                    column.position,
                    FeatureReader::of(context, index, column.type_oid, column.scalar_type)?,
                ))
            })
            .collect::<Result<_>>()?;
        Ok(Matched { row_type, columns })
    }

    /// Returns false if the row is of another type, or its type may have been altered.
    fn read(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<bool> {
        let Some(values) = self.row_type.read(row) else { return Ok(false) };
        for (index, (feature, (position, reader))) in
            features.iter_mut().zip(&self.columns).enumerate()
        {
            *feature = match values.get(*position) {
                Some(value) => reader.read(context, index, value)?,
                None => f32::NAN,
            };
        }
        Ok(true)
    }
}

pub fn require_names(context: FeatureContext<'_>, form: &'static str) -> Result<()> {
    match context.image.feature_name(0) {
        Some(_) => Ok(()),
        None => Err(Error::NoFeatureNames { model: context.model.to_owned(), form }),
    }
}
