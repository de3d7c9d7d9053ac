//! The SQLSTATEs that the extensions raise, by PostgreSQL's names (errcodes.txt).
//!
//! None is XX000, which PostgreSQL keeps for bugs.

/// A SQLSTATE: five characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlState(pub &'static str);

impl SqlState {
    /// The five characters as PostgreSQL packs them: six bits each, the first lowest (elog.h).
    pub fn packed(self) -> i32 {
        self.0.bytes().enumerate().fold(0, |packed, (place, byte)| {
            packed | i32::from(byte.wrapping_sub(b'0') & 0x3f) << (6 * place)
        })
    }
}

macro_rules! states {
    ($($name:ident = $state:literal,)*) => {
        $(#[allow(missing_docs, reason = "the name says it")]
        pub const $name: SqlState = SqlState($state);)*
    };
}

states! {
    FEATURE_NOT_SUPPORTED = "0A000",
    DATA_EXCEPTION = "22000",
    NUMERIC_VALUE_OUT_OF_RANGE = "22003",
    NULL_VALUE_NOT_ALLOWED = "22004",
    INVALID_PARAMETER_VALUE = "22023",
    ARRAY_SUBSCRIPT_ERROR = "2202E",
    INVALID_TEXT_REPRESENTATION = "22P02",
    INVALID_BINARY_REPRESENTATION = "22P03",
    EXTERNAL_ROUTINE_EXCEPTION = "38000",
    INSUFFICIENT_PRIVILEGE = "42501",
    SYNTAX_ERROR = "42601",
    INVALID_NAME = "42602",
    DUPLICATE_COLUMN = "42701",
    AMBIGUOUS_COLUMN = "42702",
    UNDEFINED_COLUMN = "42703",
    UNDEFINED_OBJECT = "42704",
    DATATYPE_MISMATCH = "42804",
    WRONG_OBJECT_TYPE = "42809",
    UNDEFINED_TABLE = "42P01",
    DISK_FULL = "53100",
    OUT_OF_MEMORY = "53200",
    PROGRAM_LIMIT_EXCEEDED = "54000",
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000",
    OBJECT_IN_USE = "55006",
    IO_ERROR = "58030",
    UNDEFINED_FILE = "58P01",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_as_postgresql_packs_it() {
        // ERRCODE_UNDEFINED_TABLE of errcodes.h: MAKE_SQLSTATE('4','2','P','0','1').
        assert_eq!(UNDEFINED_TABLE.packed(), 4 | 2 << 6 | 32 << 12 | 1 << 24);
    }
}
