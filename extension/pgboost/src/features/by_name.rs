//! Features matched by the model's feature names: to the columns of a row or of a source, or to the keys of
//! one jsonb object.
//!
//! Other columns are ignored, so a table may have more than the model was trained on. Features `image[1]`,
//! `image[2]` and so on are the elements of a column `image`, unless columns have these names. Rows are matched
//! again when a call has a row of another type, as with different anonymous rows, and when the type may have been
//! altered.
//!
//! In an object, JSON's null is a missing value. An absent key is an error, like an absent column, because a
//! misspelt key would otherwise give a wrong prediction silently. NaN and the infinities, for which JSON has no
//! numbers, may be strings as `to_jsonb` writes them.

use std::iter::repeat_n;
use std::rc::Rc;

use pg_interface::array::ArrayValue;
use pg_interface::catalog::FLOAT4OID;
use pg_interface::jsonb::{Item, KeyPositions, Object, ObjectType};
use pg_interface::tuple::{RowColumn, RowType, RowValue, RowValues, VirtualRow};
use pg_interface::virtual_object::VirtualObject;
use pg_interface::{Number, Oid, ScalarType, Value};
use row_source::{PlacedColumn, Row, names};

use super::FeatureContext;
use super::feature_reader::{ElementFeatures, FeatureNumber, FeatureReader};
use crate::cache::ModelImage;
use crate::error::{Error, Result, TypeReason};

const ROW_FORM: &str = "row";

/// The columns of features in a row or a source.
#[derive(Default)]
pub(crate) struct MatchedColumns {
    /// For each feature, the column's position and its reader. For an element the position is `NOWHERE`.
    readers: Vec<(usize, FeatureReader)>,
    /// The positions of arrays, with the features in their elements.
    arrays: Vec<(usize, ElementFeatures)>,
    /// The first column, if all are consecutive, of type real, and numbers to the model.
    reals: Option<usize>,
}

/// A position that no row has.
const NOWHERE: usize = usize::MAX;

/// The values of a row's columns by their positions, `None` for NULL.
trait ColumnValues {
    fn value(&self, position: usize) -> Option<Value<'_>>;
    /// Returns the elements of an array of numbers, `None` for a NULL.
    fn numbers(&self, position: usize)
    -> Option<impl ExactSizeIterator<Item = Option<Number<'_>>>>;
    /// Reads consecutive columns of type real from `first` on, NaN for a NULL.
    fn read_reals(&self, first: usize, reals: &mut [f32]);
}

impl ColumnValues for RowValues<'_> {
    #[inline]
    fn value(&self, position: usize) -> Option<Value<'_>> {
        self.get(position)
    }

    fn numbers(
        &self,
        position: usize,
    ) -> Option<impl ExactSizeIterator<Item = Option<Number<'_>>>> {
        self.array(position).map(ArrayValue::numbers)
    }

    #[inline]
    fn read_reals(&self, first: usize, reals: &mut [f32]) {
        RowValues::read_reals(self, first, reals);
    }
}

impl ColumnValues for Row<'_> {
    #[inline]
    fn value(&self, position: usize) -> Option<Value<'_>> {
        self.get(position).and_then(|field| field.value())
    }

    fn numbers(
        &self,
        position: usize,
    ) -> Option<impl ExactSizeIterator<Item = Option<Number<'_>>>> {
        self.get(position).and_then(|field| field.elements())
    }

    #[inline]
    fn read_reals(&self, first: usize, reals: &mut [f32]) {
        Row::read_reals(*self, first, reals);
    }
}

impl MatchedColumns {
    /// Matches the columns of a source, one for each feature in its order.
    pub(crate) fn of_source(columns: &[PlacedColumn], context: FeatureContext<'_>) -> Result<Self> {
        let mut matched = MatchedColumns::default();
        while let Some(column) = columns.get(matched.readers.len()) {
            let PlacedColumn { position, type_oid, .. } = *column;
            match (column.element, column.element_type()) {
                (Some((_, count)), Some(element)) => {
                    let (name, first) = (column.array_name(), matched.readers.len());
                    let array =
                        ElementFeatures::of(name, type_oid, element, first, count, context)?;
                    matched.push_array(position, array);
                }
                _ => matched.push(position, type_oid, ScalarType::of(type_oid), context)?,
            }
        }
        Ok(matched)
    }

