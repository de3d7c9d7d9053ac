//! jsonb objects as arguments: values by key.
//!
//! An object is a word per key, a word per value, the keys' texts, and the values, as on disk
//! (src/include/utils/jsonb.h). Rows of one source mostly have the same keys, so [`KeyPositions`]
//! caches the first object's: if the next one's keys are equal, which two comparisons of bytes tell,
//! values are found without a search.

use std::ffi::CString;
use std::marker::PhantomData;

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, JENTRY_HAS_OFF, JENTRY_OFFLENMASK};
use pgrx::{AnyElement, FromDatum, IntoDatum};

use crate::nodes::Expr;
use crate::unguarded;
use crate::value::{Number, NumberType, ScalarType, TextType};

/// Converts valid JSON text in the database's encoding into jsonb.
pub fn of_text(text: &str) -> Datum {
    let text = CString::new(text).unwrap_or_default();
    let argument = text.as_c_str().into_datum();
    // SAFETY: jsonb_in takes a zero-terminated text, and raises for invalid JSON.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[argument]) }
        .unwrap_or(Datum::null())
}

/// A value in an object.
pub enum Item<'a> {
    /// null
    Null,
    /// A number, as numeric.
    Number(Number<'a>),
    /// true or false
    Boolean(bool),
    /// A string.
    Text(String),
    /// An array or an object.
    Container,
}

impl Item<'_> {
    /// Returns JSON's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Item::Null => "null",
            Item::Number(_) => "number",
            Item::Boolean(_) => "boolean",
            Item::Text(_) => "string",
            Item::Container => "array or object",
        }
    }

    /// Returns the text that `->>` gives; `None` for an array or object.
    pub fn text(self) -> Option<String> {
        match self {
            Item::Number(number) => Some(number.numeric_text()),
            Item::Boolean(truth) => Some(truth.to_string()),
            Item::Text(text) => Some(text),
            Item::Null | Item::Container => None,
        }
    }
}

/// An object's distinct keys, and the types of its values.
#[derive(Debug)]
pub struct ObjectType {
    keys: Vec<String>,
    types: Vec<ScalarType>,
}

impl ObjectType {
    /// Returns the type and values of an expression that builds an object with constant keys; `None` if
    /// a value's type is unreadable.
    pub fn with_values(expression: Expr<'_>) -> Option<(ObjectType, Vec<Expr<'_>>)> {
        let (keys, values): (Vec<_>, Vec<_>) = expression.as_object()?.into_iter().unzip();
        let types = values.iter().map(|value| item_type(value.type_oid()));
        Some((ObjectType { keys, types: types.collect::<Option<_>>()? }, values))
    }

    /// Returns the type of the value at a position.
    #[inline]
    pub(crate) fn value_type(&self, position: usize) -> Option<ScalarType> {
        self.types.get(position).copied()
    }

    /// Returns the position of each key's value.
    pub fn positions(&self, keys: &[Box<str>]) -> Vec<Option<usize>> {
        let position = |key: &str| self.keys.iter().position(|known| known == key);
        keys.iter().map(|key| position(key)).collect()
    }
}

/// Returns how to read a type that jsonb stores as numbers, booleans or strings with the same text.
fn item_type(type_oid: pg_sys::Oid) -> Option<ScalarType> {
    ScalarType::of(type_oid).filter(|scalar_type| match scalar_type {
        ScalarType::Number(number) => !number.is_time(),
        ScalarType::Text(text) => *text == TextType::Text,
    })
}

/// A jsonb value that is an object.
pub struct Object<'a> {
    root: *mut pg_sys::JsonbContainer,
    lives: PhantomData<&'a ()>,
}

