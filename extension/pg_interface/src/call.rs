//! A call of a function: its arguments, and the state that it keeps: between the calls of one statement
//! (`FmgrInfo.fn_extra`), or as the state of an aggregate, of type internal.
//!
//! PostgreSQL drops an aggregate's state before it frees its memory, but after an error only frees the
//! memory, maybe later than the transaction has closed its files. So such a state says what is to be done
//! with it then.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::any::TypeId;
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{FromDatum, pg_guard};

use crate::unguarded::{self, allocated};
use crate::{array, catalog, fault, varlena};

/// The function that says whether two values of a type are equal, once it is known.
#[derive(Default)]
pub struct Equality {
    function: Option<*mut pg_sys::FmgrInfo>,
}

/// The arguments of a call, which is valid for `'c`.
#[derive(Clone, Copy)]
pub struct Arguments<'c> {
    call: pg_sys::FunctionCallInfo,
    /// Arguments between the model's name and the features, which do not count.
    between: usize,
    /// Arguments behind the features, which do not count either.
    behind: usize,
    lives: PhantomData<&'c ()>,
}

impl<'c> Arguments<'c> {
    /// # Safety
    /// The pointer is what PostgreSQL passed to the function that is running, or a frame like it, and
    /// is valid for `'c`. Its first argument is a text, if [`Arguments::model`] is called, and its
    /// second a float8, if [`Arguments::base_margin`] is.
    #[inline]
    pub unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        Arguments { call, between: 0, behind: 0, lives: PhantomData }
    }

    /// The same call, whose features begin one argument later, and the argument between, a float8. Nothing
    /// if it is NULL.
    pub fn base_margin(self) -> (Self, Option<f64>) {
        // SAFETY: the function that asks for it here declares such an argument there.
        let margin = self.get(1).and_then(|margin| unsafe { f64::from_datum(margin, false) });
        (Arguments { between: 1, ..self }, margin)
    }

    /// The same call without its last arguments, as many as that.
    pub fn without_last(self, behind: usize) -> Self {
        Arguments { behind, ..self }
    }

    /// The number of arguments that count.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    #[inline]
    pub fn len(self) -> usize {
        // SAFETY: `new` was given a valid call.
        unsafe { ((*self.call).nargs as usize).saturating_sub(self.between + self.behind) }
    }

    /// An argument, or nothing if it is NULL or there are fewer.
    #[inline]
    pub fn get(self, index: usize) -> Option<Datum> {
        if index >= self.len() {
            return None;
        }
        let position = if index == 0 { 0 } else { index + self.between };
        // SAFETY: the call has `nargs` arguments.
        let argument = unsafe { &*(*self.call).args.as_ptr().add(position) };
        (!argument.isnull).then_some(argument.value)
    }

    /// The model's name, which is the first argument of each function that asks for it here; nothing
    /// if it is NULL.
    #[inline]
    pub fn model(self) -> Option<Cow<'c, str>> {
        // SAFETY: the caller of `new` promises that it is a text.
        self.get(0).map(|model| unsafe { varlena::text(model) })
    }

    /// The call that pgrx passes on.
    #[allow(
        clippy::not_unsafe_ptr_arg_deref,
        reason = "only pgrx has such a pointer outside of unsafe code"
    )]
    pub fn of_pgrx(call: pg_sys::FunctionCallInfo) -> Self {
        fault::at("function: called");
        // SAFETY: pgrx passes on what PostgreSQL passed to it.
        unsafe { Arguments::new(call) }
    }

    /// Two arguments, nothing for a NULL: an integer, and behind it a text. The functions that ask for
    /// them declare them so.
    pub fn integer_and_text(self, index: usize) -> (Option<i32>, Option<Cow<'c, str>>) {
        let integer = self.integer(index);
        // SAFETY: its type is the one that is declared.
        let text = self.get(index + 1).map(|text| unsafe { varlena::text(text) });
        (integer, text)
    }

    /// A real[]: the lengths of its dimensions and its elements, nothing if it is NULL or has NULLs. The
    /// functions that ask for it declare such an argument.
    pub fn reals(self, index: usize) -> Option<(&'c [i32], &'c [f32])> {
        // SAFETY: its type is the one that is declared.
        self.get(index).and_then(|array| unsafe { array::numbers(array) })
    }

    /// A double precision[] that is the state of an aggregate, and its elements, which may be written to;
    /// nothing if it is NULL or has NULLs. The functions that ask for it declare such an argument, and
    /// run in an aggregate.
    pub fn state_doubles(self, index: usize) -> Option<(Datum, &'c mut [f64])> {
        let state = self.get(index).filter(|_| self.in_aggregate())?;
        // SAFETY: its type is the one that is declared; a state is the aggregate's own.
        unsafe { array::doubles_mut(state) }
    }

    /// A double precision, nothing if it is NULL. The functions that ask for it declare such an argument.
    #[inline]
    pub fn double(self, index: usize) -> Option<f64> {
        self.get(index).map(|number| f64::from_bits(number.value() as u64))
    }

    /// An integer, as [`Arguments::double`].
    pub fn integer(self, index: usize) -> Option<i32> {
        self.get(index).map(|integer| integer.value() as i32)
    }

    /// A boolean, as [`Arguments::double`].
    #[inline]
    pub fn boolean(self, index: usize) -> Option<bool> {
        self.get(index).map(|boolean| boolean.value() as u8 != 0)
    }

    /// The state of an aggregate whose first argument is of type internal: at the first row a new one.
    /// Nothing outside of an aggregate.
    #[inline]
    pub fn state<T: Default + Abandon + 'static>(self) -> Option<(Datum, &'c mut T)> {
        // SAFETY: `new` was given a valid call; only this function makes such states.
        unsafe { aggregate_state(self.call) }
    }

    /// Whether the function runs as a part of an aggregate, whose state it may then write to.
    #[inline]
    pub fn in_aggregate(self) -> bool {
        // SAFETY: `new` was given a valid call; a null pointer asks for no memory context.
        unsafe { unguarded::AggCheckCallContext(self.call, std::ptr::null_mut()) != 0 }
    }

    /// Whether two arguments are equal, by their type's operator and the call's collation; nothing if the
    /// type has none. Both are of one type and not NULL.
    pub fn are_equal(self, first: usize, second: usize, equality: &mut Equality) -> Option<bool> {
        let function = match equality.function {
            Some(function) => function,
            None => {
                let function = catalog::equality(self.looked_up_type(first))?;
                *equality.function.insert(function)
            }
        };
        let (first, second) = (self.get(first)?, self.get(second)?);
        // SAFETY: the function is the type's; the type cache lives as long as the backend.
        let equal =
            unsafe { pg_sys::FunctionCall2Coll(function, (*self.call).fncollation, first, second) };
        Some(equal.value() as u8 != 0)
    }

    /// The types of all arguments from one on, as the statement was written, or invalid OIDs where
    /// PostgreSQL does not know.
    #[inline]
    pub fn types_from(self, first: usize) -> impl Iterator<Item = Oid> + use<'c> {
        let nodes = self.nodes();
        (first + self.between..self.len() + self.between).map(move |index| {
            let known = nodes.get(index).and_then(|node| {
                // SAFETY: the arguments of a call are nodes, which are what their tags say.
                unsafe { type_of_node(node.ptr_value.cast()) }
            });
            known.unwrap_or_else(|| self.looked_up_type(index))
        })
    }

    /// Whether the first argument is the same in each call of the statement: a constant, or a parameter that
    /// the statement was given.
    pub fn first_is_fixed(self) -> bool {
        // SAFETY: the arguments of a call are nodes, which are what their tags say.
        self.nodes().first().is_some_and(|node| unsafe { is_fixed(node.ptr_value.cast()) })
    }

    /// Whether an argument is a column, as the statement was written.
    pub fn is_column(self, index: usize) -> bool {
        self.nodes().get(index + self.between).is_some_and(|node| {
            // SAFETY: the arguments of a call are nodes, which have a tag.
            unsafe { (*node.ptr_value.cast::<pg_sys::Node>()).type_ == pg_sys::NodeTag::T_Var }
        })
    }

    /// The expressions of the arguments, if the call is written as one of a function.
    #[inline]
    fn nodes(self) -> &'c [pg_sys::ListCell] {
        let Some(info) = self.info() else { return &[] };
        let expression = info.fn_expr;
        // SAFETY: the expression outlives the call; a node is what its tag says; a list has that many
        // cells.
        unsafe {
            if expression.is_null() || (*expression).type_ != pg_sys::NodeTag::T_FuncExpr {
                return &[];
            }
            let list = (*expression.cast::<pg_sys::FuncExpr>()).args;
            if list.is_null() {
                return &[];
            }
            std::slice::from_raw_parts((*list).elements, (*list).length as usize)
        }
    }

    #[cold]
    #[inline(never)]
    fn looked_up_type(self, index: usize) -> Oid {
        // SAFETY: the function takes a null pointer and any index.
        self.info().map_or(Oid::INVALID, |info| unsafe {
            pg_sys::get_call_expr_argtype(info.fn_expr, index as i32)
        })
    }

    /// The function that is called, or an invalid OID if it is not called from SQL.
    pub fn function(self) -> Oid {
        self.info().map_or(Oid::INVALID, |info| info.fn_oid)
    }

    /// What PostgreSQL knows of the function; nothing if it is not called from SQL.
    #[inline]
    fn info(self) -> Option<&'c pg_sys::FmgrInfo> {
        // SAFETY: `new` was given a valid call; its function's state outlives it.
        unsafe { (*self.call).flinfo.as_ref() }
    }

    /// NULL as the result of the call.
    #[inline]
    pub fn null(self) -> Datum {
        // SAFETY: `new` was given a valid call.
        unsafe { (*self.call).isnull = true };
        Datum::from(0)
    }

    /// The change that the function runs for as a trigger, if it runs for one.
    pub fn change(self) -> Option<Change<'c>> {
        // SAFETY: `new` was given a valid call; a context is a node, which is what its tag says.
        unsafe {
            let context = (*self.call).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                return None;
            }
            Some(Change { trigger: &*context.cast::<pg_sys::TriggerData>() })
        }
    }
}

