//! LightGBM text models. The input may omit the header, so that damage goes to the rest.
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
