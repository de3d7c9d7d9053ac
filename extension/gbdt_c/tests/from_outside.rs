//! The library as a C program uses it: by pointers alone.

#![allow(unsafe_code, reason = "calls a C library")]

use std::ffi::{CStr, c_char};
use std::ptr;

use gbdt_c::{Model, gbdt_close, gbdt_open, gbdt_predict};

// Below 1.5 it is 2 - 0.25, else 2 + 0.75; a missing value goes right.
const ONE_SPLIT: &str = r#"{
  "version": [3, 4, 1],
  "learner": {
    "objective": {"name": "reg:squarederror"},
    "learner_model_param": {"base_score": "2", "num_class": "0", "num_feature": "1"},
    "gradient_booster": {"name": "gbtree", "model": {
      "gbtree_model_param": {"num_trees": "1"},
      "tree_info": [0],
      "trees": [{
        "tree_param": {"num_nodes": "3"},
        "left_children": [1, -1, -1], "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0], "split_conditions": [1.5, -0.25, 0.75],
        "default_left": [0, 0, 0], "loss_changes": [1, 0, 0], "sum_hessian": [8, 4, 4]
      }]
    }}
  }
}"#;

fn open(bytes: &[u8], error: &mut [c_char]) -> *mut Model {
    // SAFETY: both lengths are those of the slices.
    unsafe { gbdt_open(bytes.as_ptr().cast(), bytes.len(), error.as_mut_ptr(), error.len()) }
}

#[test]
fn a_model_is_opened_asked_and_closed() {
    let model = open(ONE_SPLIT.as_bytes(), &mut [0; 64]);
    assert!(!model.is_null());
    for (feature, expected) in [(1.0f32, 1.75f32), (1.5, 2.75), (f32::NAN, 2.75)] {
        let mut value = 0.0;
        // SAFETY: one feature is handed over, and there is room for one value.
        assert_eq!(unsafe { gbdt_predict(model, &feature, 1, &mut value) }, 0);
        assert_eq!(value, expected);
    }
    // SAFETY: it was opened here.
    unsafe { gbdt_close(model) };
}

#[test]
fn a_row_of_another_width_is_refused() {
    let model = open(ONE_SPLIT.as_bytes(), &mut [0; 64]);
    let (features, mut value) = ([1.0f32, 2.0], 7.0f32);
    // SAFETY: as many numbers are there as it is told.
    assert_eq!(unsafe { gbdt_predict(model, features.as_ptr(), 2, &mut value) }, -1);
    assert_eq!(value, 7.0);
    // SAFETY: it was opened here.
    unsafe { gbdt_close(model) };
}

#[test]
fn what_is_no_model_is_refused_with_a_reason_that_fits() {
    let mut error = [1; 12];
    assert!(open(b"no model", &mut error).is_null());
    // SAFETY: it is ended by a zero, or the library has a fault.
    let said = unsafe { CStr::from_ptr(error.as_ptr()) }.to_bytes();
    assert_eq!(said.len(), 11);
}

#[test]
fn pointers_to_nothing_are_refused() {
    let mut error = [0; 64];
    // SAFETY: a null pointer is what is tried.
    let model = unsafe { gbdt_open(ptr::null(), 0, error.as_mut_ptr(), error.len()) };
    assert!(model.is_null());
    // SAFETY: the same.
    assert_eq!(unsafe { gbdt_predict(model, ptr::null(), 0, ptr::null_mut()) }, -1);
    // SAFETY: the same.
    unsafe { gbdt_close(model) };
}
