//! The tree of an agent's names.

use std::sync::Arc;

use trefoil_ir::types::{Member, Type};
use trefoil_ir::{Defined, Lost, Source};
use trefoil_syntax::Location;
use trefoil_template::Missing;

use super::step::standing;
use super::{AgentNames, At, StepName};
use crate::agntz::signature::{Exported, Signature};
use crate::names::Members;
use crate::names::{Doubt, Entry, Found, Names, Nothing, member};

/// The names of a place. An empty path is the whole input.
pub fn root(names: Arc<AgentNames>, at: At) -> Entry {
    let input = Source::Slot(names.input);
    Entry { refuses: true, ..Entry::names(AgentRoot { names, at }) }.read(input, 0)
}

struct AgentRoot {
    names: Arc<AgentNames>,
    at: At,
}

impl Names for AgentRoot {
    fn get(&self, name: &str) -> Found {
        match name {
            "env" => return Found::Is(namespace(Source::Environment)),
            "secrets" => return Found::Is(namespace(Source::Secrets)),
            _ => {}
        }
        let property = self.property(name);
        // An output that hides an input is reported separately.
        if let Some(step) = self.step(name).filter(|step| property.is_none() || step.defined != Defined::Never) {
            return Found::Is(step);
        }
        property.map(Found::Is).or_else(|| self.query(name).map(Found::Is)).unwrap_or_else(|| self.unknown(name))
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let mut all: Vec<(Arc<str>, Entry)> = Vec::new();
        let inputs = self.names.inputs.properties.iter();
        all.extend(inputs.filter_map(|p| Some((p.name.clone(), self.property(&p.name)?.note("an input")))));
        let given = self.names.given().into_iter().flatten();
        all.extend(given.map(|t| {
            (t.value.clone(), Entry::new(Type::Any).declared(Some(self.place(t))).note("passed by the step"))
        }));
        let query = self.query("userQuery").filter(|q| q.defined != Defined::Never);
        all.extend(query.map(|q| ("userQuery".into(), q.note("the input, as it was passed"))));
        for step in &self.names.steps {
            let entry = self.step(&step.key);
            // A key that two steps write is listed once.
            let seen = all.iter().any(|(name, _)| *name == step.key);
            if let Some(entry) = entry.filter(|e| !seen && !is_late(e)) {
                all.push((step.key.clone(), entry.note(format!("the output of `{}`", step.id))));
            }
        }
        // `secrets` is a namespace too, but it is not suggested, because a prompt must not read it.
        all.push(("env".into(), namespace(Source::Environment).note("environment variables: `env.NAME`")));
        all
    }
}

/// Whether the order of steps means that a step's output never exists here.
fn is_late(entry: &Entry) -> bool {
    matches!(entry.doubt, Some(Doubt::Own | Doubt::Beside | Doubt::Later))
}

impl AgentRoot {
    fn input(&self, schema: Type) -> Entry {
        Entry::new(schema).read(Source::Slot(self.names.input), 0)
    }

    fn place(&self, text: &trefoil_syntax::yaml::Text) -> Location {
        Location::new(self.names.file, text.content())
    }

    /// A declared input.
    fn property(&self, name: &str) -> Option<Entry> {
        let property = self.names.inputs.get(name)?;
        let (at, members) = self.names.inputs.members.get(name).unwrap_or_default();
        Some(self.input(property.of.clone()).declared(at).members(members))
    }

    /// The output of a step.
    fn step(&self, name: &str) -> Option<Entry> {
        let (index, defined, doubt) = standing(&self.names, name, self.at)?;
        let step = self.names.steps.get(index)?;
        let callee = step.callee.as_deref();
        // Two steps with the same key may have different results.
        let schema = callee.filter(|_| self.names.named(name).len() == 1).map_or(Type::Any, |c| c.output.clone());
        let members = callee.map(|c| c.members.clone()).unwrap_or_default();
        let entry = Entry { doubt, ..Entry::new(schema).defined(defined).declared(Some(step.at)) };
        let entry = match is_late(&entry) {
            true => {
                let own = entry.doubt == Some(Doubt::Own);
                let lost = Lost::Late { name: name.into(), writes: false, own };
                entry.read(Source::Missing(Missing::Key(0), lost), 0)
            }
            false => entry.read(Source::Slot(step.slot), 1),
        };
        Some(match callee.filter(|c| !c.exports.is_empty()) {
            Some(_) => {
                let output = Entry { inside: entry.clone().members(members.clone()).inside, ..entry.clone() };
                entry.inner(StepOutput { output, members, step: step.clone() })
            }
            None => entry.members(members),
        })
    }

