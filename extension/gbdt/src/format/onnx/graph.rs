//! The graph: what each of its values is, found from its inputs to its outputs.
//!
//! A graph is read if it is the input's columns, one ensemble, and nodes that pass on, divide, shift or name
//! what that gives. Nodes come in an order in which each has its inputs, as ONNX requires. Any other node is
//! refused by its operator's name, since what it does to the numbers is not known here.

use std::collections::HashMap;

use super::attributes::Attributes;
use super::ensemble::{self, Ensemble};
use super::ensemble5;
use super::proto::{File, Node, Port, Tensor, element, tensor};
use crate::format::reader::Interrupts;
use crate::format::sniff::{shown, unsupported};
use crate::model::{Precision, Task, Transform, check_limit};
use crate::{Error, ErrorKind, Limits, Result};

/// A model, as far as it is ONNX's own.
pub(super) struct Graph {
    pub ensemble: Ensemble,
    /// In what values are compared.
    pub value_precision: Precision,
    /// Number of columns, if the file fixes it.
    pub columns: Option<usize>,
    /// One per column, or nothing.
    pub names: Vec<String>,
}

/// What a value of the graph is.
#[derive(Clone)]
enum Meaning<'a> {
    Columns(Columns),
    Constant(std::rc::Rc<Tensor<'a>>),
    /// What the ensemble and later nodes give: numbers, or those by class names.
    Scores,
    /// Classes of rows, as names once they are named.
    Classes,
}

/// Columns of the model's inputs that follow one another.
#[derive(Clone, Copy)]
struct Columns {
    start: usize,
    /// Nothing if the file does not fix it.
    count: Option<usize>,
    element: i64,
    /// Whether values have been rounded to f32.
    single: bool,
}

struct Reader<'f, 'a, 'b> {
    values: HashMap<&'a str, Meaning<'a>>,
    found: Option<(Ensemble, Columns)>,
    limits: &'f Limits,
    interrupts: Interrupts<'b>,
}

const NODES: &str = "Convert the trees alone, without the steps before and after them.";

pub(super) fn read(file: &File<'_>, limits: &Limits, interrupts: Interrupts<'_>) -> Result<Graph> {
    let graph = &file.graph;
    let mut reader = Reader { values: HashMap::new(), found: None, limits, interrupts };
    for message in &graph.constants {
        let tensor = tensor(*message, limits, &mut reader.interrupts)?;
        reader.values.insert(tensor.name, Meaning::Constant(std::rc::Rc::new(tensor)));
    }
    let names = reader.inputs(&graph.inputs)?;
    for node in &graph.nodes {
        if !file.opsets.iter().any(|(domain, _)| same_domain(domain, node.domain)) {
            let message = format!("model has no version of operators {}", shown(node.domain));
            return Err(node.place.error(ErrorKind::MissingKey, message));
        }
        let meanings = reader.node(node)?;
        for (name, meaning) in node.outputs.iter().zip(meanings) {
            let message = "two nodes have an output of one name";
            if !name.is_empty() && reader.values.insert(name, meaning).is_some() {
                return Err(node.place.error(ErrorKind::DuplicateKey, message));
            }
        }
    }
    for output in &graph.outputs {
        if !matches!(reader.values.get(output.name), Some(Meaning::Scores | Meaning::Classes)) {
            let message = format!("output \"{}\" is nothing that trees give", shown(output.name));
            return Err(output.place.error(ErrorKind::Parameter, message));
        }
    }
    let Some((ensemble, columns)) = reader.found else {
        let hint = "Only tree ensembles are scored.";
        return Err(unsupported("an ONNX model without a tree ensemble", hint));
    };
    if graph.outputs.is_empty() {
        return Err(Error::new(ErrorKind::Truncated, "model has no output"));
    }
    let single = columns.single || ensemble.precision == Precision::Single;
    let value_precision = if single { Precision::Single } else { Precision::Double };
    let names = if columns.count == Some(names.len()) { names } else { Vec::new() };
    Ok(Graph { ensemble, value_precision, columns: columns.count, names })
}

/// The domain of ONNX's own operators has two names.
fn same_domain(a: &str, b: &str) -> bool {
    let own = |domain: &str| matches!(domain, "" | "ai.onnx");
    a == b || own(a) && own(b)
}

