//! Buffers of single rows, and the form and number of features that evaluation expects.

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::sections::{Sections, ZERO_MISSING};
use crate::ensemble::MissingRule;
use crate::eval::ctr::CtrBuffers;
use crate::eval::kernel::Kernel;
use crate::eval::row_keys::RowKeys;
use crate::memory::allocated;
use crate::{Error, ErrorKind};

/// Reusable buffers for evaluating row after row; rows allocate nothing.
#[derive(Clone, Debug)]
pub struct Scratch {
    pub(super) kernel: Kernel,
    pub(super) keys: RowKeys,
    pub(super) present: Vec<f32>,
    pub(super) ctrs: CtrBuffers,
}

impl Scratch {
    /// Creates buffers for a compiled model and the processor's best kernel.
    pub fn new<B: StableBytes>(compiled: &CompiledModel<B>) -> Self {
        Self::with_kernel(compiled, Kernel::default())
    }

    /// Creates buffers for a compiled model and a kernel.
    pub fn with_kernel<B: StableBytes>(compiled: &CompiledModel<B>, kernel: Kernel) -> Self {
        let width = compiled.num_split_features();
        let keys = RowKeys::with_outcomes(compiled.sections(), width);
        Scratch { keys, ..Self::for_any(kernel) }
    }

    /// Creates buffers for any compiled model, resized as needed.
    pub fn for_any(kernel: Kernel) -> Self {
        let (keys, present) = (RowKeys::new(0), Vec::new());
        Scratch { kernel, keys, present, ctrs: CtrBuffers::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + allocated(&self.present) + self.ctrs.bytes()
    }
}

/// Replaces zeros with NaN for features whose zeros are missing; without such features, returns the
/// rows themselves.
#[inline]
pub(crate) fn present_values<'a>(
    compiled: Sections<'_>,
    rows: &'a [f32],
    buffer: &'a mut Vec<f32>,
) -> &'a [f32] {
    let zero_missing = compiled.get(ZERO_MISSING);
    if zero_missing.is_empty() {
        return rows;
    }
    let values = rows.iter().zip(zero_missing.iter().cycle()).map(|(value, zero_missing)| {
        let missing = *zero_missing != 0 && value.abs() <= MissingRule::ZERO;
        if missing { f32::NAN } else { *value }
    });
    buffer.clear();
    buffer.extend(values);
    buffer
}

/// Returns the error for a wrong number of features or results.
#[cold]
#[inline(never)]
pub(crate) fn wrong_length(
    [features, wanted_features]: [usize; 2],
    [out, wanted_out]: [usize; 2],
) -> Error {
    let message = if features == wanted_features {
        format!("there is room for {out} numbers, not for {wanted_out}")
    } else {
        format!("there are {features} features, not {wanted_features}")
    };
    Error::new(ErrorKind::RowLength, message)
}
