//! The distinct texts of a column, each with a code.
//!
//! Codes are assigned in the order in which texts first appear, so that one pass over the rows is enough, and
//! replaced by the order of the texts when the rows are read back. So the model depends on the order of the
//! rows no more than XGBoost itself does, and the categories are in the order of pandas.
//!
//! When a training continues a model, the dictionary is closed: it has the model's texts with their codes, and
//! takes no other.

use std::collections::HashMap;

pub(crate) struct Dictionary {
    codes: HashMap<Box<str>, u32>,
    limit: usize,
    bytes: usize,
    /// The number of look-ups.
    looked_up: u64,
    /// The texts of a closed dictionary, by their codes.
    closed: Option<Vec<String>>,
}

/// The most bytes of a column's distinct texts together.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// The fewest distinct texts that may count as keys.
const FEW_TEXTS: u64 = 20;

/// The reason why a text has no code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoCode {
    /// The column's distinct texts are too many or too long.
    Full,
    /// A closed dictionary does not have the text.
    Unknown,
}

/// Texts in order, and the mapping from old to new codes.
pub(crate) struct Sorted {
    /// The texts; a text's place is its new code.
    pub(crate) names: Vec<String>,
    /// The new code of each old one.
    pub(crate) codes: Vec<u32>,
}

impl Dictionary {
    pub(crate) fn new(limit: usize) -> Dictionary {
        Dictionary { codes: HashMap::new(), limit, bytes: 0, looked_up: 0, closed: None }
    }

    /// Creates a closed dictionary of these texts.
    pub(crate) fn closed(texts: Vec<String>) -> Dictionary {
        let codes = texts.iter().map(|text| text.as_str().into()).zip(0..).collect();
        Dictionary { codes, limit: texts.len(), bytes: 0, looked_up: 0, closed: Some(texts) }
    }

    /// Returns the code of a text; assigns the next one to a new text.
    #[inline]
    pub(crate) fn code(&mut self, text: &str) -> Result<u32, NoCode> {
        self.looked_up += 1;
        if let Some(code) = self.codes.get(text) {
            return Ok(*code);
        }
        if self.closed.is_some() {
            return Err(NoCode::Unknown);
        }
        self.bytes = self.bytes.saturating_add(text.len());
        if self.codes.len() >= self.limit || self.bytes > MAX_BYTES {
            return Err(NoCode::Full);
        }
        let code = self.codes.len() as u32;
        self.codes.insert(text.into(), code);
        Ok(code)
    }

    /// Returns the code of the text, or else that of the same number: 3.0 is 3, and false and true are 0 and 1.
    pub(crate) fn code_of_class(&mut self, text: &str) -> Result<u32, NoCode> {
        match self.code(text) {
            Err(NoCode::Unknown) => self.same_number(text).ok_or(NoCode::Unknown),
            found => found,
        }
    }

