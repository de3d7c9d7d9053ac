//! Batch buffers kept from input to input, as a backend keeps them between statements. Allocating them
//! per input took a third of the time (perf).

use std::cell::RefCell;

use gbtrees::internals::{BatchScratch, Kernel};

thread_local! {
    static BUFFERS: RefCell<Vec<(Kernel, BatchScratch)>> = RefCell::new(
        Kernel::available().map(|kernel| (kernel, BatchScratch::for_any(kernel))).collect(),
    );
}

/// Calls back with each kernel of this processor and its buffers.
pub fn with_each_kernel(mut evaluate: impl FnMut(Kernel, &mut BatchScratch)) {
    BUFFERS.with_borrow_mut(|buffers| {
        for (kernel, scratch) in buffers {
            evaluate(*kernel, scratch);
        }
    });
}
