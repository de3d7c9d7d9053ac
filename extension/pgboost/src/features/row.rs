//! Features as one row, matched to the model's feature names.
//!
//! Columns that the model does not know are ignored, so a table may have more than the model was
//! trained on. The matching is done again when a call brings a row of another type, as an expression
//! that gives different anonymous rows does, and when a type may have been altered meanwhile.

use pgrx::pg_sys::{FLOAT4OID, Oid};

use super::FeatureContext;
use super::reader::FeatureReader;
use crate::error::{Error, Result};
use crate::pg::rows::{RowParts, RowType, RowValue, RowValues};

const FORM: &str = "row";

/// The matching waits for the first row, which names its type.
#[derive(Default)]
pub struct RowForm(Option<Matched>);

struct Matched {
    row_type: RowType,
    columns: MatchedColumns,
}

struct MatchedColumns {
    /// For each feature, the column's position and how to read it.
    readers: Vec<(usize, FeatureReader)>,
    /// The first column, if all follow one another, are of type real, and numbers to the model.
    reals: Option<usize>,
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
            if let Some(Matched { row_type, columns }) = &mut self.0
                && let Some(values) = row_type.read(row)
            {
                return columns.read(&values, context, features);
            }
            self.0 = Some(Matched::new(RowType::of(row), context)?);
        }
    }

    /// Reads a row that was not formed; of another type than is known now it gives any error.
    pub fn read_parts(
        &mut self,
        row: RowParts<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        let (type_oid, columns) = (row.type_oid(), row.len());
        let fits = |matched: &Matched| matched.row_type.is_still(type_oid, columns);
        if !self.0.as_ref().is_some_and(fits) {
            self.0 = Some(Matched::new(RowType::named(type_oid), context)?);
        }
        match self.0.as_ref().and_then(|matched| Some((matched, matched.row_type.read_parts(row)?)))
        {
            Some((matched, values)) => matched.columns.read(&values, context, features),
            // The type has just changed: the row is formed, and read as any other.
            None => Err(context.count(columns, None)),
        }
    }

    /// See [`super::FeatureBinding::first_real`].
    pub fn first_real(
        &mut self,
        type_oid: Oid,
        columns: usize,
        context: FeatureContext<'_>,
    ) -> Option<usize> {
        let fits = |matched: &Matched| matched.row_type.is_still(type_oid, columns);
        if !self.0.as_ref().is_some_and(fits) {
            let matched = Matched::new(RowType::named(type_oid), context).ok()?;
            self.0 = Some(matched).filter(fits);
        }
        self.0.as_ref()?.columns.reals
    }

    /// The features' values as text, nothing for NULL.
    pub fn texts(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        loop {
            if let Some(Matched { row_type, columns }) = &mut self.0
                && let Some(texts) = row_type.texts(row, columns.positions())
            {
                return Ok(texts);
            }
            self.0 = Some(Matched::new(RowType::of(row), context)?);
        }
    }
}

impl Matched {
    fn new(row_type: RowType, context: FeatureContext<'_>) -> Result<Self> {
        let columns = row_type.columns();
        // ROW(a, b) calls its columns f1, f2 and so on.
        let unnamed = columns
            .iter()
            .enumerate()
            .all(|(position, column)| column.name == format!("f{}", position + 1));
        let mut reals = Vec::new();
        let readers = (0..context.image.num_features())
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
                let reader =
                    FeatureReader::of(context, index, column.type_oid, column.scalar_type)?;
                if column.type_oid == FLOAT4OID && reader == FeatureReader::Number {
                    reals.push(column.position);
                }
                Ok((column.position, reader))
            })
            .collect::<Result<Vec<_>>>()?;
        let first = reals.first().copied().unwrap_or(0);
        let all =
            reals.len() == readers.len() && reals.into_iter().eq(first..first + readers.len());
        let columns = MatchedColumns { readers, reals: all.then_some(first) };
        Ok(Matched { row_type, columns })
    }
}

impl MatchedColumns {
    fn positions(&self) -> impl Iterator<Item = usize> {
        self.readers.iter().map(|reader| reader.0)
    }

    #[inline]
    fn read(
        &self,
        values: &RowValues<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if let Some(first) = self.reals {
            values.read_reals(first, features);
            return Ok(());
        }
        for (index, (feature, (position, reader))) in
            features.iter_mut().zip(&self.readers).enumerate()
        {
            *feature = match values.get(*position) {
                Some(value) => reader.read(context, index, value)?,
                None => f32::NAN,
            };
        }
        Ok(())
    }
}

pub fn require_names(context: FeatureContext<'_>, form: &'static str) -> Result<()> {
    match context.image.feature_name(0) {
        Some(_) => Ok(()),
        None => Err(Error::NoFeatureNames { model: context.model.to_owned(), form }),
    }
}
