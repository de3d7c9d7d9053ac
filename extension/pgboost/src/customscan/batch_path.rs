//! The path of a batch, from which the planner makes a plan.

use pg_interface::nodes::{self, Expr};
use pgrx::pg_sys::{self, NodeTag};

use super::calls::{ConditionalCall, varying_arguments};
use super::level::QueryLevel;
use super::methods::{Methods, NAME};
use super::paths::Path;
use super::plan_data::PathData;
use super::{arguments, plan};

pub(crate) struct Batch<'a, 'p> {
    pub(crate) level: &'a QueryLevel<'p>,
    pub(crate) below: Path<'p>,
    pub(crate) calls: &'a [Expr<'p>],
    /// The calls whose values are needed on a condition alone that the node's output does not have.
    pub(crate) conditional: &'a [ConditionalCall<'p>],
    /// The most rows that are read of it, if known.
    pub(crate) limit: Option<f64>,
    /// It may read only rows that are needed, since reading one can fail.
    pub(crate) only_needed: bool,
}

static METHODS: Methods<pg_sys::CustomPathMethods> = Methods(pg_sys::CustomPathMethods {
    CustomName: NAME.as_ptr(),
    PlanCustomPath: Some(plan::make_plan),
    ReparameterizeCustomPathByChild: None,
});

impl<'p> Batch<'_, 'p> {
    /// Makes a batch in place of a projection.
    pub(crate) fn instead_of(&self, projection: Path<'p>) -> Path<'p> {
        // SAFETY: the paths are valid.
        unsafe {
            let projection = projection.as_ptr();
            self.path(projection, (*projection).pathtarget, false)
        }
    }

    /// Makes a batch that adds the calls' values to the needed outputs of the path below.
    pub(crate) fn added(&self, is_needed: impl Fn(Expr<'p>) -> bool) -> Path<'p> {
        // SAFETY: the path is valid; where there are labels for sorting, each output has one.
        unsafe {
            let below = self.below.as_ptr();
            let labels = (*(*below).pathtarget).sortgrouprefs;
            let target = pg_sys::create_empty_pathtarget();
            for (index, output) in self.below.outputs().into_iter().enumerate() {
                let label = if labels.is_null() { 0 } else { *labels.add(index) };
                if label > 0 || is_needed(output) {
                    pg_sys::add_column_to_pathtarget(target, output.node().cast(), label);
                }
            }
            for call in self.calls {
                pg_sys::add_column_to_pathtarget(target, call.node().cast(), 0);
            }
            (*target).width = (*(*below).pathtarget).width;
            self.path(below, target, false)
        }
    }

    /// Makes a batch on top of a path that takes over its conditions, from the first one on that predicts. The
    /// expected rows of the path below no longer include the filter's selectivity. With `adds_calls` the
    /// calls' values are output columns.
    pub(crate) fn testing(&self, path: Path<'p>, adds_calls: bool) -> Path<'p> {
        // SAFETY: the path is valid; the target is a copy.
        unsafe {
            let path = path.as_ptr();
            let target = pg_sys::copy_pathtarget((*path).pathtarget);
            for call in self.calls.iter().filter(|_| adds_calls) {
                pg_sys::add_new_column_to_pathtarget(target, call.node().cast());
            }
            self.path(path, target, true)
        }
    }

    /// Makes a path with the rows, order and cost of `like`, and that output.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn path(
        &self,
        like: *mut pg_sys::Path,
        target: *mut pg_sys::PathTarget,
        tests: bool,
    ) -> Path<'p> {
        // SAFETY: guaranteed by the caller; the node is made by its tag.
        unsafe {
            let below = self.with_features();
            let path: *mut pg_sys::CustomPath = nodes::make(NodeTag::T_CustomPath);
            (*path).path = *like;
            (*path).path.type_ = NodeTag::T_CustomPath;
            (*path).path.pathtype = NodeTag::T_CustomScan;
            (*path).path.pathtarget = target;
            (*path).path.parallel_aware = false;
            (*path).path.parallel_safe = (*like).parallel_safe && (*below).parallel_safe;
            (*path).flags = plan::PROJECTS;
            (*path).custom_paths = pg_sys::lappend(std::ptr::null_mut(), below.cast());
            let conditions = self.calls.iter().map(|call| {
                let mut found = self.conditional.iter().filter(|it| it.call.is_same_as(*call));
                let condition = found.next().map(|it| it.condition.node());
                condition.unwrap_or_else(|| pg_sys::makeBoolConst(true, false))
            });
            let data = PathData {
                limit: self.limit.unwrap_or(0.0).min(f64::from(i32::MAX)) as i32,
                tests,
                only_needed: self.only_needed,
                conditions: nodes::list_of(conditions),
                calls: self.calls.iter().map(|call| call.node()).collect(),
            };
            (*path).custom_private = data.encode();
            (*path).methods = &raw const METHODS.0;
            Path::new(path.cast())
        }
    }

    /// Returns the path below, with each feature that is not a constant as a column.
    ///
    /// # Safety
    /// The path is one of a query level that is being planned.
    unsafe fn with_features(&self) -> *mut pg_sys::Path {
        // SAFETY: the paths and expressions are valid; the target is a copy.
        unsafe {
            let below = self.below.as_ptr();
            let target = pg_sys::copy_pathtarget((*below).pathtarget);
            let before = nodes::list_pointers::<pg_sys::Node>((*target).exprs).count();
            let is_known = |expression: Expr<'_>| {
                let mut outputs = nodes::list_pointers((*target).exprs);
                outputs.any(|output| Expr::new(output).is_same_as(expression))
            };
            for argument in self.calls.iter().flat_map(|call| varying_arguments(*call)) {
                if is_known(argument) {
                    continue;
                }
                for feature in arguments::spread(argument) {
                    if !is_known(feature) {
                        pg_sys::add_column_to_pathtarget(target, feature.node().cast(), 0);
                    }
                }
            }
            if nodes::list_pointers::<pg_sys::Node>((*target).exprs).count() == before {
                return below;
            }
            let relation = (*below).parent;
            pg_sys::create_projection_path(self.level.root(), relation, below, target).cast()
        }
    }
}
