//! Queries that only read, under the active snapshot and with the rights of the caller.
//!
//! The text is prepared as it is; nothing is ever put into it. A query of the caller's must be one SELECT;
//! its rows go from the executor to a closure without a copy, and nothing of the result is kept. pgrx's
//! `Spi::get_one` connects for writing, which takes a transaction id and fails on a standby; its `select`
//! takes a newer snapshot once the transaction has written.

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
use crate::value::{Number, NumberType, ScalarType, Value};
use crate::varlena::owned_string;
use crate::{catalog, fault, tuple, unguarded};

/// A text that is not one SELECT.
#[derive(Clone, Copy, Debug)]
pub struct NotOneSelect {
    /// The argument that it was passed by.
    pub argument: &'static str,
    /// Why not, as a sentence.
    pub detail: &'static str,
}

/// A column that a query returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, which other columns may have too.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
}

/// A row, as long as the closure that is given it runs.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    values: tuple::Row<'a>,
    types: &'a [FieldType],
}

impl<'a> Row<'a> {
    /// The field at a position, counted from 0, or nothing if it is NULL.
    #[inline]
    pub fn get(self, position: usize) -> Option<Field<'a>> {
        let field_type = self.types.get(position)?;
        self.values.get(position).map(|datum| Field { datum, field_type })
    }
}

impl Row<'_> {
    /// The values of columns of type real one after another from this one on, NaN where one is NULL.
    #[inline]
    pub fn read_reals(self, first: usize, reals: &mut [f32]) {
        self.values.read_reals(first, reals);
    }
}

struct FieldType {
    /// How values are read, if they are numbers or texts.
    scalar: Option<ScalarType>,
    /// How elements are read, if values are arrays of numbers.
    element: Option<ElementType>,
    /// The function that writes a value as text.
    output: Oid,
}

/// A field that is not NULL. What its reading allocates lies in the row's memory.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    datum: Datum,
    field_type: &'a FieldType,
}

impl<'a> Field<'a> {
    /// The value, if it is a number or a text.
    #[inline]
    pub fn value(self) -> Option<Value<'a>> {
        // SAFETY: the datum is not NULL and of the type that the executor declared.
        self.field_type.scalar.map(|scalar| unsafe { Value::new(self.datum, scalar) })
    }

    /// A number as f64; nothing if it is text or of another type.
    #[inline]
    pub fn number(self) -> Option<f64> {
        match self.value() {
            Some(Value::Number(number)) => Some(number.double()),
            _ => None,
        }
    }

    /// The elements of an array of numbers, nothing for a NULL, whatever its dimensions.
    pub fn elements(self) -> Option<impl ExactSizeIterator<Item = Option<Number<'a>>>> {
        self.array().map(ArrayValue::numbers)
    }

    /// The elements of an array of reals in one dimension, if none is NULL.
    pub fn reals(self) -> Option<&'a [f32]> {
        self.array()?.plain_reals()
    }

    fn array(self) -> Option<ArrayValue<'a>> {
        // SAFETY: the datum is not NULL, and an array of such elements.
        self.field_type.element.map(|element| unsafe { ArrayValue::new(self.datum, element) })
    }

    /// A category, or the label of a class, as text. It is what pgboost compares with.
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

    /// The value as text, by the output function of its type.
    pub fn written(self) -> String {
        // SAFETY: as above.
        unsafe { written(self.datum, self.field_type.output) }
    }
}

/// An argument as text, by the output function of its type.
pub fn argument_text(argument: &AnyElement) -> String {
    // SAFETY: the value is not NULL and of the type that it says.
    unsafe { written(argument.datum(), catalog::output_function(argument.oid())) }
}

/// # Safety
/// The value is not NULL and of the type that the output function is for.
unsafe fn written(value: Datum, output: Oid) -> String {
    // SAFETY: guaranteed by the caller; the function returns a fresh string.
    unsafe { owned_string(pg_sys::OidOutputFunctionCall(output, value)) }
}

