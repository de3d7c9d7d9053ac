//! The checked model.
//!
//! Only `build::Builder` makes an [`Ensemble`], from a reader's findings. Later stages rely on
//! everything documented at its fields without checking again. Its terms are those of any library; node
//! ids, tree order and the bits of all numbers are the file's, since results depend on all three.

mod build;
mod categories;
pub(crate) mod city_hash;
pub(crate) mod ctr;
pub(crate) mod linear;
mod objective;
pub(crate) mod quantity;
mod tree;

pub(crate) use crate::ensemble::build::{Builder, NODES_PER_CHECK, check_limit, in_tree, node_of};
pub use crate::ensemble::categories::{ArrayCategories, Categories, CategorySet};
pub(crate) use crate::ensemble::categories::{CODE_END, CODES, end_of_set, is_in_set};
use crate::ensemble::ctr::Ctrs;
pub use crate::ensemble::ctr::RowNumber;
pub use crate::ensemble::linear::LinearLeaf;
pub use crate::ensemble::objective::{ClassBy, Objective, Precision, RealInput, Task, Transform};
pub(crate) use crate::ensemble::objective::{NO_BIAS, Scaling};
pub use crate::ensemble::quantity::{estimates_another, has_levels, is_another_link};
pub(crate) use crate::ensemble::tree::cover_share;
pub use crate::ensemble::tree::{
    Comparison, MissingRule, Node, Split, SplitCondition, Tree, TreeOutput,
};

use crate::error::shown;
use crate::memory::set_with_capacity;
use crate::{Error, ErrorKind, Result, verified};

/// The type of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureType {
    /// A number, an indicator, or unspecified.
    Numerical,
    /// A category code.
    Categorical,
}

/// A model whose invariants have all been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    pub(crate) parts: EnsembleParts,
    pub(crate) real_input: RealInput,
    pub(crate) array_categories: ArrayCategories,
    /// In file order, which is the order of summation.
    pub(crate) trees: Vec<Tree>,
    /// Each round's first tree, then the number of trees: ascending from 0.
    pub(crate) round_starts: Vec<u32>,
    /// Empty, or one per feature: whether unknown categories have the code after the last, as in
    /// encoders of pipelines. Otherwise they are errors, or missing.
    pub(crate) unknown_codes: Vec<bool>,
    /// Empty, or the coefficients of a linear model: by feature one per output, then the intercepts.
    /// Such a model has no trees, and f32 sums.
    pub(crate) coefficients: Vec<f32>,
    /// Target statistics, tested by splits under numbers after the features'.
    pub(crate) ctrs: Ctrs,
}

/// A model without its trees. A reader's lists by feature may be empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EnsembleParts {
    /// Format name shown to users.
    pub(crate) format: &'static str,
    /// Major, minor and patch release of the library that wrote the file; zeros if unknown.
    pub(crate) version: [u32; 3],
    pub(crate) objective: Objective,
    /// Precision of values in comparisons: f32 in XGBoost, CatBoost and scikit-learn's forests, f64 in
    /// LightGBM.
    pub(crate) value_precision: Precision,
    /// Precision of sums and transforms.
    pub(crate) sum_precision: Precision,
    /// As in the file, before conversion into margins; one value per output.
    pub(crate) base_score: Vec<f32>,
    /// Initial sums, one finite value per output; 0 if sums are f64.
    pub(crate) base_margin: Vec<f32>,
    /// Applied after the sum.
    pub(crate) scaling: Scaling,
    pub(crate) num_features: usize,
    /// Empty, or one unique name per feature.
    pub(crate) feature_names: Vec<String>,
    /// One per feature.
    pub(crate) feature_types: Vec<FeatureType>,
    /// Category values by feature, where the file has them.
    pub(crate) categories: Vec<Option<Categories>>,
    /// Empty, or one list per feature. Categorical splits of a feature with a non-empty list test the
    /// rank of its value: the number of list entries that it is not below, in f64. The list ascends and
    /// includes the thresholds of the feature's other splits, which all use [`Comparison::Less`].
    pub(crate) ranks: Vec<Vec<f64>>,
    /// Empty, or one name per class: see [`Ensemble::num_classes`].
    pub(crate) class_labels: Vec<String>,
    /// The booster's attributes as in the file, including `best_iteration`.
    pub(crate) attributes: Vec<(String, String)>,
}

