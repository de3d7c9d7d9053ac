//! The aggregate `mean_abs_contribs`: contributions over many rows.
//!
//! Its state is a double precision[]: the number of rows, the lengths of the two dimensions
//! of their contributions, 0 in place of the second where there is one, and then a sum for each. Sums are
//! of doubles, so the order in which workers' states are put together does not show in a real.

use pg_interface::Datum;
use pg_interface::array::NewArray;
use pg_interface::call::{Arguments, CallState};

use crate::error::{Error, Result};

/// Numbers of a state before its sums.
const HEAD: usize = 3;

/// The aggregate's transition: the state, with the sizes of a row's contributions added.
pub fn add(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    if !arguments.in_aggregate() {
        return Err(Error::OutsideAggregate);
    }
    let (lengths, contributions) = arguments.reals(1).ok_or(Error::ContributionShape)?;
    let (first, second) = match *lengths {
        [only] => (only, 0),
        [first, second] => (first, second),
        _ => return Err(Error::ContributionShape),
    };
    let head = [f64::from(first), f64::from(second)];
    let add_row = |state: &mut [f64]| match state {
        [rows, one, other, sums @ ..] if [*one, *other] == head => {
            *rows += 1.0;
            for (sum, contribution) in sums.iter_mut().zip(contributions) {
                *sum += f64::from(contribution.abs());
            }
            Ok(())
        }
        _ => Err(Error::ContributionShape),
    };
    let (state, doubles) = arguments.state_doubles(0).ok_or(Error::ContributionShape)?;
    if !doubles.is_empty() {
        return add_row(doubles).map(|()| state);
    }
    let mut begun =
        NewArray::doubles(HEAD + contributions.len()).ok_or(Error::ContributionShape)?;
    if let [_, one, other, ..] = begun.elements() {
        [*one, *other] = head;
    }
    add_row(begun.elements())?;
    Ok(begun.into_datum())
}

/// The aggregate's combination of the states of two workers.
pub fn combine(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    if !arguments.in_aggregate() {
        return Err(Error::OutsideAggregate);
    }
    let (state, doubles) = arguments.state_doubles(0).ok_or(Error::ContributionShape)?;
    let (other, added) = arguments.state_doubles(1).ok_or(Error::ContributionShape)?;
    match (&mut *doubles, &*added) {
        ([], _) => return Ok(other),
        (_, []) => {}
        ([rows, one, two, sums @ ..], [added_rows, added_one, added_two, added @ ..])
            if (*one, *two) == (*added_one, *added_two) && sums.len() == added.len() =>
        {
            *rows += added_rows;
            sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
        }
        _ => return Err(Error::ContributionShape),
    }
    Ok(state)
}

/// The aggregate's result: the means, in the shape of a row's contributions. NULL if there were no rows.
pub fn mean(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    if !arguments.in_aggregate() {
        return Err(Error::OutsideAggregate);
    }
    let (_, state) = arguments.state_doubles(0).ok_or(Error::ContributionShape)?;
    let [rows, first, second, sums @ ..] = &*state else { return Ok(arguments.null()) };
    let dimensions = [*first as usize, *second as usize];
    let dimensions = if *second == 0.0 { dimensions.get(..1) } else { dimensions.get(..) };
    let mut means =
        NewArray::reals(dimensions.unwrap_or_default()).ok_or(Error::ContributionShape)?;
    for (mean, sum) in means.elements().iter_mut().zip(sums) {
        *mean = (sum / rows) as f32;
    }
    Ok(means.into_datum())
}
