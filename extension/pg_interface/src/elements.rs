//! The elements of an array as features: `image[1]`, `image[2]` and so on, as a subscript names them.

/// The names of an array's elements.
pub fn names(column: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| format!("{column}[{number}]"))
}

/// The column whose elements the names begin with, and how many of them follow one another.
pub fn named<N: AsRef<str>>(names: &[N]) -> Option<(&str, usize)> {
    let column = names.first()?.as_ref().strip_suffix("[1]")?;
    let numbered = (1_usize..).zip(names);
    let follows = |(number, name): &(usize, &N)| {
        let rest = name.as_ref().strip_prefix(column).and_then(|rest| rest.strip_prefix('['));
        rest.and_then(|rest| rest.strip_suffix(']')) == Some(number.to_string().as_str())
    };
    Some((column, numbered.take_while(follows).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_known_by_their_names() {
        assert_eq!(named(&["a[1]", "a[2]", "a[4]"]), Some(("a", 2)));
        assert_eq!(named(&["a[1][1]", "b"]), Some(("a[1]", 1)));
        assert_eq!(named(&["a[2]", "a[1]"]), None);
        assert_eq!(named(&["a[1]", "a[02]"]), Some(("a", 1)));
        assert_eq!(named(&["a"]), None);
        assert_eq!(named::<&str>(&[]), None);
        assert_eq!(names("a", 2).collect::<Vec<_>>(), ["a[1]", "a[2]"]);
    }
}
