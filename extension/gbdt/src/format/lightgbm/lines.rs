//! Lines of a text model, with their numbers, and blocks of them.
//!
//! A block is a run of lines `key=value` up to an empty line: the header, or a tree. Every line of a
//! block must end in a newline, since a number that the end of the file cuts short may still be a number.

use crate::format::reader::Interrupts;
use crate::{Error, ErrorKind, Place, Result};

/// Lines of a block. LightGBM's longest has 22.
const MAX_KEYS: usize = 64;

/// A line without its end.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub bytes: &'a [u8],
    /// Counted from 1.
    pub number: usize,
    /// Whether a newline follows.
    pub ended: bool,
}

pub(super) struct Lines<'a, 'b> {
    bytes: &'a [u8],
    position: usize,
    /// The line at the position, once it has been looked for.
    peeked: Option<Line<'a>>,
    number: usize,
    size: usize,
    interrupts: Interrupts<'b>,
}

impl<'a, 'b> Lines<'a, 'b> {
    /// Bytes of a line between two looks for interrupts.
    const CHUNK: usize = 1 << 20;

    pub(super) fn new(bytes: &'a [u8], check_interrupts: &'b mut dyn FnMut()) -> Self {
        let interrupts = Interrupts::new(check_interrupts);
        Lines { bytes, position: 0, peeked: None, number: 0, size: 0, interrupts }
    }

    /// Lines read so far.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Bytes read so far, without the carriage returns that another system put at the ends of lines.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn interrupts(&mut self) -> &mut Interrupts<'b> {
        &mut self.interrupts
    }

    /// The next line, which is not read by this; nothing at the end of the file.
    pub(super) fn peek(&mut self) -> Option<Line<'a>> {
        if self.peeked.is_none() {
            let rest = self.bytes.get(self.position..).filter(|rest| !rest.is_empty())?;
            let end = self.end_of_line(rest);
            let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let bytes = line.strip_suffix(b"\r").unwrap_or(line);
            self.peeked = Some(Line { bytes, number: self.number + 1, ended: end.is_some() });
        }
        self.peeked
    }

    fn end_of_line(&mut self, rest: &[u8]) -> Option<usize> {
        let mut start = 0;
        for chunk in rest.chunks(Self::CHUNK) {
            if let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
                return Some(start + end);
            }
            start += chunk.len();
            self.interrupts.check();
        }
        None
    }

    /// Reads the next line; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Option<Line<'a>> {
        let line = self.peek()?;
        self.peeked = None;
        let after = self.position + line.bytes.len();
        let returns = self.bytes.get(after) == Some(&b'\r');
        self.position = after + usize::from(returns) + usize::from(line.ended);
        self.size += line.bytes.len() + usize::from(line.ended);
        self.number += 1;
        self.interrupts.count();
        Some(line)
    }

    /// Reads empty lines.
    pub(super) fn skip_empty(&mut self) {
        while self.peek().is_some_and(|line| line.bytes.is_empty() && line.ended) {
            self.next();
        }
    }

    /// Reads the lines `key=value`, or `key` alone, up to an empty line, which is read too.
    pub(super) fn block(&mut self, tree: Option<usize>) -> Result<Block<'a>> {
        let mut fields: Vec<Field<'a>> = Vec::new();
        loop {
            let Some(line) = self.next().filter(|line| line.ended) else {
                return Err(self.truncated(tree));
            };
            if line.bytes.is_empty() {
                return Ok(Block { tree, line: line.number, fields });
            }
            let at = Place::Line { line: line.number, tree };
            let text = std::str::from_utf8(line.bytes)
                .map_err(|_| Error::new(ErrorKind::Encoding, "a line is not UTF-8").at(at))?;
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            let field = Field { key: key.trim(), value, line: line.number, tree };
            if fields.iter().any(|earlier| earlier.key == field.key) {
                return Err(field.error(ErrorKind::DuplicateKey, "occurs twice"));
            }
            if fields.len() == MAX_KEYS {
                let message = format!("more than {MAX_KEYS} lines belong together");
                return Err(Error::new(ErrorKind::Syntax, message).at(at));
            }
            fields.push(field);
        }
    }

    /// The error for a file that ends too early.
    pub(super) fn truncated(&self, tree: Option<usize>) -> Error {
        let place = Place::Line { line: self.number.max(1), tree };
        Error::new(ErrorKind::Truncated, "model ends before its trees do").at(place)
    }
}

/// The header, or a tree.
pub(super) struct Block<'a> {
    tree: Option<usize>,
    line: usize,
    fields: Vec<Field<'a>>,
}

impl<'a> Block<'a> {
    /// The field with a key, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.fields.iter().find(|field| field.key == key).copied()
    }

    /// # Errors
    /// [`ErrorKind::MissingKey`], at the end of the block.
    pub(super) fn required(&self, key: &str) -> Result<Field<'a>> {
        self.get(key).ok_or_else(|| {
            let message = format!("model lacks the key \"{key}\"");
            let place = Place::Line { line: self.line, tree: self.tree };
            Error::new(ErrorKind::MissingKey, message).at(place)
        })
    }
}

/// A key and its value, where they stand.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    key: &'a str,
    pub value: &'a str,
    line: usize,
    tree: Option<usize>,
}

impl Field<'_> {
    /// Where the field stands.
    pub(super) fn place(&self) -> Place {
        Place::Line { line: self.line, tree: self.tree }
    }

    /// An error whose message begins with the key.
    pub(super) fn error(&self, kind: ErrorKind, message: &str) -> Error {
        Error::new(kind, format!("\"{}\" {message}", super::shown(self.key))).at(self.place())
    }
}
