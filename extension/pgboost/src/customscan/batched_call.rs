//! One call of predict in a batch: the sources of its arguments, and its results.

use gbtrees::internals::prefetch_all;
use pg_interface::call::Arguments;
use pg_interface::jsonb::ObjectType;
use pg_interface::nodes::{self, Expr};
use pg_interface::signature::ArgSource;
use pg_interface::tuple::{ColumnPositions, VirtualValues};
use pg_interface::{Oid, Row, unguarded, varlena};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, NodeTag};

use super::arguments::ArgumentSource;
use super::plan_data::PlannedCall;
use super::rows::Rows;
use crate::predictor::batch::BatchPredictor;
use crate::predictor::many_models::ManyModels;

/// The number of rows after which the memory for reading them is reset.
const ROWS_PER_RESET: usize = 16;

/// The predictor of a call, by the way in which it names the model.
pub(crate) enum CallPredictor {
    /// By a constant.
    One(Box<BatchPredictor>),
    /// By columns of the row.
    Many(Box<ManyModels>),
}

impl CallPredictor {
    pub(crate) fn has_categories(&self) -> bool {
        match self {
            CallPredictor::One(predictor) => predictor.has_categories(),
            CallPredictor::Many(_) => true,
        }
    }

    /// Returns the bytes of a row, 0 before the model is known.
    pub(crate) fn row_bytes(&self) -> usize {
        match self {
            CallPredictor::One(predictor) => predictor.row_bytes(),
            CallPredictor::Many(predictor) => predictor.row_bytes(),
        }
    }

    /// Returns whether rows are grouped by the model that they name.
    pub(crate) fn is_grouped(&self) -> bool {
        matches!(self, CallPredictor::Many(_))
    }

    /// Returns whether larger batches would have more rows for each model.
    pub(crate) fn wants_more_rows(&self) -> bool {
        matches!(self, CallPredictor::Many(predictor) if predictor.wants_more_rows())
    }
}

enum Place {
    /// A constant, which the frame holds.
    Frame,
    Column(usize),
    VirtualValues(ColumnPositions),
}

pub(crate) struct Call {
    pub(crate) predictor: CallPredictor,
    /// The call in the plan.
    expression: *mut pg_sys::FuncExpr,
    /// The condition on which it is needed, over the scan tuple.
    condition: *mut pg_sys::Node,
    arguments: Vec<ArgumentSource>,
    /// The result of each row of the batch, or `None` to call the function itself.
    pub(crate) results: Vec<Option<Datum>>,
    /// A frame for the function, with the constant arguments.
    frame: pg_sys::FunctionCallInfo,
    /// The place of each argument among the kept columns.
    places: Vec<Place>,
    /// The place of the first feature, if all are consecutive kept columns.
    run: Option<usize>,
    /// The features are all the kept columns, in their order.
    takes_rows: bool,
    /// The place of the model's name, if the features are all other kept columns, in their order.
    name_beside_rows: Option<usize>,
}

impl Call {
    /// Creates the call of an entry of the scan tuple, needed on that condition. `None` unless the entry is a call.
    ///
    /// # Safety
    /// The entry is the planned call's, and the condition is over the tuple; the current memory context lives
    /// as long as the statement.
    pub(super) unsafe fn new(
        entry: *mut pg_sys::TargetEntry,
        PlannedCall { function, arguments: sources }: PlannedCall,
        condition: *mut pg_sys::Node,
    ) -> Option<Call> {
        // SAFETY: the entry is valid; everything is made in the current context.
        unsafe {
            let expression: *mut pg_sys::FuncExpr = (*entry).expr.cast();
            let (_, arguments) = Expr::new(expression.cast()).as_call()?;
            let predictor = match arguments.first()?.constant_text() {
                Some(model) => CallPredictor::One(Box::new(BatchPredictor::new(function, model))),
                None => CallPredictor::Many(Box::new(ManyModels::new(function))),
            };
            Some(Call {
                predictor,
                expression,
                condition,
                arguments: sources,
                results: Vec::new(),
                frame: frame(expression, &arguments),
                places: Vec::new(),
                run: None,
                takes_rows: false,
                name_beside_rows: None,
            })
        }
    }

