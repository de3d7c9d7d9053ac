//! JSON as XGBoost writes it, which is not quite JSON: `NaN`, `Infinity`, `-Infinity` stand bare.
//!
//! Thresholds of categorical splits are NaN in files from 1.3 to 2.1, so a strict parser refuses
//! real models. In every other respect this one is strict, down to UTF-8, surrogate pairs and
//! leading zeros; what XGBoost's own parser lets pass besides, it never writes.

pub(crate) mod scalars;

use std::borrow::Cow;

use crate::format::reader::{CancelChecks, MAX_NESTING, Number, Reader, ValueKind};
use crate::{Cancel, Error, ErrorKind, Result};

pub(super) struct Json<'a, 'b> {
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    checks: CancelChecks<'b>,
}

/// An open object or array: whether it has had a member yet.
pub(super) struct Container {
    started: bool,
}

/// Whether JSON allows the byte between its tokens.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl<'a, 'b> Json<'a, 'b> {
    pub(super) fn new(bytes: &'a [u8], cancel: Cancel<'b>) -> Self {
        Json { bytes, position: 0, depth: 0, checks: CancelChecks::new(cancel) }
    }

    /// The next byte that is not white space, which is not read by this.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.position) {
            if !is_space(byte) {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// The error for a byte that cannot stand here, or for the end of the file.
    fn syntax(&self, wanted: &str) -> Error {
        if self.position >= self.bytes.len() {
            self.error(ErrorKind::Truncated, format!("model ends where {wanted} belongs"))
        } else {
            self.error(ErrorKind::Syntax, format!("malformed JSON: {wanted} belongs here"))
        }
    }

    fn expect(&mut self, byte: u8, wanted: &str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.syntax(wanted));
        }
        self.position += 1;
        Ok(())
    }

    /// Reads a literal that stands without quotes.
    fn word(&mut self, word: &'static str) -> Result<()> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.position += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.position = self.bytes.len();
        }
        Err(self.syntax(word))
    }

    fn open(&mut self, bracket: u8, kind: ValueKind) -> Result<Container> {
        if self.peek() != Some(bracket) {
            return Err(self.unexpected(kind));
        }
        if self.depth == MAX_NESTING {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.position += 1;
        Ok(Container { started: false })
    }

    /// Reads the comma before a member, or the bracket after the last one.
    fn advance(&mut self, container: &mut Container, bracket: u8) -> Result<bool> {
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.position += 1;
                self.depth = self.depth.saturating_sub(1);
                return Ok(false);
            }
            Some(b',') if container.started => self.position += 1,
            _ if container.started => return Err(self.syntax("a comma or closing bracket")),
            _ => container.started = true,
        }
        self.checks.count()?;
        Ok(true)
    }
}

impl<'a> Reader<'a> for Json<'a, '_> {
    type Container = Container;

    fn offset(&self) -> usize {
        self.position
    }

    fn cancel(&self) -> Cancel<'_> {
        self.checks.cancel()
    }

    fn kind(&mut self) -> Result<ValueKind> {
        match self.peek() {
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            Some(b'"') => Ok(ValueKind::String),
            Some(b't' | b'f') => Ok(ValueKind::Bool),
            Some(b'n') => Ok(ValueKind::Null),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(ValueKind::Number),
            _ => Err(self.syntax("a value")),
        }
    }

    fn open_object(&mut self) -> Result<Container> {
        self.open(b'{', ValueKind::Object)
    }

    fn next_key(&mut self, container: &mut Container) -> Result<Option<Cow<'a, str>>> {
        if !self.advance(container, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a key"));
        }
        let key = self.quoted()?;
        self.expect(b':', "a colon")?;
        Ok(Some(key))
    }

    fn open_array(&mut self) -> Result<Container> {
        self.open(b'[', ValueKind::Array)
    }

    fn next_element(&mut self, container: &mut Container) -> Result<bool> {
        self.advance(container, b']')
    }

    fn declared_elements(&self, _: &Container) -> Option<usize> {
        None
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        if self.kind()? != ValueKind::String {
            return Err(self.unexpected(ValueKind::String));
        }
        self.quoted()
    }

    fn float(&mut self) -> Result<f32> {
        self.read_float()
    }

    fn integer(&mut self) -> Result<i64> {
        self.read_integer()
    }

    fn number(&mut self) -> Result<Number> {
        self.read_number()
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            _ => Err(self.unexpected(ValueKind::Bool)),
        }
    }

    fn skip_scalar(&mut self) -> Result<()> {
        match self.kind()? {
            ValueKind::String => self.quoted().map(drop),
            ValueKind::Bool => self.boolean().map(drop),
            ValueKind::Null => self.word("null"),
            _ => self.token().map(drop),
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(ErrorKind::Syntax, "the model is followed by further bytes")),
        }
    }
}

#[cfg(test)]
mod tests;
