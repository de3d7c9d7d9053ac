//! A call of predict as the plan has it: the function, the model's name, and the places of its arguments among
//! the columns that rows keep.

use std::rc::Rc;

use pg_interface::Oid;
use pg_interface::call::Arguments;
use pg_interface::jsonb::ObjectType;
use pg_interface::nodes::{self, Expr};
use pg_interface::tuple::ColumnPositions;
use pgrx::pg_sys::{self, MemoryContext, NodeTag};

use super::arguments::ArgumentSource;
use super::plan_data::PlannedCall;
use super::rows::RowShape;
use crate::predictor::batch::BatchFunction;

pub(super) enum Place {
    /// A constant, which the frame holds.
    Frame,
    Column(usize),
    VirtualValues(ColumnPositions),
}

pub(crate) struct CallShape {
    pub(super) function: BatchFunction,
    /// The model's name, `None` if columns name it.
    pub(super) model: Option<Rc<str>>,
    /// The call in the plan.
    expression: *mut pg_sys::FuncExpr,
    /// The condition on which it is needed, over the scan tuple.
    condition: *mut pg_sys::Node,
    arguments: Vec<ArgumentSource>,
    /// A frame for the function, with the constant arguments.
    frame: pg_sys::FunctionCallInfo,
    /// The place of each argument among the kept columns.
    pub(super) places: Vec<Place>,
    /// The place of the first feature, if all are consecutive kept columns.
    pub(super) run: Option<usize>,
    /// The features are the columns that rows keep as f32, in their order, and the model is a constant.
    pub(super) takes_reals: bool,
    /// The place of the model's name, if the features are all other kept columns, in their order.
    name_beside_rows: Option<usize>,
}

impl CallShape {
    /// Creates the shape of the call in an entry of the scan tuple, needed on that condition. `None` unless the
    /// entry is a call.
    ///
    /// # Safety
    /// The entry is the planned call's, and the condition is over the tuple; they and the memory live as long
    /// as the plan.
    pub(super) unsafe fn new(
        entry: *mut pg_sys::TargetEntry,
        PlannedCall { function, arguments: sources }: PlannedCall,
        condition: *mut pg_sys::Node,
        memory: MemoryContext,
    ) -> Option<CallShape> {
        // SAFETY: the entry is valid.
        unsafe {
            let expression: *mut pg_sys::FuncExpr = (*entry).expr.cast();
            let (_, arguments) = Expr::new(expression.cast()).as_call()?;
            Some(CallShape {
                function,
                model: arguments.first()?.constant_text().map(Rc::from),
                expression,
                condition,
                arguments: sources,
                frame: frame(expression, &arguments, memory),
                places: Vec::new(),
                run: None,
                takes_reals: false,
                name_beside_rows: None,
            })
        }
    }

    pub(crate) fn function(&self) -> Oid {
        // SAFETY: the expression is a call of a function.
        unsafe { (*self.expression).funcid }
    }

    /// Returns the call with the arguments that are constants.
    pub(super) fn call(&self) -> Arguments<'_> {
        // SAFETY: the frame is one that the function could be called with.
        unsafe { Arguments::new(self.frame) }
    }

    /// Returns the condition on which it is needed, over the scan tuple.
    pub(super) fn condition(&self) -> *mut pg_sys::Node {
        self.condition
    }

    /// Returns an expression over rows of the plan below that gives the call, or NULL for a row that does not meet
    /// the condition, which is over such rows too.
    ///
    /// # Safety
    /// The columns are the target list of the plan below; PostgreSQL's memory may be allocated.
    pub(super) unsafe fn if_needed(
        &self,
        columns: *mut pg_sys::List,
        condition: *mut pg_sys::Node,
    ) -> *mut pg_sys::Node {
        // SAFETY: guaranteed by the caller; the copy is changed.
        unsafe {
            let call: *mut pg_sys::FuncExpr =
                pg_sys::copyObjectImpl(self.expression.cast_const().cast()).cast();
            for (cell, source) in nodes::list_cells((*call).args).zip(&self.arguments) {
                source.refer(cell, columns);
            }
            if_needed(call.cast(), condition)
        }
    }

    /// Finds the place of each argument among the kept columns.
    pub(crate) fn find_columns(&mut self, rows: &RowShape) {
        let kept = |number: &i32| rows.place(*number);
        let place = |(source, argument): (&ArgumentSource, Expr<'_>)| match source {
            ArgumentSource::Constant => Place::Frame,
            ArgumentSource::Column(number) => kept(number).map_or(Place::Frame, Place::Column),
            ArgumentSource::Parts(numbers) => Place::VirtualValues(ColumnPositions::new(
                numbers.iter().filter_map(kept).collect(),
                ObjectType::with_values(argument).map(|(object_type, _)| object_type),
            )),
        };
        // SAFETY: the expression is a call.
        let call = unsafe { Expr::new(self.expression.cast()) }.as_call();
        let arguments = call.map(|(_, arguments)| arguments).unwrap_or_default();
        self.places = self.arguments.iter().zip(arguments).map(place).collect();
        let mut features = self.places.iter().skip(1).map(Place::column);
        let first = features.next().flatten();
        self.run = first.filter(|first| features.zip(first + 1..).all(|(a, b)| a == Some(b)));
        let features: Vec<usize> =
            self.places.iter().skip(1).flat_map(Place::kept).copied().collect();
        let kept = 0..rows.columns.len();
        self.takes_reals = self.model.is_some() && features.iter().copied().eq(rows.reals());
        let are_columns = self.places.iter().all(|place| place.column().is_some());
        let name = self.places.first().and_then(Place::column).filter(|_| are_columns);
        let beside = |name: &usize| features.into_iter().eq(kept.filter(|column| column != name));
        self.name_beside_rows = name.filter(beside);
    }

    pub(crate) fn name_beside_rows(&self) -> Option<usize> {
        self.name_beside_rows
    }

    /// Returns the columns of the plan below that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = i32> {
        self.arguments.iter().flat_map(ArgumentSource::columns).copied()
    }
}

