//! The origins of values without a declaration: `{{input}}`, `{{instruction}}`, `STATE.output`, `state.feedback`,
//! `item`, `env.NAME`.
//!
//! Each format has such names. This module's tables say which key of the manifest defines them.

use trefoil_ir::facts::{DeclarationKind, Mention};
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location};

use crate::analysis::{FolderAnalysis, touches_offset};
use crate::cursor::{PathStep, entry_at, find_position, first_entry, node_after, node_at};
use crate::highlight::path_to;

/// Names and the keys that define them: dialect, kind of manifest if it matters, start of the path, and paths from the
/// root, of which the first existing one is used.
const GIVEN: &[(&str, &str, &str, &[&[&str]])] = &[
    ("aegis", "Agent", "instruction", &[&["spec", "task", "instruction"]]),
    ("aegis", "Agent", "context", &[&["spec", "context"]]),
    ("aegis", "Agent", "input", &[&["spec", "input_schema"]]),
    ("aegis", "Agent", "iteration_number", &[&["spec", "execution", "max_iterations"], &["spec", "execution"]]),
    ("aegis", "Agent", "previous_error", &[&["spec", "execution", "validation"], &["spec", "execution"]]),
    ("aegis", "Workflow", "workflow.context", &[&["spec", "context"]]),
    ("aegis", "Workflow", "workflow.name", &[&["metadata", "name"]]),
    ("aegis", "Workflow", "workflow.version", &[&["metadata", "version"]]),
    ("aegis", "Workflow", "workflow", &[&["metadata"]]),
    ("aegis", "Workflow", "blackboard", &[&["spec", "context"]]),
    ("aegis", "Workflow", "input", &[&["metadata", "input_schema"], &["spec", "input_schema"]]),
    ("sirenspec", "", "inputs", &[&["input"]]),
    ("sirenspec", "", "env", &[&["env_file"]]),
    ("sirenspec", "", "_budget", &[&["budget"]]),
    ("agntz", "", "userQuery", &[&["inputSchema"]]),
];

/// The keys that produce the result of a state or node; the first existing one is used.
const MADE_BY: &[&str] =
    &["agent", "agent_id", "agents", "workflow_id", "ref", "judges", "worker", "command", "prompt"];

/// The keys with the list of a loop.
const LISTS: &[&str] = &["for_each", "over", "items"];

/// The origins of the value at an offset.
pub fn find_origins(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<Location> {
    let mentions = analysis.mentions_at(file, offset);
    let Some(mention) = mentions.iter().find(|m| m.template && m.to.is_none()) else { return Vec::new() };
    let (Some(root), Some(front)) = (analysis.yaml_tree(file), analysis.dialect(file)) else { return Vec::new() };
    let path: Vec<&str> = path_to(analysis.file_text(file), mention.at.span).split('.').collect();
    let around = OriginSearch { analysis, file, root, above: find_position(root, offset).path };
    match (front.name(), path.as_slice()) {
        ("aegis", ["state", "feedback", ..]) => around.feedback(),
        ("aegis", ["state"]) => around.own_state().into_iter().collect(),
        ("aegis", ["state_output", ..]) => match around.own_state() {
            Some(state) => around.made_by(state),
            None => Vec::new(),
        },
        ("aegis", ["human", ..]) => around.people(),
        ("sirenspec", ["item" | "index" | "total", ..]) => around.lists(),
        (dialect, path) => {
            if let Some(step) = around.declared(mention) {
                let made = around.made_by(step);
                if !made.is_empty() {
                    return made;
                }
            }
            around.given(dialect, path)
        }
    }
}

struct OriginSearch<'a> {
    analysis: &'a FolderAnalysis,
    file: FileId,
    root: &'a YamlNode,
    above: Vec<PathStep>,
}

