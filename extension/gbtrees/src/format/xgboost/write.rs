//! Writes a checked model as a file for libxgboost, in the layout of release 3.4.1: `SaveModel` of
//! src/learner.cc, src/gbm/gbtree.cc, src/gbm/gbtree_model.cc, src/gbm/gblinear.cc and src/tree/tree_model.cc.
//!
//! libxgboost trusts indices and lengths of a file. Of what is written here each is checked, or counted from
//! what is written, whatever the file was that the model came from. Margins keep their bits, and so do the
//! trees of a training that goes on from the file. Left out is what neither looks at: which feature a leaf
//! tested before it was pruned, and what deleted nodes were.

use crate::ensemble::{
    Categories, CategorySet, Ensemble, FeatureType, Node, SplitCondition, Task, Tree, TreeOutput,
};
use crate::format::xgboost::training::{Training, UNBIASED, spelled};
use crate::format::xgboost::tree::Statistics;
use crate::format::xgboost::ubjson::Ubjson;
use crate::memory::{collect, extend, filled, push, try_collect};
use crate::{Cancel, Result};

/// The release whose layout this is.
const VERSION: [i64; 3] = [3, 4, 1];

/// The parent of a root of scalar leaves, and of one of vectors.
const NO_PARENT: [i32; 2] = [i32::MAX, -1];
const NO_CHILD: i32 = -1;
/// The feature of a deleted node, which is one only if missing values go left too.
const DELETED: i32 = i32::MAX;
/// The threshold of a categorical split, `DftBadValue` in include/xgboost/tree_model.h.
const NO_THRESHOLD: f32 = f32::from_bits(1);
/// Whole numbers of any width, as libxgboost numbers the types of categories.
const INTEGERS: i64 = 15;

/// Parts of the file that the checked model does not have.
pub(super) struct Besides {
    pub training: Training,
    /// How many trees a round grows for an output.
    pub num_parallel_tree: i64,
    /// By tree.
    pub statistics: Vec<Statistics>,
}

/// The bytes of a file with this model of XGBoost.
pub(super) fn file(model: &Ensemble, besides: &Besides, cancel: Cancel<'_>) -> Result<Vec<u8>> {
    let mut out = Ubjson::default();
    out.object(|out| {
        out.key("learner")?.object(|out| learner(out, model, besides, cancel))?;
        out.key("version")?.list(VERSION.into_iter(), Ubjson::integer)
    })?;
    Ok(out.into_bytes())
}

fn learner(
    out: &mut Ubjson,
    model: &Ensemble,
    besides: &Besides,
    cancel: Cancel<'_>,
) -> Result<()> {
    out.key("attributes")?.object(|out| {
        model.parts.attributes.iter().try_for_each(|(key, value)| out.key(key)?.text(value))
    })?;
    out.key("feature_names")?.list(model.parts.feature_names.iter(), |out, name| out.text(name))?;
    let kind = |out: &mut Ubjson, kind: &FeatureType| match kind {
        FeatureType::Categorical => out.text("c"),
        FeatureType::Numerical => out.text("float"),
    };
    out.key("feature_types")?.list(model.parts.feature_types.iter(), kind)?;
    out.key("gradient_booster")?.object(|out| {
        let linear = model.is_linear();
        out.key("name")?.text(if linear { "gblinear" } else { "gbtree" })?;
        out.key("model")?.object(|out| match linear {
            true => coefficients(out, model, besides),
            false => trees(out, model, besides, cancel),
        })
    })?;
    out.key("learner_model_param")?.object(|out| sizes(out, model, &besides.training))?;
    out.key("objective")?.object(|out| objective(out, model, &besides.training))
}

fn sizes(out: &mut Ubjson, model: &Ensemble, training: &Training) -> Result<()> {
    let outputs = model.num_outputs();
    let (classes, targets) =
        if model.parts.objective.task == Task::Multiclass { (outputs, 1) } else { (0, outputs) };
    let from_average = training.boost_from_average.unwrap_or(true);
    out.key("base_score")?.text(&spelled(&model.parts.base_score))?;
    out.key("boost_from_average")?.text(if from_average { "1" } else { "0" })?;
    out.key("num_class")?.text(&classes.to_string())?;
    out.key("num_feature")?.text(&model.parts.num_features.to_string())?;
    out.key("num_target")?.text(&targets.to_string())
}

