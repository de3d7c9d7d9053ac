//! Tree ensembles in JSON and UBJSON. The input may omit the version, so that damage goes to the rest.
#![no_main]

mod mutation;
mod scored;

use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

fuzz_mutator!(|data: &mut [u8], size: usize, longest: usize, seed: u32| {
    mutation::mutate(data, size, longest, seed, mutation::json::edit)
});

fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
    mutation::join([first, second], out, seed, mutation::json::cross)
});

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"{") {
        scored::check(bytes);
    } else {
        scored::check(&[b"{\"tree_ensemble\": 1, ", bytes].concat());
    }
});