impl<'a> Object<'a> {
    /// Returns the object; `None` for other jsonb values.
    ///
    /// # Safety
    /// `datum` is a jsonb; it and its detoasted form are valid for `'a`.
    pub unsafe fn new(datum: Datum) -> Option<Object<'a>> {
        // SAFETY: the datum is a jsonb; the header's flag marks an object.
        unsafe {
            let jsonb: *mut pg_sys::Jsonb = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
            let root = &raw mut (*jsonb).root;
            ((*root).header & pg_sys::JB_FOBJECT != 0)
                .then_some(Object { root, lives: PhantomData })
        }
    }

    /// Returns the words of the keys.
    #[inline]
    fn key_entries(&self) -> &'a [u32] {
        self.entries().0
    }

    /// Returns the words of the values, in the order of keys.
    #[inline]
    fn value_entries(&self) -> &'a [u32] {
        self.entries().1
    }

    #[inline]
    fn entries(&self) -> (&'a [u32], &'a [u32]) {
        // SAFETY: an object's header is followed by a word for each key and each value.
        unsafe {
            let count = ((*self.root).header & pg_sys::JB_CMASK) as usize;
            let entries = (&raw const (*self.root).children).cast::<u32>();
            std::slice::from_raw_parts(entries, 2 * count).split_at(count)
        }
    }

    /// Returns a range of the bytes of keys and values.
    ///
    /// # Safety
    /// The range is within the object.
    #[inline]
    unsafe fn data(&self, start: usize, len: usize) -> &'a [u8] {
        // SAFETY: the bytes follow the words; the caller passes a valid range.
        unsafe {
            let data = self.entries().1.as_ptr_range().end.cast::<u8>();
            std::slice::from_raw_parts(data.add(start), len)
        }
    }

    /// Returns a value.
    ///
    /// # Safety
    /// `entry` is the value's word, and `start..end` its bytes.
    #[inline]
    unsafe fn item(&self, entry: u32, start: u32, end: u32) -> Option<Item<'a>> {
        let (start, len) = (start as usize, end.checked_sub(start)? as usize);
        // SAFETY: the caller passes the value's range.
        let data = |start, len| unsafe { self.data(start, len) };
        Some(match entry & pg_sys::JENTRY_TYPEMASK {
            pg_sys::JENTRY_ISNUMERIC => {
                // A numeric is preceded by padding, which is part of the range.
                let aligned = start.next_multiple_of(size_of::<i32>());
                let numeric = Datum::from(data(aligned, 0).as_ptr());
                // SAFETY: the word marks a numeric, which lives as long as the object.
                Item::Number(unsafe { Number::new(numeric, NumberType::Numeric) })
            }
            pg_sys::JENTRY_ISSTRING => {
                Item::Text(String::from_utf8_lossy(data(start, len)).into_owned())
            }
            pg_sys::JENTRY_ISBOOL_TRUE => Item::Boolean(true),
            pg_sys::JENTRY_ISBOOL_FALSE => Item::Boolean(false),
            pg_sys::JENTRY_ISNULL => Item::Null,
            _ => Item::Container,
        })
    }

    /// Returns the value of a key; `None` if there is no such key.
    pub fn get(&self, key: &str) -> Option<Item<'a>> {
        let mut found = pg_sys::JsonbValue::default();
        // SAFETY: the container is an object, the key has the given length, and fields are read
        // according to the found type.
        unsafe {
            let value = unguarded::getKeyJsonValueFromContainer(
                self.root,
                key.as_ptr().cast(),
                i32::try_from(key.len()).ok()?,
                &mut found,
            );
            if value.is_null() {
                return None;
            }
            Some(match found.type_ {
                pg_sys::jbvType::jbvNull => Item::Null,
                pg_sys::jbvType::jbvNumeric => {
                    let numeric = Datum::from(found.val.numeric);
                    Item::Number(Number::new(numeric, NumberType::Numeric))
                }
                pg_sys::jbvType::jbvBool => Item::Boolean(found.val.boolean),
                pg_sys::jbvType::jbvString => {
                    let string = found.val.string;
                    let len = usize::try_from(string.len).unwrap_or(0);
                    let bytes = std::slice::from_raw_parts(string.val.cast::<u8>(), len);
                    Item::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                _ => Item::Container,
            })
        }
    }
}

/// Returns a jsonb argument as a statement's parameter, unchanged: pgrx would read it with serde_json,
/// which cannot represent all its numbers and depths. NULL for a value of another type.
pub fn parameter(value: Option<AnyElement>) -> DatumWithOid<'static> {
    let jsonb = value.filter(|value| value.oid() == pg_sys::JSONBOID);
    // SAFETY: the value is of its stated type.
    unsafe { DatumWithOid::new(jsonb.map(|value| value.datum()), pg_sys::JSONBOID) }
}

/// Returns whether a jsonb argument is an object.
pub fn is_object(value: &AnyElement) -> bool {
    // SAFETY: the value is of its stated type.
    value.oid() == pg_sys::JSONBOID && unsafe { Object::new(value.datum()) }.is_some()
}

/// Returns a jsonb argument's text in the database's encoding; `None` for another type.
pub fn text(value: &AnyElement) -> Option<Vec<u8>> {
    // SAFETY: the value is of its stated type.
    (value.oid() == pg_sys::JSONBOID).then(|| unsafe { text_of(value.datum()) })
}

