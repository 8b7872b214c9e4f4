//! The origins of values without a declaration: `{{input}}`, `{{instruction}}`, `STATE.output`, `state.feedback`,
//! `item`, `env.NAME`.
//!
//! Each format has such names. This module's tables say which key of the manifest defines them.

use trefoil_ir::facts::{DeclarationKind, Mention};
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location};

use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, entry_at, find_position, node_after, node_at};
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
        ("aegis", ["state"]) => around.own().into_iter().collect(),
        ("aegis", ["state_output", ..]) => around.own().map(|own| around.made_by(own)).unwrap_or_default(),
        ("aegis", ["human", ..]) => around.people(),
        ("sirenspec", ["item" | "index" | "total", ..]) => around.lists(),
        (dialect, path) => {
            let made = around.declared(mention).map(|of| around.made_by(of)).unwrap_or_default();
            if made.is_empty() { around.given(dialect, path) } else { made }
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
    fn given(&self, dialect: &str, path: &[&str]) -> Vec<Location> {
        let kind = self.entry(&["kind"]).and_then(|e| e.value.as_string()).map_or("", |t| &*t.value);
        let given = GIVEN.iter().filter(|(of, sort, ..)| *of == dialect && (sort.is_empty() || kind.starts_with(sort)));
        let mut given =
            given.filter(|(_, _, name, _)| path.join(".") == *name || path.join(".").starts_with(&format!("{name}.")));
        let found = given.next().and_then(|(.., ways)| ways.iter().find_map(|way| self.entry(way)));
        match found {
            Some(entry) => vec![self.key_location(entry)],
            // An input that nothing describes comes from the callers.
            None if matches!(path.first(), Some(&"input" | &"userQuery")) => self.callers(),
            None => Vec::new(),
        }
    }
    /// The `input` of every call of what this file declares.
    fn callers(&self) -> Vec<Location> {
        let facts = self.analysis.facts();
        let own = facts.declarations.iter().filter(|d| d.at.file == self.file && d.parent.is_none());
        let own: Vec<Location> = own.map(|d| d.at).collect();
        let calls = facts.mentions.iter().filter(|m| !m.template && m.to.is_some_and(|to| own.contains(&to)));
        let given = |at: Location| {
            let call = find_position(self.analysis.yaml_tree(at.file)?, at.span.start).within.as_mapping()?;
            let input = ["input", "input_template", "inputs"].iter().find_map(|key| call.get(key))?;
            Some(Location::new(at.file, input.key.content_span()))
        };
        let mut out: Vec<Location> = calls.filter_map(|m| given(m.at)).collect();
        out.sort();
        out.dedup();
        out
    }
    /// The state that contains the text.
    fn own(&self) -> Option<Location> {
        let states = self.analysis.facts().declarations.iter().filter(|d| d.at.file == self.file);
        let states = states.filter(|d| d.kind == DeclarationKind::State);
        let at = node_at(self.root, &self.above)?.span.start;
        states.filter(|d| d.extent.start <= at && at <= d.extent.end).map(|d| d.at).next()
    }
    /// The feedback on the transitions into the state that contains the text.
    fn feedback(&self) -> Vec<Location> {
        let Some(own) = self.own() else { return Vec::new() };
        let named = self.analysis.mentions_in(self.file).filter(|m| !m.template && m.to == Some(own));
        let said = named.filter_map(|m| find_position(self.root, m.at.span.start).within.as_mapping()?.get("feedback"));
        said.map(|entry| self.key_location(entry)).collect()
    }
    /// The states that ask a person.
    fn people(&self) -> Vec<Location> {
        let states = self.analysis.facts().declarations.iter();
        let states = states.filter(|d| d.at.file == self.file && d.kind == DeclarationKind::State);
        let asks = |at: &Location| {
            let body = self.body(*at)?;
            body.get("kind")?.value.as_string().filter(|t| &*t.value == "Human")
        };
        states.map(|d| d.at).filter(|at| asks(at).is_some()).collect()
    }
    /// The lists of the loops around this text, or around the calls of its agent.
    fn lists(&self) -> Vec<Location> {
        let list = |body: &YamlMapping| LISTS.iter().find_map(|key| body.get(key)).map(|e| self.key_location(e));
        // Loops around the text itself.
        let mut node = Some(self.root);
        let mut out = Vec::new();
        for step in &self.above {
            out.extend(node.and_then(YamlNode::as_mapping).and_then(list));
            node = node.and_then(|node| node_after(node, step));
        }
        if !out.is_empty() {
            return out;
        }
        let [PathStep::Key(agents), PathStep::Key(agent), ..] = self.above.as_slice() else { return out };
        let own = self.entry(&[agents, agent]).map(|e| self.key_location(e));
        let calls = self.analysis.mentions_in(self.file).filter(|m| !m.template && m.to.is_some() && m.to == own);
        calls.filter_map(|m| list(find_position(self.root, m.at.span.start).within.as_mapping()?)).collect()
    }
    /// The state or node that precedes this segment in its path.
    fn declared(&self, member: &Mention) -> Option<Location> {
        let before = self.analysis.mentions_in(self.file).filter(|m| m.at.span.end + 1 == member.at.span.start);
        let text = self.analysis.file_text(self.file);
        let joined = text.get(member.at.span.start as usize - 1..)?.starts_with('.');
        let kinds = [DeclarationKind::State, DeclarationKind::Node, DeclarationKind::Step];
        let of =
            |m: &Mention| self.analysis.declaration_of_name(m.to?).filter(|d| kinds.contains(&d.kind)).map(|d| d.at);
        before.filter(|_| joined).find_map(of)
    }
    /// The mapping of a state or node.
    fn body(&self, at: Location) -> Option<&'a YamlMapping> {
        let root = self.analysis.yaml_tree(at.file)?;
        let within = find_position(root, at.span.start).within.as_mapping()?;
        let keyed = within.entries.iter().find(|e| e.key.content_span() == at.span);
        // A state in a list contains its own name.
        keyed.map_or(Some(within), |e| e.value.as_mapping())
    }
    /// What produces the result of a state or node: the agent that it names, or the key that defines it.
    fn made_by(&self, of: Location) -> Vec<Location> {
        let made = self.body(of).and_then(|body| MADE_BY.iter().find_map(|key| body.get(key)));
        let Some(entry) = made else { return Vec::new() };
        let named = self.analysis.mentions_in(of.file).filter(|m| {
            !m.template && entry.value.span.start <= m.at.span.start && m.at.span.end <= entry.value.span.end
        });
        let named: Vec<Location> = named.filter_map(|m| m.to).collect();
        if named.is_empty() { vec![Location::new(of.file, entry.key.content_span())] } else { named }
    }
}
