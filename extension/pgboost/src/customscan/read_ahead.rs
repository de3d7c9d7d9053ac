//! Determines how many of its rows a node must return, by a walk down the plan to it.
//!
//! A node that sorts, hashes or aggregates reads all rows before it returns the first; a join, a filter or a
//! result reads all if all of its rows are needed. A LIMIT, EXISTS, the inner side of a join that needs one match,
//! or a merge join may leave rows unread. All of this holds from the second row on, because the first row may show
//! that no others are needed, as for a join whose other side is empty.
//!
//! The number of rows that the executor's caller wants, such as a cursor, a fetch by the protocol or `SELECT INTO`
//! in PL/pgSQL, is neither in the plan nor in the executor's state. So the executor's hook records it while a
//! statement runs.

use pg_interface::{nodes, unguarded};
use pgrx::pg_sys::{
    self, AggStrategy, EState, JoinType, List, NodeTag, Plan, PlannedStmt, QueryDesc, ScanDirection,
};

/// The rows of a node that may be read ahead, since they will be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadAhead {
    /// None beyond the next: perhaps not all rows are needed.
    Fewer,
    /// The rows of the level's LIMIT, or all, if the statement's caller wants all rows.
    Limited,
    /// All, if the statement's caller wants all rows.
    WithCaller,
    /// At least as many as the statement's caller wants.
    AsCaller,
    All,
}

impl ReadAhead {
    /// Returns the number of rows that may be read now. LIMIT still needs `limited`, 0 if unknown.
    ///
    /// # Safety
    /// The state is that of the statement.
    pub(crate) unsafe fn rows(self, statement: *mut EState, limited: usize) -> usize {
        // SAFETY: guaranteed by the caller.
        let wanted = || unsafe { rows_wanted(statement) };
        match self {
            ReadAhead::All => usize::MAX,
            ReadAhead::AsCaller => wanted().unwrap_or(usize::MAX),
            ReadAhead::WithCaller if wanted().is_none() => usize::MAX,
            ReadAhead::Limited if wanted().is_none() => limited,
            ReadAhead::WithCaller | ReadAhead::Limited | ReadAhead::Fewer => 1,
        }
    }

    /// Returns the value for a node below one whose rows do not correspond one to one.
    fn by_another(self) -> ReadAhead {
        match self {
            ReadAhead::AsCaller => ReadAhead::WithCaller,
            ReadAhead::Limited => ReadAhead::Fewer,
            read_ahead => read_ahead,
        }
    }

    fn by_limit(self, limit: *mut pg_sys::Limit) -> ReadAhead {
        // SAFETY: the node is a valid one, read by its tag.
        let is_constant = unsafe {
            let count = (*limit).limitCount;
            !count.is_null() && (*count).type_ == NodeTag::T_Const
        };
        if is_constant && self >= ReadAhead::WithCaller {
            ReadAhead::Limited
        } else {
            ReadAhead::Fewer
        }
    }
}

/// Determines the rows that are needed of a node.
///
/// # Safety
/// The statement is valid, and the node one of its plan's.
pub(crate) unsafe fn of(node: *mut Plan, statement: *mut PlannedStmt) -> ReadAhead {
    // SAFETY: guaranteed by the caller.
    unsafe { Search { statement }.read_ahead_of(node) }
}

struct Search {
    statement: *mut PlannedStmt,
}

impl Search {
    /// # Safety
    /// The node is a plan's.
    unsafe fn read_ahead_of(&self, node: *mut Plan) -> ReadAhead {
        // SAFETY: the statement's plans are valid.
        unsafe {
            let main = (*self.statement).planTree;
            if let Some(read_ahead) = read_ahead_within(main, node, || ReadAhead::AsCaller) {
                return read_ahead;
            }
            for (index, subplan) in
                nodes::list_pointers::<Plan>((*self.statement).subplans).enumerate()
            {
                let read_ahead = || self.read_ahead_of_subplan(index as i32 + 1);
                if let Some(read_ahead) = read_ahead_within(subplan, node, read_ahead) {
                    return read_ahead;
                }
            }
            ReadAhead::Fewer
        }
    }

