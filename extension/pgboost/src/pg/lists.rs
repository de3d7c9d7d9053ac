//! PostgreSQL's lists.

use pgrx::pg_sys;

/// The pointers of a list; none for an empty one, which is a null pointer.
///
/// # Safety
/// The list is valid and of pointers to that type, and outlives the iterator unchanged.
pub unsafe fn pointers<T>(list: *mut pg_sys::List) -> impl Iterator<Item = *mut T> {
    // SAFETY: the caller says so.
    unsafe { cells(list) }.map(|cell| unsafe { (*cell).ptr_value.cast() })
}

/// # Safety
/// The list is valid and of integers, and outlives the iterator unchanged.
pub unsafe fn integers(list: *mut pg_sys::List) -> impl Iterator<Item = i32> {
    // SAFETY: the caller says so.
    unsafe { cells(list) }.map(|cell| unsafe { (*cell).int_value })
}

/// A list of these pointers; none is a null pointer.
///
/// # Safety
/// Called where PostgreSQL's memory may be taken, as everywhere in a running statement.
pub unsafe fn of_pointers<T>(pointers: impl IntoIterator<Item = *mut T>) -> *mut pg_sys::List {
    pointers.into_iter().fold(std::ptr::null_mut(), |list, pointer| {
        // SAFETY: what was made so far is a list of pointers.
        unsafe { pg_sys::lappend(list, pointer.cast()) }
    })
}

/// # Safety
/// The list is valid and outlives the iterator, and keeps its length.
pub unsafe fn cells(list: *mut pg_sys::List) -> impl Iterator<Item = *mut pg_sys::ListCell> {
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
