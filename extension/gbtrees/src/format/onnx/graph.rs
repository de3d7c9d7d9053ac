//! Interprets the graph from its inputs to its outputs.
//!
//! Supported are the input's columns, the nodes of `preprocess` and `encoders`, one ensemble (or many
//! trees, merged by `leaves`), and the nodes of `postprocess` and `graph_value`. Nodes follow their
//! inputs, as ONNX requires. Any other operator is refused by name, since its effect on the numbers is
//! unknown.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ensemble::{Transform, check_limit};
use crate::format::onnx::columns::{ColumnTable, Step};
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::graph_value::{GraphValue, Leaves, Stage, isolation_tail};
use crate::format::onnx::inputs::Inputs;
use crate::format::onnx::proto::{File, NodeProto, Port, element, tensor};
use crate::format::onnx::{ensemble, ensemble5, leaves};
use crate::format::reader::CancelChecks;
use crate::format::sniff::{shown, unsupported};
use crate::memory::push;
use crate::{ErrorKind, Limits, Result};

/// The ensemble and the inputs of a graph.
pub(super) struct Graph<'a> {
    pub ensemble: RawEnsemble,
    pub inputs: Inputs<'a>,
}

pub(super) struct GraphReader<'f, 'a, 'b> {
    values: HashMap<&'a str, GraphValue<'a>>,
    pub inputs: Inputs<'a>,
    /// Version of the operator set ai.onnx.ml.
    pub ml_version: i64,
    /// Whether each ensemble is a single tree whose leaf index is used.
    by_leaves: bool,
    /// The trees of such ensembles.
    single: Vec<RawEnsemble>,
    pub found: Option<RawEnsemble>,
    /// Columns of all tables so far.
    pub cells: usize,
    pub limits: &'f Limits,
    pub checks: CancelChecks<'b>,
}

pub(super) const NODES: &str = "Convert the trees alone, without the steps before and after them.";

pub(super) fn read<'a>(
    file: &File<'a>,
    limits: &Limits,
    checks: CancelChecks<'_>,
) -> Result<Graph<'a>> {
    let graph = &file.graph;
    // Lookup tables by leaf follow the trees only in isolation forests.
    let first_trees = graph.nodes.iter().position(|node| node.operator.starts_with("TreeEnsemble"));
    let table = |node: &NodeProto<'_>| node.attributes.contains_key("values_floats");
    let ml = file.opsets.iter().find(|(domain, _)| *domain == "ai.onnx.ml");
    let mut reader = GraphReader {
        values: HashMap::new(),
        inputs: Inputs::default(),
        ml_version: ml.map_or(0, |(_, version)| *version),
        by_leaves: graph.nodes.iter().skip(first_trees.unwrap_or(0)).any(table),
        single: Vec::new(),
        found: None,
        cells: 0,
        limits,
        checks,
    };
    for message in &graph.constants {
        let tensor = tensor(*message, limits, &mut reader.checks)?;
        reader.values.insert(tensor.name, GraphValue::Constant(Rc::new(tensor)));
    }
    reader.inputs(&graph.inputs)?;
    for node in &graph.nodes {
        if !file.opsets.iter().any(|(domain, _)| same_domain(domain, node.domain)) {
            let message = format!("model has no version of operators {}", shown(node.domain));
            return Err(node.place.error(ErrorKind::MissingKey, message));
        }
        reader.checks.count()?;
        let meanings = reader.node(node)?;
        for (name, meaning) in node.outputs.iter().zip(meanings) {
            let message = "two nodes have an output of one name";
            reader.values.try_reserve(1)?;
            if !name.is_empty() && reader.values.insert(name, meaning).is_some() {
                return Err(node.place.error(ErrorKind::DuplicateKey, message));
            }
        }
    }
    let isolation = reader.found.as_ref().map(|found| found.objective.transform);
    let isolation = isolation == Some(Transform::Isolation);
    for output in &graph.outputs {
        let given = match reader.values.get(output.name) {
            Some(GraphValue::Scores) => !isolation,
            Some(GraphValue::Classes) => true,
            Some(GraphValue::Tail(Stage::Score | Stage::Decision)) => isolation,
            _ => false,
        };
        if !given {
            let message = format!("output \"{}\" is nothing that trees give", shown(output.name));
            return Err(output.place.error(ErrorKind::Parameter, message));
        }
    }
    let Some(ensemble) = reader.found else {
        let hint = "Only tree ensembles are scored.";
        return Err(unsupported("an ONNX model without a tree ensemble", hint));
    };
    if graph.outputs.is_empty() {
        bail!(Truncated, "model has no output");
    }
    Ok(Graph { ensemble, inputs: reader.inputs })
}

/// Returns whether two domains are equal; ONNX's own has two names.
fn same_domain(a: &str, b: &str) -> bool {
    let own = |domain: &str| matches!(domain, "" | "ai.onnx");
    a == b || own(a) && own(b)
}

