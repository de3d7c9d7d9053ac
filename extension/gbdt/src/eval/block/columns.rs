//! The values of a block's features, one after another.
//!
//! Rows lie one after another, so that a feature's values lie apart, each in a cache line of its own. Several
//! neighbouring features are copied together, while a line is at hand.

use super::{BLOCK, Rows, Values};

/// Features that are copied together: a quarter of a processor's first cache.
const TOGETHER: usize = 8;

/// Some successive features of a block of rows.
#[derive(Clone, Debug)]
pub(super) struct ColumnValues {
    first: usize,
    /// How many are there.
    count: usize,
    columns: Box<[Values; TOGETHER]>,
}

impl ColumnValues {
    pub(super) fn new() -> Self {
        let columns = Box::new([const { Values([0.0; BLOCK]) }; TOGETHER]);
        ColumnValues { first: 0, count: 0, columns }
    }

    /// Forgets the block.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// The values of a feature, in a block whose other features were read by this since it was cleared.
    pub(super) fn of(&mut self, rows: &Rows<'_>, feature: usize) -> &Values {
        if feature < self.first || feature >= self.first + self.count {
            self.first = feature;
            self.count = TOGETHER.min(rows.num_features - feature);
            let features = rows.features.chunks_exact(rows.num_features).take(BLOCK);
            for (row, features) in features.enumerate() {
                let own = &features[feature..feature + self.count];
                for (column, value) in self.columns.iter_mut().zip(own) {
                    column.0[row] = *value;
                }
            }
        }
        &self.columns[feature - self.first]
    }
}
