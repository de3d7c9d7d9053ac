//! The contributions of features to margins: `predict_contribs` and `predict_interactions`, `explain_prediction`
//! as a table for people, and `mean_abs_contribs`, whose state is a double precision[].

use gbtrees::internals::{Margin, Task};
use pg_interface::array::NewArray;
use pg_interface::call::{Arguments, CallState};
use pg_interface::{Datum, FunctionCallInfo};
use pgrx::iter::TableIterator;
use pgrx::pg_extern;

use super::predict::row;
use super::{Rows, feature_name};
use crate::cache::ModelImage;
use crate::error::{Error, Result};
use crate::predictor::output::Explanation;
use crate::predictor::output::transformed;
use crate::predictor::single_row::Predictor;
use crate::predictor::statement_state::Margins;

/// Computes `predict_contribs` or `predict_interactions`.
pub(crate) fn explain(
    arguments: Arguments<'_>,
    state: CallState<'_>,
    explanation: Explanation,
) -> Result<Datum> {
    let Some(predictor) = row(arguments, state)? else { return Ok(arguments.null()) };
    let result = predictor.explanation(explanation)?;
    predictor.count_call();
    Ok(result.into_datum())
}

/// The text in place of a feature's name in the last lines.
const OTHERS: &str = "(other features)";
const BIAS: &str = "(bias)";
const PREDICTION: &str = "(prediction)";

/// A line's feature, value and contribution.
type Line = (String, Option<Vec<u8>>, f32);

/// `explain_prediction(model, features, top, output) -> table(feature, value, contribution)`
#[pg_extern(sql = false)]
fn pgboost_explain_prediction(call: FunctionCallInfo) -> Rows<Line> {
    let arguments = Arguments::of_pgrx(call);
    let (top, output) = arguments.integer_and_text(2);
    let lines = explained(arguments.without_last(2), top, output.as_deref())?;
    Ok(TableIterator::new(lines))
}

/// Explains a row. `top` is the number of features to show, `None` for all.
fn explained(
    arguments: Arguments<'_>,
    top: Option<i32>,
    output: Option<&str>,
) -> Result<Vec<Line>> {
    let Some(model) = arguments.first_text() else { return Ok(Vec::new()) };
    let top = top.map(usize::try_from).transpose().map_err(|_| Error::NegativeTop)?;
    let mut predictor = Predictor::begin(arguments, &model)?;
    predictor.read_features(arguments)?;
    let values = predictor.texts(arguments)?;
    let explained = match output {
        Some(name) => named(&predictor, name)?,
        None => Explained { output: by_default(&mut predictor)?, against: false },
    };
    let contributions = of_output(&mut predictor, explained)?;
    let prediction = prediction(&mut predictor, explained)?;
    let mut lines = lines(predictor.image(), values, &contributions, top);
    let margin: f64 = contributions.iter().copied().map(f64::from).sum();
    lines.push((PREDICTION.to_owned(), Some(prediction.into_bytes()), margin as f32));
    predictor.end();
    Ok(lines)
}

/// An output, and whether its margin has the opposite sign, as for the first of two classes.
#[derive(Clone, Copy)]
struct Explained {
    output: usize,
    against: bool,
}

/// Returns the row's contributions to an output, the bias last.
fn of_output(predictor: &mut Predictor, explained: Explained) -> Result<Vec<f32>> {
    let mut array = predictor.explanation(Explanation::Contributions)?;
    let width = predictor.image().num_features() + 1;
    let of_output = array.elements().chunks(width).nth(explained.output).unwrap_or_default();
    // Gives 0, not -0, for a feature without a contribution.
    let signed = |contribution: &f32| {
        if explained.against { 0.0 - contribution } else { *contribution }
    };
    Ok(of_output.iter().map(signed).collect())
}

/// Returns the prediction for an output: its value, or for a classifier its class, with the probability if the
/// model gives probabilities.
fn prediction(predictor: &mut Predictor, explained: Explained) -> Result<String> {
    predictor.with_margins(|predictor, margins| match margins {
        Margins::Single(margins) => value(predictor.image(), margins, explained),
        Margins::Double(margins) => value(predictor.image(), margins, explained),
    })
}

