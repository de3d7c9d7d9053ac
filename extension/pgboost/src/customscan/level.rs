//! A query level whose paths are finished, as the planner hands it to extensions.

use std::marker::PhantomData;
use std::ptr;

use pg_interface::nodes::{self, Expr};
use pgrx::pg_sys::{self, NodeTag, RelOptKind};

use super::calls::predicts;
use super::paths::Path;

pub(crate) struct QueryLevel<'p> {
    root: *mut pg_sys::PlannerInfo,
    result: *mut pg_sys::RelOptInfo,
    planning: PhantomData<&'p ()>,
}

impl<'p> QueryLevel<'p> {
    /// # Safety
    /// Both belong to a level that is being planned, and are valid for `'p`.
    pub(crate) unsafe fn new(
        root: *mut pg_sys::PlannerInfo,
        result: *mut pg_sys::RelOptInfo,
    ) -> Self {
        QueryLevel { root, result, planning: PhantomData }
    }

    pub(crate) fn root(&self) -> *mut pg_sys::PlannerInfo {
        self.root
    }

    pub(crate) fn replace_paths(&self, mut replacement: impl FnMut(Path<'p>) -> Path<'p>) {
        // SAFETY: the lists are of paths, which nobody else reads meanwhile.
        unsafe {
            for list in [(*self.result).pathlist, (*self.result).partial_pathlist] {
                for cell in nodes::list_cells(list) {
                    let path = Path::new((*cell).ptr_value.cast());
                    (*cell).ptr_value = replacement(path).as_ptr().cast();
                }
            }
        }
    }

    /// Returns whether the statement locks rows that it reads, or changes rows that it reads together with others.
    /// Then PostgreSQL may evaluate the plan again, for another version of some rows and the same of others. For
    /// changes of a single table it runs a second copy of the plan instead, whose scan has the new version as its
    /// only row.
    pub(crate) fn may_reevaluate_rows(&self) -> bool {
        self.levels().any(|root| {
            // SAFETY: the levels are valid.
            unsafe {
                let query = (*root).parse;
                let known = matches!(
                    (*query).commandType,
                    pg_sys::CmdType::CMD_SELECT
                        | pg_sys::CmdType::CMD_INSERT
                        | pg_sys::CmdType::CMD_UPDATE
                        | pg_sys::CmdType::CMD_DELETE
                );
                !known || !(*query).rowMarks.is_null() || !(*root).rowMarks.is_null()
            }
        })
    }

    /// Returns whether this level or one around it has a LIMIT.
    pub(crate) fn has_limit(&self) -> bool {
        // SAFETY: the levels are valid.
        self.levels().any(|root| unsafe { !(*(*root).parse).limitCount.is_null() })
    }

    /// Returns the number of rows that LIMIT and OFFSET need of this level, if both are constants.
    pub(crate) fn row_limit(&self) -> Option<f64> {
        // SAFETY: the level is valid.
        let limit = unsafe { (*self.root).limit_tuples };
        (limit >= 0.0).then_some(limit)
    }

    /// Returns whether the planner expects a cursor to be asked for a part of this level's rows.
    pub(crate) fn is_of_cursor(&self) -> bool {
        // SAFETY: the level is valid.
        let (fraction, is_outermost) =
            unsafe { ((*self.root).tuple_fraction, (*self.root).parent_root.is_null()) };
        is_outermost && fraction > 0.0 && fraction < 1.0
    }

    /// Returns an expression as it is below grouping sets. Since 18 PostgreSQL marks columns above them, which a set may
    /// make NULL (`flatten_group_exprs`), until the plan is final.
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    pub(crate) fn below_sets_of_groups(&self, expression: Expr<'p>) -> Expr<'p> {
        // SAFETY: the level and the expression are valid; the copy lives as long as the planning.
        unsafe {
            let group = (*self.root).group_rtindex;
            if group == 0 {
                return expression;
            }
            let marks = pg_sys::bms_make_singleton(group);
            Expr::new(pg_sys::remove_nulling_relids(expression.node(), marks, ptr::null()))
        }
    }

    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    pub(crate) fn below_sets_of_groups(&self, expression: Expr<'p>) -> Expr<'p> {
        expression
    }

    pub(crate) fn has_order(&self) -> bool {
        // SAFETY: the level is valid.
        unsafe { !(*(*self.root).parse).sortClause.is_null() }
    }

    /// Returns how many rows the planner expects of the only relation that this level reads, if its conditions do not
    /// predict. No step of the level then has more.
    pub(crate) fn most_rows(&self) -> Option<f64> {
        // SAFETY: the level is valid, and its relations' array ends with its size.
        unsafe {
            let root = self.root;
            let relations = (0..(*root).simple_rel_array_size as usize)
                .map(|index| *(*root).simple_rel_array.add(index))
                .filter(|it| !it.is_null() && (**it).reloptkind == RelOptKind::RELOPT_BASEREL);
            let mut relations = relations.fuse();
            let (Some(relation), None) = (relations.next(), relations.next()) else { return None };
            let mut conditions =
                nodes::list_pointers::<pg_sys::RestrictInfo>((*relation).baserestrictinfo);
            let predicts = conditions.any(|it| predicts(Expr::new((*it).clause.cast())));
            (!predicts && !(*(*root).parse).hasTargetSRFs).then_some((*relation).rows)
        }
    }

    /// Returns whether the planner expects rows of this level by the elements of an array that it does not know.
    pub(crate) fn guesses_rows(&self) -> bool {
        // SAFETY: the level's query is valid.
        let query: Expr<'p> = unsafe { Expr::new((*self.root).parse.cast()) };
        query.query_contains(|part| part.is_of_unknown_array())
    }

    /// Returns whether neither this level, nor those around it, nor subqueries of expressions planned so far call a
    /// volatile function.
    pub(crate) fn has_no_effects(&self) -> bool {
        // SAFETY: the levels are valid, and so are those of the subqueries that are planned.
        unsafe {
            let subqueries = nodes::list_pointers((*(*self.root).glob).subroots);
            self.levels().chain(subqueries).all(|root| !calls_volatile_functions(root))
        }
    }

    /// Returns the expressions of this level, and those of functions in FROM.
    pub(crate) fn expressions(&self) -> (Vec<Expr<'p>>, Vec<Expr<'p>>) {
        // SAFETY: the level is valid, and so are its lists; a null pointer is no expression.
        unsafe {
            let query = (*self.root).parse;
            let parts = [(*query).targetList.cast(), (*query).jointree.cast(), (*query).havingQual];
            let parts =
                parts.into_iter().filter(|part| !part.is_null()).map(|part| Expr::new(part));
            let entries = nodes::list_pointers::<pg_sys::RangeTblEntry>((*query).rtable);
            let of_functions =
                entries.filter(|entry| (**entry).rtekind == pg_sys::RTEKind::RTE_FUNCTION);
            (
                parts.collect(),
                of_functions.flat_map(|entry| Expr::all((*entry).functions)).collect(),
            )
        }
    }

    /// Estimates the share of rows that meet these conditions.
    pub(crate) fn selectivity(&self, conditions: &[Expr<'p>]) -> f64 {
        // SAFETY: makes a list of expressions of this level.
        unsafe {
            let list = nodes::list_of(conditions.iter().map(|condition| condition.node()));
            let (inner, no_join) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
            pg_sys::clauselist_selectivity(self.root, list, 0, inner, no_join)
        }
    }

    /// Estimates the cost of evaluating an expression for a row.
    pub(crate) fn cost(&self, expression: Expr<'p>) -> f64 {
        let mut cost = pg_sys::QualCost::default();
        // SAFETY: the expression belongs to this level.
        unsafe { pg_sys::cost_qual_eval_node(&mut cost, expression.node(), self.root) };
        cost.per_tuple
    }

    pub(crate) fn projected(&self, path: Path<'p>, columns: &[Expr<'p>]) -> Path<'p> {
        // SAFETY: the path and the columns belong to this level.
        unsafe {
            let path = path.as_ptr();
            let target = pg_sys::create_empty_pathtarget();
            for column in columns {
                pg_sys::add_column_to_pathtarget(target, column.node().cast(), 0);
            }
            (*target).width = (*(*path).pathtarget).width;
            let projection =
                pg_sys::create_projection_path(self.root, (*path).parent, path, target);
            Path::new(projection.cast())
        }
    }

    /// Returns this level and those around it.
    fn levels(&self) -> impl Iterator<Item = *mut pg_sys::PlannerInfo> {
        std::iter::successors(Some(self.root), |root| {
            // SAFETY: a level's parent is a level, or null.
            let parent = unsafe { (**root).parent_root };
            (!parent.is_null()).then_some(parent)
        })
    }
}

/// Returns whether the query of a level calls volatile functions. A function in FROM that a custom scan replaces,
/// such as Citus' for the rows of its nodes, is not called.
///
/// # Safety
/// The level is valid.
unsafe fn calls_volatile_functions(root: *mut pg_sys::PlannerInfo) -> bool {
    // SAFETY: guaranteed by the caller; the relations' array begins with a place for none, and ends
    // with its size.
    unsafe {
        let query = (*root).parse;
        if !pg_sys::contain_volatile_functions(query.cast()) {
            return false;
        }
        let is_replaced = |index: usize| {
            let is_known = index < (*root).simple_rel_array_size as usize;
            let relation =
                if is_known { *(*root).simple_rel_array.add(index) } else { ptr::null_mut() };
            let path = relation.as_ref().map_or(ptr::null_mut(), |it| it.cheapest_total_path);
            path.as_ref().is_some_and(|path| path.type_ == NodeTag::T_CustomPath)
        };
        let copy: *mut pg_sys::Query = pg_sys::copyObjectImpl(query.cast_const().cast()).cast();
        let entries = nodes::list_pointers::<pg_sys::RangeTblEntry>((*copy).rtable).enumerate();
        for (index, entry) in entries {
            if (*entry).rtekind == pg_sys::RTEKind::RTE_FUNCTION && is_replaced(index + 1) {
                (*entry).functions = ptr::null_mut();
            }
        }
        pg_sys::contain_volatile_functions(copy.cast())
    }
}
