//! Limits on the size of models, and cancellation of long work.
//!
//! Every size that an untrusted model declares is compared with these limits before memory is allocated
//! for it. Defaults are far above what XGBoost users train and far below what would hurt a server.
//!
//! Parsing, compiling, verifying and explaining a large model take seconds. They poll a [`Cancel`]
//! every few milliseconds and end with [`ErrorKind::Cancelled`] when it says so.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// Upper bounds of a model, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Size of the model file in bytes.
    pub bytes: usize,
    /// Number of trees.
    pub trees: usize,
    /// Number of nodes in all trees.
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
    /// Limits the size of the file in bytes.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Self {
        Limits { bytes, ..self }
    }

    /// Limits the number of trees.
    #[must_use]
    pub fn with_trees(self, trees: usize) -> Self {
        Limits { trees, ..self }
    }

    /// Limits the number of nodes in all trees.
    #[must_use]
    pub fn with_nodes(self, nodes: usize) -> Self {
        Limits { nodes, ..self }
    }

    /// Limits the number of splits on a path.
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Limits { depth, ..self }
    }

    /// Limits the number of features.
    #[must_use]
    pub fn with_features(self, features: usize) -> Self {
        Limits { features, ..self }
    }

    /// Limits the number of outputs.
    #[must_use]
    pub fn with_outputs(self, outputs: usize) -> Self {
        Limits { outputs, ..self }
    }

    /// Checks the size of a file, before it needs to be in memory.
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

    /// Returns the limit of 32-bit words in all category sets. A set's memory grows with its largest
    /// code, not its number of codes, so together they may take as much as the file.
    pub(crate) fn set_words(&self) -> usize {
        self.bytes / size_of::<u32>()
    }
}

/// Converts a count or index for a compiled model.
pub(crate) fn to_u32(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Limit, "model is too large for a compiled model"))
}

/// A cancellation check, polled every few milliseconds.
#[derive(Clone, Copy)]
pub struct Cancel<'a>(Check<'a>);

#[derive(Clone, Copy)]
enum Check<'a> {
    Never,
    When(&'a dyn Fn() -> bool),
    Unwinding(&'a dyn Fn()),
}

impl<'a> Cancel<'a> {
    /// Never cancels.
    pub const fn never() -> Self {
        Cancel(Check::Never)
    }

    /// Cancels with [`ErrorKind::Cancelled`] once `stops` returns true; it may read a flag or a clock.
    pub fn when(stops: &'a dyn Fn() -> bool) -> Self {
        Cancel(Check::When(stops))
    }

    /// Calls a function that unwinds to cancel, such as a host's check for interrupts.
    pub fn unwinding(check: &'a dyn Fn()) -> Self {
        Cancel(Check::Unwinding(check))
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`].
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
    /// Returns whether `holds` is true of all parts, polling before each.
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
