//! CatBoost models in JSON and cbm. The length and signature of cbm are corrected, so that damage goes
//! to the contents.
#![no_main]

mod mutation;
mod scored;

use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

fuzz_mutator!(|data: &mut [u8], size: usize, longest: usize, seed: u32| {
    mutation::mutate(data, size, longest, seed, |bytes, random| {
        mutation::words::edit(bytes, random).or_else(|| mutation::json::edit(bytes, random))
    })
});

fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
    mutation::join([first, second], out, seed, mutation::json::cross)
});

fuzz_target!(|bytes: &[u8]| {
    let Some(core) = bytes.get(8..).filter(|_| bytes.starts_with(b"CBM1")) else {
        return scored::check(bytes);
    };
    // The core is followed by tables of target statistics.
    let stated = bytes[4..8].try_into().map_or(0, u32::from_le_bytes) as usize;
    let length = u32::try_from(stated.min(core.len())).unwrap_or(u32::MAX).to_le_bytes();
    scored::check(&[b"CBM1", &length[..], core].concat());
});
