//! `load_model`: stores a model file as a version, and deploys it by default.
//!
//! The bytes are parsed and checked before anything is stored, and compiled at once, so that the first prediction
//! of any connection finds the image.

use std::ops::Range;

use gbtrees::Limits;
use gbtrees::internals::{Categories, Ensemble, FeatureType, RealInput};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, array, call, fault, jsonb, report, session, varlena};
use pgrx::{AnyElement, Array, JsonB, pg_extern};

use super::{Answer, required, required_text};
use crate::cache::images;
use crate::error::{Error, Result};
use crate::features::by_name::feature_name;
use crate::guc;
use crate::registry::meaning::Ways;
use crate::registry::model::Model;
use crate::registry::reference::check_name;
use crate::registry::write::{NewVersion, deploy_new, store};
use crate::registry::{self, Registry};

/// Endings of the names of files that only Python can open.
const PICKLES: [&str; 4] = [".pkl", ".pickle", ".joblib", ".skops"];

/// The most bytes of a feature's name and of a label, which are parts of results and messages.
const MAX_NAME_BYTES: usize = 4_096;

struct LoadOptions {
    rounds: Rounds,
    categories: Option<AnyElement>,
    labels: Option<Vec<String>>,
    feature_names: Option<Vec<String>>,
    parameters: Option<AnyElement>,
    metrics: Option<AnyElement>,
    deploy: bool,
    real_input: String,
    allow_change: bool,
}

/// The rounds that predictions use.
#[derive(Clone, Copy)]
enum Rounds {
    All,
    First(usize),
    /// The rounds up to the file's best iteration.
    Best,
}

/// `load_model(model, file, labels, feature_names, params, metrics, rounds, best_iteration, categories,
/// deploy, real_input, allow_change) -> version`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_load_model_1_1(
    model: Option<&[u8]>,
    file: Option<AnyElement>,
    labels: Option<Array<'_, &[u8]>>,
    feature_names: Option<Array<'_, &[u8]>>,
    params: Option<AnyElement>,
    metrics: Option<AnyElement>,
    rounds: Option<i32>,
    best_iteration: Option<bool>,
    categories: Option<AnyElement>,
    deploy: Option<bool>,
    real_input: Option<&[u8]>,
    allow_change: Option<bool>,
    call: FunctionCallInfo,
) -> Answer<i32> {
    session::require_writable(c"load_model()");
    let name = check_name(required_text(model, "model")?)?;
    let limits = Limits::default().with_bytes(guc::max_model_bytes());
    if let Some(size) = file.as_ref().and_then(varlena::bytea_size) {
        limits.check_bytes(size).map_err(Error::from)?;
    }
    let file = file.as_ref().and_then(varlena::bytea_argument);
    let bytes = required(file, "file")?;
    let rounds = match (rounds, best_iteration.unwrap_or(false)) {
        (None, false) => Rounds::All,
        (Some(rounds), false) => {
            let least = Error::TooSmall { argument: "rounds", least: 1 };
            Rounds::First(usize::try_from(rounds).ok().filter(|rounds| *rounds > 0).ok_or(least)?)
        }
        (None, true) => Rounds::Best,
        (Some(_), true) => return Err(Error::RoundsTwice.into()),
    };
    for (argument, given) in [("params", &params), ("metrics", &metrics)] {
        if given.as_ref().is_some_and(|given| !jsonb::is_object(given)) {
            return Err(Error::ArgumentNotAnObject { argument }.into());
        }
    }
    let options = LoadOptions {
        rounds,
        categories,
        labels: names(labels, "label")?,
        feature_names: names(feature_names, "feature name")?,
        parameters: params,
        metrics,
        deploy: required(deploy, "deploy")?,
        real_input: required_text(real_input, "real_input")?.to_owned(),
        allow_change: required(allow_change, "allow_change")?,
    };
    let registry = Registry::of_function(call::called_function(call))?;
    Ok(report::with_reserve(|| load(&registry, name, bytes, &limits, options))?)
}

