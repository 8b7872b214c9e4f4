//! The names of an agent's `prompt_template`.

use trefoil_ir::{Defined, Name, Part, Position, SlotId, Source, Visible};
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Missing, Reference, Value, is_helper};

use super::names::{TAGS, input_names, plain_path};
use super::pieces::{constant_object, path};
use crate::Reader;
use crate::aegis::manifest::schema::JsonSchema;
use crate::learn::{Meaning, Members, Resolve, integer_type, is_closed, member_type, text_type};
use crate::lookalike::Tags;
use crate::mend;

const ROOTS: &[&str] =
    &["instruction", "input", "iteration_number", "previous_error", "agentskills", "context", "intent", "attachments"];

/// Whether a path begins with a name that a prompt has.
pub(super) fn names(path: &str) -> bool {
    plain_path(path).is_some_and(|segments| segments.first().is_some_and(|root| ROOTS.contains(root)))
}

/// What a prompt can name.
pub(super) struct PromptNames<'a, 'd> {
    pub reader: &'a Reader<'d>,
    pub input: SlotId,
    pub intent: Source,
    pub iteration: SlotId,
    pub previous_error: SlotId,
    pub instruction: Value,
    pub context: Value,
    pub skills: Value,
    pub schema: Option<&'a JsonSchema>,
    /// Where the properties of the input are declared.
    pub members: Members,
}

impl Resolve for &PromptNames<'_, '_> {
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16) {
        self.resolve(reference, at)
    }

    fn position(&self) -> Position {
        Position::User
    }

    fn visible(&self) -> Visible {
        let mut names: Vec<Name> = ROOTS.iter().map(|root| self.name(root)).collect();
        names.extend(self.schema.into_iter().flat_map(|schema| input_names(schema, &self.members)));
        names.into()
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        let mut path = reference.path.iter().map(|s| &*s.name);
        let Some(root) = path.next() else { return Vec::new() };
        if !ROOTS.contains(&root) {
            return vec![Meaning::nothing()];
        }
        let Name { defined, schema, .. } = self.name(root);
        let mut all = vec![Meaning::built_in(defined, schema)];
        let mut members = (root == "input").then(|| self.members.clone());
        for segment in path {
            let Some(Meaning { schema, .. }) = all.last() else { break };
            let found = members.as_ref().and_then(|m| m.get(segment));
            let missing =
                is_closed(schema, segment) && !(all.len() == 1 && matches!(segment, "intent" | "attachments"));
            let defined = match found {
                _ if missing => Defined::Never,
                Some(_) if all.len() == 1 && self.schema.is_some_and(|s| s.requires(segment)) => Defined::Always,
                _ => Defined::Sometimes,
            };
            let to = found.as_ref().and_then(|(at, _)| *at);
            all.push(Meaning { to, defined, schema: member_type(schema, segment) });
            members = found.map(|(_, inner)| inner);
        }
        all
    }

    fn is_there(&self, path: &str, alone: bool) -> bool {
        self.has(path, alone)
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }
}

impl PromptNames<'_, '_> {
    /// Whether a path surely names something: of nothing that is a single word in single braces, but for the two names
    /// that a prompt is hardly ever without.
    fn has(&self, path: &str, alone: bool) -> bool {
        match plain_path(path).as_deref() {
            Some(["input", field]) => self.schema.is_none_or(|s| s.properties().any(|(p, _)| &**p == *field)),
            Some([root]) if alone => {
                matches!(*root, "instruction" | "previous_error" | "iteration_number" | "agentskills")
            }
            Some([root]) => ROOTS.contains(root),
            _ => false,
        }
    }

    /// A root as editors show it.
    fn name(&self, root: &str) -> Name {
        let (defined, schema, note) = match root {
            "input" => {
                let schema = self.schema.map_or(Value::Bool(true), |s| s.json.clone());
                (Defined::Always, schema, "what the agent is given")
            }
            "instruction" => (Defined::Always, text_type(), "`task.instruction`"),
            "iteration_number" => (Defined::Always, integer_type(), "which iteration this is, from 1"),
            "previous_error" => (Defined::Sometimes, text_type(), "why the last iteration failed; empty on the first"),
            "agentskills" => (Defined::Sometimes, text_type(), "what the operator gave as skills"),
            "context" => (Defined::Always, text_type(), "the entries of `context`"),
            "intent" => (Defined::Sometimes, Value::Bool(true), "the intent of the call"),
            _ => (Defined::Sometimes, Value::Bool(true), "what is attached to the call"),
        };
        Name::new(root, defined).schema(schema).note(note)
    }

