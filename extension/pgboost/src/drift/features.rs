//! Reads a model's features from a source: as they are, not as the model takes them. A category that it
//! was not trained on counts as well.

use pg_interface::report::check_for_interrupts;
use pg_interface::{ScalarType, catalog};
use row_source::distribution::Collector;
use row_source::{Field, PlacedColumn, Row, Source, SourceError, width};

use crate::cache::ModelImage;
use crate::error::{Error, Result};
use crate::features::named;

/// Rows between two looks at whether the statement was cancelled.
const ROWS_PER_CHECK: u64 = 1 << 12;

/// The values of all features of a model in the rows of a source, which runs once, with the caller's rights.
pub fn collect(image: &ModelImage, source: &str) -> Result<Collector> {
    let names = named::column_names(image);
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let (query, columns) = Source::of(source)?.select(&texts, None, "source")?;
    let categorical =
        |index: usize| image.is_categorical(index) || image.categories(index).is_some();
    for (index, column) in columns.iter().enumerate() {
        check_type(column, categorical(index))?;
    }
    let features = names.iter().enumerate().map(|(index, name)| (name.clone(), categorical(index)));
    let mut collector = Collector::of(features);
    let mut rows: u64 = 0;
    row_source::run_first(&query, "source", width(&columns), |row| {
        rows += 1;
        if rows.is_multiple_of(ROWS_PER_CHECK) {
            check_for_interrupts();
        }
        read(&mut collector, &columns, row)
    })?;
    if rows == 0 {
        return Err(SourceError::NoRows { argument: "source", skipped: 0 }.into());
    }
    Ok(collector)
}

fn check_type(column: &PlacedColumn, categorical: bool) -> Result<()> {
    match ScalarType::of(column.type_oid) {
        None if column.element.is_some() && !categorical => Ok(()),
        Some(ScalarType::Number(_)) => Ok(()),
        Some(ScalarType::Text(_)) if categorical => Ok(()),
        _ => Err(SourceError::ColumnType {
            column: column.name.clone(),
            type_name: catalog::type_name(column.type_oid),
            role: "feature of this model",
            hint: "Cast it to a numeric type in a query.",
        }
        .into()),
    }
}

fn read(collector: &mut Collector, columns: &[PlacedColumn], row: Row<'_>) -> Result<()> {
    for (index, column) in columns.iter().enumerate() {
        let field = row.get(column.position);
        if let Some((place, count)) = column.element {
            if place == 0 {
                read_elements(collector, index, count, column, field)?;
            }
        } else if collector.is_categorical(index) {
            collector.text(index, field.map(|field| field.label()).as_deref())?;
        } else {
            let number = field.and_then(|field| field.number()).map_or(f32::NAN, |x| x as f32);
            collector.number(index, number)?;
        }
    }
    Ok(())
}

/// Reads an array, whose elements are the features from this one on; they are missing if there is none.
fn read_elements(
    collector: &mut Collector,
    first: usize,
    expected: usize,
    column: &PlacedColumn,
    field: Option<Field<'_>>,
) -> Result<()> {
    let Some(elements) = field.and_then(|field| field.elements()) else {
        return Ok(
            (first..first + expected).try_for_each(|index| collector.number(index, f32::NAN))?
        );
    };
    let given = elements.len();
    if given != expected {
        let column = column.array_name().to_owned();
        return Err(Error::ArrayLength { column, expected, given });
    }
    for (index, element) in (first..).zip(elements) {
        collector.number(index, element.map_or(f32::NAN, |number| number.double() as f32))?;
    }
    Ok(())
}
