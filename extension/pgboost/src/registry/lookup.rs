//! Reads versions and their contents for predictions.

use std::ffi::CStr;
use std::ops::ControlFlow;

use gbtrees::internals::{ArrayCategories, Ensemble, RealInput, has_levels};
use gbtrees::{ErrorKind, Limits};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::report::check_for_interrupts;
use pg_interface::scan::{Key, Row, rows};
use pg_interface::varlena::NewBytea;
use pgrx::AnyElement;

use super::model::{Model, ModelId};
use super::reference::Wanted;
use super::{Registry, model_file, query_jsonb};
use crate::error::{Error, Result};
use crate::guc::UnknownRule;

/// Returns the version of a model that a reference means.
pub(crate) fn wanted_version(
    model: Model<'_>,
    wanted: Wanted<'_>,
    snapshot: ReadSnapshot,
) -> Result<i32> {
    match wanted {
        Wanted::Deployed => model.deployed(),
        Wanted::Version(version) => Ok(version),
        Wanted::Alias(alias) => {
            aliased_version(model, alias, snapshot).ok_or_else(|| model.no_such_alias(alias))
        }
    }
}

fn aliased_version(model: Model<'_>, alias: &str, snapshot: ReadSnapshot) -> Option<i32> {
    let mut version = None;
    rows(model.registry.alias, &[model.id.key(), Key::Text(alias)], snapshot, |row| {
        version = row.integer(c"version");
        ControlFlow::Break(())
    });
    version
}

