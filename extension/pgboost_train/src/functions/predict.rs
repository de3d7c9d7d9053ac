//! `xgboost_predict`: a registered model's prediction by libxgboost itself.
//!
//! It is what pgboost's own predictions can be checked against, and what their speed can be compared
//! with. A statement looks the model up once; the booster stays with the backend.

use std::rc::Rc;

use pg_interface::call;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{pg_extern, pg_sys};
use xgboost_ffi::Output;

use crate::error::{Error, Result};
use crate::xgboost::cached::CachedBooster;

/// What a statement keeps from call to call.
struct Statement {
    model: String,
    registered: Rc<CachedBooster>,
    features: Vec<f32>,
}

impl Statement {
    fn begin(model: &str) -> Result<Statement> {
        let registered = CachedBooster::find(model)?;
        Ok(Statement { model: model.to_owned(), registered, features: Vec::new() })
    }

    fn predict(&mut self, features: &[Option<f32>]) -> Result<f32> {
        let expected = self.registered.model.num_features();
        if features.len() != expected {
            let (model, given) = (self.model.clone(), features.len());
            return Err(Error::FeatureCount { model, expected, given });
        }
        self.features.clear();
        self.features.extend(features.iter().map(|value| value.unwrap_or(f32::NAN)));
        match *self.registered.predict(&self.features, Output::Value)? {
            [value] => Ok(value),
            _ => {
                Err(Error::SeveralValues { model: self.model.clone(), function: "xgboost_predict" })
            }
        }
    }
}

/// `xgboost_predict(model, features) -> real`
#[pg_extern(sql = false)]
fn pgboost_xgboost_predict(
    model: Option<&str>,
    features: Option<Vec<Option<f32>>>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<Option<f32>, ErrorReport> {
    let (Some(model), Some(features)) = (model, features) else {
        return Ok(None);
    };
    let state = call::kept(call, || Statement::begin(model))?;
    if state.model != model {
        *state = Statement::begin(model)?;
    }
    Ok(Some(state.predict(&features)?))
}