    /// The source of a reference, and how many segments it stands for.
    pub fn resolve(&self, reference: &Reference, at: Location) -> (Source, u16) {
        let Some(root) = reference.path.first() else { return (self.root(), 0) };
        match &*root.name {
            "input" => {
                if let Some(field) = reference.path.get(1) {
                    self.check_field(&field.name, mend::segment(reference, at, 1), at);
                }
                (Source::Slot(self.input), 1)
            }
            "instruction" => (Source::Const(self.instruction.clone()), 1),
            "context" => (Source::Const(self.context.clone()), 1),
            "agentskills" => (Source::Const(self.skills.clone()), 1),
            "intent" => (self.intent.clone(), 1),
            "attachments" => (Source::Member(self.input, path(["attachments"])), 1),
            "iteration_number" => (Source::Slot(self.iteration), 1),
            "previous_error" => (Source::Slot(self.previous_error), 1),
            name => {
                self.report_unknown(name, mend::segment(reference, at, 0), at);
                (Source::Missing(Missing::Key(0)), 0)
            }
        }
    }

    fn root(&self) -> Source {
        let seed = constant_object([
            ("instruction".into(), self.instruction.clone()),
            ("agentskills".into(), self.skills.clone()),
            ("context".into(), self.context.clone()),
        ]);
        let mut parts = vec![
            Part { at: path(["input"]), slot: self.input, member: Vec::new() },
            Part { at: path(["iteration_number"]), slot: self.iteration, member: Vec::new() },
            Part { at: path(["previous_error"]), slot: self.previous_error, member: Vec::new() },
        ];
        match &self.intent {
            Source::Member(slot, member) => {
                parts.push(Part { at: path(["intent"]), slot: *slot, member: member.clone() });
            }
            Source::Slot(slot) => parts.push(Part { at: path(["intent"]), slot: *slot, member: Vec::new() }),
            _ => {}
        }
        Source::Compose { seed, parts }
    }

    /// A field that the agent's own schema does not have: certain when the schema is closed, likely when a near name is.
    fn check_field(&self, name: &str, place: Option<Location>, at: Location) {
        let Some(schema) = self.schema.filter(|s| s.of_objects()) else { return };
        if matches!(name, "intent" | "attachments") || schema.properties().any(|(p, _)| &**p == name) {
            return;
        }
        let near = suggest::near(name, schema.properties().map(|(p, _)| &**p));
        if !schema.closed() && near.is_none() {
            return;
        }
        let d = Diagnostic::warning("unknown-property", at, format!("`input_schema` declares no `{name}`"));
        self.reader.report(match near {
            Some(near) => {
                mend::renamed(d.help(format!("did you mean `input.{}`?", near.name)), place, near, schema.closed())
            }
            None => d,
        });
    }

    fn report_unknown(&self, name: &str, place: Option<Location>, at: Location) {
        let d = Diagnostic::warning("unresolved-name", at, format!("a prompt has no `{name}`: it is always empty"));
        let declared = self.schema.is_some_and(|s| s.properties().any(|(p, _)| &**p == name));
        let near = suggest::near(name, ROOTS.iter().copied());
        self.reader.report(match near {
            _ if matches!(name, "last_error" | "error" | "error_message") => {
                mend::rewritten(d.help("did you mean `previous_error`?"), place, "previous_error", false)
            }
            _ if is_helper(name) => d.help(format!("`{name}` is a helper: write its argument after it")),
            _ if declared => {
                mend::rewritten(d.help(format!("write `input.{name}`")), place, &format!("input.{name}"), true)
            }
            Some(near) => mend::renamed(d.help(format!("did you mean `{}`?", near.name)), place, near, true),
            None if matches!(name, "workflow" | "blackboard" | "state") => {
                d.help("an agent does not see the workflow that calls it: put the value into the state's `input`")
            }
            None => d.help(format!("a field of the input is `input.{name}`")),
        });
    }
}
