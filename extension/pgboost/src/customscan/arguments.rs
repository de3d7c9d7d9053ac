//! The sources of a batched call's arguments: columns of the plan below.
//!
//! An array that is written as its elements is not formed: the elements are columns. So are the values of a
//! jsonb object that is written as its keys and values, and the columns of a table's whole row if the scan
//! returns all of them. The plan has the sources as numbers, which can be copied into the plan cache and sent to a
//! parallel worker: for each argument its column, 0 for a constant, or the negated number of its parts, followed
//! by their columns.

use pg_interface::jsonb::ObjectType;
use pg_interface::nodes::{self, Expr};
use pgrx::pg_sys::{self, List, Node, NodeTag, TargetEntry, Var};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    Constant,
    Column(i32),
    /// An array's elements, an object's values, or a row's columns, in their order.
    Parts(Vec<i32>),
}

/// The most parts of an argument that are columns, as many as a table has: they are compared with one another, and
/// PostgreSQL numbers columns with 16 bits.
const MAX_PARTS: usize = 1600;

/// Returns the elements of an array that is written as such, the values of an object, or else the argument.
pub(crate) fn spread(argument: Expr<'_>) -> Vec<Expr<'_>> {
    let values = || ObjectType::with_values(argument).map(|(_, values)| values);
    let elements = argument.as_array().or_else(values).unwrap_or_default();
    let constant = elements.iter().any(|element| element.tag() == NodeTag::T_Const);
    let is_spread = (1..=MAX_PARTS).contains(&elements.len()) && !constant;
    if is_spread { elements } else { vec![argument] }
}

/// Finds the arguments of a call among the inputs.
///
/// # Safety
/// The inputs are a target list, to which the call's path has added every feature, or the expressions to which
/// it is spread.
pub(super) unsafe fn sources(call: Expr<'_>, inputs: *mut List) -> Vec<ArgumentSource> {
    let arguments = call.as_call().map(|(_, arguments)| arguments).unwrap_or_default();
    let source = |argument: Expr<'_>| {
        if argument.tag() == NodeTag::T_Const {
            return ArgumentSource::Constant;
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            match column_of(argument, inputs) {
                Some(column) => ArgumentSource::Column(column),
                None => ArgumentSource::Parts(parts_of(argument, inputs)),
            }
        }
    };
    arguments.into_iter().map(source).collect()
}

/// Encodes the sources as numbers for [`read`].
pub(super) fn numbers(sources: &[ArgumentSource]) -> Vec<i32> {
    let mut numbers = Vec::new();
    for source in sources {
        match source {
            ArgumentSource::Constant => numbers.push(0),
            ArgumentSource::Column(column) => numbers.push(*column),
            ArgumentSource::Parts(columns) => {
                numbers.push(-(columns.len() as i32));
                numbers.extend(columns);
            }
        }
    }
    numbers
}

/// # Safety
/// The list is of expressions, and valid.
unsafe fn column_of(argument: Expr<'_>, inputs: *mut List) -> Option<i32> {
    // SAFETY: the inputs are a target list.
    unsafe {
        nodes::list_pointers::<TargetEntry>(inputs)
            .find(|entry| Expr::new((**entry).expr.cast()).is_same_as(argument))
            .map(|entry| (*entry).resno.into())
    }
}

/// # Safety
/// The list is of expressions, and valid.
unsafe fn parts_of(argument: Expr<'_>, inputs: *mut List) -> Vec<i32> {
    // SAFETY: the inputs are a target list.
    unsafe {
        if argument.tag() == NodeTag::T_Var {
            // All columns of its table, which `plan` has added.
            return nodes::list_pointers::<TargetEntry>(inputs)
                .map(|entry| (*entry).resno.into())
                .collect();
        }
        spread(argument).into_iter().filter_map(|element| column_of(element, inputs)).collect()
    }
}

/// Decodes the sources that [`numbers`] wrote.
pub(crate) fn read(numbers: impl IntoIterator<Item = i32>) -> Vec<ArgumentSource> {
    let mut numbers = numbers.into_iter();
    let mut sources = Vec::new();
    while let Some(number) = numbers.next() {
        sources.push(match number {
            0 => ArgumentSource::Constant,
            1.. => ArgumentSource::Column(number),
            _ => ArgumentSource::Parts(
                numbers.by_ref().take(number.unsigned_abs() as usize).collect(),
            ),
        });
    }
    sources
}