/// Returns a jsonb's text in the database's encoding.
///
/// # Safety
/// `datum` is a jsonb.
pub unsafe fn text_of(datum: Datum) -> Vec<u8> {
    // SAFETY: the datum is a jsonb; PostgreSQL returns a zero-terminated text.
    unsafe {
        let jsonb: *mut pg_sys::Jsonb = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
        let size = pgrx::varsize_any(jsonb.cast()) as i32;
        let text = pg_sys::JsonbToCString(std::ptr::null_mut(), &raw mut (*jsonb).root, size);
        let bytes = std::ffi::CStr::from_ptr(text).to_bytes().to_vec();
        pg_sys::pfree(text.cast());
        bytes
    }
}

/// Copies a jsonb result of SPI into memory that outlives the query.
pub fn outlive_spi(datum: Datum) -> Option<AnyElement> {
    // SAFETY: SPI is connected; the registry's statement returns a jsonb, which is a varlena.
    unsafe {
        let copy = pg_sys::SPI_datumTransfer(datum, false, -1);
        AnyElement::from_polymorphic_datum(copy, false, pg_sys::JSONBOID)
    }
}

/// Positions of values by key, in objects that mostly have the same keys.
#[derive(Default)]
pub struct KeyPositions {
    /// Words and texts of the last object's keys.
    entries: Vec<u32>,
    texts: Vec<u8>,
    /// The position of each wanted key, if present.
    positions: Vec<Option<usize>>,
    /// The start of each value in the last object, then the end of the last one.
    offsets: Vec<u32>,
}

/// The values of an object by wanted key.
pub struct ObjectValues<'p, 'a> {
    keys: &'p KeyPositions,
    object: &'p Object<'a>,
}

impl KeyPositions {
    /// Finds the values of `keys`, which must be the same in every call.
    #[inline]
    pub fn find<'p, 'a>(
        &'p mut self,
        object: &'p Object<'a>,
        keys: &[Box<str>],
    ) -> ObjectValues<'p, 'a> {
        if self.positions.is_empty() || !self.has_keys_of(object) {
            self.search(object, keys);
        }
        let mut end = self.texts.len() as u32;
        self.offsets.clear();
        self.offsets.push(end);
        for entry in object.value_entries() {
            end = end_of(*entry, end);
            self.offsets.push(end);
        }
        ObjectValues { keys: self, object }
    }

    fn has_keys_of(&self, object: &Object<'_>) -> bool {
        // SAFETY: keys with equal words have equal lengths.
        object.key_entries() == self.entries
            && unsafe { object.data(0, self.texts.len()) } == self.texts
    }

    #[cold]
    fn search(&mut self, object: &Object<'_>, keys: &[Box<str>]) {
        let mut starts = Vec::new();
        let mut end = 0;
        for entry in object.key_entries() {
            let start = end;
            end = end_of(*entry, start);
            starts.push((start as usize, end as usize));
        }
        let position = |key: &str| {
            let is_key = |(start, end): &(usize, usize)| {
                // SAFETY: the offsets come from the object's own entries.
                let text = unsafe { object.data(*start, end.saturating_sub(*start)) };
                text == key.as_bytes()
            };
            starts.iter().position(is_key)
        };
        self.positions = keys.iter().map(|key| position(key)).collect();
        self.entries = object.key_entries().to_vec();
        // SAFETY: as above.
        self.texts = unsafe { object.data(0, end as usize) }.to_vec();
    }
}

impl<'a> ObjectValues<'_, 'a> {
    /// Returns the value of a wanted key; `None` if the object has no such key.
    #[inline]
    pub fn get(&self, key: usize) -> Option<Item<'a>> {
        let KeyPositions { positions, offsets, .. } = self.keys;
        let position = (*positions.get(key)?)?;
        let entry = *self.object.value_entries().get(position)?;
        let (start, end) = (*offsets.get(position)?, *offsets.get(position + 1)?);
        // SAFETY: the offsets come from the object's own entries.
        unsafe { self.object.item(entry, start, end) }
    }
}

/// Returns the end of an entry that starts at `before`.
#[inline]
fn end_of(entry: u32, before: u32) -> u32 {
    let number = entry & JENTRY_OFFLENMASK;
    if entry & JENTRY_HAS_OFF != 0 { number } else { before + number }
}
