//! Reads LightGBM text models of versions v2 to v4, from `save_model` and `model_to_string`.
//!
//! A file is a header, trees, and a tail. `lines` cuts it into blocks; `header`, `tree` and `tail`
//! interpret their keys. Files come from `SaveModelToString` (src/boosting/gbdt_model_text.cpp) and
//! `Tree::ToString` (src/io/tree.cpp), the last line from the Python package. They are scored as the
//! newest release does: raw scores are f64 sums from 0 in file order, and tree `i` adds to output `i %
//! num_tree_per_iteration`.
//!
//! Errors name the line, the key, and the tree.

mod header;
mod lines;
mod objective;
mod tail;
mod tree;

use crate::ensemble::{
    Builder, Ensemble, EnsembleParts, FeatureType, Precision, Scaling, Tree, check_limit,
};
use crate::format::lightgbm::header::{FeatureInfo, Header};
use crate::format::lightgbm::lines::{Line, Lines};
use crate::format::lightgbm::tail::Tail;
use crate::format::sniff::shown;
use crate::memory::push;
use crate::{Cancel, Error, ErrorKind, Limits, Place, Result};

pub(super) fn read(bytes: &[u8], limits: &Limits, cancel: Cancel<'_>) -> Result<Ensemble> {
    let mut lines = Lines::new(bytes, cancel);
    let header = header::read(&mut lines, limits)?;
    let trees = read_trees(&mut lines, &header, limits)?;
    let tail = tail::read(&mut lines, limits)?;
    build(header, trees, tail, limits, lines)
}

fn read_trees(
    lines: &mut Lines<'_, '_>,
    header: &Header<'_>,
    limits: &Limits,
) -> Result<Vec<Tree>> {
    let mut trees: Vec<Tree> = Vec::new();
    let mut nodes_left = limits.nodes;
    loop {
        lines.skip_empty();
        let start = lines.size();
        let index = trees.len();
        let Some(line) = lines.next() else { return Err(lines.truncated(None)) };
        if is_end(line, header) {
            break;
        }
        check_first_line(line, index)?;
        check_limit(index + 1, limits.trees, "trees").map_err(|error| error.at(place(line)))?;
        lines.checks().check()?;
        let block = lines.block(Some(index))?;
        let output = (index % header.outputs) as u32;
        let tree = tree::read(&block, index, output, &mut nodes_left, lines.checks())?;
        push(&mut trees, tree)?;
        lines.skip_empty();
        let size = lines.size() - start;
        check_size(lines, header, index, size)?;
    }
    check_number(header, trees.len())?;
    Ok(trees)
}

/// Returns whether a line ends the trees. Late v2 releases and all newer ones write the first of these
/// lines.
fn is_end(line: Line<'_>, header: &Header<'_>) -> bool {
    let ends: &[&[u8]] = if header.version == "v2" {
        &[b"end of trees", b"feature importances:"]
    } else {
        &[b"end of trees"]
    };
    line.ended && ends.contains(&line.bytes) || line.bytes == b"end of trees"
}

/// Checks that a line begins the tree at `index`.
fn check_first_line(line: Line<'_>, index: usize) -> Result<()> {
    let error = |kind, message| Err(Error::new(kind, message).at(place(line)));
    if !line.ended {
        return error(ErrorKind::Truncated, "model ends before its trees do".to_owned());
    }
    match line.bytes.strip_prefix(b"Tree=") {
        Some(number) if number == index.to_string().as_bytes() => Ok(()),
        Some(_) => {
            error(ErrorKind::Parameter, format!("another tree stands where tree {index} belongs"))
        }
        None => error(ErrorKind::Syntax, "a tree or \"end of trees\" belongs here".to_owned()),
    }
}

/// Checks a tree's declared size, which runs up to the next tree. LightGBM locates trees by the sizes
/// before them and never uses the last one, so that one goes unchecked.
fn check_size(
    lines: &mut Lines<'_, '_>,
    header: &Header<'_>,
    index: usize,
    size: usize,
) -> Result<()> {
    let sizes = header.tree_sizes.as_ref().and_then(|sizes| sizes.get(index..));
    let Some([stated, _, ..]) = sizes else { return Ok(()) };
    let ends_here = lines.peek().is_some_and(|line| line.bytes.starts_with(b"Tree="));
    if ends_here && *stated != size {
        let message = format!("the tree has {size} bytes, but \"tree_sizes\" says {stated}");
        let place = Place::Line { line: lines.number(), tree: Some(index) };
        return Err(Error::new(ErrorKind::Length, message).at(place));
    }
    Ok(())
}

/// Checks that the file has as many trees as sizes.
fn check_number(header: &Header<'_>, trees: usize) -> Result<()> {
    let stated = header.tree_sizes.as_ref().map_or(trees, Vec::len);
    let message = if stated != trees {
        format!("model has {trees} trees, but \"tree_sizes\" has {stated} values")
    } else if !trees.is_multiple_of(header.outputs) {
        format!("model has {trees} trees, which are no iterations of {}", header.outputs)
    } else if trees == 0 && header.averages {
        "model is the mean of no trees".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Length, message))
}

fn place(line: Line<'_>) -> Place {
    Place::Line { line: line.number, tree: None }
}

fn build(
    mut header: Header<'_>,
    trees: Vec<Tree>,
    tail: Tail,
    limits: &Limits,
    mut lines: Lines<'_, '_>,
) -> Result<Ensemble> {
    let outputs = header.outputs;
    let rounds = trees.len() / outputs;
    if header.objective.name() == "quantile" {
        header.objective.levels.extend(tail.alpha);
    }
    let categories = tail::categories_by_feature(&header.infos, tail)?;
    let feature_types = header.infos.iter().zip(&categories).map(|pair| match pair {
        (FeatureInfo::Categorical { .. }, _) | (_, Some(_)) => FeatureType::Categorical,
        _ => FeatureType::Numerical,
    });
    let divisor = if header.averages { rounds as f64 } else { 1.0 };
    let parts = EnsembleParts {
        format: "lightgbm text",
        // Files record only the version of their format.
        version: [0; 3],
        objective: header.objective,
        value_precision: Precision::Double,
        sum_precision: Precision::Double,
        base_score: vec![0.0; outputs],
        base_margin: vec![0.0; outputs],
        scaling: Scaling { divisor, in_margin: false, ..Scaling::default() },
        num_features: header.infos.len(),
        feature_types: feature_types.collect(),
        feature_names: header.feature_names,
        categories,
        ranks: Vec::new(),
        class_labels: Vec::new(),
        attributes: vec![("version".to_owned(), header.version.to_owned())],
    };
    let mut builder = Builder::new(parts, limits)?;
    for tree in trees {
        builder.add_tree(tree, lines.checks().cancel())?;
    }
    builder.finish((0..=rounds).map(|round| (round * outputs) as u32).collect())
}
