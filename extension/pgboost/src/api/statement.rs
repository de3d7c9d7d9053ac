//! What a statement keeps from call to call, and leaves for the next one.
//!
//! A query that predicts for one row spends more on finding out how to read its arguments than on
//! reading them. So when a statement ends, what it worked out waits for the next that names the same model and
//! passes the same types. It holds no image then: the next one asks for that as any statement does, and takes up
//! only what belongs to the very image it is given.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::{Rc, Weak};

use gbdt::{Image, Scratch};

use crate::cache::{self, Loaded, Resolved};
use crate::error::{Error, Result, ShapeReason};
use crate::features::{Form, Given, Target};
use crate::pg::arguments::Arguments;
use crate::pg::map::ImageBytes;
use crate::pg::snapshot::SnapshotMark;
use crate::settings::{self, KernelChoice};

/// One model, as one expression uses it.
pub(super) struct Statement {
    resolved: Resolved,
    bound: Box<Bound>,
}

/// What was worked out for a model's image and the types of the arguments, and the buffers.
struct Bound {
    model: String,
    form: Form,
    kernel: KernelChoice,
    scratch: Scratch,
    features: Vec<f32>,
    margins: Vec<f32>,
    leaves: Vec<u32>,
}

impl Bound {
    #[cold]
    #[inline(never)]
    fn new(arguments: Arguments, model: &str, image: &Image<ImageBytes>) -> Result<Self> {
        Ok(Bound {
            model: model.to_owned(),
            form: Form::bind(arguments, Target { model, image })?,
            kernel: settings::kernel_choice(),
            scratch: Scratch::with_kernel(image, settings::kernel()),
            features: vec![0.0; image.num_features()],
            margins: vec![0.0; image.num_outputs()],
            leaves: Vec::new(),
        })
    }

    /// Whether it was made for that model's name, and for the kernel that is chosen now.
    #[inline]
    fn serves(&self, model: &str) -> bool {
        self.model == model && self.kernel == settings::kernel_choice()
    }
}

impl Statement {
    /// The model that the name means to this statement, ready to read its arguments.
    #[inline]
    pub(super) fn begin(arguments: Arguments, model: &str) -> Result<Self> {
        let resolved = cache::resolve(model, arguments.function())?;
        let bound = match waiting(arguments, model, &resolved.loaded) {
            Some(bound) => bound,
            None => Box::new(Bound::new(arguments, model, &resolved.loaded.image)?),
        };
        Ok(Statement { resolved, bound })
    }

    /// Leaves what was worked out for later statements.
    pub(super) fn end(self) {
        WAITING.with_borrow_mut(|waiting| {
            if waiting.len() >= MAX_WAITING {
                waiting.remove(0);
            }
            let image = Rc::downgrade(&self.resolved.loaded);
            waiting.push(Waiting { image, bound: self.bound });
        });
    }

    #[inline]
    pub(super) fn holds(&self, model: &str) -> bool {
        self.bound.serves(model)
            && SnapshotMark::active().is_some_and(|snapshot| self.resolved.holds(snapshot))
    }

    /// The model as the statement names it.
    pub(super) fn model(&self) -> &str {
        &self.bound.model
    }

    /// The model's image.
    #[inline]
    pub(super) fn image(&self) -> &Image<ImageBytes> {
        &self.resolved.loaded.image
    }

    /// Reads the features of the call's row.
    #[inline]
    pub(super) fn read_features(&mut self, arguments: Arguments) -> Result<()> {
        let Bound { model, form, features, .. } = &mut *self.bound;
        form.read(arguments, Target { model, image: &self.resolved.loaded.image }, features)
    }

    /// Reads the features of a row to where the caller wants them.
    #[inline]
    pub(super) fn read_into(&mut self, given: impl Given, features: &mut [f32]) -> Result<()> {
        let Bound { model, form, .. } = &mut *self.bound;
        form.read(given, Target { model, image: &self.resolved.loaded.image }, features)
    }