/// The change of a table, or of a row of it, for which a trigger's function runs.
#[derive(Clone, Copy)]
pub struct Change<'c> {
    trigger: &'c pg_sys::TriggerData,
}

impl Change<'_> {
    /// The table.
    pub fn table(self) -> Oid {
        // SAFETY: PostgreSQL passes the table, open.
        unsafe { (*self.trigger.tg_relation).rd_id }
    }

    /// Whether the row is not yet changed.
    pub fn is_before(self) -> bool {
        self.trigger.tg_event & pg_sys::TRIGGER_EVENT_BEFORE != 0
    }

    fn is(self, operation: u32) -> bool {
        self.trigger.tg_event & pg_sys::TRIGGER_EVENT_OPMASK == operation
    }

    /// The role that a column of the row had.
    pub fn old_role(self, column: &CStr) -> Option<Oid> {
        let changed =
            self.is(pg_sys::TRIGGER_EVENT_UPDATE) || self.is(pg_sys::TRIGGER_EVENT_DELETE);
        changed.then_some(self.trigger.tg_trigtuple).and_then(|row| self.role(row, column))
    }

    /// The role that a column of the row gets.
    pub fn new_role(self, column: &CStr) -> Option<Oid> {
        self.new_row().and_then(|row| self.role(row, column))
    }

    fn new_row(self) -> Option<pg_sys::HeapTuple> {
        if self.is(pg_sys::TRIGGER_EVENT_UPDATE) {
            return Some(self.trigger.tg_newtuple);
        }
        self.is(pg_sys::TRIGGER_EVENT_INSERT).then_some(self.trigger.tg_trigtuple)
    }

    fn role(self, row: pg_sys::HeapTuple, column: &CStr) -> Option<Oid> {
        let mut null = true;
        // SAFETY: PostgreSQL passes a row of the table, which is open; a number above 0 is that of a column.
        unsafe {
            let description = (*self.trigger.tg_relation).rd_att;
            let number = pg_sys::SPI_fnumber(description, column.as_ptr());
            let is_role =
                number > 0 && pg_sys::SPI_gettypeid(description, number) == pg_sys::REGROLEOID;
            let value =
                is_role.then(|| pg_sys::SPI_getbinval(row, description, number, &raw mut null))?;
            (!null).then(|| Oid::from(value.value() as u32))
        }
    }

    /// What the function returns to leave the change as it is.
    pub fn unchanged(self) -> Datum {
        Datum::from(self.new_row().unwrap_or(self.trigger.tg_trigtuple))
    }
}