    pub(crate) fn function(&self) -> Oid {
        // SAFETY: the expression is a call of a function.
        unsafe { (*self.expression).funcid }
    }

    /// Returns an expression over the scan tuple that gives the call, or NULL for a row that does not need it.
    ///
    /// # Safety
    /// The tuple is the scan tuple's target list; PostgreSQL's memory may be allocated.
    pub(super) unsafe fn if_needed(&self, tuple: *mut pg_sys::List) -> *mut pg_sys::Node {
        // SAFETY: guaranteed by the caller; the copy is changed.
        unsafe {
            let call: *mut pg_sys::FuncExpr =
                pg_sys::copyObjectImpl(self.expression.cast_const().cast()).cast();
            for (cell, source) in nodes::list_cells((*call).args).zip(&self.arguments) {
                source.refer(cell, tuple);
            }
            if_needed(call.cast(), self.condition)
        }
    }

    /// Describes the model and its version, if the current user may know it. `None` if columns name it.
    pub(crate) fn described(&self) -> Option<String> {
        match &self.predictor {
            CallPredictor::One(one) => Some(one.described(self.function())),
            CallPredictor::Many(_) => None,
        }
    }

    /// Finds the place of each argument among the kept columns.
    pub(crate) fn find_columns(&mut self, rows: &Rows) {
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
        self.takes_rows = features.iter().copied().eq(kept.clone());
        let are_columns = self.places.iter().all(|place| place.column().is_some());
        let name = self.places.first().and_then(Place::column).filter(|_| are_columns);
        let beside = |name: &usize| features.into_iter().eq(kept.filter(|column| column != name));
        self.name_beside_rows = name.filter(beside);
    }

    pub(crate) fn name_beside_rows(&self) -> Option<usize> {
        self.name_beside_rows
    }

    /// Returns the columns of the scan tuple that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = i32> {
        self.arguments.iter().flat_map(ArgumentSource::columns).copied()
    }

    /// Looks up the model, so that `row_bytes` is known.
    pub(crate) fn prepare(&mut self) {
        if let CallPredictor::One(predictor) = &mut self.predictor {
            // SAFETY: the frame is one that the function could be called with.
            predictor.prepare(unsafe { Arguments::new(self.frame) });
        }
    }

    /// Scores all rows. Results are made in the current memory context; memory for reading rows is
    /// allocated in `reading`, and freed every few rows.
    pub(crate) fn score(&mut self, rows: &mut Rows, reading: pg_sys::MemoryContext) {
        self.results.clear();
        self.results.resize(rows.count, None);
        // SAFETY: the frame is one that the function could be called with.
        let call = unsafe { Arguments::new(self.frame) };
        if let CallPredictor::One(predictor) = &mut self.predictor
            && let Some(reals) = rows.reals().filter(|_| self.takes_rows)
            && predictor.put_results_of(call, reals, &mut self.results)
        {
            return;
        }
        if let (CallPredictor::Many(predictor), Some(names)) = (&mut self.predictor, rows.names()) {
            // SAFETY: they are texts, and the rows keep copies.
            let texts = names.texts().iter().map(|text| unsafe { varlena::bytes(*text) });
            predictor.group_by_numbers(names.numbers(), texts);
            let cells_of = |row| RealCells { call, reals: rows.reals_of(row) };
            let fetch_ahead = |row| prefetch_all(rows.reals_of(row));
            put_results(predictor, call, reading, cells_of, fetch_ahead, &mut self.results);
            return;
        }
        rows.fill_cells();
        let rows = &*rows;
        let (places, run) = (&self.places[..], self.run);
        let cells_of = |row| {
            let (values, nulls) = rows.row(row);
            Cells { call, places, run, values, nulls }
        };
        match &mut self.predictor {
            CallPredictor::One(predictor) => {
                let cells_of = soon_freed(reading, cells_of);
                // SAFETY: the context lives as long as the node.
                unsafe {
                    let mut reading = PgMemoryContexts::For(reading);
                    reading.switch_to(|_| predictor.read(call, rows.count, cells_of));
                }
                predictor.put_results(&mut self.results);
            }
            CallPredictor::Many(predictor) => {
                let Some(Place::Column(place)) = places.first() else { return };
                let name = |row| {
                    let (values, nulls) = rows.row(row);
                    // SAFETY: the function's first argument is a text, and the rows keep copies.
                    Row::new(values, nulls).get(*place).map(|name| unsafe { varlena::bytes(name) })
                };
                let fetch_ahead = |row| {
                    let (values, nulls) = rows.row(row);
                    prefetch_all(values);
                    prefetch_all(nulls);
                };
                predictor.group(rows.count, name);
                put_results(predictor, call, reading, cells_of, fetch_ahead, &mut self.results);
            }
        }
    }
}

