//! `kind: Workflow`: a state machine as written.

use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::AegisUnitKind;
use super::key_synonyms;
use super::metadata::{self, ManifestIdentity};
use super::schema::{self, JsonSchema};
use super::state::{self, AegisState};
use super::unsupported_parts::{self, UnsupportedValueType};
use crate::spelling_fixes;
use crate::yaml_reader::to_value;
use crate::{ManifestReader, MappingReader};

/// A workflow.
pub struct AegisWorkflowManifest {
    /// Name and version.
    pub identity: ManifestIdentity,
    /// `metadata.input_schema`.
    pub input_schema: Option<JsonSchema>,
    /// `metadata.output_schema`.
    pub output_schema: Option<JsonSchema>,
    /// `metadata.output_template`.
    pub output_template: Option<YamlNode>,
    /// `spec.context`: keys and values in order.
    pub context: Vec<(YamlText, Value)>,
    /// The node of the context in the file.
    pub context_node: Option<YamlNode>,
    /// `spec.initial_state`.
    pub initial: Option<YamlText>,
    /// The states, in file order.
    pub states: Vec<AegisState>,
    /// Whether the states are written as a list.
    pub list_form: bool,
    /// The names of the volumes that containers may mount.
    pub shared_volumes: Vec<YamlText>,
    /// The maximum number of state entries in total.
    pub max_entries: u32,
    /// Where that is written.
    pub max_entries_at: Option<Span>,
    /// The start of `spec`, for findings about all of it.
    pub span: Span,
    /// The span of the whole document.
    pub whole: Span,
}

impl AegisWorkflowManifest {
    /// Whether it is a pipeline: a list of states without any transitions.
    pub fn is_pipeline(&self) -> bool {
        self.list_form && self.states.iter().all(|s| s.transitions.is_none())
    }
}

/// The maximum number of states. The data about the order of states grows with its square.
const MAX_STATES: usize = 10_000;