    /// Determines the rows that are needed of a common table expression, by the nodes that scan it. For other
    /// subplans the result is `Fewer`.
    ///
    /// # Safety
    /// The statement's plans are valid.
    unsafe fn read_ahead_of_subplan(&self, number: i32) -> ReadAhead {
        let mut least = None;
        let mut visit = |plan: *mut Plan, read_ahead: ReadAhead| {
            // SAFETY: the plan is valid and read by its tag.
            let scans = unsafe {
                (*plan).type_ == NodeTag::T_CteScan
                    && (*plan.cast::<pg_sys::CteScan>()).ctePlanId == number
            };
            if scans {
                least = Some(least.map_or(read_ahead, |least: ReadAhead| least.min(read_ahead)));
            }
        };
        // SAFETY: the statement's plans are valid. What scans it in another subplan is not known to be
        // asked for all.
        unsafe {
            visit_all((*self.statement).planTree, ReadAhead::WithCaller, &mut visit);
            for subplan in nodes::list_pointers::<Plan>((*self.statement).subplans) {
                visit_all(subplan, ReadAhead::Fewer, &mut visit);
            }
        }
        least.unwrap_or(ReadAhead::Fewer)
    }
}

/// Determines the rows that are needed of a node within a plan, of which `read_ahead` are needed.
///
/// # Safety
/// The plan is valid.
unsafe fn read_ahead_within(
    plan: *mut Plan,
    node: *mut Plan,
    read_ahead: impl FnOnce() -> ReadAhead,
) -> Option<ReadAhead> {
    let find = |read_ahead_of_plan| {
        let mut found = None;
        // SAFETY: the caller passes a valid plan.
        unsafe {
            visit_all(plan, read_ahead_of_plan, &mut |visited, read_ahead| {
                if visited == node {
                    found = Some(read_ahead);
                }
            });
        }
        found
    };
    // Below a sort the rows that are needed of the plan do not matter.
    match find(ReadAhead::Fewer)? {
        ReadAhead::All => Some(ReadAhead::All),
        _ => find(read_ahead()),
    }
}

/// Visits a plan and all below it.
///
/// # Safety
/// The plan is valid, or null.
unsafe fn visit_all(
    plan: *mut Plan,
    read_ahead: ReadAhead,
    visit: &mut impl FnMut(*mut Plan, ReadAhead),
) {
    if plan.is_null() {
        return;
    }
    // SAFETY: the plan is valid and read by its tag; a node's plans below it are valid.
    unsafe {
        pg_sys::check_stack_depth();
        visit(plan, read_ahead);
        let (outer, inner) = read_ahead_below(plan, read_ahead);
        visit_all((*plan).lefttree, outer, visit);
        visit_all((*plan).righttree, inner, visit);
        for below in nodes::list_pointers::<Plan>(more_below(plan)) {
            visit_all(below, outer, visit);
        }
        if (*plan).type_ == NodeTag::T_SubqueryScan {
            visit_all((*plan.cast::<pg_sys::SubqueryScan>()).subplan, outer, visit);
        }
    }
}

/// Returns the rows that a node needs of the plans on its two sides.
///
/// # Safety
/// The plan is valid.
unsafe fn read_ahead_below(plan: *mut Plan, read_ahead: ReadAhead) -> (ReadAhead, ReadAhead) {
    // SAFETY: the plan is valid and read by its tag.
    unsafe {
        match (*plan).type_ {
            NodeTag::T_Result | NodeTag::T_SubqueryScan => (read_ahead, read_ahead),
            // The rows of other children may reach the LIMIT.
            NodeTag::T_Append if read_ahead == ReadAhead::Limited => {
                (ReadAhead::Fewer, ReadAhead::Fewer)
            }
            NodeTag::T_Append => (read_ahead, read_ahead),
            NodeTag::T_Sort | NodeTag::T_Hash => (ReadAhead::All, ReadAhead::All),
            NodeTag::T_Agg => (below_aggregation(plan.cast(), read_ahead), ReadAhead::Fewer),
            NodeTag::T_Limit => (read_ahead.by_limit(plan.cast()), ReadAhead::Fewer),
            NodeTag::T_WindowAgg if has_run_condition(plan.cast()) => {
                (ReadAhead::Fewer, ReadAhead::Fewer)
            }
            NodeTag::T_NestLoop => {
                let join = plan.cast::<pg_sys::Join>();
                let one_match = (*join).inner_unique
                    || matches!((*join).jointype, JoinType::JOIN_SEMI | JoinType::JOIN_ANTI);
                let outer = read_ahead.by_another();
                (outer, if one_match { ReadAhead::Fewer } else { outer })
            }
            NodeTag::T_HashJoin
            | NodeTag::T_IncrementalSort
            | NodeTag::T_MergeAppend
            | NodeTag::T_Material
            | NodeTag::T_Memoize
            | NodeTag::T_Group
            | NodeTag::T_Unique
            | NodeTag::T_SetOp
            | NodeTag::T_WindowAgg
            | NodeTag::T_ProjectSet
            | NodeTag::T_Gather
            | NodeTag::T_GatherMerge
            | NodeTag::T_ModifyTable
            | NodeTag::T_CustomScan => (read_ahead.by_another(), read_ahead.by_another()),
            _ => (ReadAhead::Fewer, ReadAhead::Fewer),
        }
    }
}

