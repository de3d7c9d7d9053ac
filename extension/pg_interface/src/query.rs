//! Read-only queries under the active snapshot, with the caller's privileges.
//!
//! The text is prepared unchanged. A caller's query must be a single SELECT; its rows go from the
//! executor to a closure without copies or a stored result. pgrx's `Spi::get_one` connects for writing,
//! which takes a transaction id and fails on a standby; its `select` takes a newer snapshot after a
//! write.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{AnyElement, FromDatum, IntoDatum, PgList, PgMemoryContexts, Spi, pg_guard};

use crate::array::{ArrayValue, ElementType, number_elements};
use crate::report::with_reserve;
use crate::session::with_setting;
use crate::value::{Number, NumberType, PlainOutput, ScalarType, Value};
use crate::varlena::owned_string;
use crate::{catalog, fault, tuple, unguarded};

/// A text that is not a single SELECT.
#[derive(Clone, Copy, Debug)]
pub struct NotOneSelect {
    /// The argument with the text.
    pub argument: &'static str,
    /// The reason, as a sentence.
    pub detail: &'static str,
}

/// A result column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, not necessarily unique.
    pub name: String,
    /// The type.
    pub type_oid: Oid,
}

/// A row, valid during the closure's call.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    values: tuple::Row<'a>,
    types: &'a [FieldType],
}

impl<'a> Row<'a> {
    /// Returns the field at a zero-based position; `None` for NULL.
    #[inline]
    pub fn get(self, position: usize) -> Option<Field<'a>> {
        let field_type = self.types.get(position)?;
        self.values.get(position).map(|datum| Field { datum, field_type })
    }
}

impl Row<'_> {
    /// Reads consecutive real columns from `first` on; NaN for NULL.
    #[inline]
    pub fn read_reals(self, first: usize, reals: &mut [f32]) {
        self.values.read_reals(first, reals);
    }
}

struct FieldType {
    /// How to read values, if they are numbers or text.
    scalar: Option<ScalarType>,
    /// How to read elements, if values are arrays of numbers.
    element: Option<ElementType>,
    /// The output function.
    output: Oid,
}

/// A non-NULL field. Reading it allocates in the row's memory.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    datum: Datum,
    field_type: &'a FieldType,
}

impl<'a> Field<'a> {
    /// Returns the value, if it is a number or text.
    #[inline]
    pub fn value(self) -> Option<Value<'a>> {
        // SAFETY: the datum is not NULL and of the type that the executor declared.
        self.field_type.scalar.map(|scalar| unsafe { Value::new(self.datum, scalar) })
    }

    /// Returns a number as f64; `None` for other types.
    #[inline]
    pub fn number(self) -> Option<f64> {
        match self.value() {
            Some(Value::Number(number)) => Some(number.double()),
            _ => None,
        }
    }

    /// Returns the elements of an array of numbers of any dimensions; `None` for NULL.
    pub fn elements(self) -> Option<impl ExactSizeIterator<Item = Option<Number<'a>>>> {
        self.array().map(ArrayValue::numbers)
    }

    /// Returns the elements of a one-dimensional real[] without NULLs.
    pub fn reals(self) -> Option<&'a [f32]> {
        self.array()?.plain_reals()
    }

    fn array(self) -> Option<ArrayValue<'a>> {
        // SAFETY: the datum is not NULL, and an array of the element type.
        self.field_type.element.map(|element| unsafe { ArrayValue::new(self.datum, element) })
    }

    /// Returns the text of a category or class label, as pgboost compares it.
    #[inline]
    pub fn label(self) -> Cow<'a, str> {
        match self.value() {
            Some(Value::Text(text)) => text.text(),
            Some(Value::Number(number)) if number.number_type() == NumberType::Bool => {
                Cow::Borrowed(if number.single() == 0.0 { "false" } else { "true" })
            }
            _ => Cow::Owned(self.written()),
        }
    }

    /// Returns [`Field::label`] with dates in ISO 8601, whatever the session's settings are.
    pub fn stored_label(self) -> Cow<'a, str> {
        let _plain = PlainOutput::of_all();
        self.label()
    }

    /// Returns the text of a feature's category, the same for a number of any type; `None` for NaN, which is missing.
    pub fn category(self) -> Option<Cow<'a, str>> {
        match self.value() {
            Some(Value::Number(number)) if number.number_type().is_plain() => {
                (!number.double().is_nan()).then(|| Cow::Owned(number.shortest_text()))
            }
            _ => Some(self.label()),
        }
    }

    /// Returns the value's text by its type's output function, with all digits of a number.
    pub fn written(self) -> String {
        let _plain = PlainOutput::of_numbers();
        // SAFETY: as above.
        unsafe { written(self.datum, self.field_type.output) }
    }
}