fn objective(out: &mut Ubjson, model: &Ensemble, training: &Training) -> Result<()> {
    out.key("name")?.text(&model.parts.objective.name)?;
    let mut given = training.objective.as_slice();
    while let Some((object, ..)) = given.first() {
        let count = given.iter().take_while(|(other, ..)| other == object).count();
        let (own, rest) = given.split_at(count);
        given = rest;
        out.key(object)?
            .object(|out| own.iter().try_for_each(|(_, key, value)| out.key(key)?.text(value)))?;
    }
    let is_given = |name: &str| training.objective.iter().any(|(object, ..)| *object == name);
    // libxgboost does not do without these.
    for name in ["aft_loss_param", "poisson_regression_param", "tweedie_regression_param"] {
        if !is_given(name) {
            out.key(name)?.object(|_| Ok(()))?;
        }
    }
    if model.parts.objective.task == Task::Multiclass {
        let classes = model.num_outputs().to_string();
        out.key("softmax_multiclass_param")?.object(|out| out.key("num_class")?.text(&classes))?;
    }
    if training.objective.iter().any(|(_, key, value)| *key == UNBIASED && value == "1") {
        for positions in ["ti+", "tj-"] {
            out.key(positions)?.numbers([0.0f32; 0].into_iter())?;
        }
    }
    Ok(())
}

fn coefficients(out: &mut Ubjson, model: &Ensemble, besides: &Besides) -> Result<()> {
    out.key("boosted_rounds")?.integer(besides.training.boosted_rounds.unwrap_or(1))?;
    out.key("weights")?.numbers(model.coefficients.iter().copied())
}

fn trees(out: &mut Ubjson, model: &Ensemble, besides: &Besides, cancel: Cancel<'_>) -> Result<()> {
    let count = model.trees.len();
    let most = i64::try_from(count).unwrap_or(i64::MAX).max(1);
    let parallel = besides.num_parallel_tree.clamp(1, most);
    out.key("gbtree_model_param")?.object(|out| {
        out.key("num_parallel_tree")?.text(&parallel.to_string())?;
        out.key("num_trees")?.text(&count.to_string())
    })?;
    out.key("iteration_indptr")?
        .list(model.round_starts.iter(), |out, start| out.integer(i64::from(*start)))?;
    out.key("tree_info")?.list(model.trees.iter(), |out, tree| match tree.output {
        TreeOutput::One(output) => out.integer(i64::from(output)),
        TreeOutput::All => out.integer(0),
    })?;
    if model.trees.iter().any(|tree| tree.weight != 1.0) {
        out.key("weight_drop")?.list(model.trees.iter(), |out, tree| out.float(tree.weight))?;
    }
    out.key("cats")?.object(|out| categories(out, model))?;
    out.key("trees")?.list(model.trees.iter().enumerate(), |out, (index, tree)| {
        cancel.check()?;
        out.object(|out| {
            out.key("id")?.integer(index as i64)?;
            let statistics = besides.statistics.get(index);
            Nodes::of(model, tree, statistics, cancel)?.write(out)?;
            sets(out, tree)
        })
    })
}

/// The arrays of a tree with an entry per node.
struct Nodes<'a> {
    model: &'a Ensemble,
    tree: &'a Tree,
    statistics: Option<&'a Statistics>,
    parents: Vec<i32>,
}

impl<'a> Nodes<'a> {
    fn of(
        model: &'a Ensemble,
        tree: &'a Tree,
        statistics: Option<&'a Statistics>,
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        cancel.check()?;
        let mut parents = filled(tree.nodes.len(), 0)?;
        let vectors = usize::from(tree.output == TreeOutput::All);
        parents
            .iter_mut()
            .take(1)
            .for_each(|root| *root = NO_PARENT.get(vectors).copied().unwrap_or(NO_CHILD));
        for (id, node) in (0..).zip(&tree.nodes) {
            for child in node.children().into_iter().flatten() {
                parents.get_mut(child as usize).into_iter().for_each(|parent| *parent = id);
            }
        }
        Ok(Nodes { model, tree, statistics, parents })
    }

