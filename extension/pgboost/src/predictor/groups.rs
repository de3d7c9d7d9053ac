//! The rows of a batch, by the model that each names: grouped by the bytes of the name, without sorting.

use std::ops::Range;

use crate::name_hash::NameMap;

/// The rows of one group after another.
#[derive(Default)]
pub struct Groups {
    /// The names of the groups one after another, and where each ends.
    names: String,
    name_ends: Vec<usize>,
    rows: Vec<u32>,
    /// Where the rows of each group end.
    ends: Vec<usize>,
    /// For each row its group; `NO_GROUP` if its name is NULL.
    group_of: Vec<u32>,
}

const NO_GROUP: u32 = u32::MAX;

/// Bytes that a row takes here: once in `group_of`, once in `rows`.
pub const ROW_BYTES: usize = 2 * size_of::<u32>();

impl Groups {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Rows that name a model.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The name of a group's model, and its rows.
    pub fn get(&self, group: usize) -> Option<(&str, &[u32])> {
        let name = self.names.get(range(&self.name_ends, group)?)?;
        Some((name, self.rows.get(range(&self.ends, group)?)?))
    }

    pub fn fill<'a>(&mut self, rows: usize, name: impl Fn(usize) -> Option<&'a [u8]>) {
        let mut known: NameMap<&[u8], u32> = NameMap::default();
        let mut last: Option<(&[u8], u32)> = None;
        self.names.clear();
        self.name_ends.clear();
        self.ends.clear();
        self.group_of.clear();
        for row in 0..rows {
            let Some(name) = name(row) else {
                self.group_of.push(NO_GROUP);
                continue;
            };
            // Neighbours often have the same model.
            let group = match last {
                Some((last, group)) if last == name => group,
                _ => *known.entry(name).or_insert_with(|| {
                    self.names.push_str(&String::from_utf8_lossy(name));
                    self.name_ends.push(self.names.len());
                    self.ends.push(0);
                    self.ends.len() as u32 - 1
                }),
            };
            last = Some((name, group));
            self.group_of.push(group);
        }
        let group_of = std::mem::take(&mut self.group_of);
        self.place_rows(&group_of);
        self.group_of = group_of;
    }

    /// The same with the names by their numbers, and of each row the number of its name; a number that is
    /// none of these stands for NULL.
    pub fn fill_by_numbers<'a>(&mut self, numbers: &[u32], names: impl Iterator<Item = &'a [u8]>) {
        self.names.clear();
        self.name_ends.clear();
        self.ends.clear();
        for name in names {
            self.names.push_str(&String::from_utf8_lossy(name));
            self.name_ends.push(self.names.len());
            self.ends.push(0);
        }
        self.place_rows(numbers);
    }

    /// Puts each row into its place in its group.
    fn place_rows(&mut self, group_of: &[u32]) {
        for group in group_of {
            if let Some(count) = self.ends.get_mut(*group as usize) {
                *count += 1;
            }
        }
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        self.rows.clear();
        self.rows.resize(before, 0);
        for (row, group) in (0..).zip(group_of) {
            let Some(next) = self.ends.get_mut(*group as usize) else { continue };
            if let Some(place) = self.rows.get_mut(*next) {
                *place = row;
            }
            *next += 1;
        }
    }
}

fn range(ends: &[usize], index: usize) -> Option<Range<usize>> {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    Some(start..*ends.get(index)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_grouped_in_their_order() {
        let names = [Some("b"), Some("a"), None, Some("a"), Some("b"), Some("c"), Some("a")];
        let mut groups = Groups::default();
        for _ in 0..2 {
            groups.fill(names.len(), |row| names.get(row).copied().flatten().map(str::as_bytes));
            let all: Vec<_> = (0..groups.len()).filter_map(|group| groups.get(group)).collect();
            assert_eq!(all, [("b", &[0, 4][..]), ("a", &[1, 3, 6]), ("c", &[5])]);
            assert_eq!(groups.rows(), 6);
        }
        let by_numbers: [&[u8]; 2] = [b"b", b"a"];
        groups.fill_by_numbers(&[0, 1, NO_GROUP, 0], by_numbers.into_iter());
        assert_eq!(
            (groups.get(0), groups.get(1)),
            (Some(("b", &[0, 3][..])), Some(("a", &[1][..])))
        );
        groups.fill(0, |_| None);
        assert!(groups.len() == 0 && groups.rows() == 0);
    }
}
