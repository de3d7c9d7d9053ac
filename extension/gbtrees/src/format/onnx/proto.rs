//! ONNX messages (onnx/onnx-ml.proto) as far as tree ensembles need them. Other fields are skipped.

use std::collections::HashMap;

use crate::ensemble::check_limit;
use crate::format::onnx::wire::{Bytes, List};
use crate::format::reader::CancelChecks;
use crate::format::sniff::{shown, unsupported};
use crate::memory::push;
use crate::{Error, ErrorKind, Limits, Place, Result};

/// Maximum nodes of a graph. Converters write about ten around an ensemble, and thirty per tree of an
/// isolation forest.
const MAX_NODES: usize = 100_000;
const MAX_ATTRIBUTES: usize = 100;
/// Maximum inputs or outputs of the graph or a node, and operator sets.
const MAX_ENTRIES: usize = 4_096;

/// ONNX's element types.
pub(super) mod element {
    pub(crate) const FLOAT: i64 = 1;
    pub(crate) const UINT8: i64 = 2;
    pub(crate) const INT32: i64 = 6;
    pub(crate) const INT64: i64 = 7;
    pub(crate) const STRING: i64 = 8;
    pub(crate) const BOOL: i64 = 9;
    pub(crate) const DOUBLE: i64 = 11;
}

/// A ModelProto.
pub(super) struct File<'a> {
    pub producer: &'a str,
    pub producer_version: &'a str,
    /// Operator set versions by domain.
    pub opsets: Vec<(&'a str, i64)>,
    pub graph: Graph<'a>,
}

#[derive(Default)]
pub(super) struct Graph<'a> {
    pub nodes: Vec<NodeProto<'a>>,
    pub constants: Vec<Bytes<'a>>,
    pub inputs: Vec<Port<'a>>,
    pub outputs: Vec<Port<'a>>,
}

/// A NodeProto.
pub(super) struct NodeProto<'a> {
    pub place: Bytes<'a>,
    pub operator: &'a str,
    pub domain: &'a str,
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    pub attributes: HashMap<&'a str, Bytes<'a>>,
}

/// A ValueInfoProto: an input or output of the graph.
pub(super) struct Port<'a> {
    pub place: Bytes<'a>,
    pub name: &'a str,
    /// `None` if it is not a tensor.
    pub element: Option<i64>,
    /// The size of each dimension, if fixed.
    pub shape: Vec<Option<i64>>,
}

/// A TensorProto.
#[derive(Default)]
pub(super) struct Tensor<'a> {
    pub name: &'a str,
    pub element: i64,
    /// The size of each dimension; empty for a scalar.
    pub shape: Vec<i64>,
    /// Values of all types but text; integers are rounded to f64.
    pub numbers: Vec<f64>,
    pub texts: Vec<&'a str>,
}

fn bounded<T>(list: &mut Vec<T>, value: T, limit: usize, what: &str) -> Result<()> {
    check_limit(list.len() + 1, limit, what)?;
    list.push(value);
    Ok(())
}

pub(super) fn read<'a>(file: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<File<'a>> {
    let (mut producer, mut producer_version, mut opsets) = ("", "", Vec::new());
    let mut graph = None;
    let mut fields = file.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            2 => producer = field.text()?,
            3 => producer_version = field.text()?,
            7 if graph.is_some() => {
                return Err(field.error(ErrorKind::DuplicateKey, "model has more than one graph"));
            }
            7 => graph = Some(read_graph(field.bytes()?, checks)?),
            8 => {
                let opset = opset(field.bytes()?, checks)?;
                bounded(&mut opsets, opset, MAX_ENTRIES, "operator sets")?;
            }
            25 => {
                let hint = "Save the model without functions.";
                return Err(unsupported("a function in an ONNX model", hint)
                    .at(Place::Byte(field.position)));
            }
            _ => {}
        }
    }
    let Some(graph) = graph else {
        bail!(Truncated, "model has no graph");
    };
    Ok(File { producer, producer_version, opsets, graph })
}

fn opset<'a>(message: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<(&'a str, i64)> {
    let (mut domain, mut version) = ("", 0);
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            1 => domain = field.text()?,
            2 => version = field.integer()?,
            _ => {}
        }
    }
    Ok((domain, version))
}

fn read_graph<'a>(message: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<Graph<'a>> {
    let mut graph = Graph::default();
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            1 => {
                check_limit(graph.nodes.len() + 1, MAX_NODES, "nodes of its graph")?;
                push(&mut graph.nodes, node(field.bytes()?, checks)?)?;
            }
            5 => bounded(&mut graph.constants, field.bytes()?, MAX_NODES, "constants")?,
            11 => {
                check_limit(graph.inputs.len() + 1, MAX_ENTRIES, "inputs")?;
                push(&mut graph.inputs, port(field.bytes()?, checks)?)?;
            }
            12 => {
                check_limit(graph.outputs.len() + 1, MAX_ENTRIES, "outputs")?;
                push(&mut graph.outputs, port(field.bytes()?, checks)?)?;
            }
            _ => {}
        }
    }
    Ok(graph)
}

