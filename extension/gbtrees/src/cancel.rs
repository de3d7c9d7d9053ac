//! Whether long work goes on.
//!
//! Reading, compiling, verifying and explaining a large model take seconds. They ask a [`Cancel`] every few
//! milliseconds, and end with an error of kind [`ErrorKind::Cancelled`] once it says so.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// What long work asks every few milliseconds whether it is to stop.
#[derive(Clone, Copy)]
pub struct Cancel<'a>(Check<'a>);

#[derive(Clone, Copy)]
enum Check<'a> {
    Never,
    When(&'a dyn Fn() -> bool),
    Unwinding(&'a dyn Fn()),
}

impl<'a> Cancel<'a> {
    /// Work is never stopped.
    pub const fn never() -> Self {
        Cancel(Check::Never)
    }

    /// Work stops once this returns true, with [`ErrorKind::Cancelled`]; it may read a flag or a clock.
    pub fn when(stops: &'a dyn Fn() -> bool) -> Self {
        Cancel(Check::When(stops))
    }

    /// Work stops if this unwinds, as functions of a host do that look for its interrupts.
    pub fn unwinding(check: &'a dyn Fn()) -> Self {
        Cancel(Check::Unwinding(check))
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`] if work is to stop.
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        match self.0 {
            Check::Never => Ok(()),
            Check::When(stops) if stops() => Err(Self::error()),
            Check::When(_) => Ok(()),
            Check::Unwinding(check) => {
                check();
                Ok(())
            }
        }
    }
}

impl Cancel<'_> {
    /// Whether something holds for all parts; asks before each.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`].
    pub(crate) fn all<I: Iterator>(
        self,
        mut parts: I,
        mut holds: impl FnMut(I::Item) -> bool,
    ) -> Result<bool> {
        parts.try_fold(true, |all, part| {
            self.check()?;
            Ok(all && holds(part))
        })
    }

    #[cold]
    pub(crate) fn error() -> Error {
        Error::new(ErrorKind::Cancelled, "the work on the model was cancelled")
    }
}

impl Default for Cancel<'_> {
    fn default() -> Self {
        Self::never()
    }
}

impl fmt::Debug for Cancel<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Check::Never => "Cancel::never",
            Check::When(_) => "Cancel::when",
            Check::Unwinding(_) => "Cancel::unwinding",
        })
    }
}
