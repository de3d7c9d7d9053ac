//! The planner's expressions, as far as decisions about predictions look at them.
//!
//! An expression here is a node that the planner is working on: it stays valid as long as the
//! planning that handed it out.

use pg_interface::varlena;
use pgrx::pg_sys::{self, NodeTag, Oid};

use super::lists;

/// An expression of a query that is being planned.
#[derive(Clone, Copy)]
pub struct Expr {
    node: *mut pg_sys::Node,
}

/// What matters of an expression's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A column of what is below.
    Column,
    /// A constant.
    Constant,
    /// A parameter of the statement, or of the row of an outer loop.
    Parameter,
    /// Evaluates all of its parts, and cannot fail by itself.
    Plain,
    /// Evaluates some of its parts, and cannot fail by itself.
    Branching,
    /// Calls functions, once all of its parts are evaluated.
    Calling,
    /// Evaluates all of its parts, and may then fail.
    Failing,
    /// What is evaluated below an outer join, and only handed on above it.
    Placeholder,
    /// An aggregate of this query level.
    Aggregate,
    /// Anything else.
    Other,
}

impl Expr {
    /// # Safety
    /// The node is an expression and lives as long as the planning that is going on.
    pub(super) unsafe fn new(node: *mut pg_sys::Node) -> Expr {
        Expr { node }
    }

    /// The node.
    pub(super) fn node(self) -> *mut pg_sys::Node {
        self.node
    }

    /// What it is.
    pub fn kind(self) -> ExprKind {
        // SAFETY: the node is valid and is read by its tag.
        unsafe {
            match (*self.node).type_ {
                NodeTag::T_Var if (*self.node.cast::<pg_sys::Var>()).varlevelsup == 0 => {
                    ExprKind::Column
                }
                NodeTag::T_Const => ExprKind::Constant,
                NodeTag::T_Param => ExprKind::Parameter,
                NodeTag::T_RelabelType
                | NodeTag::T_ArrayExpr
                | NodeTag::T_RowExpr
                | NodeTag::T_NullTest
                | NodeTag::T_BooleanTest
                | NodeTag::T_CollateExpr
                | NodeTag::T_FieldSelect
                | NodeTag::T_TargetEntry
                | NodeTag::T_List => ExprKind::Plain,
                NodeTag::T_BoolExpr
                | NodeTag::T_CaseExpr
                | NodeTag::T_CaseWhen
                | NodeTag::T_CaseTestExpr
                | NodeTag::T_CoalesceExpr => ExprKind::Branching,
                NodeTag::T_FuncExpr if !(*self.node.cast::<pg_sys::FuncExpr>()).funcretset => {
                    ExprKind::Calling
                }
                NodeTag::T_OpExpr if !(*self.node.cast::<pg_sys::OpExpr>()).opretset => {
                    ExprKind::Calling
                }
                NodeTag::T_DistinctExpr
                | NodeTag::T_NullIfExpr
                | NodeTag::T_ScalarArrayOpExpr
                | NodeTag::T_CoerceViaIO => ExprKind::Calling,
                NodeTag::T_MinMaxExpr | NodeTag::T_CoerceToDomain => ExprKind::Failing,
                NodeTag::T_PlaceHolderVar => ExprKind::Placeholder,
                NodeTag::T_Aggref => {
                    let aggregate = self.node.cast::<pg_sys::Aggref>();
                    if (*aggregate).agglevelsup == 0 {
                        ExprKind::Aggregate
                    } else {
                        ExprKind::Other
                    }
                }
                _ => ExprKind::Other,
            }
        }
    }

    /// The parts that are evaluated whenever it is; of an aggregate, for every row.
    pub fn parts_always_evaluated(self) -> Vec<Expr> {
        match self.kind() {
            ExprKind::Aggregate => self.aggregated_parts(),
            ExprKind::Branching => self.first_part().into_iter().collect(),
            ExprKind::Plain | ExprKind::Calling | ExprKind::Failing => self.parts(),
            _ => Vec::new(),
        }
    }

    /// What an aggregate evaluates for every row: FILTER's condition, if it has one, comes before
    /// the arguments.
    fn aggregated_parts(self) -> Vec<Expr> {
        // SAFETY: the node is an aggregate; its parts are expressions that belong to it.
        unsafe {
            let aggregate = self.node.cast::<pg_sys::Aggref>();
            if (*aggregate).aggfilter.is_null() {
                lists::pointers((*aggregate).args).map(|node| Expr { node }).collect()
            } else {
                vec![Expr { node: (*aggregate).aggfilter.cast() }]
            }
        }
    }