    fn write(&self, out: &mut Ubjson) -> Result<()> {
        let outputs = self.model.num_outputs();
        let nodes = &self.tree.nodes;
        let (vectors, width) = match self.tree.output {
            TreeOutput::All => (true, outputs),
            TreeOutput::One(_) => (false, 1),
        };
        let deleted = nodes.iter().filter(|node| **node == Node::Deleted).count();
        out.key("tree_param")?.object(|out| {
            out.key("num_deleted")?.text(&deleted.to_string())?;
            out.key("num_feature")?.text(&self.model.parts.num_features.to_string())?;
            out.key("num_nodes")?.text(&nodes.len().to_string())?;
            out.key("size_leaf_vector")?.text(&width.to_string())
        })?;
        let children = |node: &Node| match node {
            Node::Split(split) => [split.left.cast_signed(), split.right.cast_signed()],
            Node::LeafVector { vector, .. } => [NO_CHILD, vector.cast_signed()],
            Node::Leaf { .. } | Node::Deleted => [NO_CHILD; 2],
        };
        out.key("left_children")?.numbers(nodes.iter().map(|node| children(node)[0]))?;
        out.key("right_children")?.numbers(nodes.iter().map(|node| children(node)[1]))?;
        out.key("parents")?.numbers(self.parents.iter().copied())?;
        out.key("split_indices")?.numbers(nodes.iter().map(|node| match node {
            Node::Split(split) => split.feature.cast_signed(),
            Node::Deleted => DELETED,
            Node::Leaf { .. } | Node::LeafVector { .. } => 0,
        }))?;
        out.key("split_conditions")?.numbers(nodes.iter().map(condition))?;
        out.key("default_left")?.numbers(nodes.iter().map(|node| match node {
            Node::Split(split) => u8::from(split.default_left),
            Node::Deleted => 1,
            Node::Leaf { .. } | Node::LeafVector { .. } => 0,
        }))?;
        let zeros = |count| std::iter::repeat_n(0.0f32, count);
        let stated = |list: fn(&Statistics) -> &Vec<f32>, count| {
            self.statistics.map(list).filter(|list| list.len() == count)
        };
        out.key("loss_changes")?;
        match stated(|of| &of.gains, nodes.len()) {
            Some(gains) => out.numbers(gains.iter().copied())?,
            None => out.numbers(zeros(nodes.len()))?,
        }
        out.key("sum_hessian")?.numbers(nodes.iter().map(Node::cover))?;
        let count = nodes.len().saturating_mul(width);
        out.key("base_weights")?;
        match stated(|of| &of.base_weights, count) {
            Some(weights) => out.numbers(weights.iter().copied())?,
            None => out.numbers(zeros(count))?,
        }
        if vectors {
            let vectors = self.tree.leaf_vectors.iter().map(|value| *value as f32);
            let whole = self.tree.leaf_vectors.len() / width.max(1) * width;
            out.key("leaf_weights")?.numbers(vectors.take(whole))?;
        }
        Ok(())
    }
}

/// The threshold of a split, the value of a leaf.
fn condition(node: &Node) -> f32 {
    match node {
        Node::Leaf { value, .. } => *value as f32,
        Node::Split(split) => match split.condition {
            SplitCondition::Compare { threshold, .. } => threshold as f32,
            SplitCondition::InSet { .. } => NO_THRESHOLD,
        },
        Node::LeafVector { .. } | Node::Deleted => 0.0,
    }
}

/// The set of a categorical split.
fn set_of<'a>(tree: &'a Tree, node: &Node) -> Option<&'a CategorySet> {
    match node.split()?.condition {
        SplitCondition::InSet { set, .. } => tree.category_sets.get(set as usize),
        SplitCondition::Compare { .. } => None,
    }
}