    /// Matches the columns of a row type.
    fn of_row(columns: &[RowColumn], context: FeatureContext<'_>) -> Result<Self> {
        let name = |index| context.image.feature_name(index).unwrap_or_default();
        let names: Vec<&str> = (0..context.image.num_features()).map(name).collect();
        let mut matched = MatchedColumns::default();
        while let Some(name) = names.get(matched.readers.len()) {
            let index = matched.readers.len();
            if let Some(column) = the_only(columns, name)? {
                matched.push(column.position, column.type_oid, column.scalar_type, context)?;
            } else if let Some((position, array)) = array_of(columns, &names, index, context)? {
                matched.push_array(position, array);
            } else {
                // ROW(a, b) names its columns f1, f2 and so on.
                let mut numbered = columns.iter().enumerate();
                let unnamed =
                    numbered.all(|(place, column)| column.name == format!("f{}", place + 1));
                return Err(absent(name, ROW_FORM, unnamed, context));
            }
        }
        Ok(matched)
    }

    /// Adds the column of the next feature.
    fn push(
        &mut self,
        position: usize,
        type_oid: Oid,
        scalar_type: Option<ScalarType>,
        context: FeatureContext<'_>,
    ) -> Result<()> {
        let index = self.readers.len();
        let reader = FeatureReader::of(context, index, type_oid, scalar_type)?;
        let is_real = type_oid == FLOAT4OID && reader == FeatureReader::Number;
        if index == 0 {
            self.reals = Some(position);
        }
        self.reals = self.reals.filter(|first| is_real && first + index == position);
        self.readers.push((position, reader));
        Ok(())
    }

    /// Adds the column of an array, whose elements are the next features.
    fn push_array(&mut self, position: usize, array: ElementFeatures) {
        self.reals = None;
        self.readers.extend(repeat_n((NOWHERE, FeatureReader::Number), array.count));
        self.arrays.push((position, array));
    }

    /// Reads the features of a row of a source; `features.len() == num_features`.
    #[inline]
    pub(crate) fn read_source<V: FeatureNumber>(
        &self,
        row: Row<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        self.read(&row, context, features)
    }

    #[inline]
    fn read<V: FeatureNumber>(
        &self,
        values: &impl ColumnValues,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        if let Some(first) = self.reals
            && let Some(reals) = V::reals(features)
        {
            values.read_reals(first, reals);
            return Ok(());
        }
        for (index, (feature, (position, reader))) in
            features.iter_mut().zip(&self.readers).enumerate()
        {
            *feature = match values.value(*position) {
                Some(value) => reader.read(context, index, value)?,
                None => context.missing(index)?.into(),
            };
        }
        for (position, array) in &self.arrays {
            // All elements of an array that is NULL are missing.
            let Some(numbers) = values.numbers(*position) else { continue };
            array.read(numbers, context, features)?;
        }
        Ok(())
    }

    fn texts(&self, values: &RowValues<'_>) -> Vec<Option<Vec<u8>>> {
        let positions = self.readers.iter().map(|reader| reader.0);
        let mut texts: Vec<_> = positions.map(|position| values.text(position)).collect();
        for (position, array) in &self.arrays {
            let Some(elements) = values.array(*position) else { continue };
            let places = texts.iter_mut().skip(array.first).take(array.count);
            places.zip(elements.texts()).for_each(|(place, text)| *place = text);
        }
        texts
    }
}

/// Features as one row, matched when the first row shows its type.
#[derive(Default)]
pub(crate) struct RowForm(Option<MatchedRow>);

struct MatchedRow {
    row_type: RowType,
    columns: MatchedColumns,
}

impl MatchedRow {
    fn new(row_type: RowType, context: FeatureContext<'_>) -> Result<Self> {
        let columns = MatchedColumns::of_row(&row_type.columns(), context)?;
        Ok(MatchedRow { row_type, columns })
    }
}

impl RowForm {
    /// Checks that rows can be matched.
    pub(crate) fn bind(context: FeatureContext<'_>) -> Result<Self> {
        require_names(context, ROW_FORM).map(|()| RowForm::default())
    }

