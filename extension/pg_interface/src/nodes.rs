//! The planner's expressions, and PostgreSQL's lists.
//!
//! An [`Expr`] is a node that lives for the planning `'p`. Whether it may be evaluated early is decided
//! elsewhere, by tag.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::array::{self, ArrayValue};
use crate::varlena;

/// An expression of a query being planned.
#[derive(Clone, Copy)]
pub struct Expr<'p> {
    node: *mut pg_sys::Node,
    planning: PhantomData<&'p ()>,
}

impl<'p> Expr<'p> {
    /// # Safety
    /// `node` is an expression, valid for `'p`.
    pub unsafe fn new(node: *mut pg_sys::Node) -> Self {
        Expr { node, planning: PhantomData }
    }

    /// Returns the expressions of a list.
    ///
    /// # Safety
    /// The list's elements are expressions, valid for `'p`.
    pub unsafe fn all(list: *mut pg_sys::List) -> Vec<Self> {
        // SAFETY: the caller passes a list of valid expressions.
        unsafe { list_pointers(list).map(|node| Expr::new(node)).collect() }
    }

    /// Returns the node.
    pub fn node(self) -> *mut pg_sys::Node {
        self.node
    }

    /// Returns the tag.
    pub fn tag(self) -> NodeTag {
        // SAFETY: the node is valid.
        unsafe { (*self.node).type_ }
    }

    /// Returns whether it is a column or an aggregate of an outer query level.
    pub fn is_of_outer_level(self) -> bool {
        // SAFETY: the node is valid and read according to its tag.
        unsafe {
            match self.tag() {
                NodeTag::T_Var => (*self.node.cast::<pg_sys::Var>()).varlevelsup > 0,
                NodeTag::T_Aggref => (*self.node.cast::<pg_sys::Aggref>()).agglevelsup > 0,
                _ => false,
            }
        }
    }

    /// Returns whether it is the result of a separate plan, which runs when it is first needed, or of an outer row.
    pub fn is_executor_parameter(self) -> bool {
        // SAFETY: the node is valid and read according to its tag.
        self.tag() == NodeTag::T_Param
            && unsafe { (*self.node.cast::<pg_sys::Param>()).paramkind }
                == pg_sys::ParamKind::PARAM_EXEC
    }

    /// Returns whether it is a call of a set-returning function or operator.
    pub fn returns_set(self) -> bool {
        // SAFETY: the node is valid and read according to its tag.
        unsafe {
            match self.tag() {
                NodeTag::T_FuncExpr => (*self.node.cast::<pg_sys::FuncExpr>()).funcretset,
                NodeTag::T_OpExpr => (*self.node.cast::<pg_sys::OpExpr>()).opretset,
                _ => false,
            }
        }
    }

    /// Returns the arguments and the FILTER of an aggregate or window function; empty for other nodes.
    pub fn as_aggregate(self) -> (Vec<Expr<'p>>, Option<Expr<'p>>) {
        // SAFETY: the node is read according to its tag, and owns its expressions.
        unsafe {
            let (arguments, filter) = match self.tag() {
                NodeTag::T_Aggref => {
                    let aggregate = self.node.cast::<pg_sys::Aggref>();
                    ((*aggregate).args, (*aggregate).aggfilter)
                }
                NodeTag::T_WindowFunc => {
                    let function = self.node.cast::<pg_sys::WindowFunc>();
                    ((*function).args, (*function).aggfilter)
                }
                _ => return (Vec::new(), None),
            };
            let filter = filter.cast::<pg_sys::Node>();
            (Expr::all(arguments), (!filter.is_null()).then(|| Expr::new(filter)))
        }
    }

