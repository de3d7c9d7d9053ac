//! The shortest decimal of an f32: the number that the text of a `real` says.
//!
//! PostgreSQL writes a real with the fewest digits that are read back as the same real, and of those the
//! nearest (`src/common/f2s.c`, Ulf Adams' Ryu with bounds that do not count as within). Drivers, CSV and
//! JSON carry that text, so a library in Python sees the f64 nearest to it, 0.1, where the real itself is
//! 0.100000001490116. The map from one to the other keeps the order of numbers.

/// Bits of the fraction of an f32, and what its exponent is counted from.
const FRACTION_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const BIAS: i32 = 127;

/// Bits of a power of five and of an inverse one.
const POWER_BITS: i32 = 61;
const INVERSE_BITS: i32 = 59;

/// The highest bits of the powers of five, and of 1 by them, rounded up.
const POWERS: [u64; 48] = powers();
const INVERSES: [u64; 32] = inverses();

/// The powers of ten that are f64.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The f64 nearest to the shortest decimal of an f32. NaN, zeros and infinities stay what they are.
pub fn shortest_decimal(real: f32) -> f64 {
    if !real.is_finite() || real == 0.0 || is_whole(real) {
        return real.into();
    }
    let (digits, exponent) = digits_of(real.abs());
    let power = TENS.get(exponent.unsigned_abs() as usize);
    let magnitude = match power {
        // Both are f64 exactly, so that one operation rounds once.
        Some(power) if exponent < 0 => f64::from(digits) / power,
        Some(power) => f64::from(digits) * power,
        None => format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN),
    };
    magnitude.copysign(real.into())
}

/// Whole numbers of no more bits than an f32 has, which are written with all their digits.
fn is_whole(real: f32) -> bool {
    real.abs() < 16_777_216.0 && real.trunc() == real
}

/// The digits of the shortest decimal of a positive number, and the power of ten that they count.
fn digits_of(real: f32) -> (u32, i32) {
    let bits = real.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let biased = (bits >> FRACTION_BITS) as i32;
    let exponent = biased.max(1) - BIAS - FRACTION_BITS as i32 - 2;
    let mantissa = if biased == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
    // Below a power of two the next number is half as far.
    let is_even_gap = fraction != 0 || biased <= 1;
    let value = 4 * mantissa;
    let bounds = [value - 1 - u32::from(is_even_gap), value + 2];
    let scaled = if exponent >= 0 {
        Scaled::up(value, bounds, exponent)
    } else {
        Scaled::down(value, bounds, exponent)
    };
    scaled.shortest()
}

/// A number and its bounds as multiples of a power of ten, rounded down.
struct Scaled {
    value: u32,
    low: u32,
    high: u32,
    exponent: i32,
    /// Whether nothing was rounded off the value.
    exact: bool,
    /// The digit that was rounded off last.
    removed: u32,
}

impl Scaled {
    /// Of a multiple of two to a power that is not negative.
    fn up(value: u32, [low, high]: [u32; 2], exponent: i32) -> Scaled {
        let q = (exponent * 78_913) >> 18;
        let scale = |number: u32, q: i32| {
            let shift = q - exponent + INVERSE_BITS + power_bits(q) - 1;
            product(number, INVERSES[q as usize], shift)
        };
        let mut scaled = Scaled {
            value: scale(value, q),
            low: scale(low, q),
            high: scale(high, q),
            exponent: q,
            exact: q <= 9 && value.is_multiple_of(5u32.pow(q.unsigned_abs().min(9))),
            removed: 0,
        };
        if q != 0 && (scaled.high - 1) / 10 <= scaled.low / 10 {
            scaled.removed = scale(value, q - 1) % 10;
        }
        // The upper bound itself is not within.
        if q <= 9 && high.is_multiple_of(5u32.pow(q.unsigned_abs())) {
            scaled.high -= 1;
        }
        scaled
    }

