//! The target of a row, a number or the number of a class, and the metrics' task by the model's objective.
//!
//! A class is known by its label. Labels that are numbers are compared as numbers, so that 1 and 1.0 are one
//! class, and with a date or timestamp as times. If they are not, or without labels, a number in the target is the
//! place of a class, counted from 0. Of any other type the value's text is compared.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use gbtrees::internals::{Task as ModelTask, shortest_decimal};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{NumberType, ScalarType, catalog};
use row_source::sorter::work_mem;
use row_source::{Field, PlacedColumn, SourceError};

use super::predictions::SourcePredictor;
use super::time_label::label_seconds;
use crate::cache::ModelImage;
use crate::error::{Error, Result, ShapeReason};
use crate::registry::Registry;
use crate::registry::lookup;
use crate::registry::reference::Reference;

pub(crate) struct Target {
    column: String,
    /// `None` if the model predicts numbers.
    classes: Option<Classes>,
}

struct Classes {
    count: usize,
    by_label: BTreeMap<String, usize>,
    /// The labels as numbers of the column's type, if they are.
    numbers: Option<Vec<f64>>,
    /// Those of `numbers` that a library has rounded to f32, with all their digits, and NaN for others.
    singles: Vec<f32>,
    /// Whether two labels may be one such number, so that their texts are compared too.
    are_alike: bool,
    /// Whether the column has dates or timestamps.
    are_times: bool,
    /// The places of false and true, if the column is of type boolean.
    booleans: Option<[Option<usize>; 2]>,
}

impl Target {
    /// Prepares to read this column for the model, which has `classes`, 0 if it predicts numbers.
    pub(crate) fn of(image: &ModelImage, classes: usize, column: &PlacedColumn) -> Result<Target> {
        let scalar = ScalarType::of(column.type_oid);
        let labels: Vec<String> = (0..image.num_labels())
            .filter_map(|class| image.label(class))
            .map(str::to_owned)
            .collect();
        let number_type = match scalar {
            Some(ScalarType::Number(number_type)) => Some(number_type),
            _ => None,
        };
        let are_times = number_type.is_some_and(NumberType::is_time);
        let is_label = number_type.is_none() || (are_times && classes > 0);
        if is_label && (classes == 0 || labels.is_empty()) {
            let error = SourceError::ColumnType {
                column: column.name.clone(),
                type_name: catalog::type_name(column.type_oid),
                role: "the target of this model",
                hint: "The target is a number, or the label of a class if the model has labels.",
            };
            return Err(error.into());
        }
        let is_zoned = catalog::base_type(column.type_oid) == catalog::TIMESTAMPTZOID;
        let number = |label: &String| match number_type {
            Some(NumberType::Float4) => label.parse::<f32>().ok().map(f64::from),
            _ if are_times => label_seconds(label, is_zoned),
            _ => label.parse().ok(),
        };
        let numbers: Option<Vec<f64>> =
            (!labels.is_empty()).then(|| labels.iter().map(number).collect()).flatten();
        let classes = (classes > 0).then(|| Classes {
            count: classes,
            singles: numbers.iter().flatten().map(|number| rounded(*number)).collect(),
            are_alike: numbers.as_deref().is_some_and(are_alike),
            numbers,
            are_times,
            by_label: labels.into_iter().enumerate().map(|(place, label)| (label, place)).collect(),
            booleans: None,
        });
        let is_boolean = number_type == Some(NumberType::Bool);
        let classes = classes.map(|classes| Classes {
            booleans: is_boolean.then(|| {
                [(0.0, "false"), (1.0, "true")]
                    .map(|(number, label)| classes.place_of_number(number, || label.into()))
            }),
            ..classes
        });
        Ok(Target { column: column.name.clone(), classes })
    }

