//! Signals around calls of libxgboost.
//!
//! OpenMP makes its threads inside such calls, at no moment that we could know, and a thread inherits
//! the signal mask. PostgreSQL's handlers must run on its one thread only: a handler on another
//! would touch the backend's state in the middle of something else. So all signals are blocked
//! while libxgboost runs, and what arrives is handled right after the call. Where libxgboost calls
//! back, the mask is lifted, so that a cancel is seen there.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// A set of signals that are blocked.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl Mask {
    /// All signals.
    pub fn all() -> Mask {
        let mut all = MaybeUninit::uninit();
        // SAFETY: the call fills the set.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            Mask(all.assume_init())
        }
    }

    /// Those that are blocked now.
    pub fn current() -> Mask {
        let mut current = MaybeUninit::uninit();
        // SAFETY: without a new set, the call only fills the other.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), current.as_mut_ptr());
            Mask(current.assume_init())
        }
    }

    /// Blocks these and no others, until what is given back is dropped.
    pub fn hold(self) -> Held {
        let mut before = MaybeUninit::uninit();
        // SAFETY: sets the one set and fills the other.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, before.as_mut_ptr());
            Held { before: Mask(before.assume_init()), _thread: PhantomData }
        }
    }
}

/// Sets the mask that was there before, when it is dropped.
pub struct Held {
    before: Mask,
    /// A mask belongs to a thread.
    _thread: PhantomData<*const ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the mask was given by the system.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before.0, ptr::null_mut());
        }
    }
}