    /// `userQuery`, if there is one.
    fn query(&self, name: &str) -> Option<Entry> {
        let slot = self.names.query.filter(|_| name == "userQuery")?;
        let entry = Entry::new(Type::Any).read(Source::Slot(slot), 1);
        let nothing = self.names.outside.as_ref().is_some_and(|o| o.given.is_none());
        Some(if nothing { entry.doubt(Defined::Never, Doubt::NotGiven) } else { entry })
    }

    /// An undeclared name: the enclosing step may pass it, or the caller of the run.
    fn unknown(&self, name: &str) -> Found {
        let names = &self.names;
        let outside = names.outside.as_ref().filter(|_| !names.inputs.declared);
        let given = names.given().and_then(|all| all.iter().find(|t| &*t.value == name));
        if let Some(text) = given {
            return Found::Is(self.input(Type::Any).declared(Some(self.place(text))));
        }
        if outside.is_some_and(|o| o.unclear) {
            return Found::Maybe(self.input(Type::Any));
        }
        if names.inputs.closed {
            // The code that reports the finding computes the alternatives, because each of many misspellings is looked
            // up several times.
            return Found::Never(Nothing::default());
        }
        let entry = self.input(Type::Any);
        Found::Maybe(match outside {
            Some(_) => entry.doubt(Defined::Never, Doubt::NotGiven),
            None => entry.defined(Defined::Sometimes),
        })
    }
}

/// `env` or `secrets`: no value by itself; a text for each name.
fn namespace(source: Source) -> Entry {
    let entry = Entry::new(Type::OBJECT).read(Source::missing(0), 0);
    entry.inner(Namespace(source))
}

struct Namespace(Source);

impl Names for Namespace {
    fn get(&self, _: &str) -> Found {
        Found::Is(Entry::new(Type::TEXT).defined(Defined::Sometimes).read(self.0.clone(), 1))
    }
    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        Vec::new()
    }
}

/// The result of a pipeline that ran as a step: its output, with the results of its own steps in a layer under it.
struct StepOutput {
    output: Entry,
    members: Members,
    step: StepName,
}

impl Names for StepOutput {
    fn get(&self, name: &str) -> Found {
        let exports = self.step.callee.as_deref().map_or(&[][..], |c| &c.exports);
        let export = exports.iter().find(|e| e.is(name));
        let layered = |entry: Entry| match self.step.exports {
            Some(under) => entry.read(Source::Layered { top: self.step.slot, path: Vec::new(), under }, 1),
            None => entry,
        };
        match (self.output.schema.member(name), export) {
            (Member::Never { .. } | Member::Beyond { .. }, Some(export)) => {
                Found::Is(layered(exported(export, &self.output)))
            }
            // Either the output has it, or a step under it.
            (Member::Maybe, Some(export)) => {
                let entry = exported(export, &self.output);
                Found::Maybe(layered(Entry { schema: Type::Any, ..entry }))
            }
            _ => match member(&self.output, &self.members, name) {
                Found::Never(Nothing { what, mut names }) => {
                    let beneath = exports.iter().map(|e| e.key.clone());
                    for key in beneath {
                        if !names.contains(&key) {
                            names.push(key);
                        }
                    }
                    Found::Never(Nothing { what, names })
                }
                found => found,
            },
        }
    }
    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        Vec::new()
    }
}

/// The result of a step under the output.
fn exported(export: &Exported, of: &Entry) -> Entry {
    let entry = Entry::new(export.schema.clone()).defined(of.defined).declared(export.at);
    let entry = Entry { doubt: of.doubt.clone(), ..entry.members(export.members.clone()) };
    match &export.inner {
        Some(inner) => entry.clone().inner(Beneath { output: entry, inner: inner.clone() }),
        None => entry,
    }
}

/// The same one pipeline deeper, read through the pipeline above it.
struct Beneath {
    output: Entry,
    inner: Arc<Signature>,
}

impl Names for Beneath {
    fn get(&self, name: &str) -> Found {
        let members = &self.inner.members;
        match member(&self.output, members, name) {
            Found::Never(nothing) => match self.inner.exports.iter().find(|e| e.is(name)) {
                Some(export) => Found::Is(exported(export, &self.output)),
                None => Found::Never(nothing),
            },
            found => found,
        }
    }
    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        Vec::new()
    }
}
