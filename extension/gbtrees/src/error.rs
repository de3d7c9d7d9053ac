//! The engine's error type.
//!
//! An error has a kind to match on, a message to read, and the place in the file. Messages follow
//! PostgreSQL's style, where they are shown: lower case, no full stop, names in double quotes. They
//! never contain bytes of the model.

use std::fmt;

/// Creates an error from the name of its kind and a format.
macro_rules! fault {
    ($kind:ident, $($message:tt)+) => {
        $crate::Error::new($crate::ErrorKind::$kind, format!($($message)+))
    };
}

/// Returns from the function with an error, as [`fault!`] creates it.
macro_rules! bail {
    ($kind:ident, $($message:tt)+) => {
        return Err(fault!($kind, $($message)+))
    };
}

/// The kind of an error, coarse enough to map each kind to an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not well-formed JSON or UBJSON.
    Syntax,
    /// The bytes end before the document does.
    Truncated,
    /// A string or a key is not UTF-8.
    Encoding,
    /// A number cannot be represented in the type that the format requires.
    Number,
    /// A key that the format requires is absent.
    MissingKey,
    /// A key occurs twice in one object.
    DuplicateKey,
    /// A value has another type than the format requires.
    WrongType,
    /// Two arrays that describe the same things differ in length.
    Length,
    /// A parameter has an impossible value.
    Parameter,
    /// The links between the nodes of a tree do not make it a tree.
    TreeShape,
    /// A split names a feature that the model does not have.
    FeatureRange,
    /// A tree belongs to an output that the model does not have.
    OutputRange,
    /// A categorical split names categories that cannot exist.
    CategoryRange,
    /// A threshold, leaf or base score is not a finite number.
    NotFinite,
    /// The model is larger than the limits allow.
    Limit,
    /// A model or file format is known but not supported.
    Unsupported,
    /// Feature names or labels do not fit the model.
    Names,
    /// Memory for a model within the limits could not be allocated.
    OutOfMemory,
    /// The caller cancelled the work: see [`Cancel`](crate::Cancel).
    Cancelled,
    /// A compiled model is damaged, or was made by another version of the engine.
    CompiledModel,
    /// The length of a row, or of its results, does not fit the model.
    RowLength,
    /// An invariant of the engine is broken: a bug, or a compiled model that changed after
    /// verification.
    Internal,
}

impl ErrorKind {
    /// All kinds, for tables and tests that must cover them.
    pub const ALL: [ErrorKind; 22] = [
        ErrorKind::Syntax,
        ErrorKind::Truncated,
        ErrorKind::Encoding,
        ErrorKind::Number,
        ErrorKind::MissingKey,
        ErrorKind::DuplicateKey,
        ErrorKind::WrongType,
        ErrorKind::Length,
        ErrorKind::Parameter,
        ErrorKind::TreeShape,
        ErrorKind::FeatureRange,
        ErrorKind::OutputRange,
        ErrorKind::CategoryRange,
        ErrorKind::NotFinite,
        ErrorKind::Limit,
        ErrorKind::Unsupported,
        ErrorKind::Names,
        ErrorKind::OutOfMemory,
        ErrorKind::Cancelled,
        ErrorKind::CompiledModel,
        ErrorKind::RowLength,
        ErrorKind::Internal,
    ];
}

/// The place of an error in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The model as a whole.
    #[default]
    Model,
    /// An offset in the file in bytes.
    Byte(usize),
    /// A line of a text model, counted from 1, and its tree, if it belongs to one.
    Line {
        /// The line.
        line: usize,
        /// The tree.
        tree: Option<usize>,
    },
    /// A tree, counted from 0 in file order.
    Tree(usize),
    /// A node of a tree, both counted from 0 in file order.
    Node {
        /// The tree.
        tree: usize,
        /// The node in it.
        node: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Model => f.write_str("the model as a whole"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
            Place::Line { line, tree: None } => write!(f, "line {line}"),
            Place::Line { line, tree: Some(tree) } => write!(f, "tree {tree}, line {line}"),
            Place::Tree(tree) => write!(f, "tree {tree}"),
            Place::Node { tree, node } => write!(f, "tree {tree}, node {node}"),
        }
    }
}

/// An error of the engine: a kind, a message and a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    place: Place,
    message: String,
    hint: Option<&'static str>,
}

impl Error {
    /// Creates an error about the model as a whole.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, place: Place::Model, message: message.into(), hint: None }
    }

    /// Adds the place of the error.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Adds advice for the user: one sentence with its full stop.
    #[must_use]
    pub fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the place.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns the message without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the advice for the user, if any.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Model => f.write_str(&self.message),
            place => write!(f, "{} ({place})", self.message),
        }
    }
}

impl std::error::Error for Error {}

/// Returns the part of a name that messages show.
pub(crate) fn shown(name: &str) -> String {
    const CHARACTERS: usize = 64;
    match name.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}...", name.split_at(end).0),
        None => name.to_owned(),
    }
}

/// The result of a fallible operation of the engine.
pub type Result<T> = std::result::Result<T, Error>;
