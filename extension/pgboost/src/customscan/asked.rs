//! How many of its rows a node of a plan is asked for, found by going down the plan to it.
//!
//! Who sorts, hashes or aggregates asks for all rows before it returns the first; who joins, filters or
//! returns them asks for all if it is itself asked for all. A LIMIT, EXISTS, the inner side of a join that
//! needs one match, or a merge join may leave rows unread. All of this means: from the second row on. For
//! the first row may show that no others are needed, as of a join whose other side is empty.

use pgrx::pg_sys::{self, AggStrategy, EState, JoinType, List, NodeTag, Plan, PlannedStmt};

use super::run;
use pg_interface::nodes;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// Perhaps for fewer rows than there are.
    Fewer,
    /// For as many as the level's LIMIT says, or all, if the statement's caller wants all rows.
    Limited,
    /// For all if the statement's caller wants all rows.
    WithCaller,
    /// For at least as many as the statement's caller wants.
    AsCaller,
    All,
}

impl Asked {
    /// How many rows may be read now, where LIMIT still asks for `limited`, 0 standing for not known.
    ///
    /// # Safety
    /// The state is that of the statement.
    pub(crate) unsafe fn rows(self, statement: *mut EState, limited: usize) -> usize {
        // SAFETY: the caller says so.
        let wanted = || unsafe { run::rows_wanted(statement) };
        match self {
            Asked::All => usize::MAX,
            Asked::AsCaller => wanted().unwrap_or(usize::MAX),
            Asked::WithCaller if wanted().is_none() => usize::MAX,
            Asked::Limited if wanted().is_none() => limited,
            Asked::WithCaller | Asked::Limited | Asked::Fewer => 1,
        }
    }

    /// Of a node below one that may need several rows for one, or one for several.
    fn by_another(self) -> Asked {
        match self {
            Asked::AsCaller => Asked::WithCaller,
            Asked::Limited => Asked::Fewer,
            asked => asked,
        }
    }

    fn by_limit(self, limit: *mut pg_sys::Limit) -> Asked {
        // SAFETY: the node is a valid one, read by its tag.
        let is_constant = unsafe {
            let count = (*limit).limitCount;
            !count.is_null() && (*count).type_ == NodeTag::T_Const
        };
        if is_constant && self >= Asked::WithCaller { Asked::Limited } else { Asked::Fewer }
    }
}

/// How many of its rows a node is asked for.
///
/// # Safety
/// The statement is valid, and the node one of its plan's.
pub(crate) unsafe fn of(node: *mut Plan, statement: *mut PlannedStmt) -> Asked {
    // SAFETY: the caller says so.
    unsafe { Search { statement }.asked_of(node) }
}

struct Search {
    statement: *mut PlannedStmt,
}

impl Search {
    /// # Safety
    /// The node is a plan's.
    unsafe fn asked_of(&self, node: *mut Plan) -> Asked {
        // SAFETY: the statement's plans are valid.
        unsafe {
            let main = (*self.statement).planTree;
            if let Some(asked) = asked_within(main, node, || Asked::AsCaller) {
                return asked;
            }
            for (index, subplan) in
                nodes::list_pointers::<Plan>((*self.statement).subplans).enumerate()
            {
                let asked = || self.asked_of_subplan(index as i32 + 1);
                if let Some(asked) = asked_within(subplan, node, asked) {
                    return asked;
                }
            }
            Asked::Fewer
        }
    }

    /// How many of its rows a common table expression is asked for: by those who scan it. Of other subplans
    /// that is not looked for.
    ///
    /// # Safety
    /// The statement's plans are valid.
    unsafe fn asked_of_subplan(&self, number: i32) -> Asked {
        let mut least = None;
        let mut visit = |plan: *mut Plan, asked: Asked| {
            // SAFETY: the plan is valid and read by its tag.
            let scans = unsafe {
                (*plan).type_ == NodeTag::T_CteScan
                    && (*plan.cast::<pg_sys::CteScan>()).ctePlanId == number
            };
            if scans {
                least = Some(least.map_or(asked, |least: Asked| least.min(asked)));
            }
        };
        // SAFETY: the statement's plans are valid. What scans it in another subplan is not known to be
        // asked for all.
        unsafe {
            visit_all((*self.statement).planTree, Asked::WithCaller, &mut visit);
            for subplan in nodes::list_pointers::<Plan>((*self.statement).subplans) {
                visit_all(subplan, Asked::Fewer, &mut visit);
            }
        }
        least.unwrap_or(Asked::Fewer)
    }
}