/// The categorical splits, and the codes of their sets one set after another.
fn sets(out: &mut Ubjson, tree: &Tree) -> Result<()> {
    let (mut nodes, mut starts, mut sizes, mut codes) = (vec![], vec![], vec![], vec![]);
    for (id, node) in (0i32..).zip(&tree.nodes) {
        let Some(set) = set_of(tree, node) else { continue };
        let start = codes.len();
        let all = (0..set.end() as u32).filter(|code| set.contains(*code));
        extend(&mut codes, all.map(u32::cast_signed))?;
        push(&mut nodes, id)?;
        push(&mut starts, start as i64)?;
        push(&mut sizes, (codes.len() - start) as i64)?;
    }
    out.key("split_type")?
        .numbers(tree.nodes.iter().map(|node| u8::from(set_of(tree, node).is_some())))?;
    out.key("categories")?.numbers(codes.into_iter())?;
    out.key("categories_nodes")?.numbers(nodes.into_iter())?;
    out.key("categories_segments")?.numbers(starts.into_iter())?;
    out.key("categories_sizes")?.numbers(sizes.into_iter())
}

/// The values that codes stand for. libxgboost refuses numbers with fractions; the codes do without them.
fn categories(out: &mut Ubjson, model: &Ensemble) -> Result<()> {
    let usable = |categories: &Option<Categories>| match categories {
        Some(Categories::Text(texts)) => Some(texts.len()),
        Some(Categories::Integer(numbers)) => Some(numbers.len()),
        Some(Categories::Float(_) | Categories::Hashed(_)) | None => None,
    };
    let counts = collect(model.parts.categories.iter().map(|one| usable(one).unwrap_or(0)))?;
    let all =
        if counts.iter().any(|count| *count > 0) { model.parts.categories.as_slice() } else { &[] };
    let mut order = Vec::new();
    for categories in all {
        extend(&mut order, sorted(categories.as_ref())?)?;
    }
    out.key("enc")?
        .list(all.iter(), |out, categories| out.object(|out| values(out, categories)))?;
    let mut end = 0;
    let ends = counts.iter().map(|count| {
        end += *count as i32;
        end
    });
    let ends = collect(ends)?;
    let ends = if all.is_empty() { &[] } else { ends.as_slice() };
    let first = if all.is_empty() { 0 } else { 1 };
    let starts = collect(std::iter::repeat_n(0, first).chain(ends.iter().copied()))?;
    out.key("feature_segments")?.numbers(starts.into_iter())?;
    out.key("sorted_idx")?.numbers(order.into_iter())
}

fn values(out: &mut Ubjson, categories: &Option<Categories>) -> Result<()> {
    if let Some(Categories::Integer(numbers)) = categories {
        out.key("type")?.integer(INTEGERS)?;
        return out.key("values")?.numbers(numbers.iter().copied());
    }
    let texts: &[String] = match categories {
        Some(Categories::Text(texts)) => texts,
        _ => &[],
    };
    let mut end = 0usize;
    let ends = texts.iter().map(|text| {
        end += text.len();
        i32::try_from(end).map_err(|_| fault!(Limit, "the categories of a feature are too long"))
    });
    let ends = try_collect(ends)?;
    let offsets = collect(ends.first().map(|_| 0).into_iter().chain(ends.iter().copied()))?;
    out.key("offsets")?.numbers(offsets.into_iter())?;
    let bytes = collect(texts.iter().flat_map(|text| text.bytes()).map(u8::cast_signed))?;
    out.key("values")?.numbers(bytes.into_iter())
}

/// The places of a feature's values in the order in which libxgboost looks them up: its bytes have signs.
fn sorted(categories: Option<&Categories>) -> Result<Vec<i32>> {
    let signed = |text: &String| text.bytes().map(u8::cast_signed).collect::<Vec<_>>();
    Ok(match categories {
        Some(Categories::Text(texts)) => {
            let mut order = collect((0i32..).zip(texts.iter().map(signed)))?;
            order.sort_by(|(_, a), (_, b)| a.cmp(b));
            collect(order.into_iter().map(|(place, _)| place))?
        }
        Some(Categories::Integer(numbers)) => {
            let mut order = collect((0i32..).zip(numbers))?;
            order.sort_by_key(|(_, number)| **number);
            collect(order.into_iter().map(|(place, _)| place))?
        }
        Some(Categories::Float(_) | Categories::Hashed(_)) | None => Vec::new(),
    })
}
