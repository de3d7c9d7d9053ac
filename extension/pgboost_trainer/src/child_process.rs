//! What the process does before anything else, so that it is its backend's and nobody else's.

use std::fs;
use std::os::unix::process::parent_id;

/// The highest value of `/proc/PID/oom_score_adj`. A training can be run again; where the system's
/// memory runs out, it is to go before anything of the server's.
const OOM_SCORE: &str = "1000";

/// The first descriptor after the standard ones.
const FIRST: libc::c_int = 3;

/// Closes what the backend has open, and makes this process end when the backend does.
/// Returns whether the backend, the process `parent`, is still there.
pub(crate) fn enter(parent: u32) -> bool {
    for descriptor in open_descriptors() {
        // SAFETY: nothing of this process has opened a file yet, so nothing here owns it.
        unsafe { libc::close(descriptor) };
    }
    // Where it cannot be raised, the system chooses as it would for a backend.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    // After a crash the backend waits for the end, and gigabytes of rows are nobody's to keep.
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the record is valid.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
    // SAFETY: takes a number, and no pointer.
    let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
    // A backend that ended before has sent no signal.
    set && parent_id() == parent
}

fn open_descriptors() -> Vec<libc::c_int> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(|entry| number(entry.ok()?)).filter(|number| *number >= FIRST).collect()
}