/// The columns that a query returns.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's own are raised.
pub fn columns(query: &str, argument: &'static str) -> Result<Vec<Column>, NotOneSelect> {
    Spi::connect(|_| Ok(prepare(query, argument)?.columns))
}

/// Runs a query and passes each row to the closure, which returns whether it wants more, with its first
/// columns alone, at most `width` in number.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's own are raised.
pub fn run(
    query: &str,
    argument: &'static str,
    width: usize,
    each: &mut Each<'_>,
) -> Result<(), NotOneSelect> {
    Spi::connect(|_| {
        let prepared = prepare(query, argument)?;
        // Scans of one table start at its first page, also if another scan of it is under way: the
        // rows of a table that nobody changes then come in the same order each time.
        with_setting(c"synchronize_seqscans", c"off", || {
            with_reserve(|| prepared.execute(argument, width, each))
        })
    })
}

/// What each row is passed to; it returns whether it wants more.
pub type Each<'a> = dyn FnMut(Row<'_>) -> bool + 'a;

/// A prepared query; it lives as long as SPI's connection.
struct Prepared {
    plan: pg_sys::SPIPlanPtr,
    columns: Vec<Column>,
}

fn prepare(query: &str, argument: &'static str) -> Result<Prepared, NotOneSelect> {
    let refuse = |detail| Err(NotOneSelect { argument, detail });
    let Ok(text) = CString::new(query) else { return refuse("It has a NUL character.") };
    // SAFETY: SPI is connected; the plan and what it names live until it is finished.
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
/// The description is valid.
unsafe fn columns_of(description: pg_sys::TupleDesc) -> Vec<Column> {
    // SAFETY: guaranteed by the caller; the copy is freed when it is dropped.
    let description =
        unsafe { pgrx::PgTupleDesc::from_pg_is_copy(pg_sys::CreateTupleDescCopy(description)) };
    description
        .iter()
        .map(|attribute| Column {
            name: attribute.name().to_owned(),
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
        // SAFETY: SPI is connected, the plan is valid, and the receiver lives as long as the call,
        // which alone uses it.
        let code = unsafe { pg_sys::SPI_execute_plan_extended(self.plan, &options) };
        if code < 0 {
            return Err(NotOneSelect { argument, detail: "It cannot be run." });
        }
        Ok(())
    }
}

/// Where the executor sends rows. PostgreSQL sees the first field only.
#[repr(C)]
struct Receiver<'a> {
    interface: pg_sys::DestReceiver,
    each: &'a mut Each<'a>,
    /// The most columns that are read.
    width: usize,
    /// Of the columns that the executor sends.
    types: Vec<FieldType>,
    /// What reading a row allocates.
    memory: PgMemoryContexts,
    received: u32,
}

/// The row's memory is given back whenever this many have been read.
const ROWS_BETWEEN_RESETS: u32 = 256;

impl Receiver<'_> {
    fn receive(&mut self, values: tuple::Row<'_>) -> bool {
        let Receiver { each, types, memory, .. } = self;
        let row = Row { values, types };
        fault::at("source: row");
        // SAFETY: the context is this receiver's own.
        let more = unsafe { memory.switch_to(|_| each(row)) };
        self.received += 1;
        if self.received >= ROWS_BETWEEN_RESETS {
            self.received = 0;
            // SAFETY: nothing that was read from earlier rows is kept in it.
            unsafe { self.memory.reset() };
        }
        more
    }
}

