use serde_json::json;

use super::*;

fn error(params: Value) -> Error {
    Parameters::parse(&params).unwrap_err()
}

#[test]
fn aliases_reach_libxgboost_under_the_main_name() {
    let parsed = Parameters::parse(&json!({"learning_rate": 0.5, "max_depth": 4.0})).unwrap();
    assert_eq!(parsed.get("eta"), Some("0.5"));
    assert_eq!(parsed.get("max_depth"), Some("4"));
}

#[test]
fn unknown_names_come_with_the_nearest() {
    let Error::UnknownParameter { nearest, .. } = error(json!({"max_dept": 1})) else {
        panic!("another error");
    };
    assert_eq!(nearest, Some("max_depth"));
}

#[test]
fn two_names_for_one_thing_must_agree() {
    let agreed = Parameters::parse(&json!({"eta": 0.5, "learning_rate": 0.50})).unwrap();
    assert_eq!(agreed.get("eta"), Some("0.5"));
    let [first, second] = ["eta", "learning_rate"].map(quoted);
    assert_eq!(
        error(json!({"eta": 1, "learning_rate": 2})),
        Error::Contradiction { first, second }
    );
}

#[test]
fn arguments_may_be_parameters() {
    let given = json!({"n_estimators": 20, "random_state": 7, "early_stopping_rounds": 5});
    let parsed = Parameters::parse(&given).unwrap();
    assert_eq!(parsed.argument("rounds", None), Ok(Some(20)));
    assert_eq!(parsed.argument("seed", Some(7)), Ok(Some(7)));
    assert_eq!(parsed.argument("early_stopping_rounds", None), Ok(Some(5)));
    assert_eq!(Parameters::default().argument("seed", Some(3)), Ok(Some(3)));
    let [first, second] = ["argument rounds".to_owned(), quoted("n_estimators")];
    assert_eq!(parsed.argument("rounds", Some(100)), Err(Error::Contradiction { first, second }));
    assert!(parsed.settings(&[]).unwrap().is_empty(), "libxgboost is told elsewhere");
}

#[test]
fn values_out_of_range_are_refused() {
    for params in [
        json!({"max_depth": -1}),
        json!({"max_depth": 1.5}),
        json!({"max_depth": "6"}),
        json!({"eta": -0.1}),
        json!({"eta": null}),
        json!({"subsample": 0}),
        json!({"subsample": 1.01}),
        json!({"grow_policy": "sideways"}),
        json!({"quantile_alpha": [0.5, 1.0]}),
        json!({"quantile_alpha": []}),
        json!({"objective": "reg:nonsense"}),
        json!({"objective": 1}),
        json!({"eval_metric": ["rmse", "nonsense"]}),
        json!({"tree_method": "exact"}),
        json!({"booster": "gblinear"}),
    ] {
        let name = params.as_object().unwrap().keys().next().unwrap().clone();
        let Error::ParameterValue { name: named, .. } = error(params) else {
            panic!("another error for {name}");
        };
        assert_eq!(named, name);
    }
}

#[test]
fn what_reaches_beyond_the_training_is_refused() {
    for name in ["process_type", "updater", "device", "verbosity", "missing"] {
        let mut params = Map::new();
        params.insert(name.to_owned(), json!("x"));
        assert!(matches!(error(params.into()), Error::ParameterRefused { .. }), "{name}");
    }
    for name in ["model_in", "data_uri", "save_model", "plugin"] {
        let mut params = Map::new();
        params.insert(name.to_owned(), json!("x"));
        assert!(matches!(error(params.into()), Error::UnknownParameter { .. }), "{name}");
    }
}

#[test]
fn threads_stay_below_the_cap() {
    let parsed = Parameters::parse(&json!({"nthread": 64})).unwrap();
    assert_eq!(parsed.threads(2), 2);
    assert_eq!(Parameters::default().threads(2), 2);
    assert_eq!(Parameters::parse(&json!({"nthread": 1})).unwrap().threads(2), 1);
}

#[test]
fn constraints_name_features() {
    let params = json!({"monotone_constraints": {"b": -1},
                        "interaction_constraints": [["a", "b"], ["c"]]});
    let settings = Parameters::parse(&params).unwrap().settings(&["a", "b", "c"]).unwrap();
    assert!(settings.contains(&("monotone_constraints", "(0,-1,0)".to_owned())));
    assert!(settings.contains(&("interaction_constraints", "[[0,1],[2]]".to_owned())));
    let wrong = json!({"monotone_constraints": {"x": 1}});
    let wrong = Parameters::parse(&wrong).unwrap().settings(&["a"]);
    assert!(matches!(wrong, Err(Error::NoSuchColumn { .. })));
}
