//! The columns of a source: which are features, target, weight, group or fold, and how a field of each is
//! read.
//!
//! A column of arrays gives a feature for each element, named as a subscript: `image[1]`, `image[2]` and so on.
//! Its arrays must have one length, which the first row determines; their dimensions do not matter.

use std::collections::{BTreeSet, HashMap};

use gbtrees::internals::CategoryView;
use pg_interface::array::number_elements;
use pg_interface::report::counted;
use pg_interface::{Exact, NumberType, ScalarType, Value, catalog};
use pgrx::pg_sys::Oid;
use row_source::names::{element_names, leading_elements as elements_named};
use row_source::{Column, Field, Row, SourceError};

use crate::error::{Error, Result};

/// The columns by role, as the caller named them.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    pub(crate) target: String,
    /// `None` for all other columns but the maintained scores.
    pub(crate) features: Option<Vec<String>>,
    pub(crate) weight: Option<String>,
    /// The column of groups.
    pub(crate) group: Option<String>,
    pub(crate) label_upper_bound: Option<String>,
    /// The column of folds.
    pub(crate) fold: Option<String>,
    /// The features of the model that the new one replaces. Their order is kept if they are the same.
    pub(crate) order: Vec<String>,
}

impl Roles {
    /// Returns the columns that are no features.
    pub(crate) fn others(&self) -> BTreeSet<&str> {
        let others = [&self.weight, &self.group, &self.label_upper_bound, &self.fold];
        let others = others.into_iter().flatten().map(String::as_str);
        others.chain([self.target.as_str()]).collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct UsedColumn {
    /// Its place in a row of the query.
    pub(crate) position: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// For a column of arrays, the number of their elements, each a feature; 0 until the first row is read.
    pub(crate) elements: Option<usize>,
}

impl UsedColumn {
    /// Returns the number of features.
    pub(crate) fn width(&self) -> usize {
        self.elements.unwrap_or(1)
    }
}

/// A column of groups or folds, of any type.
#[derive(Clone, Debug)]
pub(crate) struct GroupColumn {
    /// Its place in a row of the query.
    pub(crate) position: usize,
    pub(crate) name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct ChosenColumns {
    /// The features, in the order of the model.
    pub(crate) features: Vec<UsedColumn>,
    pub(crate) target: UsedColumn,
    pub(crate) weight: Option<UsedColumn>,
    pub(crate) label_upper_bound: Option<UsedColumn>,
    /// Any value, equal for the rows of a group.
    pub(crate) group: Option<GroupColumn>,
    /// Any value, equal for the rows of a fold.
    pub(crate) fold: Option<GroupColumn>,
}

const USABLE: &str = "Features are numbers, booleans, dates, timestamps, text, enums and arrays of numbers; \
                      leave other columns out with the features argument.";
const NUMBERS: &str = "Cast it to a numeric type in a query.";

impl ChosenColumns {
    /// Finds the columns of the roles among those of the source.
    ///
    /// Unless the features are named, none of them is among `left_out`.
    pub(crate) fn choose(
        there: &[Column],
        roles: &Roles,
        left_out: &[String],
        argument: &'static str,
    ) -> Result<ChosenColumns> {
        let there = SourceColumns { columns: there, argument };
        let target = there.scalar(&roles.target, "the target", USABLE)?;
        let weight = there.number(roles.weight.as_deref(), "the weight")?;
        let label_upper_bound =
            there.number(roles.label_upper_bound.as_deref(), "the upper bound")?;
        let group = roles.group.as_deref().map(|name| there.group(name)).transpose()?;
        let fold = roles.fold.as_deref().map(|name| there.group(name)).transpose()?;
        let mut features = there.features(roles.features.as_deref(), &roles.others(), left_out)?;
        put_in_order(&mut features, &roles.order);
        Ok(ChosenColumns { features, target, weight, label_upper_bound, group, fold })
    }

    /// Finds the columns of the features alone.
    pub(crate) fn features_named(there: &[Column], names: &[String]) -> Result<Vec<UsedColumn>> {
        SourceColumns { columns: there, argument: "source" }.features(
            Some(names),
            &BTreeSet::new(),
            &[],
        )
    }

    /// Returns the names of all used columns, in the order of `in_order`.
    pub(crate) fn names(&self) -> Vec<&str> {
        let features = self.features.iter().map(|column| column.name.as_str());
        let others = [Some(&self.target), self.weight.as_ref(), self.label_upper_bound.as_ref()];
        let others = others.into_iter().flatten().map(|column| column.name.as_str());
        let groups = [&self.group, &self.fold].into_iter().flatten();
        features.chain(others).chain(groups.map(|column| column.name.as_str())).collect()
    }
    /// Numbers the columns as a query returns them that selects `names` alone.
    pub(crate) fn in_order(mut self) -> ChosenColumns {
        let others =
            [Some(&mut self.target), self.weight.as_mut(), self.label_upper_bound.as_mut()];
        let used = self.features.iter_mut().chain(others.into_iter().flatten());
        let used = used.map(|column| &mut column.position);
        let groups = [self.group.as_mut(), self.fold.as_mut()].into_iter().flatten();
        let places = used.chain(groups.map(|column| &mut column.position));
        for (place, position) in places.zip(0..) {
            *place = position;
        }
        self
    }

    /// Returns the number of features; valid after `measure`.
    pub(crate) fn width(&self) -> usize {
        self.features.iter().map(UsedColumn::width).sum()
    }

    /// Sets the lengths of arrays from the first row.
    pub(crate) fn measure(&mut self, row: Row<'_>) -> Result<()> {
        for column in &mut self.features {
            if column.elements == Some(0) {
                column.elements = Some(measured_arrays(&column.name, column.position, row)?);
            }
        }
        Ok(())
    }

    /// Returns the features in order, each with its name and type.
    pub(crate) fn feature_names(&self) -> impl Iterator<Item = (String, Kind)> {
        self.features.iter().flat_map(|column| {
            let names: Vec<String> = match column.elements {
                None => vec![column.name.clone()],
                Some(width) => element_names(&column.name, width).collect(),
            };
            names.into_iter().map(|name| (name, column.kind))
        })
    }
}

/// Puts the columns into the order of these features, if they are the same, or as many numbers of which some
/// are new: these take the places that became free. The elements of an array follow one another, so the place
/// of the first is the column's.
fn put_in_order(columns: &mut [UsedColumn], order: &[String]) {
    let place = |column: &UsedColumn| match column.elements {
        None => order.iter().position(|name| *name == column.name),
        Some(_) => order.iter().position(|name| element_of(name, &column.name) == Some("1")),
    };
    let covered = |name: &String| {
        columns.iter().any(|column| match column.elements {
            None => *name == column.name,
            Some(_) => element_of(name, &column.name).is_some(),
        })
    };
    if order.iter().all(covered) && columns.iter().all(|column| place(column).is_some()) {
        columns.sort_by_key(place);
    } else if columns.len() == order.len() && columns.iter().all(|column| column.elements.is_none())
    {
        let is_free = |index: &usize| order.get(*index).is_none_or(|name| !covered(name));
        let mut free = (0..order.len()).filter(is_free).collect::<Vec<_>>().into_iter();
        let places: HashMap<String, Option<usize>> = columns
            .iter()
            .map(|column| (column.name.clone(), place(column).or_else(|| free.next())))
            .collect();
        columns.sort_by_key(|column| places.get(&column.name).copied().flatten());
    }
}

/// Returns the subscript in the name of an array's element.
fn element_of<'a>(name: &'a str, array: &str) -> Option<&'a str> {
    name.strip_prefix(array)?.strip_prefix('[')?.strip_suffix(']')
}

struct SourceColumns<'a> {
    columns: &'a [Column],
    argument: &'static str,
}

