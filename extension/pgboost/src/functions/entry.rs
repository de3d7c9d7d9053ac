//! Entry points of the functions that are called for every row, and of triggers.
//!
//! They have PostgreSQL's calling convention, and symbols that stay the same over releases, because pg_upgrade
//! looks up each of them. pgrx's guard turns a Rust panic, and every error raised on the way, into an
//! `ereport`.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pg_interface::call::{Arguments, CallState};
use pg_interface::{Datum, FunctionCallInfo, fault, invalidation, report};
use pgrx::{pg_guard, pg_sys};

use super::aggregates::{self, ClassType};
use super::{explanations, predict};
use crate::error::Result;
use crate::evaluation::sums;
use crate::predictor::output::{Explanation, Output};
use crate::registry::{Registry, roles};
use crate::score_trigger;

/// Defines C functions, each with the record that declares its calling convention to PostgreSQL.
macro_rules! c_functions {
    ($($symbol:ident => $body:expr,)*) => {$(
        #[doc = "Called by PostgreSQL."]
        #[unsafe(no_mangle)]
        #[pg_guard]
        pub(crate) unsafe extern "C-unwind" fn $symbol(call: FunctionCallInfo) -> Datum {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($symbol)))]
            extern "C" fn record() -> &'static pg_sys::Pg_finfo_record {
                const RECORD: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
                &RECORD
            }
            fault::at(concat!("called: ", stringify!($symbol)));
            // SAFETY: PostgreSQL passes a valid call; this is its only state.
            let (arguments, state) = unsafe { (Arguments::new(call), CallState::new(call)) };
            let body: fn(Arguments<'_>, CallState<'_>) -> Result<Datum> = $body;
            body(arguments, state).unwrap_or_else(|error| report::raise(error))
        }
    )*};
}

pub(super) use c_functions;

c_functions! {
    pgboost_maintain_score => score_trigger::maintain,
    pgboost_predict =>
        |arguments, state| predict::predict(arguments, state, Output::Value { function: "predict" }),
    pgboost_predict_array => |arguments, state| predict::predict(arguments, state, Output::Array),
    pgboost_predict_class => |arguments, state| predict::predict(arguments, state, Output::Class),
    pgboost_predict_proba =>
        |arguments, state| predict::predict(arguments, state, Output::Probabilities),
    pgboost_predict_margin => |arguments, state| predict::predict(arguments, state, Output::Margin),
    pgboost_predict_from => predict::predict_from,
    pgboost_predict_pinned => predict::predict_pinned,
    pgboost_predict_batch => predict::predict_batch,
    pgboost_predict_leaf => predict::predict_leaf,
    pgboost_predict_contribs =>
        |arguments, state| explanations::explain(arguments, state, Explanation::Contributions),
    pgboost_predict_interactions =>
        |arguments, state| explanations::explain(arguments, state, Explanation::Interactions),
    pgboost_contribs_add => explanations::contribs_add,
    pgboost_contribs_combine => explanations::contribs_combine,
    pgboost_contribs_mean => explanations::contribs_mean,
    pgboost_error_add => aggregates::add_error,
    pgboost_error_combine => aggregates::combine_errors,
    pgboost_rmse => |arguments, _state| aggregates::of_errors(arguments, sums::rmse),
    pgboost_mse => |arguments, _state| aggregates::of_errors(arguments, sums::mse),
    pgboost_mae => |arguments, _state| aggregates::of_errors(arguments, sums::mae),
    pgboost_mape => |arguments, _state| aggregates::of_errors(arguments, sums::mape),
    pgboost_r2 => |arguments, _state| aggregates::of_errors(arguments, sums::r2),
    pgboost_probability_add =>
        |arguments, _state| aggregates::add_probability(arguments, ClassType::Number),
    pgboost_probability_add_boolean =>
        |arguments, _state| aggregates::add_probability(arguments, ClassType::Boolean),
    pgboost_probabilities_add => aggregates::add_probabilities,
    pgboost_class_add => aggregates::add_class,
    pgboost_mean_combine => aggregates::combine_means,
    pgboost_first_mean => |arguments, _state| aggregates::of_means(arguments, sums::first_mean),
    pgboost_second_mean => |arguments, _state| aggregates::of_means(arguments, sums::second_mean),
    pgboost_score_add => |arguments, _state| aggregates::add_score(arguments, ClassType::Number),
    pgboost_score_add_boolean =>
        |arguments, _state| aggregates::add_score(arguments, ClassType::Boolean),
    pgboost_auc => |arguments, _state| aggregates::of_ranked(arguments, |areas| areas.auc),
    pgboost_aucpr =>
        |arguments, _state| aggregates::of_ranked(arguments, |areas| areas.average_precision),
    pgboost_registry_changed => registry_changed,
    pgboost_privilege_changed => privilege_changed,
}

fn registry_changed(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    arguments.change().into_iter().for_each(|change| invalidation::announce(change.table()));
    // The result of an AFTER trigger is ignored.
    Ok(Datum::from(0))
}

fn privilege_changed(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    let Some(change) = arguments.change() else { return Ok(Datum::from(0)) };
    let registry = Registry::of_function(arguments.function())?;
    if change.is_before() {
        change.new_role(c"role").map_or(Ok(()), |role| roles::name(&registry, role))?;
        return Ok(change.unchanged());
    }
    let old = change.old_role(c"role").filter(|role| change.new_role(c"role") != Some(*role));
    old.into_iter().for_each(|role| roles::unname(&registry, role));
    Ok(Datum::from(0))
}
