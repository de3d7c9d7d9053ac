//! Cancelling at any poll ends each stage with the one error, and without side effects.

use std::cell::Cell;

use gbtrees::internals::{CompiledModel, ContributionScratch, compile, parse};
use gbtrees::{Cancel, ErrorKind, Limits, Result};

/// Runs a model of any library through all stages.
pub(crate) fn work(file: &[u8], cancel: Cancel<'_>) -> Result<Option<Vec<f32>>> {
    let model = parse(file, &Limits::default(), cancel)?;
    let compiled = CompiledModel::open_checking(compile(&model, &[], cancel)?, cancel)?;
    let row = vec![0.5; compiled.row_length()];
    if !compiled.has_covers() {
        return Ok(None);
    }
    let mut out = vec![0.0; compiled.num_outputs() * (compiled.num_features() + 1)];
    compiled.contributions(&mut ContributionScratch::default(), &row, &mut out, cancel)?;
    Ok(Some(out))
}

#[test]
fn work_ends_at_whichever_poll_cancels() {
    for file in [
        "xgboost/2.1.4/multi_softprob.json",
        "xgboost/3.4.1/binary_logistic.ubj",
        "xgboost/2.1.4/count_poisson.bin",
        "lightgbm/4.0.0/categorical.txt",
        "catboost/1.2.10/cross_entropy.cbm",
        "catboost/1.2.10/depthwise.json",
        "onnx/1.20.0/boosting.onnx",
    ] {
        let bytes = golden_models::file(file);
        let polls = Cell::new(0);
        let expected = work(bytes, Cancel::unwinding(&|| polls.set(polls.get() + 1))).unwrap();
        assert!(polls.get() > 5, "{file}: {} polls", polls.get());
        for last in 0..polls.get() {
            let left = Cell::new(last);
            let stops = || {
                let now = left.get() == 0;
                left.set(left.get() - i32::from(!now));
                now
            };
            let error = work(bytes, Cancel::when(&stops)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{file}, poll {last}: {error}");
        }
        assert_eq!(work(bytes, Cancel::when(&|| false)).unwrap(), expected, "{file}");
    }
}
