//! The arguments that the functions on the rows of a source share.

use pg_interface::{FunctionCallInfo, call, varlena};
use pgrx::Array;

use super::required_text;
use crate::error::{Error, Result};
use crate::evaluation::rows::Request;
use crate::predictor::source::SourcePredictor;
use crate::registry::Registry;

/// The text arguments that all functions of an evaluation share, as PostgreSQL passes them.
pub struct Texts<'a> {
    pub source: Option<&'a [u8]>,
    pub target: Option<&'a [u8]>,
    pub weight: Option<&'a [u8]>,
    pub by: Option<&'a [u8]>,
    pub group: Option<&'a [u8]>,
}

impl<'a> Texts<'a> {
    /// The request that they make.
    pub fn request(&self) -> Result<Request<'a>> {
        let column = |given: Option<&'a [u8]>| {
            given.map(|name| varlena::utf8(name, "column name")).transpose()
        };
        Ok(Request {
            source: required_text(self.source, "source")?,
            target: required_text(self.target, "target")?,
            weight: column(self.weight)?,
            by: column(self.by)?,
            group: column(self.group)?,
        })
    }
}

/// The model that an argument names, and the registry.
pub fn predictor(
    model: Option<&[u8]>,
    argument: &'static str,
    call: FunctionCallInfo,
) -> Result<(SourcePredictor, Registry)> {
    let function = call::called_function(call);
    let predictor = SourcePredictor::new(required_text(model, argument)?, function)?;
    Ok((predictor, Registry::of_function(function)?))
}

pub fn levels(given: Option<Array<'_, f64>>) -> Result<Option<Vec<f64>>> {
    let Some(given) = given else { return Ok(None) };
    let levels: Option<Vec<f64>> = given.iter().collect();
    levels.map(Some).ok_or(Error::NullArgument { argument: "quantile level" })
}
