//! Functions that change a model or a version: `deploy_model`, `drop_model`, `set_alias`, `drop_alias`,
//! `pin_model`, `unpin_model`, `rename_model`, `set_model_owner`, `set_model_comment`, `grant_model`,
//! `revoke_model`, `rollback_model`, `set_unknown_category`; and `export_model`.

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::session::{PUBLIC, current_user, has_rights_of, role_by_name};
use pg_interface::{FunctionCallInfo, Oid, transaction};
use pgrx::{AnyElement, pg_extern};

use super::{Answer, OwnedVersion, optional_text, required, required_text, whole_model, writable};
use crate::cache::images;
use crate::error::{Error, Result};
use crate::registry::lookup;
use crate::registry::meaning::Ways;
use crate::registry::model::Model;
use crate::registry::reference::{Reference, Wanted, check_alias, check_name};
use crate::registry::{self, Privilege, deployment, pin, predict_functions, write};

/// `deploy_model(model, allow_change, comment)`, of `m@3` or `m@alias`
#[pg_extern(sql = false)]
fn pgboost_deploy_model_1_1(
    model: Option<&[u8]>,
    allow_change: Option<bool>,
    comment: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    if reference.wanted == Wanted::Deployed {
        return Err(Error::NeedsVersion { name: reference.name.to_owned() }.into());
    }
    let found = OwnedVersion::writable(call, c"deploy_model()", &reference)?;
    let ways = Ways::allowing(required(allow_change, "allow_change")?);
    let comment = optional_text(comment, "comment")?;
    Ok(write::deploy(found.model, found.version, ways, comment)?)
}

