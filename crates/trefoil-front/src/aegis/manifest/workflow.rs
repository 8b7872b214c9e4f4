//! `kind: Workflow`: a state machine as written.

use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_syntax::yaml::{Entry, Kind, Mapping, Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::Unit;
use super::declared::{self, DeclaredPart};
use super::metadata::{self, Identity};
use super::schema::{self, JsonSchema};
use super::state::{self, State};
use super::words;
use crate::mend;
use crate::read::to_value;
use crate::{Fields, Reader};

/// A workflow.
pub struct Workflow {
    /// Name and version.
    pub identity: Identity,
    /// `metadata.input_schema`.
    pub input_schema: Option<JsonSchema>,
    /// `metadata.output_schema`.
    pub output_schema: Option<JsonSchema>,
    /// `metadata.output_template`.
    pub output_template: Option<Node>,
    /// `spec.context`: keys and values in order.
    pub context: Vec<(Text, Value)>,
    /// The node of the context in the file.
    pub context_node: Option<Node>,
    /// `spec.initial_state`.
    pub initial: Option<Text>,
    /// The states, in file order.
    pub states: Vec<State>,
    /// Whether the states are written as a list.
    pub list_form: bool,
    /// The names of the volumes that containers may mount.
    pub shared_volumes: Vec<Text>,
    /// The maximum number of state entries in total.
    pub max_entries: u32,
    /// Where that is written.
    pub max_entries_at: Option<Span>,
    /// The start of `spec`, for findings about all of it.
    pub span: Span,
    /// The span of the whole document.
    pub whole: Span,
}

impl Workflow {
    /// Whether it is a pipeline: a list of states without any transitions.
    pub fn is_pipeline(&self) -> bool {
        self.list_form && self.states.iter().all(|s| s.transitions.is_none())
    }
}

/// The maximum number of states. The data about the order of states grows with its square.
const MAX_STATES: usize = 10_000;

/// Reads a workflow's manifest below its header.
pub fn read(reader: &Reader<'_>, fields: &mut Fields<'_, '_>) -> Workflow {
    let head = fields.head();
    let mut workflow = Workflow {
        identity: Identity { name: Arc::default(), span: head, at: head, version: None },
        input_schema: None,
        output_schema: None,
        output_template: None,
        context: Vec::new(),
        context_node: None,
        initial: None,
        states: Vec::new(),
        list_form: false,
        shared_volumes: Vec::new(),
        max_entries: 50,
        max_entries_at: None,
        span: head,
        whole: fields.span,
    };
    if let Some(mut m) = fields.require("metadata").and_then(|e| reader.fields(&e.value, "metadata")) {
        workflow.identity = metadata::read(&mut m, Unit::Workflow);
        let read = |e: &trefoil_syntax::yaml::Entry| schema::read(reader, &e.value, &e.key.value);
        workflow.input_schema = m.take("input_schema").and_then(read);
        workflow.output_schema = m.take("output_schema").and_then(read);
        workflow.output_template = m.take("output_template").map(|e| e.value.clone());
        let template = workflow.output_template.as_ref();
        if let Some(mapping) = template.and_then(|node| node.mapping()) {
            let declared = workflow.output_schema.iter().flat_map(|schema| schema.properties().map(|(key, _)| &**key));
            reader.note_blocks(mapping, &declared.collect::<Vec<_>>(), &[], reader.blocks());
        }
        if let Some(node) = template.filter(|node| node.mapping().is_none()) {
            reader.wrong_type(node, "output_template", "a mapping");
        }
        m.finish();
    }
    if let Some(entry) = fields.require("spec") {
        workflow.span = entry.key.span;
        if let Some(mut spec) = reader.fields(&entry.value, "spec") {
            read_spec(reader, &mut spec, &mut workflow);
            spec.finish();
        }
    }
    workflow
}

fn read_spec(reader: &Reader<'_>, spec: &mut Fields<'_, '_>, workflow: &mut Workflow) {
    spec.also_called(words::WORKFLOW);
    spec.elsewhere(words::NOT_WORKFLOW);
    if let Some(entry) = spec.take("context") {
        workflow.context_node = Some(entry.value.clone());
        match entry.value.mapping() {
            Some(m) => workflow.context = m.entries.iter().map(|e| (e.key.clone(), to_value(&e.value))).collect(),
            None => reader.wrong_type(&entry.value, "context", "a mapping"),
        }
    }
    if let Some(max) = spec.integer("max_total_transitions", 1..=100) {
        workflow.max_entries = u32::try_from(max).unwrap_or(50);
        workflow.max_entries_at = spec.entry("max_total_transitions").map(|e| e.value.span);
    }
    workflow.shared_volumes =
        spec.take("storage").map(|e| read_storage(reader, &e.value, e.key.span)).unwrap_or_default();
    if let Some(entry) = spec.take("volumes") {
        declared::mounts(reader, &entry.value);
    }
    spec.no_effect(&["volumes"], "volumes are not mounted");
    if let Some(entry) = spec.take("schedule") {
        declared::schedule(reader, &entry.value);
    }
    if let Some(mut schedule) = spec.fields("default_schedule") {
        let keys: &[declared::DeclaredKey] = &[
            ("cron", DeclaredPart::Cron, false),
            ("timezone", DeclaredPart::Text, false),
            ("jitter_seconds", DeclaredPart::Count(0, i64::MAX), false),
            ("enabled", DeclaredPart::Flag, false),
        ];
        declared::read(&mut schedule, keys);
        schedule.misspelt();
    }
    spec.no_effect(&["default_schedule", "schedule"], "runs start only on request");
    let states = spec.require("states");
    if let Some(entry) = states {
        workflow.list_form = matches!(&*entry.value.kind, Kind::Sequence(_));
        workflow.states = read_states(reader, &entry.value);
    }
    // The list form starts with its first entry.
    workflow.initial =
        if workflow.list_form { spec.text("initial_state") } else { spec.require_text("initial_state") }.cloned();
}

fn read_states(reader: &Reader<'_>, node: &Node) -> Vec<State> {
    let count = match &*node.kind {
        Kind::Mapping(m) => m.entries.len(),
        Kind::Sequence(items) => items.len(),
        Kind::Scalar(..) => 0,
    };
    if count > MAX_STATES {
        let message = format!("a workflow has at most {MAX_STATES} states, not {count}");
        reader.error("out-of-range", node.span, message);
        return Vec::new();
    }
    let states: Vec<State> = match &*node.kind {
        Kind::Mapping(m) => {
            let mut states: Vec<State> = Vec::with_capacity(m.entries.len());
            let (first, rest) = m.entries.split_at(m.entries.iter().take_while(|e| is_misplaced(e)).count());
            misplaced(reader, first, None);
            let mut rest = rest.iter().peekable();
            while let Some(state) = rest.next() {
                let mut lost = Vec::new();
                while let Some(entry) = rest.next_if(|e| is_misplaced(e)) {
                    lost.push(entry.clone());
                }
                misplaced(reader, &lost, Some(&state.key.value));
                // Read as it was meant, so that nothing is missing that is written.
                states.extend(state::read(reader, &with_entries(&state.value, lost), Some(&state.key)));
            }
            states
        }
        Kind::Sequence(items) => items.iter().filter_map(|item| state::read(reader, item, None)).collect(),
        Kind::Scalar(..) => {
            reader.wrong_type(node, "states", "a mapping of states, or a list of them");
            return Vec::new();
        }
    };
    if states.is_empty() && node.mapping().is_none_or(|m| m.entries.is_empty()) {
        reader.error("missing-key", node.span, "a workflow needs at least one state");
    }
    let mut seen: HashMap<&str, Span> = HashMap::default();
    for state in states.iter().filter(|s| !s.name.is_empty()) {
        if let Some(first) = seen.insert(&state.name, state.span) {
            reader.twice(state.span, first, format!("two states are named `{}`", state.name));
        }
    }
    states
}

/// Whether an entry next to the states is a key of a state, with its line moved to the left. A state is called by its author, and
/// in capitals; what has the name of a key and is no mapping is one.
fn is_misplaced(entry: &Entry) -> bool {
    words::is_of_state(&entry.key.value) && entry.value.mapping().is_none_or(|m| m.get("kind").is_none())
}

/// Reports such entries after a state, or before all of them.
fn misplaced(reader: &Reader<'_>, entries: &[Entry], state: Option<&str>) {
    let Some(first) = entries.first() else { return };
    let keys = mend::listed(entries.iter().map(|entry| &*entry.key.value));
    let message = match (state, entries) {
        (Some(state), [_]) => format!("{keys} is next to the states; it belongs in `{state}`"),
        (Some(state), _) => format!("{keys} are next to the states; they belong in `{state}`"),
        (None, [_]) => format!("{keys} is a key of a state, not a state"),
        (None, _) => format!("{keys} are keys of a state, not states"),
    };
    let d = Diagnostic::error("wrong-type", reader.at(first.key.span), message);
    let them = if entries.len() == 1 { "it" } else { "them" };
    reader.report(d.help(format!("indent {them} like the other keys of the state")));
}

/// A mapping with more entries; a key without a value, where all of them are beside it, has them as its value.
fn with_entries(node: &Node, more: Vec<Entry>) -> Node {
    let mut node = node.clone();
    match Arc::make_mut(&mut node.kind) {
        _ if more.is_empty() => {}
        Kind::Mapping(mapping) => mapping.entries.extend(more),
        kind @ Kind::Scalar(Scalar::Null, _) => *kind = Kind::Mapping(Mapping { entries: more, owner: None }),
        Kind::Scalar(..) | Kind::Sequence(_) => {}
    }
    node
}

/// `storage`: checked, but without containers it has no effect. Returns the names of the shared volumes.
fn read_storage(reader: &Reader<'_>, node: &Node, span: Span) -> Vec<Text> {
    let mut names = Vec::new();
    let Some(mut storage) = reader.fields(node, "storage") else { return names };
    let classes = declared::STORAGE;
    if let Some(mut workspace) = storage.fields("workspace") {
        workspace.word("storage_class", classes);
        workspace.integer("ttl_hours", 0..=i64::MAX);
        workspace.integer("size_limit_mb", 1..=i64::MAX);
        for key in ["volume_id", "blackboard_key"] {
            workspace.text(key);
        }
        workspace.finish();
    }
    for item in storage.list("shared_volumes").unwrap_or_default() {
        let Some(mut volume) = reader.fields(item, "a shared volume") else { continue };
        names.extend(volume.require_text("name").cloned());
        volume.word("storage_class", classes);
        for key in ["size_limit_bytes", "size_limit_mb", "ttl_hours"] {
            volume.integer(key, 0..=i64::MAX);
        }
        volume.text("volume_id");
        volume.finish();
    }
    storage.finish();
    reader.warning("no-effect", span, "`storage` has no effect: volumes are not mounted");
    names
}
