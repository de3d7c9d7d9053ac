use std::collections::BTreeSet;

use serde_json::json;

use super::*;

#[test]
fn aliases_reach_libxgboost_under_the_main_name() {
    let parsed = Parameters::parse(&json!({"learning_rate": 0.5, "max_depth": 4.0})).unwrap();
    assert_eq!(parsed.get("eta"), Some("0.5"));
    assert_eq!(parsed.get("max_depth"), Some("4"));
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
    assert!(matches!(wrong, Err(Error::Source { .. })));
}

#[test]
fn names_are_unique() {
    let table = TABLE.iter().flat_map(Parameter::names);
    let names: Vec<_> = table.chain(SPECIAL).chain(REFUSED.iter().map(|(name, _)| *name)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}
