//! Runs the query that rows come from, with the rights of the caller, and hands over each row.
//!
//! The text is prepared as it is; nothing is ever put into it. It must be one SELECT, and runs
//! read-only under the snapshot of the statement that called us. Rows go from the executor to the
//! closure without a copy: nothing of the result is held.

use std::borrow::Cow;
use std::ffi::{CString, c_int};

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{AnyElement, PgMemoryContexts, Spi, pg_guard};

use super::error::{Error, Result};
use crate::array::{ArrayValue, ElementType, number_elements};
use crate::settings::with_setting;
use crate::varlena::owned_string;
use crate::{Number, NumberType, ScalarType, Value, fault, types};

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
    values: crate::Row<'a>,
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
    unsafe { written(argument.datum(), types::output_function(argument.oid())) }
}

/// # Safety
/// The value is not NULL and of the type that the output function is for.
unsafe fn written(value: Datum, output: Oid) -> String {
    // SAFETY: the caller says so; the function returns a fresh string.
    unsafe { owned_string(pg_sys::OidOutputFunctionCall(output, value)) }
}

/// The columns that a query returns.
///
/// # Errors
/// [`Error::NotOneSelect`]. PostgreSQL's own are raised.
pub fn columns(query: &str, argument: &'static str) -> Result<Vec<Column>> {
    Spi::connect(|_| Ok(prepare(query, argument)?.columns))
}

/// Runs a query and hands over each row. The closure's first error ends it.
///
/// # Errors
/// [`Error::NotOneSelect`], and those of the closure. PostgreSQL's own are raised.
pub fn run<E: From<Error>>(
    query: &str,
    argument: &'static str,
    each: impl FnMut(Row<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    run_first(query, argument, usize::MAX, each)
}

/// The same with rows that have their first columns alone, at most `width` in number.
///
/// # Errors
/// As for [`run`].
pub fn run_first<E: From<Error>>(
    query: &str,
    argument: &'static str,
    width: usize,
    mut each: impl FnMut(Row<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut outcome = Ok(());
    let mut received = |row: Row<'_>| {
        outcome = each(row);
        outcome.is_ok()
    };
    receive_all(query, argument, width, &mut received)?;
    outcome
}

fn receive_all(
    query: &str,
    argument: &'static str,
    width: usize,
    each: &mut Each<'_>,
) -> Result<()> {
    Spi::connect(|_| {
        let prepared = prepare(query, argument)?;
        // Scans of one table start at its first page, also if another scan of it is under way: the
        // rows of a table that nobody changes then come in the same order each time.
        with_setting(c"synchronize_seqscans", c"off", || prepared.execute(argument, width, each))
    })
}

/// What a row is handed to; it says whether it wants more.
type Each<'a> = dyn FnMut(Row<'_>) -> bool + 'a;

/// A prepared query; it lives as long as SPI's connection.
pub(super) struct Prepared {
    pub(super) plan: pg_sys::SPIPlanPtr,
    columns: Vec<Column>,
}

pub(super) fn prepare(query: &str, argument: &'static str) -> Result<Prepared> {
    let refuse = |detail| Err(Error::NotOneSelect { argument, detail });
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
    // SAFETY: the caller says so; the copy is freed when it is dropped.
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
    fn execute(&self, argument: &'static str, width: usize, each: &mut Each<'_>) -> Result<()> {
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
            return Err(Error::NotOneSelect { argument, detail: "It cannot be run." });
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
    fn receive(&mut self, values: crate::Row<'_>) -> bool {
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

unsafe extern "C-unwind" {
    /// Takes that many columns from a slot's tuple (execTuples.c).
    fn slot_getsomeattrs_int(slot: *mut pg_sys::TupleTableSlot, columns: c_int);
}

/// Holds nothing to drop, so that an error of PostgreSQL's may jump over it and no guard is needed.
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: PostgreSQL passes a valid row, and the receiver that `execute` gave it.
    unsafe {
        let given = (*(*slot).tts_tupleDescriptor).natts;
        let width = (*receiver.cast::<Receiver<'_>>()).width;
        let columns = c_int::try_from(width).map_or(given, |width| width.min(given));
        if c_int::from((*slot).tts_nvalid) < columns {
            slot_getsomeattrs_int(slot, columns);
        }
        receive_row(slot, columns, receiver)
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn receive_row(
    slot: *mut pg_sys::TupleTableSlot,
    columns: c_int,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: as above; so many columns were taken from the tuple, and both arrays have them.
    unsafe {
        let columns = usize::try_from(columns).unwrap_or(0);
        let row = crate::Row::from_raw((*slot).tts_values, (*slot).tts_isnull, columns);
        (*receiver.cast::<Receiver<'_>>()).receive(row)
    }
}

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
            output: types::output_function(column.type_oid),
        };
        let types = columns_of(description).into_iter().map(field_type).collect();
        (*receiver.cast::<Receiver<'_>>()).types = types;
    }
}

unsafe extern "C-unwind" fn nothing(_receiver: *mut pg_sys::DestReceiver) {}
