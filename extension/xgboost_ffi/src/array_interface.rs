//! How memory is described to libxgboost: numpy's array interface, as JSON.
//!
//! A batch is a run of records of equal length, each a row's features followed by its label and
//! other numbers of the row, all of four bytes. Strides let libxgboost read each part where it is,
//! so nothing is copied on the way from a record to a matrix.

/// Bytes of a feature, a label, a weight.
const WORD: usize = size_of::<f32>();

/// A run of records.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Their words.
    pub words: &'a [f32],
    /// Words per record.
    pub record: usize,
}

impl Batch<'_> {
    /// Number of records.
    pub fn rows(&self) -> usize {
        self.words.len().checked_div(self.record).unwrap_or(0)
    }

    /// The first `columns` words of each record, as a table.
    pub fn table(&self, columns: usize) -> String {
        let shape = format!("{},{columns}", self.rows());
        interface(self.words, &shape, &format!("[{},{WORD}]", self.record * WORD), "<f4")
    }

    /// One word of each record, as a column.
    pub fn column(&self, at: usize) -> String {
        let words = self.words.get(at..).unwrap_or_default();
        let stride = format!("[{}]", self.record * WORD);
        interface(words, &self.rows().to_string(), &stride, "<f4")
    }

    /// The first words of each record, as columns of which some are codes of categories.
    pub fn columns<'c>(
        &self,
        categories: impl Iterator<Item = Option<&'c CategoryNames>>,
    ) -> String {
        let column = |(at, names): (usize, Option<&CategoryNames>)| match names {
            Some(names) => format!("[{},{}]", names.interface(), self.column(at)),
            None => self.column(at),
        };
        let columns: Vec<_> = categories.enumerate().map(column).collect();
        format!("[{}]", columns.join(","))
    }
}

/// A plain array of numbers, whose type has that name in numpy.
pub(crate) fn array<T>(values: &[T], type_name: &str) -> String {
    interface(values, &values.len().to_string(), "null", type_name)
}

fn interface<T>(values: &[T], shape: &str, strides: &str, type_name: &str) -> String {
    let address = values.as_ptr().addr();
    format!(
        "{{\"data\":[{address},true],\"shape\":[{shape}],\"strides\":{strides},\
         \"typestr\":\"{type_name}\",\"version\":3}}"
    )
}

/// The names of a feature's categories in the order of their codes, laid out as Arrow's text is.
pub struct CategoryNames {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl CategoryNames {
    /// Lays them out; nothing if together they have more bytes than an offset can count.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<CategoryNames> {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for name in names {
            bytes.extend_from_slice(name.as_bytes());
            offsets.push(i32::try_from(bytes.len()).ok()?);
        }
        Some(CategoryNames { offsets, bytes })
    }

    fn interface(&self) -> String {
        let (offsets, values) = (array(&self.offsets, "<i4"), array(&self.bytes, "|i1"));
        format!("{{\"offsets\":{offsets},\"values\":{values}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_lies_behind_the_features() {
        let words = [1.0, 2.0, 9.0, 3.0, 4.0, 8.0];
        let batch = Batch { words: &words, record: 3 };
        assert_eq!(batch.rows(), 2);
        let address = words.as_ptr().addr() + 8;
        let expected = format!("[{address},true],\"shape\":[2],\"strides\":[12]");
        assert!(batch.column(2).contains(&expected));
    }

    #[test]
    fn names_are_laid_end_to_end() {
        let names = CategoryNames::new(["ab", "", "c"]).unwrap();
        assert_eq!(names.offsets, [0, 2, 2, 3]);
        assert_eq!(names.bytes, b"abc");
    }
}