    /// Reads the number, or the place of the class.
    #[inline]
    pub(crate) fn read(&self, field: Field<'_>) -> Result<f64> {
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
    /// Returns the number. Refuses others than finite ones, as scikit-learn does.
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
            None => {
                let label = field.label();
                let place = self.by_label.get(label.as_ref()).copied();
                place.or_else(|| self.place_of_truth(&label)).or_else(|| {
                    self.place_among_numbers(label.parse().ok()?, || Cow::Borrowed(&label))
                })
            }
        }
    }

    /// Returns the class of a text for true or false that the labels spell in another way, such as Python's.
    fn place_of_truth(&self, label: &str) -> Option<usize> {
        let is_truth = ["true", "false"].iter().any(|truth| label.eq_ignore_ascii_case(truth));
        let mut same = self.by_label.iter().filter(|(own, _)| own.eq_ignore_ascii_case(label));
        same.next().filter(|_| is_truth).map(|(_, place)| *place)
    }

    /// Returns the class whose label is a number.
    fn place_among_numbers<'a>(
        &self,
        number: f64,
        text: impl FnOnce() -> Cow<'a, str>,
    ) -> Option<usize> {
        let numbers = self.numbers.as_deref()?;
        if !self.are_alike {
            let place = numbers.iter().position(|label| *label == number);
            let is_rounded = |label: &f32| *label == number as f32;
            return place.or_else(|| self.singles.iter().position(is_rounded));
        }
        let text = text();
        let whole =
            |text: &str| text.parse().ok().or_else(|| Some(text.parse::<f64>().ok()? as i128));
        let is_same = |(label, place): &(&String, &usize)| {
            numbers.get(**place) == Some(&number) && whole(label) == whole(&text)
        };
        let place = self.by_label.get(text.as_ref());
        place.or_else(|| self.by_label.iter().find(is_same).map(|(_, place)| place)).copied()
    }

    fn place_of_number<'a>(
        &self,
        number: f64,
        label: impl FnOnce() -> Cow<'a, str>,
    ) -> Option<usize> {
        if self.numbers.is_some() {
            return self.place_among_numbers(number, label);
        }
        // Converting a number to text takes as long as ten predictions, so it is done only if there are
        // labels.
        if !self.by_label.is_empty() {
            let label = label();
            let place = self.by_label.get(label.as_ref()).copied();
            if let Some(place) = place.or_else(|| self.place_of_truth(&label)) {
                return Some(place);
            }
        }
        let place = number as usize;
        (!self.are_times && place as f64 == number && place < self.count).then_some(place)
    }
}

/// Returns the f32 that a label is, unless it is whole or as short as a decimal: CatBoost has 0.10000000149011612
/// for 0.1.
fn rounded(label: f64) -> f32 {
    let single = label as f32;
    let is_rounded = f64::from(single) == label && shortest_decimal(single) != label;
    if is_rounded && label.fract() != 0.0 { single } else { f32::NAN }
}

/// Whole numbers from here on may be one double.
const LARGE: f64 = 9_007_199_254_740_992.0;

fn are_alike(numbers: &[f64]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).any(|two| matches!(two, [one, next] if one == next))
        || sorted.iter().any(|number| number.abs() >= LARGE)
}

/// The bytes of a slice besides its name and its metrics: the entries of the two tables.
const ENTRY_BYTES: usize = 96;

#[derive(Default)]
pub(crate) struct Slices {
    names: Vec<Option<String>>,
    numbers: HashMap<Option<String>, u32>,
    /// The slice of the previous row.
    last: Option<u32>,
    bytes: usize,
}

impl Slices {
    /// Returns the slice of a row by its value, `None` for NULL. `slice_bytes` is the size of a slice's
    /// metrics.
    pub(crate) fn number(
        &mut self,
        value: Option<Cow<'_, str>>,
        slice_bytes: usize,
    ) -> Result<u32> {
        if let Some(last) = self.last
            && self.names.get(last as usize).is_some_and(|name| name.as_deref() == value.as_deref())
        {
            return Ok(last);
        }
        let value = value.map(Cow::into_owned);
        let number = match self.numbers.get(&value) {
            Some(number) => *number,
            None => self.add(value, slice_bytes)?,
        };
        self.last = Some(number);
        Ok(number)
    }

    fn add(&mut self, value: Option<String>, slice_bytes: usize) -> Result<u32> {
        let name_bytes = value.as_ref().map_or(0, String::len);
        self.bytes += ENTRY_BYTES + 2 * name_bytes + slice_bytes;
        let number = self.names.len() as u32;
        if self.bytes > work_mem() && number > 0 {
            return Err(Error::TooManySlices { slices: self.names.len() });
        }
        self.names.push(value.clone());
        self.numbers.insert(value, number);
        Ok(number)
    }