fn value<M: Margin>(image: &ModelImage, margins: &mut [M], explained: Explained) -> String {
    let values = transformed(image, margins);
    let value = values
        .get(explained.output)
        .map(|value| if explained.against { value.opposite().single() } else { value.single() });
    let class = match image.task() {
        Task::Binary => Some(usize::from(!explained.against)),
        Task::Multiclass => Some(explained.output),
        Task::Regression | Task::Ranking => None,
    };
    let probability = value.filter(|_| class.is_none() || image.predicts_probabilities());
    match (class.map(|class| output_name(image, class)), probability) {
        (Some(class), Some(value)) => format!("{class}: {value}"),
        (Some(class), None) => class,
        (None, value) => value.map(|value| value.to_string()).unwrap_or_default(),
    }
}

/// Returns the output to explain by default: the only one, or the predicted class's.
fn by_default(predictor: &mut Predictor) -> Result<usize> {
    let (outputs, task) = (predictor.image().num_outputs(), predictor.image().task());
    if outputs == 1 {
        return Ok(0);
    }
    if task != Task::Multiclass {
        let model = predictor.model().to_owned();
        return Err(Error::OutputNotNamed { model, outputs });
    }
    let class = predictor.with_margins(|predictor, margins| match margins {
        Margins::Single(margins) => predictor.image().class(margins),
        Margins::Double(margins) => predictor.image().class(margins),
    })?;
    Ok(class.unwrap_or(0) as usize)
}

/// Finds the output of that name.
fn named(predictor: &Predictor, name: &str) -> Result<Explained> {
    let image = predictor.image();
    let one_of_two = image.task() == Task::Binary && image.num_outputs() == 1;
    let names = if one_of_two { 2 } else { image.num_outputs() };
    match (0..names).find(|index| output_name(image, *index) == name) {
        Some(class) if one_of_two => Ok(Explained { output: 0, against: class == 0 }),
        Some(output) => Ok(Explained { output, against: false }),
        None => Err(Error::NoSuchOutput {
            model: predictor.model().to_owned(),
            output: name.to_owned(),
        }),
    }
}

/// Returns an output's name: the label of its class, or its number.
pub(crate) fn output_name(image: &ModelImage, output: usize) -> String {
    image.label(output).map_or_else(|| output.to_string(), str::to_owned)
}

/// Returns the `top` features, then the sum of all others if there are any, and the bias.
fn lines(
    image: &ModelImage,
    mut values: Vec<Option<Vec<u8>>>,
    contributions: &[f32],
    top: Option<usize>,
) -> Vec<Line> {
    let Some((bias, features)) = contributions.split_last() else { return Vec::new() };
    let mut ranked: Vec<(usize, f32)> = features.iter().copied().enumerate().collect();
    // The sort is stable, so that features of equal contributions stay in order.
    ranked.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let shown = top.unwrap_or(ranked.len()).min(ranked.len());
    let (shown, others) = ranked.split_at(shown);
    let line = |(index, contribution): &(usize, f32)| {
        let value = values.get_mut(*index).and_then(Option::take);
        (feature_name(image.feature_name(*index), *index), value, *contribution)
    };
    let mut lines: Vec<_> = shown.iter().map(line).collect();
    if !others.is_empty() {
        let sum: f64 = others.iter().map(|(_, contribution)| f64::from(*contribution)).sum();
        lines.push((OTHERS.to_owned(), None, sum as f32));
    }
    lines.push((BIAS.to_owned(), None, *bias));
    lines
}

/// The numbers of a state before its sums.
const HEAD: usize = 3;

/// The transition function: adds the absolute values of a row's contributions to the state.
pub(crate) fn contribs_add(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
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

/// The combine function: adds the states of two workers.
pub(crate) fn contribs_combine(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
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

/// The final function: returns the means, in the shape of a row's contributions, or NULL without rows.
pub(crate) fn contribs_mean(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    if !arguments.in_aggregate() {
        return Err(Error::OutsideAggregate);
    }
    let (_, state) = arguments.state_doubles(0).ok_or(Error::ContributionShape)?;
    let [rows, first, second, sums @ ..] = &*state else { return Ok(arguments.null()) };
    let dimensions = [*first as usize, *second as usize];
    let dimensions = if *second == 0.0 { dimensions.get(..1) } else { dimensions.get(..) };
    let mut means =
        NewArray::reals(dimensions.unwrap_or_default()).ok_or(Error::ContributionShape)?;
    for (contribs_mean, sum) in means.elements().iter_mut().zip(sums) {
        *contribs_mean = (sum / rows) as f32;
    }
    Ok(means.into_datum())
}
