//! The checked model: what a file says once every invariant has been verified.
//!
//! An [`Ensemble`] can only be made by `build::Builder`, from what a format's reader hands it. Whoever
//! holds one may rely on all that is written at its fields; nothing after this stage checks them
//! again. Its words are those of any library, and node ids, tree order and the bits of every number
//! are those of the file, since results depend on all three.

mod build;
mod categories;
pub(crate) mod city_hash;
pub(crate) mod ctr;
pub(crate) mod linear;
mod objective;
mod tree;

pub(crate) use crate::ensemble::build::{
    Builder, EnsembleParts, NODES_PER_CHECK, TreeParts, check_limit, in_tree, node_of,
};
pub use crate::ensemble::categories::Categories;
pub use crate::ensemble::categories::CategorySet;
pub(crate) use crate::ensemble::categories::{CODE_END, CODES, end_of_set, is_in_set};
use crate::ensemble::ctr::Ctrs;
pub use crate::ensemble::ctr::RowNumber;
pub use crate::ensemble::linear::LinearLeaf;
pub use crate::ensemble::objective::{ClassBy, Objective, Precision, Task, Transform};
pub(crate) use crate::ensemble::objective::{NO_BIAS, Scaling};
pub use crate::ensemble::tree::{
    Comparison, MissingRule, Node, Split, SplitCondition, Tree, TreeOutput,
};

use crate::memory::set_with_capacity;
use crate::{Error, ErrorKind, Result};

/// The type of a feature, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureType {
    /// A number, an indicator, or not said.
    Numerical,
    /// A category code.
    Categorical,
}

/// A model whose every invariant has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// The name that users see.
    pub(crate) format: &'static str,
    /// Release of the library that wrote the file: major, minor, patch; zeros if unknown.
    pub(crate) version: [u32; 3],
    pub(crate) objective: Objective,
    /// Of values when they are compared with thresholds.
    pub(crate) value_precision: Precision,
    /// Of sums of leaves, and of transforms.
    pub(crate) sum_precision: Precision,
    /// As the file has it, before it becomes a margin; one value per output.
    pub(crate) base_score: Vec<f32>,
    /// What the sum of leaves starts from; one finite value per output, 0 if sums are of f64.
    pub(crate) base_margin: Vec<f32>,
    /// What follows the sum.
    pub(crate) scaling: Scaling,
    pub(crate) num_features: usize,
    /// In file order, which is the order of summation.
    pub(crate) trees: Vec<Tree>,
    /// Index of each boosting round's first tree, then the number of trees: ascending, first 0.
    pub(crate) round_starts: Vec<u32>,
    /// Empty, or one unique name per feature.
    pub(crate) feature_names: Vec<String>,
    /// One per feature.
    pub(crate) feature_types: Vec<FeatureType>,
    /// One per feature: the values that its codes stand for, where the file carries them.
    pub(crate) categories: Vec<Option<Categories>>,
    /// Empty, or one per feature: whether values that are none of its categories have a code, the one
    /// after the last, as encoders of pipelines see them. Else they are an error, or missing.
    pub(crate) unknown_codes: Vec<bool>,
    /// Empty, or one list per feature. Where a list is not empty, categorical splits of that feature
    /// test not codes but the rank of a value: how many numbers of the list it is not below. The list
    /// ascends and has the thresholds of all of the feature's splits, all of which are
    /// [`Comparison::Less`]; values are compared in f64.
    pub(crate) ranks: Vec<Vec<f64>>,
    /// Empty, or of a linear model: by feature a coefficient per output, then each output's intercept. Such a
    /// model has no trees, and its sums are of f32.
    pub(crate) coefficients: Vec<f32>,
    /// Target statistics: splits test them under the numbers behind those of the features.
    pub(crate) ctrs: Ctrs,
    /// Empty, or the names of the classes: see [`Ensemble::num_classes`].
    pub(crate) class_labels: Vec<String>,
    /// The booster's attributes, `best_iteration` among them, as the file has them.
    pub(crate) attributes: Vec<(String, String)>,
}

