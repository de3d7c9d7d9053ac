//! The paths that the planner weighs: trees of steps, from which it makes the plan.
//!
//! `'p` is the lifetime of the planning to which a path belongs. Each kind of path documents the executor's
//! work for its node.

use std::ffi::CStr;
use std::marker::PhantomData;

use pg_interface::nodes::{self, Expr};

// PostgreSQL has one node for unique rows since 19, and before that a second one for inputs of joins.
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
    /// Computes the output from each row of the path below.
    Projection,
    /// Aggregates rows, in the first or only of its stages.
    Aggregation,
    /// Aggregates rows by several sets of groups.
    GroupingSets,
    /// Reads a table, sequentially or by an index, and tests conditions.
    Scan,
    /// Reads a foreign table, row by row, and tests conditions remotely or locally.
    ForeignScan,
    /// Reads a function's rows, all of which are computed before the first is returned.
    FunctionScan,
    /// Reads a subquery, which was planned separately, and tests conditions.
    SubqueryScan,
    /// Reads a common table expression or constant rows, and tests conditions.
    RowsScan,
    /// Computes window functions of the rows below it.
    Window,
    /// Returns several rows for one, by functions that return sets.
    Sets,
    /// Sorts: reads all rows before the first is returned.
    Sort,
    /// Sorts groups of consecutive rows.
    IncrementalSort,
    Join,
    /// Passes on rows of one or more paths, and evaluates no expression that could fail.
    Transparent,
    /// Passes on rows of one or more paths, in ways that do not matter for predictions that are computed
    /// below it.
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

    /// Returns whether it finds rows by an index.
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

    /// Returns the places of the paths below it.
    fn places(self) -> Vec<*mut *mut pg_sys::Path> {
        macro_rules! only {
            ($type:ident) => {
                vec![&raw mut (*self.path.cast::<pg_sys::$type>()).subpath]
            };
        }
        macro_rules! all {
            ($list:expr) => {
                // A cell of a pointer list is a pointer.
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

    /// Returns the conditions that are tested on its rows, or on groups of them.
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
                    let mut conditions = clauses(self.scan_conditions());
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

    /// Returns the conditions that a scan tests itself: those that hold of all rows of a partial index are none of them,
    /// and their columns need not be in it.
    ///
    /// # Safety
    /// The path is a scan.
    unsafe fn scan_conditions(self) -> *mut pg_sys::List {
        // SAFETY: guaranteed by the caller; the path is read by its tag.
        unsafe {
            if (*self.path).type_ == NodeTag::T_IndexPath {
                (*(*self.path.cast::<pg_sys::IndexPath>()).indexinfo).indrestrictinfo
            } else {
                (*(*self.path).parent).baserestrictinfo
            }
        }
    }

    /// Returns the conditions that may instead be tested on the rows that it returns.
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
            // ON of an outer join decides which rows match, and not which are returned.
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

    /// Returns the security level of a condition that may be moved: whatever the costs, the planner tests conditions of
    /// lower levels first, which decide which rows the others may see.
    pub(crate) fn security_level(self, condition: Expr<'p>) -> u32 {
        // SAFETY: the path is read by its tag; the lists are of conditions that the planner keeps for such paths.
        unsafe {
            let list = match self.kind() {
                PathKind::Join => (*self.path.cast::<pg_sys::JoinPath>()).joinrestrictinfo,
                _ => (*(*self.path).parent).baserestrictinfo,
            };
            nodes::list_pointers::<pg_sys::RestrictInfo>(list)
                .find(|it| (**it).clause.cast() == condition.node())
                .map_or(0, |it| (*it).security_level)
        }
    }

    pub(crate) fn is_merge_join(self) -> bool {
        // SAFETY: the path is read by its tag.
        unsafe { (*self.path).type_ == NodeTag::T_MergePath }
    }

    /// Returns whether a plan may be put on top of each of the two paths that it joins. A merge join restores
    /// marked positions in the second one.
    pub(crate) fn joins_any_path(self) -> bool {
        // SAFETY: the path is read by its tag.
        unsafe {
            !self.is_merge_join() || {
                let join = self.path.cast::<pg_sys::MergePath>();
                !(*join).innersortkeys.is_null() || (*join).materialize_inner
            }
        }
    }

    /// Returns whether an aggregation reads all rows before it returns the first.
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

    /// Returns whether it depends on the rows of another path.
    pub(crate) fn is_parameterized(self) -> bool {
        // SAFETY: the path is valid.
        unsafe { !(*self.path).param_info.is_null() }
    }

    /// Returns whether it reads stored rows, and not those of other paths.
    pub(crate) fn is_scan(self) -> bool {
        matches!(self.kind(), PathKind::Scan | PathKind::ForeignScan)
    }

    /// Returns whether it is an asynchronous scan of a foreign partition.
    pub(crate) fn is_async(self) -> bool {
        // SAFETY: the path is valid and is read by its tag.
        unsafe {
            (*self.path).type_ == NodeTag::T_ForeignPath && is_asked_with_others(self.path.cast())
        }
    }

    /// Returns whether it reads rows of a table.
    pub(crate) fn reads_table(self) -> bool {
        // SAFETY: the path is valid.
        unsafe { (*(*self.path).parent).rtekind == pg_sys::RTEKind::RTE_RELATION }
    }

    /// Returns whether a scan or a join has a condition that is tested once for all of its rows. The planner adds a
    /// node on top of it for that, which computes the output that the path had before a batch was added
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

    /// Returns whether it reads a table and those that inherit from it, one after another.
    pub(crate) fn reads_several_tables(self) -> bool {
        // SAFETY: the path is valid and is read by its tag.
        let tag = unsafe { (*self.path).type_ };
        matches!(tag, NodeTag::T_AppendPath | NodeTag::T_MergeAppendPath) && self.reads_table()
    }

    pub(crate) fn set_rows(self, rows: f64) {
        // SAFETY: the path is valid.
        unsafe { (*self.path).rows = rows };
    }

    /// Returns the number of rows that the planner expects.
    pub(crate) fn rows(self) -> f64 {
        // SAFETY: the path is valid.
        unsafe { (*self.path).rows }
    }
}

/// Returns whether the foreign server neither joins nor aggregates, and the scan is not asynchronous.
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

/// Returns whether a scan of a partition could be asynchronous, which a batch on top of it would prevent
/// (src/backend/optimizer/plan/createplan.c, `mark_async_capable_plan`).
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
