//! Structure-preserving mutations, so that most inputs pass the parser and reach the checks of values.
//!
//! Of mutations of one file, three in four are made here and one by libFuzzer; as many again cross two
//! files. With `PLAIN_MUTATIONS` libFuzzer makes all, to compare the coverage of both
//! (docs/dev/testing.md).
#![allow(dead_code, reason = "each target edits the formats that it reads")]

pub mod json;
pub mod protobuf;
pub mod words;

use std::sync::LazyLock;

use fastrand::Rng;

static PLAIN: LazyLock<bool> = LazyLock::new(|| std::env::var_os("PLAIN_MUTATIONS").is_some());

/// Boundary values of readers and kernels.
const NUMBERS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    255.0,
    65_536.0,
    2_147_483_647.0,
    4_294_967_295.0,
    1e-35,
    f64::MAX,
];

/// Mutates the first `size` bytes; returns the new size, at most `longest`. An edit returns `None` for
/// bytes that it cannot parse.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    longest: usize,
    seed: u32,
    edit: impl Fn(&[u8], &mut Rng) -> Option<Vec<u8>>,
) -> usize {
    let mut random = Rng::with_seed(seed.into());
    let edited =
        (!*PLAIN && random.u8(..4) > 0).then(|| edit(&data[..size], &mut random)).flatten();
    match edited.filter(|edited| edited.len() <= longest) {
        Some(edited) => {
            data[..edited.len()].copy_from_slice(&edited);
            edited.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, longest),
    }
}

/// Puts a part of `second` into `first`; returns the size of the result in `out`, or 0 if `cross`
/// cannot parse one of them, so that libFuzzer mutates instead.
pub fn join(
    [first, second]: [&[u8]; 2],
    out: &mut [u8],
    seed: u32,
    cross: impl Fn(&[u8], &[u8], &mut Rng) -> Option<Vec<u8>>,
) -> usize {
    let joined =
        (!*PLAIN).then(|| cross(first, second, &mut Rng::with_seed(seed.into()))).flatten();
    joined.filter(|joined| joined.len() <= out.len()).map_or(0, |joined| {
        out[..joined.len()].copy_from_slice(&joined);
        joined.len()
    })
}