    pub(crate) fn read<V: FeatureNumber>(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        loop {
            if let Some(MatchedRow { row_type, columns }) = &mut self.0
                && let Some(values) = row_type.read(row)
            {
                return columns.read(&values, context, features);
            }
            self.0 = Some(MatchedRow::new(RowType::of(row), context)?);
        }
    }

    /// Reads a row that was not formed. The error for another type than the matched one does not matter.
    pub(crate) fn read_virtual<V: FeatureNumber>(
        &mut self,
        row: VirtualRow<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        let (type_oid, columns) = (row.type_oid(), row.len());
        let fits = |matched: &MatchedRow| matched.row_type.is_still(type_oid, columns);
        if !self.0.as_ref().is_some_and(fits) {
            self.0 = Some(MatchedRow::new(RowType::named(type_oid), context)?);
        }
        if let Some(MatchedRow { row_type, columns }) = &self.0
            && let Some(values) = row_type.read_virtual(row)
        {
            return columns.read(&values, context, features);
        }
        // The type has just changed. The caller forms the row, and reads it as any other.
        Err(context.count(columns, None))
    }

    /// See [`super::FeatureBinding::first_real`].
    pub(crate) fn first_real(
        &mut self,
        type_oid: Oid,
        columns: usize,
        context: FeatureContext<'_>,
    ) -> Option<usize> {
        let fits = |matched: &MatchedRow| matched.row_type.is_still(type_oid, columns);
        if !self.0.as_ref().is_some_and(fits) {
            let matched = MatchedRow::new(RowType::named(type_oid), context).ok()?;
            self.0 = Some(matched).filter(fits);
        }
        self.0.as_ref()?.columns.reals
    }

    /// Returns the features' values as text, `None` for NULL.
    pub(crate) fn texts(
        &mut self,
        row: RowValue<'_>,
        context: FeatureContext<'_>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        loop {
            if let Some(MatchedRow { row_type, columns }) = &mut self.0
                && let Some(values) = row_type.read(row)
            {
                return Ok(columns.texts(&values));
            }
            self.0 = Some(MatchedRow::new(RowType::of(row), context)?);
        }
    }
}

/// Finds the column whose elements are the features from this one on.
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

/// Finds the column of this name. Fails if two have it.
fn the_only<'a>(columns: &'a [RowColumn], name: &str) -> Result<Option<&'a RowColumn>> {
    let mut named = columns.iter().filter(|column| column.name == name);
    let column = named.next();
    match named.next() {
        Some(_) => Err(Error::AmbiguousColumn { column: name.to_owned() }),
        None => Ok(column),
    }
}

/// Returns the name of a feature, or XGBoost's default name.
pub(crate) fn feature_name(name: Option<&str>, index: usize) -> String {
    name.map_or_else(|| format!("f{index}"), str::to_owned)
}

/// Returns the names of the columns that a source must have.
pub(crate) fn column_names(image: &ModelImage) -> Vec<String> {
    (0..image.num_features()).map(|index| feature_name(image.feature_name(index), index)).collect()
}

pub(crate) fn require_names(context: FeatureContext<'_>, form: &'static str) -> Result<()> {
    match context.image.feature_name(0) {
        Some(_) => Ok(()),
        None => Err(Error::NoFeatureNames { model: context.model.to_owned(), form }),
    }
}

const OBJECT_FORM: &str = "jsonb object";

pub(crate) struct ObjectForm {
    /// The features' names, copied since the image checks them at each access.
    names: Vec<Box<str>>,
    /// Their places in the last object.
    places: KeyPositions,
    /// Their places in virtual objects of this type.
    virtual_places: Option<(Rc<ObjectType>, Vec<Option<usize>>)>,
}

impl ObjectForm {
    pub(crate) fn bind(context: FeatureContext<'_>) -> Result<Self> {
        require_names(context, OBJECT_FORM)?;
        let name = |index| context.image.feature_name(index).unwrap_or_default().into();
        let names = (0..context.image.num_features()).map(name).collect();
        Ok(ObjectForm { names, places: KeyPositions::default(), virtual_places: None })
    }

