//! `rename_model` and `set_model_owner`, as ALTER ... RENAME TO and OWNER TO of a table.

use pg_interface::session::{current_user, has_rights_of, role_by_name};
use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::pg_extern;

use super::{required_text, whole_model, writable};
use crate::error::Error;
use crate::registry::reference::check_name;
use crate::registry::write;

/// `rename_model(model, new_name)`
#[pg_extern(sql = false)]
fn pgboost_rename_model(
    model: Option<&[u8]>,
    new_name: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let name = whole_model(model)?;
    let new_name = check_name(required_text(new_name, "new_name")?)?;
    Ok(write::rename(&writable(call, c"rename_model()", name)?, name, new_name)?)
}

/// `set_model_owner(model, role)`
#[pg_extern(sql = false)]
fn pgboost_set_model_owner(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let (name, role) = (whole_model(model)?, required_text(role, "role")?);
    let registry = writable(call, c"set_model_owner()", name)?;
    let owner = role_by_name(role).ok_or_else(|| Error::NoSuchRole { role: role.to_owned() })?;
    if !has_rights_of(current_user(), owner) {
        return Err(Error::NotMember { role: role.to_owned() }.into());
    }
    Ok(write::set_owner(&registry, name, owner)?)
}