impl<'a> OriginSearch<'a> {
    fn key_location(&self, entry: &YamlEntry) -> Location {
        Location::new(self.file, entry.key.content_span())
    }
    fn entry(&self, way: &[&str]) -> Option<&'a YamlEntry> {
        entry_at(self.root, way)
    }
    /// The kind of the manifest.
    fn manifest_kind(&self) -> Option<&'a str> {
        Some(&self.entry(&["kind"])?.value.as_string()?.value)
    }
    fn given(&self, dialect: &str, path: &[&str]) -> Vec<Location> {
        let kind = self.manifest_kind().unwrap_or_default();
        let path_text = path.join(".");
        let row = GIVEN.iter().find(|(of, sort, name, _)| {
            *of == dialect
                && (sort.is_empty() || kind.starts_with(sort))
                && (path_text == *name || path_text.starts_with(&format!("{name}.")))
        });
        if let Some((.., ways)) = row {
            for way in *ways {
                if let Some(entry) = self.entry(way) {
                    return vec![self.key_location(entry)];
                }
            }
        }
        // An input that nothing describes comes from the callers.
        if matches!(path.first(), Some(&"input" | &"userQuery")) { self.callers() } else { Vec::new() }
    }
    /// The `input` of every call of what this file declares.
    fn callers(&self) -> Vec<Location> {
        let facts = self.analysis.facts();
        let mut programs: Vec<Location> = Vec::new();
        for declaration in &facts.declarations {
            if declaration.at.file == self.file && declaration.parent.is_none() {
                programs.push(declaration.at);
            }
        }
        let mut out: Vec<Location> = Vec::new();
        for mention in &facts.mentions {
            if !mention.template && matches!(&mention.to, Some(to) if programs.contains(to)) {
                out.extend(self.call_input(mention.at));
            }
        }
        out.sort();
        out.dedup();
        out
    }
    /// The key with the input of the call at a place.
    fn call_input(&self, at: Location) -> Option<Location> {
        let call = find_position(self.analysis.yaml_tree(at.file)?, at.span.start).container.as_mapping()?;
        let input = first_entry(call, &["input", "input_template", "inputs"])?;
        Some(Location::new(at.file, input.key.content_span()))
    }
    /// The state that contains the text.
    fn own_state(&self) -> Option<Location> {
        let at = node_at(self.root, &self.above)?.span.start;
        for declaration in &self.analysis.facts().declarations {
            if declaration.at.file == self.file
                && declaration.kind == DeclarationKind::State
                && touches_offset(declaration.extent, at)
            {
                return Some(declaration.at);
            }
        }
        None
    }
    /// The feedback on the transitions into the state that contains the text.
    fn feedback(&self) -> Vec<Location> {
        let Some(state) = self.own_state() else { return Vec::new() };
        let mut out = Vec::new();
        for mention in self.analysis.mentions_in(self.file) {
            if !mention.template
                && mention.to == Some(state)
                && let Some(transition) = find_position(self.root, mention.at.span.start).container.as_mapping()
                && let Some(entry) = transition.get("feedback")
            {
                out.push(self.key_location(entry));
            }
        }
        out
    }
    /// The states that ask a person.
    fn people(&self) -> Vec<Location> {
        let mut out = Vec::new();
        for declaration in &self.analysis.facts().declarations {
            if declaration.at.file == self.file
                && declaration.kind == DeclarationKind::State
                && self.asks_person(declaration.at)
            {
                out.push(declaration.at);
            }
        }
        out
    }
    fn asks_person(&self, state: Location) -> bool {
        let Some(body) = self.body(state) else { return false };
        let Some(kind) = body.get("kind") else { return false };
        matches!(kind.value.as_string(), Some(text) if &*text.value == "Human")
    }
    /// The lists of the loops around this text, or around the calls of its agent.
    fn lists(&self) -> Vec<Location> {
        let mut out = Vec::new();
        // Loops around the text itself.
        let mut node = self.root;
        for step in &self.above {
            out.extend(self.loop_list(node));
            let Some(inner) = node_after(node, step) else { break };
            node = inner;
        }
        if !out.is_empty() {
            return out;
        }
        let [PathStep::Key(agents), PathStep::Key(agent), ..] = self.above.as_slice() else { return out };
        let Some(agent) = self.entry(&[agents, agent]) else { return out };
        let agent = self.key_location(agent);
        for mention in self.analysis.mentions_in(self.file) {
            if !mention.template && mention.to == Some(agent) {
                out.extend(self.loop_list(find_position(self.root, mention.at.span.start).container));
            }
        }
        out
    }
    /// The key with the list of a loop.
    fn loop_list(&self, body: &YamlNode) -> Option<Location> {
        Some(self.key_location(first_entry(body.as_mapping()?, LISTS)?))
    }
    /// The state or node that precedes this segment in its path.
    fn declared(&self, member: &Mention) -> Option<Location> {
        let text = self.analysis.file_text(self.file);
        if !text.get(member.at.span.start as usize - 1..)?.starts_with('.') {
            return None;
        }
        for mention in self.analysis.mentions_in(self.file) {
            if mention.at.span.end + 1 == member.at.span.start
                && let Some(declaration) = self.analysis.mentioned_declaration(mention)
                && matches!(declaration.kind, DeclarationKind::State | DeclarationKind::Node | DeclarationKind::Step)
            {
                return Some(declaration.at);
            }
        }
        None
    }
    /// The mapping of a state or node.
    fn body(&self, at: Location) -> Option<&'a YamlMapping> {
        let root = self.analysis.yaml_tree(at.file)?;
        let within = find_position(root, at.span.start).container.as_mapping()?;
        match within.entries.iter().find(|e| e.key.content_span() == at.span) {
            Some(entry) => entry.value.as_mapping(),
            // A state in a list contains its own name.
            None => Some(within),
        }
    }
    /// What produces the result of a state or node: the agent that it names, or the key that defines it.
    fn made_by(&self, step: Location) -> Vec<Location> {
        let Some(body) = self.body(step) else { return Vec::new() };
        let Some(entry) = first_entry(body, MADE_BY) else { return Vec::new() };
        let value = entry.value.span;
        let mut named = Vec::new();
        for mention in self.analysis.mentions_in(step.file) {
            let inside = value.start <= mention.at.span.start && mention.at.span.end <= value.end;
            if !mention.template && inside {
                named.extend(mention.to);
            }
        }
        if named.is_empty() { vec![Location::new(step.file, entry.key.content_span())] } else { named }
    }
}