    fn same_number(&self, text: &str) -> Option<u32> {
        let number: f64 = match text {
            "false" => 0.0,
            "true" => 1.0,
            text => text.parse().ok()?,
        };
        let mut texts = self.closed.iter().flatten();
        u32::try_from(texts.position(|known| known.parse() == Ok(number))?).ok()
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns the number of values if more than half of many are unique or nearly so, as keys and addresses are.
    pub(crate) fn nearly_unique(&self) -> Option<u64> {
        let texts = self.codes.len() as u64;
        (texts >= FEW_TEXTS && texts * 2 > self.looked_up).then_some(self.looked_up)
    }

    /// Sorts the texts byte by byte.
    pub(crate) fn sorted(&self) -> Sorted {
        if let Some(sorted) = self.in_given_order() {
            return sorted;
        }
        let mut all = self.all();
        all.sort_unstable();
        Sorted::of(&all)
    }

    /// Sorts the texts as numbers, or byte by byte if one is not a number.
    pub(crate) fn sorted_as_numbers(&self) -> Sorted {
        if let Some(sorted) = self.in_given_order() {
            return sorted;
        }
        let mut all = self.all();
        let numbers: Option<HashMap<u32, f64>> =
            all.iter().map(|(text, code)| Some((*code, text.parse().ok()?))).collect();
        match numbers {
            Some(numbers) => all.sort_by(|a, b| {
                let number = |code| numbers.get(&code).copied().unwrap_or(f64::NAN);
                number(a.1).total_cmp(&number(b.1)).then_with(|| a.0.cmp(b.0))
            }),
            None => all.sort_unstable(),
        }
        Sorted::of(&all)
    }

    fn in_given_order(&self) -> Option<Sorted> {
        let names = self.closed.clone()?;
        let codes = (0..).take(names.len()).collect();
        Some(Sorted { names, codes })
    }

    /// Returns the texts with their codes, in no order.
    pub(crate) fn all(&self) -> Vec<(&str, u32)> {
        self.codes.iter().map(|(text, code)| (text.as_ref(), *code)).collect()
    }
}

impl Sorted {
    fn of(all: &[(&str, u32)]) -> Sorted {
        let mut codes = vec![0; all.len()];
        for (new, (_, old)) in all.iter().enumerate() {
            if let Some(place) = codes.get_mut(*old as usize) {
                *place = new as u32;
            }
        }
        Sorted { names: all.iter().map(|(text, _)| (*text).to_owned()).collect(), codes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(texts: &[&str]) -> Dictionary {
        let mut dictionary = Dictionary::new(100);
        for text in texts {
            dictionary.code(text).unwrap();
        }
        dictionary
    }

    #[test]
    fn codes_follow_the_order_of_the_texts() {
        let sorted = dictionary(&["b", "c", "a", "b"]).sorted();
        assert_eq!(sorted.names, ["a", "b", "c"]);
        assert_eq!(sorted.codes, [1, 2, 0]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers() {
        assert_eq!(dictionary(&["10", "9", "-1"]).sorted_as_numbers().names, ["-1", "9", "10"]);
        assert_eq!(dictionary(&["10", "9", "x"]).sorted_as_numbers().names, ["10", "9", "x"]);
        assert_eq!(dictionary(&["10", "9"]).sorted().names, ["10", "9"]);
    }

    #[test]
    fn limit_holds() {
        let mut dictionary = Dictionary::new(1);
        assert_eq!(dictionary.code("a"), Ok(0));
        assert_eq!(dictionary.code("a"), Ok(0));
        assert_eq!(dictionary.code("b"), Err(NoCode::Full));
        assert_eq!(Dictionary::new(9).code(&"x".repeat(MAX_BYTES + 1)), Err(NoCode::Full));
    }

    #[test]
    fn keys_are_told_from_categories() {
        let of = |texts: usize, values: usize| {
            let texts: Vec<String> = (0..values).map(|value| (value % texts).to_string()).collect();
            dictionary(&texts.iter().map(String::as_str).collect::<Vec<_>>()).nearly_unique()
        };
        assert_eq!([of(90, 100), of(51, 100)], [Some(100); 2]);
        assert_eq!([of(50, 100), of(10, 10)], [None; 2]);
    }

    #[test]
    fn closed_one_keeps_its_order_and_takes_nothing_else() {
        let closed = |texts: [&str; 2]| Dictionary::closed(texts.map(str::to_owned).to_vec());
        let mut dictionary = closed(["3", "-2"]);
        assert_eq!((dictionary.code("-2"), dictionary.code("3.00")), (Ok(1), Err(NoCode::Unknown)));
        assert_eq!(dictionary.code_of_class("3.00"), Ok(0));
        assert_eq!(dictionary.code_of_class("true"), Err(NoCode::Unknown));
        assert_eq!(dictionary.sorted_as_numbers().names, ["3", "-2"]);
        assert_eq!(dictionary.sorted().codes, [0, 1]);
        assert_eq!(closed(["0", "1"]).code_of_class("true"), Ok(1));
    }
}
