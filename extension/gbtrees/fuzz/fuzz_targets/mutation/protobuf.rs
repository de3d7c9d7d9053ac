//! Edits of a protobuf message, whatever its schema: a field less, twice or in another's place, another number; a field
//! of another message.
//!
//! What is length-delimited counts as a message where it can be read as one and written again as it was.

use fastrand::Rng;

use super::words;

/// Messages within messages that are looked into.
const MAX_DEPTH: usize = 8;

#[derive(Clone)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone)]
enum Value {
    Varint(u64),
    Fixed64(Vec<u8>),
    Fixed32(Vec<u8>),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
}

/// One edit of one of the message's fields.
pub fn edit(bytes: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let mut fields = message(bytes, MAX_DEPTH)?;
    let other = field_at(&mut fields, random).map(|(fields, at)| fields[at].clone())?;
    let (within, at) = field_at(&mut fields, random)?;
    match random.u8(..6) {
        0 => {
            within.remove(at);
        }
        1 => within.insert(at, within[at].clone()),
        2 => within[at] = other,
        _ => change(&mut within[at].value, random),
    }
    let mut written = Vec::new();
    write(&fields, &mut written);
    Some(written)
}

/// The first message with a field of the second, in place of one with that number, and that name if there is one.
pub fn cross(first: &[u8], second: &[u8], random: &mut Rng) -> Option<Vec<u8>> {
    let [mut fields, others] = [message(first, MAX_DEPTH)?, message(second, MAX_DEPTH)?];
    take_over(&mut fields, &others, random)?;
    let mut written = Vec::new();
    write(&fields, &mut written);
    Some(written)
}

fn take_over(fields: &mut Vec<Field>, others: &[Field], random: &mut Rng) -> Option<()> {
    let other = random.choice(others)?;
    let places = |fits: &dyn Fn(&Field) -> bool| -> Vec<usize> {
        (0..)
            .zip(&*fields)
            .filter(|(_, field)| field.number == other.number && fits(field))
            .map(|(at, _)| at)
            .collect()
    };
    let named = places(&|field| field.name() == other.name());
    let at = random.choice(named).or_else(|| random.choice(places(&|_| true)));
    let Some(field) = at.and_then(|at| fields.get_mut(at)) else {
        fields.push(other.clone());
        return Some(());
    };
    match (&mut field.value, &other.value) {
        (Value::Message(own), Value::Message(theirs))
            if !theirs.is_empty() && random.u8(..6) > 0 =>
        {
            take_over(own, theirs, random)
        }
        _ => {
            *field = other.clone();
            Some(())
        }
    }
}

impl Field {
    /// The first bytes of a message, which are its name in those of ONNX that have one.
    fn name(&self) -> Option<&[u8]> {
        let Value::Message(fields) = &self.value else { return None };
        fields.iter().find_map(|field| match &field.value {
            Value::Bytes(bytes) => Some(&bytes[..]),
            _ => None,
        })
    }
}

/// One of all fields, messages' own among them.
fn field_at<'f>(
    fields: &'f mut Vec<Field>,
    random: &mut Rng,
) -> Option<(&'f mut Vec<Field>, usize)> {
    if fields.is_empty() {
        return None;
    }
    let at = random.usize(..fields.len());
    let goes_in = matches!(&fields[at].value, Value::Message(own) if !own.is_empty());
    if !goes_in || random.u8(..6) == 0 {
        return Some((fields, at));
    }
    match &mut fields[at].value {
        Value::Message(own) => field_at(own, random),
        _ => None,
    }
}

fn change(value: &mut Value, random: &mut Rng) {
    match value {
        Value::Varint(number) => {
            *number = match random.u8(..5) {
                0 => number.wrapping_add(1),
                1 => number.wrapping_sub(1),
                2 => 0,
                3 => 1 << random.u32(..64),
                _ => random.u64(..16),
            };
        }
        // Arrays of numbers among them.
        Value::Fixed64(bytes) | Value::Fixed32(bytes) | Value::Bytes(bytes) => {
            words::edit_word(bytes, random);
            if bytes.len() > 8 && random.u8(..4) == 0 {
                bytes.truncate(bytes.len() - 4);
            }
        }
        Value::Message(fields) => fields.reverse(),
    }
}

fn message(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Fixed64(taken(&mut bytes, 8)?.to_vec()),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                delimited(taken(&mut bytes, length)?, depth)
            }
            5 => Value::Fixed32(taken(&mut bytes, 4)?.to_vec()),
            _ => return None,
        };
        fields.push(Field { number: key >> 3, value });
    }
    Some(fields)
}

fn delimited(bytes: &[u8], depth: usize) -> Value {
    let fields = depth.checked_sub(1).and_then(|depth| message(bytes, depth));
    let same = |fields: &Vec<Field>| {
        let mut written = Vec::new();
        write(fields, &mut written);
        !fields.is_empty() && written == bytes
    };
    fields.filter(same).map_or_else(|| Value::Bytes(bytes.to_vec()), Value::Message)
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

fn taken<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn write(fields: &[Field], out: &mut Vec<u8>) {
    for Field { number, value } in fields {
        let mut key = |kind: u64| write_varint(number << 3 | kind, out);
        match value {
            Value::Varint(number) => {
                key(0);
                write_varint(*number, out);
            }
            Value::Fixed64(bytes) => {
                key(1);
                out.extend(bytes);
            }
            Value::Fixed32(bytes) => {
                key(5);
                out.extend(bytes);
            }
            Value::Bytes(bytes) => {
                key(2);
                write_delimited(bytes, out);
            }
            Value::Message(fields) => {
                key(2);
                let mut own = Vec::new();
                write(fields, &mut own);
                write_delimited(&own, out);
            }
        }
    }
}

fn write_delimited(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
