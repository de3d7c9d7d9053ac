//! Objects that depend on a function, and the expressions that PostgreSQL's catalogs store of them: of
//! indexes, columns, constraints, rules, functions and more.
//!
//! Expressions are read as trees, as PostgreSQL reads them, and never as SQL text: a text depends on
//! settings, and one tree has many texts. Nothing in them is evaluated. Catalogs are read as of now, not as
//! the statement's snapshot saw them. `pg_depend` says which objects call a function (dependency.c,
//! `find_expr_references_walker`).

use std::ffi::CStr;
use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Oid};

use crate::nodes::Expr;
use crate::scan::{Catalog, Row, catalog_rows};
use crate::{catalog, session, varlena};

/// An object of the database, as `pg_depend` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The catalog that it is a row of.
    class: Oid,
    id: Oid,
}

/// Where a kind of object has its expressions.
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
    /// Of a constraint: of a table, or else of a domain.
    TableOrType(&'static CStr, &'static CStr),
}

/// A place in a catalog, by the column of that number, of objects of a class.
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

/// The objects that depend on a function, each as often as `pg_depend` names it.
pub fn dependents(function: Oid) -> Vec<Object> {
    let depend = Catalog {
        relation: pg_sys::DependRelationId,
        key: [pg_sys::Anum_pg_depend_refclassid, pg_sys::Anum_pg_depend_refobjid],
        index: pg_sys::DependReferenceIndexId,
    };
    let mut objects = Vec::new();
    catalog_rows(&depend, &[pg_sys::ProcedureRelationId, function], |row| {
        if let (Some(class), Some(id)) = (row.oid(c"classid"), row.oid(c"objid")) {
            objects.push(Object { class, id });
        }
        ControlFlow::Continue(())
    });
    objects
}

/// The expressions that are stored of an object, and its owner.
pub struct Stored {
    /// In the current memory context.
    pub expressions: Vec<Expr<'static>>,
    /// Nothing if it has just gone.
    pub owner: Option<Oid>,
}

impl Object {
    /// A function.
    pub fn function(id: Oid) -> Self {
        Object { class: pg_sys::ProcedureRelationId, id }
    }

    /// Its description as in PostgreSQL's messages; nothing if it has just gone.
    pub fn described(self) -> Option<String> {
        let address =
            pg_sys::ObjectAddress { classId: self.class, objectId: self.id, objectSubId: 0 };
        // SAFETY: with missing_ok the function returns a null pointer for what is not there.
        let describe = || unsafe {
            let text = pg_sys::getObjectDescription(&address, true);
            (!text.is_null()).then(|| varlena::owned_string(text))
        };
        // Names that are on the search path are written without their schema.
        session::with_setting(c"search_path", c"pg_catalog, pg_temp", describe)
    }

    /// Its expressions, which live in the current memory context, and its owner. Nothing if there is no such
    /// object, or none of a kind that has expressions.
    pub fn stored(self) -> Option<Stored> {
        let mut stored = None;
        for place in PLACES.iter().filter(|place| place.class == self.class) {
            catalog_rows(&place.catalog, &[self.id], |row| {
                let expressions = place.expressions.iter().filter_map(|column| row.tree(column));
                let owner = place.owner.of(row);
                stored = Some(Stored { expressions: expressions.collect(), owner });
                ControlFlow::Break(())
            });
        }
        stored
    }
}

impl Owner {
    fn of(self, row: &Row<'_>) -> Option<Oid> {
        let valid = |column| row.oid(column).filter(|found| *found != Oid::INVALID);
        match self {
            Owner::Role(column) => valid(column),
            Owner::Table(column) => catalog::table_owner(valid(column)?),
            Owner::TableOrType(table, domain) => match valid(table) {
                Some(table) => catalog::table_owner(table),
                None => catalog::type_owner(valid(domain)?),
            },
        }
    }
}

impl Stored {
    /// The functions that are called by name, each with the arguments.
    pub fn calls(&self) -> Vec<(Oid, Vec<Expr<'static>>)> {
        let mut calls = Vec::new();
        self.expressions.iter().for_each(|expression| expression.calls(&mut calls));
        calls
    }
}
