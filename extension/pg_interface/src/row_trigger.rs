//! The rows of a BEFORE trigger, and the trigger's definition.
//!
//! A trigger knows columns by their numbers in its UPDATE OF list, so that they may be renamed; a sibling on the
//! same table with the same function and arguments may have that list instead.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::call::Change;
use crate::nodes;
use crate::varlena;

/// The columns that a trigger sets, by number.
pub type Columns = [i32; 2];

impl<'c> Change<'c> {
    fn definition(self) -> &'c pg_sys::Trigger {
        // SAFETY: PostgreSQL passes the trigger's definition.
        unsafe { &*self.trigger.tg_trigger }
    }

    fn relation(self) -> &'c pg_sys::RelationData {
        // SAFETY: PostgreSQL passes the table, open.
        unsafe { &*self.trigger.tg_relation }
    }

    /// Returns whether the trigger runs before a row is inserted or updated.
    pub fn is_before_write(self) -> bool {
        self.is_before()
            && self.trigger.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0
            && (self.is_update() || self.is(pg_sys::TRIGGER_EVENT_INSERT))
    }

    /// Returns whether the change is an update of a row.
    pub fn is_update(self) -> bool {
        self.is(pg_sys::TRIGGER_EVENT_UPDATE)
    }

    /// Returns whether the trigger has a list of columns.
    pub fn has_columns(self) -> bool {
        self.definition().tgnattr > 0
    }

    /// Returns the trigger's arguments.
    pub fn arguments(self) -> Vec<String> {
        // SAFETY: the definition is the trigger's.
        let arguments = unsafe { arguments(self.definition()) };
        arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect()
    }

    /// Returns the two columns in the list of this trigger, or of its sibling.
    pub fn columns(self) -> Option<Columns> {
        // SAFETY: the definitions are the triggers'.
        let is_sibling =
            |other: &&pg_sys::Trigger| unsafe { arguments(other) == arguments(self.definition()) };
        self.with_lists().find(is_sibling).map(listed)
    }

    /// Returns the columns in the lists of all triggers of the table with this function.
    pub fn all_columns(self) -> Vec<i32> {
        self.with_lists().flat_map(listed).collect()
    }

    /// Iterates over the table's triggers that have this function and a list of two columns.
    fn with_lists(self) -> impl Iterator<Item = &'c pg_sys::Trigger> {
        let function = self.definition().tgfoid;
        // SAFETY: an open table with triggers has their definitions, as many as are counted.
        let all = unsafe {
            let all = self.relation().trigdesc.as_ref();
            all.map(|all| std::slice::from_raw_parts(all.triggers, all.numtriggers as usize))
        };
        let is_with_list =
            move |other: &&pg_sys::Trigger| other.tgfoid == function && other.tgnattr == 2;
        all.unwrap_or_default().iter().filter(is_with_list)
    }

    /// Returns the table's owner.
    pub fn owner(self) -> Oid {
        // SAFETY: an open table has its row of pg_class.
        unsafe { (*self.relation().rd_rel).relowner }
    }

    /// Returns the table's name.
    pub fn table_name(self) -> String {
        // SAFETY: an open table has its row of pg_class, with a zero-terminated name.
        let name = unsafe { CStr::from_ptr((*self.relation().rd_rel).relname.data.as_ptr()) };
        name.to_string_lossy().into_owned()
    }

    /// Returns the type of the table's rows.
    pub fn row_type(self) -> Oid {
        // SAFETY: an open table has its row of pg_class.
        unsafe { (*self.relation().rd_rel).reltype }
    }

    /// Returns a column's type; an invalid OID if it does not exist.
    pub fn column_type(self, column: i32) -> Oid {
        // SAFETY: the table is open; accepts any number.
        unsafe { pg_sys::SPI_gettypeid(self.relation().rd_att, column) }
    }

    /// Returns a column's name.
    pub fn column_name(self, column: i32) -> String {
        // SAFETY: the table is open; accepts any number, and returns an allocated text or null.
        unsafe {
            let name = pg_sys::SPI_fname(self.relation().rd_att, column);
            if name.is_null() { String::new() } else { varlena::owned_string(name) }
        }
    }

    /// Returns the new row as a value of its type, without values of generated columns.
    pub fn new_value(self) -> Option<Datum> {
        self.new_row().map(|row| self.value(row))
    }

    /// Returns the row before an update as a value of its type.
    pub fn old_value(self) -> Datum {
        self.value(self.trigger.tg_trigtuple)
    }

    fn value(self, row: pg_sys::HeapTuple) -> Datum {
        // SAFETY: the row is one of the table's; the copy is in the memory of the trigger's call.
        unsafe { pg_sys::heap_copy_tuple_as_datum(row, self.relation().rd_att) }
    }

    fn get(self, row: pg_sys::HeapTuple, column: i32) -> Option<Datum> {
        let mut null = true;
        let description = self.relation().rd_att;
        // SAFETY: the row is one of the table's; accepts any number.
        let value = unsafe { pg_sys::SPI_getbinval(row, description, column, &raw mut null) };
        (!null).then_some(value)
    }

    /// Returns a column's value in the new row; `None` for NULL.
    pub fn new_value_of(self, column: i32) -> Option<Datum> {
        self.new_row().and_then(|row| self.get(row, column))
    }

    /// Returns whether an update changes a column.
    pub fn is_changed(self, column: i32) -> bool {
        match (self.get(self.trigger.tg_trigtuple, column), self.new_value_of(column)) {
            (None, None) => false,
            (Some(old), Some(new)) => {
                let (mut length, mut by_value) = (0, false);
                // SAFETY: both are values of the column's type.
                unsafe {
                    let type_oid = self.column_type(column);
                    pg_sys::get_typlenbyval(type_oid, &raw mut length, &raw mut by_value);
                    !pg_sys::datum_image_eq(old, new, by_value, length.into())
                }
            }
            _ => true,
        }
    }

    /// Returns the function's result that gives the new row these values, of the columns' types.
    pub fn with_values(self, columns: Columns, values: [Option<Datum>; 2]) -> Datum {
        let Some(row) = self.new_row() else { return self.unchanged() };
        let mut columns = columns;
        let mut nulls = values.map(|value| value.is_none());
        let mut values = values.map(|value| value.unwrap_or(Datum::from(0)));
        // SAFETY: the row is one of the table's, whose columns have these numbers.
        let changed = unsafe {
            pg_sys::heap_modify_tuple_by_cols(
                row,
                self.relation().rd_att,
                2,
                columns.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            )
        };
        Datum::from(changed)
    }
}