/// Predicts for grouped rows, model after model.
fn put_results<G: ArgSource>(
    predictor: &mut ManyModels,
    call: Arguments<'_>,
    reading: pg_sys::MemoryContext,
    cells_of: impl Fn(usize) -> G,
    fetch_ahead: impl Fn(usize),
    results: &mut [Option<Datum>],
) {
    let mut cells_of = soon_freed(reading, cells_of);
    let mut reading = PgMemoryContexts::For(reading);
    // SAFETY: the context lives as long as the node.
    while unsafe { reading.switch_to(|_| predictor.read_next(call, &mut cells_of, &fetch_ahead)) } {
        predictor.put_results(results);
    }
}

/// Wraps a source of rows so that the memory for reading them is reset every `ROWS_PER_RESET` rows.
fn soon_freed<G>(
    reading: pg_sys::MemoryContext,
    cells_of: impl Fn(usize) -> G,
) -> impl FnMut(usize) -> G {
    let mut read = 0;
    move |row| {
        if read % ROWS_PER_RESET == 0 {
            // SAFETY: nothing of the rows before is used any more: their features are numbers.
            unsafe { unguarded::MemoryContextReset(reading) };
        }
        read += 1;
        cells_of(row)
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

#[derive(Clone, Copy)]
struct Cells<'a> {
    call: Arguments<'a>,
    places: &'a [Place],
    run: Option<usize>,
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl ArgSource for Cells<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        match self.places.get(index) {
            Some(Place::Column(kept)) => Row::new(self.values, self.nulls).get(*kept),
            _ => self.call.get(index),
        }
    }

    #[inline]
    fn virtual_values(&self, index: usize) -> Option<VirtualValues<'_>> {
        match self.places.get(index) {
            Some(Place::VirtualValues(places)) => {
                Some(places.of(Row::new(self.values, self.nulls)))
            }
            _ => None,
        }
    }

    #[inline]
    fn run(&self) -> Option<(&[Datum], &[bool])> {
        let features = self.run?..self.run? + self.places.len() - 1;
        Some((self.values.get(features.clone())?, self.nulls.get(features)?))
    }
}

/// A row whose arguments behind the first are all of type real, NaN for NULL.
#[derive(Clone, Copy)]
struct RealCells<'a> {
    call: Arguments<'a>,
    reals: &'a [f32],
}

impl ArgSource for RealCells<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        let real = index.checked_sub(1).and_then(|feature| self.reals.get(feature));
        real.map_or_else(|| self.call.get(index), |real| Some(Datum::from(real.to_bits())))
    }

    #[inline]
    fn reals(&self) -> Option<&[f32]> {
        Some(self.reals)
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
unsafe fn frame(call: *mut pg_sys::FuncExpr, arguments: &[Expr<'_>]) -> pg_sys::FunctionCallInfo {
    let size = std::mem::offset_of!(pg_sys::FunctionCallInfoBaseData, args)
        + arguments.len() * size_of::<pg_sys::NullableDatum>();
    // SAFETY: the memory is as large as PostgreSQL's own frames for this many arguments.
    unsafe {
        // The function is not called by it, so its address is not looked up.
        let info: *mut pg_sys::FmgrInfo = pg_sys::palloc0(size_of::<pg_sys::FmgrInfo>()).cast();
        (*info).fn_oid = (*call).funcid;
        (*info).fn_mcxt = pg_sys::CurrentMemoryContext;
        (*info).fn_expr = call.cast();
        let frame: pg_sys::FunctionCallInfo = pg_sys::palloc0(size).cast();
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