impl Place {
    fn kept(&self) -> &[usize] {
        match self {
            Place::Frame => &[],
            Place::Column(kept) => std::slice::from_ref(kept),
            Place::VirtualValues(places) => places.all(),
        }
    }

    fn column(&self) -> Option<usize> {
        match self {
            Place::Column(kept) => Some(*kept),
            Place::Frame | Place::VirtualValues(_) => None,
        }
    }
}

/// Returns `CASE WHEN condition THEN call END`, or the call if the condition is TRUE.
///
/// # Safety
/// Both are valid; PostgreSQL's memory may be allocated.
unsafe fn if_needed(call: *mut pg_sys::Node, condition: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: guaranteed by the caller; nodes are made by their tags.
    unsafe {
        if (*condition).type_ == NodeTag::T_Const {
            return call;
        }
        let (type_oid, collation) = (pg_sys::exprType(call), pg_sys::exprCollation(call));
        let when: *mut pg_sys::CaseWhen = nodes::make(NodeTag::T_CaseWhen);
        (*when).expr = condition.cast();
        (*when).result = call.cast();
        let case: *mut pg_sys::CaseExpr = nodes::make(NodeTag::T_CaseExpr);
        (*case).casetype = type_oid;
        (*case).casecollid = collation;
        (*case).args = nodes::list_of([when]);
        (*case).defresult = pg_sys::makeNullConst(type_oid, -1, collation).cast();
        case.cast()
    }
}

/// Makes a frame for the function, with its constant arguments.
///
/// # Safety
/// The call is valid, and PostgreSQL's memory may be allocated.
unsafe fn frame(
    call: *mut pg_sys::FuncExpr,
    arguments: &[Expr<'_>],
    memory: MemoryContext,
) -> pg_sys::FunctionCallInfo {
    let size = std::mem::offset_of!(pg_sys::FunctionCallInfoBaseData, args)
        + arguments.len() * size_of::<pg_sys::NullableDatum>();
    // SAFETY: the memory is as large as PostgreSQL's own frames for this many arguments.
    unsafe {
        // The function is not called by it, so its address is not looked up.
        let info: *mut pg_sys::FmgrInfo =
            pg_sys::MemoryContextAllocZero(memory, size_of::<pg_sys::FmgrInfo>()).cast();
        (*info).fn_oid = (*call).funcid;
        (*info).fn_mcxt = memory;
        (*info).fn_expr = call.cast();
        let frame: pg_sys::FunctionCallInfo = pg_sys::MemoryContextAllocZero(memory, size).cast();
        (*frame).flinfo = info;
        (*frame).fncollation = (*call).inputcollid;
        (*frame).nargs = arguments.len() as i16;
        for (index, argument) in arguments.iter().enumerate() {
            let node = argument.node();
            if (*node).type_ == NodeTag::T_Const {
                let constant = node.cast::<pg_sys::Const>();
                let place = (*frame).args.as_mut_ptr().add(index);
                (*place).value = (*constant).constvalue;
                (*place).isnull = (*constant).constisnull;
            }
        }
        frame
    }
}
