//! Schema-independent edits of a protobuf message: drop, repeat or replace a field, change a number, or
//! copy a field from another message.
//!
//! Only messages on the path to the changed field are parsed, and all other bytes are copied, since a
//! file of 10 kB has thousands of fields. Length-delimited data counts as a message if it parses as
//! one.

use std::ops::Range;

use fastrand::Rng;

use super::words;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

/// A field, by its ranges in the message.
#[derive(Clone)]
struct Field {
    number: u64,
    kind: u64,
    start: usize,
    value: Range<usize>,
}

/// Makes one edit to one of the fields.
pub fn edit(bytes: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let at = path(bytes, random)?;
    let (field, message) = at_end(bytes, &at)?;
    let whole = &message[field.whole()];
    let edited = match random.u8(..6) {
        0 => Vec::new(),
        1 => [whole, whole].concat(),
        2 => {
            let other = path(bytes, random)?;
            let (other, message) = at_end(bytes, &other)?;
            message[other.whole()].to_vec()
        }
        _ => {
            let mut edited = Vec::new();
            write(field.number, field.kind, &changed(field, message, random), &mut edited);
            edited
        }
    };
    Some(replaced(bytes, &at, &edited))
}

/// Puts a field of `second` into `first`, in place of one with the same number, and name if there is
/// one.
pub fn cross(first: &[u8], second: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let [own, others] = [fields(first)?, fields(second)?];
    let other = random.choice(&others)?;
    let alike: Vec<&Field> = own.iter().filter(|field| field.number == other.number).collect();
    let is_named = |field: &&&Field| field.name(first) == other.name(second);
    let named: Vec<&&Field> = alike.iter().filter(is_named).collect();
    let Some(field) = random.choice(named).or_else(|| random.choice(&alike)) else {
        return Some([first, &second[other.whole()]].concat());
    };
    let within = (field.kind == DELIMITED && other.kind == DELIMITED && random.u8(..6) > 0)
        .then(|| cross(&first[field.value.clone()], &second[other.value.clone()], random));
    let mut edited = Vec::new();
    match within.flatten() {
        Some(value) => write(field.number, DELIMITED, &value, &mut edited),
        None => edited.extend(&second[other.whole()]),
    }
    Some(replaced(first, std::slice::from_ref(field), &edited))
}

impl Field {
    fn whole(&self) -> Range<usize> {
        self.start..self.value.end
    }

    /// Returns the first bytes of a nested message, which include its name in ONNX.
    fn name<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        let value = &message[self.value.clone()];
        let fields = (self.kind == DELIMITED).then(|| fields(value)).flatten()?;
        let name = fields.into_iter().find(|field| field.kind == DELIMITED)?;
        Some(&value[name.value])
    }
}

/// Chooses a path of nested fields; `None` for an empty message.
fn path(message: &[u8], random: &mut Rng) -> Option<Vec<Field>> {
    let field = random.choice(fields(message)?)?;
    let goes_in = field.kind == DELIMITED && random.u8(..6) > 0;
    let within = goes_in.then(|| path(&message[field.value.clone()], random)).flatten();
    Some([vec![field], within.unwrap_or_default()].concat())
}

/// Returns the last field of a path, and its message.
fn at_end<'p, 'm>(message: &'m [u8], path: &'p [Field]) -> Option<(&'p Field, &'m [u8])> {
    let (last, way) = path.split_last()?;
    Some((last, way.iter().fold(message, |message, field| &message[field.value.clone()])))
}

/// Replaces the last field of a path, and updates all enclosing lengths.
fn replaced(message: &[u8], path: &[Field], edited: &[u8]) -> Vec<u8> {
    let Some((field, way)) = path.split_first() else { return edited.to_vec() };
    let mut out = message[..field.start].to_vec();
    let within = replaced(&message[field.value.clone()], way, edited);
    if way.is_empty() {
        out.extend(within);
    } else {
        write(field.number, DELIMITED, &within, &mut out);
    }
    out.extend(&message[field.value.end..]);
    out
}

/// Returns another value for a field.
fn changed(field: &Field, message: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut value = &message[field.value.clone()];
    if field.kind == VARINT {
        let number = varint(&mut value).unwrap_or_default();
        let mut changed = Vec::new();
        let number = match random.u8(..5) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_sub(1),
            2 => 0,
            3 => 1 << random.u32(..64),
            _ => random.u64(..16),
        };
        write_varint(number, &mut changed);
        return changed;
    }
    let within = (field.kind == DELIMITED).then(|| fields(value)).flatten().unwrap_or_default();
    if !within.is_empty() {
        return within.iter().rev().flat_map(|field| &value[field.whole()]).copied().collect();
    }
    // Includes packed arrays of numbers.
    let mut changed = value.to_vec();
    words::edit_word(&mut changed, random);
    if field.kind == DELIMITED && changed.len() > 8 && random.u8(..4) == 0 {
        changed.truncate(changed.len() - 4);
    }
    changed
}

/// Returns the message's fields; `None` if it does not parse.
fn fields(message: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let start = message.len() - rest.len();
        let key = varint(&mut rest)?;
        let (number, kind) = (key >> 3, key & 7);
        let length = match kind {
            VARINT => rest.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1,
            FIXED64 => size_of::<u64>(),
            DELIMITED => usize::try_from(varint(&mut rest)?).ok()?,
            FIXED32 => size_of::<u32>(),
            _ => return None,
        };
        let at = message.len() - rest.len();
        rest = rest.get(length..)?;
        fields.push(Field { number, kind, start, value: at..at + length });
    }
    Some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&[byte], rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn write(number: u64, kind: u64, value: &[u8], out: &mut Vec<u8>) {
    write_varint(number << 3 | kind, out);
    if kind == DELIMITED {
        write_varint(value.len() as u64, out);
    }
    out.extend(value);
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
