//! The planner's expressions, and PostgreSQL's lists.
//!
//! An [`Expr`] is a node that the planner is working on: `'p` is the life of the planning that passed it.
//! Whether a node may be evaluated early is judged elsewhere, by its tag.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::varlena;

/// An expression of a query that is being planned.
#[derive(Clone, Copy)]
pub struct Expr<'p> {
    node: *mut pg_sys::Node,
    planning: PhantomData<&'p ()>,
}

impl<'p> Expr<'p> {
    /// # Safety
    /// The node is an expression and is valid for `'p`.
    pub unsafe fn new(node: *mut pg_sys::Node) -> Self {
        Expr { node, planning: PhantomData }
    }

    /// The expressions of a list.
    ///
    /// # Safety
    /// The list is of expressions, and valid for `'p`.
    pub unsafe fn all(list: *mut pg_sys::List) -> Vec<Self> {
        // SAFETY: guaranteed by the caller.
        unsafe { list_pointers(list).map(|node| Expr::new(node)).collect() }
    }

    /// The node.
    pub fn node(self) -> *mut pg_sys::Node {
        self.node
    }

    /// The node's tag.
    pub fn tag(self) -> NodeTag {
        // SAFETY: the node is valid.
        unsafe { (*self.node).type_ }
    }

    /// Whether it is a column or an aggregate of a query level further out.
    pub fn is_of_outer_level(self) -> bool {
        // SAFETY: the node is valid and is read by its tag.
        unsafe {
            match self.tag() {
                NodeTag::T_Var => (*self.node.cast::<pg_sys::Var>()).varlevelsup > 0,
                NodeTag::T_Aggref => (*self.node.cast::<pg_sys::Aggref>()).agglevelsup > 0,
                _ => false,
            }
        }
    }

    /// Whether it is a call of a function or an operator that returns a set.
    pub fn returns_set(self) -> bool {
        // SAFETY: the node is valid and is read by its tag.
        unsafe {
            match self.tag() {
                NodeTag::T_FuncExpr => (*self.node.cast::<pg_sys::FuncExpr>()).funcretset,
                NodeTag::T_OpExpr => (*self.node.cast::<pg_sys::OpExpr>()).opretset,
                _ => false,
            }
        }
    }

    /// The arguments of an aggregate or a window function, and the condition of its FILTER; none of another
    /// node.
    pub fn as_aggregate(self) -> (Vec<Expr<'p>>, Option<Expr<'p>>) {
        // SAFETY: the node is read by its tag; its parts are expressions that belong to it.
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

    /// The conditions and the results of CASE WHEN, one after another, and then what ELSE gives; none of
    /// another node, nor of CASE with a value that is compared.
    pub fn as_searched_case(self) -> Vec<Expr<'p>> {
        // SAFETY: the node is read by its tag.
        let is_searched = self.tag() == NodeTag::T_CaseExpr
            && unsafe { (*self.node.cast::<pg_sys::CaseExpr>()).arg.is_null() };
        if is_searched { self.children() } else { Vec::new() }
    }

    /// The operands of AND, OR and COALESCE; none of another node.
    pub fn operands(self) -> Vec<Expr<'p>> {
        // SAFETY: the node is read by its tag; operands are expressions.
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

    /// Whether it is an OR.
    pub fn is_or(self) -> bool {
        // SAFETY: the node is read by its tag.
        self.tag() == NodeTag::T_BoolExpr
            && unsafe { (*self.node.cast::<pg_sys::BoolExpr>()).boolop }
                == pg_sys::BoolExprType::OR_EXPR
    }

