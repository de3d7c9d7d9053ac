//! Work on many rows, by one thread or several, that Ctrl-C ends.
//!
//! The interpreter is released meanwhile. The calling thread asks for signals twenty times a second, since
//! Python runs their handlers on its main thread alone.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{GbtreesError, raised};

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// How rows are divided.
pub(crate) struct Work {
    /// Rows in one piece of work.
    pub(crate) at_once: usize,
    /// Numbers per row in the results.
    pub(crate) width: usize,
    /// The most threads.
    pub(crate) threads: usize,
    /// Whether all of it takes less time than releasing the interpreter is worth.
    pub(crate) is_small: bool,
}

/// Looks for signals at times, and keeps the exception that a handler raised.
pub(crate) struct Interrupts(Mutex<(Instant, Option<PyErr>)>);

impl Default for Interrupts {
    fn default() -> Self {
        Interrupts(Mutex::new((Instant::now(), None)))
    }
}

impl Interrupts {
    /// Returns whether a signal's handler has raised an exception.
    pub(crate) fn came(&self) -> bool {
        let mut state = locked(&self.0);
        if state.1.is_none() && state.0.elapsed() >= LOOK {
            state.1 = Python::attach(|py| py.check_signals()).err();
            state.0 = Instant::now();
        }
        state.1.is_some()
    }

    /// Raises the exception, if there is one.
    pub(crate) fn raise(self) -> PyResult<()> {
        let (_, raised) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        raised.map_or(Ok(()), Err)
    }
}

/// Locks what no panic can leave half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills the results of all rows, piece by piece.
pub(crate) fn run<M: Send>(
    py: Python<'_>,
    work: &Work,
    out: &mut [M],
    fill: impl Fn(Range<usize>, &mut [M]) -> gbtrees::Result<()> + Sync,
) -> PyResult<()> {
    let width = work.width.max(1);
    let rows = out.len() / width;
    if work.is_small {
        return if rows == 0 { Ok(()) } else { fill(0..rows, out).map_err(|error| raised(&error)) };
    }
    let pieces = out.chunks_mut(work.at_once * width).enumerate();
    let pieces = pieces.map(|(piece, out)| {
        let start = piece * work.at_once;
        (start..start + out.len() / width, out)
    });
    let interrupts = Interrupts::default();
    let threads = work.threads.min(rows.div_ceil(work.at_once));
    let filled = py.detach(|| {
        if threads > 1 {
            return together(pieces, &*pool(threads)?, &interrupts, &fill);
        }
        for (range, out) in pieces {
            fill(range, out).map_err(|error| raised(&error))?;
            if interrupts.came() {
                break;
            }
        }
        Ok(())
    });
    interrupts.raise()?;
    filled
}

/// The pieces of work that are left for threads.
struct Left {
    pieces: Mutex<(usize, Option<gbtrees::Error>)>,
    ended: Condvar,
    stops: AtomicBool,
}

/// Counts a piece as done, whatever became of it.
struct Piece<'a>(&'a Left);

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        locked(&self.0.pieces).0 -= 1;
        self.0.ended.notify_one();
    }
}

fn together<'a, M: Send + 'a>(
    pieces: impl Iterator<Item = (Range<usize>, &'a mut [M])>,
    pool: &ThreadPool,
    interrupts: &Interrupts,
    fill: &(impl Fn(Range<usize>, &mut [M]) -> gbtrees::Result<()> + Sync),
) -> PyResult<()> {
    let left = Left {
        pieces: Mutex::new((0, None)),
        ended: Condvar::new(),
        stops: AtomicBool::new(false),
    };
    pool.in_place_scope(|scope| {
        for (range, out) in pieces {
            locked(&left.pieces).0 += 1;
            scope.spawn(|_| {
                let left = &left;
                let _piece = Piece(left);
                if left.stops.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = fill(range, out) {
                    left.stops.store(true, Ordering::Relaxed);
                    locked(&left.pieces).1.get_or_insert(error);
                }
            });
        }
        let mut pieces = locked(&left.pieces);
        while pieces.0 > 0 {
            let waited = left.ended.wait_timeout(pieces, LOOK);
            pieces = waited.unwrap_or_else(PoisonError::into_inner).0;
            if interrupts.came() {
                left.stops.store(true, Ordering::Relaxed);
            }
        }
    });
    let (_, error) = left.pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(()), |error| Err(raised(&error)))
}

/// A pool of threads by its size, and the process that they are of.
struct Pool {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// Returns a pool of this number of threads, the last one if it fits.
fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut last = locked(&POOL);
    if let Some(pool) = &*last
        && pool.process == process
        && pool.threads == threads
    {
        return Ok(Arc::clone(&pool.pool));
    }
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    let built = built.map_err(|error| {
        GbtreesError::new_err(format!("{threads} threads cannot be started: {error}"))
    })?;
    let pool = Arc::new(built);
    if let Some(old) = last.replace(Pool { process, threads, pool: Arc::clone(&pool) })
        && old.process != process
    {
        // The threads of a parent process are not here to be ended.
        std::mem::forget(old);
    }
    Ok(pool)
}
