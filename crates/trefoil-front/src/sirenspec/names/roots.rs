//! The names that can start a path in a text, listed only here. [`tree`](super::tree) handles the names under `working`
//! and `output`.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Lost, Position, Source};
use trefoil_template::{Missing, Segment};

use super::place::Here;
use super::stand::Reading;
use super::tree::Tree;
use crate::names::Tags;
use crate::names::is_variable;
use crate::names::{Bound, End, Entry, Found, Names, Nothing, Place};
use crate::sirenspec::manifest::Root;

/// The notation of tags.
const TAGS: Tags = Tags {
    space: " ",
    statements: "this format has no blocks; use `| default('text')` or `when` on an edge",
    comparison: None,
};

impl Here {
    /// The input field with this name.
    fn field(&self, name: &str) -> Found {
        let rendered = self.instance().map(|i| i.rendered);
        if let Some(((_, at), slot)) = self.own_inputs().iter().find(|(n, _)| &**n == name).zip(rendered) {
            return Found::Is(Entry::new(Type::Any).read(Source::Slot(slot), 1).declared(Some(*at)));
        }
        let inputs = &self.known.inputs;
        match inputs.field(name) {
            Some(field) => {
                let entry = Entry::new(field.schema.clone()).declared(field.declared);
                Found::Is(entry.read(Source::Slot(inputs.slot), 1))
            }
            None if self.who == Reading::Nobody => {
                Found::Maybe(Entry::new(Type::Any).defined(Defined::Sometimes).read(Source::missing(1), 0))
            }
            None => {
                let own = self.own_inputs().iter().map(|(name, _)| name.clone());
                Found::Never(Nothing { what: None, names: inputs.names().map(Arc::from).chain(own).collect() })
            }
        }
    }

    /// A loop variable.
    fn variable(&self, name: &str) -> Entry {
        let slot = self.instance().and_then(|instance| match name {
            "item" => instance.item,
            "index" => Some(instance.index),
            _ => Some(instance.total),
        });
        let schema = if name == "item" { Type::Any } else { Type::INTEGER };
        match slot {
            Some(slot) => Entry::new(schema).read(Source::Slot(slot), 1),
            None => Entry::new(Type::Any)
                .defined(self.unknown())
                .read(Source::Missing(Missing::OutsideLoop, Lost::Unsaid), 0),
        }
    }
}

impl Place for Here {
    fn position(&self) -> Position {
        self.position
    }

    fn root(&self) -> Entry {
        Entry { refuses: true, ..Entry::names(Roots(Arc::new(self.clone()))) }
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }

    // `lint` knows what else these names are called elsewhere.
    fn called(&self) -> Option<&'static str> {
        None
    }

    /// A single word is not treated as a placeholder, except loop variables, inputs, and written names that are not
    /// everyday words.
    fn is_meant(&self, path: &[Segment], bound: &Bound, _alone: bool) -> bool {
        let words: Vec<&str> = path.iter().map(|s| &*s.name).collect();
        match words.as_slice() {
            ["item" | "index" | "total", ..] => bound.entries.first().is_some_and(|e| e.defined == Defined::Always),
            ["inputs", _, ..] => bound.end != End::Open(1),
            ["env", name] => is_variable(name),
            ["_budget", _] => true,
            ["inputs" | "env" | "_budget" | "working" | "output"] | ["env" | "_budget", ..] => false,
            [name] => name.contains('_') && self.known.node_of(name).is_none(),
            _ => true,
        }
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        let own = self.own_inputs().iter().any(|(name, _)| **name == *path);
        (own || self.known.inputs.field(path).is_some()).then(|| format!("inputs.{path}"))
    }
}

/// The names that can start a path.
struct Roots(Arc<Here>);

impl Names for Roots {
    fn get(&self, name: &str) -> Found {
        let here = &self.0;
        let tree = |root: Root| Found::Is(Entry::new(Type::OBJECT).inner(Tree::whole(here.clone(), root)));
        let namespace =
            |entry: Entry| Found::Is(entry.read(Source::Missing(Missing::NoField(name.into()), Lost::Unsaid), 0));
        match name {
            "working" => tree(Root::Working),
            "output" => tree(Root::Output),
            "_budget" => Found::Is(here.spent(1)),
            _ if here.is_condition() => Found::Never(Nothing::default()),
            "inputs" => namespace(Entry::new(Type::OBJECT).inner(InputFields(here.clone()))),
            "env" => namespace(Entry::new(Type::OBJECT).inner(Environment)),
            "item" | "index" | "total" => Found::Is(here.variable(name)),
            _ => Tree::bare(here.clone()).get(name),
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        if self.0.is_condition() { self.0.offered_to_condition() } else { self.0.offered() }
    }
}

/// `inputs`.
struct InputFields(Arc<Here>);

impl Names for InputFields {
    fn get(&self, name: &str) -> Found {
        self.0.field(name)
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let fields = self.0.known.inputs.names().map(Arc::from);
        let own = self.0.own_inputs().iter().map(|(name, _)| name.clone());
        let entry = |name: Arc<str>| match self.0.field(&name) {
            Found::Is(entry) => Some((name, entry)),
            _ => None,
        };
        fields.chain(own).filter_map(entry).collect()
    }
}

/// `env`: any name may be set.
struct Environment;

impl Names for Environment {
    fn get(&self, _name: &str) -> Found {
        Found::Is(Entry::new(Type::TEXT).defined(Defined::Sometimes).read(Source::Environment, 1))
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        Vec::new()
    }
}
