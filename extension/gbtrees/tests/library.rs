//! The facade has the bits of the stages behind it for all forms of rows; and the examples run.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by unwrapping")]

use gbtrees::internals::{AlignedBytes, CompiledModel, Margin, Precision, Scratch, compile, parse};
use gbtrees::{
    Buffers, Cancel, ErrorKind, ImportanceKind, Limits, LoadOptions, Model, Number, Output, Rows,
};

/// Models of every format, with and without categories, of one and of several outputs.
const MODELS: [&str; 9] = [
    "xgboost/3.4.1/binary_logistic.ubj",
    "xgboost/3.4.1/gblinear_multiclass.ubj",
    "xgboost/2.1.4/multi_softmax.json",
    "xgboost/2.1.4/dart.bin",
    "xgboost/3.3.0/categories_partition.ubj",
    "lightgbm/4.0.0/binary.txt",
    "lightgbm/4.0.0/categorical.txt",
    "catboost/1.2.10/depthwise.cbm",
    "onnx/1.20.0/boosting_binary.onnx",
];

/// Its leaves are linear, so rows need doubles.
const LINEAR: &str = "lightgbm/4.7.0/linear_binary.txt";

/// Numbers beyond f32, integers such as codes, and missing values.
fn numbers(count: usize) -> Vec<f64> {
    let number = |at: usize| match at % 7 {
        0 => f64::NAN,
        1 => (at % 5) as f64,
        2 => -0.1 * (at % 11) as f64,
        _ => (at * at % 1009) as f64 / 300.0,
    };
    (0..count).map(number).collect()
}

