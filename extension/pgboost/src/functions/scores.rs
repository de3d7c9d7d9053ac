//! `maintain_scores`: columns of a table with the scores of its rows, which triggers keep; and the count of those of
//! another version, for the view `pgboost_scores`.

use pg_interface::catalog::{self, quoted, quoted_literal, quoted_schema};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, Oid, call, report, row_trigger, session};
use pgrx::{pg_extern, pg_sys};
use row_source::names::{MAX_BYTES, cut};

use super::{Answer, optional_text, required, required_text};
use crate::error::{Error, Result};
use crate::registry::model::Model;
use crate::registry::predict_functions::{ask, run};
use crate::registry::reference::{Reference, Wanted};
use crate::registry::scores::{self, Maintained, TRIGGER_FUNCTION};
use crate::registry::{self, Registry, lookup};
use crate::score_trigger::{self, OUTPUTS};

/// `maintain_scores(relation, model, score_column, version_column, output, on_error, replicated)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_maintain_scores(
    relation: Option<Oid>,
    model: Option<&[u8]>,
    score_column: Option<&[u8]>,
    version_column: Option<&[u8]>,
    output: Option<&[u8]>,
    on_error: Option<&[u8]>,
    replicated: Option<bool>,
    call: FunctionCallInfo,
) -> Answer<()> {
    session::require_writable(c"maintain_scores()");
    let table = ScoredTable::owned(required(relation, "relation")?)?;
    let reference = required_text(model, "model")?;
    // PostgreSQL cuts names too.
    let score = cut(required_text(score_column, "score_column")?, MAX_BYTES);
    let version = optional_text(version_column, "version_column")?;
    let version =
        version.map_or_else(|| suffixed(score, "_version"), |name| cut(name, MAX_BYTES).to_owned());
    if version == score {
        return Err(Error::SameColumn { column: version }.into());
    }
    let asked = required_text(output, "output")?;
    let (output, kind, score_type, type_oid) = OUTPUTS
        .into_iter()
        .find(|(name, ..)| *name == asked)
        .ok_or_else(|| Error::ScoreOutput { output: asked.to_owned() })?;
    let fails = match required_text(on_error, "on_error")? {
        "null" => false,
        "error" => true,
        value => return Err(Error::OnError { value: value.to_owned() }.into()),
    };
    let function = call::called_function(call);
    let registry = Registry::of_function(function)?;
    let Reference { name, wanted } = Reference::parse(reference)?;
    let model = Model::find(&registry, name, ReadSnapshot::Active)?;
    registry::require_predict(model, table.owner)?;
    scores::keep(model)?;
    lookup::wanted_version(model, wanted, ReadSnapshot::Active)?;
    let mut columns = scores::columns(&registry, table.oid)?;
    let taken = columns.clone();
    columns.extend([score.to_owned(), version.clone()]);
    session::with_rights_of(table.owner, || {
        score_trigger::require_scorable(table.oid, reference, kind, &columns, function)
    })?;
    let wanted = match wanted {
        Wanted::Deployed => String::new(),
        Wanted::Version(number) => number.to_string(),
        Wanted::Alias(alias) => alias.to_owned(),
    };
    let maintained = Maintained { model: model.id, output: output.to_owned(), fails, wanted };
    if scores::exists(&registry, table.oid, &maintained)? {
        let table = table.name.into();
        return Err(Error::ScoreExists { table, name: name.to_owned() }.into());
    }
    table.require_free(&registry, [score, &version], &taken)?;
    table.require_column(score, type_oid, score_type)?;
    table.require_column(&version, pg_sys::INT4OID, "integer")?;
    table.require_scores(score, &version)?;
    table.create_triggers(
        &registry,
        [score, &version],
        &maintained,
        required(replicated, "replicated")?,
    )?;
    Ok(())
}

/// `pgboost_catalog.rows_behind(relation, version_column, version) -> bigint`
#[pg_extern(sql = false)]
fn pgboost_rows_behind(
    relation: Option<Oid>,
    version_column: Option<i16>,
    version: Option<i32>,
) -> Option<i64> {
    scores::rows_behind(relation?, version_column?, version)
}

/// `pgboost_require_commits()`: raises where `refresh_scores` could not commit.
#[pg_extern(sql = false)]
fn pgboost_require_commits(call: FunctionCallInfo) -> Answer<()> {
    if call::is_atomic(call) {
        return Err(Error::TransactionBlock.into());
    }
    Ok(())
}

struct ScoredTable {
    oid: Oid,
    owner: Oid,
    /// Qualified and quoted.
    name: String,
}

impl ScoredTable {
    /// Finds a table whose owner's privileges the current user has.
    fn owned(oid: Oid) -> Result<ScoredTable> {
        let name = catalog::quoted_relation(oid).unwrap_or_else(|| oid.to_u32().to_string());
        let owner = catalog::table_owner(oid).filter(|_| row_trigger::is_table(oid));
        let Some(owner) = owner else { return Err(Error::NotATable { relation: name.into() }) };
        if !session::has_rights_of(session::current_user(), owner) {
            return Err(Error::NotTableOwner { table: name.into() });
        }
        Ok(ScoredTable { oid, owner, name })
    }

