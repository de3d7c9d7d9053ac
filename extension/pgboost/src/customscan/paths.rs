//! The paths that the planner weighs: trees of steps, from which it makes the plan.
//!
//! `'p` is the life of the planning that a path belongs to. What is said of a kind of path is what
//! PostgreSQL's executor does with its node.

use std::ffi::CStr;
use std::marker::PhantomData;

use pg_interface::nodes::{self, Expr};

// What makes rows unique has one node since 19, and before that a second one for inputs of joins.
use pgrx::pg_sys::{self, NodeTag};
#[cfg(feature = "pg19")]
use pgrx::pg_sys::{NodeTag::T_UniquePath, UniquePath};
#[cfg(not(feature = "pg19"))]
use pgrx::pg_sys::{NodeTag::T_UpperUniquePath as T_UniquePath, UpperUniquePath as UniquePath};

use super::methods::NAME;

/// A step of a possible plan, with all steps below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Path<'p> {
    path: *mut pg_sys::Path,
    planning: PhantomData<&'p ()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// Computes the output from each row of what is below.
    Projection,
    /// Aggregates rows, in the first or only of its stages.
    Aggregation,
    /// Aggregates rows by several sets of groups.
    GroupingSets,
    /// Reads a table, by itself or by an index, and tests conditions.
    Scan,
    /// Reads a foreign table, row by row, and tests conditions there or here.
    ForeignScan,
    /// Reads a function's rows, all of which are made before the first is handed out.
    FunctionScan,
    /// Reads a subquery, which was planned by itself, and tests conditions.
    SubqueryScan,
    /// Reads a common table expression or constant rows, and tests conditions.
    RowsScan,
    /// Computes window functions of the rows below it.
    Window,
    /// Makes several rows of one by functions that return sets.
    Sets,
    /// Sorts, for which it reads everything before the first row is handed out.
    Sort,
    /// Sorts groups that come one after another.
    IncrementalSort,
    Join,
    /// Hands on rows of one or more paths, and evaluates nothing that could fail.
    Transparent,
    /// Hands on what comes out of one or more paths, or a part of it, in ways that do not matter
    /// to where predictions are computed below it.
    Opaque,
    Batch,
    Other,
}

impl<'p> Path<'p> {
    /// # Safety
    /// The path is valid for `'p`.
    pub(crate) unsafe fn new(path: *mut pg_sys::Path) -> Self {
        Path { path, planning: PhantomData }
    }

    pub(crate) fn as_ptr(self) -> *mut pg_sys::Path {
        self.path
    }

    pub(crate) fn kind(self) -> PathKind {
        // SAFETY: the path is valid and is read by its tag.
        unsafe {
            match (*self.path).type_ {
                NodeTag::T_ProjectionPath => PathKind::Projection,
                NodeTag::T_AggPath => {
                    let split = (*self.path.cast::<pg_sys::AggPath>()).aggsplit;
                    if split & pg_sys::AGGSPLITOP_COMBINE == 0 {
                        PathKind::Aggregation
                    } else {
                        PathKind::Opaque
                    }
                }
                NodeTag::T_Path => match (*self.path).pathtype {
                    NodeTag::T_SeqScan => PathKind::Scan,
                    NodeTag::T_FunctionScan => PathKind::FunctionScan,
                    NodeTag::T_CteScan | NodeTag::T_ValuesScan => PathKind::RowsScan,
                    _ => PathKind::Other,
                },
                NodeTag::T_IndexPath => {
                    let index = self.path.cast::<pg_sys::IndexPath>();
                    if (*index).indexorderbys.is_null() { PathKind::Scan } else { PathKind::Other }
                }
                NodeTag::T_ForeignPath if reads_one_foreign_table(self.path.cast()) => {
                    PathKind::ForeignScan
                }
                NodeTag::T_BitmapHeapPath | NodeTag::T_TidPath | NodeTag::T_TidRangePath => {
                    PathKind::Scan
                }
                NodeTag::T_SubqueryScanPath => PathKind::SubqueryScan,
                NodeTag::T_SortPath => PathKind::Sort,
                NodeTag::T_IncrementalSortPath => PathKind::IncrementalSort,
                NodeTag::T_NestPath | NodeTag::T_MergePath | NodeTag::T_HashPath => PathKind::Join,
                NodeTag::T_MaterialPath
                | NodeTag::T_MemoizePath
                | NodeTag::T_GatherPath
                | NodeTag::T_GatherMergePath
                | NodeTag::T_AppendPath
                | NodeTag::T_MergeAppendPath
                | NodeTag::T_LimitPath => PathKind::Transparent,
                NodeTag::T_GroupingSetsPath => PathKind::GroupingSets,
                NodeTag::T_WindowAggPath => PathKind::Window,
                NodeTag::T_ProjectSetPath => PathKind::Sets,
                NodeTag::T_GroupPath | T_UniquePath | NodeTag::T_ModifyTablePath => {
                    PathKind::Opaque
                }
                NodeTag::T_CustomPath => {
                    let methods = (*self.path.cast::<pg_sys::CustomPath>()).methods;
                    let is_batch = CStr::from_ptr((*methods).CustomName) == NAME;
                    if is_batch { PathKind::Batch } else { PathKind::Other }
                }
                _ => PathKind::Other,
            }
        }
    }