/// Returns an argument's text by its type's output function.
pub fn argument_text(argument: &AnyElement) -> String {
    // SAFETY: the value is not NULL and of its stated type.
    unsafe { written(argument.datum(), catalog::output_function(argument.oid())) }
}

/// # Safety
/// `value` is not NULL and of the output function's type.
unsafe fn written(value: Datum, output: Oid) -> String {
    // SAFETY: the value is of the function's type; the result is a new string.
    unsafe { owned_string(pg_sys::OidOutputFunctionCall(output, value)) }
}

/// Returns the columns of a query.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's are raised.
pub fn columns(query: &str, argument: &'static str) -> Result<Vec<Column>, NotOneSelect> {
    Spi::connect(|_| Ok(prepare(query, argument)?.columns))
}

/// Runs a query and passes each row, cut to its first `width` columns, to the closure, which returns
/// whether to continue.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's are raised.
pub fn run(
    query: &str,
    argument: &'static str,
    width: usize,
    each: &mut Each<'_>,
) -> Result<(), NotOneSelect> {
    Spi::connect(|_| {
        let prepared = prepare(query, argument)?;
        // Scans start at the first page, even if another scan of the table is running, so that rows of
        // an unchanged table come in the same order each time.
        with_setting(c"synchronize_seqscans", c"off", || {
            with_reserve(|| prepared.execute(argument, width, each))
        })
    })
}

/// Called with each row; returns whether to continue.
pub type Each<'a> = dyn FnMut(Row<'_>) -> bool + 'a;

/// A prepared query, valid while SPI is connected.
struct Prepared {
    plan: pg_sys::SPIPlanPtr,
    columns: Vec<Column>,
}

fn prepare(query: &str, argument: &'static str) -> Result<Prepared, NotOneSelect> {
    let refuse = |detail| Err(NotOneSelect { argument, detail });
    let Ok(text) = CString::new(query) else { return refuse("It has a NUL character.") };
    // SAFETY: SPI is connected; the plan and its contents live until it is finished.
    unsafe {
        let plan = pg_sys::SPI_prepare(text.as_ptr(), 0, std::ptr::null_mut());
        if plan.is_null() {
            return refuse("It cannot be prepared.");
        }
        let sources = pg_sys::SPI_plan_get_plan_sources(plan);
        if sources.is_null() || (*sources).length != 1 {
            return refuse("There must be one statement, no more and no less.");
        }
        let source: *mut pg_sys::CachedPlanSource = (*(*sources).elements).ptr_value.cast();
        if (*source).commandTag != pg_sys::CommandTag::CMDTAG_SELECT
            || (*source).resultDesc.is_null()
        {
            return refuse("The statement returns no rows.");
        }
        Ok(Prepared { plan, columns: columns_of((*source).resultDesc) })
    }
}

/// # Safety
/// `description` is valid.
unsafe fn columns_of(description: pg_sys::TupleDesc) -> Vec<Column> {
    // SAFETY: the description is valid; the copy is freed on drop.
    let description =
        unsafe { pgrx::PgTupleDesc::from_pg_is_copy(pg_sys::CreateTupleDescCopy(description)) };
    description
        .iter()
        .map(|attribute| Column {
            name: tuple::name_of(attribute),
            type_oid: attribute.type_oid().value(),
        })
        .collect()
}

impl Prepared {
    fn execute(
        &self,
        argument: &'static str,
        width: usize,
        each: &mut Each<'_>,
    ) -> Result<(), NotOneSelect> {
        let mut receiver = Receiver {
            interface: pg_sys::DestReceiver {
                receiveSlot: Some(receive),
                rStartup: Some(start),
                rShutdown: Some(nothing),
                rDestroy: Some(nothing),
                mydest: pg_sys::CommandDest::DestNone,
            },
            each,
            width,
            types: Vec::new(),
            memory: PgMemoryContexts::new("source row"),
            received: 0,
        };
        let options = pg_sys::SPIExecuteOptions {
            read_only: true,
            must_return_tuples: true,
            dest: (&raw mut receiver).cast(),
            ..Default::default()
        };
        // SAFETY: SPI is connected, the plan is valid, and the receiver is used only by this call.
        let code = unsafe { pg_sys::SPI_execute_plan_extended(self.plan, &options) };
        if code < 0 {
            return Err(NotOneSelect { argument, detail: "It cannot be run." });
        }
        Ok(())
    }
}

