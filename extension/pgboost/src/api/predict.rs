//! `predict` and its siblings: one call is one row.
//!
//! What the first call of a statement finds out is kept until its end: the image, how to read the
//! arguments, and the buffers. Every further call checks that nothing has changed, reads the
//! features, walks the trees and hands over the result; it allocates nothing of its own, takes no
//! lock and calls nothing in PostgreSQL that could raise an error.

use gbdt::model::Task;
use gbdt::{Image, Scratch, transform};
use pgrx::pg_sys::Datum;

use crate::cache::{self, Resolved};
use crate::error::{Error, Result, ShapeReason};
use crate::features::{Form, Given, Target};
use crate::pg::arguments::Arguments;
use crate::pg::map::ImageBytes;
use crate::pg::snapshot::SnapshotMark;
use crate::pg::{arrays, values};

/// What a statement keeps from call to call.
pub(super) struct Statement {
    model: String,
    resolved: Resolved,
    form: Form,
    scratch: Scratch,
    features: Vec<f32>,
    margins: Vec<f32>,
    leaves: Vec<u32>,
}

impl Statement {
    pub(super) fn begin(arguments: Arguments, model: &str) -> Result<Self> {
        let resolved = cache::resolve(model, arguments.function())?;
        let image = &resolved.loaded.image;
        let form = Form::bind(arguments, Target { model, image })?;
        Ok(Statement {
            model: model.to_owned(),
            form,
            scratch: Scratch::new(image),
            features: vec![0.0; image.num_features()],
            margins: vec![0.0; image.num_outputs()],
            leaves: Vec::new(),
            resolved,
        })
    }

    #[inline]
    pub(super) fn holds(&self, model: &str) -> bool {
        self.model == model
            && SnapshotMark::active().is_some_and(|snapshot| self.resolved.holds(snapshot))
    }

    #[inline]
    fn read_features(&mut self, arguments: Arguments) -> Result<()> {
        let target = Target { model: &self.model, image: &self.resolved.loaded.image };
        self.form.read(arguments, target, &mut self.features)
    }

    /// Reads the features of a row to where the caller wants them.
    #[inline]
    pub(super) fn read_into(&mut self, given: impl Given, features: &mut [f32]) -> Result<()> {
        let target = Target { model: &self.model, image: &self.resolved.loaded.image };
        self.form.read(given, target, features)
    }

    /// The model's image.
    #[inline]
    pub(super) fn image(&self) -> &Image<ImageBytes> {
        &self.resolved.loaded.image
    }

    #[inline]
    fn walk(&mut self) {
        let image = &self.resolved.loaded.image;
        image.margins(&mut self.scratch, &self.features, &mut self.margins);
    }

    fn shape(&self, function: &'static str, reason: ShapeReason) -> Error {
        Error::Shape { model: self.model.clone(), function, reason }
    }
}

/// The models that one expression predicts with: one, unless the model's name is a column too.
struct Statements {
    recent: Vec<Statement>,
    current: usize,
}

/// A statement that uses more models than this in turn starts some of them anew.
const MAX_RECENT: usize = 16;

impl Statements {
    /// Makes the state for that model the current one.
    #[cold]
    fn switch(&mut self, arguments: Arguments, model: &str) -> Result<()> {
        if let Some(ready) = self.recent.iter().position(|statement| statement.holds(model)) {
            self.current = ready;
            return Ok(());
        }
        let statement = Statement::begin(arguments, model)?;
        self.recent.retain(|stale| stale.model != model);
        if self.recent.len() >= MAX_RECENT {
            self.recent.remove(0);
        }
        self.current = self.recent.len();
        self.recent.push(statement);
        Ok(())
    }

    #[inline]
    fn holds(&self, model: &str) -> bool {
        self.recent.get(self.current).is_some_and(|statement| statement.holds(model))
    }
}

/// The statement's state with the features of this call in it, or nothing for a NULL model.
#[inline]
fn row<'a>(arguments: Arguments) -> Result<Option<&'a mut Statement>> {
    let Some(model) = arguments.get(0) else {
        return Ok(None);
    };
    let model = values::text(model);
    let statements = match arguments.kept::<Statements>() {
        Some(statements) => statements,
        None => arguments.keep(Statements { recent: Vec::with_capacity(1), current: 0 }),
    };
    if !statements.holds(&model) {
        statements.switch(arguments, &model)?;
    }
    let Some(statement) = statements.recent.get_mut(statements.current) else {
        return Err(Error::NoSuchModel { name: model.into_owned() });
    };
    statement.read_features(arguments)?;
    Ok(Some(statement))
}

/// What is made of a row's margins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value, of a model that has one a row.
    Value,
    /// All values.
    Array,
    /// The margins as they are.
    Margin,
    /// The winning class by its label, or by its number where there are no labels.
    Class,
}

impl Output {
    /// The result of a row with these margins, which are transformed in place.
    #[inline]
    pub(super) fn of(self, statement: &Statement, margins: &mut [f32]) -> Result<Datum> {
        let image = statement.image();
        match self {
            Output::Value => match transformed(image, margins) {
                [value] => Ok(real(*value)),
                several => {
                    let values = several.len();
                    let classes = image.task() == Task::Multiclass;
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(statement.shape("predict", reason))
                }
            },
            Output::Array => Ok(arrays::real_array(transformed(image, margins))),
            Output::Margin => Ok(arrays::real_array(margins)),
            Output::Class => {
                let Some(class) = image.class(margins) else {
                    return Err(statement.shape("predict_class", ShapeReason::NoClasses));
                };
                Ok(match image.label(class as usize) {
                    Some(label) => arrays::text(label),
                    None => arrays::text(&class.to_string()),
                })
            }
        }
    }
}

/// The values of a row with these margins.
#[inline]
fn transformed<'a>(image: &Image<ImageBytes>, margins: &'a mut [f32]) -> &'a [f32] {
    let count = transform::apply(image.transform(), margins);
    margins.get(..count).unwrap_or_default()
}

/// `predict`, `predict_array`, `predict_margin` and `predict_class`, by what they give.
#[inline]
pub fn predict(arguments: Arguments, output: Output) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    statement.walk();
    let mut margins = std::mem::take(&mut statement.margins);
    let result = output.of(statement, &mut margins);
    statement.margins = margins;
    result
}

/// `predict_leaf`: for each tree the id of the leaf that the row falls into.
pub fn predict_leaf(arguments: Arguments) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    let image = &statement.resolved.loaded.image;
    statement.leaves.resize(image.num_trees(), 0);
    image.leaves(&mut statement.scratch, &statement.features, &mut statement.leaves);
    Ok(arrays::integer_array(&statement.leaves))
}

#[inline]
fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}
