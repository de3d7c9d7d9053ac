//! What a model should have predicted: a number, or the place of a class.
//!
//! A class is known by its label. Where the labels are numbers, numbers are compared as such, so that
//! 1 and 1.0 are one class; where they are not, a number is the place of a class, counted from 0, as it is
//! for models without labels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pg_interface::{NumberType, ScalarType, catalog};
use row_source::{Field, PlacedColumn, SourceError};

use crate::cache::ModelImage;
use crate::error::{Error, Result};

pub struct Target {
    column: String,
    /// Nothing if the model predicts numbers.
    classes: Option<Classes>,
}

struct Classes {
    count: usize,
    by_label: BTreeMap<String, usize>,
    /// The labels as numbers, if they are.
    numbers: Option<Vec<f64>>,
    /// The places of false and true, if the column is of type boolean.
    booleans: Option<[Option<usize>; 2]>,
}

impl Target {
    /// How to read this column for the model; `classes` is how many it has, 0 if it predicts numbers.
    pub fn of(image: &ModelImage, classes: usize, column: &PlacedColumn) -> Result<Target> {
        let scalar = ScalarType::of(column.type_oid);
        let labels: Vec<String> = (0..image.num_labels())
            .filter_map(|class| image.label(class))
            .map(str::to_owned)
            .collect();
        let is_text = scalar.is_some_and(ScalarType::is_text);
        if scalar.is_none() || (is_text && (classes == 0 || labels.is_empty())) {
            let error = SourceError::ColumnType {
                column: column.name.clone(),
                type_name: catalog::type_name(column.type_oid),
                role: "target of this model",
                hint: "The target is a number, or the label of a class if the model has labels.",
            };
            return Err(error.into());
        }
        let classes = (classes > 0).then(|| Classes {
            count: classes,
            numbers: (!labels.is_empty())
                .then(|| labels.iter().map(|label| label.parse().ok()).collect::<Option<Vec<_>>>())
                .flatten(),
            by_label: labels.into_iter().enumerate().map(|(place, label)| (label, place)).collect(),
            booleans: None,
        });
        let is_boolean = scalar == Some(ScalarType::Number(NumberType::Bool));
        let classes = classes.map(|classes| Classes {
            booleans: is_boolean.then(|| {
                [(0.0, "false"), (1.0, "true")]
                    .map(|(number, label)| classes.place_of_number(number, || label.into()))
            }),
            ..classes
        });
        Ok(Target { column: column.name.clone(), classes })
    }

    /// The number, or the place of the class.
    #[inline]
    pub fn read(&self, field: Field<'_>) -> Result<f64> {
        match &self.classes {
            None => self.finite(field.number().unwrap_or(f64::NAN)),
            Some(classes) => match classes.place(field) {
                Some(place) => Ok(place as f64),
                None => Err(Error::UnknownClass {
                    column: self.column.clone(),
                    value: field.label().into_owned(),
                }),
            },
        }
    }
}

impl Target {
    /// The number itself: metrics of others are not defined, and scikit-learn refuses them too.
    #[inline]
    fn finite(&self, number: f64) -> Result<f64> {
        if number.is_finite() {
            return Ok(number);
        }
        let what = if number.is_nan() {
            "is not a number, so it cannot be a target"
        } else {
            "is infinite, so it cannot be a target"
        };
        Err(SourceError::ValueRefused { column: self.column.clone(), what }.into())
    }
}

impl Classes {
    fn place(&self, field: Field<'_>) -> Option<usize> {
        match field.number() {
            Some(number) => match self.booleans {
                Some([no, yes]) => {
                    if number == 0.0 {
                        no
                    } else {
                        yes
                    }
                }
                None => self.place_of_number(number, || field.label()),
            },
            None => self.by_label.get(field.label().as_ref()).copied(),
        }
    }

    fn place_of_number<'a>(
        &self,
        number: f64,
        label: impl FnOnce() -> Cow<'a, str>,
    ) -> Option<usize> {
        if let Some(numbers) = &self.numbers {
            return numbers.iter().position(|label| *label == number);
        }
        // Without labels there is none to compare with, and making text of a number takes as long
        // as ten predictions.
        if !self.by_label.is_empty()
            && let Some(place) = self.by_label.get(label().as_ref())
        {
            return Some(*place);
        }
        let place = number as usize;
        (place as f64 == number && place < self.count).then_some(place)
    }
}
