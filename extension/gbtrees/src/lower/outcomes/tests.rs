//! That walks read outcomes, that a wrong table is refused, and that one of too many codes is not made.

use crate::Cancel;
use crate::compiled::CompiledModel;
use crate::compiled::aligned::AlignedBytes;
use crate::compiled::records::{GroupKind, LANES, OutcomeNode, OutcomeTable};
use crate::compiled::sections::{
    GROUPS, Header, OUTCOME_NODES, OUTCOME_TABLES, OUTCOMES, SETS, seal,
};
use crate::compiled::tests::tampered;
use crate::ensemble::{Ensemble, Node, Split, SplitCondition, Tree};
use crate::eval::Scratch;
use crate::lower::compile;
use crate::random::Shape;
use crate::random::model::{model, narrowed, rows};

fn categorical_model(seed: u64, trees: usize) -> Ensemble {
    model(seed, Shape { categorical: 1, ..Shape::of(5, 1, trees, 6) })
}

fn compiled(model: &Ensemble) -> AlignedBytes {
    compile(model, &[], Cancel::never()).unwrap()
}

#[test]
fn walks_read_outcomes() {
    let model = categorical_model(3, 20);
    let right = CompiledModel::open(compiled(&model)).unwrap();
    let wrong =
        tampered(compiled(&model), OUTCOMES, |words| words.iter_mut().for_each(|w| *w = !*w));
    let wrong = CompiledModel::open(wrong).unwrap();
    let mut differ = 0;
    for row in narrowed(&right, &rows(4, &model, 50)) {
        let (mut leaves, mut others) = ([0; 20], [0; 20]);
        right.leaves(&mut Scratch::new(&right), &row, &mut leaves).unwrap();
        wrong.leaves(&mut Scratch::new(&wrong), &row, &mut others).unwrap();
        differ += usize::from(leaves != others);
    }
    assert!(differ > 40, "{differ}");
}

#[test]
fn outcomes_in_wrong_places_are_refused() {
    let model = categorical_model(5, 20);
    let refused = |compiled| CompiledModel::open(compiled).is_err();
    let table = |change: fn(&mut OutcomeTable)| {
        tampered(compiled(&model), OUTCOME_TABLES, |tables| change(tables.last_mut().unwrap()))
    };
    assert!(!refused(table(|_| ())));
    let wrong: [fn(&mut OutcomeTable); 8] = [
        |table| table.feature = 5,
        |table| table.codes += 1,
        |table| table.codes = u32::MAX,
        |table| table.first -= 1,
        |table| table.slot += 1,
        |table| table.slot = 0,
        |table| table.width += 1,
        |table| (table.codes, table.width) = (u32::MAX, u32::MAX),
    ];
    for (index, change) in wrong.into_iter().enumerate() {
        assert!(refused(table(change)), "change {index}");
    }
    let last =
        CompiledModel::open(compiled(&model)).unwrap().sections().outcome_slots().unwrap() - 1;
    let node = |is_leaf: bool, change: &dyn Fn(&mut OutcomeNode)| {
        tampered(compiled(&model), OUTCOME_NODES, |nodes| {
            let of_kind =
                |node: &&mut OutcomeNode| (node.right_offset == 0) == is_leaf && node.key > 0;
            change(nodes.iter_mut().find(of_kind).unwrap());
        })
    };
    assert!(!refused(node(false, &|node| node.slot = last as u32)));
    assert!(refused(node(false, &|node| node.slot = last as u32 + 1)));
    assert!(refused(node(true, &|node| node.factor = 0)));
    assert!(refused(node(true, &|node| node.slot = last as u32)));
    let nodes = |compiled: &mut AlignedBytes, section: usize| {
        let mut header: Header = *bytemuck::from_bytes(&compiled[..size_of::<Header>()]);
        header.sections[section].length = 0;
        compiled.bytes_mut()[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
        seal(compiled.bytes_mut());
    };
    for section in [OUTCOME_NODES.index, OUTCOMES.index, OUTCOME_TABLES.index] {
        let mut compiled = compiled(&model);
        nodes(&mut compiled, section);
        assert!(refused(compiled), "section {section}");
    }
}

#[test]
fn one_set_of_many_codes_leaves_an_image_without_outcomes() {
    let mut model = categorical_model(7, 3);
    let has = |model: &Ensemble| {
        let compiled = CompiledModel::open(compiled(model)).unwrap();
        assert!(!compiled.sections().get(SETS).is_empty());
        compiled.sections().outcome_slots().is_some()
    };
    assert!(has(&model));
    model.trees[0].category_sets[0].words = vec![1 << 31; 1 << 18];
    assert!(!has(&model));
}

#[test]
fn short_runs_of_other_trees_are_walked_with_categorical_ones() {
    let is_categorical = |node: &Node| {
        matches!(node, Node::Split(Split { condition: SplitCondition::InSet { .. }, .. }))
    };
    let mut with_sets = categorical_model(9, 20).trees.into_iter();
    let mut with_sets = with_sets.by_ref().filter(|tree| tree.nodes.iter().any(is_categorical));
    let mut model = model(9, Shape::of(5, 1, 2 + 2 * LANES, 4));
    let kinds = |model: &Ensemble| {
        let compiled = CompiledModel::open(compiled(model)).unwrap();
        let groups = compiled.sections().get(GROUPS);
        groups.iter().map(|group| (group.kind, group.count as usize)).collect::<Vec<_>>()
    };
    assert!(kinds(&model).iter().all(|(kind, _)| *kind == GroupKind::Compact));
    let mut replace = |model: &mut Ensemble, tree: usize| {
        let own: &mut Tree = &mut model.trees[tree];
        *own = with_sets.next().unwrap();
    };
    // 3, a categorical one, 15, a categorical one, 14; then of the 15 and 14 a run of 30.
    replace(&mut model, 3);
    replace(&mut model, 19);
    let all = [(GroupKind::Categorical, LANES), (GroupKind::Categorical, LANES)];
    assert_eq!(kinds(&model), [&all[..], &[(GroupKind::Categorical, 2)]].concat());
    model.trees.swap(19, 2);
    let compact = [(GroupKind::Compact, LANES), (GroupKind::Compact, 14)];
    assert_eq!(kinds(&model), [&[(GroupKind::Categorical, 4)], &compact[..]].concat());
}
