//! A numeric as f64, straight from the digits that PostgreSQL stores, without writing them as text.
//!
//! A stored numeric is a header of two or four bytes and then its digits to the base 10,000, highest
//! first, without zeros at either end; the format is that of the files on disk and has been the same
//! since PostgreSQL 9.1. A number of few digits is a whole number times or divided by a power of ten,
//! both of which an f64 holds: one operation then yields the f64 nearest to it. A longer number, NaN and
//! infinity are converted by way of their text.

const BASE: u64 = 10_000;
/// Decimal digits per digit.
const DIGIT_PLACES: i32 = 4;

// The header's first two bytes.
const FORM: u16 = 0xC000;
const NEGATIVE: u16 = 0x4000;
const SHORT: u16 = 0x8000;
const SPECIAL: u16 = 0xC000;
// In the short form the same two bytes hold sign and weight too.
const SHORT_NEGATIVE: u16 = 0x2000;
const SHORT_WEIGHT_SIGN: u16 = 0x0040;
const SHORT_WEIGHT: u16 = 0x003F;

/// Integers below this are exact in f64.
const EXACT: u64 = 1 << 53;
/// The powers of ten that are exact in f64.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Returns the f64 nearest to a numeric, given the bytes behind its length word; `None` where one operation
/// cannot tell.
#[inline]
pub(crate) fn double(stored: &[u8]) -> Option<f64> {
    let (header, rest) = word(stored)?;
    let (negative, weight, digits) = match header & FORM {
        SPECIAL => return None,
        SHORT => {
            let below_zero = if header & SHORT_WEIGHT_SIGN != 0 { !SHORT_WEIGHT } else { 0 };
            let weight = (header & SHORT_WEIGHT | below_zero).cast_signed();
            (header & SHORT_NEGATIVE != 0, weight, rest)
        }
        form => {
            let (weight, digits) = word(rest)?;
            (form == NEGATIVE, weight.cast_signed(), digits)
        }
    };
    let magnitude = magnitude(i32::from(weight), digits)?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Splits off the first two bytes, in native order.
#[inline]
fn word(bytes: &[u8]) -> Option<(u16, &[u8])> {
    bytes.split_first_chunk().map(|(word, rest)| (u16::from_ne_bytes(*word), rest))
}

/// Returns the nearest f64 of digits, of which the first counts 10,000^`weight`.
#[inline]
fn magnitude(weight: i32, mut digits: &[u8]) -> Option<f64> {
    let mut whole: u64 = 0;
    let mut count = 0;
    while let Some((digit, rest)) = word(digits) {
        whole = whole.checked_mul(BASE)?.checked_add(u64::from(digit))?;
        if whole >= EXACT {
            return None;
        }
        count += 1;
        digits = rest;
    }
    let exponent = DIGIT_PLACES * (weight - count + 1);
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    Some(if exponent < 0 { whole as f64 / power } else { whole as f64 * power })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a numeric in the long form.
    fn stored(negative: bool, weight: i16, digits: &[u16]) -> Vec<u8> {
        let header = if negative { NEGATIVE } else { 0 };
        let words = [header, weight.cast_unsigned()].into_iter().chain(digits.iter().copied());
        words.flat_map(u16::to_ne_bytes).collect()
    }

    #[test]
    fn whole_numbers_and_fractions() {
        assert_eq!(double(&stored(false, 0, &[])), Some(0.0));
        assert_eq!(double(&stored(false, 1, &[1, 2345, 6789])), Some(12_345.678_9));
        assert_eq!(double(&stored(false, 1, &[1677, 7217])), Some(16_777_217.0));
        assert_eq!(double(&stored(true, -1, &[1000])), Some(-0.1));
        assert_eq!(double(&stored(false, 4, &[7])), Some(7e16));
    }

    #[test]
    fn the_short_form() {
        let short = |header: u16, digit: u16| {
            double(&[SHORT | header, digit].map(u16::to_ne_bytes).concat())
        };
        assert_eq!(short(SHORT_NEGATIVE, 7), Some(-7.0));
        assert_eq!(short(SHORT_WEIGHT_SIGN | SHORT_WEIGHT, 1000), Some(0.1));
    }

    #[test]
    fn what_one_operation_cannot_tell() {
        assert_eq!(double(&stored(false, 4, &[1, 2, 3, 4, 5])), None);
        // 0.36895078389258185, whose digits wrap to a small number in 64 bits.
        assert_eq!(double(&stored(false, -1, &[3689, 5078, 3892, 5818, 5000])), None);
        assert_eq!(double(&stored(false, 30, &[1])), None);
        assert_eq!(double(&SPECIAL.to_ne_bytes()), None);
        assert_eq!(double(&[]), None);
    }
}