fn node<'a>(message: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<NodeProto<'a>> {
    let mut node = NodeProto {
        place: message,
        operator: "",
        domain: "",
        inputs: Vec::new(),
        outputs: Vec::new(),
        attributes: HashMap::new(),
    };
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            1 => bounded(&mut node.inputs, field.text()?, MAX_ENTRIES, "inputs of a node")?,
            2 => bounded(&mut node.outputs, field.text()?, MAX_ENTRIES, "outputs of a node")?,
            4 => node.operator = field.text()?,
            5 => {
                check_limit(node.attributes.len() + 1, MAX_ATTRIBUTES, "attributes of a node")?;
                let attribute = field.bytes()?;
                let name = name_of(attribute, checks)?;
                if node.attributes.insert(name, attribute).is_some() {
                    let message = format!("attribute \"{}\" occurs twice", shown(name));
                    return Err(field.error(ErrorKind::DuplicateKey, message));
                }
            }
            7 => node.domain = field.text()?,
            _ => {}
        }
    }
    Ok(node)
}

/// Reads field 1 of an attribute or operator set, its name.
fn name_of<'a>(message: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<&'a str> {
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        if field.number == 1 {
            return field.text();
        }
    }
    Err(message.error(ErrorKind::MissingKey, "an attribute has no name"))
}