/// The destination of rows. PostgreSQL only sees the first field.
#[repr(C)]
struct Receiver<'a> {
    interface: pg_sys::DestReceiver,
    each: &'a mut Each<'a>,
    /// Maximum number of columns to read.
    width: usize,
    /// Types of the columns sent by the executor.
    types: Vec<FieldType>,
    /// Memory for reading rows.
    memory: PgMemoryContexts,
    received: u32,
}

/// Rows between two resets of their memory.
const ROWS_BETWEEN_RESETS: u32 = 256;

impl Receiver<'_> {
    fn receive(&mut self, values: tuple::Row<'_>) -> bool {
        let Receiver { each, types, memory, .. } = self;
        let row = Row { values, types };
        fault::at("source: row");
        // SAFETY: this receiver owns the context.
        let more = unsafe { memory.switch_to(|_| each(row)) };
        self.received += 1;
        if self.received >= ROWS_BETWEEN_RESETS {
            self.received = 0;
            // SAFETY: nothing read from earlier rows is kept in it.
            unsafe { self.memory.reset() };
        }
        more
    }
}

/// Owns nothing with a drop, so an error of PostgreSQL's may jump over it, and no guard is needed.
///
/// # Safety
/// Called by PostgreSQL with a valid row and `execute`'s receiver.
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: PostgreSQL passes a valid row and `execute`'s receiver.
    unsafe {
        let available = (*(*slot).tts_tupleDescriptor).natts;
        let width = (*receiver.cast::<Receiver<'_>>()).width;
        let columns = c_int::try_from(width).map_or(available, |width| width.min(available));
        if c_int::from((*slot).tts_nvalid) < columns {
            unguarded::slot_getsomeattrs_int(slot, columns);
        }
        receive_row(slot, columns, receiver)
    }
}