/// # Safety
/// The pointer is to a node.
unsafe fn is_fixed(node: *const pg_sys::Node) -> bool {
    // SAFETY: guaranteed by the caller; a node is what its tag says.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_Const => true,
            pg_sys::NodeTag::T_Param => {
                (*node.cast::<pg_sys::Param>()).paramkind == pg_sys::ParamKind::PARAM_EXTERN
            }
            pg_sys::NodeTag::T_RelabelType => {
                is_fixed((*node.cast::<pg_sys::RelabelType>()).arg.cast())
            }
            _ => false,
        }
    }
}

/// The type of a Var or a Const.
///
/// # Safety
/// The pointer is to a node.
#[inline]
unsafe fn type_of_node(node: *const pg_sys::Node) -> Option<Oid> {
    // SAFETY: guaranteed by the caller; a node is what its tag says.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_Var => Some((*node.cast::<pg_sys::Var>()).vartype),
            pg_sys::NodeTag::T_Const => Some((*node.cast::<pg_sys::Const>()).consttype),
            _ => None,
        }
    }
}

/// The function that a call of pgrx's is of.
pub fn called_function(call: pg_sys::FunctionCallInfo) -> Oid {
    Arguments::of_pgrx(call).function()
}

/// A value that a function keeps, behind its type, with what PostgreSQL remembers to drop it by.
#[repr(C)]
struct Kept<T> {
    type_id: TypeId,
    callback: pg_sys::MemoryContextCallback,
    value: T,
}