fn port<'a>(message: Bytes<'a>, checks: &mut CancelChecks<'_>) -> Result<Port<'a>> {
    let mut port = Port { place: message, name: "", element: None, shape: Vec::new() };
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            1 => port.name = field.text()?,
            2 => {
                let mut types = field.bytes()?.fields();
                while let Some(field) = types.next(checks)? {
                    if field.number == 1 {
                        tensor_type(field.bytes()?, &mut port, checks)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(port)
}

fn tensor_type(
    message: Bytes<'_>,
    port: &mut Port<'_>,
    checks: &mut CancelChecks<'_>,
) -> Result<()> {
    let mut fields = message.fields();
    while let Some(field) = fields.next(checks)? {
        match field.number {
            1 => port.element = Some(field.integer()?),
            2 => {
                let mut dimensions = field.bytes()?.fields();
                while let Some(field) = dimensions.next(checks)? {
                    if field.number != 1 {
                        continue;
                    }
                    let (mut size, mut parts) = (None, field.bytes()?.fields());
                    while let Some(part) = parts.next(checks)? {
                        if part.number == 1 {
                            size = Some(part.integer()?).filter(|size| *size > 0);
                        }
                    }
                    bounded(&mut port.shape, size, 8, "dimensions of an input")?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl Tensor<'_> {
    /// Returns one number per column of a table, or one for all; `None` for other shapes or types.
    pub(super) fn row(&self, element: i64) -> Option<&[f64]> {
        let (last, others) = match self.shape.as_slice() {
            [] => (1, &[][..]),
            [others @ .., last] => (*last, others),
        };
        let fits = self.element == element
            && others.iter().all(|size| *size == 1)
            && usize::try_from(last) == Ok(self.numbers.len())
            && !self.numbers.is_empty();
        fits.then_some(self.numbers.as_slice())
    }
}

/// Reads a tensor of numbers or text; tensors of other types are left without values.
pub(super) fn tensor<'a>(
    message: Bytes<'a>,
    limits: &Limits,
    checks: &mut CancelChecks<'_>,
) -> Result<Tensor<'a>> {
    let mut tensor = Tensor::default();
    let mut raw: Option<Bytes<'a>> = None;
    let mut numbers = List { values: Vec::new(), limit: limits.nodes, checks };
    let mut fields = message.fields();
    while let Some(field) = fields.next(numbers.checks)? {
        match field.number {
            1 => {
                let values = std::mem::take(&mut tensor.shape);
                let mut shape = List { values, limit: 8, checks: numbers.checks };
                field.integers(&mut shape)?;
                tensor.shape = shape.values;
            }
            2 => tensor.element = field.integer()?,
            4 => field.floats(&mut numbers)?,
            5 | 7 => {
                let mut integers =
                    List { values: Vec::new(), limit: limits.nodes, checks: numbers.checks };
                field.integers(&mut integers)?;
                let values = integers.values;
                values.into_iter().try_for_each(|value| numbers.push(value as f64))?;
            }
            6 => bounded(&mut tensor.texts, field.text()?, limits.outputs, "texts")?,
            8 => tensor.name = field.text()?,
            9 => raw = Some(field.bytes()?),
            10 => field.doubles(&mut numbers)?,
            13 | 14 => {
                return Err(unsupported("a tensor in another file", "Save the model as one file.")
                    .at(Place::Byte(field.position)));
            }
            _ => {}
        }
    }
    if let Some(raw) = raw {
        unpack(raw, tensor.element, &mut numbers)?;
    }
    tensor.numbers = numbers.values;
    Ok(tensor)
}

/// Decodes `raw_data`: packed little-endian numbers.
fn unpack(raw: Bytes<'_>, element: i64, numbers: &mut List<'_, '_, f64>) -> Result<()> {
    let incomplete = |rest: &[u8]| {
        let message = "a tensor ends within a number";
        if rest.is_empty() { Ok(()) } else { Err(raw.error(ErrorKind::Length, message)) }
    };
    let (fours, after_fours) = raw.bytes.as_chunks::<4>();
    let (eights, after_eights) = raw.bytes.as_chunks::<8>();
    match element {
        element::UINT8 | element::BOOL => {
            raw.bytes.iter().try_for_each(|byte| numbers.push(f64::from(*byte)))
        }
        element::FLOAT => {
            incomplete(after_fours)?;
            fours.iter().try_for_each(|four| numbers.push(f32::from_le_bytes(*four).into()))
        }
        element::INT32 => {
            incomplete(after_fours)?;
            fours.iter().try_for_each(|four| numbers.push(i32::from_le_bytes(*four).into()))
        }
        element::DOUBLE => {
            incomplete(after_eights)?;
            eights.iter().try_for_each(|eight| numbers.push(f64::from_le_bytes(*eight)))
        }
        element::INT64 => {
            incomplete(after_eights)?;
            eights.iter().try_for_each(|eight| numbers.push(i64::from_le_bytes(*eight) as f64))
        }
        _ => Ok(()),
    }
}

/// Reads the attributes of one node.
pub(super) struct Attributes<'n, 'a, 'i, 'b> {
    pub node: &'n NodeProto<'a>,
    pub limits: &'n Limits,
    pub checks: &'i mut CancelChecks<'b>,
}

impl<'a, 'b> Attributes<'_, 'a, '_, 'b> {
    pub(super) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        self.node.place.error(kind, message)
    }

    fn get(&self, name: &str) -> Option<Bytes<'a>> {
        self.node.attributes.get(name).copied()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.node.attributes.contains_key(name)
    }

    /// Reads the list in `field` of an attribute; empty if the attribute is absent.
    fn list<T>(
        &mut self,
        name: &str,
        field: u32,
        add: impl Fn(&crate::format::onnx::wire::Field<'a>, &mut List<'_, 'b, T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let Some(message) = self.get(name) else { return Ok(Vec::new()) };
        let limit = self.limits.nodes;
        let mut list = List { values: Vec::new(), limit, checks: self.checks };
        let mut fields = message.fields();
        while let Some(found) = fields.next(list.checks)? {
            if found.number == field {
                add(&found, &mut list)?;
            }
        }
        Ok(list.values)
    }

    pub(super) fn integers(&mut self, name: &str) -> Result<Vec<i64>> {
        self.list(name, 8, |field, list| field.integers(list))
    }

    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<&'a str>> {
        self.list(name, 9, |field, list| list.push(field.text()?))
    }

    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i64>> {
        Ok(self.list(name, 3, |field, list| list.push(field.integer()?))?.pop())
    }

    pub(super) fn float(&mut self, name: &str) -> Result<Option<f64>> {
        Ok(self.list(name, 2, |field, list| field.floats(list))?.pop())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<&'a str>> {
        Ok(self.list(name, 4, |field, list| list.push(field.text()?))?.pop())
    }

    pub(super) fn floats(&mut self, name: &str) -> Result<Vec<f64>> {
        self.list(name, 7, |field, list| field.floats(list))
    }

    /// Reads the numbers of a tensor of one of the given types.
    pub(super) fn tensor(&mut self, name: &str, elements: &[i64]) -> Result<Vec<f64>> {
        let tensors = self.list(name, 5, |field, list| list.push(field.bytes()?))?;
        let Some(message) = tensors.last() else { return Ok(Vec::new()) };
        let tensor = tensor(*message, self.limits, self.checks)?;
        if !elements.contains(&tensor.element) {
            let message = format!("attribute \"{}\" has another element type", shown(name));
            return Err(self.error(ErrorKind::WrongType, message));
        }
        Ok(tensor.numbers)
    }

    /// Reads floats, or for an ensemble of doubles the tensor `NAME_as_tensor`.
    pub(super) fn numbers(&mut self, name: &str, double: bool) -> Result<Vec<f64>> {
        let as_tensor = format!("{name}_as_tensor");
        if !self.has(&as_tensor) {
            return self.floats(name);
        }
        if self.has(name) {
            let message = format!("node has both \"{name}\" and \"{as_tensor}\"");
            return Err(self.error(ErrorKind::DuplicateKey, message));
        }
        self.tensor(&as_tensor, &[if double { element::DOUBLE } else { element::FLOAT }])
    }

    /// Checks that a list has `count` values.
    pub(super) fn check_length<T>(&self, name: &str, list: &[T], count: usize) -> Result<()> {
        if list.len() == count {
            return Ok(());
        }
        let message = format!("\"{name}\" has {} values instead of {count}", list.len());
        Err(self.error(ErrorKind::Length, message))
    }
}
