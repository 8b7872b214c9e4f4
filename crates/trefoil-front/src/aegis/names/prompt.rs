//! The names of an agent's `prompt_template`.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{ComposedPart, Defined, Position, SlotId, Source};
use trefoil_template::{Object, Segment, Value};

use super::board;
use super::known::Input;
use super::spelling::{TAGS, path, plain};
use crate::names::{Bound, End, Entry, Found, Listed, Names, Place, Read, loose};
use crate::names::{Tags, is_path};

/// Fields of an input that need no declaration.
pub const FREE: &[&str] = &["intent", "attachments"];

/// The names available in a prompt.
pub struct PromptNames {
    /// The slot of the input.
    pub input: SlotId,
    /// The source of the intent.
    pub intent: Source,
    /// The slot of the iteration's number.
    pub iteration: SlotId,
    /// The slot of the reason why the last iteration failed.
    pub previous_error: SlotId,
    /// `task.instruction`.
    pub instruction: Value,
    /// The entries of `context`.
    pub context: Value,
    /// The skills passed by the operator.
    pub skills: Value,
    /// The declared input.
    pub declared: Input,
    /// Whether there is a `repository`.
    pub has_repositories: bool,
}

impl PromptNames {
    /// The names with which a path in a prompt can start.
    fn listed(self: &Arc<Self>) -> Listed {
        let text = || loose(Entry::new(Type::TEXT));
        let constant = |value: &Value| text().read(Source::Const(value.clone()), 1);
        let perhaps = |entry: Entry| entry.defined(Defined::Sometimes);
        let schema = self.declared.schema.as_ref().map_or(Type::Any, |s| s.of.clone());
        let input = Entry { schema, ..Entry::names(PromptFields(self.clone())) }.read(Source::Slot(self.input), 1);
        let attached = Source::Member(self.input, path(&["attachments"]));
        let repository = any().read(Source::Const(Value::Null), 1).note("a declared repository");
        let names = [
            ("instruction", constant(&self.instruction).note("`task.instruction`")),
            ("input", input.note("the input of the agent")),
            (
                "iteration_number",
                loose(Entry::new(Type::INTEGER))
                    .read(Source::Slot(self.iteration), 1)
                    .note("the number of this iteration, from 1"),
            ),
            (
                "previous_error",
                perhaps(text().read(Source::Slot(self.previous_error), 1))
                    .note("why the last iteration failed; empty in the first"),
            ),
            ("agentskills", perhaps(constant(&self.skills)).note("the skills that the operator passes")),
            ("context", constant(&self.context).note("the entries of `context`")),
            ("intent", perhaps(any()).read(self.intent.clone(), 1).note("the intent of the call")),
            ("attachments", perhaps(any()).read(attached, 1).note("the attachments of the call")),
        ];
        let repository = self.has_repositories.then_some(("repository", repository));
        Listed::new(names.into_iter().chain(repository)).read_whole(self.together(), 0)
    }

    /// Whether a path starts with a name available in a prompt.
    pub fn begin(self: &Arc<Self>, path: &str) -> bool {
        let root = path.split('.').next().unwrap_or_default();
        is_path(path) && matches!(self.listed().get(root), Found::Is(_))
    }

    /// The available names as one object.
    fn together(&self) -> Source {
        let constants = [("instruction", &self.instruction), ("agentskills", &self.skills), ("context", &self.context)];
        let seed: Object = constants.into_iter().map(|(name, value)| (name.into(), value.clone())).collect();
        let part = |name: &str, slot, member| ComposedPart { at: path(&[name]), slot, member };
        let mut parts = vec![
            part("input", self.input, Vec::new()),
            part("iteration_number", self.iteration, Vec::new()),
            part("previous_error", self.previous_error, Vec::new()),
        ];
        match &self.intent {
            Source::Member(slot, member) => parts.push(part("intent", *slot, member.clone())),
            Source::Slot(slot) => parts.push(part("intent", *slot, Vec::new())),
            _ => {}
        }
        Source::Compose { seed: Value::Object(seed.into()), parts }
    }
}

/// The fields of the input.
struct PromptFields(Arc<PromptNames>);

impl Names for PromptFields {
    fn get(&self, name: &str) -> Found {
        board::field(&self.0.declared, name, FREE)
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let names = self.0.declared.fields();
        names.filter_map(|name| board::found(name, self.get(name))).collect()
    }
}

/// The place of a prompt with these names.
pub struct PromptPlace(pub Arc<PromptNames>);

impl Place for PromptPlace {
    fn position(&self) -> Position {
        Position::User
    }

    fn root(&self) -> Entry {
        Entry::names(PromptRoot { listed: self.0.listed(), fields: PromptFields(self.0.clone()) })
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }

    // `lint` knows what else these names are called elsewhere.
    fn called(&self) -> Option<&'static str> {
        None
    }

    /// A single word in single braces is not treated as a placeholder, unless it is a name that is rarely anything
    /// else.
    fn is_meant(&self, path: &[Segment], bound: &Bound, alone: bool) -> bool {
        match plain(path).as_deref() {
            Some(["input", _]) => bound.end == End::There || self.0.declared.schema.is_none(),
            Some([root]) if alone => {
                matches!(*root, "instruction" | "input" | "previous_error" | "iteration_number" | "agentskills")
            }
            Some([_]) => true,
            _ => false,
        }
    }
}

/// The names available in a prompt; editors also suggest the fields of the input.
struct PromptRoot {
    listed: Listed,
    fields: PromptFields,
}

impl Names for PromptRoot {
    fn get(&self, name: &str) -> Found {
        self.listed.get(name)
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let fields = self.fields.all().into_iter().map(|(name, field)| (format!("input.{name}").into(), field));
        self.listed.all().into_iter().chain(fields).collect()
    }

    fn read(&self) -> Option<Read> {
        self.listed.read()
    }
}

fn any() -> Entry {
    loose(Entry::new(Type::Any))
}