    /// The margins of the row that was read, which the caller hands back for the next row.
    #[inline]
    pub(super) fn margins(&mut self) -> Vec<f32> {
        let Bound { scratch, features, margins, .. } = &mut *self.bound;
        self.resolved.loaded.image.margins(scratch, features, margins);
        std::mem::take(margins)
    }

    /// Takes back what `margins` gave.
    #[inline]
    pub(super) fn keep(&mut self, margins: Vec<f32>) {
        self.bound.margins = margins;
    }

    /// For each tree the leaf that the row falls into.
    pub(super) fn leaves(&mut self) -> &[u32] {
        let image = &self.resolved.loaded.image;
        let Bound { scratch, features, leaves, .. } = &mut *self.bound;
        leaves.resize(image.num_trees(), 0);
        image.leaves(scratch, features, leaves);
        leaves
    }

    /// That this function does not give what such a model has.
    pub(super) fn shape(&self, function: &'static str, reason: ShapeReason) -> Error {
        Error::Shape { model: self.bound.model.clone(), function, reason }
    }
}

/// What no statement uses now.
struct Waiting {
    image: Weak<Loaded>,
    bound: Box<Bound>,
}

/// So many wait for a statement; beyond it the one that has waited longest is dropped.
const MAX_WAITING: usize = 16;

thread_local! {
    // Never dropped: at a backend's exit memory goes back as a whole, and a row's description, which
    // is PostgreSQL's memory, must not be freed so late.
    static WAITING: RefCell<ManuallyDrop<Vec<Waiting>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// What waits for a statement with these arguments and that image. The address of an image that is
/// gone is not another's as long as something here remembers it.
#[inline]
fn waiting(arguments: Arguments, model: &str, loaded: &Rc<Loaded>) -> Option<Box<Bound>> {
    WAITING.with_borrow_mut(|waiting| {
        let found = waiting.iter().rposition(|one| {
            std::ptr::eq(one.image.as_ptr(), Rc::as_ptr(loaded))
                && one.bound.serves(model)
                && one.bound.form.fits(arguments)
        })?;
        Some(waiting.remove(found).bound)
    })
}

/// The models that one expression predicts with: one, unless the model's name is a column too.
#[derive(Default)]
pub(super) struct Statements {
    current: Option<Statement>,
    others: Vec<Statement>,
}

/// A statement that uses more models than this in turn starts some of them anew.
const MAX_RECENT: usize = 16;

impl Statements {
    /// The state for that model.
    #[inline]
    pub(super) fn of(&mut self, arguments: Arguments, model: &str) -> Result<&mut Statement> {
        if !self.current.as_ref().is_some_and(|statement| statement.holds(model)) {
            self.current = Some(self.change(arguments, model)?);
        }
        self.current.as_mut().ok_or_else(|| Error::NoSuchModel { name: model.to_owned() })
    }

    /// The state for that model: the statement's first, or another than that of its last call.
    #[inline(never)]
    fn change(&mut self, arguments: Arguments, model: &str) -> Result<Statement> {
        match self.current.take() {
            None if self.others.is_empty() => Statement::begin(arguments, model),
            last => self.change_to(arguments, model, last),
        }
    }

    /// The state for that model, from among those used before or anew.
    #[cold]
    #[inline(never)]
    fn change_to(
        &mut self,
        arguments: Arguments,
        model: &str,
        last: Option<Statement>,
    ) -> Result<Statement> {
        self.others.extend(last);
        if let Some(ready) = self.others.iter().position(|statement| statement.holds(model)) {
            return Ok(self.others.remove(ready));
        }
        let statement = Statement::begin(arguments, model)?;
        self.others.retain(|stale| stale.model() != model);
        if self.others.len() >= MAX_RECENT {
            self.others.remove(0);
        }
        Ok(statement)
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        std::mem::take(&mut self.others).into_iter().for_each(Statement::end);
        self.current.take().into_iter().for_each(Statement::end);
    }
}
