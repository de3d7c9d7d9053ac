//! Numerics as PostgreSQL stores them, which features of rows, arrays and jsonb are: what is read of them
//! without writing them as text is, to the bit, what reading their text gives.
//!
//! An input's first byte chooses the form and the sign, the next two are the weight; digits follow. An
//! input whose first bit is set is a stored numeric as it stands, digits that none has among them.
#![no_main]

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../pg_interface/src/numeric.rs"]
mod numeric;

use libfuzzer_sys::fuzz_target;

const BASE: u16 = 10_000;

fuzz_target!(|input: &[u8]| {
    let [form, low, high, digits @ ..] = input else { return };
    if form & 0x80 != 0 {
        numeric::double(&input[1..]);
        return;
    }
    let words = digits.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]) % BASE);
    let mut digits: Vec<u16> = words.collect();
    // None is stored with a zero at either end, and zero has neither sign nor weight.
    digits.truncate(digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1));
    digits.drain(..digits.iter().position(|digit| *digit != 0).unwrap_or(0));
    let negative = form & 1 != 0 && !digits.is_empty();
    let weight = match i16::from_le_bytes([*low, *high]) {
        _ if digits.is_empty() => 0,
        // Near zero, where numbers are, as often as anywhere.
        weight if form & 2 != 0 => weight % 8,
        weight => weight,
    };
    let stored = stored(form & 4 != 0, negative, weight, &digits);
    if let Some(double) = numeric::double(&stored) {
        let text = text(negative, weight, &digits);
        let expected: f64 = text.parse().expect("a number");
        assert_eq!(double.to_bits(), expected.to_bits(), "{double:e} for {text}");
    }
});

/// As numeric.c's make_result stores it; the short form where that holds the weight and is wanted.
fn stored(short: bool, negative: bool, weight: i16, digits: &[u16]) -> Vec<u8> {
    let header = if short && (-64..=63).contains(&weight) {
        let sign = if negative { 0x2000 } else { 0 };
        vec![0x8000 | sign | (weight.cast_unsigned() & 0x7F)]
    } else {
        vec![if negative { 0x4000 } else { 0 }, weight.cast_unsigned()]
    };
    header.into_iter().chain(digits.iter().copied()).flat_map(u16::to_ne_bytes).collect()
}

/// All digits as a whole number, and the power of ten to multiply it by; what is read has no more than 16 of
/// them.
fn text(negative: bool, weight: i16, digits: &[u16]) -> String {
    let sign = if negative { "-" } else { "" };
    let exponent = 4 * (i64::from(weight) + 1 - digits.len() as i64);
    let whole =
        digits.iter().fold(0_u128, |whole, digit| whole * u128::from(BASE) + u128::from(*digit));
    format!("{sign}{whole}e{exponent}")
}
