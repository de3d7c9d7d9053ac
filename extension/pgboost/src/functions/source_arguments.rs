//! The arguments that functions on a source of rows share.

use pg_interface::{FunctionCallInfo, call, varlena};
use pgrx::Array;

use super::required_text;
use crate::error::{Error, Result};
use crate::evaluation::predictions::SourcePredictor;
use crate::evaluation::rows::Request;
use crate::evaluation::target::Task;
use crate::registry::Registry;

/// The text arguments that evaluation functions share, as PostgreSQL passes them.
pub(crate) struct Texts<'a> {
    pub(crate) source: Option<&'a [u8]>,
    pub(crate) target: Option<&'a [u8]>,
    pub(crate) weight: Option<&'a [u8]>,
    pub(crate) by: Option<&'a [u8]>,
    pub(crate) group: Option<&'a [u8]>,
}

impl<'a> Texts<'a> {
    /// Checks the arguments, and returns the request.
    pub(crate) fn request(&self) -> Result<Request<'a>> {
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

/// Resolves the model that an argument names; also returns the registry.
pub(crate) fn predictor(
    model: Option<&[u8]>,
    argument: &'static str,
    call: FunctionCallInfo,
) -> Result<(SourcePredictor, Registry)> {
    let function = call::called_function(call);
    let predictor = SourcePredictor::new(required_text(model, argument)?, function)?;
    Ok((predictor, Registry::of_function(function)?))
}

pub(crate) fn levels(given: Option<Array<'_, f64>>) -> Result<Option<Vec<f64>>> {
    let Some(given) = given else { return Ok(None) };
    let levels: Option<Vec<f64>> = given.iter().collect();
    levels.map(Some).ok_or(Error::NullArgument { argument: "quantile level" })
}

/// Checks that a ranking has groups, and others have none; `hint` is for these.
pub(crate) fn check_groups(task: &Task, request: &Request<'_>, hint: &'static str) -> Result<()> {
    match (*task == Task::Ranking, request.group.is_some()) {
        (true, false) => Err(Error::EvaluationArgument {
            message: "a ranking needs groups",
            hint: "Name the column of the group with qid.",
        }),
        (false, true) => Err(Error::EvaluationArgument { message: "qid is for rankings", hint }),
        _ => Ok(()),
    }
}
