//! The names of an agent's `prompt_template`.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{ComposedPart, SlotId, Source, TextRole, ValuePresence};
use trefoil_template::{PathSegment, Value, ValueObject};

use super::blackboard;
use super::spelling::{TAGS, name_path, plain_names};
use super::workflow_names::AegisInput;
use crate::names::{
    BoundPath, FixedObject, NameEntry, NameMatch, NameResolver, NameScope, PathResolution, PathSource,
    allow_other_members,
};
use crate::names::{TagNotation, is_path};

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
    pub declared: AegisInput,
    /// Whether there is a `repository`.
    pub has_repositories: bool,
}

impl PromptNames {
    /// The names with which a path in a prompt can start.
    fn root_names(self: &Arc<Self>) -> FixedObject {
        let text = || allow_other_members(NameEntry::new(ValueType::TEXT));
        let constant = |value: &Value| text().with_source(Source::Const(value.clone()), 1);
        let perhaps = |entry: NameEntry| entry.with_defined(ValuePresence::Sometimes);
        let schema = match &self.declared.schema {
            Some(schema) => schema.of.clone(),
            None => ValueType::Any,
        };
        let input = NameEntry { schema, ..NameEntry::from_names(PromptFields(self.clone())) }
            .with_source(Source::Slot(self.input), 1);
        let attached = Source::Member(self.input, name_path(&["attachments"]));
        let mut names = vec![
            ("instruction", constant(&self.instruction).with_note("`task.instruction`")),
            ("input", input.with_note("the input of the agent")),
            (
                "iteration_number",
                allow_other_members(NameEntry::new(ValueType::INTEGER))
                    .with_source(Source::Slot(self.iteration), 1)
                    .with_note("the number of this iteration, from 1"),
            ),
            (
                "previous_error",
                perhaps(text().with_source(Source::Slot(self.previous_error), 1))
                    .with_note("why the last iteration failed; empty in the first"),
            ),
            ("agentskills", perhaps(constant(&self.skills)).with_note("the skills that the operator passes")),
            ("context", constant(&self.context).with_note("the entries of `context`")),
            ("intent", perhaps(any()).with_source(self.intent.clone(), 1).with_note("the intent of the call")),
            ("attachments", perhaps(any()).with_source(attached, 1).with_note("the attachments of the call")),
        ];
        if self.has_repositories {
            let repository = any().with_source(Source::Const(Value::Null), 1).with_note("a declared repository");
            names.push(("repository", repository));
        }
        FixedObject::new(names).read_whole(self.together(), 0)
    }

    /// Whether a path starts with a name available in a prompt.
    pub fn is_path_start(self: &Arc<Self>, path: &str) -> bool {
        let root = path.split('.').next().unwrap_or_default();
        is_path(path) && matches!(self.root_names().get(root), NameMatch::Is(_))
    }

    /// The available names as one object.
    fn together(&self) -> Source {
        let constants = [("instruction", &self.instruction), ("agentskills", &self.skills), ("context", &self.context)];
        let seed: ValueObject = constants.into_iter().map(|(name, value)| (name.into(), value.clone())).collect();
        let part = |name: &str, slot, member| ComposedPart { at: name_path(&[name]), slot, member };
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

impl NameResolver for PromptFields {
    fn get(&self, name: &str) -> NameMatch {
        blackboard::input_field(&self.0.declared, name, FREE)
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let names = self.0.declared.field_names();
        names.filter_map(|name| blackboard::named_entry(name, self.get(name))).collect()
    }
}

/// The place of a prompt with these names.
pub struct PromptScope(pub Arc<PromptNames>);

impl NameScope for PromptScope {
    fn text_position(&self) -> TextRole {
        TextRole::User
    }

    fn root_entry(&self) -> NameEntry {
        NameEntry::from_names(PromptRoot { listed: self.0.root_names(), fields: PromptFields(self.0.clone()) })
    }

    fn tag_notation(&self) -> Option<&'static TagNotation> {
        Some(&TAGS)
    }

    // `lint` knows what else these names are called elsewhere.
    fn scope_description(&self) -> Option<&'static str> {
        None
    }

    /// A single word in single braces is not treated as a placeholder, unless it is a name that is rarely anything
    /// else.
    fn is_meant(&self, path: &[PathSegment], bound: &BoundPath, alone: bool) -> bool {
        match plain_names(path).as_deref() {
            Some(["input", _]) => bound.end == PathResolution::There || self.0.declared.schema.is_none(),
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
    listed: FixedObject,
    fields: PromptFields,
}

impl NameResolver for PromptRoot {
    fn get(&self, name: &str) -> NameMatch {
        self.listed.get(name)
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut entries = self.listed.all_entries();
        for (name, field) in self.fields.all_entries() {
            entries.push((format!("input.{name}").into(), field));
        }
        entries
    }

    fn whole_source(&self) -> Option<PathSource> {
        self.listed.whole_source()
    }
}

fn any() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::Any))
}