/// # Safety
/// The plan is valid.
unsafe fn below_aggregation(plan: *mut pg_sys::Agg, read_ahead: ReadAhead) -> ReadAhead {
    // SAFETY: the plan is an aggregation.
    match unsafe { (*plan).aggstrategy } {
        AggStrategy::AGG_PLAIN | AggStrategy::AGG_HASHED => ReadAhead::All,
        _ => read_ahead.by_another(),
    }
}

/// # Safety
/// The plan is valid.
unsafe fn has_run_condition(plan: *mut pg_sys::WindowAgg) -> bool {
    // SAFETY: the plan is one of window functions.
    unsafe { !(*plan).runCondition.is_null() }
}

/// Returns the plans below a node that has a list of them.
///
/// # Safety
/// The plan is valid.
unsafe fn more_below(plan: *mut Plan) -> *mut List {
    // SAFETY: the plan is valid and read by its tag.
    unsafe {
        match (*plan).type_ {
            NodeTag::T_Append => (*plan.cast::<pg_sys::Append>()).appendplans,
            NodeTag::T_MergeAppend => (*plan.cast::<pg_sys::MergeAppend>()).mergeplans,
            NodeTag::T_CustomScan => (*plan.cast::<pg_sys::CustomScan>()).custom_plans,
            _ => std::ptr::null_mut(),
        }
    }
}

/// A running statement, and the number of rows that its caller wants, 0 for all.
#[derive(Clone, Copy)]
struct Run {
    statement: *mut EState,
    count: u64,
}

static mut RUNNING: Run = Run { statement: std::ptr::null_mut(), count: 1 };
static mut PREVIOUS: pg_sys::ExecutorRun_hook_type = None;

/// Installs the hook that records the number of wanted rows.
pub(crate) fn install() {
    // SAFETY: called once, while the library loads; a backend has one thread.
    unsafe {
        PREVIOUS = pg_sys::ExecutorRun_hook;
        pg_sys::ExecutorRun_hook = Some(run);
    }
}

/// Returns the number of further rows that the statement's caller wants, `None` for all. For another statement
/// than the running one, as after an error within it, returns 1.
///
/// # Safety
/// The state is that of a statement.
pub(crate) unsafe fn rows_wanted(statement: *mut EState) -> Option<usize> {
    // SAFETY: a backend has one thread; the state is guaranteed by the caller.
    unsafe {
        let running = RUNNING;
        if running.statement != statement {
            return Some(1);
        }
        let left = running.count.saturating_sub((*statement).es_processed);
        (running.count > 0).then_some(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

/// Called by PostgreSQL.
///
/// # Safety
/// The query has begun.
#[cfg(not(any(feature = "pg18", feature = "pg19")))]
unsafe extern "C-unwind" fn run(
    query: *mut QueryDesc,
    direction: ScanDirection::Type,
    count: u64,
    once: bool,
) {
    // SAFETY: PostgreSQL passes a query that has begun; errors pass through here as through C.
    unsafe {
        let before = RUNNING;
        RUNNING = Run { statement: (*query).estate, count };
        match PREVIOUS {
            Some(previous) => previous(query, direction, count, once),
            None => unguarded::standard_ExecutorRun(query, direction, count, once),
        }
        RUNNING = before;
    }
}

/// Called by PostgreSQL.
///
/// # Safety
/// The query has begun.
#[cfg(any(feature = "pg18", feature = "pg19"))]
unsafe extern "C-unwind" fn run(query: *mut QueryDesc, direction: ScanDirection::Type, count: u64) {
    // SAFETY: as for the other.
    unsafe {
        let before = RUNNING;
        RUNNING = Run { statement: (*query).estate, count };
        match PREVIOUS {
            Some(previous) => previous(query, direction, count),
            None => unguarded::standard_ExecutorRun(query, direction, count),
        }
        RUNNING = before;
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn who_reads_several_rows_for_one_asks_for_all_or_some() {
        assert_eq!(ReadAhead::All.by_another(), ReadAhead::All);
        assert_eq!(ReadAhead::AsCaller.by_another(), ReadAhead::WithCaller);
        assert_eq!(ReadAhead::Limited.by_another(), ReadAhead::Fewer);
        assert!(ReadAhead::Fewer < ReadAhead::WithCaller && ReadAhead::AsCaller < ReadAhead::All);
    }
}
