//! Models of XGBoost, rewritten for libxgboost: they read as the same model, and nothing of the given file
//! is left.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use gbtrees::internals::{Categories, Ensemble, Node, oracle, rewrite_xgboost};
use gbtrees::{Cancel, Limits};

fn rewritten(name: &str, rounds: Option<usize>) -> (Ensemble, Vec<u8>) {
    let bytes = golden_models::file(name);
    rewrite_xgboost(bytes, rounds, &Limits::default(), Cancel::never()).unwrap().unwrap()
}

fn parse(bytes: &[u8]) -> Ensemble {
    gbtrees::internals::parse(bytes, &Limits::default(), Cancel::never()).unwrap()
}

/// Models that the engine accepts.
fn accepted() -> impl Iterator<Item = &'static str> {
    let is_model = |name: &&str| {
        [".json", ".ubj", ".bin", ".model", ".deprecated"].iter().any(|end| name.ends_with(end))
            && !name.ends_with("expected.json")
    };
    golden_models::names("xgboost/").into_iter().filter(is_model).filter(|name| {
        let bytes = golden_models::file(name);
        gbtrees::internals::parse(bytes, &Limits::default(), Cancel::never()).is_ok()
    })
}

#[test]
fn what_is_read_of_it_is_the_same_model() {
    let mut compared = 0;
    for name in accepted() {
        let (model, bytes) = rewritten(name, None);
        let again = parse(&bytes);
        let alike = |a: &Ensemble, b: &Ensemble| {
            a.objective() == b.objective()
                && a.base_margin() == b.base_margin()
                && a.feature_names() == b.feature_names()
                && a.feature_types() == b.feature_types()
                && a.attributes() == b.attributes()
                && a.num_rounds() == b.num_rounds()
                && a.is_linear() == b.is_linear()
        };
        assert!(alike(&model, &again), "{name}");
        for (index, (tree, other)) in model.trees().iter().zip(again.trees()).enumerate() {
            assert_eq!(format!("{tree:?}"), format!("{other:?}"), "{name}, tree {index}");
        }
        assert_eq!(model.trees().len(), again.trees().len(), "{name}");
        for (own, other) in model.categories().iter().zip(again.categories()) {
            assert!(own == other || matches!(own, Some(Categories::Float(_))), "{name}");
        }
        let row = vec![0.5f32; model.num_features()];
        let bits = |model: &Ensemble| {
            let mut margins = vec![0.0f32; model.num_outputs()];
            oracle::margins(model, &row, &mut margins);
            margins.iter().map(|one| one.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&model), bits(&again), "{name}");
        let twice = rewrite_xgboost(&bytes, None, &Limits::default(), Cancel::never());
        assert!(twice.unwrap().unwrap().1 == bytes, "{name} is not written the same again");
        compared += 1;
    }
    assert!(compared >= 507, "only {compared} models");
}

#[test]
fn rounds_that_do_not_count_are_left_out() {
    for name in ["xgboost/3.4.1/dart.ubj", "xgboost/3.4.1/multi_softprob.json"] {
        let (whole, _) = rewritten(name, None);
        let (model, bytes) = rewritten(name, Some(2));
        assert_eq!((model.num_rounds(), parse(&bytes).num_rounds()), (2, 2), "{name}");
        assert!(whole.trees().starts_with(parse(&bytes).trees()), "{name}");
        assert!(model.trees().iter().all(|tree| !tree.nodes().contains(&Node::Deleted)), "{name}");
    }
}

#[test]
fn other_libraries_models_are_left_alone() {
    let bytes = golden_models::file("lightgbm/4.7.0/regression.txt");
    assert_eq!(rewrite_xgboost(bytes, None, &Limits::default(), Cancel::never()).unwrap(), None);
}

/// libxgboost reads the vectors of positions' biases where a ranking is unbiased.
#[test]
fn an_unbiased_ranking_has_the_biases_of_positions() {
    let given = golden_models::file("xgboost/3.4.1/rank_ndcg.json");
    let given = std::str::from_utf8(given).unwrap();
    let stated = |switch: &str| format!("\"lambdarank_unbiased\":\"{switch}\"");
    assert!(given.contains(&stated("0")));
    for (switch, has_biases) in [("0", false), ("1", true)] {
        let given = given.replace(&stated("0"), &stated(switch));
        let (_, bytes) =
            rewrite_xgboost(given.as_bytes(), None, &Limits::default(), Cancel::never())
                .unwrap()
                .unwrap();
        for key in [b"ti+", b"tj-"] {
            assert_eq!(bytes.windows(3).any(|part| part == key), has_biases, "{switch}");
        }
    }
}
