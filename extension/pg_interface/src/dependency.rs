//! Objects that depend on a function, and their stored expressions: of indexes, columns, constraints,
//! rules, functions and more.
//!
//! Expressions are read as trees, never as SQL text, which depends on settings and is not unique. None
//! is evaluated. Catalogs are read as of now, not under the statement's snapshot. `pg_depend` lists the
//! objects that call a function (`find_expr_references_walker` in dependency.c). Objects of open transactions
//! are listed too, but their expressions are not read, since they may vanish meanwhile.

use std::ffi::CStr;
use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Oid};

use crate::nodes::Expr;
use crate::scan::{Catalog, OpenTransaction, Row, Seen, catalog_rows};
use crate::{session, varlena};

/// A database object, as in `pg_depend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The catalog with the object's row.
    class: Oid,
    id: Oid,
}

/// A catalog column with expressions of a kind of object.
struct Place {
    class: Oid,
    catalog: Catalog,
    expressions: &'static [&'static CStr],
    owner: Owner,
}

/// The column that leads to an object's owner.
#[derive(Clone, Copy)]
enum Owner {
    Role(&'static CStr),
    Table(&'static CStr),
    /// Of a constraint: of its table, or else of its domain.
    TableOrType(&'static CStr, &'static CStr),
}

/// Creates the place of a class's expressions, by catalog and column number.
const fn place(
    class: Oid,
    relation: Oid,
    key: u32,
    index: u32,
    expressions: &'static [&'static CStr],
    owner: Owner,
) -> Place {
    Place { class, catalog: Catalog { relation, key: [key, 0], index }, expressions, owner }
}

#[rustfmt::skip]
const PLACES: &[Place] = {
    use pg_sys::*;
    &[
        place(RelationRelationId, IndexRelationId, Anum_pg_index_indexrelid, IndexRelidIndexId,
            &[c"indexprs", c"indpred"], Owner::Table(c"indrelid")),
        place(RelationRelationId, PartitionedRelationId, Anum_pg_partitioned_table_partrelid,
            PartitionedRelidIndexId, &[c"partexprs"], Owner::Table(c"partrelid")),
        place(AttrDefaultRelationId, AttrDefaultRelationId, Anum_pg_attrdef_oid, AttrDefaultOidIndexId,
            &[c"adbin"], Owner::Table(c"adrelid")),
        place(ConstraintRelationId, ConstraintRelationId, Anum_pg_constraint_oid, ConstraintOidIndexId,
            &[c"conbin"], Owner::TableOrType(c"conrelid", c"contypid")),
        place(RewriteRelationId, RewriteRelationId, Anum_pg_rewrite_oid, RewriteOidIndexId,
            &[c"ev_qual", c"ev_action"], Owner::Table(c"ev_class")),
        place(ProcedureRelationId, ProcedureRelationId, Anum_pg_proc_oid, ProcedureOidIndexId,
            &[c"prosqlbody", c"proargdefaults"], Owner::Role(c"proowner")),
        place(TriggerRelationId, TriggerRelationId, Anum_pg_trigger_oid, TriggerOidIndexId,
            &[c"tgqual"], Owner::Table(c"tgrelid")),
        place(StatisticExtRelationId, StatisticExtRelationId, Anum_pg_statistic_ext_oid,
            StatisticExtOidIndexId, &[c"stxexprs"], Owner::Table(c"stxrelid")),
        place(PolicyRelationId, PolicyRelationId, Anum_pg_policy_oid, PolicyOidIndexId,
            &[c"polqual", c"polwithcheck"], Owner::Table(c"polrelid")),
        place(TypeRelationId, TypeRelationId, Anum_pg_type_oid, TypeOidIndexId,
            &[c"typdefaultbin"], Owner::Role(c"typowner")),
    ]
};

const TABLES: Catalog = Catalog {
    relation: pg_sys::RelationRelationId,
    key: [pg_sys::Anum_pg_class_oid, 0],
    index: pg_sys::ClassOidIndexId,
};
const TYPES: Catalog = Catalog {
    relation: pg_sys::TypeRelationId,
    key: [pg_sys::Anum_pg_type_oid, 0],
    index: pg_sys::TypeOidIndexId,
};

/// An object that depends on a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// The object.
    pub object: Object,
    /// The transaction that made it depend on the function, if that is still open.
    pub made_by: Option<OpenTransaction>,
}