/// Returns the list of a trigger that has two columns.
fn listed(trigger: &pg_sys::Trigger) -> Columns {
    // SAFETY: the definition has the numbers of its two columns.
    [0, 1].map(|index| i32::from(unsafe { *trigger.tgattr.add(index) }))
}

/// # Safety
/// `trigger` is a trigger's definition, valid for `'a`.
unsafe fn arguments<'a>(trigger: &pg_sys::Trigger) -> Vec<&'a CStr> {
    let count = usize::try_from(trigger.tgnargs).unwrap_or(0);
    // SAFETY: a definition has as many texts as it counts.
    (0..count).map(|index| unsafe { CStr::from_ptr(*trigger.tgargs.add(index)) }).collect()
}

/// Returns the table of which a table is a partition, at the top; another table itself.
pub fn root_of(table: Oid) -> Oid {
    // SAFETY: accepts any OID; the list has OIDs, from the parent to the top.
    unsafe {
        let above = nodes::list_cells(pg_sys::get_partition_ancestors(table)).last();
        above.map_or(table, |cell| (*cell).oid_value)
    }
}

/// Returns whether a table has a generated column of that name.
pub fn is_generated(table: Oid, column: &str) -> bool {
    let Ok(column) = CString::new(column) else { return false };
    // SAFETY: the name is zero-terminated; the number is an existing column's.
    unsafe {
        let number = pg_sys::get_attnum(table, column.as_ptr());
        number > 0 && pg_sys::get_attgenerated(table, number) != 0
    }
}

/// Returns a row of a table's type whose columns are all NULL.
pub fn null_row(row_type: Oid) -> Datum {
    // SAFETY: the type is a table's; the arrays have an element for each column.
    unsafe {
        let description = pg_sys::lookup_rowtype_tupdesc_copy(row_type, -1);
        let columns = usize::try_from((*description).natts).unwrap_or(0);
        let (mut values, mut nulls) = (vec![Datum::from(0); columns], vec![true; columns]);
        let row = pg_sys::heap_form_tuple(description, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::heap_copy_tuple_as_datum(row, description)
    }
}

/// Returns whether a relation is a table, possibly a partitioned one.
pub fn is_table(relation: Oid) -> bool {
    // SAFETY: accepts any OID.
    let kind = unsafe { pg_sys::get_rel_relkind(relation) } as u8;
    matches!(kind, b'r' | b'p')
}

/// Returns the type of a table's rows.
pub fn row_type_of(table: Oid) -> Oid {
    // SAFETY: accepts any OID.
    unsafe { pg_sys::get_rel_type_id(table) }
}

/// Returns the type of a table's column; `None` if there is no such column.
pub fn type_of_column(table: Oid, column: &str) -> Option<Oid> {
    let column = CString::new(column).ok()?;
    // SAFETY: the name is zero-terminated; the number is an existing column's.
    unsafe {
        let number = pg_sys::get_attnum(table, column.as_ptr());
        (number > 0).then(|| pg_sys::get_atttype(table, number))
    }
}
