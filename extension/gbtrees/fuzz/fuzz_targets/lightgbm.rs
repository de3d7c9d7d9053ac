//! LightGBM's text models. A header may be left out of the input, so that damage goes to what follows.
#![no_main]

mod scored;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"tree\n") {
        scored::check(bytes);
    } else {
        scored::check(&[b"tree\n", bytes].concat());
    }
});