    /// Whether it finds rows by an index.
    pub(crate) fn uses_index(self) -> bool {
        // SAFETY: the path is valid.
        let tag = unsafe { (*self.path).type_ };
        matches!(tag, NodeTag::T_IndexPath | NodeTag::T_BitmapHeapPath)
    }

    pub(crate) fn below(self) -> Vec<Path<'p>> {
        // SAFETY: the places belong to the path.
        self.places().into_iter().map(|place| unsafe { Path::new(*place) }).collect()
    }

    pub(crate) fn replace_below(self, mut replacement: impl FnMut(Path<'p>) -> Path<'p>) {
        for place in self.places() {
            // SAFETY: the places belong to the path, which nobody else reads meanwhile.
            unsafe { *place = replacement(Path::new(*place)).path };
        }
    }

    /// Where the path keeps the paths below it.
    fn places(self) -> Vec<*mut *mut pg_sys::Path> {
        macro_rules! only {
            ($type:ident) => {
                vec![&raw mut (*self.path.cast::<pg_sys::$type>()).subpath]
            };
        }
        macro_rules! all {
            ($list:expr) => {
                // A cell of a list of pointers is a pointer.
                nodes::list_cells($list).map(|cell| cell.cast::<*mut pg_sys::Path>()).collect()
            };
        }
        // SAFETY: each type is the one that the tag stands for; the lists are of paths.
        unsafe {
            match (*self.path).type_ {
                NodeTag::T_ProjectionPath => only!(ProjectionPath),
                NodeTag::T_ProjectSetPath => only!(ProjectSetPath),
                NodeTag::T_AggPath => only!(AggPath),
                NodeTag::T_GroupPath => only!(GroupPath),
                NodeTag::T_GroupingSetsPath => only!(GroupingSetsPath),
                NodeTag::T_SortPath | NodeTag::T_IncrementalSortPath => only!(SortPath),
                T_UniquePath => vec![&raw mut (*self.path.cast::<UniquePath>()).subpath],
                NodeTag::T_WindowAggPath => only!(WindowAggPath),
                NodeTag::T_LimitPath => only!(LimitPath),
                NodeTag::T_ModifyTablePath => only!(ModifyTablePath),
                NodeTag::T_MaterialPath => only!(MaterialPath),
                NodeTag::T_MemoizePath => only!(MemoizePath),
                NodeTag::T_GatherPath => only!(GatherPath),
                NodeTag::T_GatherMergePath => only!(GatherMergePath),
                NodeTag::T_SubqueryScanPath => only!(SubqueryScanPath),
                NodeTag::T_AppendPath => all!((*self.path.cast::<pg_sys::AppendPath>()).subpaths),
                NodeTag::T_MergeAppendPath => {
                    all!((*self.path.cast::<pg_sys::MergeAppendPath>()).subpaths)
                }
                NodeTag::T_CustomPath => {
                    all!((*self.path.cast::<pg_sys::CustomPath>()).custom_paths)
                }
                NodeTag::T_NestPath | NodeTag::T_MergePath | NodeTag::T_HashPath => {
                    let join = self.path.cast::<pg_sys::JoinPath>();
                    vec![&raw mut (*join).outerjoinpath, &raw mut (*join).innerjoinpath]
                }
                _ => Vec::new(),
            }
        }
    }

    pub(crate) fn outputs(self) -> Vec<Expr<'p>> {
        // SAFETY: a path's target is a list of expressions.
        unsafe { Expr::all((*(*self.path).pathtarget).exprs) }
    }

    /// The conditions that are tested on its rows, or on groups of them.
    pub(crate) fn conditions(self) -> Vec<Expr<'p>> {
        // SAFETY: the lists are those of conditions that the planner keeps for such paths.
        unsafe {
            match self.kind() {
                PathKind::Join => clauses((*self.path.cast::<pg_sys::JoinPath>()).joinrestrictinfo),
                PathKind::Aggregation => Expr::all((*self.path.cast::<pg_sys::AggPath>()).qual),
                PathKind::GroupingSets => {
                    Expr::all((*self.path.cast::<pg_sys::GroupingSetsPath>()).qual)
                }
                PathKind::Scan
                | PathKind::ForeignScan
                | PathKind::FunctionScan
                | PathKind::SubqueryScan
                | PathKind::RowsScan => {
                    let mut conditions = clauses((*(*self.path).parent).baserestrictinfo);
                    let parameters = (*self.path).param_info;
                    if !parameters.is_null() {
                        conditions.extend(clauses((*parameters).ppi_clauses));
                    }
                    conditions
                }
                _ => Vec::new(),
            }
        }
    }

    /// Those of its conditions that may be tested on the rows that come out of it, in place of there.
    pub(crate) fn conditions_to_move(self) -> Vec<Expr<'p>> {
        if self.kind() != PathKind::Join {
            return self.conditions();
        }
        // SAFETY: the path is a join, read by its tag; the lists are those of its conditions.
        unsafe {
            let join = self.path.cast::<pg_sys::JoinPath>();
            let matched = match (*self.path).type_ {
                NodeTag::T_HashPath => (*self.path.cast::<pg_sys::HashPath>()).path_hashclauses,
                NodeTag::T_MergePath => (*self.path.cast::<pg_sys::MergePath>()).path_mergeclauses,
                _ => std::ptr::null_mut(),
            };
            // What ON says of an outer join decides which rows match, and not which come out.
            let is_on = |condition: *mut pg_sys::RestrictInfo| match (*join).jointype {
                pg_sys::JoinType::JOIN_INNER => false,
                pg_sys::JoinType::JOIN_LEFT
                | pg_sys::JoinType::JOIN_RIGHT
                | pg_sys::JoinType::JOIN_FULL => !(*condition).is_pushed_down,
                _ => true,
            };
            nodes::list_pointers::<pg_sys::RestrictInfo>((*join).joinrestrictinfo)
                .filter(|condition| !pg_sys::list_member_ptr(matched, (*condition).cast()))
                .filter(|condition| !is_on(*condition))
                .map(|condition| Expr::new((*condition).clause.cast()))
                .collect()
        }
    }

    /// Whether a plan may be put on top of each of the two paths that it joins. A merge join goes back in
    /// the second one.
    pub(crate) fn joins_any_path(self) -> bool {
        // SAFETY: the path is read by its tag.
        unsafe {
            (*self.path).type_ != NodeTag::T_MergePath || {
                let join = self.path.cast::<pg_sys::MergePath>();
                !(*join).innersortkeys.is_null() || (*join).materialize_inner
            }
        }
    }

    /// Whether an aggregation reads all rows before the first comes out.
    pub(crate) fn reads_all_first(self) -> bool {
        // SAFETY: the path is read by its tag.
        unsafe {
            (*self.path).type_ == NodeTag::T_AggPath
                && matches!(
                    (*self.path.cast::<pg_sys::AggPath>()).aggstrategy,
                    pg_sys::AggStrategy::AGG_PLAIN | pg_sys::AggStrategy::AGG_HASHED
                )
        }
    }

    /// Whether it depends on the rows of another path.
    pub(crate) fn is_parameterized(self) -> bool {
        // SAFETY: the path is valid.
        unsafe { !(*self.path).param_info.is_null() }
    }

    /// Whether it reads rows from where they are stored, and not from other paths.
    pub(crate) fn is_scan(self) -> bool {
        matches!(self.kind(), PathKind::Scan | PathKind::ForeignScan)
    }

    /// Whether it is a scan of a foreign partition that is asked while others are.
    pub(crate) fn is_async(self) -> bool {
        // SAFETY: the path is valid and is read by its tag.
        unsafe {
            (*self.path).type_ == NodeTag::T_ForeignPath && is_asked_with_others(self.path.cast())
        }
    }

    /// Whether it reads rows of a table.
    pub(crate) fn reads_table(self) -> bool {
        // SAFETY: the path is valid.
        unsafe { (*(*self.path).parent).rtekind == pg_sys::RTEKind::RTE_RELATION }
    }

    /// Whether a scan or a join has a condition that is tested once for all of its rows. The planner puts a
    /// node on top of it for that, which computes what the path was to compute before it had a batch
    /// (src/backend/optimizer/plan/createplan.c, `create_gating_plan`).
    pub(crate) fn is_gated(self) -> bool {
        // SAFETY: the path is valid; the lists are those of conditions that the planner keeps.
        unsafe {
            let gates = |list| {
                nodes::list_pointers::<pg_sys::RestrictInfo>(list)
                    .any(|condition| (*condition).pseudoconstant)
            };
            if self.kind() == PathKind::Join {
                return gates((*self.path.cast::<pg_sys::JoinPath>()).joinrestrictinfo);
            }
            let parameters = (*self.path).param_info;
            gates((*(*self.path).parent).baserestrictinfo)
                || !parameters.is_null() && gates((*parameters).ppi_clauses)
        }
    }

    pub(crate) fn set_rows(self, rows: f64) {
        // SAFETY: the path is valid.
        unsafe { (*self.path).rows = rows };
    }

    /// How many rows the planner expects of it.
    pub(crate) fn rows(self) -> f64 {
        // SAFETY: the path is valid.
        unsafe { (*self.path).rows }
    }
}