impl ArgumentSource {
    /// Returns the columns of its parts.
    pub(crate) fn columns(&self) -> &[i32] {
        match self {
            ArgumentSource::Constant => &[],
            ArgumentSource::Column(column) => std::slice::from_ref(column),
            ArgumentSource::Parts(columns) => columns,
        }
    }

    /// Replaces an argument of a call, or its parts, by references to columns of a row as the plan below has it.
    ///
    /// # Safety
    /// The cell holds the argument, a copy that the caller owns; the row is that plan's target list.
    pub(crate) unsafe fn refer(&self, cell: *mut pg_sys::ListCell, row: *mut List) {
        // SAFETY: guaranteed by the caller; nodes are read and made by their tags.
        unsafe {
            let node: *mut Node = (*cell).ptr_value.cast();
            match self {
                ArgumentSource::Constant => {}
                ArgumentSource::Column(column) => {
                    (*cell).ptr_value = reference(*column, row).cast()
                }
                ArgumentSource::Parts(columns) if (*node).type_ == NodeTag::T_ArrayExpr => {
                    let elements = (*node.cast::<pg_sys::ArrayExpr>()).elements;
                    refer_all(nodes::list_cells(elements), columns, row);
                }
                ArgumentSource::Parts(columns) if (*node).type_ == NodeTag::T_FuncExpr => {
                    let pairs = nodes::list_cells((*node.cast::<pg_sys::FuncExpr>()).args);
                    refer_all(pairs.skip(1).step_by(2), columns, row);
                }
                ArgumentSource::Parts(columns) => {
                    let columns = columns.iter().map(|column| reference(*column, row));
                    let whole: *mut pg_sys::RowExpr = nodes::make(NodeTag::T_RowExpr);
                    (*whole).args = nodes::list_of(columns);
                    (*whole).row_typeid = pg_sys::exprType(node);
                    (*whole).row_format = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
                    (*whole).location = -1;
                    (*cell).ptr_value = whole.cast();
                }
            }
        }
    }
}

/// Puts a reference into each cell.
///
/// # Safety
/// The caller owns the cells; the row is described by a target list.
unsafe fn refer_all(
    cells: impl Iterator<Item = *mut pg_sys::ListCell>,
    columns: &[i32],
    row: *mut List,
) {
    for (cell, column) in cells.zip(columns) {
        // SAFETY: guaranteed by the caller.
        unsafe { (*cell).ptr_value = reference(*column, row).cast() };
    }
}

/// # Safety
/// The row is a target list.
unsafe fn reference(column: i32, row: *mut List) -> *mut Node {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(entry) = nodes::list_nth::<TargetEntry>(row, column as usize - 1) else {
            return std::ptr::null_mut();
        };
        let expression: *mut Node = (*entry).expr.cast();
        pg_sys::makeVar(
            pg_sys::INDEX_VAR as _,
            column as i16,
            pg_sys::exprType(expression),
            pg_sys::exprTypmod(expression),
            pg_sys::exprCollation(expression),
            0,
        )
        .cast()
    }
}

/// Returns the number of the scan tuple's column to which a node refers, if it is a reference.
///
/// # Safety
/// The node is an expression, and valid.
pub(super) unsafe fn referred(node: *mut pg_sys::Node) -> Option<i32> {
    // SAFETY: the node is valid and is read by its tag.
    unsafe {
        let variable = node.cast::<Var>();
        let refers = (*node).type_ == NodeTag::T_Var
            && (*variable).varno as i64 == i64::from(pg_sys::INDEX_VAR);
        refers.then(|| (*variable).varattno.into())
    }
}

/// Returns whether an expression is the whole row of a table, as one value.
pub(crate) fn is_whole_row(expression: Expr<'_>) -> bool {
    // SAFETY: the node is read by its tag.
    expression.tag() == NodeTag::T_Var
        && unsafe { (*expression.node().cast::<Var>()).varattno == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_back() {
        let parts = ArgumentSource::Parts(vec![2, 2, 5]);
        assert_eq!(parts.columns(), [2, 2, 5]);
        let sources =
            [ArgumentSource::Constant, parts, ArgumentSource::Column(7), ArgumentSource::Constant];
        assert_eq!(numbers(&sources), [0, -3, 2, 2, 5, 7, 0]);
        assert_eq!(read(numbers(&sources)), sources);
        assert_eq!(read([-1]), [ArgumentSource::Parts(Vec::new())]);
    }
}