impl SourceColumns<'_> {
    fn find(&self, name: &str) -> Result<(usize, &Column)> {
        Ok(row_source::find(self.columns, name, self.argument)?)
    }

    fn used(&self, name: &str, role: &'static str, hint: &'static str) -> Result<UsedColumn> {
        let (position, column) = self.find(name)?;
        let Some((kind, is_array)) = Kind::of(column.type_oid) else {
            return Err(unusable(column, role, hint));
        };
        let elements = is_array.then_some(0);
        Ok(UsedColumn { position, name: name.to_owned(), kind, elements })
    }

    fn scalar(&self, name: &str, role: &'static str, hint: &'static str) -> Result<UsedColumn> {
        let used = self.used(name, role, hint)?;
        if used.elements.is_some() {
            return Err(unusable(self.find(name)?.1, role, hint));
        }
        Ok(used)
    }

    fn number(&self, name: Option<&str>, role: &'static str) -> Result<Option<UsedColumn>> {
        let Some(name) = name else { return Ok(None) };
        let used = self.scalar(name, role, NUMBERS)?;
        if used.kind.is_text() {
            return Err(unusable(self.find(name)?.1, role, NUMBERS));
        }
        Ok(Some(used))
    }

    fn group(&self, name: &str) -> Result<GroupColumn> {
        let (position, _) = self.find(name)?;
        Ok(GroupColumn { position, name: name.to_owned() })
    }

    fn features(
        &self,
        names: Option<&[String]>,
        taken: &BTreeSet<&str>,
        left_out: &[String],
    ) -> Result<Vec<UsedColumn>> {
        let all: Vec<String>;
        let names = match names {
            Some(names) => names,
            None => {
                let free =
                    |name: &String| !taken.contains(name.as_str()) && !left_out.contains(name);
                all = self.columns.iter().map(|column| column.name.clone()).filter(free).collect();
                &all
            }
        };
        let mut seen: BTreeSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
        let mut features = Vec::with_capacity(names.len());
        let mut rest = names;
        while let Some(name) = rest.first() {
            let (feature, names) = match self.elements(rest)? {
                Some(array) => array,
                None => (self.used(name, "a feature", USABLE)?, 1),
            };
            if !seen.insert(feature.name.clone()) {
                return Err(Error::ColumnTwice { column: feature.name });
            }
            features.push(feature);
            rest = rest.get(names..).unwrap_or_default();
        }
        if features.is_empty() { Err(Error::NoFeatures) } else { Ok(features) }
    }

    /// Finds the array whose elements come first in the names, and returns the number of those names: features
    /// `image[1]`, `image[2]` and so on are the column `image`, unless columns have these names.
    fn elements(&self, names: &[String]) -> Result<Option<(UsedColumn, usize)>> {
        let Some((name, count)) = elements_named(names) else { return Ok(None) };
        let is = |wanted: &str| self.columns.iter().any(|column| column.name == wanted);
        if names.first().is_some_and(|first| is(first)) || !is(name) {
            return Ok(None);
        }
        let used = self.used(name, "a feature", USABLE)?;
        if used.elements.is_none() {
            return Err(unusable(self.find(name)?.1, "an array of features", USABLE));
        }
        Ok(Some((UsedColumn { elements: Some(count), ..used }, count)))
    }
}