impl Ensemble {
    /// The format of the file, as users see it: `xgboost json` for one.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Release of the library that wrote the file: major, minor, patch; zeros if unknown.
    pub fn version(&self) -> [u32; 3] {
        self.version
    }

    /// The objective, which decides how margins become values.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// The base score of each output, as the file has it.
    pub fn base_score(&self) -> &[f32] {
        &self.base_score
    }

    /// What each output's sum of leaves starts from.
    pub fn base_margin(&self) -> &[f32] {
        &self.base_margin
    }

    /// Number of features of a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// Number of what splits test: features, and target statistics behind them.
    pub fn num_split_features(&self) -> usize {
        self.num_features + self.ctrs.count()
    }

    /// What splits test of a row: its numbers, with codes in the place of hashes, and target statistics.
    pub(crate) fn split_values<V: RowNumber>(&self, features: &[V]) -> Vec<f64> {
        self.ctrs.split_values(features, |feature, hash| match self.categories.get(feature) {
            Some(Some(Categories::Hashed(hashes))) => {
                hashes.iter().position(|own| *own == hash).unwrap_or(hashes.len()) as u32
            }
            _ => 0,
        })
    }

    /// Whether splits test target statistics of categories.
    pub fn has_ctrs(&self) -> bool {
        !self.ctrs.projections.is_empty()
    }

    /// Whether the model is a linear one, without trees.
    pub fn is_linear(&self) -> bool {
        !self.coefficients.is_empty()
    }

    /// Whether leaves of trees have linear models.
    pub fn has_linear_leaves(&self) -> bool {
        self.trees.iter().any(|tree| !tree.linear_leaves.is_empty())
    }

    /// The coefficient of a feature in an output of a linear model; behind the features', the intercept.
    pub(crate) fn coefficient(&self, feature: usize, output: usize) -> f32 {
        self.coefficients[feature * self.num_outputs() + output]
    }

    /// Number of margins of a row: classes, targets or quantiles.
    pub fn num_outputs(&self) -> usize {
        self.base_margin.len()
    }

    /// The trees, in file order.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Number of boosting rounds.
    pub fn num_rounds(&self) -> usize {
        self.round_starts.len().saturating_sub(1)
    }

    /// Feature names, or nothing if neither file nor user named them.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The type of each feature.
    pub fn feature_types(&self) -> &[FeatureType] {
        &self.feature_types
    }

    /// For each feature the values that its codes stand for, where the file carries them.
    pub fn categories(&self) -> &[Option<Categories>] {
        &self.categories
    }

    /// Whether values that are none of a feature's categories have a code: the one after the last.
    pub fn has_unknown_code(&self, feature: usize) -> bool {
        self.unknown_codes.get(feature) == Some(&true)
    }

    /// The numbers by which values of a feature are ranked; none if its categorical splits test codes.
    pub fn ranks_of(&self, feature: u32) -> &[f64] {
        self.ranks.get(feature as usize).map_or(&[], Vec::as_slice)
    }

    /// In what precision values are compared with thresholds: [`Precision::Single`] rounds them first.
    pub fn value_precision(&self) -> Precision {
        self.value_precision
    }

    /// In what precision leaves are added and margins transformed.
    pub fn sum_precision(&self) -> Precision {
        self.sum_precision
    }

    /// Number of classes; 0 if the values are no classes.
    pub fn num_classes(&self) -> usize {
        match self.objective.task {
            Task::Binary => 2,
            Task::Multiclass => self.num_outputs(),
            Task::Regression | Task::Ranking => 0,
        }
    }

    /// The names of the classes, or nothing if the file does not name them.
    pub fn class_labels(&self) -> &[String] {
        &self.class_labels
    }

    /// The booster's attributes, as the file has them.
    pub fn attributes(&self) -> &[(String, String)] {
        &self.attributes
    }

    /// Names the features, in place of the names in the file.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] unless `names.len() == num_features()`, or if one is empty or repeated.
    pub fn set_feature_names(&mut self, names: Vec<String>) -> Result<()> {
        check_feature_names(&names, self.num_features)?;
        self.feature_names = names;
        Ok(())
    }