    /// `self IS NOT TRUE`, `self IS NOT FALSE`, and so on.
    pub fn is(self, test: pg_sys::BoolTestType::Type) -> Expr<'p> {
        // SAFETY: the tag is the type's; the node is filled in.
        unsafe {
            let node: *mut pg_sys::BooleanTest = make(NodeTag::T_BooleanTest);
            (*node).arg = self.node.cast();
            (*node).booltesttype = test;
            (*node).location = -1;
            Expr::new(node.cast())
        }
    }

    /// `self IS NULL`, of a row as a whole.
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

    /// `self OR other`
    pub fn or(self, other: Expr<'p>) -> Expr<'p> {
        // SAFETY: makes a list and a node of expressions.
        unsafe {
            let operands = list_of([self.node, other.node]);
            Expr::new(pg_sys::makeBoolExpr(pg_sys::BoolExprType::OR_EXPR, operands, -1).cast())
        }
    }

    /// Whether it takes elements or parts out of a value.
    pub fn is_fetch(self) -> bool {
        // SAFETY: the node is valid and is read by its tag.
        unsafe {
            self.tag() == NodeTag::T_SubscriptingRef
                && (*self.node.cast::<pg_sys::SubscriptingRef>()).refassgnexpr.is_null()
        }
    }

    /// Whether it takes elements out of a value and never fails.
    pub fn is_leakproof_fetch(self) -> bool {
        // SAFETY: the node is a subscript, whose container's type has routines.
        unsafe {
            self.is_fetch() && {
                let container = (*self.node.cast::<pg_sys::SubscriptingRef>()).refcontainertype;
                let routines = pg_sys::getSubscriptingRoutines(container, std::ptr::null_mut());
                routines.as_ref().is_some_and(|routines| routines.fetch_leakproof)
            }
        }
    }

    /// The expressions directly below the node.
    pub fn children(self) -> Vec<Expr<'p>> {
        let mut children: Vec<Expr<'p>> = Vec::new();
        // SAFETY: PostgreSQL calls the function with each child of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut children).cast();
            pg_sys::expression_tree_walker(self.node, Some(add_child), context);
        }
        children
    }

    /// The functions that the node itself calls, without those of its children.
    pub fn functions(self) -> Vec<Oid> {
        let mut functions: Vec<Oid> = Vec::new();
        // SAFETY: PostgreSQL calls the function with each function of a valid node.
        unsafe {
            let context = std::ptr::from_mut(&mut functions).cast();
            pg_sys::check_functions_in_node(self.node, Some(add_function), context);
        }
        functions
    }

    /// Whether it calls a volatile function.
    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is valid.
        unsafe { pg_sys::contain_volatile_functions(self.node) }
    }

    /// Whether both are equal (`equal`).
    pub fn is_same_as(self, other: Expr<'_>) -> bool {
        // SAFETY: both nodes are valid and are read by their tags.
        unsafe {
            // Most that are compared are different columns, and a call costs more than a look.
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

    /// The function and the arguments, if this is a call by name.
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

    /// The elements, if this is an array of one dimension that is written as its elements.
    pub fn as_array(self) -> Option<Vec<Expr<'p>>> {
        if self.tag() != NodeTag::T_ArrayExpr {
            return None;
        }
        // SAFETY: the node is an array's; its elements are expressions.
        unsafe {
            let array = self.node.cast::<pg_sys::ArrayExpr>();
            (!(*array).multidims).then(|| Expr::all((*array).elements))
        }
    }

    /// The keys and the values, if this is an object that `jsonb_build_object` builds of constant keys, no
    /// two of which are equal.
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

    /// The type of its value.
    pub fn type_oid(self) -> Oid {
        // SAFETY: the node is an expression.
        unsafe { pg_sys::exprType(self.node) }
    }

    /// Collects the calls by name, with the functions and the arguments, of an expression, a query or a list
    /// of them, as a catalog stores it, queries in it included.
    pub fn calls(self, found: &mut Vec<(Oid, Vec<Expr<'p>>)>) {
        // SAFETY: takes nothing; raises where the tree is too deep.
        unsafe { pg_sys::check_stack_depth() };
        found.extend(self.as_call());
        let children =
            if self.tag() == NodeTag::T_Query { self.query_children() } else { self.children() };
        children.into_iter().for_each(|child| child.calls(found));
    }

    fn query_children(self) -> Vec<Expr<'p>> {
        let mut children: Vec<Expr<'p>> = Vec::new();
        // SAFETY: PostgreSQL calls the function with each child of a valid query.
        unsafe {
            let context = std::ptr::from_mut(&mut children).cast();
            pg_sys::query_tree_walker(self.node.cast(), Some(add_child), context, 0);
        }
        children
    }

    /// The value of an argument of type text, as far as a stored expression determines it.
    pub fn stored_text(self) -> StoredText {
        // SAFETY: the node is read by its tag; the types are stored alike.
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

    /// The value of a text constant that is not NULL, or of a literal whose type is not known.
    pub fn constant_text(self) -> Option<String> {
        if self.tag() != NodeTag::T_Const {
            return None;
        }
        // SAFETY: the node is a constant; one of type text is a text, one of unknown type a C string.
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

/// A text in a stored expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredText {
    /// A constant.
    Constant(String),
    /// NULL
    Null,
    /// It is known when the expression is evaluated.
    Other,
}

/// A function's name, with its arguments' types, as a message has it.
pub fn function_name(function: Oid) -> String {
    // SAFETY: takes any OID; returns a string that ends in a NUL, in this statement's memory.
    unsafe { CStr::from_ptr(pg_sys::format_procedure(function)).to_string_lossy().into_owned() }
}

/// Whether a function is LEAKPROOF: it reveals nothing about its arguments, not even by an error.
pub fn is_leakproof(function: Oid) -> bool {
    // SAFETY: raises for an OID that is no function, which a query cannot have.
    unsafe { pg_sys::get_func_leakproof(function) }
}

/// Whether a function may have effects, or return another value for the same arguments.
pub fn is_volatile_function(function: Oid) -> bool {
    // SAFETY: as for `is_leakproof`.
    unsafe { pg_sys::func_volatile(function) == pg_sys::PROVOLATILE_VOLATILE as std::ffi::c_char }
}

/// # Safety
/// The node is null or valid, and the list is the one that `children` passed.
unsafe extern "C-unwind" fn add_child(node: *mut pg_sys::Node, children: *mut c_void) -> bool {
    if !node.is_null() {
        // SAFETY: `children` passed the list; the node belongs to the expression that is walked.
        unsafe { (*children.cast::<Vec<Expr<'_>>>()).push(Expr::new(node)) };
    }
    false
}

/// # Safety
/// The list is the one that `functions` passed.
unsafe extern "C-unwind" fn add_function(function: Oid, functions: *mut c_void) -> bool {
    // SAFETY: `functions` passed the list.
    unsafe { (*functions.cast::<Vec<Oid>>()).push(function) };
    false
}

/// The pointers of a list; none for an empty one, which is a null pointer.
///
/// # Safety
/// The list is valid and of pointers to that type, and outlives the iterator unchanged.
pub unsafe fn list_pointers<T>(list: *mut pg_sys::List) -> impl Iterator<Item = *mut T> {
    // SAFETY: guaranteed by the caller.
    unsafe { list_cells(list) }.map(|cell| unsafe { (*cell).ptr_value.cast() })
}

/// The integers of a list.
///
/// # Safety
/// The list is valid and of integers, and outlives the iterator unchanged.
pub unsafe fn list_integers(list: *mut pg_sys::List) -> impl Iterator<Item = i32> {
    // SAFETY: guaranteed by the caller.
    unsafe { list_cells(list) }.map(|cell| unsafe { (*cell).int_value })
}

/// A node of zeros except for its tag (`makeNode`), to be filled in.
///
/// # Safety
/// The type is the one that the tag stands for; PostgreSQL's memory may be taken.
pub unsafe fn make<T>(tag: NodeTag) -> *mut T {
    // SAFETY: guaranteed by the caller: a node begins with its tag.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>());
        (*node.cast::<pg_sys::Node>()).type_ = tag;
        node.cast()
    }
}

/// A list of these pointers; none is a null pointer.
///
/// # Safety
/// Called where PostgreSQL's memory may be taken, as everywhere in a running statement.
pub unsafe fn list_of<T>(pointers: impl IntoIterator<Item = *mut T>) -> *mut pg_sys::List {
    pointers.into_iter().fold(std::ptr::null_mut(), |list, pointer| {
        // SAFETY: what was made so far is a list of pointers.
        unsafe { pg_sys::lappend(list, pointer.cast()) }
    })
}

/// The cells of a list.
///
/// # Safety
/// The list is valid and outlives the iterator, and keeps its length.
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