/// Where a function keeps a value between calls. There is one of these per call, so that what it
/// hands out is borrowed once.
pub struct CallState<'c> {
    call: pg_sys::FunctionCallInfo,
    lives: PhantomData<&'c ()>,
}

impl<'c> CallState<'c> {
    /// # Safety
    /// The pointer is what PostgreSQL passed to the function that is running, is valid for `'c`, and
    /// makes no other state.
    #[inline]
    pub unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        CallState { call, lives: PhantomData }
    }

    /// What an earlier call of the same expression has kept, or else a new value, which is kept until
    /// the statement ends and then dropped.
    #[inline]
    pub fn kept<T: Default + 'static>(self) -> &'c mut T {
        match self.earlier() {
            Some(kept) => kept,
            None => self.keep(T::default()),
        }
    }

    #[inline]
    fn earlier<T: 'static>(&self) -> Option<&'c mut T> {
        // SAFETY: `flinfo` outlives the call, and so does what was kept in it. Only `keep` writes
        // there, and what it writes begins with the type of the rest.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() {
                return None;
            }
            let type_id = (*info).fn_extra.cast::<TypeId>().as_ref()?;
            if *type_id != TypeId::of::<T>() {
                return None;
            }
            Some(&mut (*(*info).fn_extra.cast::<Kept<T>>()).value)
        }
    }

    fn keep<T: 'static>(self, value: T) -> &'c mut T {
        const { assert!(align_of::<Kept<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
        // SAFETY: the memory context of the function's state outlives all its calls, and calls back
        // before it frees what was taken from it; there is room for the value, and it is aligned.
        unsafe {
            let info = (*self.call).flinfo;
            // Without the function's state the current context is the only one known.
            let context =
                if info.is_null() { pg_sys::CurrentMemoryContext } else { (*info).fn_mcxt };
            let kept: *mut Kept<T> = unguarded::allocated(context, size_of::<Kept<T>>()).cast();
            kept.write(Kept {
                type_id: TypeId::of::<T>(),
                callback: pg_sys::MemoryContextCallback {
                    func: Some(drop_kept::<T>),
                    arg: kept.cast(),
                    next: std::ptr::null_mut(),
                },
                value,
            });
            unguarded::MemoryContextRegisterResetCallback(context, &raw mut (*kept).callback);
            if !info.is_null() {
                (*info).fn_extra = kept.cast();
            }
            &mut (*kept).value
        }
    }
}

/// # Safety
/// PostgreSQL calls it once, with the value that was registered.
#[pg_guard]
unsafe extern "C-unwind" fn drop_kept<T>(kept: *mut c_void) {
    // SAFETY: PostgreSQL passes what was registered, once.
    unsafe { std::ptr::drop_in_place(&raw mut (*kept.cast::<Kept<T>>()).value) }
}

/// The state that an earlier call of this expression has kept, or else what the closure makes. It is dropped
/// with the statement. The call is one of pgrx's, whose function keeps nothing else.
///
/// # Errors
/// Those of the closure.
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only pgrx has such a pointer outside of unsafe code"
)]
pub fn kept<'a, T: 'static, E>(
    call: pg_sys::FunctionCallInfo,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<&'a mut T, E> {
    // SAFETY: pgrx passes on what PostgreSQL passed to it; the state is made here alone.
    let state = unsafe { CallState::new(call) }.kept::<Option<T>>();
    match state {
        Some(kept) => Ok(kept),
        empty => Ok(empty.insert(make()?)),
    }
}