/// `rollback_model(model, allow_change, comment) -> integer`
#[pg_extern(sql = false)]
fn pgboost_rollback_model(
    model: Option<&[u8]>,
    allow_change: Option<bool>,
    comment: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<i32> {
    let model = writable(call, c"rollback_model()", whole_model(model)?)?;
    let ways = Ways::allowing(required(allow_change, "allow_change")?);
    Ok(deployment::roll_back(model, ways, optional_text(comment, "comment")?)?)
}

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

/// `set_model_comment(model, comment)`, of `m` the model's, of `m@3` or `m@alias` the version's
#[pg_extern(sql = false)]
fn pgboost_set_model_comment(
    model: Option<&[u8]>,
    comment: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let comment = optional_text(comment, "comment")?;
    if reference.wanted == Wanted::Deployed {
        let model = writable(call, c"set_model_comment()", reference.name)?;
        return Ok(write::set_comment(model, None, comment)?);
    }
    let found = OwnedVersion::writable(call, c"set_model_comment()", &reference)?;
    Ok(write::set_comment(found.model, Some(found.version), comment)?)
}

/// `drop_model(model)`, of `m@3` or `m@alias` a version, of `m` the model with all of them
#[pg_extern(sql = false)]
fn pgboost_drop_model(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    if reference.wanted == Wanted::Deployed {
        let model = writable(call, c"drop_model()", reference.name)?;
        return Ok(drop(model, None)?);
    }
    let found = OwnedVersion::writable(call, c"drop_model()", &reference)?;
    Ok(drop(found.model, Some(found.version))?)
}

fn drop(model: Model<'_>, version: Option<i32>) -> Result<()> {
    let mut unused = images::of_model(&model.registry, model.id);
    match version {
        Some(version) => write::drop_version(model, version)?,
        None => {
            registry::lock(model)?;
            for function in predict_functions::of_model(&model.registry, model.id)? {
                predict_functions::drop_function(model, &function)?;
            }
            write::drop_model(model)?;
        }
    }
    images::retain_unused(&model.registry, &mut unused);
    unused.keys().for_each(|image| transaction::remove_at_commit(image.path()));
    Ok(())
}

/// `set_alias(model, alias, allow_change)`
#[pg_extern(sql = false)]
fn pgboost_set_alias_1_1(
    model: Option<&[u8]>,
    alias: Option<&[u8]>,
    allow_change: Option<bool>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let alias = check_alias(required_text(alias, "alias")?)?;
    let found = OwnedVersion::writable(call, c"set_alias()", &reference)?;
    let ways = Ways::allowing(required(allow_change, "allow_change")?);
    Ok(write::set_alias(found.model, alias, found.version, ways)?)
}

/// `drop_alias(model)`, of `m@alias`
#[pg_extern(sql = false)]
fn pgboost_drop_alias(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<()> {
    let model = required_text(model, "model")?;
    let Reference { name, wanted: Wanted::Alias(alias) } = Reference::parse(model)? else {
        return Err(Error::NotAnAlias { reference: model.to_owned() }.into());
    };
    let model = writable(call, c"drop_alias()", name)?;
    Ok(write::drop_alias(model, alias)?)
}

/// `pin_model(model)`
#[pg_extern(sql = false)]
fn pgboost_pin_model(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let found = OwnedVersion::writable(call, c"pin_model()", &reference)?;
    Ok(pin::set(found.model, found.version)?)
}

/// `unpin_model(model)`
#[pg_extern(sql = false)]
fn pgboost_unpin_model(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<()> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let found = OwnedVersion::writable(call, c"unpin_model()", &reference)?;
    Ok(pin::remove(found.model, found.version)?)
}

/// `rename_model(model, new_name)`
#[pg_extern(sql = false)]
fn pgboost_rename_model(
    model: Option<&[u8]>,
    new_name: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let name = whole_model(model)?;
    let new_name = check_name(required_text(new_name, "new_name")?)?;
    let model = writable(call, c"rename_model()", name)?;
    Ok(write::rename(model, new_name)?)
}

/// `set_model_owner(model, role)`
#[pg_extern(sql = false)]
fn pgboost_set_model_owner(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let (name, role) = (whole_model(model)?, required_text(role, "role")?);
    let model = writable(call, c"set_model_owner()", name)?;
    let owner = role_by_name(role).ok_or_else(|| Error::NoSuchRole { role: role.to_owned() })?;
    if !has_rights_of(current_user(), owner) {
        return Err(Error::NotMember { role: role.to_owned() }.into());
    }
    Ok(write::set_owner(model, owner)?)
}

/// `grant_model(model, role, privilege)`
#[pg_extern(sql = false)]
fn pgboost_grant_model_1_1(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    privilege: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let (name, role) = (whole_model(model)?, role_or_public(role)?);
    let privilege = Privilege::named(required_text(privilege, "privilege")?)?;
    let model = writable(call, c"grant_model()", name)?;
    Ok(write::grant(model, role, privilege)?)
}

/// `revoke_model(model, role, privilege)`
#[pg_extern(sql = false)]
fn pgboost_revoke_model_1_1(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    privilege: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<()> {
    let (name, role) = (whole_model(model)?, role_or_public(role)?);
    let privilege = Privilege::named(required_text(privilege, "privilege")?)?;
    let model = writable(call, c"revoke_model()", name)?;
    Ok(write::revoke(model, role, privilege)?)
}

/// Finds a role by its name; `public`, which is not a valid name of a role, means everybody.
fn role_or_public(role: Option<&[u8]>) -> Result<Oid> {
    match required_text(role, "role")? {
        "public" => Ok(PUBLIC),
        role => role_by_name(role).ok_or_else(|| Error::NoSuchRole { role: role.to_owned() }),
    }
}

/// `export_model(model) -> bytea`
#[pg_extern(sql = false)]
fn pgboost_export_model(
    model: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Answer<Option<AnyElement>> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let OwnedVersion { model, version } = OwnedVersion::find(call, &reference)?;
    let file = lookup::with_version(model, version, ReadSnapshot::Active, |stored| stored.file())?;
    Ok(file.into_value())
}