/// Finds an alias of a version, committed or made by this transaction.
pub(crate) fn alias_of(model: Model<'_>, version: i32) -> Option<String> {
    let mut alias = None;
    rows(model.registry.alias, &[model.id.key()], ReadSnapshot::Latest, |row| {
        if row.integer(c"version") == Some(version) {
            alias = row.text(c"alias");
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    alias
}

/// Finds a pinned version of a model: the given one, or any.
pub(crate) fn pinned_version(
    registry: &Registry,
    model: ModelId,
    version: Option<i32>,
) -> Option<i32> {
    let mut pinned = None;
    rows(registry.version, &[model.key()], ReadSnapshot::Latest, |row| {
        let number = row.integer(c"version");
        let asked = version.is_none() || version == number;
        if asked && row.boolean(c"pinned") == Some(true) {
            pinned = number;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    pinned
}

/// Returns whether a model has no other version, committed or written by this transaction.
pub(crate) fn is_only_version(model: Model<'_>, version: i32) -> bool {
    let (mut is_there, mut others) = (false, false);
    rows(model.registry.version, &[model.id.key()], ReadSnapshot::Latest, |row| {
        let found = row.integer(c"version") == Some(version);
        is_there |= found;
        others |= !found;
        ControlFlow::Continue(())
    });
    is_there && !others
}

pub(crate) struct Stored<'a> {
    pub(crate) registry: &'a Registry,
    model: Option<Model<'a>>,
    version: i32,
    snapshot: ReadSnapshot,
    row: &'a Row<'a>,
}

impl Stored<'_> {
    /// Returns the version's reference, for messages.
    pub(crate) fn reference(&self) -> String {
        format!("{}@{}", self.name(), self.version)
    }

    fn name(&self) -> String {
        self.model.map_or_else(String::new, |model| model.name.to_owned())
    }

    /// Returns the SHA-256 of the model's file.
    pub(crate) fn digest(&self) -> Result<&[u8]> {
        self.row.bytes(c"digest").ok_or_else(|| self.invalid("digest"))
    }

    /// Reads the model's file.
    ///
    /// # Errors
    /// [`Error::Registry`] if its digest is not that of the loaded file.
    pub(crate) fn file(&self) -> Result<NewBytea> {
        let size = self.row.integer(c"size").and_then(|size| usize::try_from(size).ok());
        let digest = self.digest()?;
        let read = |(size, model): (usize, Model<'_>)| {
            model_file::read(model, self.version, self.snapshot, size, digest)
        };
        size.zip(self.model).and_then(read).ok_or_else(|| self.invalid("model file"))
    }

    /// Returns the rule for unknown categories.
    pub(crate) fn unknown_rule(&self) -> UnknownRule {
        let policy = self.model.and_then(|model| model.unknown_category);
        policy.map_or(UnknownRule::Setting, |policy| {
            let format = self.row.text(c"format").unwrap_or_default();
            let attributes = self.row.jsonb(c"attributes");
            UnknownRule::Policy(policy.handling(&format, attributes.as_deref()))
        })
    }

    /// Returns an attribute of a tree ensemble, or `None` for files of other formats.
    pub(crate) fn ensemble_attribute(&self, key: &str) -> Option<String> {
        let format = self.row.text(c"format")?;
        let is_ensemble = format.starts_with("tree ensemble");
        is_ensemble.then(|| self.member(c"attributes", key)).flatten()
    }

    /// Returns whether the labels are texts in Python, though they look like numbers.
    pub(crate) fn has_text_labels(&self) -> bool {
        self.member(c"parameters", "label_type").as_deref() == Some("text")
    }

    /// Returns a text in a column of type jsonb.
    fn member(&self, column: &CStr, key: &str) -> Option<String> {
        let object: serde_json::Value = serde_json::from_str(&self.row.jsonb(column)?).ok()?;
        object.get(key)?.as_str().map(str::to_owned)
    }

    /// Returns the library's name of the objective.
    pub(crate) fn objective(&self) -> Result<String> {
        self.row.text(c"objective").ok_or_else(|| self.invalid("objective"))
    }

    /// Returns the library's name of what the model estimates: a tree ensemble's objective is a model's class, and
    /// its attributes may have the loss.
    pub(crate) fn loss(&self) -> Result<String> {
        self.ensemble_attribute("loss").map_or_else(|| self.objective(), Ok)
    }

    /// Returns the quantiles or expectiles that the outputs of an objective are, if the file has them.
    pub(crate) fn levels(&self, objective: &str) -> Result<Vec<f32>> {
        match self.ensemble_attribute("level") {
            Some(levels) => {
                let levels = levels.split(',').map(str::parse::<f32>);
                Ok(levels.collect::<std::result::Result<_, _>>().unwrap_or_default())
            }
            None if has_levels(objective) => {
                self.model().map(|model| model.objective().levels().to_vec())
            }
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn feature_names(&self) -> Vec<String> {
        self.row.texts(c"feature_names").unwrap_or_default()
    }

    pub(crate) fn labels(&self) -> Vec<String> {
        self.row.texts(c"labels").unwrap_or_default()
    }

    /// Returns the meaning of reals to the model.
    pub(crate) fn real_input(&self) -> Result<RealInput> {
        let name = self.row.text(c"real_input");
        name.and_then(|name| RealInput::named(&name)).ok_or_else(|| self.invalid("real_input"))
    }

    /// Returns the meaning of an array's numbers for categories that are numbers.
    pub(crate) fn array_categories(&self) -> Result<ArrayCategories> {
        let name = self.row.text(c"array_categories");
        name.and_then(|name| ArrayCategories::named(&name))
            .ok_or_else(|| self.invalid("array_categories"))
    }

    pub(crate) fn task(&self) -> String {
        self.row.text(c"task").unwrap_or_default()
    }

    pub(crate) fn link(&self) -> String {
        self.row.text(c"link").unwrap_or_default()
    }

    pub(crate) fn outputs(&self) -> i32 {
        self.row.integer(c"outputs").unwrap_or_default()
    }

    /// Returns the number of rounds that predictions use.
    pub(crate) fn used_rounds(&self) -> Result<usize> {
        let used = self.row.integer(c"used_rounds").and_then(|used| usize::try_from(used).ok());
        used.ok_or_else(|| self.invalid("number of rounds"))
    }

    /// Returns whether `predict_pinned` may use it.
    pub(crate) fn is_pinned(&self) -> bool {
        self.row.boolean(c"pinned") == Some(true)
    }

    /// Returns the categories that were passed with the file, as JSON.
    pub(crate) fn categories(&self) -> Option<String> {
        self.row.jsonb(c"categories")
    }

    /// Parses and checks the model again, and sets the names that were passed with it.
    pub(crate) fn model(&self) -> Result<Ensemble> {
        self.parse().map_err(|error| match error {
            Error::Engine { error } if error.kind() != ErrorKind::OutOfMemory => {
                self.invalid("model file")
            }
            other => other,
        })
    }

    fn parse(&self) -> Result<Ensemble> {
        // A stored model was within the limit when it was loaded, and stays usable if the limit is
        // lowered.
        let limits = Limits::default().with_bytes(usize::MAX);
        let file = self.file()?;
        let cancel = gbtrees::Cancel::unwinding(&check_for_interrupts);
        let mut model = gbtrees::internals::parse(file.as_slice(), &limits, cancel)?;
        let feature_names = self.feature_names();
        if !feature_names.is_empty() {
            model.set_feature_names(feature_names)?;
        }
        if let Some(categories) = self.categories() {
            model.set_categories(gbtrees::internals::read_categories(&categories, cancel)?)?;
        }
        if self.used_rounds()? < model.num_rounds() {
            model.keep_rounds(self.used_rounds()?)?;
        }
        model.set_real_input(self.real_input()?);
        model.set_array_categories(self.array_categories()?);
        Ok(model)
    }

    fn invalid(&self, what: &'static str) -> Error {
        Error::Registry { name: self.name(), what }
    }
}

pub(crate) fn with_version<T>(
    model: Model<'_>,
    version: i32,
    snapshot: ReadSnapshot,
    read: impl FnOnce(&Stored<'_>) -> Result<T>,
) -> Result<T> {
    let mut result = Err(model.no_such_version(version));
    let mut read = Some(read);
    rows(model.registry.version, &[model.id.key(), Key::Integer(version)], snapshot, |row| {
        if let Some(read) = read.take() {
            result = read(&Stored {
                registry: &model.registry,
                model: Some(model),
                version,
                snapshot,
                row,
            });
        }
        ControlFlow::Break(())
    });
    result
}

/// Calls the closure with every version of one model or of all, committed or written by this transaction. The
/// closure may read the version's row alone.
pub(crate) fn each_version(
    registry: &Registry,
    model: Option<ModelId>,
    mut visit: impl FnMut(&Stored<'_>),
) {
    let keys = model.map(ModelId::key);
    let snapshot = ReadSnapshot::Latest;
    rows(registry.version, keys.as_slice(), snapshot, |row| {
        visit(&Stored { registry, model: None, version: 0, snapshot, row });
        ControlFlow::Continue(())
    });
}

/// Describes a version as a jsonb object, without the bytes, and unless `shows_values`, without values of the
/// training data.
pub(crate) fn describe(model: Model<'_>, version: i32, shows_values: bool) -> Result<AnyElement> {
    query_jsonb(
        &model.registry,
        "SELECT pg_catalog.jsonb_build_object('name', m.name, 'version', v.version, \
         'deployed', COALESCE(v.version = m.deployed, false), \
         'owner', pgboost_catalog.owner(m.id)::text, \
         'unknown_category', pg_catalog.to_jsonb(m) -> 'unknown_category', \
         'format', v.format, 'library_version', v.library_version, 'objective', v.objective, \
         'task', v.task, 'link', v.link, 'real_input', v.real_input, \
         'array_categories', v.array_categories, \
         'features', v.features, 'outputs', v.outputs, 'trees', v.trees, 'rounds', v.rounds, \
         'used_rounds', v.used_rounds, 'best_rounds', v.best_rounds, \
         'feature_names', CASE WHEN v.feature_names IS NULL THEN '[]' \
         ELSE pg_catalog.to_jsonb(v.feature_names) END, 'categories', CASE WHEN $3 THEN v.categories END, \
         'depth', v.depth, 'labels', v.labels, 'size', v.size, \
         'sha256', pg_catalog.encode(v.digest, 'hex'), 'attributes', CASE WHEN $3 THEN v.attributes END, \
         'parameters', v.parameters, 'metrics', v.metrics, 'loaded_by', v.loaded_by, \
         'loaded_at', v.loaded_at, 'deployed_at', v.deployed_at, \
         'comment', v.comment, 'model_comment', m.comment) FROM pgboost_catalog.version AS v \
         JOIN pgboost_catalog.model AS m ON m.id = v.model \
         WHERE v.model = $1 AND v.version = $2",
        &[model.id.into(), version.into(), shows_values.into()],
    )?
    .ok_or_else(|| model.no_such_version(version))
}