fn unusable(column: &Column, role: &'static str, hint: &'static str) -> Error {
    SourceError::ColumnType {
        column: column.name.clone(),
        type_name: catalog::type_name(column.type_oid),
        role,
        hint,
    }
    .into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(ScalarType);

impl Kind {
    /// Returns the kind of a type's values, or with `true` that of the numbers in its arrays. Returns `None` for
    /// a type that can be neither a number nor a category.
    pub(crate) fn of(type_oid: Oid) -> Option<(Kind, bool)> {
        if let Some(scalar) = ScalarType::of(type_oid) {
            return Some((Kind(scalar), false));
        }
        number_elements(type_oid).map(|element| (Kind(element.scalar_type()), true))
    }

    pub(crate) fn is_text(self) -> bool {
        self.0.is_text()
    }

    pub(crate) fn is_bool(self) -> bool {
        self.0 == ScalarType::Number(NumberType::Bool)
    }

    /// Returns XGBoost's name for a feature of this type.
    pub(crate) fn xgboost(self) -> &'static str {
        match self.0 {
            ScalarType::Text(_) => "c",
            ScalarType::Number(NumberType::Int2 | NumberType::Int4 | NumberType::Int8) => "int",
            ScalarType::Number(NumberType::Bool) => "i",
            ScalarType::Number(_) => "float",
        }
    }
}

/// Returns a number as f32: an infinity for one out of range, NaN for a text.
#[inline]
pub(crate) fn number(field: Field<'_>) -> f32 {
    match field.value() {
        Some(Value::Number(number)) => number.single(),
        _ => f32::NAN,
    }
}

/// Returns the code of a value among the categories of a model, as `predict` finds it: NaN for a NaN, and
/// `None` for an unknown value.
pub(crate) fn category(field: Field<'_>, categories: CategoryView<'_>) -> Option<f32> {
    let code = match field.value()? {
        Value::Text(text) => categories.code_of_text(&text.text()),
        Value::Number(number) => match number.exact() {
            Exact::Integer(number) => categories.code_of_integer(number),
            Exact::Float(number) if number.is_nan() => return Some(f32::NAN),
            Exact::Float(number) => categories.code_of_float(number),
        },
    };
    code.map(|code| code as f32)
}

/// The most characters of an array in a message.
const MAX_SHOWN: usize = 80;

/// Returns the length of a column's first array; `position` is the column's place in a row of the query.
pub(crate) fn measured_arrays(column: &str, position: usize, row: Row<'_>) -> Result<usize> {
    let fail = |what| Err(Error::ArrayUnmeasured { column: column.to_owned(), what });
    let Some(field) = row.get(position) else { return fail("null") };
    match field.elements() {
        Some(elements) if elements.len() > 0 => Ok(elements.len()),
        _ => fail("empty"),
    }
}

/// Reads the elements as f32, NaN for a NULL. `place` has the column's width.
pub(crate) fn read_elements(column: &str, field: Field<'_>, place: &mut [f32]) -> Result<()> {
    let count = match field.reals() {
        Some(reals) if reals.len() == place.len() => {
            place.copy_from_slice(reals);
            reals.len()
        }
        Some(reals) => reals.len(),
        None => {
            let elements = field.elements().into_iter().flatten();
            let mut count = 0;
            let mut places = place.iter_mut();
            for element in elements {
                count += 1;
                if let Some(place) = places.next() {
                    *place = element.map_or(f32::NAN, |number| number.single());
                }
            }
            count
        }
    };
    if count == place.len() { Ok(()) } else { Err(other_length(column, field, place.len(), count)) }
}

#[cold]
fn other_length(column: &str, field: Field<'_>, expected: usize, given: usize) -> Error {
    let written = field.written();
    let mut array: String = written.chars().take(MAX_SHOWN).collect();
    if array.len() < written.len() {
        array.push_str("...");
    }
    let given = counted(given, "element");
    Error::ArrayLength { column: column.to_owned(), expected, given, array }
}