fn load(
    registry: &Registry,
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    mut options: LoadOptions,
) -> Result<i32> {
    let user = session::current_user();
    // Checked before the work, and again when the row is locked.
    require_owner_if_any(registry, name)?;
    if let Some(file_name) = file_name(bytes) {
        let is_pickle = PICKLES.iter().any(|ending| file_name.contains(ending));
        return Err(Error::FileName { is_pickle });
    }
    let cancel = gbtrees::Cancel::unwinding(&report::check_for_interrupts);
    let mut model = gbtrees::internals::parse(bytes, limits, cancel)?;
    fault::at("load: parsed");
    if let Some(feature_names) = options.feature_names.take() {
        model.set_feature_names(feature_names)?;
    }
    if let Some(categories) = options.categories.as_ref().and_then(jsonb::text) {
        let categories = varlena::utf8(&categories, "category")?;
        model.set_categories(gbtrees::internals::read_categories(categories, cancel)?)?;
    }
    model.set_real_input(real_input(&options.real_input)?);
    if options.categories.is_none() {
        check_codes(&model)?;
    }
    require_storable(&model)?;
    let present = Present::of(&model);
    keep_rounds(&mut model, name, options.rounds, &present)?;
    let labels = options.labels.as_deref().unwrap_or_default();
    require_short(model.feature_names(), "feature name")?;
    require_short(labels, "label")?;
    let lowered = gbtrees::internals::compile(&model, labels, cancel)?;
    let ways = if options.allow_change { Ways::Allowed } else { Ways::AllowOrStore };
    let deploy = options.deploy;
    let new = describe(name, bytes, &model, present, options);
    let (model, version) = store(registry, new, user)?;
    fault::at("load: stored");
    images::share_new(model, version, lowered)?;
    if deploy {
        deploy_new(model, version, user, ways)?;
    }
    Ok(version)
}

/// `check_storable(model) -> true`: raises the errors of `load_model` that depend on the name alone, for a
/// training that stores its model much later.
#[pg_extern(sql = false)]
fn pgboost_check_storable(model: Option<&[u8]>, call: FunctionCallInfo) -> Answer<bool> {
    let name = check_name(required_text(model, "model")?)?;
    let registry = Registry::of_function(call::called_function(call))?;
    require_owner_if_any(&registry, name)?;
    Ok(true)
}

/// Raises if the model exists and the current user does not own it.
fn require_owner_if_any(registry: &Registry, name: &str) -> Result<()> {
    match Model::find(registry, name, ReadSnapshot::Active) {
        Ok(model) => registry::require_owner(model, session::current_user()),
        Err(_) => Ok(()),
    }
}

/// The rounds in a file, before some are dropped.
struct Present {
    trees: usize,
    rounds: usize,
    /// The best number of rounds on the rows for evaluation, if the file has it.
    best_rounds: Option<usize>,
    depth: u32,
}

impl Present {
    fn of(model: &Ensemble) -> Self {
        let depth = model.trees().iter().map(gbtrees::internals::Tree::depth).max().unwrap_or(0);
        let rounds = model.num_rounds();
        let best_rounds = model.best_rounds().map(|best| best.min(rounds));
        Present { trees: model.trees().len(), rounds, best_rounds, depth }
    }
}

/// Drops the unused rounds. Warns a caller who has not chosen them if the library's own wrapper would use others:
/// CatBoost's uses all rounds of a file, XGBoost's those up to the best one.
fn keep_rounds(model: &mut Ensemble, name: &str, rounds: Rounds, file: &Present) -> Result<()> {
    let present = file.rounds;
    let rounds = match (rounds, file.best_rounds) {
        (Rounds::First(rounds), _) => rounds,
        (Rounds::Best, Some(best)) => best,
        (Rounds::Best, None) => return Err(Error::NoBestIteration),
        (Rounds::All, Some(best)) if best < present && model.format().starts_with("xgboost") => {
            report::warning_with(
                &format!(
                    "early stopping found the first {best} of {present} rounds best, and model \
                     \"{name}\" uses all"
                ),
                "The file is of a training that stopped early. The predict of XGBClassifier and \
                 XGBRegressor uses the best rounds alone; that of Booster uses all.",
                &format!(
                    "Load it with rounds => {best} to use the best rounds alone, or with rounds => {present} to use \
                     all without this warning."
                ),
            );
            return Ok(());
        }
        (Rounds::All, _) => return Ok(()),
    };
    Ok(model.keep_rounds(rounds)?)
}

/// The releases of XGBoost whose boosters have their categories, and whose slices have not.
const CUT_SLICES: Range<[u32; 3]> = [3, 1, 0]..[3, 4, 0];

