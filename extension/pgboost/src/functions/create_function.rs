//! `create_predict_function`: an SQL function for one model, with its features as named arguments, or as one
//! jsonb object if they are more than 99.
//!
//! It is an ordinary function, created with the caller's privileges, whose body is one call of predict, so
//! PostgreSQL inlines it, and a query over many rows predicts in batches. The registry records the functions
//! of a model, for `drop_model`.

use gbtrees::internals::CategoryKind;
use pg_interface::catalog::{quoted, quoted_literal, quoted_schema};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, Oid, report, session};
use pgrx::pg_extern;

use super::{Answer, feature_name, optional_text, owned, required_text};
use crate::cache::{ModelImage, images};
use crate::error::{Error, Result};
use crate::registry::model::Model;
use crate::registry::reference::Reference;
use crate::registry::{self, Registry, lookup, predict_functions};

/// PostgreSQL's functions have at most 100 arguments, and the model's name is one of predict's.
const MAX_FEATURES: usize = 99;

/// The functions that it may call, with their return types.
const OUTPUTS: [(&str, &str); 4] = [
    ("predict", "pg_catalog.float4"),
    ("predict_array", "pg_catalog.float4[]"),
    ("predict_class", "pg_catalog.text"),
    ("predict_margin", "pg_catalog.float4[]"),
];

/// `create_predict_function(model, function, schema, output, replace) -> regprocedure`
#[pg_extern(sql = false)]
fn pgboost_create_predict_function(
    model: Option<&[u8]>,
    function: Option<&[u8]>,
    schema: Option<&[u8]>,
    output: Option<&[u8]>,
    replace: Option<bool>,
    call: FunctionCallInfo,
) -> Answer<Oid> {
    session::require_writable(c"create_predict_function()");
    let model = required_text(model, "model")?;
    let Reference { name, wanted } = Reference::parse(model)?;
    let found = owned(call, name)?;
    registry::lock(found)?;
    // Read again under the lock, since the statement's snapshot may be outdated.
    let found = Model::find(&found.registry, name, ReadSnapshot::Latest)?;
    let version = lookup::wanted_version(found, wanted, ReadSnapshot::Latest)?;
    let image = report::with_reserve(|| {
        lookup::with_version(found, version, ReadSnapshot::Latest, images::image_of)
    })?;
    let given =
        |text: Option<&[u8]>, what| Ok::<_, Error>(optional_text(text, what)?.map(str::to_owned));
    let function = Function {
        schema: given(schema, "schema")?.map_or_else(predict_functions::current_schema, Ok)?,
        name: given(function, "function")?.unwrap_or_else(|| name.to_owned()),
        arguments: arguments(image.model()),
        output: output_of(image.model(), given(output, "output")?)?,
    };
    Ok(create(model, found, &function, replace.unwrap_or(false))?)
}

struct Function {
    schema: String,
    name: String,
    /// Names and types.
    arguments: Vec<(String, &'static str)>,
    /// The function that it calls, with its return type.
    output: (&'static str, &'static str),
}

impl Function {
    fn qualified_name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// Returns the signature as a text that PostgreSQL reads as a regprocedure.
    fn signature(&self) -> String {
        let types: Vec<&str> = self.arguments.iter().map(|(_, type_name)| *type_name).collect();
        format!("{}({})", self.qualified_name(), types.join(","))
    }

    fn definition(&self, registry: &Registry, model: &str, replace: bool) -> String {
        let arguments: Vec<String> = self
            .arguments
            .iter()
            .map(|(name, type_name)| format!("{} {type_name} DEFAULT NULL", quoted(name)))
            .collect();
        let passed: String = (1..=arguments.len()).map(|number| format!(", ${number}")).collect();
        format!(
            "CREATE {}FUNCTION {}({}) RETURNS {} LANGUAGE sql STABLE PARALLEL SAFE \
             RETURN {}.{}({}::pg_catalog.text{passed})",
            if replace { "OR REPLACE " } else { "" },
            self.qualified_name(),
            arguments.join(", "),
            self.output.1,
            quoted_schema(registry.functions),
            self.output.0,
            quoted_literal(model),
        )
    }
}

fn create(reference: &str, model: Model<'_>, function: &Function, replace: bool) -> Result<Oid> {
    let registry = &model.registry;
    if !replace && predict_functions::exists(&function.schema, &function.name)? {
        return Err(Error::FunctionExists { function: function.name.clone() });
    }
    let (prefix, signature) = (format!("{}(", function.qualified_name()), function.signature());
    let names = function.arguments.iter().map(|(name, _)| name.clone()).collect();
    let is_same = predict_functions::has_arguments(registry, &signature, names)?;
    // If the model's features have changed, the previous function has another signature.
    for old in predict_functions::of_model(registry, model.id)? {
        if old.starts_with(&prefix) && !(is_same && old == signature) {
            predict_functions::drop_function(model, &old)?;
        }
    }
    predict_functions::run(&function.definition(registry, reference, replace))?;
    if !predict_functions::predicts_by(registry, &signature, function.output.0, model.name)? {
        return Err(Error::OtherFunction { function: function.output.0 });
    }
    let comment = format!("{} of model {reference}, by pgboost", function.output.0);
    predict_functions::run(&format!(
        "COMMENT ON FUNCTION {signature} IS {}",
        quoted_literal(&comment)
    ))?;
    predict_functions::record(model, &signature)
}

/// Returns the features, with the types that predict reads as the model was trained. For more features than a
/// function has arguments it is one jsonb object, or an array if they have no names.
fn arguments(image: &ModelImage) -> Vec<(String, &'static str)> {
    let features = image.num_features();
    if features > MAX_FEATURES {
        let named = image.feature_name(0).is_some();
        let type_name = if named { "pg_catalog.jsonb" } else { "pg_catalog.float8[]" };
        return vec![("features".to_owned(), type_name)];
    }
    let argument = |index| (feature_name(image.feature_name(index), index), type_of(image, index));
    (0..features).map(argument).collect()
}

/// Returns the type of a feature. Numbers are double precision, which drivers send and to which PostgreSQL
/// casts other numbers implicitly; predict rounds them to real, unless the model compares doubles.
fn type_of(image: &ModelImage, feature: usize) -> &'static str {
    match image.categories(feature).map(|categories| categories.kind()) {
        Some(CategoryKind::Text | CategoryKind::Hashed) => "pg_catalog.text",
        Some(CategoryKind::Integer) => "pg_catalog.int8",
        None if image.is_categorical(feature) => "pg_catalog.int4",
        Some(CategoryKind::Float) | None => "pg_catalog.float8",
    }
}

/// Returns the requested function, or by default the one that returns all values of a row.
fn output_of(image: &ModelImage, asked: Option<String>) -> Result<(&'static str, &'static str)> {
    let usual = if image.num_values() == 1 { "predict" } else { "predict_array" };
    let wanted = asked.unwrap_or_else(|| usual.to_owned());
    let known = OUTPUTS.iter().find(|(name, _)| *name == wanted);
    known.copied().ok_or(Error::OutputFunction { output: wanted })
}
