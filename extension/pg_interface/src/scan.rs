//! Reads rows of a table or a catalog by the leading columns of an index, without SPI.
//!
//! This needs neither transaction id nor plan, so it works on standbys and in parallel workers. The
//! lock is the weakest and released at once; after an error the transaction's end closes everything.

use std::ffi::CStr;
use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{FromDatum, IntoDatum, Uuid};

use crate::invalidation::{self, ReadSnapshot, SnapshotMark};
use crate::nodes::Expr;
use crate::{array, catalog, jsonb, tuple, unguarded, varlena};

/// Maximum pages of a table read as a whole: a connection's first index lookup takes longer.
const SMALL: u32 = 4;

/// A table and an index by which its rows are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The table's OID.
    pub relation: Oid,
    /// The schema of the table and its index.
    pub schema: Oid,
    /// Name of the index.
    pub index: &'static CStr,
    /// Names of the index's leading columns.
    pub columns: [&'static CStr; 2],
}

impl Table {
    /// Returns the index, if using it is faster than reading all rows.
    ///
    /// # Safety
    /// `relation` is this table, and open.
    unsafe fn fast_index(self, relation: pg_sys::Relation) -> Option<Oid> {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the relation is open.
        let pages = unsafe { pg_sys::RelationGetNumberOfBlocksInFork(relation, main) };
        if pages <= SMALL {
            return None;
        }
        catalog::index_of(self.relation, self.schema, self.index)
    }
}

/// A value to find in a key column.
pub enum Key<'a> {
    /// For a text column with collation "C".
    Text(&'a str),
    /// For an integer column.
    Integer(i32),
    /// For a uuid column.
    Uuid(Uuid),
    /// For a regrole column.
    Role(Oid),
}

/// A row found by a scan, valid until the scan continues.
pub struct Row<'a> {
    values: tuple::Row<'a>,
    descriptor: pg_sys::TupleDesc,
    made_by: Option<OpenTransaction>,
}

/// A transaction of another session that had not ended when it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction(pg_sys::TransactionId);

impl OpenTransaction {
    /// Waits until it has ended, as for a row that it has changed: the wait counts in deadlocks and ends with
    /// `lock_timeout` or a cancel.
    pub fn wait(self) {
        // SAFETY: takes any transaction; nothing is said of a row.
        unsafe {
            pg_sys::XactLockTableWait(
                self.0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                pg_sys::XLTW_Oper::XLTW_None,
            );
        }
    }
}