    /// What is evaluated first: the first operand of AND, OR and COALESCE, and what CASE looks at
    /// before it chooses.
    fn first_part(self) -> Option<Expr> {
        let first = self.parts().into_iter().next()?;
        // SAFETY: the node is read by its tag.
        let is_list = unsafe { (*first.node).type_ == NodeTag::T_List };
        if is_list { first.parts().into_iter().next() } else { Some(first) }
    }

    /// The parts that it is made of.
    pub fn parts(self) -> Vec<Expr> {
        let mut parts: Vec<Expr> = Vec::new();
        // SAFETY: PostgreSQL calls the function with each part of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut parts).cast();
            pg_sys::expression_tree_walker(self.node, Some(take_part), context);
        }
        parts
    }

    /// The functions that the node itself calls, without those of its parts.
    pub fn functions(self) -> Vec<Oid> {
        let mut functions: Vec<Oid> = Vec::new();
        // SAFETY: PostgreSQL calls the function with each function of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut functions).cast();
            pg_sys::check_functions_in_node(self.node, Some(take_function), context);
        }
        functions
    }

    /// Whether a volatile function is called anywhere in it.
    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is valid.
        unsafe { pg_sys::contain_volatile_functions(self.node) }
    }

    /// Whether it has the same meaning as another.
    pub fn is_same_as(self, other: Expr) -> bool {
        // SAFETY: both nodes are valid and are read by their tags.
        unsafe {
            // Most that are compared are different columns, and a call costs more than a look.
            if (*self.node).type_ != (*other.node).type_ {
                return false;
            }
            if (*self.node).type_ == NodeTag::T_Var {
                let (a, b) = (self.node.cast::<pg_sys::Var>(), other.node.cast::<pg_sys::Var>());
                if ((*a).varno, (*a).varattno) != ((*b).varno, (*b).varattno) {
                    return false;
                }
            }
            pg_sys::equal(self.node.cast(), other.node.cast())
        }
    }

    /// The function and the arguments, if this is a call by name.
    pub fn as_call(self) -> Option<(Oid, Vec<Expr>)> {
        // SAFETY: the node is read by its tag; arguments are expressions.
        unsafe {
            if (*self.node).type_ != NodeTag::T_FuncExpr {
                return None;
            }
            let call = self.node.cast::<pg_sys::FuncExpr>();
            let arguments = lists::pointers((*call).args).map(|node| Expr { node }).collect();
            Some(((*call).funcid, arguments))
        }
    }

    /// The value of a text constant that is not NULL.
    pub fn constant_text(self) -> Option<String> {
        // SAFETY: the node is read by its tag; a constant of type text is a text.
        unsafe {
            if (*self.node).type_ != NodeTag::T_Const {
                return None;
            }
            let constant = self.node.cast::<pg_sys::Const>();
            if (*constant).constisnull || (*constant).consttype != pg_sys::TEXTOID {
                return None;
            }
            Some(varlena::text((*constant).constvalue).into_owned())
        }
    }
}

/// Whether a function tells nothing of its arguments, by failing neither: so says its LEAKPROOF.
pub fn is_leakproof(function: Oid) -> bool {
    // SAFETY: raises for an OID that is no function, which a query cannot have.
    unsafe { pg_sys::get_func_leakproof(function) }
}

/// Whether a function may have effects, or give another value for the same arguments.
pub fn is_volatile_function(function: Oid) -> bool {
    // SAFETY: as for `is_leakproof`.
    unsafe { pg_sys::func_volatile(function) == pg_sys::PROVOLATILE_VOLATILE as std::ffi::c_char }
}

unsafe extern "C-unwind" fn take_part(
    node: *mut pg_sys::Node,
    parts: *mut std::ffi::c_void,
) -> bool {
    if !node.is_null() {
        // SAFETY: `parts` passed the list.
        unsafe { (*parts.cast::<Vec<Expr>>()).push(Expr { node }) };
    }
    false
}

unsafe extern "C-unwind" fn take_function(function: Oid, functions: *mut std::ffi::c_void) -> bool {
    // SAFETY: `functions` passed the list.
    unsafe { (*functions.cast::<Vec<Oid>>()).push(function) };
    false
}
