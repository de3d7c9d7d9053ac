//! Features as one row, matched to the model's feature names.
//!
//! Columns that the model does not know are ignored, so a table may have more than the model was
//! trained on. Features `image[1]`, `image[2]` and so on are the elements of a column `image`, if the row
//! has no columns of these names. The matching is done again when a call brings a row of another type, as an
//! expression that gives different anonymous rows does, and when a type may have been altered meanwhile.

use std::iter::repeat_n;

use pg_interface::Oid;
use pg_interface::catalog::FLOAT4OID;
use pg_interface::tuple::{RowColumn, RowType, RowValue, RowValues, VirtualRow};
use row_source::names;

use super::FeatureContext;
use super::elements::ElementFeatures;
use super::reader::FeatureReader;
use crate::error::{Error, Result};

const FORM: &str = "row";

/// The matching waits for the first row, which names its type.
#[derive(Default)]
pub struct RowForm(Option<Matched>);

struct Matched {
    row_type: RowType,
    columns: MatchedColumns,
}

struct MatchedColumns {
    /// For each feature, the column's position and how to read it. An element has no such position.
    readers: Vec<(usize, FeatureReader)>,
    /// The positions of arrays, and which features their elements are.
    arrays: Vec<(usize, ElementFeatures)>,
    /// The first column, if all follow one another, are of type real, and numbers to the model.
    reals: Option<usize>,
}

/// A position that no row has.
const NOWHERE: usize = usize::MAX;

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
    pub fn read_virtual(
        &mut self,
        row: VirtualRow<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        let (type_oid, columns) = (row.type_oid(), row.len());
        let fits = |matched: &Matched| matched.row_type.is_still(type_oid, columns);
        if !self.0.as_ref().is_some_and(fits) {
            self.0 = Some(Matched::new(RowType::named(type_oid), context)?);
        }
        match self
            .0
            .as_ref()
            .and_then(|matched| Some((matched, matched.row_type.read_virtual(row)?)))
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
            if let Some(matched) = &mut self.0
                && let Some(texts) = matched.texts(row)
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
        let name = |index| context.image.feature_name(index).unwrap_or_default();
        let names: Vec<&str> = (0..context.image.num_features()).map(name).collect();
        let (mut reals, mut arrays) = (Vec::new(), Vec::new());
        let mut readers = Vec::with_capacity(names.len());
        while let Some(name) = names.get(readers.len()) {
            let index = readers.len();
            if let Some(column) = the_only(&columns, name)? {
                let reader =
                    FeatureReader::of(context, index, column.type_oid, column.scalar_type)?;
                if column.type_oid == FLOAT4OID && reader == FeatureReader::Number {
                    reals.push(column.position);
                }
                readers.push((column.position, reader));
            } else if let Some(array) = array_of(&columns, &names, index, context)? {
                readers.extend(repeat_n((NOWHERE, FeatureReader::Number), array.1.count));
                arrays.push(array);
            } else {
                let (model, feature) = (context.model.to_owned(), (*name).to_owned());
                return Err(Error::NoSuchFeature { model, feature, form: FORM, unnamed });
            }
        }
        let first = reals.first().copied().unwrap_or(0);
        let all =
            reals.len() == readers.len() && reals.into_iter().eq(first..first + readers.len());
        let columns = MatchedColumns { readers, arrays, reals: all.then_some(first) };
        Ok(Matched { row_type, columns })
    }

    /// Nothing at all where [`RowType::read`] reads nothing.
    fn texts(&mut self, row: RowValue<'_>) -> Option<Vec<Option<Vec<u8>>>> {
        let Matched { row_type, columns } = self;
        let values = row_type.read(row)?;
        let positions = columns.readers.iter().map(|reader| reader.0);
        let mut texts: Vec<_> = positions.map(|position| values.text(position)).collect();
        for (position, array) in &columns.arrays {
            let Some(elements) = values.array(*position) else { continue };
            let places = texts.iter_mut().skip(array.first).take(array.count);
            places.zip(elements.texts()).for_each(|(place, text)| *place = text);
        }
        Some(texts)
    }
}

/// The column whose elements are the features from this one on, if there is one.
fn array_of(
    columns: &[RowColumn],
    names: &[&str],
    first: usize,
    context: FeatureContext<'_>,
) -> Result<Option<(usize, ElementFeatures)>> {
    let names = names.get(first..).unwrap_or_default();
    let Some((name, count)) = names::leading_elements(names) else { return Ok(None) };
    let Some(column) = the_only(columns, name)? else { return Ok(None) };
    let Some(element) = column.element.filter(|element| element.is_number()) else {
        return Ok(None);
    };
    let features = ElementFeatures::of(name, column.type_oid, element, first, count, context)?;
    Ok(Some((column.position, features)))
}

/// The column of this name, if there is one.
fn the_only<'a>(columns: &'a [RowColumn], name: &str) -> Result<Option<&'a RowColumn>> {
    let mut named = columns.iter().filter(|column| column.name == name);
    let column = named.next();
    match named.next() {
        Some(_) => Err(Error::AmbiguousColumn { column: name.to_owned() }),
        None => Ok(column),
    }
}

impl MatchedColumns {
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
        for (position, array) in &self.arrays {
            // In an array that is NULL as a whole, everything is missing.
            let Some(values) = values.array(*position) else { continue };
            array.read(values.numbers(), context, features)?;
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
