//! `set_unknown_category`, the policy of a model for categories that it does not know.

use pg_interface::FunctionCallInfo;
use pgrx::pg_extern;

use super::{Answer, optional_text, whole_model, writable};
use crate::registry::write;

/// `set_unknown_category(model, policy)`
#[pg_extern(sql = false)]
fn pgboost_set_unknown_category(
    model: Option<&[u8]>,
    policy: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let name = whole_model(model)?;
    let policy = optional_text(policy, "policy")?;
    let model = writable(call, c"set_unknown_category()", name)?;
    Ok(write::set_unknown_category(model, policy)?)
}