/// A value that can be dropped after its transaction was rolled back.
pub trait Abandon {
    /// Drops it without a call of PostgreSQL.
    fn abandon(self);
}

/// The state of an aggregate, and what PostgreSQL remembers to free it by.
#[repr(C)]
struct AggregateState<T> {
    callback: pg_sys::MemoryContextCallback,
    value: Option<T>,
}

/// The state that is a call's first argument, as that argument and as its value; a new one for a NULL.
/// Nothing outside of an aggregate.
///
/// # Safety
/// The call is what PostgreSQL passed to the function that is running, and valid for `'c`; if its first
/// argument is not NULL, this function has made it for the same type.
#[inline]
unsafe fn aggregate_state<'c, T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
) -> Option<(Datum, &'c mut T)> {
    let mut context = std::ptr::null_mut();
    // SAFETY: guaranteed by the caller; the context outlives the state, and calls back before it
    // frees it.
    unsafe {
        if unguarded::AggCheckCallContext(call, &raw mut context) == 0 {
            return None;
        }
        let first = (*call).args.as_slice((*call).nargs as usize).first()?;
        let kept = if first.isnull {
            new_aggregate_state::<T>(call, context)
        } else {
            first.value.cast_mut_ptr()
        };
        Some((Datum::from(kept), (*kept).value.as_mut()?))
    }
}

/// # Safety
/// As for [`aggregate_state`]; the context is the aggregate's.
#[cold]
unsafe fn new_aggregate_state<T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
    context: pg_sys::MemoryContext,
) -> *mut AggregateState<T> {
    const { assert!(align_of::<AggregateState<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
    // SAFETY: guaranteed by the caller; there is room for the value, and it is aligned.
    unsafe {
        let kept: *mut AggregateState<T> =
            allocated(context, size_of::<AggregateState<T>>()).cast();
        kept.write(AggregateState {
            callback: pg_sys::MemoryContextCallback {
                func: Some(free_aggregate::<T>),
                arg: kept.cast(),
                next: std::ptr::null_mut(),
            },
            value: Some(T::default()),
        });
        unguarded::MemoryContextRegisterResetCallback(context, &raw mut (*kept).callback);
        pg_sys::AggRegisterCallback(call, Some(end_aggregate::<T>), Datum::from(kept));
        kept
    }
}

/// The aggregate ends without an error.
///
/// # Safety
/// `kept` is what was registered, and not freed.
#[pg_guard]
unsafe extern "C-unwind" fn end_aggregate<T>(kept: Datum) {
    // SAFETY: PostgreSQL passes what was registered, before it frees it.
    unsafe { (*kept.cast_mut_ptr::<AggregateState<T>>()).value = None };
}

/// The memory is freed; if the aggregate has not ended, after an error.
///
/// # Safety
/// `kept` is what was registered, and this is called once.
#[pg_guard]
unsafe extern "C-unwind" fn free_aggregate<T: Abandon>(kept: *mut std::ffi::c_void) {
    // SAFETY: PostgreSQL passes what was registered, once.
    let value = unsafe { (*kept.cast::<AggregateState<T>>()).value.take() };
    value.into_iter().for_each(T::abandon);
}