/// Returns the objects that depend on a function, as often as `pg_depend` lists them.
pub fn dependents(function: Oid) -> Vec<Dependent> {
    let depend = Catalog {
        relation: pg_sys::DependRelationId,
        key: [pg_sys::Anum_pg_depend_refclassid, pg_sys::Anum_pg_depend_refobjid],
        index: pg_sys::DependReferenceIndexId,
    };
    let mut dependents = Vec::new();
    catalog_rows(&depend, &[pg_sys::ProcedureRelationId, function], Seen::Dirty, |row| {
        if let (Some(class), Some(id)) = (row.oid(c"classid"), row.oid(c"objid")) {
            dependents.push(Dependent { object: Object { class, id }, made_by: row.made_by() });
        }
        ControlFlow::Continue(())
    });
    dependents
}

/// An object's stored expressions, and its owner.
pub struct Stored {
    /// Allocated in the current memory context.
    pub expressions: Vec<Expr<'static>>,
    /// `None` if it has just been dropped.
    pub owner: Option<Oid>,
}

impl Object {
    /// Returns a function as an object.
    pub fn function(id: Oid) -> Self {
        Object { class: pg_sys::ProcedureRelationId, id }
    }

    /// Returns PostgreSQL's description for messages; `None` if the object has just been dropped.
    pub fn described(self) -> Option<String> {
        let address =
            pg_sys::ObjectAddress { classId: self.class, objectId: self.id, objectSubId: 0 };
        // SAFETY: with missing_ok, returns a null pointer for an unknown object.
        let describe = || unsafe {
            let text = pg_sys::getObjectDescription(&address, true);
            (!text.is_null()).then(|| varlena::owned_string(text))
        };
        // Names on the search path are written without their schema.
        session::with_safe_path(describe)
    }

    /// Returns the object's expressions, allocated in the current memory context, and owner; `None` if
    /// there is no such object, or its kind has no expressions.
    pub fn stored(self) -> Option<Stored> {
        let mut stored = None;
        for place in PLACES.iter().filter(|place| place.class == self.class) {
            catalog_rows(&place.catalog, &[self.id], Seen::Latest, |row| {
                let expressions = place.expressions.iter().filter_map(|column| row.tree(column));
                let owner = place.owner.of(row, Seen::Latest).pop();
                stored = Some(Stored { expressions: expressions.collect(), owner });
                ControlFlow::Break(())
            });
        }
        stored
    }

    /// Returns its owners, committed and of open transactions; none of a kind that has no expressions.
    pub fn possible_owners(self) -> Vec<Oid> {
        let mut owners = Vec::new();
        for place in PLACES.iter().filter(|place| place.class == self.class) {
            catalog_rows(&place.catalog, &[self.id], Seen::Dirty, |row| {
                owners.extend(place.owner.of(row, Seen::Dirty));
                ControlFlow::Continue(())
            });
        }
        owners
    }
}

impl Owner {
    fn of(self, row: &Row<'_>, seen: Seen) -> Vec<Oid> {
        let valid = |column| row.oid(column).filter(|found| *found != Oid::INVALID);
        let owners = |catalog, object: Option<Oid>, column| {
            let mut owners = Vec::new();
            if let Some(object) = object {
                catalog_rows(catalog, &[object], seen, |row| {
                    owners.extend(row.oid(column));
                    ControlFlow::Continue(())
                });
            }
            owners
        };
        match self {
            Owner::Role(column) => valid(column).into_iter().collect(),
            Owner::Table(column) => owners(&TABLES, valid(column), c"relowner"),
            Owner::TableOrType(table, domain) => match valid(table) {
                Some(table) => owners(&TABLES, Some(table), c"relowner"),
                None => owners(&TYPES, valid(domain), c"typowner"),
            },
        }
    }
}

impl Stored {
    /// Returns the function calls with their arguments.
    pub fn calls(&self) -> Vec<(Oid, Vec<Expr<'static>>)> {
        let mut calls = Vec::new();
        self.expressions.iter().for_each(|expression| expression.calls(&mut calls));
        calls
    }
}