    /// Returns the values, by number.
    pub(crate) fn into_names(self) -> Vec<Option<String>> {
        self.names
    }
}

/// The meaning of a model's values for metrics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Task {
    /// One number.
    Number,
    /// The quantiles of a number, at these levels.
    Quantiles(Vec<f64>),
    /// Two classes; `probability` if the value is the probability of the second one.
    Binary { probability: bool },
    /// Several classes; `probabilities` if there is one of each.
    Classes { count: usize, probabilities: bool },
    /// A score by which the rows of a group are ordered.
    Ranking,
}

/// Objectives whose values are quantiles: XGBoost's, LightGBM's, as scikit-learn's, and CatBoost's.
const QUANTILES: [&str; 4] = ["reg:quantileerror", "quantile", "Quantile", "MultiQuantile"];
/// Objectives whose target is more than one number.
const SURVIVAL: [&str; 4] = ["survival:cox", "survival:aft", "Cox", "SurvivalAft"];

impl Task {
    /// Determines the task of a model. `levels` are those of its quantiles, if its file does not have them.
    ///
    /// # Errors
    /// [`Error::NoMetrics`], [`Error::QuantileLevels`], [`Error::Shape`] if it predicts several numbers.
    pub(crate) fn of(
        predictor: &SourcePredictor,
        registry: &Registry,
        levels: Option<Vec<f64>>,
        function: &'static str,
    ) -> Result<Task> {
        let image = predictor.image();
        let several = Error::Shape {
            model: predictor.model().to_owned(),
            function,
            reason: ShapeReason::SeveralValues { values: image.num_values(), classes: false },
        };
        match (image.task(), image.num_values()) {
            (ModelTask::Multiclass, _) => Ok(Task::Classes {
                count: image.num_outputs(),
                probabilities: image.predicts_probabilities(),
            }),
            (ModelTask::Binary, 1) => {
                Ok(Task::Binary { probability: image.predicts_probabilities() })
            }
            (ModelTask::Ranking, 1) => Ok(Task::Ranking),
            (ModelTask::Regression, values) => {
                let (objective, known) = loss(predictor, registry, levels.is_none())?;
                let model = predictor.model().to_owned();
                if SURVIVAL.contains(&objective.as_str()) {
                    return Err(Error::NoMetrics { model, objective });
                }
                match levels.or(known) {
                    Some(levels) => {
                        let levels = check_levels(model, values, levels)?;
                        Ok(Task::Quantiles(levels))
                    }
                    None if QUANTILES.contains(&objective.as_str()) => {
                        Err(Error::QuantileLevels { model, values })
                    }
                    None if values == 1 => Ok(Task::Number),
                    None => Err(several),
                }
            }
            _ => Err(several),
        }
    }

    /// Returns the number of classes of the target, 0 if it is a number.
    pub(crate) fn classes(&self) -> usize {
        match self {
            Task::Binary { .. } => 2,
            Task::Classes { count, .. } => *count,
            Task::Number | Task::Quantiles(_) | Task::Ranking => 0,
        }
    }
}

fn check_levels(model: String, values: usize, levels: Vec<f64>) -> Result<Vec<f64>> {
    let fits = levels.len() == values && levels.iter().all(|level| (0.0..=1.0).contains(level));
    if fits { Ok(levels) } else { Err(Error::QuantileLevels { model, values }) }
}

/// Returns the objective or loss from the registry, and if asked for, the levels of its quantiles that the file
/// has, as their decimals.
fn loss(
    predictor: &SourcePredictor,
    registry: &Registry,
    with_levels: bool,
) -> Result<(String, Option<Vec<f64>>)> {
    let name = Reference::parse(predictor.model())?.name;
    let (model, version) = (predictor.resolved_model().named(*registry, name), predictor.version());
    lookup::with_version(model, version, ReadSnapshot::Active, |stored| {
        let objective = stored.loss()?;
        if !with_levels || !QUANTILES.contains(&objective.as_str()) {
            return Ok((objective, None));
        }
        let levels = stored.levels(&objective)?;
        let levels = levels.iter().filter_map(|level| level.to_string().parse().ok());
        let levels: Vec<f64> = levels.collect();
        Ok((objective, (!levels.is_empty()).then_some(levels)))
    })
}
