//! Buffers for batches that stay from input to input, as a backend's stay from statement to statement.
//! To allocate them for each input took a third of the time (perf).

use std::cell::RefCell;

use gbtrees::internals::{BatchScratch, ContributionScratch, Kernel};

thread_local! {
    static BUFFERS: RefCell<Vec<(Kernel, BatchScratch)>> = RefCell::new(
        Kernel::available().map(|kernel| (kernel, BatchScratch::for_any(kernel))).collect(),
    );
    static EXPLANATIONS: RefCell<Vec<ContributionScratch>> =
        RefCell::new(Kernel::available().map(ContributionScratch::with_kernel).collect());
}

/// Calls back with each kernel of this processor and its buffers.
pub fn with_each_kernel(mut evaluate: impl FnMut(Kernel, &mut BatchScratch)) {
    BUFFERS.with_borrow_mut(|buffers| {
        for (kernel, scratch) in buffers {
            evaluate(*kernel, scratch);
        }
    });
}

/// Calls back with each kernel's buffers for explanations.
pub fn with_each_explanation(mut explain: impl FnMut(&mut ContributionScratch)) {
    EXPLANATIONS.with_borrow_mut(|buffers| buffers.iter_mut().for_each(&mut explain));
}
