//! A pull parser interface common to JSON and UBJSON.
//!
//! The schema's reader pulls each value in the type that it needs, so an array of numbers goes straight
//! into a vector without a tree of values. Unknown keys are skipped. A duplicate key is an error:
//! readers that disagree on which one counts would see two different models.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::memory::push;
use crate::{Cancel, Error, ErrorKind, Place, Result};

/// Maximum nesting of objects and arrays. Models need 8.
pub(super) const MAX_NESTING: usize = 64;

/// Polls for cancellation once per 4096 members of objects and arrays.
pub(super) struct CancelChecks<'b> {
    members_left: u32,
    cancel: Cancel<'b>,
    stops: bool,
}

impl<'b> CancelChecks<'b> {
    const INTERVAL: u32 = 4096;

    pub(super) fn new(cancel: Cancel<'b>) -> Self {
        CancelChecks { members_left: Self::INTERVAL, cancel, stops: false }
    }

    /// Counts a member.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`].
    #[inline(always)]
    pub(super) fn count(&mut self) -> Result<()> {
        self.members_left -= 1;
        if self.members_left == 0 {
            self.members_left = Self::INTERVAL;
            return self.check();
        }
        Ok(())
    }

    /// Counts a member in a context that cannot return errors; the next [`CancelChecks::check`] reports
    /// it.
    #[inline(always)]
    pub(super) fn note(&mut self) {
        // A failed check is remembered in `stops`.
        let _ = self.count();
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`], on this and every later call.
    pub(super) fn check(&mut self) -> Result<()> {
        let found = self.cancel.check();
        self.stops |= found.is_err();
        if self.stops { Err(Cancel::error()) } else { Ok(()) }
    }

    pub(super) fn cancel(&self) -> Cancel<'b> {
        self.cancel
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl ValueKind {
    fn name(self) -> &'static str {
        match self {
            ValueKind::Object => "an object",
            ValueKind::Array => "an array",
            ValueKind::String => "a string",
            ValueKind::Number => "a number",
            ValueKind::Bool => "a boolean",
            ValueKind::Null => "null",
        }
    }
}

/// A number in the type that the file gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i64),
    Float(f64),
}

/// A document read front to back, value by value.
///
/// Methods that return a value consume it; a value of another kind is [`ErrorKind::WrongType`].
pub(super) trait Reader<'a> {
    /// The state of an open object or array.
    type Container;

    /// Bytes read so far.
    fn offset(&self) -> usize;

    /// Returns the cancellation hook, for work between two values.
    fn cancel(&self) -> Cancel<'_>;

    /// Returns the kind of the next value without consuming it.
    fn kind(&mut self) -> Result<ValueKind>;

    /// Opens an object or an array, which begins with a bracket.
    fn open(&mut self, bracket: u8, kind: ValueKind) -> Result<Self::Container>;

    fn open_object(&mut self) -> Result<Self::Container> {
        self.open(b'{', ValueKind::Object)
    }

    fn open_array(&mut self) -> Result<Self::Container> {
        self.open(b'[', ValueKind::Array)
    }

    /// Returns the next key of the innermost open object, or closes the object and returns `None`.
    fn next_key(&mut self, container: &mut Self::Container) -> Result<Option<Cow<'a, str>>>;

    /// Returns whether the innermost open array has another element, and closes it if not.
    fn next_element(&mut self, container: &mut Self::Container) -> Result<bool>;

    /// Returns the array's length if its header declares one; never more than the bytes left.
    fn declared_elements(&self, container: &Self::Container) -> Option<usize>;

    fn string(&mut self) -> Result<Cow<'a, str>>;
    /// Reads a number, rounded once to f32.
    fn float(&mut self) -> Result<f32>;
    fn integer(&mut self) -> Result<i64>;
    /// Reads a number in the type that the file gives it.
    fn number(&mut self) -> Result<Number>;
    fn boolean(&mut self) -> Result<bool>;

    /// Skips a value that is neither object nor array.
    fn skip_scalar(&mut self) -> Result<()>;

    /// Skips the rest of an array; formats with typed arrays override it with one step.
    fn skip_elements(&mut self, mut container: Self::Container) -> Result<()> {
        while self.next_element(&mut container)? {
            self.skip()?;
        }
        Ok(())
    }

    /// Skips a value of any kind.
    fn skip(&mut self) -> Result<()> {
        match self.kind()? {
            ValueKind::Object => {
                let mut container = self.open_object()?;
                while self.next_key(&mut container)?.is_some() {
                    self.skip()?;
                }
                Ok(())
            }
            ValueKind::Array => {
                let container = self.open_array()?;
                self.skip_elements(container)
            }
            _ => self.skip_scalar(),
        }
    }

    /// Checks that the document ends here.
    fn finish(&mut self) -> Result<()>;

    fn too_deep(&self) -> Error {
        let message = format!("objects and arrays nest deeper than {MAX_NESTING}");
        self.error(ErrorKind::Syntax, message)
    }

    /// Returns an error at the current byte.
    fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(Place::Byte(self.offset()))
    }

    /// Returns the error for a value of another kind than `wanted`.
    fn unexpected(&mut self, wanted: ValueKind) -> Error {
        match self.kind() {
            Ok(found) => self.error(
                ErrorKind::WrongType,
                format!("found {} where {} belongs", found.name(), wanted.name()),
            ),
            Err(error) => error,
        }
    }
}

/// Reads an object: `member` gets each key and must read or skip its value.
pub(super) fn object<'a, R: Reader<'a>>(
    reader: &mut R,
    mut member: impl FnMut(&mut R, &str) -> Result<()>,
) -> Result<()> {
    let mut container = reader.open_object()?;
    let mut seen = Keys::default();
    while let Some(key) = reader.next_key(&mut container)? {
        if seen.contains(&key) {
            return Err(reader.error(ErrorKind::DuplicateKey, "a key occurs twice in one object"));
        }
        member(reader, &key)?;
        seen.add(key)?;
    }
    Ok(())
}

/// The keys seen in one object: a list while they are few, then a hash set.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 32;

    fn contains(&self, key: &str) -> bool {
        self.few.iter().any(|seen| seen == key) || self.many.contains(key)
    }

    fn add(&mut self, key: Cow<'a, str>) -> Result<()> {
        if self.few.len() < Keys::FEW {
            return push(&mut self.few, key);
        }
        self.many.try_reserve(1)?;
        self.many.insert(key);
        Ok(())
    }
}

/// Reads an array of at most `max` elements; `what` names them in the error for more.
pub(super) fn array<'a, R: Reader<'a>, T>(
    reader: &mut R,
    max: usize,
    what: &str,
    mut element: impl FnMut(&mut R) -> Result<T>,
) -> Result<Vec<T>> {
    let mut container = reader.open_array()?;
    let mut values = Vec::new();
    if let Some(declared) = reader.declared_elements(&container) {
        values.try_reserve(declared.min(max))?;
    }
    while reader.next_element(&mut container)? {
        if values.len() >= max {
            return Err(reader.error(ErrorKind::Limit, format!("model has more than {max} {what}")));
        }
        push(&mut values, element(reader)?)?;
    }
    Ok(values)
}

/// Reads an array; null counts as empty.
pub(super) fn list<'a, R: Reader<'a>, T>(
    reader: &mut R,
    max: usize,
    what: &str,
    element: impl FnMut(&mut R) -> Result<T>,
) -> Result<Vec<T>> {
    if reader.kind()? == ValueKind::Null {
        return reader.skip_scalar().map(|()| Vec::new());
    }
    array(reader, max, what, element)
}

/// Returns the value of a mandatory key.
pub(super) fn required<T>(value: Option<T>, key: &str) -> Result<T> {
    value.ok_or_else(|| fault!(MissingKey, "model has no key \"{key}\""))
}

/// Returns the error for bytes after a model.
pub(super) fn appended(start: usize) -> Error {
    fault!(Syntax, "the model is followed by further bytes")
        .at(Place::Byte(start))
        .with_hint(
            "Pass the bytes of the file alone: a program may have added a line feed, a zero or another file.",
        )
}

/// Reads a number of either type as f64.
pub(super) fn double<'a, R: Reader<'a>>(reader: &mut R) -> Result<f64> {
    Ok(match reader.number()? {
        Number::Integer(number) => number as f64,
        Number::Float(number) => number,
    })
}

/// Reads a boolean, or 0 or 1, which XGBoost has written since 1.6.
pub(super) fn switch<'a, R: Reader<'a>>(reader: &mut R) -> Result<bool> {
    if reader.kind()? == ValueKind::Bool {
        return reader.boolean();
    }
    match reader.integer()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(reader.error(ErrorKind::WrongType, "found a number where 0 or 1 belongs")),
    }
}