    /// Returns the conditions and results of a CASE WHEN in turn, then its ELSE; empty for other nodes,
    /// and for CASE with a compared value.
    pub fn as_searched_case(self) -> Vec<Expr<'p>> {
        // SAFETY: the node is read according to its tag.
        let is_searched = self.tag() == NodeTag::T_CaseExpr
            && unsafe { (*self.node.cast::<pg_sys::CaseExpr>()).arg.is_null() };
        if is_searched { self.children() } else { Vec::new() }
    }

    /// Returns the operands of AND, OR and COALESCE; empty for other nodes.
    pub fn operands(self) -> Vec<Expr<'p>> {
        // SAFETY: the node is read according to its tag; operands are expressions.
        unsafe {
            match self.tag() {
                NodeTag::T_BoolExpr => Expr::all((*self.node.cast::<pg_sys::BoolExpr>()).args),
                NodeTag::T_CoalesceExpr => {
                    Expr::all((*self.node.cast::<pg_sys::CoalesceExpr>()).args)
                }
                _ => Vec::new(),
            }
        }
    }

    /// Returns whether it is an OR.
    pub fn is_or(self) -> bool {
        // SAFETY: the node is read according to its tag.
        self.tag() == NodeTag::T_BoolExpr
            && unsafe { (*self.node.cast::<pg_sys::BoolExpr>()).boolop }
                == pg_sys::BoolExprType::OR_EXPR
    }

    /// Builds `self IS NOT TRUE`, `self IS NOT FALSE`, and so on.
    pub fn is(self, test: pg_sys::BoolTestType::Type) -> Expr<'p> {
        // SAFETY: the tag is the type's, and the node is filled in.
        unsafe {
            let node: *mut pg_sys::BooleanTest = make(NodeTag::T_BooleanTest);
            (*node).arg = self.node.cast();
            (*node).booltesttype = test;
            (*node).location = -1;
            Expr::new(node.cast())
        }
    }

    /// Builds `self IS NULL`, of a row as a whole.
    pub fn is_null(self) -> Expr<'p> {
        // SAFETY: as above.
        unsafe {
            let node: *mut pg_sys::NullTest = make(NodeTag::T_NullTest);
            (*node).arg = self.node.cast();
            (*node).nulltesttype = pg_sys::NullTestType::IS_NULL;
            (*node).location = -1;
            Expr::new(node.cast())
        }
    }

    /// Builds `self OR other`.
    pub fn or(self, other: Expr<'p>) -> Expr<'p> {
        // SAFETY: builds a list and a node of expressions.
        unsafe {
            let operands = list_of([self.node, other.node]);
            Expr::new(pg_sys::makeBoolExpr(pg_sys::BoolExprType::OR_EXPR, operands, -1).cast())
        }
    }

    /// Returns whether it extracts elements or parts of a value.
    pub fn is_fetch(self) -> bool {
        // SAFETY: the node is valid and read according to its tag.
        unsafe {
            self.tag() == NodeTag::T_SubscriptingRef
                && (*self.node.cast::<pg_sys::SubscriptingRef>()).refassgnexpr.is_null()
        }
    }

    /// Returns whether it extracts elements and never raises an error.
    pub fn is_leakproof_fetch(self) -> bool {
        // SAFETY: the node is a subscript, whose container type has subscripting routines.
        unsafe {
            self.is_fetch() && {
                let container = (*self.node.cast::<pg_sys::SubscriptingRef>()).refcontainertype;
                let routines = pg_sys::getSubscriptingRoutines(container, std::ptr::null_mut());
                routines.as_ref().is_some_and(|routines| routines.fetch_leakproof)
            }
        }
    }

    /// Returns the direct subexpressions.
    pub fn children(self) -> Vec<Expr<'p>> {
        let mut children: Vec<Expr<'p>> = Vec::new();
        // SAFETY: PostgreSQL calls `add_child` with each child of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut children).cast();
            pg_sys::expression_tree_walker(self.node, Some(add_child), context);
        }
        children
    }

    /// Returns whether it, or an expression within it, is wanted.
    pub fn contains(self, mut is_wanted: fn(Expr<'_>) -> bool) -> bool {
        // SAFETY: the node is valid, and so is the function until this returns.
        unsafe { is_found(self.node, std::ptr::from_mut(&mut is_wanted).cast()) }
    }

    /// Returns whether a query, or an expression in it or in its subqueries, is wanted.
    pub fn query_contains(self, mut is_wanted: fn(Expr<'_>) -> bool) -> bool {
        // SAFETY: the node is valid, and so is the function until this returns.
        unsafe { is_found_in_query(self.node, std::ptr::from_mut(&mut is_wanted).cast()) }
    }

    /// Returns whether PostgreSQL takes it for ten values, since it does not know how many an array has: `ANY` of
    /// the array, or its elements as rows.
    pub fn is_of_unknown_array(self) -> bool {
        // SAFETY: the node is read according to its tag; arguments are expressions.
        unsafe {
            let array: Option<*mut pg_sys::Node> = match self.tag() {
                NodeTag::T_ScalarArrayOpExpr => {
                    let any = self.node.cast::<pg_sys::ScalarArrayOpExpr>();
                    if (*any).useOr { list_nth((*any).args, 1) } else { None }
                }
                NodeTag::T_FuncExpr => {
                    let call = self.node.cast::<pg_sys::FuncExpr>();
                    let is_unnest = (*call).funcid.to_u32() == pg_sys::F_UNNEST_ANYARRAY;
                    if is_unnest { list_nth((*call).args, 0) } else { None }
                }
                _ => None,
            };
            array.is_some_and(|array| !has_known_length(array))
        }
    }

    /// Returns the functions that the node itself calls, without its children's.
    pub fn functions(self) -> Vec<Oid> {
        let mut functions: Vec<Oid> = Vec::new();
        // SAFETY: PostgreSQL calls `add_function` with each function of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut functions).cast();
            pg_sys::check_functions_in_node(self.node, Some(add_function), context);
        }
        functions
    }

    /// Returns whether it calls a volatile function.
    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is valid.
        unsafe { pg_sys::contain_volatile_functions(self.node) }
    }

    /// Returns whether both are the same column to the planner, which goes by the number alone: an `UPDATE` of a
    /// foreign table has the whole row as a record, too.
    pub fn is_same_column(self, other: Expr<'_>) -> bool {
        let place = |expression: Expr<'_>| {
            // SAFETY: the node is valid and read by its tag.
            (expression.tag() == NodeTag::T_Var).then(|| unsafe {
                let column = expression.node.cast::<pg_sys::Var>();
                ((*column).varno, (*column).varattno, (*column).varlevelsup)
            })
        };
        place(self).is_some_and(|own| place(other) == Some(own))
    }

    /// Returns whether both are equal (`equal`).
    pub fn is_same_as(self, other: Expr<'_>) -> bool {
        // SAFETY: both nodes are valid and read according to their tags.
        unsafe {
            // Compares columns inline first, since most comparisons are of different columns.
            if self.tag() != other.tag() {
                return false;
            }
            if self.tag() == NodeTag::T_Var {
                let (a, b) = (self.node.cast::<pg_sys::Var>(), other.node.cast::<pg_sys::Var>());
                if ((*a).varno, (*a).varattno) != ((*b).varno, (*b).varattno) {
                    return false;
                }
            }
            pg_sys::equal(self.node.cast(), other.node.cast())
        }
    }

    /// Returns the function of a function call.
    pub fn called_function(self) -> Option<Oid> {
        // SAFETY: the node is read according to its tag.
        (self.tag() == NodeTag::T_FuncExpr)
            .then(|| unsafe { (*self.node.cast::<pg_sys::FuncExpr>()).funcid })
    }

    /// Returns the function and arguments of a function call.
    pub fn as_call(self) -> Option<(Oid, Vec<Expr<'p>>)> {
        if self.tag() != NodeTag::T_FuncExpr {
            return None;
        }
        // SAFETY: the node is a call; arguments are expressions.
        unsafe {
            let call = self.node.cast::<pg_sys::FuncExpr>();
            Some(((*call).funcid, Expr::all((*call).args)))
        }
    }

    /// Returns the elements of a one-dimensional ARRAY constructor.
    pub fn as_array(self) -> Option<Vec<Expr<'p>>> {
        if self.tag() != NodeTag::T_ArrayExpr {
            return None;
        }
        // SAFETY: the node is an ARRAY constructor; elements are expressions.
        unsafe {
            let array = self.node.cast::<pg_sys::ArrayExpr>();
            (!(*array).multidims).then(|| Expr::all((*array).elements))
        }
    }

    /// Returns how many elements the first dimension of an array of numbers has: a constant's, or an ARRAY
    /// constructor's.
    pub fn array_length(self) -> Option<usize> {
        // SAFETY: nodes are read according to their tags; a constant is of its type.
        unsafe {
            match self.tag() {
                NodeTag::T_ArrayExpr => {
                    let array = self.node.cast::<pg_sys::ArrayExpr>();
                    Some(list_pointers::<pg_sys::Node>((*array).elements).count())
                }
                NodeTag::T_Const => {
                    let constant = self.node.cast::<pg_sys::Const>();
                    let element = array::number_elements((*constant).consttype)?;
                    let array = (!(*constant).constisnull)
                        .then(|| ArrayValue::new((*constant).constvalue, element))?;
                    let first = array.lengths().first().copied().unwrap_or(0);
                    usize::try_from(first).ok()
                }
                _ => None,
            }
        }
    }

    /// Returns the keys and values of a `jsonb_build_object` call with constant, distinct keys.
    pub fn as_object(self) -> Option<Vec<(String, Expr<'p>)>> {
        let (function, arguments) = self.as_call()?;
        // SAFETY: the node is a call.
        let is_spread = unsafe { (*self.node.cast::<pg_sys::FuncExpr>()).funcvariadic };
        let (pairs, []) = arguments.as_chunks() else { return None };
        if function.to_u32() != pg_sys::F_JSONB_BUILD_OBJECT_ANY || is_spread {
            return None;
        }
        let mut object: Vec<(String, Expr<'p>)> = Vec::new();
        for [key, value] in pairs {
            let key = key.constant_text()?;
            if object.iter().any(|(known, _)| *known == key) {
                return None;
            }
            object.push((key, *value));
        }
        Some(object)
    }

    /// Returns the type of the value.
    pub fn type_oid(self) -> Oid {
        // SAFETY: the node is an expression.
        unsafe { pg_sys::exprType(self.node) }
    }

    /// Collects function calls, with functions and arguments, of an expression, a query or a list of
    /// them from a catalog, including subqueries.
    pub fn calls(self, found: &mut Vec<(Oid, Vec<Expr<'p>>)>) {
        // SAFETY: has no arguments; raises if the tree is too deep.
        unsafe { pg_sys::check_stack_depth() };
        found.extend(self.as_call());
        let children =
            if self.tag() == NodeTag::T_Query { self.query_children() } else { self.children() };
        children.into_iter().for_each(|child| child.calls(found));
    }

    fn query_children(self) -> Vec<Expr<'p>> {
        let mut children: Vec<Expr<'p>> = Vec::new();
        // SAFETY: PostgreSQL calls `add_child` with each child of a valid query.
        unsafe {
            let context = std::ptr::from_mut(&mut children).cast();
            pg_sys::query_tree_walker(self.node.cast(), Some(add_child), context, 0);
        }
        children
    }

    /// Returns a text argument's value, if a stored expression determines it.
    pub fn stored_text(self) -> StoredText {
        // SAFETY: the node is read according to its tag; the types have the same representation.
        unsafe {
            match self.tag() {
                NodeTag::T_RelabelType => {
                    let within = (*self.node.cast::<pg_sys::RelabelType>()).arg;
                    Expr::new(within.cast()).stored_text()
                }
                NodeTag::T_CollateExpr => {
                    let within = (*self.node.cast::<pg_sys::CollateExpr>()).arg;
                    Expr::new(within.cast()).stored_text()
                }
                NodeTag::T_Const => {
                    let constant = self.node.cast::<pg_sys::Const>();
                    if (*constant).constisnull {
                        return StoredText::Null;
                    }
                    if !matches!((*constant).consttype, pg_sys::TEXTOID | pg_sys::VARCHAROID) {
                        return StoredText::Other;
                    }
                    StoredText::Constant(varlena::text((*constant).constvalue).into_owned())
                }
                _ => StoredText::Other,
            }
        }
    }

    /// Returns the value of a non-NULL text constant, or of a literal of unknown type.
    pub fn constant_text(self) -> Option<String> {
        if self.tag() != NodeTag::T_Const {
            return None;
        }
        // SAFETY: the node is a constant; text values are varlenas, unknown ones C strings.
        unsafe {
            let constant = self.node.cast::<pg_sys::Const>();
            let value = (*constant).constvalue;
            match (*constant).consttype {
                _ if (*constant).constisnull => None,
                pg_sys::TEXTOID => Some(varlena::text(value).into_owned()),
                pg_sys::UNKNOWNOID => {
                    Some(CStr::from_ptr(value.cast_mut_ptr()).to_string_lossy().into_owned())
                }
                _ => None,
            }
        }
    }
}

