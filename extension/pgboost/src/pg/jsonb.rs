//! A jsonb object as an argument: its values by key.

use pgrx::pg_sys::{self, Datum};

use super::unguarded;

/// What a key of an object holds.
pub enum Value {
    /// JSON's null.
    Null,
    /// A number, as a numeric.
    Number(Datum),
    /// true or false.
    Boolean(bool),
    /// A string.
    Text(String),
    /// An array or an object.
    Container,
}

impl Value {
    /// What JSON calls the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Number(_) => "number",
            Value::Boolean(_) => "boolean",
            Value::Text(_) => "string",
            Value::Container => "array or object",
        }
    }
}

/// A jsonb value that is an object.
pub struct Object {
    root: *mut pg_sys::JsonbContainer,
}

impl Object {
    /// The object, or nothing if the jsonb value is something else. As in `values`, the datum is of
    /// that type because the statement says so.
    pub fn of(datum: Datum) -> Option<Object> {
        // SAFETY: the datum is a jsonb; the header's flag tells an object.
        unsafe {
            let jsonb: *mut pg_sys::Jsonb = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
            let root = &raw mut (*jsonb).root;
            ((*root).header & pg_sys::JB_FOBJECT != 0).then_some(Object { root })
        }
    }

    /// The value of a key, or nothing if there is no such key.
    pub fn get(&self, key: &str) -> Option<Value> {
        let mut found = pg_sys::JsonbValue::default();
        // SAFETY: the container is an object's, the key has that many bytes, and the fields read
        // are those of the type that was found.
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
                pg_sys::jbvType::jbvNull => Value::Null,
                pg_sys::jbvType::jbvNumeric => Value::Number(Datum::from(found.val.numeric)),
                pg_sys::jbvType::jbvBool => Value::Boolean(found.val.boolean),
                pg_sys::jbvType::jbvString => {
                    let string = found.val.string;
                    let len = usize::try_from(string.len).unwrap_or(0);
                    let bytes = std::slice::from_raw_parts(string.val.cast::<u8>(), len);
                    Value::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                _ => Value::Container,
            })
        }
    }
}