impl<'a> GraphReader<'_, 'a, '_> {
    /// Numbers the columns of all inputs; each takes its input's name if all inputs have one column.
    fn inputs(&mut self, inputs: &[Port<'a>]) -> Result<()> {
        let inputs: Vec<&Port<'a>> =
            inputs.iter().filter(|port| !self.values.contains_key(port.name)).collect();
        let (mut start, mut names) = (0usize, Vec::new());
        for port in &inputs {
            let is_text = port.element == Some(element::STRING);
            let count = match port.shape.as_slice() {
                [_, Some(count)] => usize::try_from(*count).ok(),
                [_, None] | [] if inputs.len() == 1 && !is_text => None,
                _ => {
                    let message =
                        format!("input \"{}\" is no table of fixed width", shown(port.name));
                    return Err(port.place.error(ErrorKind::Parameter, message));
                }
            };
            let end = start.saturating_add(count.unwrap_or(0));
            check_limit(end, self.limits.features, "features")?;
            if count == Some(1) {
                names.push(port.name.to_owned());
            }
            if is_text {
                (start..end).for_each(|column| self.inputs.add_text(column));
            }
            let table = ColumnTable::input(start, count, port.element.unwrap_or(0));
            self.values.insert(port.name, GraphValue::Columns(Rc::new(table)));
            start = end;
        }
        self.inputs.columns = (start > 0).then_some(start);
        // A single input of one column has a name for the table, not the column.
        if inputs.len() > 1 && names.len() == start {
            self.inputs.names = names;
        }
        Ok(())
    }

    /// Returns the outputs of a node.
    fn node(&mut self, node: &NodeProto<'a>) -> Result<Vec<GraphValue<'a>>> {
        let mut inputs = Vec::new();
        for name in &node.inputs {
            inputs.push(self.values.get(name).cloned().ok_or_else(|| {
                let message = format!("a node {} has too few inputs", shown(node.operator));
                node.place.error(ErrorKind::MissingKey, message)
            })?);
        }
        let ml = node.domain == "ai.onnx.ml";
        if ml || same_domain(node.domain, "") {
            if let ("TreeEnsembleRegressor" | "TreeEnsembleClassifier" | "TreeEnsemble", true) =
                (node.operator, ml)
                && let [GraphValue::Columns(table)] = inputs.as_slice()
                && !table.is_stacked
            {
                return self.ensemble(node, table);
            }
            if let Some(meaning) = self.meaning(node, &inputs)? {
                return Ok(vec![meaning]);
            }
        }
        Err(unsupported(&format!("a node {}", shown(node.operator)), NODES).at(node.place.place()))
    }

    /// Returns the output of a node other than an ensemble; `None` if unsupported.
    fn meaning(
        &mut self,
        node: &NodeProto<'a>,
        inputs: &[GraphValue<'a>],
    ) -> Result<Option<GraphValue<'a>>> {
        if let ("Identity", [meaning]) = (node.operator, inputs) {
            return Ok(Some(meaning.clone()));
        }
        if inputs.iter().any(|input| matches!(input, GraphValue::Columns(_))) {
            let table = self.preprocessed(node, inputs)?;
            return Ok(table.map(|table| GraphValue::Columns(Rc::new(table))));
        }
        if inputs.iter().any(|input| matches!(input, GraphValue::Leaves(_))) {
            if node.operator == "Sum" && self.found.is_none() {
                self.found = leaves::summed(&mut self.single, inputs);
                return Ok(self.found.is_some().then_some(GraphValue::Scores));
            }
            let leaves = Leaves::computed(&mut self.attributes(node), inputs)?;
            let count = leaves.as_ref().map_or(0, |leaves| leaves.values.len());
            self.cells = self.cells.saturating_add(count);
            check_limit(self.cells, self.limits.nodes, "numbers of leaves")?;
            return Ok(leaves.map(GraphValue::Leaves));
        }
        if let Some(meaning) = self.postprocessed(node, inputs)? {
            return Ok(Some(meaning));
        }
        let target = if node.operator == "Cast" { self.target(node)? } else { None };
        let found = self.found.as_mut().filter(|_| same_domain(node.domain, ""));
        Ok(found.and_then(|found| isolation_tail(node, target, inputs, found)))
    }

    fn ensemble(
        &mut self,
        node: &NodeProto<'a>,
        table: &Rc<ColumnTable>,
    ) -> Result<Vec<GraphValue<'a>>> {
        let table = match table.element {
            element::FLOAT | element::DOUBLE => Rc::clone(table),
            // Integers are compared as floats.
            element::INT64 | element::INT32 => Rc::new(
                table.then(table.element, &[vec![Step::Round]])?.unwrap_or(table.as_ref().clone()),
            ),
            _ => {
                let what = "an input that is no table of float, double or integers";
                return Err(unsupported(what, NODES).at(node.place.place()));
            }
        };
        if self.found.is_some() {
            return Err(unsupported("a second tree ensemble", NODES).at(node.place.place()));
        }
        let mut attributes = self.attributes(node);
        let (found, outputs) = match node.operator {
            "TreeEnsembleRegressor" => {
                (ensemble::regressor(&mut attributes, &table)?, vec![GraphValue::Scores])
            }
            "TreeEnsembleClassifier" => {
                let outputs = vec![GraphValue::Classes, GraphValue::Scores];
                (ensemble::classifier(&mut attributes, &table)?, outputs)
            }
            _ => (ensemble5::read(&mut attributes, &table)?, vec![GraphValue::Scores]),
        };
        if found.trees.is_empty() {
            return Err(node.place.error(ErrorKind::Length, "the ensemble has no trees"));
        }
        if self.by_leaves && node.operator == "TreeEnsembleRegressor" {
            let Some(leaves) = Leaves::of(self.single.len(), &found) else {
                let what = "an isolation forest of trees that do not give one float each";
                return Err(unsupported(what, NODES).at(node.place.place()));
            };
            check_limit(self.single.len() + 1, self.limits.trees, "trees")?;
            push(&mut self.single, found)?;
            return Ok(vec![GraphValue::Leaves(leaves)]);
        }
        self.found = Some(found);
        Ok(outputs)
    }
}
