//! Fails each large allocation of a load once: the load must end with an out-of-memory error.
//! Infallible allocation would abort this program, or a backend and with it the server.

use gbtrees::{Cancel, ErrorKind};

use crate::allocator::LEFT;
use crate::cancel::work;

#[test]
fn any_failed_allocation_ends_a_load_with_an_error() {
    let releases = [
        "catboost/1.2.10/",
        "lightgbm/4.7.0/",
        "onnx/1.20.0/",
        "onnx/hand/",
        "xgboost/1.3.3/",
        "xgboost/3.4.1/",
    ];
    let mut refused_in_all = 0;
    for file in releases.into_iter().flat_map(golden_models::names) {
        if file.ends_with(".expected.json") {
            continue;
        }
        let bytes = golden_models::file(file);
        // A model with linear leaves loads but cannot be explained.
        let expected = work(bytes, Cancel::never());
        let mut refused = 0;
        loop {
            LEFT.set(Some(refused));
            let found = work(bytes, Cancel::never());
            if LEFT.take().is_some() {
                assert_eq!(found, expected, "{file}");
                break;
            }
            let error = found.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{file}, {refused}: {error}");
            refused += 1;
        }
        refused_in_all += refused;
    }
    assert!(refused_in_all > 1000);
}
