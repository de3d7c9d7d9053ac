//! The attributes of a node, in the types that its operator gives them: AttributeProto's fields.

use super::proto::{Node, element, tensor};
use super::wire::{Bytes, List};
use crate::format::reader::Interrupts;
use crate::format::sniff::shown;
use crate::{Error, ErrorKind, Limits, Result};

/// Reads the attributes of one node.
pub(super) struct Attributes<'n, 'a, 'i, 'b> {
    pub node: &'n Node<'a>,
    pub limits: &'n Limits,
    pub interrupts: &'i mut Interrupts<'b>,
}

impl<'a, 'b> Attributes<'_, 'a, '_, 'b> {
    pub fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        self.node.place.error(kind, message)
    }

    fn get(&self, name: &str) -> Option<Bytes<'a>> {
        self.node.attributes.get(name).copied()
    }

    pub fn has(&self, name: &str) -> bool {
        self.node.attributes.contains_key(name)
    }

    /// The list in `field` of an attribute; empty if the node lacks the attribute.
    fn list<T>(
        &mut self,
        name: &str,
        field: u32,
        add: impl Fn(&super::wire::Field<'a>, &mut List<'_, 'b, T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let Some(message) = self.get(name) else { return Ok(Vec::new()) };
        let limit = self.limits.nodes;
        let mut list = List { values: Vec::new(), limit, interrupts: self.interrupts };
        let mut fields = message.fields();
        while let Some(found) = fields.next(list.interrupts)? {
            if found.number == field {
                add(&found, &mut list)?;
            }
        }
        Ok(list.values)
    }

    pub fn integers(&mut self, name: &str) -> Result<Vec<i64>> {
        self.list(name, 8, |field, list| field.integers(list))
    }

    pub fn texts(&mut self, name: &str) -> Result<Vec<&'a str>> {
        self.list(name, 9, |field, list| list.push(field.text()?))
    }

    pub fn integer(&mut self, name: &str) -> Result<Option<i64>> {
        Ok(self.list(name, 3, |field, list| list.push(field.integer()?))?.pop())
    }

    pub fn float(&mut self, name: &str) -> Result<Option<f64>> {
        Ok(self.list(name, 2, |field, list| field.floats(list))?.pop())
    }

    pub fn text(&mut self, name: &str) -> Result<Option<&'a str>> {
        Ok(self.list(name, 4, |field, list| list.push(field.text()?))?.pop())
    }

    pub fn floats(&mut self, name: &str) -> Result<Vec<f64>> {
        self.list(name, 7, |field, list| field.floats(list))
    }

    /// The numbers of a tensor of one of these element types.
    pub fn tensor(&mut self, name: &str, elements: &[i64]) -> Result<Vec<f64>> {
        let tensors = self.list(name, 5, |field, list| list.push(field.bytes()?))?;
        let Some(message) = tensors.last() else { return Ok(Vec::new()) };
        let tensor = tensor(*message, self.limits, self.interrupts)?;
        if !elements.contains(&tensor.element) {
            let message = format!("attribute \"{}\" has another element type", shown(name));
            return Err(self.error(ErrorKind::WrongType, message));
        }
        Ok(tensor.numbers)
    }

    /// Numbers as floats, or as doubles in `NAME_as_tensor`, which only an ensemble of doubles has.
    pub fn numbers(&mut self, name: &str, double: bool) -> Result<Vec<f64>> {
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

    /// That a list has `count` values.
    pub fn check_length<T>(&self, name: &str, list: &[T], count: usize) -> Result<()> {
        if list.len() == count {
            return Ok(());
        }
        let message = format!("\"{name}\" has {} values instead of {count}", list.len());
        Err(self.error(ErrorKind::Length, message))
    }
}
