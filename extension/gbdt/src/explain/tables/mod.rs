//! Tables of contributions, or of interactions: one load and one addition per group of leaves and row.
//!
//! `trees` reads the image, `group` cuts its trees into groups of leaves, `fill` computes their tables,
//! `literals` are the questions they ask, and `kernel` answers them for blocks of rows and adds up
//! entries. What no table can hold, because a path has too many features or because memory is bounded, is
//! left as *rest*: trees without the leaves that have tables, which are walked row by row.
//!
//! Entries are f32, rounded once from f64; a row adds them chunk by chunk, and chunks to the total, in an
//! order that depends neither on the kernel nor on the number of rows.

#![allow(unsafe_code, reason = "lines are read as numbers, and asked for before")]

mod codes;
mod fill;
mod group;
mod kernel;
mod layout;
mod literals;
mod rest;
mod row;
mod trees;

use self::fill::Filler;
use self::group::{BITS, Edge, Group, Path};
use self::kernel::MASK_BYTES;
pub(super) use self::kernel::{BATCH_ROWS, BLOCK, Batch, Blocks, Entries, TableKernel};
use self::layout::{Class, Planned, Shape};
use self::literals::Literals;
use self::rest::RestTree;
pub(super) use self::rest::{Answers, RestOfRow};
pub(super) use self::row::RowBuffers;
use self::trees::{Node, Tree};
use crate::forest::sections::Sections;

/// Numbers of a cache line.
pub(super) const WIDTH: usize = 16;

/// A cache line of numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [f32; WIDTH]);

/// What entries have numbers of: the features of a class, or pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Features,
    Pairs,
}

/// The tables of a model.
pub(super) struct Tables {
    literals: Literals,
    classes: Vec<Class>,
    lines: Vec<Line>,
    pub(super) rest: Vec<RestTree>,
    /// One per output: the mean of its trees, weighed by shares.
    pub(super) means: Vec<f64>,
}

impl Tables {
    /// The tables of the trees of an image of so many features and outputs; what does not fit in so many
    /// bytes is left. None if not even that fits.
    pub(super) fn build(
        image: Sections<'_>,
        of: Of,
        size: [usize; 2],
        max_bytes: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Option<Self> {
        let [num_features, num_outputs] = size;
        let mut of_shape = |shape, partly| {
            let wanted = Wanted { shape, partly, num_outputs, max_bytes };
            match of {
                Of::Features => Self::filled(image, Filler::features(), wanted, check_interrupts),
                Of::Pairs => Self::filled(image, Filler::pairs(), wanted, check_interrupts),
            }
        };
        Shape::wide(of, num_features)
            .and_then(|shape| of_shape(shape, false))
            .or_else(|| of_shape(Shape::of(of, num_features), true))
    }

    fn filled<const LANES: usize>(
        image: Sections<'_>,
        filler: Filler<LANES>,
        wanted: Wanted,
        check_interrupts: &mut dyn FnMut(),
    ) -> Option<Self> {
        let Wanted { shape, partly, num_outputs, max_bytes } = wanted;
        let mut plan = Plan {
            shape,
            literals: Literals::new(),
            filler,
            planned: Vec::new(),
            // All trees might be left, and the literals of a group for which there is no room.
            bytes_left: max_bytes.checked_sub(trees::max_bytes(image) + 4 * BITS * MASK_BYTES)?,
            literals_counted: 0,
            is_full: false,
            check_interrupts,
        };
        let (mut rest, mut means) = (Vec::new(), vec![0.0; num_outputs]);
        trees::each(image, &mut |mut tree| {
            means[tree.output] += tree.mean;
            if plan.cover(&mut tree) {
                rest.push(RestTree::of(tree));
            }
            (plan.check_interrupts)();
        });
        if plan.is_full && !partly {
            return None;
        }
        let Plan { mut literals, mut planned, .. } = plan;
        let numbers = literals.finish(check_interrupts);
        planned.iter_mut().for_each(|planned| planned.renumber(&numbers));
        let (classes, lines) = layout::lay_out(planned, shape, check_interrupts);
        Some(Tables { literals, classes, lines, rest, means })
    }

    /// What they take, with the masks of literals for the rows of a call.
    pub(super) fn bytes(&self) -> usize {
        let groups: usize = self.classes.iter().map(|class| class.groups.bytes()).sum();
        let rest: usize = self.rest.iter().map(RestTree::bytes).sum();
        size_of_val(&self.lines[..]) + groups + self.literals.sources.len() * MASK_BYTES + rest
    }
}

/// The numbers of lines.
fn numbers_of(lines: &[Line]) -> &[f32] {
    // SAFETY: a line is sixteen numbers, without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * WIDTH) }
}

fn numbers_of_mut(lines: &mut [Line]) -> &mut [f32] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * WIDTH) }
}

/// What tables are to be.
struct Wanted {
    shape: Shape,
    /// Whether a part is of use where not all fits.
    partly: bool,
    num_outputs: usize,
    max_bytes: usize,
}

struct Plan<'a, const LANES: usize> {
    shape: Shape,
    literals: Literals,
    filler: Filler<LANES>,
    planned: Vec<Planned>,
    bytes_left: usize,
    literals_counted: usize,
    is_full: bool,
    check_interrupts: &'a mut dyn FnMut(),
}

/// Nodes of a tree, each of which takes some microseconds, between two looks for interrupts.
const NODES_PER_CHECK: u32 = 1 << 6;

impl<const LANES: usize> Plan<'_, LANES> {
    /// Makes the groups of a tree, each as large as fits, and marks what they cover. Returns whether
    /// anything is left.
    fn cover(&mut self, tree: &mut Tree) -> bool {
        let mut open = vec![(0u32, Path::default())];
        let mut left = false;
        while let Some((node, path)) = open.pop() {
            // Deep trees have long paths, and few nodes whose leaves fit a group.
            if node.is_multiple_of(NODES_PER_CHECK) {
                (self.check_interrupts)();
            }
            let at = match tree.nodes[node as usize] {
                Node::Covered => continue,
                // It adds nothing, or to the mean alone.
                Node::Leaf(0.0) => continue,
                Node::Leaf(_) if path.0.is_empty() => continue,
                at => at,
            };
            if self.is_full {
                return true;
            }
            if let Some(group) = Group::of(tree, node, &path, &mut self.literals) {
                // Since the last group; paths make some, too.
                let literals = self.literals.sources.len() - self.literals_counted;
                let bytes = self.shape.bytes(&group) + literals * MASK_BYTES;
                if bytes > self.bytes_left {
                    self.is_full = true;
                    return true;
                }
                self.bytes_left -= bytes;
                self.literals_counted += literals;
                self.filler.fill(tree, node, &group);
                self.planned.push(Planned::of(group, &self.filler.entries));
                tree.nodes[node as usize] = Node::Covered;
                (self.check_interrupts)();
                continue;
            }
            let Node::Split { question, children, shares } = at else {
                left = true;
                continue;
            };
            for (yes, (child, share)) in [true, false].into_iter().zip(children.iter().zip(shares))
            {
                let edge = Edge { question, yes, share };
                open.push((*child, path.to(edge, &mut self.literals)));
            }
        }
        left
    }
}
