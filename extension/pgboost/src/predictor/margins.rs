//! The margins of rows, in the precision in which the model's library adds and transforms them.

use gbtrees::internals::Precision;

use crate::cache::ModelImage;

pub enum Margins {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Default for Margins {
    fn default() -> Self {
        Margins::Single(Vec::new())
    }
}

impl Margins {
    /// Room for the margins of so many rows.
    pub fn of(image: &ModelImage, rows: usize) -> Margins {
        let count = rows * image.num_outputs();
        match image.sum_precision() {
            Precision::Single => Margins::Single(vec![0.0; count]),
            Precision::Double => Margins::Double(vec![0.0; count]),
        }
    }

    /// Makes it room for the margins of so many rows of that image.
    #[inline]
    pub fn fit(&mut self, image: &ModelImage, rows: usize) {
        let count = rows * image.num_outputs();
        match (&mut *self, image.sum_precision()) {
            (Margins::Single(margins), Precision::Single) => margins.resize(count, 0.0),
            (Margins::Double(margins), Precision::Double) => margins.resize(count, 0.0),
            (margins, _) => *margins = Margins::of(image, rows),
        }
    }
}