/// Raises for categorical features whose codes the file does not explain, where other files of the release do: the
/// training may have had other numbers as categories. Files of earlier releases always have codes, and those of
/// later ones have codes as categories, unless an earlier one wrote them first.
fn check_codes(model: &Ensemble) -> Result<()> {
    if !model.format().starts_with("xgboost") {
        return Ok(());
    }
    let features = model.feature_types().iter().zip(model.categories()).enumerate();
    let coded = features.filter(|(_, (kind, categories))| {
        **kind == FeatureType::Categorical && categories.is_none()
    });
    let names: Vec<String> = coded
        .map(|(index, _)| feature_name(model.feature_names().get(index).map(String::as_str), index))
        .collect();
    let Some(first) = names.first() else { return Ok(()) };
    let others = match names.len() - 1 {
        0 => String::new(),
        count => format!(" and of {count} more"),
    };
    if CUT_SLICES.contains(&model.version()) {
        return Err(Error::CategoriesMissing { feature: first.clone(), others });
    }
    report::notice_with(
        &format!(
            "the file has no categories of feature \"{first}\"{others}, so its numbers are codes"
        ),
        Some("XGBoost before release 3.1 leaves them out."),
        Some("If the training had others than the codes 0, 1 and so on, pass them as categories."),
    );
    Ok(())
}

/// Returns the bytes as a file's name, if they look like one: a short line with a slash or an ending.
fn file_name(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(1024))?).ok()?;
    let ending = text.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_ending = |ending: &str| {
        (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let is_name = bytes.len() < 1024
        && !text.trim_start().starts_with('{')
        && !text.contains(char::is_control)
        && (text.contains('/') || is_ending(ending));
    is_name.then_some(text)
}

/// Parses the argument `real_input`, the meaning of reals to a model that compares double precision.
fn real_input(name: &str) -> Result<RealInput> {
    RealInput::named(name).ok_or_else(|| Error::RealInput { given: name.to_owned() })
}

/// Raises unless the database can hold the texts of a model file.
fn require_storable(model: &Ensemble) -> Result<()> {
    for name in model.feature_names() {
        if name.is_empty() {
            return Err(Error::EmptyFeatureName);
        }
        varlena::require_representable(name, "feature name")?;
    }
    for (key, value) in model.attributes() {
        varlena::require_representable(key, "attribute")?;
        varlena::require_representable(value, "attribute")?;
    }
    for categories in model.categories().iter().flatten() {
        if let Categories::Text(values) = categories {
            for value in values {
                varlena::require_representable(value, "category")?;
            }
        }
    }
    Ok(())
}

/// Raises if a name is longer than any that a library gives.
fn require_short(names: &[String], what: &'static str) -> Result<()> {
    match names.iter().map(String::len).find(|bytes| *bytes > MAX_NAME_BYTES) {
        Some(bytes) => Err(Error::NameLength { what, bytes, limit: MAX_NAME_BYTES }),
        None => Ok(()),
    }
}

fn describe<'a>(
    name: &'a str,
    bytes: &'a [u8],
    model: &'a Ensemble,
    present: Present,
    options: LoadOptions,
) -> NewVersion<'a> {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let [major, minor, patch] = model.version();
    let attributes = model
        .attributes()
        .iter()
        .map(|(key, value)| (key.clone(), serde_json::Value::from(value.as_str())))
        .collect::<serde_json::Map<_, _>>();
    let feature_names = model.feature_names();
    NewVersion {
        name,
        file: bytes,
        format: model.format(),
        library_version: (major > 0).then(|| format!("{major}.{minor}.{patch}")),
        objective: model.objective().name(),
        task: model.objective().task().name(),
        link: model.objective().transform().link(),
        real_input: options.real_input,
        array_categories: model.array_categories().name(),
        features: count(model.num_features()),
        outputs: count(model.num_outputs()),
        trees: count(present.trees),
        rounds: count(present.rounds),
        used_rounds: count(model.num_rounds()),
        best_rounds: present.best_rounds.map(count),
        depth: count(present.depth as usize),
        feature_names: (!feature_names.is_empty()).then(|| feature_names.to_vec()),
        labels: options.labels.or_else(|| {
            let own = model.class_labels();
            (!own.is_empty()).then(|| own.to_vec())
        }),
        categories: options.categories,
        attributes: JsonB(attributes.into()),
        parameters: options.parameters,
        metrics: options.metrics,
        deploy: options.deploy,
    }
}

/// Returns the elements of a text[] argument, which must have one dimension and no NULL.
fn names(given: Option<Array<'_, &[u8]>>, what: &'static str) -> Result<Option<Vec<String>>> {
    let Some(given) = given else { return Ok(None) };
    let names = given.iter().map(|name| Ok(required_text(name, what)?.to_owned()));
    let names = names.collect::<Result<_>>()?;
    match array::dimensions(given) {
        1 => Ok(Some(names)),
        other => Err(Error::Dimensions { what, given: other }),
    }
}