/// How many rows a node is asked for, if it is one of a plan's, which is itself asked for so many.
///
/// # Safety
/// The plan is valid.
unsafe fn asked_within(
    plan: *mut Plan,
    node: *mut Plan,
    asked: impl FnOnce() -> Asked,
) -> Option<Asked> {
    let find = |asked_of_plan| {
        let mut found = None;
        // SAFETY: the caller passes a valid plan.
        unsafe {
            visit_all(plan, asked_of_plan, &mut |visited, asked| {
                if visited == node {
                    found = Some(asked);
                }
            });
        }
        found
    };
    // Below a sort it does not matter what the plan is asked for.
    match find(Asked::Fewer)? {
        Asked::All => Some(Asked::All),
        _ => find(asked()),
    }
}

/// Visits a plan and all below it.
///
/// # Safety
/// The plan is valid, or null.
unsafe fn visit_all(plan: *mut Plan, asked: Asked, visit: &mut impl FnMut(*mut Plan, Asked)) {
    if plan.is_null() {
        return;
    }
    // SAFETY: the plan is valid and read by its tag; a node's plans below it are valid.
    unsafe {
        pg_sys::check_stack_depth();
        visit(plan, asked);
        let (outer, inner) = asked_below(plan, asked);
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

/// What a node asks of the plans on its two sides.
///
/// # Safety
/// The plan is valid.
unsafe fn asked_below(plan: *mut Plan, asked: Asked) -> (Asked, Asked) {
    // SAFETY: the plan is valid and read by its tag.
    unsafe {
        match (*plan).type_ {
            NodeTag::T_Result | NodeTag::T_SubqueryScan => (asked, asked),
            // LIMIT may be reached by the rows of others.
            NodeTag::T_Append if asked == Asked::Limited => (Asked::Fewer, Asked::Fewer),
            NodeTag::T_Append => (asked, asked),
            NodeTag::T_Sort | NodeTag::T_Hash => (Asked::All, Asked::All),
            NodeTag::T_Agg => (below_aggregation(plan.cast(), asked), Asked::Fewer),
            NodeTag::T_Limit => (asked.by_limit(plan.cast()), Asked::Fewer),
            NodeTag::T_WindowAgg if has_run_condition(plan.cast()) => (Asked::Fewer, Asked::Fewer),
            NodeTag::T_NestLoop => {
                let join = plan.cast::<pg_sys::Join>();
                let one_match = (*join).inner_unique
                    || matches!((*join).jointype, JoinType::JOIN_SEMI | JoinType::JOIN_ANTI);
                let outer = asked.by_another();
                (outer, if one_match { Asked::Fewer } else { outer })
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
            | NodeTag::T_CustomScan => (asked.by_another(), asked.by_another()),
            _ => (Asked::Fewer, Asked::Fewer),
        }
    }
}

/// # Safety
/// The plan is valid.
unsafe fn below_aggregation(plan: *mut pg_sys::Agg, asked: Asked) -> Asked {
    // SAFETY: the plan is an aggregation.
    match unsafe { (*plan).aggstrategy } {
        AggStrategy::AGG_PLAIN | AggStrategy::AGG_HASHED => Asked::All,
        _ => asked.by_another(),
    }
}

/// # Safety
/// The plan is valid.
unsafe fn has_run_condition(plan: *mut pg_sys::WindowAgg) -> bool {
    // SAFETY: the plan is one of window functions.
    unsafe { !(*plan).runCondition.is_null() }
}

/// The plans below a node that has a list of them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_several_rows_for_one_asks_for_all_or_some() {
        assert_eq!(Asked::All.by_another(), Asked::All);
        assert_eq!(Asked::AsCaller.by_another(), Asked::WithCaller);
        assert_eq!(Asked::Limited.by_another(), Asked::Fewer);
        assert!(Asked::Fewer < Asked::WithCaller && Asked::AsCaller < Asked::All);
    }
}