    pub(crate) fn read<V: FeatureNumber>(
        &mut self,
        object: Option<Object<'_>>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        let object = object.ok_or(Error::NotAnObject)?;
        let values = self.places.find(&object, &self.names);
        for (index, (feature, name)) in features.iter_mut().zip(&self.names).enumerate() {
            let value =
                values.get(index).ok_or_else(|| absent(name, OBJECT_FORM, false, context))?;
            *feature = read(context, index, value)?;
        }
        Ok(())
    }

    /// Reads an object that was not built. On an error the caller builds the object, and reads that.
    pub(crate) fn read_virtual<V: FeatureNumber>(
        &mut self,
        object: VirtualObject<'_>,
        context: FeatureContext<'_>,
        features: &mut [V],
    ) -> Result<()> {
        let object_type = object.object_type();
        let is_same = |(known, _): &(Rc<ObjectType>, _)| Rc::ptr_eq(known, object_type);
        if !self.virtual_places.as_ref().is_some_and(is_same) {
            let places = object_type.positions(&self.names);
            self.virtual_places = Some((Rc::clone(object_type), places));
        }
        let places = self.virtual_places.iter().flat_map(|(_, places)| places);
        let wanted = features.iter_mut().zip(&self.names).zip(places);
        for (index, ((feature, name), place)) in wanted.enumerate() {
            let place = place.ok_or_else(|| absent(name, OBJECT_FORM, false, context))?;
            let value = object.item(place).ok_or(Error::NotAnObject)?;
            *feature = read(context, index, value)?;
        }
        Ok(())
    }

    /// Returns the features' values as text, `None` for null.
    pub(crate) fn texts(&self, object: Option<Object<'_>>) -> Vec<Option<Vec<u8>>> {
        let text = |name: &str| Some(object.as_ref()?.get(name)?.text()?.into_bytes());
        self.names.iter().map(|name| text(name)).collect()
    }
}

#[cold]
fn absent(feature: &str, form: &'static str, unnamed: bool, context: FeatureContext<'_>) -> Error {
    let (model, feature) = (context.model.to_owned(), feature.to_owned());
    Error::NoSuchFeature { model, feature, form, unnamed }
}

#[inline]
fn read<V: FeatureNumber>(context: FeatureContext<'_>, index: usize, value: Item<'_>) -> Result<V> {
    match value {
        Item::Number(number) if context.image.categories(index).is_none() => {
            Ok(context.narrowed_json(index, number))
        }
        other => read_other(context, index, other),
    }
}

#[inline(never)]
fn read_other<V: FeatureNumber>(
    context: FeatureContext<'_>,
    index: usize,
    value: Item<'_>,
) -> Result<V> {
    let type_name = value.type_name();
    let fail = |reason| {
        Err(Error::FeatureType {
            feature: context.feature(index),
            type_name: format!("JSON {type_name}"),
            reason,
        })
    };
    let is_text = match value {
        Item::Null => return context.missing(index).map(V::from),
        Item::Container => return fail(TypeReason::Unusable),
        Item::Text(_) => true,
        Item::Number(_) | Item::Boolean(_) => false,
    };
    let coded = context.image.categories(index).is_some();
    if let Some(reason) = context.mismatch(index, is_text) {
        let special = if let Item::Text(text) = &value { special(text) } else { None };
        return match special {
            Some(number) if coded => context.float_code(index, number.into()).map(V::from),
            Some(number) => Ok(V::of(context, index, number.into())),
            None if reason == TypeReason::TextForNumber => fail(TypeReason::StringForNumber),
            None => fail(reason),
        };
    }
    match value {
        Item::Text(text) => context.text_code(index, &text).map(V::from),
        Item::Number(number) => context.json_number_code(index, number).map(V::from),
        Item::Boolean(truth) if coded => context.integer_code(index, i64::from(truth)).map(V::from),
        Item::Boolean(truth) => Ok(V::of(context, index, f64::from(truth))),
        Item::Null | Item::Container => Ok(f32::NAN.into()),
    }
}

/// Parses NaN or an infinity as `to_jsonb` writes it.
fn special(text: &str) -> Option<f32> {
    match text {
        "NaN" => Some(f32::NAN),
        "Infinity" => Some(f32::INFINITY),
        "-Infinity" => Some(f32::NEG_INFINITY),
        _ => None,
    }
}