/// A text argument in a stored expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredText {
    /// A constant.
    Constant(String),
    /// NULL
    Null,
    /// Determined at run time.
    Other,
}

/// Returns a function's name with its argument types, for messages.
pub fn function_name(function: Oid) -> String {
    // SAFETY: accepts any OID; returns a zero-terminated string in the current context.
    unsafe { CStr::from_ptr(pg_sys::format_procedure(function)).to_string_lossy().into_owned() }
}

/// Returns whether a function is LEAKPROOF: it reveals nothing about its arguments, even by errors.
pub fn is_leakproof(function: Oid) -> bool {
    // SAFETY: raises for an invalid function, which a query cannot have.
    unsafe { pg_sys::get_func_leakproof(function) }
}

/// Returns whether a function may have side effects or vary for the same arguments.
pub fn is_volatile_function(function: Oid) -> bool {
    // SAFETY: as for `is_leakproof`.
    unsafe { pg_sys::func_volatile(function) == pg_sys::PROVOLATILE_VOLATILE as std::ffi::c_char }
}

/// # Safety
/// `node` is null or valid, and `children` is the list passed by `children`.
unsafe extern "C-unwind" fn add_child(node: *mut pg_sys::Node, children: *mut c_void) -> bool {
    if !node.is_null() {
        // SAFETY: `children` passed the list; the node belongs to the walked expression.
        unsafe { (*children.cast::<Vec<Expr<'_>>>()).push(Expr::new(node)) };
    }
    false
}

/// # Safety
/// `node` is null or valid, and `is_wanted` is the function passed by `contains`.
unsafe extern "C-unwind" fn is_found(node: *mut pg_sys::Node, is_wanted: *mut c_void) -> bool {
    // SAFETY: guaranteed by the caller; PostgreSQL calls this with each child of a valid node.
    unsafe {
        !node.is_null()
            && ((*is_wanted.cast::<fn(Expr<'_>) -> bool>())(Expr::new(node))
                || pg_sys::expression_tree_walker(node, Some(is_found), is_wanted))
    }
}

/// # Safety
/// `node` is null or valid, and `is_wanted` is the function passed by `query_contains`.
unsafe extern "C-unwind" fn is_found_in_query(
    node: *mut pg_sys::Node,
    is_wanted: *mut c_void,
) -> bool {
    // SAFETY: guaranteed by the caller; PostgreSQL calls this with each child of a valid node.
    unsafe {
        if node.is_null() {
            return false;
        }
        if (*node).type_ == NodeTag::T_Query {
            return pg_sys::query_tree_walker(node.cast(), Some(is_found_in_query), is_wanted, 0);
        }
        (*is_wanted.cast::<fn(Expr<'_>) -> bool>())(Expr::new(node))
            || pg_sys::expression_tree_walker(node, Some(is_found_in_query), is_wanted)
    }
}

/// Returns whether an array is a constant or an ARRAY constructor, maybe converted.
///
/// # Safety
/// The node is an expression, and valid.
unsafe fn has_known_length(array: *mut pg_sys::Node) -> bool {
    // SAFETY: the node is read according to its tag.
    unsafe {
        match (*array).type_ {
            NodeTag::T_Const | NodeTag::T_ArrayExpr => true,
            NodeTag::T_RelabelType => {
                has_known_length((*array.cast::<pg_sys::RelabelType>()).arg.cast())
            }
            NodeTag::T_ArrayCoerceExpr => {
                has_known_length((*array.cast::<pg_sys::ArrayCoerceExpr>()).arg.cast())
            }
            _ => false,
        }
    }
}

/// # Safety
/// `functions` is the list passed by `functions`.
unsafe extern "C-unwind" fn add_function(function: Oid, functions: *mut c_void) -> bool {
    // SAFETY: `functions` passed the list.
    unsafe { (*functions.cast::<Vec<Oid>>()).push(function) };
    false
}

/// Returns a list's pointers; null is the empty list.
///
/// # Safety
/// The list is valid, has pointers to `T`, and outlives the iterator unchanged.
pub unsafe fn list_pointers<T>(list: *mut pg_sys::List) -> impl Iterator<Item = *mut T> {
    // SAFETY: the caller passes a valid list of pointers.
    unsafe { list_cells(list) }.map(|cell| unsafe { (*cell).ptr_value.cast() })
}

/// Returns the pointer at index `place` of a list, if there is one.
///
/// # Safety
/// The list is valid and of pointers to that type.
pub unsafe fn list_nth<T>(list: *mut pg_sys::List, place: usize) -> Option<*mut T> {
    // SAFETY: guaranteed by the caller; a list has as many cells as its length.
    unsafe {
        let list = list.as_ref().filter(|list| place < list.length as usize)?;
        Some((*list.elements.add(place)).ptr_value.cast())
    }
}

/// Returns a list's integers.
///
/// # Safety
/// The list is valid, has integers, and outlives the iterator unchanged.
pub unsafe fn list_integers(list: *mut pg_sys::List) -> impl Iterator<Item = i32> {
    // SAFETY: the caller passes a valid list of integers.
    unsafe { list_cells(list) }.map(|cell| unsafe { (*cell).int_value })
}

/// Creates a zeroed node with its tag (`makeNode`).
///
/// # Safety
/// `T` is the type of the tag; a memory context is current.
pub unsafe fn make<T>(tag: NodeTag) -> *mut T {
    // SAFETY: the allocation has the type's size, and nodes begin with their tag.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>());
        (*node.cast::<pg_sys::Node>()).type_ = tag;
        node.cast()
    }
}

/// Creates a list of pointers.
///
/// # Safety
/// A memory context is current, as in any running statement.
pub unsafe fn list_of<T>(pointers: impl IntoIterator<Item = *mut T>) -> *mut pg_sys::List {
    pointers.into_iter().fold(std::ptr::null_mut(), |list, pointer| {
        // SAFETY: `list` is null or a list of pointers.
        unsafe { pg_sys::lappend(list, pointer.cast()) }
    })
}

/// Returns a list's cells.
///
/// # Safety
/// The list is valid, outlives the iterator, and keeps its length.
pub unsafe fn list_cells(list: *mut pg_sys::List) -> impl Iterator<Item = *mut pg_sys::ListCell> {
    // SAFETY: a list has as many cells as its length.
    let (elements, length) = unsafe {
        if list.is_null() {
            (std::ptr::null_mut(), 0)
        } else {
            ((*list).elements, (*list).length as usize)
        }
    };
    // SAFETY: the index is below the length.
    (0..length).map(move |index| unsafe { elements.add(index) })
}