/// Whether the foreign server joins and aggregates nothing, and is not asked while others are.
///
/// # Safety
/// The path is valid.
unsafe fn reads_one_foreign_table(path: *mut pg_sys::ForeignPath) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let kind = (*(*path).path.parent).reloptkind;
        kind == pg_sys::RelOptKind::RELOPT_BASEREL
            || kind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL && !is_asked_with_others(path)
    }
}

/// Whether a scan of a partition could be asked while others are, which it could not once a batch is on top
/// of it (src/backend/optimizer/plan/createplan.c, `mark_async_capable_plan`).
///
/// # Safety
/// The path is valid.
unsafe fn is_asked_with_others(path: *mut pg_sys::ForeignPath) -> bool {
    // SAFETY: guaranteed by the caller; a foreign table's relation has the routines of its wrapper.
    unsafe {
        let relation = (*path).path.parent;
        let is_async = || {
            let routines = (*relation).fdwroutine;
            let asked = routines.as_ref().and_then(|routines| routines.IsForeignPathAsyncCapable);
            pg_sys::enable_async_append && asked.is_some_and(|asked| asked(path))
        };
        (*relation).reloptkind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL && is_async()
    }
}

/// # Safety
/// The list is one of conditions, valid for `'p`.
unsafe fn clauses<'p>(list: *mut pg_sys::List) -> Vec<Expr<'p>> {
    // SAFETY: guaranteed by the caller; a condition's clause is an expression.
    unsafe {
        nodes::list_pointers::<pg_sys::RestrictInfo>(list)
            .map(|condition| Expr::new((*condition).clause.cast()))
            .collect()
    }
}