impl Ensemble {
    /// Returns the format's name for users, such as `xgboost json`.
    pub fn format(&self) -> &'static str {
        self.parts.format
    }

    /// Returns the release of the library that wrote the file: major, minor, patch; zeros if unknown.
    pub fn version(&self) -> [u32; 3] {
        self.parts.version
    }

    /// Returns the objective, which determines the transform of margins.
    pub fn objective(&self) -> &Objective {
        &self.parts.objective
    }

    /// Returns each output's base score, as in the file.
    pub fn base_score(&self) -> &[f32] {
        &self.parts.base_score
    }

    /// Returns each output's initial sum.
    pub fn base_margin(&self) -> &[f32] {
        &self.parts.base_margin
    }

    /// Returns the number of features of a row.
    pub fn num_features(&self) -> usize {
        self.parts.num_features
    }

    /// Returns the number of split features: features plus target statistics.
    pub fn num_split_features(&self) -> usize {
        self.parts.num_features + self.ctrs.count()
    }

    /// Returns a row's split values: numbers, codes in place of hashes, and target statistics.
    pub(crate) fn split_values<V: RowNumber>(&self, features: &[V]) -> Vec<f64> {
        self.ctrs.split_values(features, |feature, hash| match self.parts.categories.get(feature) {
            Some(Some(Categories::Hashed(hashes))) => {
                hashes.iter().position(|own| *own == hash).unwrap_or(hashes.len()) as u32
            }
            _ => 0,
        })
    }

    /// Returns whether splits test target statistics of categories.
    pub fn has_ctrs(&self) -> bool {
        !self.ctrs.projections.is_empty()
    }

    /// Returns whether the model is linear, without trees.
    pub fn is_linear(&self) -> bool {
        !self.coefficients.is_empty()
    }

    /// Returns whether leaves have linear models.
    pub fn has_linear_leaves(&self) -> bool {
        self.trees.iter().any(|tree| !tree.linear_leaves.is_empty())
    }

    /// Returns a linear model's coefficient of a feature in an output; the intercept follows the
    /// features.
    pub(crate) fn coefficient(&self, feature: usize, output: usize) -> f32 {
        self.coefficients[feature * self.num_outputs() + output]
    }

    /// Returns the number of margins of a row: classes, targets or quantiles.
    pub fn num_outputs(&self) -> usize {
        self.parts.base_margin.len()
    }

    /// Returns the trees in file order.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Returns what a leaf adds to one of its tree's outputs, in the precision of sums.
    pub(crate) fn leaf_value(&self, tree: &Tree, id: u32, output: usize) -> Result<f64> {
        let place = output - tree.output.range(self.num_outputs()).start;
        let value = tree.leaf_values(id, self.num_outputs()).nth(place);
        let value = verified::known(value, "a leaf has a value for its output")?;
        Ok(self.sum_precision().rounded(value))
    }

    /// Returns the number of boosting rounds.
    pub fn num_rounds(&self) -> usize {
        self.round_starts.len().saturating_sub(1)
    }

    /// Returns the feature names; empty if neither file nor user gave any.
    pub fn feature_names(&self) -> &[String] {
        &self.parts.feature_names
    }

    /// Returns the type of each feature.
    pub fn feature_types(&self) -> &[FeatureType] {
        &self.parts.feature_types
    }

    /// Returns each feature's category values, where the file has them.
    pub fn categories(&self) -> &[Option<Categories>] {
        &self.parts.categories
    }

    /// Returns whether a feature's unknown categories have a code, the one after the last.
    pub fn has_unknown_code(&self, feature: usize) -> bool {
        self.unknown_codes.get(feature) == Some(&true)
    }

    /// Returns the numbers that rank a feature's values; empty if its categorical splits test codes.
    pub fn ranks_of(&self, feature: u32) -> &[f64] {
        self.parts.ranks.get(feature as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the precision of comparisons; [`Precision::Single`] rounds values first.
    pub fn value_precision(&self) -> Precision {
        self.parts.value_precision
    }

    /// The number that a value of f32 is, where values are compared as f64.
    pub fn real_input(&self) -> RealInput {
        self.real_input
    }

    /// Says it: the file does not.
    pub fn set_real_input(&mut self, real_input: RealInput) {
        self.real_input = real_input;
    }

    /// The number that an array has for a category that is a number.
    pub fn array_categories(&self) -> ArrayCategories {
        self.array_categories
    }

    /// Says it of a version of a release that read all arrays as codes.
    pub fn set_array_categories(&mut self, array_categories: ArrayCategories) {
        self.array_categories = array_categories;
    }

    /// Returns the precision of sums and transforms.
    pub fn sum_precision(&self) -> Precision {
        self.parts.sum_precision
    }

    /// Returns the number of classes; 0 for other tasks.
    pub fn num_classes(&self) -> usize {
        match self.parts.objective.task {
            Task::Binary => 2,
            Task::Multiclass => self.num_outputs(),
            Task::Regression | Task::Ranking => 0,
        }
    }

    /// Returns the class names; empty if the file has none.
    pub fn class_labels(&self) -> &[String] {
        &self.parts.class_labels
    }

    /// Returns the booster's attributes, as in the file.
    pub fn attributes(&self) -> &[(String, String)] {
        &self.parts.attributes
    }

    /// Replaces the file's feature names.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] unless `names.len() == num_features()`, or if one is empty or repeated.
    pub fn set_feature_names(&mut self, names: Vec<String>) -> Result<()> {
        check_feature_names(&names, self.parts.num_features)?;
        self.parts.feature_names = names;
        Ok(())
    }

    /// Returns the best number of rounds on the evaluation set, one more than the `best_iteration` of
    /// XGBoost and CatBoost. A linear model has no rounds to choose from.
    pub fn best_rounds(&self) -> Option<usize> {
        if self.is_linear() {
            return None;
        }
        let (_, best) = self.parts.attributes.iter().find(|(key, _)| key == "best_iteration")?;
        best.parse::<usize>().ok()?.checked_add(1)
    }

    /// Drops all trees but those of the first rounds, like `iteration_range=(0, rounds)` of XGBoost's
    /// `predict`.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if there are fewer rounds; [`ErrorKind::Unsupported`] if the model averages
    /// its trees.
    pub fn keep_rounds(&mut self, rounds: usize) -> Result<()> {
        let present = self.num_rounds();
        let end = self.round_starts.get(rounds).copied().filter(|_| rounds > 0);
        let Some(end) = end else {
            bail!(Names, "model has {present} rounds, so rounds cannot be {rounds}");
        };
        if rounds < present && self.parts.scaling.divisor != 1.0 {
            bail!(Unsupported, "a model that averages its trees can only be used whole");
        }
        self.trees.truncate(end as usize);
        self.round_starts.truncate(rounds + 1);
        Ok(())
    }

    /// Sets category values that the file lacks. Features are named, or else called `f0` and so on.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] for an unknown feature, one that already has values, repeated or NaN
    /// categories, or fewer categories than codes in splits.
    pub fn set_categories(&mut self, given: Vec<(String, Categories)>) -> Result<()> {
        let fault = |message: String| Err(Error::new(ErrorKind::Names, message));
        let codes = self.split_codes();
        for (name, categories) in given {
            let shown = shown(&name);
            let index = if self.parts.feature_names.is_empty() {
                (0..self.parts.num_features).find(|index| name == format!("f{index}"))
            } else {
                self.parts.feature_names.iter().position(|feature| *feature == name)
            };
            let Some((index, place)) =
                index.and_then(|index| Some((index, self.parts.categories.get_mut(index)?)))
            else {
                return fault(format!("model has no feature \"{shown}\""));
            };
            if place.is_some() {
                return fault(format!("the model file has the categories of feature \"{shown}\""));
            }
            if self.parts.ranks.get(index).is_some_and(|ranks| !ranks.is_empty()) {
                return fault(format!("the values of feature \"{shown}\" are numbers"));
            }
            let needed = codes.get(index).copied().unwrap_or(0);
            if categories.len() < needed {
                let given = categories.len();
                return fault(format!(
                    "feature \"{shown}\" has {given} categories, but splits on code {}",
                    needed - 1
                ));
            }
            categories.check().map_err(|error| {
                fault!(Names, "categories of feature \"{shown}\": {}", error.message())
            })?;
            *place = Some(categories);
        }
        Ok(())
    }

    /// Returns, per feature, the largest code in any set plus one.
    fn split_codes(&self) -> Vec<usize> {
        let mut codes = vec![0; self.parts.num_features];
        for tree in &self.trees {
            for node in &tree.nodes {
                if let Node::Split(Split { feature, condition, .. }) = node
                    && let SplitCondition::InSet { set, .. } = condition
                    && let Some(most) = codes.get_mut(*feature as usize)
                    && let Some(set) = tree.category_sets.get(*set as usize)
                {
                    *most = set.end().max(*most);
                }
            }
        }
        codes
    }
}

/// Checks that labels are absent, or unique and one per class.
pub(crate) fn check_class_labels(labels: &[String], num_classes: usize) -> Result<()> {
    let mut seen = set_with_capacity(labels.len())?;
    if let Some(label) = labels.iter().find(|label| !seen.insert(label.as_str())) {
        bail!(Names, "label \"{}\" is given more than once", shown(label));
    }
    if labels.is_empty() || labels.len() == num_classes {
        return Ok(());
    }
    let message = if num_classes == 0 {
        "model has no classes that could have labels".to_owned()
    } else {
        format!("model expects {num_classes} labels, not {}", labels.len())
    };
    Err(Error::new(ErrorKind::Names, message))
}

/// Checks that names are non-empty, unique, and one per feature.
pub(crate) fn check_feature_names(names: &[String], num_features: usize) -> Result<()> {
    if names.len() != num_features {
        bail!(Names, "model expects {num_features} feature names, not {}", names.len());
    }
    let mut seen = set_with_capacity(names.len())?;
    for name in names {
        if name.contains('\0') {
            bail!(Names, "feature name contains a zero byte");
        }
        if !seen.insert(name.as_str()) {
            bail!(Names, "feature name \"{}\" is given more than once", shown(name));
        }
    }
    Ok(())
}
