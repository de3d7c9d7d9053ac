//! Statements before a script creates functions, and the script that drops them.
//!
//! Only functions with the comment of an export of the same model that belong to the current role are replaced or
//! dropped. Any other function of the same names stops the script: `CREATE OR REPLACE` would leave it to its owner,
//! an overload may be what calls find, and `churn_margin` may be a model as well as the margin of another.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::quote::{body, identifier, literal};

/// The hexadecimal digits of a generation.
pub(super) const GENERATION_DIGITS: usize = 8;

/// Returns the first words of the comment on each function of a model, by which a later script knows its own.
pub(super) fn mark(model: &str) -> String {
    format!("gbtrees: {model}: ")
}

/// The settings of a script's transaction.
pub(super) const SETTINGS: &str = "SET LOCAL search_path = pg_catalog, pg_temp;\n\
     SET LOCAL check_function_bodies = on;\n";

/// A function that is kept if it is there with the same types, so that it keeps its privileges.
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) mark: String,
    pub(super) types: Vec<&'static str>,
    /// Empty if the arguments have no names.
    pub(super) names: Vec<String>,
    pub(super) returns: String,
}

/// Returns the numbers of types in `pg_type`, which never change.
fn oid(type_name: &str) -> u32 {
    match type_name {
        "float4" => 700,
        "float8" => 701,
        "float4[]" => 1021,
        "float8[]" => 1022,
        "int8" => 20,
        "int4" => 23,
        "text" => 25,
        "jsonb" => 3802,
        "record" => 2249,
        "bytea" => 17,
        "numeric" => 1700,
        _ => 0,
    }
}

/// Writes a result as `pg_get_function_result` does.
fn shown(returns: &str) -> String {
    [("float4", "real"), ("float8", "double precision"), ("int8", "bigint"), ("int4", "integer")]
        .iter()
        .fold(returns.to_owned(), |shown, (name, other)| shown.replace(name, other))
}

impl Kept {
    fn row(&self) -> String {
        let types: Vec<String> = self.types.iter().map(|name| oid(name).to_string()).collect();
        let names: Vec<String> = self.names.iter().map(|name| literal(name)).collect();
        let names = match names.as_slice() {
            [] => "NULL::text[]".to_owned(),
            names => format!("ARRAY[{}]", names.join(", ")),
        };
        let name = literal(&self.name);
        format!("({name}, '{}', {names}, '{}')", types.join(" "), shown(&self.returns))
    }
}

/// Returns the statement that stops at functions of others, and drops own ones with other types than are to
/// be created.
pub(super) fn guard(schema: &str, kept: &[Kept]) -> String {
    let rows: Vec<String> = kept.iter().map(Kept::row).collect();
    let names = kept.iter().map(|kept| (kept.name.as_str(), kept.mark.as_str())).collect();
    let wanted = format!(
        "\n    IF NOT EXISTS (SELECT FROM (VALUES\n        {}\n      ) AS w(name, types, names, returns)\n      \
         WHERE w.name = f.proname AND w.types = f.proargtypes::text\n      AND w.names IS NOT DISTINCT FROM \
         f.proargnames AND w.returns = f.result)\n    THEN\n      EXECUTE format('DROP FUNCTION %s', \
         f.signature);\n    END IF;",
        rows.join(",\n        ")
    );
    statement(schema, names, &wanted)
}

/// Returns the script that drops functions of a mark by their names, and runs `others` before.
pub(super) fn drop_script(schema: &str, names: &[String], mark: &str, others: &str) -> String {
    let names = names.iter().map(|name| (name.as_str(), mark)).collect();
    let drop = "\n    EXECUTE format('DROP FUNCTION %s', f.signature);";
    format!("BEGIN;\n{SETTINGS}{others}{}COMMIT;\n", statement(schema, names, drop))
}

/// Returns the statement that drops the functions behind those of a model without a version. With a new generation
/// it leaves that one, and the one before, whose functions running statements may still call.
pub(super) fn drop_generations(schema: &str, model: &str, new: Option<&str>) -> String {
    let begin = format!("{model}_");
    let digits = begin.chars().count() + 1;
    let of_name = format!("substr(p.proname, {digits}, {GENERATION_DIGITS})");
    let unless_used = new.map(|new| {
        let rows = literal(&format!("{model}_rows"));
        format!(
            "\n      AND {of_name} <> '{new}' AND NOT EXISTS (SELECT FROM pg_proc r WHERE r.pronamespace = n.oid \
             AND r.proname = {rows}\n      AND strpos(r.prosrc, '_' || {of_name} || '_') > 0)"
        )
    });
    let code = format!(
        "\nDECLARE\n  f regprocedure;\nBEGIN\n  FOR f IN\n    SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = \
         p.pronamespace\n    WHERE n.nspname = {} AND starts_with(p.proname, {})\n      AND substr(p.proname, {digits}) ~ \
         '^[0-9a-f]{{{GENERATION_DIGITS}}}_' AND pg_get_userbyid(p.proowner) = current_user\n      AND \
         starts_with(obj_description(p.oid, 'pg_proc'), {}){}\n  LOOP\n    EXECUTE format('DROP FUNCTION %s', f);\n  \
         END LOOP;\nEND;\n",
        literal(schema),
        literal(&begin),
        literal(&mark(model)),
        unless_used.unwrap_or_default(),
    );
    format!("DO {};\n\n", body(&code))
}

/// Runs statements for each function of the names, which have marks.
fn statement(schema: &str, names: BTreeMap<&str, &str>, each: &str) -> String {
    let names = names.iter().map(|(name, mark)| format!("({}, {})", literal(name), literal(mark)));
    let mut code = String::from("\nDECLARE\n  f record;\nBEGIN\n");
    let _ = write!(
        code,
        "  FOR f IN\n    SELECT p.oid::regprocedure AS signature, p.proname, p.proargtypes, p.proargnames, \
         pg_get_function_result(p.oid) AS result,\n      pg_get_userbyid(p.proowner) = current_user AND \
         coalesce(starts_with(obj_description(p.oid, 'pg_proc'), o.mark), false) AS is_own\n    FROM pg_proc p JOIN \
         pg_namespace n ON n.oid = p.pronamespace\n    JOIN (VALUES {}) AS o(name, mark) ON o.name = p.proname\n    \
         WHERE n.nspname = {}\n  LOOP\n    IF NOT f.is_own THEN\n      RAISE EXCEPTION 'function % is not one of an \
         export of this model by this role', f.signature\n        USING ERRCODE = '42723', HINT = 'Choose another \
         name or schema.';\n    END IF;{each}\n  END LOOP;\nEND;\n",
        names.collect::<Vec<_>>().join(", "),
        literal(schema),
    );
    format!("DO {};\n\n", body(&code))
}

/// Returns a name in a schema.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}
