//! Which columns of a source are features, and which the target, the weight or the group.

use std::collections::BTreeSet;

use super::kind::Kind;
use crate::error::{Error, Result};
use pg_interface::source::{self, Column, SourceError};
use pg_interface::types;

/// What the caller says of columns, by their names.
#[derive(Clone, Debug)]
pub struct Roles {
    pub target: String,
    /// The features, or all other columns.
    pub features: Option<Vec<String>>,
    pub weight: Option<String>,
    /// What rows of a group have in common.
    pub group: Option<String>,
    pub upper_bound: Option<String>,
}

#[derive(Clone, Debug)]
pub struct UsedColumn {
    /// Its place in a row of the query.
    pub position: usize,
    pub name: String,
    pub kind: Kind,
}

/// A column of groups: any type will do.
#[derive(Clone, Debug)]
pub struct GroupColumn {
    /// Its place in a row of the query.
    pub position: usize,
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct Columns {
    /// The features, in the order of the model.
    pub features: Vec<UsedColumn>,
    pub target: UsedColumn,
    pub weight: Option<UsedColumn>,
    pub upper_bound: Option<UsedColumn>,
    /// What rows of a group have in common.
    pub group: Option<GroupColumn>,
}

const USABLE: &str = "Features are numbers, booleans, dates, timestamps, text and enums; leave other \
                      columns out with the features argument.";
const NUMBERS: &str = "Cast it to a numeric type in a query.";

impl Columns {
    /// Finds the columns among those that there are.
    pub fn choose(there: &[Column], roles: &Roles, argument: &'static str) -> Result<Columns> {
        let there = SourceColumns { columns: there, argument };
        let target = there.used(&roles.target, "target", USABLE)?;
        let weight = there.number(roles.weight.as_deref(), "weight")?;
        let upper_bound = there.number(roles.upper_bound.as_deref(), "upper bound")?;
        let group = roles.group.as_deref().map(|name| there.group(name)).transpose()?;
        let taken: BTreeSet<&str> = [
            Some(roles.target.as_str()),
            roles.weight.as_deref(),
            roles.upper_bound.as_deref(),
            roles.group.as_deref(),
        ]
        .into_iter()
        .flatten()
        .collect();
        let features = there.features(roles.features.as_deref(), &taken)?;
        Ok(Columns { features, target, weight, upper_bound, group })
    }

    /// Finds the features alone.
    pub fn features_named(there: &[Column], names: &[String]) -> Result<Vec<UsedColumn>> {
        SourceColumns { columns: there, argument: "source" }.features(Some(names), &BTreeSet::new())
    }

    /// The names of all columns in use, in the order of `in_order`.
    pub fn names(&self) -> Vec<&str> {
        let features = self.features.iter().map(|column| column.name.as_str());
        let others = [Some(&self.target), self.weight.as_ref(), self.upper_bound.as_ref()];
        let others = others.into_iter().flatten().map(|column| column.name.as_str());
        features.chain(others).chain(self.group.as_ref().map(|group| group.name.as_str())).collect()
    }

    /// The same columns as a query of just these has them.
    pub fn in_order(mut self) -> Columns {
        let mut next = 0..;
        let others = [Some(&mut self.target), self.weight.as_mut(), self.upper_bound.as_mut()];
        for (column, position) in
            self.features.iter_mut().chain(others.into_iter().flatten()).zip(next.by_ref())
        {
            column.position = position;
        }
        if let (Some(group), Some(position)) = (self.group.as_mut(), next.next()) {
            group.position = position;
        }
        self
    }
}

struct SourceColumns<'a> {
    columns: &'a [Column],
    argument: &'static str,
}

impl SourceColumns<'_> {
    fn find(&self, name: &str) -> Result<(usize, &Column)> {
        Ok(source::find(self.columns, name, self.argument)?)
    }

    fn used(&self, name: &str, role: &'static str, hint: &'static str) -> Result<UsedColumn> {
        let (position, column) = self.find(name)?;
        let Some(kind) = Kind::of(column.type_oid) else {
            return Err(unusable(column, role, hint));
        };
        Ok(UsedColumn { position, name: name.to_owned(), kind })
    }

    fn number(&self, name: Option<&str>, role: &'static str) -> Result<Option<UsedColumn>> {
        let Some(name) = name else { return Ok(None) };
        let used = self.used(name, role, NUMBERS)?;
        if used.kind.is_text() {
            return Err(unusable(self.find(name)?.1, role, NUMBERS));
        }
        Ok(Some(used))
    }

    fn group(&self, name: &str) -> Result<GroupColumn> {
        let (position, _) = self.find(name)?;
        Ok(GroupColumn { position, name: name.to_owned() })
    }

    fn features(
        &self,
        names: Option<&[String]>,
        taken: &BTreeSet<&str>,
    ) -> Result<Vec<UsedColumn>> {
        let all: Vec<String>;
        let names = match names {
            Some(names) => names,
            None => {
                let free = |name: &&str| !taken.contains(name);
                let there = self.columns.iter().map(|column| column.name.as_str());
                all = there.filter(free).map(str::to_owned).collect();
                &all
            }
        };
        let mut seen = taken.clone();
        let mut features = Vec::with_capacity(names.len());
        for name in names {
            features.push(self.used(name, "feature", USABLE)?);
            if !seen.insert(name) {
                return Err(Error::ColumnTwice { column: name.clone() });
            }
        }
        if features.is_empty() { Err(Error::NoFeatures) } else { Ok(features) }
    }
}

fn unusable(column: &Column, role: &'static str, hint: &'static str) -> Error {
    SourceError::ColumnType {
        column: column.name.clone(),
        type_name: types::type_name(column.type_oid),
        role,
        hint,
    }
    .into()
}
