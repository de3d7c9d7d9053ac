//! The trigger that keeps a column of a table equal to the prediction for the row, and a second column equal
//! to the number of the version that made it.
//!
//! It is a BEFORE trigger for each row: an UPDATE after the statement would write each row twice. Two triggers of
//! a table make a pair. One fires for inserts and has the two columns in its UPDATE OF list; the other fires for
//! all updates, since another trigger may change a feature that the statement does not.
//!
//! An update predicts only if the model reads another row than before, if one of the two columns is to change, or
//! if the row's score is of another version, or of none. So nobody can write another score, and setting the
//! version to NULL scores the row again. A score of another version goes with features that the present one may
//! not read.
//! Predictions use the privileges of the table's owner, as foreign keys do.

use std::cell::RefCell;
use std::collections::HashSet;

use pg_interface::call::{Arguments, CallState, Change};
use pg_interface::row_trigger::{self, Columns};
use pg_interface::signature::RowArgument;
use pg_interface::{Datum, Oid, report, session, unguarded};
use pgrx::pg_sys;

use crate::error::{Error, Result};
use crate::predictor::output::Output;
use crate::predictor::single_row::Predictor;
use crate::registry::Registry;
use crate::registry::scores::Maintained;

/// The functions whose results can be maintained, with their types.
pub(crate) const OUTPUTS: [(&str, Output, &str, Oid); 5] = [
    ("predict", Output::Value { function: "predict" }, "real", pg_sys::FLOAT4OID),
    ("predict_array", Output::Array, "real[]", pg_sys::FLOAT4ARRAYOID),
    ("predict_class", Output::Class, "text", pg_sys::TEXTOID),
    ("predict_margin", Output::Margin, "real[]", pg_sys::FLOAT4ARRAYOID),
    ("predict_proba", Output::Probabilities, "jsonb", pg_sys::JSONBOID),
];

/// The trigger, as one statement uses it.
#[derive(Default)]
pub(crate) struct ScoreTrigger {
    definition: Option<Definition>,
    rows: ScoredRows,
    warned: bool,
}

thread_local! {
    /// The start of the client's statement that warned last, and the tables and columns of which it did.
    static WARNED: RefCell<(i64, HashSet<(Oid, String)>)> = RefCell::default();
}

struct Definition {
    maintained: Maintained,
    output: Output,
    columns: Columns,
}

impl Definition {
    /// Reads the trigger's definition; `None` if the columns have been dropped.
    fn of(change: Change<'_>) -> Result<Option<Definition>> {
        let maintained = Maintained::read(&change.arguments()).ok_or(Error::NotScoreTrigger)?;
        let known = OUTPUTS.iter().find(|(name, ..)| *name == maintained.output);
        let (_, output, type_name, type_oid) = known.copied().ok_or(Error::NotScoreTrigger)?;
        let Some(columns) = change.columns() else { return Ok(None) };
        let expected = [(type_oid, type_name), (pg_sys::INT4OID, "integer")];
        for (column, (type_oid, expected)) in columns.into_iter().zip(expected) {
            if change.column_type(column) != type_oid {
                let column = change.column_name(column);
                return Err(Error::ScoreColumn { column, expected });
            }
        }
        Ok(Some(Definition { maintained, output, columns }))
    }
}

/// The trigger's function.
pub(crate) fn maintain(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let change = arguments.change().filter(|change| change.is_before_write());
    let change = change.ok_or(Error::NotScoreTrigger)?;
    // Updates are the sibling's.
    if change.is_update() && change.has_columns() {
        return Ok(change.unchanged());
    }
    let trigger = state.kept::<ScoreTrigger>();
    if trigger.definition.is_none() {
        trigger.definition = Definition::of(change)?;
    }
    let Some(definition) = &trigger.definition else { return Ok(change.unchanged()) };
    let [score, version] = definition.columns;
    let (rows, function) = (&mut trigger.rows, arguments.function());
    let written = session::with_rights_of(change.owner(), || {
        let is_kept =
            change.is_update() && !change.is_changed(score) && !change.is_changed(version);
        if is_kept && rows.is_scored(change, definition, function) {
            return Ok(None);
        }
        rows.score(change, definition, function).map(Some)
    });
    match written {
        Ok(None) => Ok(change.unchanged()),
        Ok(Some((score, version))) => {
            Ok(change.with_values(definition.columns, [Some(score), Some(version)]))
        }
        Err(error) if definition.maintained.fails => Err(error),
        Err(error) => {
            if !std::mem::replace(&mut trigger.warned, true) {
                warn(change, score, &error);
            }
            Ok(change.with_values(definition.columns, [None, None]))
        }
    }
}

/// Warns once per column and statement of the client, of which `refresh_scores` makes many, since other rows may
/// have the same error.
#[cold]
fn warn(change: Change<'_>, score: i32, error: &Error) {
    let column = change.column_name(score);
    let statement = unguarded::GetCurrentStatementStartTimestamp();
    let is_first = WARNED.with_borrow_mut(|(warned, columns)| {
        if std::mem::replace(warned, statement) != statement {
            columns.clear();
        }
        columns.insert((row_trigger::root_of(change.table()), column.clone()))
    });
    if !is_first {
        return;
    }
    let table = change.table_name();
    report::warning_with(
        &format!("column \"{column}\" of table \"{table}\" is NULL where a row cannot be scored"),
        &format!("The first error is: {}.", error.report().message),
        "The view pgboost_scores counts such rows, and refresh_scores tries them again.",
    );
}

