//! The library as C programs use it: through pointers only.

#![allow(unsafe_code, reason = "calls a C library")]

use std::ffi::CStr;
use std::ptr;

use gbtrees_c::*;

// The second feature below 1.5 gives 2 - 0.25, otherwise 2 + 0.75; missing values go right.
const ONE_SPLIT: &str = r#"{
  "version": [3, 4, 1],
  "learner": {
    "feature_names": ["length", "width"],
    "objective": {"name": "reg:squarederror"},
    "learner_model_param": {"base_score": "2", "num_class": "0", "num_feature": "2"},
    "gradient_booster": {"name": "gbtree", "model": {
      "gbtree_model_param": {"num_trees": "1"},
      "tree_info": [0],
      "trees": [{
        "tree_param": {"num_nodes": "3"},
        "left_children": [1, -1, -1], "right_children": [2, -1, -1],
        "split_indices": [1, 0, 0], "split_conditions": [1.5, -0.25, 0.75],
        "default_left": [0, 0, 0], "loss_changes": [1, 0, 0], "sum_hessian": [8, 4, 4]
      }]
    }}
  }
}"#;

fn last_error() -> String {
    // SAFETY: the library returns a zero-terminated string.
    unsafe { CStr::from_ptr(gbtrees_last_error()) }.to_string_lossy().into_owned()
}

/// Calls `work` with a loaded model.
fn with_model(work: impl Fn(*mut LoadedModel)) {
    let mut model = ptr::null_mut();
    // SAFETY: the length is the text's, and `model` is writable.
    let code = unsafe { gbtrees_load(ONE_SPLIT.as_ptr().cast(), ONE_SPLIT.len(), &mut model) };
    assert_eq!(code, 0, "{}", last_error());
    work(model);
    // SAFETY: the model was loaded above.
    unsafe { gbtrees_free(model) };
}

#[test]
fn shapes_and_names_come_from_the_model() {
    with_model(|model| {
        // SAFETY: the model is loaded.
        unsafe {
            assert_eq!((gbtrees_num_features(model), gbtrees_num_outputs(model)), (2, 1));
            assert_eq!((gbtrees_num_trees(model), gbtrees_width(model, 1)), (1, 1));
            assert_eq!(gbtrees_width(model, 7), 0);
            assert_eq!(CStr::from_ptr(gbtrees_feature_name(model, 1)), c"width");
            assert!(gbtrees_feature_name(model, 2).is_null());
        }
    });
}

#[test]
fn rows_are_predicted_and_explained() {
    with_model(|model| {
        let mut predictor = ptr::null_mut();
        let rows = [0.0f32, 1.0, 0.0, 1.5, 0.0, f32::NAN];
        let doubles = rows.map(f64::from);
        let expected = [1.75, 2.75, 2.75];
        // SAFETY: the model is loaded, and all lengths are those of the arrays.
        unsafe {
            assert_eq!(gbtrees_predictor_new(model, &mut predictor), 0);
            let mut out = [0.0; 3];
            let code = gbtrees_predict_f32(predictor, rows.as_ptr(), 3, 2, 0, out.as_mut_ptr(), 3);
            assert_eq!((code, out), (0, expected), "{}", last_error());
            let mut out = [0.0; 3];
            let at = doubles.as_ptr();
            assert_eq!(gbtrees_predict_f64(predictor, at, 3, 2, 1, out.as_mut_ptr(), 3), 0);
            assert_eq!(out, expected);
            let (starts, columns, values) = ([0, 1, 2, 2], [1, 1], [1.0, 1.5]);
            let mut out = [0.0; 3];
            let code = gbtrees_predict_csr(
                predictor,
                starts.as_ptr(),
                3,
                columns.as_ptr(),
                values.as_ptr(),
                2,
                0,
                out.as_mut_ptr(),
                3,
            );
            assert_eq!((code, out), (0, expected), "{}", last_error());
            let mut shares = [0.0f32; 9];
            let code =
                gbtrees_contributions(predictor, rows.as_ptr(), 3, 2, shares.as_mut_ptr(), 9);
            assert_eq!(code, 0, "{}", last_error());
            assert_eq!(shares, [0.0, -0.5, 2.25, 0.0, 0.5, 2.25, 0.0, 0.5, 2.25]);
            gbtrees_predictor_free(predictor);
        }
    });
}

#[test]
fn wrong_lengths_and_outputs_are_refused_and_write_nothing() {
    with_model(|model| {
        let mut predictor = ptr::null_mut();
        let (rows, mut out) = ([0.0f32; 6], [7.0; 3]);
        // SAFETY: no more is said to be there than there is.
        unsafe {
            assert_eq!(gbtrees_predictor_new(model, &mut predictor), 0);
            let mut predict = |rows_count, columns, output, count| {
                let at = rows.as_ptr();
                let out = out.as_mut_ptr();
                gbtrees_predict_f32(predictor, at, rows_count, columns, output, out, count)
            };
            assert_eq!(predict(2, 3, 0, 2), 2);
            assert_eq!(last_error(), "there are 3 features, not 2");
            assert_eq!(predict(3, 2, 0, 2), 2);
            assert_eq!(predict(usize::MAX, 2, 0, 2), 2);
            assert_eq!(predict(3, 2, 9, 3), 1);
            assert_eq!(predict(3, 2, 2, 3), 4);
            assert_eq!(last_error(), "the model has no classes");
            gbtrees_predictor_free(predictor);
        }
        assert_eq!(out, [7.0; 3]);
    });
}

#[test]
fn files_of_other_kinds_are_refused_with_a_reason() {
    let mut model = ptr::null_mut();
    // SAFETY: the length is that of the text.
    let code = unsafe { gbtrees_load(c"no model".as_ptr().cast(), 8, &mut model) };
    assert_eq!(code, 3);
    assert!(last_error().contains("not a model"), "{}", last_error());
    assert!(model.is_null());
}

#[test]
fn null_pointers_are_refused() {
    // SAFETY: the functions accept null pointers.
    unsafe {
        assert_eq!(gbtrees_load(ptr::null(), 1, ptr::null_mut()), 1);
        assert_eq!(gbtrees_predictor_new(ptr::null(), ptr::null_mut()), 1);
        let (values, out) = (ptr::null(), ptr::null_mut());
        assert_eq!(gbtrees_predict_f32(ptr::null_mut(), values, 1, 1, 0, out, 1), 1);
        assert_eq!(gbtrees_num_features(ptr::null()), 0);
        gbtrees_free(ptr::null_mut());
        gbtrees_predictor_free(ptr::null_mut());
    }
}