    /// Raises if one of the columns belongs to another score, or is a feature of one.
    fn require_free(
        &self,
        registry: &Registry,
        columns: [&str; 2],
        taken: &[String],
    ) -> Result<()> {
        let features = scores::features(registry, self.oid)?;
        let is_in = |all: &[String], column: &str| all.iter().any(|one| one == column);
        for column in columns {
            if is_in(taken, column) {
                let table = self.name.clone().into();
                return Err(Error::ScoreTaken { table, column: column.to_owned() });
            }
            if is_in(&features, column) {
                return Err(Error::ScoreFeature { column: column.to_owned() });
            }
        }
        Ok(())
    }

    /// Adds a column, unless the table has one of that type.
    fn require_column(&self, column: &str, type_oid: Oid, expected: &'static str) -> Result<()> {
        match row_trigger::type_of_column(self.oid, column) {
            Some(_) if row_trigger::is_generated(self.oid, column) => {
                Err(Error::GeneratedScore { column: column.to_owned() })
            }
            Some(found) if found == type_oid => Ok(()),
            Some(_) => Err(Error::ScoreColumn { column: column.to_owned(), expected }),
            None => run(&format!(
                "ALTER TABLE {} ADD COLUMN {} {}",
                self.name,
                quoted(column),
                catalog::type_name(type_oid)
            )),
        }
    }

    /// Raises if a row has a score without a version, or the reverse: such values were written by others, and would be
    /// lost. Runs as the table's owner, whose indexes may have functions.
    fn require_scores(&self, score: &str, version: &str) -> Result<()> {
        let query = format!(
            "SELECT EXISTS (SELECT FROM {} WHERE ({} IS NULL) OPERATOR(pg_catalog.<>) ({} IS NULL))",
            self.name,
            quoted(score),
            quoted(version)
        );
        match session::as_untrusted(self.owner, || ask::<bool>(&query, &[]))? {
            Some(true) => Err(Error::NotScores {
                table: self.name.clone().into(),
                score: score.to_owned(),
                version: version.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Creates the pair of triggers. Their names are last in the order of names, in which triggers fire. The
    /// condition of the second always holds; by it the trigger goes with the columns, as the first does.
    fn create_triggers(
        &self,
        registry: &Registry,
        [score, version]: [&str; 2],
        maintained: &Maintained,
        replicated: bool,
    ) -> Result<()> {
        let arguments = maintained.arguments().map(|argument| quoted_literal(&argument)).join(", ");
        let function = format!("{}.{TRIGGER_FUNCTION}", quoted_schema(registry.functions));
        let (first, second) = (quoted(score), quoted(version));
        let is_known = |column| format!("(NEW.{column} IS NULL) IS NOT NULL");
        let condition = format!("WHEN ({} AND {})", is_known(&first), is_known(&second));
        let events = [
            ("", format!("INSERT OR UPDATE OF {first}, {second}"), ""),
            ("_update", "UPDATE".to_owned(), condition.as_str()),
        ];
        for (suffix, event, condition) in events {
            let trigger = quoted(&self.free_trigger(registry, score, suffix)?);
            run(&format!(
                "CREATE TRIGGER {trigger} BEFORE {event} ON {} FOR EACH ROW {condition} \
                 EXECUTE FUNCTION {function}({arguments})",
                self.name
            ))?;
            if replicated {
                run(&format!("ALTER TABLE {} ENABLE ALWAYS TRIGGER {trigger}", self.name))?;
            }
        }
        self.warn_of_later_triggers(registry, score)
    }

    /// Warns of a trigger that may change a feature after the score was made.
    fn warn_of_later_triggers(&self, registry: &Registry, score: &str) -> Result<()> {
        let own = trigger_name(score, "");
        if let Some(later) = scores::later_trigger(registry, self.oid, &own)? {
            report::warning_with(
                &format!(
                    "trigger \"{later}\" of table {} fires after the one that makes the score",
                    self.name
                ),
                "Triggers fire in the order of their names. A feature that it changes is not in the score.",
                &format!("Rename it, such that its name sorts before \"{own}\"."),
            );
        }
        Ok(())
    }

    /// Returns a trigger's name. That of another column may be in use: of a renamed one, or of one that begins alike.
    fn free_trigger(&self, registry: &Registry, column: &str, suffix: &str) -> Result<String> {
        let mut name = trigger_name(column, suffix);
        let mut number = 1;
        while scores::is_trigger(registry, self.oid, &name)? {
            number += 1;
            name = trigger_name(column, &format!("{suffix}_{number}"));
        }
        Ok(name)
    }
}

fn trigger_name(column: &str, suffix: &str) -> String {
    suffixed(&format!("zz_pgboost_{column}"), suffix)
}

/// Returns a name with a suffix, of which the name is cut if both are longer than PostgreSQL allows.
fn suffixed(name: &str, suffix: &str) -> String {
    format!("{}{suffix}", cut(name, MAX_BYTES - suffix.len()))
}
