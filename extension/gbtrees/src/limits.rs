//! How large a model may be, and whether long work goes on.
//!
//! A model is untrusted until it has been checked, so every size that it declares is compared with
//! these limits before memory is taken for it. The defaults are far above what XGBoost users train
//! and far below what would hurt a server.
//!
//! Reading, compiling, verifying and explaining a large model take seconds. They ask a [`Cancel`] every few
//! milliseconds, and end with an error of kind [`ErrorKind::Cancelled`] once it says so.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// Upper bounds on a model; a model at the bound is accepted, one above it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Size of the model file in bytes.
    pub bytes: usize,
    /// Number of trees.
    pub trees: usize,
    /// Number of nodes of all trees together.
    pub nodes: usize,
    /// Depth of a tree: the number of splits on the longest path from root to leaf.
    pub depth: usize,
    /// Number of features.
    pub features: usize,
    /// Number of outputs: classes, targets or quantiles.
    pub outputs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 256 << 20,
            trees: 100_000,
            nodes: 16 << 20,
            depth: 512,
            features: 65_536,
            outputs: 4_096,
        }
    }
}

impl Limits {
    /// The same with at most so many bytes of a file.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Self {
        Limits { bytes, ..self }
    }

    /// The same with at most so many trees.
    #[must_use]
    pub fn with_trees(self, trees: usize) -> Self {
        Limits { trees, ..self }
    }

    /// The same with at most so many nodes of all trees.
    #[must_use]
    pub fn with_nodes(self, nodes: usize) -> Self {
        Limits { nodes, ..self }
    }

    /// The same with at most so many splits on a path.
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Limits { depth, ..self }
    }

    /// The same with at most so many features.
    #[must_use]
    pub fn with_features(self, features: usize) -> Self {
        Limits { features, ..self }
    }

    /// The same with at most so many outputs.
    #[must_use]
    pub fn with_outputs(self, outputs: usize) -> Self {
        Limits { outputs, ..self }
    }

    /// Whether a file of that size is read, which a caller may ask before it has the file in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub fn check_bytes(&self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let message = format!("model has {bytes} bytes, more than the limit of {}", self.bytes);
        Err(Error::new(ErrorKind::Limit, message))
    }

    /// Words of 32 bits that all category sets may have. A set takes memory up to its largest code,
    /// whatever the number of its codes, so all together may take as many bytes as the file.
    pub(crate) fn set_words(&self) -> usize {
        self.bytes / size_of::<u32>()
    }
}

/// A count or index as it stands in a compiled model.
pub(crate) fn to_u32(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Limit, "model is too large for a compiled model"))
}

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
