//! XGBoost's models: JSON, UBJSON and the binary format, which the reader tells apart.
#![no_main]

mod scored;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| scored::check(bytes));