impl<'a> Reader<'_, 'a, '_> {
    /// Numbers the columns of all inputs; returns the inputs' names if each has one column.
    fn inputs(&mut self, inputs: &[Port<'a>]) -> Result<Vec<String>> {
        let inputs: Vec<&Port<'a>> =
            inputs.iter().filter(|port| !self.values.contains_key(port.name)).collect();
        let (mut start, mut names) = (0usize, Vec::new());
        for port in &inputs {
            let count = match port.shape.as_slice() {
                [_, Some(count)] => usize::try_from(*count).ok(),
                [_, None] | [] if inputs.len() == 1 => None,
                _ => {
                    let message =
                        format!("input \"{}\" is no table of fixed width", shown(port.name));
                    return Err(port.place.error(ErrorKind::Parameter, message));
                }
            };
            let element = port.element.unwrap_or(0);
            let single = element != element::DOUBLE;
            let columns = Columns { start, count, element, single };
            if count == Some(1) {
                names.push(port.name.to_owned());
            }
            start = start.saturating_add(count.unwrap_or(0));
            check_limit(start, self.limits.features, "features")?;
            self.values.insert(port.name, Meaning::Columns(columns));
        }
        // One input of one column has the name of a table.
        Ok(if inputs.len() > 1 && names.len() == start { names } else { Vec::new() })
    }

    /// What the outputs of a node are.
    fn node(&mut self, node: &Node<'a>) -> Result<Vec<Meaning<'a>>> {
        let refused = || {
            Err(unsupported(&format!("a node {}", shown(node.operator)), NODES)
                .at(node.place.place()))
        };
        let mut inputs = Vec::new();
        for name in &node.inputs {
            inputs.push(self.values.get(name).cloned().ok_or_else(|| {
                let message = format!("a node {} lacks an input", shown(node.operator));
                node.place.error(ErrorKind::MissingKey, message)
            })?);
        }
        use Meaning::{Classes, Columns as Table, Constant, Scores};
        let ml = node.domain == "ai.onnx.ml";
        if !ml && !same_domain(node.domain, "") {
            return refused();
        }
        Ok(vec![match (node.operator, ml, inputs.as_slice()) {
            (
                "TreeEnsembleRegressor" | "TreeEnsembleClassifier" | "TreeEnsemble",
                true,
                [Table(columns)],
            ) => {
                return self.ensemble(node, *columns);
            }
            ("Identity", false, [meaning]) => meaning.clone(),
            ("Cast", false, [Table(columns)]) => match self.cast(node, *columns)? {
                Some(columns) => Table(columns),
                None => return refused(),
            },
            // A number is rounded to real in the end.
            ("Cast", false, [Scores]) => match self.target(node)? {
                Some(element::FLOAT | element::DOUBLE) => Scores,
                _ => return refused(),
            },
            ("Cast", false, [Classes]) => match self.target(node)? {
                Some(element::INT64 | element::STRING | element::INT32) => Classes,
                _ => return refused(),
            },
            ("Concat", false, all) if !all.is_empty() => match joined(all) {
                Some(columns) => Table(columns),
                None => return refused(),
            },
            ("ZipMap", true, [Scores]) => Scores,
            ("Flatten", false, [Scores]) => Scores,
            ("Reshape", false, [Scores, Constant(_)]) if self.outputs() == 1 => Scores,
            ("Reshape", false, [Classes, Constant(_)]) => Classes,
            ("Mul", false, [Scores, Constant(factor)]) if factor.numbers == [1.0] => Scores,
            ("Div", false, [Scores, Constant(divisor)]) if self.divide(divisor) => Scores,
            ("Add", false, [Scores, Constant(base)]) if self.add(base) => Scores,
            ("ArgMax", false, [Scores]) if self.choose(node)? => Classes,
            ("ArrayFeatureExtractor", true, [Constant(names), Classes]) if self.name(names)? => {
                Classes
            }
            _ => return refused(),
        }])
    }

    fn outputs(&self) -> usize {
        self.found.as_ref().map_or(0, |(ensemble, _)| ensemble.outputs)
    }

    fn target(&mut self, node: &Node<'a>) -> Result<Option<i64>> {
        let (limits, interrupts) = (self.limits, &mut self.interrupts);
        Attributes { node, limits, interrupts }.integer("to")
    }

    fn cast(&mut self, node: &Node<'a>, columns: Columns) -> Result<Option<Columns>> {
        Ok(match self.target(node)? {
            Some(element::FLOAT) => {
                Some(Columns { element: element::FLOAT, single: true, ..columns })
            }
            // Whole numbers become doubles as they are.
            Some(element::DOUBLE) => {
                let single = columns.single && columns.element == element::FLOAT;
                Some(Columns { element: element::DOUBLE, single, ..columns })
            }
            _ => None,
        })
    }

    fn ensemble(&mut self, node: &Node<'a>, columns: Columns) -> Result<Vec<Meaning<'a>>> {
        let precision = match columns.element {
            element::FLOAT | element::INT64 | element::INT32 => Precision::Single,
            element::DOUBLE => Precision::Double,
            _ => {
                let what = "an input that is no table of float, double or integers";
                return Err(unsupported(what, NODES).at(node.place.place()));
            }
        };
        if self.found.is_some() {
            return Err(unsupported("a second tree ensemble", NODES).at(node.place.place()));
        }
        let (limits, interrupts) = (self.limits, &mut self.interrupts);
        let mut attributes = Attributes { node, limits, interrupts };
        let (found, outputs) = match node.operator {
            "TreeEnsembleRegressor" => {
                (ensemble::regressor(&mut attributes, precision)?, vec![Meaning::Scores])
            }
            "TreeEnsembleClassifier" => {
                let outputs = vec![Meaning::Classes, Meaning::Scores];
                (ensemble::classifier(&mut attributes, precision)?, outputs)
            }
            _ => (ensemble5::read(&mut attributes, precision)?, vec![Meaning::Scores]),
        };
        if found.trees.is_empty() {
            return Err(node.place.error(ErrorKind::Length, "the ensemble has no trees"));
        }
        self.found = Some((found, columns));
        Ok(outputs)
    }

    /// The ensemble, while its scores are sums of f32: what is done to them can then be done last. Of sums of
    /// f64 it would have to be known where they are rounded.
    fn sums(&mut self) -> Option<&mut Ensemble> {
        let ensemble = self.found.as_mut().map(|(ensemble, _)| ensemble)?;
        let plain = ensemble.objective.transform == Transform::Identity
            && ensemble.objective.task == Task::Regression
            && ensemble.precision == Precision::Single
            && ensemble.base.is_empty();
        plain.then_some(ensemble)
    }

    fn divide(&mut self, divisor: &Tensor<'a>) -> bool {
        let float = divisor.element == element::FLOAT;
        match (self.sums(), divisor.numbers.as_slice()) {
            (Some(ensemble), [divisor]) if float && ensemble.divisor == 1.0 && *divisor != 0.0 => {
                ensemble.divisor = *divisor;
                true
            }
            _ => false,
        }
    }

    fn add(&mut self, base: &Tensor<'a>) -> bool {
        match self.sums().filter(|_| base.element == element::FLOAT) {
            Some(ensemble) if base.numbers.len() == ensemble.outputs => {
                ensemble.base.clone_from(&base.numbers);
                true
            }
            Some(ensemble) if base.numbers.len() == 1 => {
                ensemble.base = vec![base.numbers.iter().copied().sum(); ensemble.outputs];
                true
            }
            _ => false,
        }
    }

    /// Lets the largest of several scores choose the class.
    fn choose(&mut self, node: &Node<'a>) -> Result<bool> {
        let (limits, interrupts) = (self.limits, &mut self.interrupts);
        let mut attributes = Attributes { node, limits, interrupts };
        let axis = attributes.integer("axis")?.unwrap_or(0);
        let last = attributes.integer("select_last_index")?.unwrap_or(0);
        let Some((ensemble, _)) = &mut self.found else { return Ok(false) };
        let task = ensemble.objective.task;
        // Probabilities that are equal may come of margins that are not.
        let fits = matches!(axis, 1 | -1)
            && last == 0
            && ensemble.outputs > 1
            && ensemble.precision == Precision::Single;
        let plain = ensemble.objective.transform == Transform::Identity && task == Task::Regression;
        if fits && plain {
            ensemble.objective.task = Task::Multiclass;
        }
        Ok(fits && plain)
    }

    /// Names the classes.
    fn name(&mut self, names: &Tensor<'a>) -> Result<bool> {
        let Some((ensemble, _)) = &mut self.found else { return Ok(false) };
        let whole = names.numbers.iter().map(|number| format!("{number}"));
        let labels: Vec<String> = match names.element {
            element::STRING => names.texts.iter().map(|text| (*text).to_owned()).collect(),
            element::INT64 | element::INT32 => whole.collect(),
            _ => return Ok(false),
        };
        let fits = labels.len() == ensemble.outputs && ensemble.labels.is_empty();
        if fits {
            ensemble.labels = labels;
        }
        Ok(fits)
    }
}

/// Columns of one type that follow one another, from the first to the last.
fn joined(all: &[Meaning<'_>]) -> Option<Columns> {
    let mut joined: Option<Columns> = None;
    for meaning in all {
        let Meaning::Columns(next) = meaning else { return None };
        joined = Some(match joined {
            None => *next,
            Some(before) => {
                let end = before.start.checked_add(before.count?)?;
                let same = (before.element, before.single) == (next.element, next.single);
                if !same || next.start != end {
                    return None;
                }
                Columns { count: Some(before.count? + next.count?), ..before }
            }
        });
    }
    joined.filter(|columns| columns.start == 0)
}