    /// Of a multiple of two to a negative power.
    fn down(value: u32, [low, high]: [u32; 2], exponent: i32) -> Scaled {
        let q = (-exponent * 732_923) >> 20;
        let scale = |number: u32, q: i32| {
            let i = -exponent - q;
            product(number, POWERS[i as usize], q - (power_bits(i) - POWER_BITS))
        };
        let mut scaled = Scaled {
            value: scale(value, q),
            low: scale(low, q),
            high: scale(high, q),
            exponent: q + exponent,
            exact: q <= 1 || q < 31 && value.trailing_zeros() as i32 >= q - 1,
            removed: 0,
        };
        if q != 0 && (scaled.high - 1) / 10 <= scaled.low / 10 {
            scaled.removed = scale(value, q - 1) % 10;
        }
        if q <= 1 {
            scaled.high -= 1;
        }
        scaled
    }

    /// Takes digits off as long as a number between the bounds is left.
    fn shortest(self) -> (u32, i32) {
        let Scaled { mut value, mut low, mut high, mut exponent, mut exact, mut removed } = self;
        while high / 10 > low / 10 {
            exact &= removed == 0;
            removed = value % 10;
            (value, low, high) = (value / 10, low / 10, high / 10);
            exponent += 1;
        }
        // In the middle, to the even digit.
        let is_middle = exact && removed == 5 && value.is_multiple_of(2);
        let round_up = value == low || removed >= 5 && !is_middle;
        (value + u32::from(round_up), exponent)
    }
}

/// Bits of a power of five.
const fn power_bits(power: i32) -> i32 {
    ((power * 1_217_359) >> 19) + 1
}

fn product(number: u32, factor: u64, shift: i32) -> u32 {
    ((u128::from(number) * u128::from(factor)) >> shift) as u32
}

const fn powers() -> [u64; 48] {
    let mut powers = [0; 48];
    let (mut power, mut index): (u128, usize) = (1, 0);
    while index < powers.len() {
        let shift = power_bits(index as i32) - POWER_BITS;
        powers[index] = if shift > 0 { power >> shift } else { power << -shift } as u64;
        power *= 5;
        index += 1;
    }
    powers
}

const fn inverses() -> [u64; 32] {
    let mut inverses = [0; 32];
    let (mut power, mut index): (u128, usize) = (1, 0);
    while index < inverses.len() {
        // Long division of a power of two, bit by bit.
        let (mut quotient, mut rest): (u64, u128) = (0, 1);
        let mut bits = power_bits(index as i32) - 1 + INVERSE_BITS;
        if power == 1 {
            (quotient, rest) = (1, 0);
        }
        while bits > 0 {
            rest *= 2;
            quotient = quotient << 1 | (rest >= power) as u64;
            if rest >= power {
                rest -= power;
            }
            bits -= 1;
        }
        inverses[index] = quotient + 1;
        power *= 5;
        index += 1;
    }
    inverses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_real_is_the_number_that_its_text_says() {
        // As PostgreSQL 15 writes them, also numbers in the middle between two decimals.
        let texts = [
            (0x3dcc_cccd, "0.1"),
            (0x4b80_0000, "1.6777216e7"),
            (0x0000_0001, "1e-45"),
            (0x7f7f_ffff, "3.4028235e38"),
            (0x0080_0000, "1.1754944e-38"),
            (0x40b7_a000, "5.7382812"),
            (0x4503_d480, "2109.2812"),
            (0xc336_5400, "-182.32812"),
        ];
        for (bits, text) in texts {
            let real = f32::from_bits(bits);
            assert_eq!(shortest_decimal(real), text.parse::<f64>().unwrap(), "{text}");
        }
        for same in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(shortest_decimal(same).to_bits(), f64::from(same).to_bits());
        }
        assert!(shortest_decimal(f32::NAN).is_nan());
    }

    #[test]
    fn decimals_are_the_shortest_and_ascend() {
        let mut random = Random(5);
        let mut longer = 0;
        for step in 0..200_000 {
            let bits = if step < 1000 { step } else { random.next() as u32 & (u32::MAX >> 1) };
            let real = f32::from_bits(bits);
            if !real.is_finite() {
                continue;
            }
            let decimal = shortest_decimal(real);
            // To Rust, a decimal in the middle between two reals may be one of them.
            longer += u32::from(format!("{decimal:e}").len() > format!("{real:e}").len());
            assert_eq!(decimal as f32, real);
            assert_eq!(shortest_decimal(-real), -decimal);
            assert!(decimal < shortest_decimal(real.next_up()), "{real:e}");
        }
        assert!(longer < 1000, "{longer}");
    }
}