/// # Safety
/// The slot has `columns` values, and `receiver` is `execute`'s.
#[pg_guard]
unsafe extern "C-unwind" fn receive_row(
    slot: *mut pg_sys::TupleTableSlot,
    columns: c_int,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: as above; the columns were deformed, and both arrays have them.
    unsafe {
        let columns = usize::try_from(columns).unwrap_or(0);
        let row = tuple::Row::from_raw((*slot).tts_values, (*slot).tts_isnull, columns);
        (*receiver.cast::<Receiver<'_>>()).receive(row)
    }
}

/// # Safety
/// Called by PostgreSQL with the rows' descriptor and `execute`'s receiver.
#[pg_guard]
unsafe extern "C-unwind" fn start(
    receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    description: pg_sys::TupleDesc,
) {
    // SAFETY: PostgreSQL passes the rows' descriptor and `execute`'s receiver.
    unsafe {
        let field_type = |column: Column| FieldType {
            scalar: ScalarType::of(column.type_oid),
            element: number_elements(column.type_oid),
            output: catalog::output_function(column.type_oid),
        };
        let types = columns_of(description).into_iter().map(field_type).collect();
        (*receiver.cast::<Receiver<'_>>()).types = types;
    }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn nothing(_receiver: *mut pg_sys::DestReceiver) {}

/// By table, the numbers of its columns that a query returns unchanged, with their zero-based positions there.
pub type Origins = BTreeMap<u32, BTreeMap<i32, usize>>;

/// Returns the columns of tables that the query returns unchanged.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's are raised.
pub fn origins(query: &str, argument: &'static str) -> Result<Origins, NotOneSelect> {
    Spi::connect(|_| Ok(origins_of(&prepare(query, argument)?)))
}

fn origins_of(prepared: &Prepared) -> Origins {
    let mut tables = Origins::new();
    // SAFETY: the plan is valid while SPI is connected, and has one source whose queries are analysed and
    // rewritten; entries are valid as the plan is.
    unsafe {
        let sources = pg_sys::SPI_plan_get_plan_sources(prepared.plan);
        let source: *mut pg_sys::CachedPlanSource = (*(*sources).elements).ptr_value.cast();
        let queries = PgList::<pg_sys::Query>::from_pg((*source).query_list);
        let Some(query) = queries.get_ptr(0) else { return tables };
        let entries = PgList::<pg_sys::TargetEntry>::from_pg((*query).targetList);
        let entries = entries.iter_ptr().filter(|entry| !(**entry).resjunk);
        for (position, entry) in entries.enumerate() {
            if let Some((table, column)) = origin(query, entry, MAX_VIEWS) {
                tables.entry(table.to_u32()).or_default().insert(column, position);
            }
        }
    }
    tables
}

/// Views in views are looked through up to this depth.
const MAX_VIEWS: usize = 32;

/// The table and the column that an entry of a query shows unchanged, also through views and other
/// queries in FROM.
///
/// # Safety
/// The query has been analysed, and the entry is of it.
unsafe fn origin(
    query: *mut pg_sys::Query,
    entry: *mut pg_sys::TargetEntry,
    depth: usize,
) -> Option<(Oid, i32)> {
    // SAFETY: guaranteed by the caller; a variable of the query's own level is a column of an entry of its range
    // table, and one of a subquery is among that one's entries.
    unsafe {
        let own = ((*entry).resorigtbl, i32::from((*entry).resorigcol));
        let found = (own.0 != Oid::INVALID).then_some(own)?;
        let expression: *mut pg_sys::Node = (*entry).expr.cast();
        if depth == 0 || (*expression).type_ != pg_sys::NodeTag::T_Var {
            return Some(found);
        }
        let variable: *mut pg_sys::Var = expression.cast();
        let place = usize::try_from((*variable).varno).ok()?.checked_sub(1)?;
        let ranges = PgList::<pg_sys::RangeTblEntry>::from_pg((*query).rtable);
        let Some(range) = ranges.get_ptr(place).filter(|_| (*variable).varlevelsup == 0) else {
            return Some(found);
        };
        if (*range).rtekind != pg_sys::RTEKind::RTE_SUBQUERY || (*range).subquery.is_null() {
            return Some(found);
        }
        let column = usize::try_from((*variable).varattno).ok()?.checked_sub(1)?;
        let entries = PgList::<pg_sys::TargetEntry>::from_pg((*(*range).subquery).targetList);
        origin((*range).subquery, entries.get_ptr(column)?, depth - 1)
    }
}

/// Returns the numbers of the columns of a locked table's primary key, none if it has no key.
pub fn primary_key(table: Oid) -> Vec<i32> {
    let mut columns = Vec::new();
    let mut constraint = Oid::INVALID;
    // SAFETY: a missing table or key gives an empty set, whose members count from
    // `FirstLowInvalidHeapAttributeNumber`.
    unsafe {
        let key = pg_sys::get_primary_key_attnos(table, true, &raw mut constraint);
        let mut member = pg_sys::bms_next_member(key, -1);
        while member >= 0 {
            columns.push(member + pg_sys::FirstLowInvalidHeapAttributeNumber);
            member = pg_sys::bms_next_member(key, member);
        }
    }
    columns
}

/// The first row of a result.
pub struct FirstRow {
    tuple: pg_sys::HeapTuple,
    description: pg_sys::TupleDesc,
}

impl FirstRow {
    /// Returns the value of a one-based column; `None` if it is NULL or of another type.
    pub fn get<T: FromDatum + IntoDatum>(&self, column: i32) -> Option<T> {
        let mut null = true;
        // SAFETY: rows exist only while SPI is connected; PostgreSQL accepts any column number, and the
        // value, of its stated type, is copied.
        unsafe {
            let value = pg_sys::SPI_getbinval(self.tuple, self.description, column, &raw mut null);
            let type_oid = pg_sys::SPI_gettypeid(self.description, column);
            T::try_from_datum(value, null, type_oid).ok().flatten()
        }
    }
}

/// Runs a query of the extension's, in the database's encoding, and passes its first row, if any, to the closure.
/// PostgreSQL's errors are raised.
pub fn select<T>(
    query: impl Into<Vec<u8>>,
    arguments: &[DatumWithOid<'_>],
    read: impl FnOnce(&FirstRow) -> T,
) -> Option<T> {
    let query = CString::new(query).ok()?;
    let mut types: Vec<Oid> = arguments.iter().map(DatumWithOid::oid).collect();
    let value = |argument: &DatumWithOid<'_>| argument.datum().map(|datum| datum.sans_lifetime());
    let mut values: Vec<Datum> =
        arguments.iter().map(|argument| value(argument).unwrap_or(Datum::from(0))).collect();
    let null = |argument| if value(argument).is_some() { b' ' } else { b'n' };
    let nulls: Vec<c_char> = arguments.iter().map(|argument| null(argument) as c_char).collect();
    Spi::connect(|_| {
        // SAFETY: SPI is connected; the arrays have an entry per argument. The result lives until SPI
        // finishes, after the closure.
        unsafe {
            let code = pg_sys::SPI_execute_with_args(
                query.as_ptr(),
                i32::try_from(values.len()).unwrap_or(0),
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr(),
                true,
                1,
            );
            fault::at("query: run");
            let table = pg_sys::SPI_tuptable;
            if code != pg_sys::SPI_OK_SELECT as i32 || pg_sys::SPI_processed == 0 || table.is_null()
            {
                return None;
            }
            let (tuple, description) = (*(*table).vals, (*table).tupdesc);
            Some(read(&FirstRow { tuple, description }))
        }
    })
}