    /// How many rounds the file says were best on the rows for evaluation: `best_iteration` of XGBoost and
    /// CatBoost counts them from 0. A linear model has no rounds to choose from.
    pub fn best_rounds(&self) -> Option<usize> {
        if self.is_linear() {
            return None;
        }
        let (_, best) = self.attributes.iter().find(|(key, _)| key == "best_iteration")?;
        best.parse::<usize>().ok()?.checked_add(1)
    }

    /// Forgets the trees of all but the first rounds, as `iteration_range=(0, rounds)` of XGBoost's
    /// `predict` leaves them out.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if there are no such rounds; [`ErrorKind::Unsupported`] if the model
    /// averages its trees.
    pub fn keep_rounds(&mut self, rounds: usize) -> Result<()> {
        let present = self.num_rounds();
        let end = self.round_starts.get(rounds).copied().filter(|_| rounds > 0);
        let Some(end) = end else {
            let message = format!("model has {present} rounds, so rounds cannot be {rounds}");
            return Err(Error::new(ErrorKind::Names, message));
        };
        if rounds < present && self.scaling.divisor != 1.0 {
            let message = "a model that averages its trees can only be used whole";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.trees.truncate(end as usize);
        self.round_starts.truncate(rounds + 1);
        Ok(())
    }

    /// Says what the codes of features stand for, where the file does not. Features are called by
    /// name, or `f0` and so on where they have no names.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if there is no such feature, if the file says it, if a category is repeated
    /// or no number, or if there are fewer categories than codes in the splits.
    pub fn set_categories(&mut self, given: Vec<(String, Categories)>) -> Result<()> {
        let fault = |message: String| Err(Error::new(ErrorKind::Names, message));
        let codes = self.split_codes();
        for (name, categories) in given {
            let index = if self.feature_names.is_empty() {
                (0..self.num_features).find(|index| name == format!("f{index}"))
            } else {
                self.feature_names.iter().position(|feature| *feature == name)
            };
            let Some((index, place)) =
                index.and_then(|index| Some((index, self.categories.get_mut(index)?)))
            else {
                return fault(format!("model has no feature \"{name}\""));
            };
            if place.is_some() {
                return fault(format!("the model file has the categories of feature \"{name}\""));
            }
            if self.ranks.get(index).is_some_and(|ranks| !ranks.is_empty()) {
                return fault(format!("the values of feature \"{name}\" are numbers"));
            }
            let needed = codes.get(index).copied().unwrap_or(0);
            if categories.len() < needed {
                let given = categories.len();
                return fault(format!(
                    "feature \"{name}\" has {given} categories, but splits on code {}",
                    needed - 1
                ));
            }
            categories.check().map_err(|error| {
                let message = format!("categories of feature \"{name}\": {}", error.message());
                Error::new(ErrorKind::Names, message)
            })?;
            *place = Some(categories);
        }
        Ok(())
    }

    /// For each feature, how many codes there are up to the largest one that is in a set.
    fn split_codes(&self) -> Vec<usize> {
        let mut codes = vec![0; self.num_features];
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

/// Nothing, or one unique label per class.
pub(crate) fn check_class_labels(labels: &[String], num_classes: usize) -> Result<()> {
    let mut seen = set_with_capacity(labels.len())?;
    if let Some(label) = labels.iter().find(|label| !seen.insert(label.as_str())) {
        let message = format!("label \"{label}\" is given more than once");
        return Err(Error::new(ErrorKind::Names, message));
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

/// One non-empty, unique name per feature.
pub(crate) fn check_feature_names(names: &[String], num_features: usize) -> Result<()> {
    if names.len() != num_features {
        let message = format!("model expects {num_features} feature names, not {}", names.len());
        return Err(Error::new(ErrorKind::Names, message));
    }
    let mut seen = set_with_capacity(names.len())?;
    for name in names {
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Names, "feature name is empty"));
        }
        if name.contains('\0') {
            return Err(Error::new(ErrorKind::Names, "feature name contains a zero byte"));
        }
        if !seen.insert(name.as_str()) {
            let message = format!("feature name \"{name}\" is given more than once");
            return Err(Error::new(ErrorKind::Names, message));
        }
    }
    Ok(())
}
