//! CatBoost's hash of a category: the lower half of CityHash64 v1 (2011) over its text, or an integer's
//! decimal digits (`CalcCatFeatureHash` in catboost/libs/cat_feature/cat_feature.cpp;
//! util/digest/city.cpp). Later versions of CityHash differ for longer texts, which rules out the
//! existing crates.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;

/// Returns CatBoost's hash of a category.
pub(crate) fn hash(text: &[u8]) -> u32 {
    city_hash(text) as u32
}

fn city_hash(text: &[u8]) -> u64 {
    match text.len() {
        0..=16 => up_to_16(text),
        17..=32 => up_to_32(text),
        33..=64 => up_to_64(text),
        _ => longer(text),
    }
}

/// Reads eight bytes at an offset that the callers keep in range.
fn word(text: &[u8], at: usize) -> u64 {
    let bytes = text.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half(text: &[u8], at: usize) -> u64 {
    let bytes = text.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
}

fn byte(text: &[u8], at: usize) -> u32 {
    text.get(at).copied().unwrap_or(0).into()
}

fn folded(value: u64) -> u64 {
    value ^ value >> 47
}

fn mixed(low: u64, high: u64) -> u64 {
    const FACTOR: u64 = 0x9ddf_ea08_eb38_2d69;
    let first = folded((low ^ high).wrapping_mul(FACTOR));
    folded((high ^ first).wrapping_mul(FACTOR)).wrapping_mul(FACTOR)
}

fn up_to_16(text: &[u8]) -> u64 {
    let length = text.len();
    match length {
        0 => K2,
        1..4 => {
            let start = byte(text, 0) + (byte(text, length / 2) << 8);
            let end = length as u32 + (byte(text, length - 1) << 2);
            let product = u64::from(start).wrapping_mul(K2) ^ u64::from(end).wrapping_mul(K3);
            folded(product).wrapping_mul(K2)
        }
        4..=8 => {
            let start = (length as u64).wrapping_add(half(text, 0) << 3);
            mixed(start, half(text, length - 4))
        }
        _ => {
            let end = word(text, length - 8);
            let turned = end.wrapping_add(length as u64).rotate_right(length as u32);
            mixed(word(text, 0), turned) ^ end
        }
    }
}

fn up_to_32(text: &[u8]) -> u64 {
    let length = text.len();
    let a = word(text, 0).wrapping_mul(K1);
    let b = word(text, 8);
    let c = word(text, length - 8).wrapping_mul(K2);
    let d = word(text, length - 16).wrapping_mul(K0);
    let low = a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let high = a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c);
    mixed(low, high.wrapping_add(length as u64))
}

fn up_to_64(text: &[u8]) -> u64 {
    let length = text.len();
    let last = word(text, length - 16).wrapping_add(length as u64).wrapping_mul(K0);
    let [first, second] = four_words(text, 0, word(text, 0).wrapping_add(last), word(text, 24));
    let start = word(text, 16).wrapping_add(word(text, length - 32));
    let [third, fourth] = four_words(text, length - 32, start, word(text, length - 8));
    let left = first.wrapping_add(fourth).wrapping_mul(K2);
    let right = third.wrapping_add(second).wrapping_mul(K0);
    let both = folded(left.wrapping_add(right));
    folded(both.wrapping_mul(K0).wrapping_add(second)).wrapping_mul(K2)
}

/// Mixes four words from an offset on for `up_to_64`; `start` includes the first.
fn four_words(text: &[u8], at: usize, start: u64, last: u64) -> [u64; 2] {
    let mut sum = start;
    let turned = sum.wrapping_add(last).rotate_right(52);
    let mut other = sum.rotate_right(37);
    sum = sum.wrapping_add(word(text, at + 8));
    other = other.wrapping_add(sum.rotate_right(7));
    sum = sum.wrapping_add(word(text, at + 16));
    [sum.wrapping_add(last), turned.wrapping_add(sum.rotate_right(31)).wrapping_add(other)]
}

/// Mixes four words from an offset on for `longer`.
fn block(text: &[u8], at: usize, first: u64, second: u64) -> [u64; 2] {
    let last = word(text, at + 24);
    let start = first.wrapping_add(word(text, at));
    let sum = start.wrapping_add(word(text, at + 8)).wrapping_add(word(text, at + 16));
    let turned = second.wrapping_add(start).wrapping_add(last).rotate_right(21);
    [sum.wrapping_add(last), turned.wrapping_add(sum.rotate_right(44)).wrapping_add(start)]
}

fn longer(text: &[u8]) -> u64 {
    let length = text.len();
    let mut x = word(text, 0);
    let mut y = word(text, length - 16) ^ K1;
    let mut z = word(text, length - 56) ^ K0;
    let mut v = block(text, length - 64, length as u64, y);
    let mut w = block(text, length - 32, (length as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(folded(v[1]).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    // All blocks of 64 bytes but the last, partial or whole, which was mixed in first.
    for at in (0..length - 1).step_by(64).take((length - 1) / 64) {
        let sum = x.wrapping_add(y).wrapping_add(v[0]).wrapping_add(word(text, at + 16));
        x = sum.rotate_right(37).wrapping_mul(K1) ^ w[1];
        let sum = y.wrapping_add(v[1]).wrapping_add(word(text, at + 48));
        y = sum.rotate_right(42).wrapping_mul(K1) ^ v[0];
        z = (z ^ w[0]).rotate_right(33);
        v = block(text, at, v[1].wrapping_mul(K1), x.wrapping_add(w[0]));
        w = block(text, at + 32, z.wrapping_add(w[1]), y);
        std::mem::swap(&mut z, &mut x);
    }
    let low = mixed(v[0], w[0]).wrapping_add(folded(y).wrapping_mul(K1)).wrapping_add(z);
    mixed(low, mixed(v[1], w[1]).wrapping_add(x))
}
