//! CPU time of this thread: all sides use a single one, and other processes do not disturb it.

/// `struct timespec` of Linux on 64 bits.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// Linux's `CLOCK_THREAD_CPUTIME_ID`.
const THREAD: i32 = 3;

/// A starting time in nanoseconds of CPU time.
pub(crate) struct Clock(f64);

impl Clock {
    pub(crate) fn now() -> Self {
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: the C library is linked by std, and writes one timespec.
        let failed = unsafe { clock_gettime(THREAD, &raw mut time) };
        assert_eq!(failed, 0);
        Clock(time.seconds as f64 * 1e9 + time.nanoseconds as f64)
    }

    /// Returns the nanoseconds since the start.
    pub(crate) fn nanoseconds(&self) -> f64 {
        Self::now().0 - self.0
    }
}
