//! Writes UBJSON as libxgboost writes and reads it: big-endian, arrays of numbers typed, other arrays counted,
//! objects neither (`UBJWriter` in src/common/json.cc).

use crate::Result;

#[derive(Default)]
pub(super) struct Ubjson {
    bytes: Vec<u8>,
}

/// A number in a typed array.
pub(super) trait Number {
    const MARKER: u8;
    type Bytes: AsRef<[u8]>;
    fn bytes(self) -> Self::Bytes;
}

macro_rules! numbers {
    ($($type:ty: $marker:literal,)*) => {
        $(impl Number for $type {
            const MARKER: u8 = $marker;
            type Bytes = [u8; size_of::<$type>()];
            fn bytes(self) -> Self::Bytes {
                self.to_be_bytes()
            }
        })*
    };
}

numbers! { f32: b'd', i8: b'i', u8: b'U', i32: b'l', i64: b'L', }

impl Ubjson {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes an object, whose members the closure writes.
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.put(b"{")?;
        members(self)?;
        self.put(b"}")
    }

    /// Writes a key, which its value follows.
    pub(super) fn key(&mut self, key: &str) -> Result<&mut Self> {
        self.counted(key)?;
        Ok(self)
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.put(b"S")?;
        self.counted(text)
    }

    pub(super) fn integer(&mut self, number: i64) -> Result<()> {
        self.put(b"L")?;
        self.put(&number.to_be_bytes())
    }

    pub(super) fn float(&mut self, number: f32) -> Result<()> {
        self.put(b"d")?;
        self.put(&number.to_be_bytes())
    }

    /// Writes an array of values, each by the closure.
    pub(super) fn list<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        self.put(b"[#")?;
        self.integer(values.len() as i64)?;
        let mut values = values;
        values.try_for_each(|value| each(self, value))
    }

    /// Writes a typed array.
    pub(super) fn numbers<N: Number>(
        &mut self,
        values: impl ExactSizeIterator<Item = N>,
    ) -> Result<()> {
        self.put(&[b'[', b'$', N::MARKER, b'#'])?;
        self.integer(values.len() as i64)?;
        self.bytes.try_reserve(values.len().saturating_mul(size_of::<N>()))?;
        values.for_each(|value| self.bytes.extend_from_slice(value.bytes().as_ref()));
        Ok(())
    }

    fn counted(&mut self, text: &str) -> Result<()> {
        self.integer(text.len() as i64)?;
        self.put(text.as_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.try_reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}
