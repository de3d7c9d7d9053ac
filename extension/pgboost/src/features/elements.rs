//! Features that are the elements of an array, `image[1]`, `image[2]` and so on.

use pg_interface::array::ElementType;
use pg_interface::{Number, Oid};

use super::FeatureContext;
use super::reader::{FeatureReader, narrowed};
use crate::error::{Error, Result, TypeReason};

/// Features that follow one another, and the column that they are the elements of.
pub struct ElementFeatures {
    column: String,
    /// The first of them, and how many there are.
    pub first: usize,
    pub count: usize,
}

impl ElementFeatures {
    /// Fails unless all of them are numbers to the model.
    pub fn of(
        column: &str,
        array_type: Oid,
        element: ElementType,
        first: usize,
        count: usize,
        context: FeatureContext<'_>,
    ) -> Result<ElementFeatures> {
        for index in first..first + count {
            let scalar_type = Some(element.scalar_type());
            let reader = FeatureReader::of(context, index, element.oid(), scalar_type)?;
            if !matches!(reader, FeatureReader::Number | FeatureReader::Narrowed) {
                return Err(context.unusable(index, array_type, TypeReason::Unusable));
            }
        }
        Ok(ElementFeatures { column: column.to_owned(), first, count })
    }

    /// Reads the elements of an array, nothing for a NULL, over missing values.
    #[inline(never)]
    pub fn read<'a>(
        &self,
        elements: impl Iterator<Item = Option<Number<'a>>>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        let mut places = features.iter_mut().enumerate().skip(self.first).take(self.count);
        let mut given = 0;
        for element in elements {
            given += 1;
            if let (Some((index, place)), Some(number)) = (places.next(), element) {
                *place = narrowed(context, index, number);
            }
        }
        if given == self.count {
            return Ok(());
        }
        Err(Error::ArrayLength { column: self.column.clone(), expected: self.count, given })
    }
}