impl Row<'_> {
    /// Returns a column's value by name; `None` if it is NULL or of another type.
    fn value(&self, column: &CStr, type_oid: Oid) -> Option<Datum> {
        // SAFETY: the descriptor is the table's; a positive number is a column's.
        let number = unsafe {
            let number = pg_sys::SPI_fnumber(self.descriptor, column.as_ptr());
            (number > 0 && pg_sys::SPI_gettypeid(self.descriptor, number) == type_oid)
                .then_some(number)
        };
        self.values.get(usize::try_from(number?).ok()? - 1)
    }

    /// Returns an integer column.
    pub fn integer(&self, column: &CStr) -> Option<i32> {
        Some(self.value(column, pg_sys::INT4OID)?.value() as i32)
    }

    /// Returns a boolean column.
    pub fn boolean(&self, column: &CStr) -> Option<bool> {
        Some(self.value(column, pg_sys::BOOLOID)?.value() != 0)
    }

    /// Returns the transaction that wrote the row, if it is still open.
    pub fn made_by(&self) -> Option<OpenTransaction> {
        self.made_by
    }

    /// Returns an oid column.
    pub fn oid(&self, column: &CStr) -> Option<Oid> {
        Some(Oid::from(self.value(column, pg_sys::OIDOID)?.value() as u32))
    }

    /// Returns a pg_node_tree column: an expression, a query, or a list of them, in the current memory
    /// context.
    pub fn tree(&self, column: &CStr) -> Option<Expr<'static>> {
        let stored = self.value(column, pg_sys::PG_NODE_TREEOID)?;
        // SAFETY: the type is stored like text; PostgreSQL can read what it wrote.
        unsafe {
            let text = pg_sys::text_to_cstring(stored.cast_mut_ptr());
            let node = pg_sys::stringToNode(text);
            (!node.is_null()).then(|| Expr::new(node.cast()))
        }
    }

    /// Returns a regrole column.
    pub fn role(&self, column: &CStr) -> Option<Oid> {
        Some(Oid::from(self.value(column, pg_sys::REGROLEOID)?.value() as u32))
    }

    /// Returns a uuid column.
    pub fn uuid(&self, column: &CStr) -> Option<Uuid> {
        let value = self.value(column, pg_sys::UUIDOID)?;
        // SAFETY: the value is a uuid.
        unsafe { Uuid::from_datum(value, false) }
    }

    /// Returns a text column.
    pub fn text(&self, column: &CStr) -> Option<String> {
        // SAFETY: the value is a text; the row outlives the borrow.
        Some(unsafe { varlena::text(self.value(column, pg_sys::TEXTOID)?) }.into_owned())
    }

    /// Returns a bytea column.
    pub fn bytes(&self, column: &CStr) -> Option<&[u8]> {
        // SAFETY: as for `text`; detoasted bytes are in the current context, which outlives the row.
        Some(unsafe { varlena::bytes(self.value(column, pg_sys::BYTEAOID)?) })
    }

    /// Passes a bytea column to the closure, and frees its detoasted copy at once.
    pub fn with_bytes<T>(&self, column: &CStr, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let stored = self.value(column, pg_sys::BYTEAOID)?;
        // SAFETY: as for `text`; only a copy is freed.
        unsafe {
            let plain = pg_sys::pg_detoast_datum_packed(stored.cast_mut_ptr());
            let result = read(varlena::bytes(Datum::from(plain)));
            if plain != stored.cast_mut_ptr() {
                pg_sys::pfree(plain.cast());
            }
            Some(result)
        }
    }

    /// Returns a jsonb column as text.
    pub fn jsonb(&self, column: &CStr) -> Option<String> {
        // SAFETY: as for `text`.
        let json = unsafe { jsonb::text_of(self.value(column, pg_sys::JSONBOID)?) };
        Some(String::from_utf8_lossy(&json).into_owned())
    }

    /// Returns a text[] column without its NULL elements.
    pub fn texts(&self, column: &CStr) -> Option<Vec<String>> {
        // SAFETY: as for `text`.
        let array = unsafe { array::texts(self.value(column, pg_sys::TEXTARRAYOID)?) };
        Some(array.into_iter().flatten().collect())
    }
}