/// Holds nothing to drop, so that an error of PostgreSQL's may jump over it and no guard is needed.
///
/// # Safety
/// PostgreSQL calls it with a valid row, and the receiver that `execute` passed.
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: PostgreSQL passes a valid row, and the receiver that `execute` gave it.
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
/// The slot has that many values, and the receiver is the one that `execute` passed.
#[pg_guard]
unsafe extern "C-unwind" fn receive_row(
    slot: *mut pg_sys::TupleTableSlot,
    columns: c_int,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: as above; so many columns were taken from the tuple, and both arrays have them.
    unsafe {
        let columns = usize::try_from(columns).unwrap_or(0);
        let row = tuple::Row::from_raw((*slot).tts_values, (*slot).tts_isnull, columns);
        (*receiver.cast::<Receiver<'_>>()).receive(row)
    }
}

/// # Safety
/// PostgreSQL calls it with the description of the rows, and the receiver that `execute` passed.
#[pg_guard]
unsafe extern "C-unwind" fn start(
    receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    description: pg_sys::TupleDesc,
) {
    // SAFETY: PostgreSQL passes the description of the rows, and the receiver that `execute` gave it.
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
/// PostgreSQL calls it.
unsafe extern "C-unwind" fn nothing(_receiver: *mut pg_sys::DestReceiver) {}

/// The positions, counted from 0, of the columns that make up a primary key, for each table whose whole key
/// is among the columns of the query.
///
/// # Errors
/// [`NotOneSelect`]. PostgreSQL's own are raised.
pub fn primary_keys(query: &str, argument: &'static str) -> Result<Vec<Vec<usize>>, NotOneSelect> {
    Spi::connect(|_| {
        let tables = columns_of_tables(&prepare(query, argument)?);
        let keys = tables.into_iter().filter_map(|(table, columns)| {
            let key = key_of(Oid::from(table));
            let places = key.iter().map(|column| columns.get(column).copied());
            places.collect::<Option<Vec<usize>>>().filter(|places| !places.is_empty())
        });
        Ok(keys.collect())
    })
}

/// The columns of each table that are columns of the query, with their positions in it.
fn columns_of_tables(prepared: &Prepared) -> BTreeMap<u32, BTreeMap<i32, usize>> {
    let mut tables: BTreeMap<u32, BTreeMap<i32, usize>> = BTreeMap::new();
    // SAFETY: the plan is valid while SPI is connected, and has one source whose queries are analysed.
    let entries = unsafe {
        let sources = pg_sys::SPI_plan_get_plan_sources(prepared.plan);
        let source: *mut pg_sys::CachedPlanSource = (*(*sources).elements).ptr_value.cast();
        let queries = PgList::<pg_sys::Query>::from_pg((*source).query_list);
        let Some(query) = queries.get_ptr(0) else { return tables };
        PgList::<pg_sys::TargetEntry>::from_pg((*query).targetList)
    };
    // SAFETY: the entries are valid as the plan is.
    let entries = entries.iter_ptr().map(|entry| unsafe { &*entry }).filter(|entry| !entry.resjunk);
    for (position, entry) in entries.enumerate() {
        if entry.resorigtbl != Oid::INVALID {
            let columns = tables.entry(entry.resorigtbl.to_u32()).or_default();
            columns.insert(i32::from(entry.resorigcol), position);
        }
    }
    tables
}

/// The numbers of the columns of a table's primary key, none if it has no key.
fn key_of(table: Oid) -> Vec<i32> {
    let mut columns = Vec::new();
    let mut constraint = Oid::INVALID;
    // SAFETY: the table is locked by the plan that was just prepared; a missing key gives an empty set, and
    // members of the set are counted from `FirstLowInvalidHeapAttributeNumber`.
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
    /// The value of a column, counted from 1; nothing if it is NULL or of another type.
    pub fn get<T: FromDatum + IntoDatum>(&self, column: i32) -> Option<T> {
        let mut null = true;
        // SAFETY: a row is only at hand while SPI is connected; PostgreSQL takes any column number, and
        // the value is of the type that it says. What is made of the value is a copy.
        unsafe {
            let value = pg_sys::SPI_getbinval(self.tuple, self.description, column, &raw mut null);
            let type_oid = pg_sys::SPI_gettypeid(self.description, column);
            T::try_from_datum(value, null, type_oid).ok().flatten()
        }
    }
}

/// Runs a query of the extension's and calls the closure with its first row, if there is one. PostgreSQL's
/// own errors are raised.
pub fn select<T>(
    query: &str,
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
        // is finished, which is after the closure.
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