/// Reads a workflow's manifest below its header.
pub fn read_workflow(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> AegisWorkflowManifest {
    let head = fields.head_span();
    let mut workflow = AegisWorkflowManifest {
        identity: ManifestIdentity { name: Arc::default(), span: head, at: head, version: None },
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
    if let Some(mut metadata) = fields.require_mapping("metadata") {
        workflow.identity = metadata::read_identity(&mut metadata, AegisUnitKind::Workflow);
        let read = |entry: &YamlEntry| schema::read_json_schema(reader, &entry.value, &entry.key.value);
        workflow.input_schema = metadata.take("input_schema").and_then(read);
        workflow.output_schema = metadata.take("output_schema").and_then(read);
        if let Some(entry) = metadata.take("output_template") {
            note_output_template(reader, &entry.value, workflow.output_schema.as_ref());
            workflow.output_template = Some(entry.value.clone());
        }
        metadata.finish_mapping();
    }
    if let Some(entry) = fields.require_entry("spec") {
        workflow.span = entry.key.span;
        if let Some(mut spec) = reader.read_mapping(&entry.value, "spec") {
            read_spec(reader, &mut spec, &mut workflow);
            spec.finish_mapping();
        }
    }
    workflow
}

/// Records the block texts of the output's template, whose keys are those of its schema.
fn note_output_template(reader: &ManifestReader<'_>, template: &YamlNode, schema: Option<&JsonSchema>) {
    let Some(mapping) = template.as_mapping() else {
        reader.wrong_type(template, "output_template", "a mapping");
        return;
    };
    let mut declared: Vec<&str> = Vec::new();
    if let Some(schema) = schema {
        declared.extend(schema.declared_properties().map(|(key, _)| &**key));
    }
    reader.note_blocks(mapping, &declared, &[], reader.block_count());
}

fn read_spec(reader: &ManifestReader<'_>, spec: &mut MappingReader<'_, '_>, workflow: &mut AegisWorkflowManifest) {
    spec.also_called(key_synonyms::WORKFLOW);
    spec.set_foreign_keys(key_synonyms::NOT_WORKFLOW);
    if let Some(entry) = spec.take("context") {
        workflow.context_node = Some(entry.value.clone());
        match entry.value.as_mapping() {
            Some(context) => {
                for entry in &context.entries {
                    workflow.context.push((entry.key.clone(), to_value(&entry.value)));
                }
            }
            None => reader.wrong_type(&entry.value, "context", "a mapping"),
        }
    }
    if let Some(max) = spec.read_integer("max_total_transitions", 1..=100) {
        workflow.max_entries = u32::try_from(max).unwrap_or(50);
        workflow.max_entries_at = spec.peek_entry("max_total_transitions").map(|entry| entry.value.span);
    }
    if let Some(entry) = spec.take("storage") {
        workflow.shared_volumes = read_storage(reader, &entry.value, entry.key.span);
    }
    if let Some(entry) = spec.take("volumes") {
        unsupported_parts::check_mounts(reader, &entry.value);
    }
    spec.no_effect(&["volumes"], "volumes are not mounted");
    if let Some(entry) = spec.take("schedule") {
        unsupported_parts::check_schedule(reader, &entry.value);
    }
    if let Some(mut schedule) = spec.read_mapping("default_schedule") {
        let keys: &[unsupported_parts::UnsupportedKey] = &[
            ("cron", UnsupportedValueType::Cron, false),
            ("timezone", UnsupportedValueType::Text, false),
            ("jitter_seconds", UnsupportedValueType::Count(0, i64::MAX), false),
            ("enabled", UnsupportedValueType::Flag, false),
        ];
        unsupported_parts::check_keys(&mut schedule, keys);
        schedule.report_misspelt();
    }
    spec.no_effect(&["default_schedule", "schedule"], "runs start only on request");
    let states = spec.require_entry("states");
    if let Some(entry) = states {
        workflow.list_form = matches!(&*entry.value.kind, YamlNodeKind::Sequence(_));
        workflow.states = read_states(reader, &entry.value);
    }
    // The list form starts with its first entry.
    workflow.initial =
        if workflow.list_form { spec.read_text("initial_state") } else { spec.require_text("initial_state") }.cloned();
}

fn read_states(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<AegisState> {
    let count = match &*node.kind {
        YamlNodeKind::Mapping(m) => m.entries.len(),
        YamlNodeKind::Sequence(items) => items.len(),
        YamlNodeKind::Scalar(..) => 0,
    };
    if count > MAX_STATES {
        let message = format!("a workflow has at most {MAX_STATES} states, not {count}");
        reader.report_error("out-of-range", node.span, message);
        return Vec::new();
    }
    let states: Vec<AegisState> = match &*node.kind {
        YamlNodeKind::Mapping(mapping) => read_state_mapping(reader, mapping),
        YamlNodeKind::Sequence(items) => {
            items.iter().filter_map(|item| state::read_state(reader, item, None)).collect()
        }
        YamlNodeKind::Scalar(..) => {
            reader.wrong_type(node, "states", "a mapping of states, or a list of them");
            return Vec::new();
        }
    };
    let has_entries = matches!(node.as_mapping(), Some(mapping) if !mapping.entries.is_empty());
    if states.is_empty() && !has_entries {
        reader.report_error("missing-key", node.span, "a workflow needs at least one state");
    }
    let mut seen: HashMap<&str, Span> = HashMap::default();
    for state in &states {
        if !state.name.is_empty()
            && let Some(first) = seen.insert(&state.name, state.span)
        {
            reader.report_duplicate(state.span, first, format!("two states are named `{}`", state.name));
        }
    }
    states
}

/// Reads the states in the form of a mapping, each with the keys that were moved out of it.
fn read_state_mapping(reader: &ManifestReader<'_>, mapping: &YamlMapping) -> Vec<AegisState> {
    let mut states = Vec::with_capacity(mapping.entries.len());
    let misplaced = mapping.entries.iter().take_while(|entry| is_misplaced(entry)).count();
    let (first, rest) = mapping.entries.split_at(misplaced);
    report_misplaced(reader, first, None);
    let mut rest = rest.iter().peekable();
    while let Some(state) = rest.next() {
        let mut lost = Vec::new();
        while let Some(entry) = rest.next_if(|entry| is_misplaced(entry)) {
            lost.push(entry.clone());
        }
        report_misplaced(reader, &lost, Some(&state.key.value));
        // Read as it was meant, so that nothing is missing that is written.
        states.extend(state::read_state(reader, &with_entries(&state.value, lost), Some(&state.key)));
    }
    states
}

/// Whether an entry next to the states is a key of a state, with its line moved to the left. A state is called by its author, and
/// in capitals; what has the name of a key and is no mapping is one.
fn is_misplaced(entry: &YamlEntry) -> bool {
    let has_kind = matches!(entry.value.as_mapping(), Some(mapping) if mapping.get("kind").is_some());
    key_synonyms::is_of_state(&entry.key.value) && !has_kind
}

/// Reports such entries after a state, or before all of them.
fn report_misplaced(reader: &ManifestReader<'_>, entries: &[YamlEntry], state: Option<&str>) {
    let Some(first) = entries.first() else { return };
    let keys = spelling_fixes::join_names(entries.iter().map(|entry| &*entry.key.value));
    let message = match (state, entries) {
        (Some(state), [_]) => format!("{keys} is next to the states; it belongs in `{state}`"),
        (Some(state), _) => format!("{keys} are next to the states; they belong in `{state}`"),
        (None, [_]) => format!("{keys} is a key of a state, not a state"),
        (None, _) => format!("{keys} are keys of a state, not states"),
    };
    let d = Diagnostic::new_error("wrong-type", reader.location_of(first.key.span), message);
    let them = if entries.len() == 1 { "it" } else { "them" };
    reader.report_finding(d.with_help(format!("indent {them} like the other keys of the state")));
}

/// A mapping with more entries; a key without a value, where all of them are beside it, has them as its value.
fn with_entries(node: &YamlNode, more: Vec<YamlEntry>) -> YamlNode {
    let mut node = node.clone();
    match Arc::make_mut(&mut node.kind) {
        _ if more.is_empty() => {}
        YamlNodeKind::Mapping(mapping) => mapping.entries.extend(more),
        kind @ YamlNodeKind::Scalar(YamlScalar::Null, _) => {
            *kind = YamlNodeKind::Mapping(YamlMapping { entries: more, owner: None })
        }
        YamlNodeKind::Scalar(..) | YamlNodeKind::Sequence(_) => {}
    }
    node
}

/// `storage`: checked, but without containers it has no effect. Returns the names of the shared volumes.
fn read_storage(reader: &ManifestReader<'_>, node: &YamlNode, span: Span) -> Vec<YamlText> {
    let mut names = Vec::new();
    let Some(mut storage) = reader.read_mapping(node, "storage") else { return names };
    let classes = unsupported_parts::STORAGE;
    if let Some(mut workspace) = storage.read_mapping("workspace") {
        workspace.read_word("storage_class", classes);
        workspace.read_integer("ttl_hours", 0..=i64::MAX);
        workspace.read_integer("size_limit_mb", 1..=i64::MAX);
        for key in ["volume_id", "blackboard_key"] {
            workspace.read_text(key);
        }
        workspace.finish_mapping();
    }
    for item in storage.read_list("shared_volumes").unwrap_or_default() {
        let Some(mut volume) = reader.read_mapping(item, "a shared volume") else { continue };
        names.extend(volume.require_text("name").cloned());
        volume.read_word("storage_class", classes);
        for key in ["size_limit_bytes", "size_limit_mb", "ttl_hours"] {
            volume.read_integer(key, 0..=i64::MAX);
        }
        volume.read_text("volume_id");
        volume.finish_mapping();
    }
    storage.finish_mapping();
    reader.report_warning("no-effect", span, "`storage` has no effect: volumes are not mounted");
    names
}