/// The predictor of a table's rows, and the features that were read.
#[derive(Default)]
struct ScoredRows {
    predictor: Option<Predictor>,
    reference: String,
    new: Vec<f32>,
    old: Vec<f32>,
}

impl ScoredRows {
    /// Returns the predictor of the version that the statement sees.
    fn predictor(
        &mut self,
        change: Change<'_>,
        definition: &Definition,
        function: Oid,
    ) -> Result<&mut Predictor> {
        let kept = self.predictor.take_if(|kept| !kept.holds(&self.reference));
        kept.into_iter().for_each(Predictor::end);
        match &mut self.predictor {
            Some(predictor) => Ok(predictor),
            none => {
                let registry = Registry::of_function(function)?;
                self.reference = definition.maintained.reference(&registry)?;
                let row_type = change.row_type();
                let predictor = Predictor::begin_rows(row_type, &self.reference, function)?;
                let columns = change.all_columns().into_iter();
                let maintained: Vec<_> = columns.map(|column| change.column_name(column)).collect();
                require_written(change.table(), &predictor, &maintained)?;
                let length = predictor.image().row_length();
                self.new.resize(length, 0.0);
                self.old.resize(length, 0.0);
                Ok(none.insert(predictor))
            }
        }
    }

    /// Returns whether a row has the version's score, and the model reads the same features in it before and after
    /// an update.
    fn is_scored(&mut self, change: Change<'_>, definition: &Definition, function: Oid) -> bool {
        let [_, version] = definition.columns;
        let (Some(new), Some(version)) = (change.new_value(), change.new_value_of(version)) else {
            return false;
        };
        if self.predictor(change, definition, function).is_err() {
            return false;
        }
        let ScoredRows { predictor: Some(predictor), new: features, old, .. } = self else {
            return false;
        };
        if version.value() != Datum::from(predictor.version()).value() {
            return false;
        }
        let read = predictor
            .read_into(RowArgument(change.old_value()), old)
            .and_then(|()| predictor.read_into(RowArgument(new), features));
        let bits =
            |features: &[f32]| features.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        read.is_ok() && bits(old) == bits(features)
    }

    /// Returns the score of the new row, and the version.
    fn score(
        &mut self,
        change: Change<'_>,
        definition: &Definition,
        function: Oid,
    ) -> Result<(Datum, Datum)> {
        let row = change.new_value().ok_or(Error::NotScoreTrigger)?;
        self.predictor(change, definition, function)?;
        let ScoredRows { predictor: Some(predictor), new, .. } = self else {
            return Err(Error::NotScoreTrigger);
        };
        let score = score_of(predictor, definition.output, row, new)?;
        Ok((score, Datum::from(predictor.version())))
    }
}

impl Drop for ScoredRows {
    fn drop(&mut self) {
        self.predictor.take().into_iter().for_each(Predictor::end);
    }
}

/// Returns the score of a row; `features` has the length of the model's rows.
fn score_of(
    predictor: &mut Predictor,
    output: Output,
    row: Datum,
    features: &mut [f32],
) -> Result<Datum> {
    predictor.start_clock();
    predictor.read_into(RowArgument(row), features)?;
    let score = predictor
        .with_margins_of(features, |predictor, margins| output.of_row(predictor, margins))?;
    predictor.count_call();
    score
}

/// # Errors
/// [`Error::GeneratedFeature`], and [`Error::ScoreFeature`] for one that is among `maintained` columns.
fn require_written(table: Oid, predictor: &Predictor, maintained: &[String]) -> Result<()> {
    let image = predictor.image();
    for name in (0..image.num_features()).filter_map(|index| image.feature_name(index)) {
        if row_trigger::is_generated(table, name) {
            return Err(Error::GeneratedFeature { column: name.to_owned() });
        }
        if maintained.iter().any(|column| column == name) {
            return Err(Error::ScoreFeature { column: name.to_owned() });
        }
    }
    Ok(())
}

/// Raises unless a model can score the rows of a table, none of whose `maintained` columns it reads. `function`
/// is one of the extension's.
///
/// # Errors
/// Those of a prediction, apart from that of a row whose values are NULL.
pub(crate) fn require_scorable(
    table: Oid,
    reference: &str,
    output: Output,
    maintained: &[String],
    function: Oid,
) -> Result<()> {
    let row_type = row_trigger::row_type_of(table);
    let mut predictor = Predictor::begin_rows(row_type, reference, function)?;
    require_written(table, &predictor, maintained)?;
    let mut features = vec![0.0; predictor.image().row_length()];
    let row = row_trigger::null_row(row_type);
    match score_of(&mut predictor, output, row, &mut features) {
        Ok(_) | Err(Error::NullCategory { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