/// Returns the results of the stages, row by row.
fn expected<S: Number + PartialOrd>(
    compiled: &CompiledModel<AlignedBytes>,
    rows: &[f64],
    output: Output,
) -> Vec<f64> {
    let mut scratch = Scratch::new(compiled);
    let of_row = |row: &[f64]| {
        let mut features = vec![0.0; compiled.row_length()];
        compiled.narrow_row(row, &mut features);
        let mut margins = vec![S::of(0.0); compiled.num_outputs()];
        compiled.margins(&mut scratch, &features, &mut margins).unwrap();
        let count = match output {
            Output::Value => compiled.values(&mut margins),
            Output::Class => {
                return vec![f64::from(compiled.class(&mut margins).unwrap())];
            }
            _ => margins.len(),
        };
        margins.into_iter().take(count).map(Margin::double).collect()
    };
    rows.chunks_exact(compiled.num_features()).flat_map(of_row).collect()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn every_form_of_rows_has_the_bits_of_the_stages() {
    // One thread's buffers serve all models.
    let mut buffers = Buffers::default();
    for name in MODELS.into_iter().chain([LINEAR]) {
        let bytes = golden_models::file(name);
        let model = Model::load(bytes).unwrap();
        let ensemble = parse(bytes, &Limits::default(), Cancel::never()).unwrap();
        let compiled =
            CompiledModel::open(compile(&ensemble, &[], Cancel::never()).unwrap()).unwrap();
        let (count, width) = (700, model.num_features());
        let rows = numbers(count * width);
        let mut by_columns = vec![0.0; rows.len()];
        for (at, number) in rows.iter().enumerate() {
            by_columns[at % width * count + at / width] = *number;
        }
        let present = |at: &usize| !rows[*at].is_nan();
        let places: Vec<usize> = (0..rows.len()).filter(present).collect();
        let columns: Vec<u32> = places.iter().map(|at| (at % width) as u32).collect();
        let values: Vec<f64> = places.iter().map(|at| rows[*at]).collect();
        let starts: Vec<usize> =
            (0..=count).map(|row| places.partition_point(|at| *at < row * width)).collect();
        let mut predictor = model.predictor_with(buffers);
        for output in [Output::Value, Output::Margin, Output::Class] {
            let forms = [
                Rows::dense(&rows, [count, width]).unwrap(),
                Rows::strided(&by_columns, [count, width], [1, count]).unwrap(),
                Rows::csr(&starts, &columns, &values, width).unwrap(),
            ];
            if output == Output::Class && predictor.predict::<_, f64>(&forms[0], output).is_err() {
                continue;
            }
            let wanted = match compiled.sum_precision() {
                Precision::Single => expected::<f32>(&compiled, &rows, output),
                Precision::Double => expected::<f64>(&compiled, &rows, output),
            };
            for (form, rows) in forms.iter().enumerate() {
                let found: Vec<f64> = predictor.predict(rows, output).unwrap();
                assert_eq!(bits(&found), bits(&wanted), "{name}, {output:?}, form {form}");
                let part: Vec<f64> = predictor.predict(&rows.range(99..613), output).unwrap();
                let per_row = wanted.len() / count;
                assert_eq!(
                    bits(&part),
                    bits(&wanted[99 * per_row..613 * per_row]),
                    "{name}, {form}"
                );
                assert_eq!(rows.range(count - 1..count + 9).shape(), [1, width]);
                let singles: Vec<f32> = predictor.predict(rows, output).unwrap();
                let rounded: Vec<f32> = wanted.iter().map(|value| *value as f32).collect();
                assert_eq!(
                    singles.iter().map(|one| one.to_bits()).collect::<Vec<_>>(),
                    rounded.iter().map(|one| one.to_bits()).collect::<Vec<_>>(),
                    "{name}, {output:?}, form {form}"
                );
            }
        }
        buffers = predictor.into_buffers();
        // Rows of f32 are read in place.
        let singles: Vec<f32> = rows.iter().map(|number| *number as f32).collect();
        let doubles: Vec<f64> = singles.iter().copied().map(f64::from).collect();
        let shape = [count, width];
        assert_eq!(
            bits(&model.predict(&singles, shape).unwrap()),
            bits(&model.predict(&doubles, shape).unwrap()),
            "{name}"
        );
    }
}

#[test]
fn contributions_add_up_to_margins_and_leaves_are_numbered() {
    for name in MODELS.iter().filter(|name| !name.starts_with("onnx")) {
        let model = Model::load(golden_models::file(name)).unwrap();
        let (count, width) = (600, model.num_features());
        let rows = numbers(count * width);
        let rows = Rows::dense(&rows, [count, width]).unwrap();
        let mut predictor = model.predictor();
        let margins: Vec<f64> = predictor.predict(&rows, Output::Margin).unwrap();
        let contributions = predictor.contributions(&rows).unwrap();
        for (margin, own) in margins.iter().zip(contributions.chunks_exact(width + 1)) {
            let sum: f64 = own.iter().copied().map(f64::from).sum();
            assert!((sum - margin).abs() <= 1e-4 * (1.0 + margin.abs()), "{name}: {sum} {margin}");
        }
        let leaves = predictor.leaves(&rows);
        if model.num_trees() == 0 {
            assert_eq!(leaves.unwrap_err().kind(), ErrorKind::Unsupported, "{name}");
        } else {
            assert_eq!(leaves.unwrap().len(), count * model.num_trees(), "{name}");
        }
    }
}

#[test]
fn linear_leaves_have_no_contributions() {
    let model = Model::load(golden_models::file(LINEAR)).unwrap();
    let width = model.num_features();
    let error = model.contributions(&numbers(3 * width), [3, width]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let rows = numbers(3 * width);
    let leaves = model.predictor().leaves(&Rows::dense(&rows, [3, width]).unwrap()).unwrap();
    assert_eq!(leaves.len(), 3 * model.num_trees());
}

#[test]
fn wrong_lengths_are_errors() {
    let model = Model::load(golden_models::file("xgboost/3.4.1/binary_logistic.ubj")).unwrap();
    let width = model.num_features();
    let rows = vec![0.0f32; 2 * width];
    let refused = |outcome: Result<Rows<'_, f32>, gbtrees::Error>| {
        assert_eq!(outcome.map(|_| ()).unwrap_err().kind(), ErrorKind::RowLength);
    };
    refused(Rows::dense(&rows, [3, width]));
    refused(Rows::dense(&rows, [usize::MAX, width]));
    refused(Rows::strided(&rows, [2, width], [width + 1, 1]));
    refused(Rows::strided(&rows, [2, width], [usize::MAX, 1]));
    refused(Rows::csr(&[0, 1], &[0], &[], width));
    refused(Rows::csr(&[0, 2, 1], &[0], &[1.0], width));
    refused(Rows::csr(&[], &[], &[], width));
    refused(Rows::csr(&[0, 1], &[width as u32], &[1.0], width));
    let mut predictor = model.predictor();
    let narrow = Rows::dense(&rows[..2], [1, 2]).unwrap();
    if width != 2 {
        let error = predictor.predict::<_, f64>(&narrow, Output::Value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RowLength);
    }
    let rows = Rows::dense(&rows, [2, width]).unwrap();
    let error = predictor.predict_into(&rows, Output::Value, &mut [0.0f32; 3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RowLength);
    let error = predictor.contributions_into(&rows, &mut [0.0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RowLength);
    let none = Rows::dense(&[] as &[f64], [0, width]).unwrap();
    assert!(predictor.predict::<_, f64>(&none, Output::Value).unwrap().is_empty());
    let empty = Rows::strided(&[] as &[f64], [3, 0], [usize::MAX, 1]).unwrap();
    assert_eq!(empty.range(2..9).shape(), [1, 0]);
}

#[test]
fn options_limit_cancel_and_name() {
    let bytes = golden_models::file("xgboost/3.4.1/binary_logistic.ubj");
    let small = LoadOptions::new().limits(Limits::default().with_trees(1));
    assert_eq!(Model::load_with(bytes, &small).unwrap_err().kind(), ErrorKind::Limit);
    let stopped = LoadOptions::new().cancel(Cancel::when(&|| true));
    assert_eq!(Model::load_with(bytes, &stopped).unwrap_err().kind(), ErrorKind::Cancelled);
    let width = Model::load(bytes).unwrap().num_features();
    let names: Vec<String> = (0..width).map(|feature| format!("column {feature}")).collect();
    let named = LoadOptions::new().feature_names(names.clone()).labels(["no", "yes"]).rounds(1);
    let model = Model::load_with(bytes, &named).unwrap();
    assert!(model.feature_names().eq(names.iter().map(String::as_str)));
    assert_eq!(model.feature_index("column 1"), Some(1));
    assert_eq!(model.labels().collect::<Vec<_>>(), ["no", "yes"]);
    assert_eq!((model.format(), model.library_version()), ("xgboost ubjson", [3, 4, 1]));
    assert_eq!(model.objective(), "binary:logistic");
    assert!(model.num_trees() < Model::load(bytes).unwrap().num_trees());
    assert_eq!(model.importance(ImportanceKind::Weight).map(<[f32]>::len), Some(width));
}

/// Examples take a model's path as argument.
#[test]
fn examples_run() {
    for example in ["predict", "explain", "sparse", "threads"] {
        let program = std::env::current_exe().unwrap();
        let program = program.parent().unwrap().parent().unwrap().join("examples").join(example);
        let run = std::process::Command::new(&program).output();
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && !run.stdout.is_empty(), "{example}: {said}");
    }
}

#[test]
fn categories_are_codes_in_a_matrix_but_of_catboost() {
    for (name, expected) in [
        ("catboost/1.2.10/one_hot.cbm", [(true, true), (false, false)]),
        ("lightgbm/4.7.0/frame.txt", [(false, false), (true, false)]),
    ] {
        let model = Model::load(golden_models::file(name)).unwrap();
        let found = |feature| (model.has_categories(feature), model.takes_value(feature));
        assert_eq!([0, 1].map(found), expected, "{name}");
    }
}
