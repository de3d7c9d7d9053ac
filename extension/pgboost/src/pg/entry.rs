//! Entry points of the functions that run for every row, and of those that SQL cannot call.
//!
//! They are written for PostgreSQL's own calling convention, under symbols that stay the same over
//! releases, because a database upgraded by pg_upgrade looks up each of them. pgrx's guard turns a
//! Rust panic, and every error raised on the way, into an `ereport`.

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum};

use super::arguments::Arguments;
use super::invalidation;
use crate::api;
use crate::planner;

/// Defines a C function of that symbol, and the record that tells PostgreSQL its convention.
macro_rules! c_function {
    ($symbol:ident, $record:ident, $body:expr) => {
        #[doc = "Tells PostgreSQL how to call the function of the same name."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $record() -> &'static pg_sys::Pg_finfo_record {
            const RECORD: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
            &RECORD
        }

        #[doc = "Called by PostgreSQL."]
        #[unsafe(no_mangle)]
        #[pg_guard]
        pub unsafe extern "C-unwind" fn $symbol(call: pg_sys::FunctionCallInfo) -> Datum {
            // SAFETY: PostgreSQL passes a valid call.
            let arguments = unsafe { Arguments::new(call) };
            let body: fn(Arguments) -> crate::error::Result<Datum> = $body;
            body(arguments).unwrap_or_else(|error| super::report::raise(error))
        }
    };
}

c_function!(pgboost_predict, pg_finfo_pgboost_predict, api::predict::predict);
c_function!(pgboost_predict_array, pg_finfo_pgboost_predict_array, api::predict::predict_array);
c_function!(pgboost_predict_class, pg_finfo_pgboost_predict_class, api::predict::predict_class);
c_function!(pgboost_predict_margin, pg_finfo_pgboost_predict_margin, api::predict::predict_margin);
c_function!(pgboost_predict_leaf, pg_finfo_pgboost_predict_leaf, api::predict::predict_leaf);
c_function!(pgboost_predict_support, pg_finfo_pgboost_predict_support, support);
c_function!(pgboost_registry_changed, pg_finfo_pgboost_registry_changed, registry_changed);

/// The planner's questions about a prediction.
fn support(arguments: Arguments) -> crate::error::Result<Datum> {
    let Some(request) = arguments.get(0) else {
        return Ok(arguments.null());
    };
    let request: *mut pg_sys::Node = request.cast_mut_ptr();
    // SAFETY: PostgreSQL passes a node, whose tag says what it is; a cost request names the call.
    unsafe {
        if (*request).type_ != pg_sys::NodeTag::T_SupportRequestCost {
            return Ok(Datum::from(0));
        }
        let request: *mut pg_sys::SupportRequestCost = request.cast();
        let Some(model) = constant_text((*request).node) else {
            return Ok(Datum::from(0));
        };
        let Some(cost) = planner::cost::per_row(&model, (*request).funcid) else {
            return Ok(Datum::from(0));
        };
        (*request).startup = 0.0;
        (*request).per_tuple = cost * pg_sys::cpu_operator_cost;
        Ok(Datum::from(request))
    }
}

/// The first argument of a call, if it is a text constant.
///
/// # Safety
/// The node is valid or null.
unsafe fn constant_text(call: *mut pg_sys::Node) -> Option<String> {
    // SAFETY: the nodes are read by their tags.
    unsafe {
        if call.is_null() || (*call).type_ != pg_sys::NodeTag::T_FuncExpr {
            return None;
        }
        let list = (*call.cast::<pg_sys::FuncExpr>()).args;
        if list.is_null() || (*list).length < 1 {
            return None;
        }
        let node: *mut pg_sys::Node = (*(*list).elements).ptr_value.cast();
        if (*node).type_ != pg_sys::NodeTag::T_Const {
            return None;
        }
        let constant = node.cast::<pg_sys::Const>();
        if (*constant).constisnull || (*constant).consttype != pg_sys::TEXTOID {
            return None;
        }
        Some(super::varlena::text((*constant).constvalue).into_owned())
    }
}

/// The trigger on each of the registry's tables.
fn registry_changed(arguments: Arguments) -> crate::error::Result<Datum> {
    // SAFETY: a trigger's context is TriggerData; outside of one it is null or another node.
    unsafe {
        let trigger = arguments.trigger();
        if !trigger.is_null() {
            invalidation::announce((*(*trigger).tg_relation).rd_id);
        }
    }
    // The result of an AFTER trigger is ignored.
    Ok(Datum::from(0))
}

/// The SQL function that a call runs.
pub fn function(call: pg_sys::FunctionCallInfo) -> pg_sys::Oid {
    // SAFETY: pgrx passes on what PostgreSQL passed to it.
    unsafe { Arguments::new(call) }.function()
}