/// Calls the closure with each row whose leading key columns have these values.
///
/// Returns the mark of the snapshot used.
pub fn rows(
    table: Table,
    keys: &[Key<'_>],
    snapshot: ReadSnapshot,
    mut visit: impl FnMut(&Row<'_>) -> ControlFlow<()>,
) -> SnapshotMark {
    let mut scan_keys = [pg_sys::ScanKeyData::default(); 2];
    let count = keys.len().min(scan_keys.len()) as i32;
    // SAFETY: the caller looked the table up, and the keys are set; everything opened is closed in
    // reverse order, or by the transaction's abort.
    unsafe {
        let relation = pg_sys::table_open(table.relation, pg_sys::AccessShareLock as i32);
        let mut slots = scan_keys.iter_mut().zip(table.columns).zip(keys);
        let has_columns =
            slots.all(|((slot, name), key)| fill(slot, (*relation).rd_att, name, key));
        let snapshot = match snapshot {
            ReadSnapshot::Active if unguarded::ActiveSnapshotSet() => {
                unguarded::GetActiveSnapshot()
            }
            ReadSnapshot::Active | ReadSnapshot::Latest => invalidation::latest(table.relation),
        };
        let snapshot = pg_sys::RegisterSnapshot(snapshot);
        let mark = SnapshotMark::of(snapshot);
        if has_columns {
            let index = table.fast_index(relation);
            let scan = pg_sys::systable_beginscan(
                relation,
                index.unwrap_or(Oid::INVALID),
                index.is_some(),
                snapshot,
                count,
                scan_keys.as_mut_ptr(),
            );
            visit_all(relation, scan, None, &mut visit);
            pg_sys::systable_endscan(scan);
        }
        pg_sys::UnregisterSnapshot(snapshot);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
        mark
    }
}

/// A catalog with an index on columns of type oid.
pub struct Catalog {
    /// The catalog's OID.
    pub relation: Oid,
    /// Column numbers of the index; 0 for none.
    pub key: [u32; 2],
    /// The index's OID.
    pub index: u32,
}

/// The rows of a catalog that a scan sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Those that are committed by now, or written by this transaction.
    Latest,
    /// The same, and those of other transactions that are open: a row that one of them has changed is seen
    /// as it was and as it will be.
    Dirty,
}

/// Calls the closure with each row of a catalog whose leading key columns have these values, as of now.
pub fn catalog_rows(
    catalog: &Catalog,
    keys: &[Oid],
    seen: Seen,
    mut visit: impl FnMut(&Row<'_>) -> ControlFlow<()>,
) {
    let mut dirty = pg_sys::SnapshotData {
        snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
        ..Default::default()
    };
    let dirty = (seen == Seen::Dirty).then_some(&raw mut dirty);
    let mut scan_keys = [pg_sys::ScanKeyData::default(); 2];
    let count = keys.len().min(scan_keys.len()) as i32;
    // SAFETY: the columns are of type oid; everything opened is closed in reverse order, or by the
    // transaction's abort. Without a snapshot the scan takes one.
    unsafe {
        for (slot, (column, value)) in scan_keys.iter_mut().zip(catalog.key.iter().zip(keys)) {
            let equal = pg_sys::BTEqualStrategyNumber as u16;
            pg_sys::ScanKeyInit(
                slot,
                *column as i16,
                equal,
                pg_sys::F_OIDEQ.into(),
                Datum::from(*value),
            );
        }
        let relation = pg_sys::table_open(catalog.relation, pg_sys::AccessShareLock as i32);
        let scan = pg_sys::systable_beginscan(
            relation,
            Oid::from(catalog.index),
            true,
            dirty.unwrap_or(std::ptr::null_mut()),
            count,
            scan_keys.as_mut_ptr(),
        );
        visit_all(relation, scan, dirty, &mut visit);
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
    }
}

/// Sets a key, unless the table has no column of that name and type.
///
/// # Safety
/// `descriptor` is a table's.
unsafe fn fill(
    slot: &mut pg_sys::ScanKeyData,
    descriptor: pg_sys::TupleDesc,
    column: &CStr,
    key: &Key<'_>,
) -> bool {
    let (type_oid, equal, value) = match key {
        Key::Text(text) => (pg_sys::TEXTOID, pg_sys::F_TEXTEQ, text.into_datum()),
        Key::Integer(number) => (pg_sys::INT4OID, pg_sys::F_INT4EQ, number.into_datum()),
        Key::Uuid(uuid) => (pg_sys::UUIDOID, pg_sys::F_UUID_EQ, uuid.into_datum()),
        Key::Role(role) => (pg_sys::REGROLEOID, pg_sys::F_OIDEQ, Some(Datum::from(*role))),
    };
    // SAFETY: the slot is writable; the built-in procedures fit the column's type. ScanKeyInit sets
    // collation "C", the columns' collation.
    unsafe {
        let number = pg_sys::SPI_fnumber(descriptor, column.as_ptr());
        if number <= 0 || pg_sys::SPI_gettypeid(descriptor, number) != type_oid {
            return false;
        }
        pg_sys::ScanKeyInit(
            slot,
            number as i16,
            pg_sys::BTEqualStrategyNumber as u16,
            equal.into(),
            value.unwrap_or(Datum::from(0)),
        );
    }
    true
}

/// # Safety
/// `scan` is open on `relation`, under `dirty` if that is given.
unsafe fn visit_all(
    relation: pg_sys::Relation,
    scan: pg_sys::SysScanDesc,
    dirty: Option<pg_sys::Snapshot>,
    visit: &mut impl FnMut(&Row<'_>) -> ControlFlow<()>,
) {
    // SAFETY: the scan is open; the buffers have an element per column.
    unsafe {
        let descriptor = (*relation).rd_att;
        let columns = usize::try_from((*descriptor).natts).unwrap_or(0);
        let mut values = vec![Datum::from(0); columns];
        let mut nulls = vec![true; columns];
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                return;
            }
            pg_sys::heap_deform_tuple(tuple, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            // The look at the row leaves there whose it is (HeapTupleSatisfiesDirty).
            let made_by = dirty.map(|dirty| (*dirty).xmin);
            let made_by = made_by.filter(|id| *id != pg_sys::InvalidTransactionId);
            let row = Row {
                values: tuple::Row::new(&values, &nulls),
                descriptor,
                made_by: made_by.map(OpenTransaction),
            };
            if visit(&row).is_break() {
                return;
            }
        }
    }
}
