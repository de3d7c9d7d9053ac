//! `predict` and its siblings: one call is one row.
//!
//! What the first call of a statement finds out is kept until its end: the image, how to read the
//! arguments, and the buffers. Every further call checks that nothing has changed, reads the
//! features, walks the trees and hands over the result; it allocates nothing of its own, takes no
//! lock and calls nothing in PostgreSQL that could raise an error.

use gbdt::model::Task;
use gbdt::{Scratch, transform};
use pgrx::pg_sys::Datum;

use crate::cache::{self, Resolved};
use crate::error::{Error, Result, ShapeReason};
use crate::features::{Form, Target};
use crate::pg::arguments::Arguments;
use crate::pg::snapshot::SnapshotMark;
use crate::pg::{arrays, values};

/// What a statement keeps from call to call.
struct Statement {
    model: String,
    resolved: Resolved,
    form: Form,
    scratch: Scratch,
    features: Vec<f32>,
    margins: Vec<f32>,
    leaves: Vec<u32>,
}

impl Statement {
    fn begin(arguments: Arguments, model: &str) -> Result<Self> {
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
    fn holds(&self, model: &str) -> bool {
        self.model == model
            && SnapshotMark::active().is_some_and(|snapshot| self.resolved.holds(snapshot))
    }

    #[inline]
    fn read_features(&mut self, arguments: Arguments) -> Result<()> {
        let target = Target { model: &self.model, image: &self.resolved.loaded.image };
        self.form.read(arguments, target, &mut self.features)
    }

    #[inline]
    fn walk(&mut self) {
        let image = &self.resolved.loaded.image;
        image.margins(&mut self.scratch, &self.features, &mut self.margins);
    }

    /// The row's values: its margins, transformed.
    #[inline]
    fn values(&mut self) -> &[f32] {
        self.walk();
        let count = transform::apply(self.resolved.loaded.image.transform(), &mut self.margins);
        self.margins.get(..count).unwrap_or_default()
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

/// `predict`: the value, of a model that has one a row.
pub fn predict(arguments: Arguments) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    match statement.values() {
        [value] => Ok(real(*value)),
        several => {
            let values = several.len();
            let classes = statement.resolved.loaded.image.task() == Task::Multiclass;
            let reason = ShapeReason::SeveralValues { values, classes };
            Err(statement.shape("predict", reason))
        }
    }
}

/// `predict_array`: all values.
pub fn predict_array(arguments: Arguments) -> Result<Datum> {
    Ok(match row(arguments)? {
        Some(statement) => arrays::real_array(statement.values()),
        None => arguments.null(),
    })
}

/// `predict_margin`: the margins, before the transform.
pub fn predict_margin(arguments: Arguments) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    statement.walk();
    Ok(arrays::real_array(&statement.margins))
}

/// `predict_class`: the winning class by its label, or by its number where there are no labels.
pub fn predict_class(arguments: Arguments) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    statement.walk();
    let image = &statement.resolved.loaded.image;
    let Some(class) = image.class(&statement.margins) else {
        return Err(statement.shape("predict_class", ShapeReason::NoClasses));
    };
    Ok(match image.label(class as usize) {
        Some(label) => arrays::text(label),
        None => arrays::text(&class.to_string()),
    })
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
